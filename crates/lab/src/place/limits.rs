//! The limits of a place's groups of processes: each group has its own limit and its own account.

use bakeoff_results::Measured;
use bakeoff_results::measure::{MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK, Measures, Scope};

use super::memory::Group;
use crate::{MachineError, TrialError};

/// The groups whose memory is limited, by their names. When it is dropped, their processes are ended
/// and they go.
#[derive(Debug, Default)]
pub struct Limits(Vec<(&'static str, Group)>);

impl Limits {
    /// Limits each of these groups to so many bytes.
    ///
    /// # Errors
    /// Memory can't be limited here: why, and what to do.
    pub fn create(
        wanted: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Result<Self, MachineError> {
        let limited = wanted.into_iter().map(|(name, bytes)| Ok((name, Group::create(bytes)?)));
        limited.collect::<Result<_, String>>().map(Self).map_err(MachineError::Place)
    }

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What holds a group.
    pub fn of(&self, name: &str) -> Option<&Group> {
        self.0.iter().find(|(limited, _)| *limited == name).map(|(_, group)| group)
    }

    /// Ends all processes of all groups.
    ///
    /// # Errors
    /// What can't be ended; the other groups' processes are ended all the same.
    pub fn end_processes(&self) -> Result<(), TrialError> {
        let ended = self.0.iter().map(|(_, group)| {
            group.end_processes().map_err(|error| TrialError::place("its end", error))
        });
        ended.fold(Ok(()), Result::and)
    }

    /// What each group holds now.
    pub fn account(&self) -> Measures {
        let mut measures = Measures::default();
        for (name, group) in &self.0 {
            let scope = || Scope::Processes((*name).into());
            measures.set(&MEMORY_LIMIT, scope(), group.limit() as f64);
            measures.set_some(&MEMORY_PEAK, scope(), group.peak().map(|bytes| bytes as f64));
            let cached = group.cached().unwrap_or(0);
            measures.set(&MEMORY_CACHED, scope(), cached as f64);
        }
        measures
    }

    /// Whether a process was killed for them.
    pub fn has_killed(&self) -> bool {
        self.0.iter().any(|(_, group)| group.out_of_memory_kills().is_ok_and(|kills| kills > 0))
    }

    /// What came of a trial within these limits: none whose processes were killed for them counts.
    ///
    /// # Errors
    /// What went wrong, with the limits that it went wrong under.
    pub fn judge(&self, answer: Result<Measured, TrialError>) -> Result<Measured, TrialError> {
        self.0.iter().fold(answer, |answer, (_, group)| judge(group, answer))
    }
}

fn judge(group: &Group, answer: Result<Measured, TrialError>) -> Result<Measured, TrialError> {
    let limit = format!("limit {} MiB", group.limit() >> 20);
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
mod tests {
    use super::*;

    #[test]
    fn each_group_has_its_own_limit_and_account() {
        let Ok(limits) = Limits::create([("database", 64 << 20), ("application", 32 << 20)]) else {
            eprintln!("skipped: memory can't be limited here");
            return;
        };
        let limit = |name: &str| limits.of(name).map(Group::limit);
        assert_eq!(
            (limit("database"), limit("application"), limit("web")),
            (Some(64 << 20), Some(32 << 20), None)
        );
        let processes = |name: &str| limits.of(name).unwrap().processes();
        assert_ne!(processes("database"), processes("application"));
        let account = limits.account();
        for (name, bytes) in [("database", 64 << 20), ("application", 32 << 20)] {
            let scope = Scope::Processes(name.into());
            assert_eq!(account.get(&MEMORY_LIMIT, &scope), Some(f64::from(bytes)), "{name}");
        }
    }
}
