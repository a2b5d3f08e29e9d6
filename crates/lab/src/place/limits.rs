//! Limits of a place's groups: each group has its own limits and account, and several may share a
//! limit.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::{
    CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, CPU_WAITED, MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK,
    Measures, Scope,
};

use super::group::{LimitedGroup, ResourceLimit, ThrottleCounts};
use crate::{MachineError, TrialError};

pub type GroupWaits = BTreeMap<&'static str, ThrottleCounts>;

/// Each group is accounted by itself; all are held to the limit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLimit<L> {
    pub name: &'static str,
    pub groups: Vec<&'static str>,
    pub limit: L,
}

/// When dropped, it kills their processes and removes the groups.
#[derive(Debug, Default)]
pub struct LimitedGroups {
    // Dropped before the groups that contain them.
    groups: BTreeMap<&'static str, LimitedGroup>,
    /// By the limit's name; with the names of its groups.
    shared: BTreeMap<&'static str, (LimitedGroup, Vec<&'static str>)>,
    /// Whether the limits of memory were lifted before they killed any process.
    lifted: AtomicBool,
}

impl LimitedGroups {
    pub fn create(
        wanted: &BTreeMap<&'static str, ResourceLimit>,
        shared: &[SharedLimit<ResourceLimit>],
    ) -> Result<Self, MachineError> {
        Self::try_create(wanted, shared).map_err(MachineError::Place)
    }

    fn try_create(
        wanted: &BTreeMap<&'static str, ResourceLimit>,
        shared: &[SharedLimit<ResourceLimit>],
    ) -> Result<Self, String> {
        let mut limits = Self::default();
        let own = |name: &str| wanted.get(name).copied().unwrap_or_default();
        for SharedLimit { name, groups, limit } in shared {
            if *limit == ResourceLimit::default() {
                continue;
            }
            let each: Vec<ResourceLimit> = groups.iter().map(|group| own(group)).collect();
            let several = LimitedGroup::of_several(*limit, &each)?;
            for (group, limit) in groups.iter().zip(each) {
                limits.groups.insert(group, several.create_within(limit)?);
            }
            limits.shared.insert(name, (several, groups.clone()));
        }
        for (name, limit) in wanted {
            if *limit != ResourceLimit::default() && !limits.groups.contains_key(name) {
                limits.groups.insert(name, LimitedGroup::create(*limit)?);
            }
        }
        Ok(limits)
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &LimitedGroup)> {
        let groups = self.groups.iter().map(|(name, group)| (*name, group));
        groups.chain(self.shared.iter().map(|(name, (group, _))| (*name, group)))
    }

    pub fn leave_memory(&self) -> bool {
        self.all().all(|(_, group)| group.limit().memory_bytes.is_none())
    }

    /// The work after this is not measured.
    pub fn lift_memory(&self) -> Result<(), TrialError> {
        self.lifted.store(!self.has_killed(), Ordering::Relaxed);
        // Lift all, even if one fails.
        let lifted = self.all().map(|(_, group)| group.lift_memory()).fold(Ok(()), io::Result::and);
        lifted.map_err(|error| TrialError::place_error("lifting its limit of memory", error))
    }

    pub fn find_group(&self, name: &str) -> Option<&LimitedGroup> {
        self.groups.get(name)
    }

    pub fn left_behind(&self) -> Vec<String> {
        let told = |(name, group): (&&str, &LimitedGroup)| {
            let left = group.members();
            let many = if left.len() == 1 { "process" } else { "processes" };
            let (count, names) = (left.len(), left.join(", "));
            let told = format!("its group {name} left {count} {many} behind, now ended: {names}");
            (count > 0).then_some(told)
        };
        self.groups.iter().filter_map(told).collect()
    }

    /// Goes on with the other groups after a failure.
    pub fn end_processes(&self) -> Result<(), TrialError> {
        let ended = self.groups.values().map(|group| {
            group.end_processes().map_err(|error| TrialError::place_error("its end", error))
        });
        ended.fold(Ok(()), Result::and)
    }

