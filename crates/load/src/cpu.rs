//! Processor time and scheduling, from the kernel's accounts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub fn thread_cpu() -> Duration {
    read_clock(ClockId::ThreadCPUTime)
}

pub fn process_cpu() -> Duration {
    read_clock(ClockId::ProcessCPUTime)
}

/// What the kernel tells of a thread's scheduling since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadScheduling {
    /// How long it has waited for a processor.
    pub waited: Duration,
    /// How often it got one.
    pub runs: u64,
    /// How often it went to another one; `None` where the kernel doesn't tell.
    pub migrations: Option<u64>,
}

impl ThreadScheduling {
    pub const AT_START: Self = Self { waited: Duration::ZERO, runs: 0, migrations: Some(0) };

    pub fn of_this_thread() -> Option<Self> {
        Self::read(Path::new("/proc/thread-self"))
    }

    /// Of the thread with this folder; `None` if it is gone, or without such accounts.
    pub fn read(thread: &Path) -> Option<Self> {
        let schedstat = fs::read_to_string(thread.join("schedstat")).ok()?;
        let sched = fs::read_to_string(thread.join("sched")).unwrap_or_default();
        Self::parse(&schedstat, &sched)
    }

    /// How long the thread with this number has run.
    pub fn read_time(thread: u32) -> Option<Duration> {
        let schedstat = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
        Some(Duration::from_nanos(schedstat.split_whitespace().next()?.parse().ok()?))
    }

    /// Sources: Documentation/scheduler/sched-stats.rst of the kernel, and proc_sched_show_task in
    /// kernel/sched/debug.c.
    fn parse(schedstat: &str, sched: &str) -> Option<Self> {
        let mut fields = schedstat.split_whitespace().skip(1);
        let mut next = || fields.next()?.parse().ok();
        let (waited, runs) = (Duration::from_nanos(next()?), next()?);
        let count = sched.lines().find_map(|line| line.strip_prefix("se.nr_migrations"));
        let migrations = count.and_then(|rest| rest.trim_start_matches([' ', ':']).parse().ok());
        Some(Self { waited, runs, migrations })
    }

    pub fn since(self, earlier: Self) -> Self {
        let migrations = self.migrations.zip(earlier.migrations);
        Self {
            waited: self.waited.saturating_sub(earlier.waited),
            runs: self.runs.saturating_sub(earlier.runs),
            migrations: migrations.map(|(now, then)| now.saturating_sub(then)),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        let migrations = self.migrations.zip(other.migrations);
        Self {
            waited: self.waited + other.waited,
            runs: self.runs + other.runs,
            migrations: migrations.map(|(one, other)| one + other),
        }
    }

    /// For how long it waited each time that it got a processor.
    pub fn mean_wait(self) -> Option<Duration> {
        Some(self.waited.div_f64(Some(self.runs as f64).filter(|runs| *runs > 0.0)?))
    }
}

fn read_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_and_differ() {
        let sched = "se.vruntime :  1.5\nse.nr_migrations                :        7\nx : 1\n";
        let first = ThreadScheduling::parse("10 2000 4\n", sched).unwrap();
        assert_eq!((first.waited.as_nanos(), first.runs, first.migrations), (2000, 4, Some(7)));
        assert_eq!(first.mean_wait(), Some(Duration::from_nanos(500)));
        assert_eq!(first.since(first).mean_wait(), None, "it never ran");
        let later = ThreadScheduling::parse("10 9000 5", "").unwrap().since(first);
        assert_eq!((later.waited.as_nanos(), later.runs, later.migrations), (7000, 1, None));
        assert_eq!(first.plus(first).migrations, Some(14));
        assert_eq!(ThreadScheduling::parse("10", sched), None);
    }
}
