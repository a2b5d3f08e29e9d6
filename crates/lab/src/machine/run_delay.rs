//! Measures how long threads were ready to run but had no processor, and how often they moved.

use std::collections::BTreeMap;
use std::fs;

use bakeoff_load::cpu::ThreadScheduling;

use super::usage::list_family;

/// Looks at threads now and then, since the wait of a thread is lost when it ends.
#[derive(Debug, Default)]
pub struct RunDelays {
    roots: Vec<u32>,
    /// A process whose family is left out.
    apart: Option<u32>,
    /// Whether only the descendants of the roots count.
    below: bool,
    /// The account of each thread at the first and at the last look.
    threads: BTreeMap<u32, (ThreadScheduling, ThreadScheduling)>,
    looked: bool,
}

impl RunDelays {
    pub fn from_roots(roots: Vec<u32>) -> Self {
        Self { roots, ..Self::default() }
    }

    pub fn without_family(self, apart: u32) -> Self {
        Self { apart: Some(apart), ..self }
    }

    /// Of the descendants alone.
    pub fn without_root(self) -> Self {
        Self { below: true, ..self }
    }

    /// A thread that is new since the first look counts with all its wait.
    pub fn look(&mut self) {
        let apart = self.apart.and_then(|root| list_family(root).ok()).unwrap_or_default();
        let all = self.roots.iter().filter_map(|root| list_family(*root).ok()).flatten();
        let left_out = |pid: &u32| apart.contains(pid) || self.below && self.roots.contains(pid);
        for pid in all.filter(|pid| !left_out(pid)) {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for thread in threads {
                let name = thread.file_name();
                let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
                // A thread may be gone, or belong to another user.
                let Some(now) = ThreadScheduling::read(&thread.path()) else { continue };
                let first = if self.looked { ThreadScheduling::AT_START } else { now };
                self.threads.entry(id).or_insert((first, now)).1 = now;
            }
        }
        self.looked = true;
    }

    pub fn total(&self) -> Option<ThreadScheduling> {
        self.threads.values().map(|(first, last)| last.since(*first)).reduce(ThreadScheduling::plus)
    }

    /// As of the last look, the oldest first.
    pub fn threads(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.threads.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use bakeoff_testkit::wait_until;

    use super::*;

    fn started(program: &str, arguments: &[&str]) -> Child {
        Command::new(program).args(arguments).spawn().unwrap()
    }

    fn end(mut process: Child) {
        process.kill().unwrap();
        process.wait().unwrap();
    }

    #[test]
    fn what_waits_for_a_processor_is_seen() {
        // More busy shells than processors: some of them wait.
        let count = std::thread::available_parallelism().map_or(1, usize::from) * 2 + 1;
        let spin = || started("sh", &["-c", "while :; do :; done"]);
        let shells: Vec<_> = (0..count).map(|_| spin()).collect();
        let mut delays =
            RunDelays::from_roots(shells.iter().map(std::process::Child::id).collect());
        delays.look();
        let mut totals = vec![delays.total().expect("the kernel keeps the account").waited];
        wait_until("200 ms of waiting", || {
            delays.look();
            totals.push(delays.total().expect("the kernel keeps the account").waited);
            totals.last() > Some(&Duration::from_millis(200))
        });
        shells.into_iter().for_each(end);
        assert_eq!(totals[0], Duration::ZERO, "since the first look");
        assert!(totals.is_sorted(), "{totals:?}");
    }

    /// A process that sleeps is never ready to run: nothing is added, however busy the machine. A family that is
    /// apart is not looked at.
    #[test]
    fn what_sleeps_waits_for_no_processor() {
        let sleeper = started("sleep", &["1000"]);
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.id())).unwrap();
            stat.contains("(sleep) S")
        };
        wait_until("its sleep", state);
        let mut delays = RunDelays::from_roots(vec![sleeper.id()]);
        let mut apart = RunDelays::from_roots(vec![sleeper.id()]).without_family(sleeper.id());
        delays.look();
        // What it waited until it slept is no more of it.
        std::thread::sleep(Duration::from_millis(200));
        delays.look();
        apart.look();
        end(sleeper);
        assert_eq!(delays.total().map(|it| it.waited), Some(Duration::ZERO));
        assert_eq!(apart.total(), None);
        assert_eq!(RunDelays::from_roots(vec![]).total(), None);
    }
}
