//! How long the threads of processes were ready to run and had no processor.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use bakeoff_load::cpu::run_delay;

use super::usage::family;

/// Threads that are looked at from time to time, since what one has waited goes with it.
#[derive(Debug, Default)]
pub struct RunDelays {
    roots: Vec<u32>,
    /// One whose family is not looked at, though it is a part of another one.
    apart: Option<u32>,
    /// What each thread had waited when it was first seen, and when it was last seen.
    threads: BTreeMap<u32, (Duration, Duration)>,
    looked: bool,
}

impl RunDelays {
    /// Of these processes and their descendants.
    pub fn from_roots(roots: Vec<u32>) -> Self {
        Self { roots, ..Self::default() }
    }

    /// But for this process and its descendants.
    pub fn without(self, apart: u32) -> Self {
        Self { apart: Some(apart), ..self }
    }

    /// Looks at all threads. One that is new since the first look has waited all it has waited
    /// meanwhile.
    pub fn look(&mut self) {
        let apart = self.apart.and_then(|root| family(root).ok()).unwrap_or_default();
        let all = self.roots.iter().filter_map(|root| family(*root).ok()).flatten();
        for pid in all.filter(|pid| !apart.contains(pid)) {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for thread in threads {
                let name = thread.file_name();
                let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
                // One that is gone meanwhile, or that belongs to somebody else, tells nothing.
                let text = fs::read_to_string(thread.path().join("schedstat"));
                let Some(waited) = text.ok().as_deref().and_then(run_delay) else { continue };
                let first = if self.looked { Duration::ZERO } else { waited };
                self.threads.entry(id).or_insert((first, waited)).1 = waited;
            }
        }
        self.looked = true;
    }

    /// What all threads have waited since the first look; `None` where no thread could be looked at.
    pub fn total(&self) -> Option<Duration> {
        let each = self.threads.values().map(|(first, last)| last.saturating_sub(*first));
        (!self.threads.is_empty()).then(|| each.sum())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use bakeoff_testkit::wait_until;

    use super::*;

    #[test]
    fn a_family_that_is_apart_is_not_looked_at() {
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let mut looked = RunDelays::from_roots(vec![sleeper.id()]);
        let mut apart = RunDelays::from_roots(vec![sleeper.id()]).without(sleeper.id());
        looked.look();
        apart.look();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(looked.total().is_some());
        assert_eq!(apart.total(), None);
    }

    #[test]
    fn what_waits_for_a_processor_is_seen() {
        // More busy shells than processors: some of them wait.
        let count = std::thread::available_parallelism().map_or(1, usize::from) * 2 + 1;
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut shells: Vec<_> = (0..count).map(|_| spin()).collect();
        let mut delays =
            RunDelays::from_roots(shells.iter().map(std::process::Child::id).collect());
        delays.look();
        let mut totals = vec![delays.total().expect("the kernel keeps the account")];
        wait_until("200 ms of waiting", || {
            delays.look();
            totals.push(delays.total().expect("the kernel keeps the account"));
            totals.last() > Some(&Duration::from_millis(200))
        });
        for shell in &mut shells {
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
        assert_eq!(totals[0], Duration::ZERO, "since the first look");
        assert!(totals.is_sorted(), "{totals:?}");
    }

    /// A process that sleeps is never ready to run: nothing is added, however busy the machine.
    #[test]
    fn what_sleeps_waits_for_no_processor() {
        let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.id())).unwrap();
            stat.contains("(sleep) S")
        };
        wait_until("its sleep", state);
        let mut delays = RunDelays::from_roots(vec![sleeper.id()]);
        delays.look();
        // What it waited until it slept is no more of it.
        std::thread::sleep(Duration::from_millis(200));
        delays.look();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(delays.total(), Some(Duration::ZERO));
        assert_eq!(RunDelays::from_roots(vec![]).total(), None);
    }
}
