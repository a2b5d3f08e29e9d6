//! The limits of a place's groups of processes: each group has its own limits and its own account, and
//! several may share a limit.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::{
    CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, CPU_WAITED, MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK,
    Measures, Scope,
};

use super::group::{LimitedGroup, ResourceLimit, Throttled};
use crate::{MachineError, TrialError};

/// What groups waited for their processors up to a moment, by their names.
pub type GroupWaits = BTreeMap<&'static str, Throttled>;

/// A limit that several groups share: each is accounted by itself, and all are held to it together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLimit<L> {
    /// Its name, which no group has.
    pub name: &'static str,
    /// The names of the groups.
    pub groups: Vec<&'static str>,
    /// The most that they may have together.
    pub limit: L,
}

/// The groups that are limited, by their names. When it is dropped, their processes are ended and they
/// go.
#[derive(Debug, Default)]
pub struct LimitedGroups {
    // They go before what they are in.
    groups: BTreeMap<&'static str, LimitedGroup>,
    /// What holds several, by the names of the limits, and the names of the groups.
    shared: BTreeMap<&'static str, (LimitedGroup, Vec<&'static str>)>,
    /// Whether memory is limited no more, and no process was killed while it was.
    lifted: AtomicBool,
}

impl LimitedGroups {
    /// Holds each of these groups to its limit, and those that share one to that; a group without any
    /// is not held.
    ///
    /// # Errors
    /// It can't be limited here: why, and what to do.
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

    /// The groups, and then what holds several of them, each by its name.
    fn all(&self) -> impl Iterator<Item = (&'static str, &LimitedGroup)> {
        let groups = self.groups.iter().map(|(name, group)| (*name, group));
        groups.chain(self.shared.iter().map(|(name, (group, _))| (*name, group)))
    }

    /// Whether the memory of no group is limited.
    pub fn leave_memory(&self) -> bool {
        self.all().all(|(_, group)| group.limit().memory_bytes.is_none())
    }

    /// Lets all groups have as much memory as the machine has from now on: what comes is not measured.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn lift_memory(&self) -> Result<(), TrialError> {
        self.lifted.store(!self.has_killed(), Ordering::Relaxed);
        // All of them, whichever can't be lifted.
        let lifted = self.all().map(|(_, group)| group.lift_memory()).fold(Ok(()), io::Result::and);
        lifted.map_err(|error| TrialError::place("lifting its limit of memory", error))
    }

    /// What holds a group.
    pub fn find_group(&self, name: &str) -> Option<&LimitedGroup> {
        self.groups.get(name)
    }

    /// What each group has left behind when its work is over, in words. Nobody else works in it.
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

    /// Ends all processes of all groups.
    ///
    /// # Errors
    /// What can't be ended; the other groups' processes are ended all the same.
    pub fn end_processes(&self) -> Result<(), TrialError> {
        let ended = self.groups.values().map(|group| {
            group.end_processes().map_err(|error| TrialError::place("its end", error))
        });
        ended.fold(Ok(()), Result::and)
    }

    /// What each group, and each that share a limit, have waited for their processors up to now.
    pub fn waited(&self) -> GroupWaits {
        self.all().filter_map(|(name, group)| Some((name, group.throttled()?))).collect()
    }

    /// What each group holds now, and what it waited for its processors since; the same of those that
    /// share a limit, by its name.
    pub fn account(&self, since: &GroupWaits) -> Measures {
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

    /// Whether a process was killed for them.
    pub fn has_killed(&self) -> bool {
        self.all().any(|(_, group)| group.out_of_memory_kills().is_ok_and(|kills| kills > 0))
    }

    /// What came of a trial within these limits: none whose processes were killed for them counts.
    ///
    /// # Errors
    /// What went wrong, with the limits that it went wrong under.
    pub fn judge(
        &self,
        answer: Result<TrialMeasurements, TrialError>,
    ) -> Result<TrialMeasurements, TrialError> {
        if self.lifted.load(Ordering::Relaxed) {
            return match answer {
                Err(why) if self.has_killed() && !why.stops_the_run() => {
                    Err(why.because(|why| format!("out of memory while it was checked; {why}")))
                }
                answer => answer,
            };
        }
        self.groups
            .iter()
            .fold(answer, |answer, (name, group)| judge(group, &self.told(name), answer))
    }

    /// Whose limit of memory it is, where there are several: words that follow the limit.
    fn told(&self, name: &str) -> String {
        let together = self.shared.values().find(|(_, groups)| groups.contains(&name));
        let together = together.and_then(|(several, groups)| {
            let bytes = several.limit().memory_bytes?;
            let limit = megabytes(bytes);
            Some(format!(", limit {limit} of {} together", groups.join(" and ")))
        });
        match self.groups.len() {
            1 => together.unwrap_or_default(),
            _ => format!(" of the group {name}{}", together.unwrap_or_default()),
        }
    }
}

/// Bytes as all reports and messages have them: 1 MB is 10^6 bytes.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// What came of a trial within the limit of a group; `whose` are words that follow its limit.
fn judge(
    group: &LimitedGroup,
    whose: &str,
    answer: Result<TrialMeasurements, TrialError>,
) -> Result<TrialMeasurements, TrialError> {
    let Some(bytes) = group.limit().memory_bytes else { return answer };
    let limit = format!("limit of {}{whose}", megabytes(bytes));
    let out_of = |more: String| TrialError::User(format!("out of memory at the {limit}; {more}"));
    match (group.out_of_memory_kills(), answer) {
        (_, Err(error)) if error.stops_the_run() => Err(error),
        (Ok(0), Ok(measured)) => Ok(measured),
        (Ok(0), Err(why)) => Err(why.because(|why| format!("{why}; memory {limit}"))),
        (Ok(_), Ok(_)) => Err(out_of("one of its processes was killed".into())),
        (Ok(_), Err(why)) => Err(out_of(why.to_string())),
        (Err(error), _) => {
            let what = format!("memory {limit}, but its group can't be read");
            Err(TrialError::place(&what, error))
        }
    }
}

#[cfg(test)]
mod tests;
