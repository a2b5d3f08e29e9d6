//! Checks whether a memory limit is large enough, as far as that is known before the start.

use bakeoff_experiment::{Factor, MemoryLimit};

use crate::refusal::Refusal;
use crate::targets::{GroupSetup, Setup, Target, TargetHome, WantedLevels};

pub(super) fn check_memory(
    target: &dyn Target,
    setup: &Setup,
    wanted: &WantedLevels<'_>,
) -> Result<(), Refusal> {
    match MemoryShortfall::too_low(setup, wanted) {
        None => Ok(()),
        Some(limit) => {
            let why = limit.why_not(setup.home, limit.larger_scale(target, wanted).as_deref());
            Err(Refusal::from_cell(wanted.cell, &[Factor::ENGINE, Factor::MEMORY], why))
        }
    }
}

struct MemoryShortfall {
    memory: MemoryLimit,
    given: u64,
    least: u64,
    /// Bytes of the loaded rows or files; `None` if unknown.
    data: Option<u64>,
    clients: usize,
}

impl MemoryShortfall {
    fn too_low(setup: &Setup, wanted: &WantedLevels<'_>) -> Option<Self> {
        let data = setup.subject.size().map(|size| size.rows);
        let clients = wanted.cell.clients();
        let too_low = |group: &GroupSetup| {
            let memory = group.limit.memory;
            let given = match memory {
                MemoryLimit::Share(_) => group.limit.resolve_for_data(data?).memory_bytes?,
                MemoryLimit::Bytes(bytes) => bytes,
                MemoryLimit::Unlimited => return None,
            };
            let least = setup.subject.least_memory(group.name, clients)?;
            (given < least).then_some(Self { memory, given, least, data, clients })
        };
        setup.groups.iter().find_map(too_low)
    }

    /// `None` if the limit is no share, or no larger scale is large enough.
    fn larger_scale(&self, target: &dyn Target, wanted: &WantedLevels<'_>) -> Option<String> {
        let MemoryLimit::Share(_) = self.memory else { return None };
        let here = wanted.cell.level(Factor::SCALE)?;
        let scales = target.describe_workload(wanted.workload)?.scales.into_iter();
        let larger = scales.map(|(name, _)| name).skip_while(|name| *name != here).skip(1);
        let suffices = |scale: &String| {
            let cell = wanted.cell.with_level(Factor::SCALE, scale.clone());
            let WantedLevels { experiment, workload, image, .. } = *wanted;
            let larger = WantedLevels { experiment, cell: &cell, workload, image };
            let setup = larger.resolve(target);
            setup.is_ok_and(|setup| Self::too_low(&setup, &larger).is_none())
        };
        larger.map(String::from).find(suffices)
    }

    /// Explains the refusal by the process in the group; with `larger` as the scale that would do.
    fn why_not(&self, home: TargetHome, larger: Option<&str>) -> String {
        if home == TargetHome::Files { self.of_files() } else { self.of_engine(larger) }
    }

    fn of_engine(&self, larger: Option<&str>) -> String {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let larger = larger.map(|scale| format!("; {} suffices at --scale {scale}", self.memory));
        format!(
            "{}, too little for what the engine must hold to serve {}, the page cache included; the least that \
             works is {} ({}){}",
            self.describe_need("rows", megabytes),
            self.describe_clients(),
            self.describe_remedy("rows"),
            megabytes(self.least),
            larger.unwrap_or_default(),
        )
    }

    fn of_files(&self) -> String {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let larger = match self.memory {
            MemoryLimit::Share(_) => ", or larger files (`size`)",
            MemoryLimit::Bytes(_) | MemoryLimit::Unlimited => "",
        };
        format!(
            "{}, too little for the requests of {} and the random bytes that files are written with; take {} at \
             least{larger}",
            self.describe_need("files", megabytes),
            self.describe_clients(),
            self.describe_remedy("files"),
        )
    }

    fn describe_need(&self, data: &str, size: impl Fn(u64) -> String) -> String {
        let Self { memory, given, .. } = self;
        match (memory, self.data) {
            (MemoryLimit::Share(_), Some(all)) => {
                format!("{memory} of {} of {data} is {}", size(all), size(*given))
            }
            _ => format!("{memory} is {}", size(*given)),
        }
    }

    fn describe_clients(&self) -> String {
        if self.clients == 1 { "1 client".into() } else { format!("{} clients", self.clients) }
    }

    fn describe_remedy(&self, data: &str) -> String {
        let share = self.data.and_then(|all| least_share(self.least, all));
        let share = share.map(|share| format!("{share} of the {data}, or ")).unwrap_or_default();
        format!("{share}{}", MemoryLimit::Bytes(self.least))
    }
}

/// The least share of the data with so many bytes; `None` if no share that can be named does.
fn least_share(least: u64, rows: u64) -> Option<MemoryLimit> {
    let percent = least.saturating_mul(100).checked_div(rows)?;
    let percent = percent + u64::from(rows * percent / 100 < least);
    MemoryLimit::parse(&format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_share_suffices_and_the_one_below_does_not() {
        for (least, rows) in [(128 << 20, 2_440_000_000), (128 << 20, 244_000_000), (50, 100)] {
            let Some(MemoryLimit::Share(percent)) = least_share(least, rows) else {
                panic!("there is one")
            };
            let of = |percent: u32| rows * u64::from(percent) / 100;
            assert!(of(percent) >= least && of(percent - 1) < least, "{percent}% of {rows}");
        }
        assert_eq!(least_share(128 << 20, 1_000_000), None, "more than 1000%");
        assert_eq!(least_share(1, 0), None, "of nothing");
    }
}
