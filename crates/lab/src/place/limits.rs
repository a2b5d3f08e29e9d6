//! The limits of a place's groups of processes: each group has its own limits and its own account.

use std::collections::BTreeMap;

use bakeoff_results::Measured;
use bakeoff_results::measure::{
    CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, CPU_WAITED, MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK,
    Measures, Scope,
};

use super::group::{Group, Limit, Throttled};
use crate::{MachineError, TrialError};

/// What groups waited for their processors up to a moment, by their names.
pub type Waited = BTreeMap<&'static str, Throttled>;

/// The groups that are limited, by their names. When it is dropped, their processes are ended and they
/// go.
#[derive(Debug, Default)]
pub struct Limits(BTreeMap<&'static str, Group>);

impl Limits {
    /// Holds each of these groups to its limit; one without any is not held.
    ///
    /// # Errors
    /// It can't be limited here: why, and what to do.
    pub fn create(wanted: &BTreeMap<&'static str, Limit>) -> Result<Self, MachineError> {
        let limited = wanted.iter().filter(|(_, limit)| **limit != Limit::default());
        let limited = limited.map(|(name, limit)| Ok((*name, Group::create(*limit)?)));
        limited.collect::<Result<_, String>>().map(Self).map_err(MachineError::Place)
    }

    /// Whether the memory of no group is limited.
    pub fn leave_memory(&self) -> bool {
        self.0.values().all(|group| group.limit().memory_bytes.is_none())
    }

    /// What holds a group.
    pub fn of(&self, name: &str) -> Option<&Group> {
        self.0.get(name)
    }

    /// What each group has left behind when its work is over, in words. Nobody else works in it.
    pub fn left_behind(&self) -> Vec<String> {
        let told = |(name, group): (&&str, &Group)| {
            let left = group.members();
            let many = if left.len() == 1 { "process" } else { "processes" };
            let (count, names) = (left.len(), left.join(", "));
            let told = format!("its group {name} left {count} {many} behind, now ended: {names}");
            (count > 0).then_some(told)
        };
        self.0.iter().filter_map(told).collect()
    }

    /// Ends all processes of all groups.
    ///
    /// # Errors
    /// What can't be ended; the other groups' processes are ended all the same.
    pub fn end_processes(&self) -> Result<(), TrialError> {
        let ended = self.0.values().map(|group| {
            group.end_processes().map_err(|error| TrialError::place("its end", error))
        });
        ended.fold(Ok(()), Result::and)
    }

    /// What each group has waited for its processors up to now.
    pub fn waited(&self) -> Waited {
        let waited = |(name, group): (&&'static str, &Group)| Some((*name, group.throttled()?));
        self.0.iter().filter_map(waited).collect()
    }

    /// What each group holds now, and what it waited for its processors since.
    pub fn account(&self, since: &Waited) -> Measures {
        let mut measures = Measures::default();
        for (name, group) in &self.0 {
            let scope = || Scope::Processes((*name).into());
            let Limit { memory_bytes, cpu_milli } = group.limit();
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
        self.0.values().any(|group| group.out_of_memory_kills().is_ok_and(|kills| kills > 0))
    }

    /// What came of a trial within these limits: none whose processes were killed for them counts.
    ///
    /// # Errors
    /// What went wrong, with the limits that it went wrong under.
    pub fn judge(&self, answer: Result<Measured, TrialError>) -> Result<Measured, TrialError> {
        self.0.values().fold(answer, |answer, group| judge(group, answer))
    }
}

fn judge(group: &Group, answer: Result<Measured, TrialError>) -> Result<Measured, TrialError> {
    let Some(bytes) = group.limit().memory_bytes else { return answer };
    let limit = format!("limit {} MiB", bytes >> 20);
    let out_of = |more: String| TrialError::User(format!("out of memory: {limit}; {more}"));
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
