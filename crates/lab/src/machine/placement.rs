//! Tells on which processors the threads of clients and of their servers run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use bakeoff_load::cpu::ThreadScheduling;

/// The newest threads of a side that are looked at: those that connections got. A look must stay
/// cheap.
const MOST_THREADS: usize = 64;

/// How long threads ran on each processor.
type TimeByProcessor = BTreeMap<u32, Duration>;

#[derive(Debug, Default)]
pub struct PlacementSamples {
    clients: ThreadSamples,
    servers: ThreadSamples,
    /// By the clients' time between two looks: together with servers, and at all.
    together_s: f64,
    sampled_s: f64,
}

impl PlacementSamples {
    /// Several times a second, of the threads that there are.
    pub fn look(&mut self, clients: &[u32], servers: impl DoubleEndedIterator<Item = u32>) {
        let clients = self.clients.look(clients.iter().copied());
        let servers = self.servers.look(servers);
        if let Some(share) = share_together(&clients, &servers) {
            let ran_s: f64 = clients.values().map(Duration::as_secs_f64).sum();
            self.together_s += share * ran_s;
            self.sampled_s += ran_s;
        }
    }

    /// `None` where nothing ran on both sides between two looks.
    pub fn share_together(&self) -> Option<f64> {
        (self.sampled_s > 0.0).then(|| self.together_s / self.sampled_s)
    }

    /// How many processors the clients' threads ran on, and the servers'.
    pub fn count_processors(&self) -> [usize; 2] {
        [&self.clients, &self.servers].map(|side| side.processors.len())
    }
}

/// How likely a moment of the one's time and a moment of the other's are on the same processor: 1
/// for two threads that share one, 0 for two apart, and a half for many on two processors.
fn share_together(one: &TimeByProcessor, other: &TimeByProcessor) -> Option<f64> {
    let [all, of] =
        [one, other].map(|times| times.values().map(Duration::as_secs_f64).sum::<f64>());
    let both = one.iter().filter_map(|(processor, time)| Some((time, other.get(processor)?)));
    let shared: f64 = both.map(|(time, its)| time.as_secs_f64() * its.as_secs_f64()).sum();
    (all > 0.0 && of > 0.0).then(|| shared / (all * of))
}

#[derive(Debug, Default)]
struct ThreadSamples {
    /// How long each had run at the last look.
    ran: BTreeMap<u32, Duration>,
    processors: BTreeSet<u32>,
}

impl ThreadSamples {
    /// What a thread ran since the last look counts where it is now. One that did not run is where
    /// it was long ago, which says nothing.
    fn look(&mut self, threads: impl DoubleEndedIterator<Item = u32>) -> TimeByProcessor {
        let mut times = TimeByProcessor::new();
        // One may be gone.
        let living = threads.rev().filter_map(|it| Some((it, ThreadScheduling::read_time(it)?)));
        for (thread, ran) in living.take(MOST_THREADS) {
            let before = self.ran.insert(thread, ran).unwrap_or(ran);
            let time = ran.saturating_sub(before);
            if time.is_zero() {
                continue;
            }
            let stat = fs::read_to_string(format!("/proc/{thread}/stat"));
            let Some(processor) = stat.ok().as_deref().and_then(parse_processor) else { continue };
            self.processors.insert(processor);
            *times.entry(processor).or_default() += time;
        }
        times
    }
}

/// Source: proc_pid_stat(5), the 39th field. The second one may hold spaces and brackets.
fn parse_processor(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(36)?.parse().ok()
}

/// The threads of this process whose names begin so.
pub fn list_own_threads(prefix: &str) -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_meant = |folder: &Path| {
        fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with(prefix))
    };
    let found = threads.filter(|thread| is_meant(&thread.path()));
    found.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_together_is_the_chance_to_meet() {
        let times = |pairs: &[(u32, u64)]| -> TimeByProcessor {
            pairs.iter().map(|(processor, ms)| (*processor, Duration::from_millis(*ms))).collect()
        };
        for (clients, servers, share) in [
            (&[(0, 7)][..], &[(0, 90)][..], Some(100.0)),
            (&[(0, 7)], &[(1, 90)], Some(0.0)),
            (&[(0, 50), (1, 50)], &[(0, 9), (1, 9)], Some(50.0)),
            (&[(0, 50), (1, 50)], &[(1, 9)], Some(50.0)),
            (&[(0, 90), (1, 10)], &[(0, 90), (1, 10)], Some(82.0)),
            (&[(0, 1)], &[(0, 0)], None),
            (&[], &[(0, 1)], None),
        ] {
            let found = share_together(&times(clients), &times(servers));
            assert_eq!(found.map(|share| (share * 100.0).round()), share, "{clients:?}");
        }
    }

    #[test]
    fn a_thread_is_found_on_its_processor() {
        use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
        let own = std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let last = (0..CpuSet::MAX_CPU).rfind(|number| allowed.is_set(*number)).unwrap();
            let mut one = CpuSet::new();
            one.set(last);
            sched_setaffinity(None, &one).unwrap();
            let this = gettid().as_raw_nonzero().get() as u32;
            let mut samples = PlacementSamples::default();
            while samples.share_together().is_none() {
                samples.look(&[this], [this].into_iter());
            }
            assert!(samples.clients.processors.contains(&(last as u32)));
            (samples.share_together(), samples.count_processors())
        });
        assert_eq!(own.join().unwrap(), (Some(1.0), [1, 1]));
        assert_eq!(parse_processor("7 (a) b) S 1"), None);
    }
}