    pub fn read_waits(&self) -> GroupWaits {
        self.all().filter_map(|(name, group)| Some((name, group.throttled()?))).collect()
    }

    /// Memory now, and waits since then, per group and per shared limit.
    pub fn account_since(&self, since: &GroupWaits) -> Measures {
        let mut measures = Measures::default();
        for (name, group) in self.all() {
            let scope = || Scope::Processes(name.into());
            let ResourceLimit { memory_bytes, cpu_milli } = group.limit();
            if let Some(bytes) = memory_bytes {
                measures.set(&MEMORY_LIMIT, scope(), bytes as f64);
                measures.set_some(&MEMORY_PEAK, scope(), group.peak().map(|bytes| bytes as f64));
                let cached = group.cached().unwrap_or(0);
                measures.set(&MEMORY_CACHED, scope(), cached as f64);
            }
            let processors = cpu_milli.map(|milli| f64::from(milli) / 1000.0);
            measures.set_some(&CPU_LIMIT, scope(), processors);
            let Some(now) = group.throttled() else { continue };
            let waited = now.since(since.get(name).copied().unwrap_or_default());
            measures.set(&CPU_PERIODS, scope(), waited.periods as f64);
            measures.set(&CPU_THROTTLED, scope(), waited.throttled as f64);
            measures.set(&CPU_WAITED, scope(), waited.waited_ns as f64 / 1e9);
        }
        measures
    }

    pub fn has_killed(&self) -> bool {
        self.all().any(|(_, group)| group.out_of_memory_kills().is_ok_and(|kills| kills > 0))
    }

    /// A trial with killed processes never counts.
    pub fn judge_trial(
        &self,
        answer: Result<TrialMeasurements, TrialError>,
    ) -> Result<TrialMeasurements, TrialError> {
        if self.lifted.load(Ordering::Relaxed) {
            return match answer {
                Err(why) if self.has_killed() && !why.stops_the_run() => {
                    Err(why.map_text(|why| format!("out of memory while it was checked; {why}")))
                }
                answer => answer,
            };
        }
        self.groups.iter().fold(answer, |answer, (name, group)| {
            judge_group(group, &self.limit_words(name), answer)
        })
    }

    fn limit_words(&self, name: &str) -> String {
        let together = self.shared.values().find(|(_, groups)| groups.contains(&name));
        let together = together.and_then(|(several, groups)| {
            let bytes = several.limit().memory_bytes?;
            let limit = format_megabytes(bytes);
            Some(format!(", limit {limit} of {} together", groups.join(" and ")))
        });
        match self.groups.len() {
            1 => together.unwrap_or_default(),
            _ => format!(" of the group {name}{}", together.unwrap_or_default()),
        }
    }
}

/// 1 MB is 10^6 bytes in all reports and messages.
fn format_megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn judge_group(
    group: &LimitedGroup,
    whose: &str,
    answer: Result<TrialMeasurements, TrialError>,
) -> Result<TrialMeasurements, TrialError> {
    let Some(bytes) = group.limit().memory_bytes else { return answer };
    let limit = format!("limit of {}{whose}", format_megabytes(bytes));
    let out_of = |more: String| TrialError::User(format!("out of memory at the {limit}; {more}"));
    match (group.out_of_memory_kills(), answer) {
        (_, Err(error)) if error.stops_the_run() => Err(error),
        (Ok(0), Ok(measured)) => Ok(measured),
        (Ok(0), Err(why)) => Err(why.map_text(|why| format!("{why}; memory {limit}"))),
        (Ok(_), Ok(_)) => Err(out_of("one of its processes was killed".into())),
        (Ok(_), Err(why)) => Err(out_of(why.to_string())),
        (Err(error), _) => {
            let what = format!("memory {limit}, but its group can't be read");
            Err(TrialError::place_error(&what, error))
        }
    }
}

#[cfg(test)]
mod tests;
