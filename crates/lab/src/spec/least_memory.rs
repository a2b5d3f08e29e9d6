//! Whether a limit of memory suffices at all, as far as that is known before anything is started.

use bakeoff_experiment::{Factor, MemoryLimit};

use crate::refusal::Refusal;
use crate::targets::{GroupSetup, Setup, Target, TargetHome, WantedLevels};

/// Refuses a cell with a group of processes whose memory is limited to less than it needs to hold to
/// serve.
///
/// # Errors
/// The engine, or how large the files are, the limit in bytes, and the least share and the least bytes that work;
/// of a share of the rows the next larger scale at which it suffices, too.
pub(super) fn check(
    target: &dyn Target,
    setup: &Setup,
    wanted: &WantedLevels<'_>,
) -> Result<(), Refusal> {
    match MemoryShortfall::too_low(target, setup, wanted) {
        None => Ok(()),
        Some(limit) => {
            let why = limit.why_not(setup.home, limit.larger_scale(target, wanted).as_deref());
            Err(Refusal::from_cell(wanted.cell, &[Factor::ENGINE, Factor::MEMORY], why))
        }
    }
}

/// A limit that is too low.
struct MemoryShortfall {
    /// Its level.
    memory: MemoryLimit,
    /// How many bytes that is.
    given: u64,
    /// How many bytes are needed.
    least: u64,
    /// Bytes of the rows or files that are loaded; `None` where nobody knows.
    data: Option<u64>,
    clients: usize,
}

impl MemoryShortfall {
    /// The limit of the first group that has too low a one; `None` where all suffice, as far as that is known.
    fn too_low(target: &dyn Target, setup: &Setup, wanted: &WantedLevels<'_>) -> Option<Self> {
        let data = target.size(&setup.subject).map(|size| size.rows);
        let clients = wanted.cell.clients();
        let too_low = |group: &GroupSetup| {
            let memory = group.limit.memory;
            let given = match memory {
                MemoryLimit::Share(_) => group.limit.resolve_for_data(data?).memory_bytes?,
                MemoryLimit::Bytes(bytes) => bytes,
                MemoryLimit::Unlimited => return None,
            };
            let least = target.least_memory(&setup.subject, group.name, clients)?;
            (given < least).then_some(Self { memory, given, least, data, clients })
        };
        setup.groups.iter().find_map(too_low)
    }

    /// The next larger scale at which the same share suffices; `None` where it is no share, and where there is no
    /// such scale.
    fn larger_scale(&self, target: &dyn Target, wanted: &WantedLevels<'_>) -> Option<String> {
        let MemoryLimit::Share(_) = self.memory else { return None };
        let here = wanted.cell.level(Factor::SCALE)?;
        let scales = target.about(wanted.workload)?.scales.into_iter();
        let larger = scales.map(|(name, _)| name).skip_while(|name| *name != here).skip(1);
        let suffices = |scale: &String| {
            let cell = wanted.cell.with(Factor::SCALE, scale.clone());
            let WantedLevels { experiment, workload, .. } = *wanted;
            let larger = WantedLevels { experiment, cell: &cell, workload };
            let setup = larger.resolve(target);
            setup.is_ok_and(|setup| Self::too_low(target, &setup, &larger).is_none())
        };
        larger.map(String::from).find(suffices)
    }

    /// Why it can't be had by what does its work there; at this larger scale it suffices.
    fn why_not(&self, home: TargetHome, larger: Option<&str>) -> String {
        if home == TargetHome::Files { self.of_files() } else { self.of_engine(larger) }
    }

    fn of_engine(&self, larger: Option<&str>) -> String {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let larger = larger.map(|scale| format!("; {} suffices at --scale {scale}", self.memory));
        format!(
            "{}, too little for what the engine must hold to serve {}, the page cache included; the least that \
             works is {} ({}){}",
            self.is("rows", megabytes),
            self.clients(),
            self.works("rows"),
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
            self.is("files", megabytes),
            self.clients(),
            self.works("files"),
        )
    }

    /// How many bytes it is, of how much data.
    fn is(&self, data: &str, size: impl Fn(u64) -> String) -> String {
        let Self { memory, given, .. } = self;
        match (memory, self.data) {
            (MemoryLimit::Share(_), Some(all)) => {
                format!("{memory} of {} of {data} is {}", size(all), size(*given))
            }
            _ => format!("{memory} is {}", size(*given)),
        }
    }

    fn clients(&self) -> String {
        if self.clients == 1 { "1 client".into() } else { format!("{} clients", self.clients) }
    }

    /// The least share, and the least bytes.
    fn works(&self, data: &str) -> String {
        let share = self.data.and_then(|all| least_share(self.least, all));
        let share = share.map(|share| format!("{share} of the {data}, or ")).unwrap_or_default();
        format!("{share}{}", MemoryLimit::Bytes(self.least))
    }
}

/// The least share of the data that comes to so many bytes; `None` where no share that can be named does.
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

    #[test]
    fn a_refusal_names_the_share_its_bytes_and_the_least_of_both() {
        let limit = |memory: MemoryLimit, given, data, clients| {
            let larger = (memory == MemoryLimit::Share(8)).then_some("giant");
            MemoryShortfall { memory, given, least: 128 << 20, data, clients }
                .why_not(TargetHome::Server, larger)
        };
        let said = limit(MemoryLimit::Share(8), 1_952_000, Some(24_400_000), 4);
        let least = "the least that works is 551% of the rows, or 128M (134.2 MB); 8% suffices at --scale \
                     giant";
        assert!(said.starts_with("8% of 24.4 MB of rows is 2.0 MB, too little"), "{said}");
        assert!(said.contains("4 clients") && said.ends_with(least), "{said}");
        let said = limit(MemoryLimit::Bytes(16 << 20), 16 << 20, None, 1);
        assert!(said.starts_with("16M is 16.8 MB, too little"), "{said}");
        assert!(said.ends_with("the least that works is 128M (134.2 MB)"), "{said}");
    }

    #[test]
    fn a_refusal_of_files_speaks_of_files() {
        let limit = |memory, given| {
            MemoryShortfall { memory, given, least: 25 << 20, data: Some(64 << 20), clients: 1 }
                .why_not(TargetHome::Files, None)
        };
        let said = limit(MemoryLimit::Share(25), 16 << 20);
        assert!(said.starts_with("25% of 67.1 MB of files is 16.8 MB, too little"), "{said}");
        let least = "take 40% of the files, or 25M at least, or larger files (`size`)";
        assert!(said.contains("1 client") && said.ends_with(least), "{said}");
        let said = limit(MemoryLimit::Bytes(16 << 20), 16 << 20);
        assert!(said.ends_with("take 40% of the files, or 25M at least"), "{said}");
        for word in ["row", "engine"] {
            assert!(!said.contains(word), "{said}");
        }
    }
}
