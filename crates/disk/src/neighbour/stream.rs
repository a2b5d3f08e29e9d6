use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

use super::file::{Aligned, BLOCK};
use super::tally::{NeighbourSnapshot, NeighbourTally};

pub(super) enum StreamPace {
    Closed,
    Poisson { per_second: f64, arrivals: Mutex<PoissonArrivals> },
}

pub(super) struct PoissonArrivals {
    next: Instant,
    rng: Xoshiro256PlusPlus,
}

impl StreamPace {
    /// Panics if the rate is not positive.
    pub fn poisson(per_second: f64, seed: u64) -> Self {
        assert!(per_second > 0.0 && per_second.is_finite(), "{per_second} requests a second");
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let arrivals = Mutex::new(PoissonArrivals { next: Instant::now(), rng });
        Self::Poisson { per_second, arrivals }
    }

    /// The next request's time; nobody else gets the same.
    fn next(&self) -> Instant {
        match self {
            Self::Closed => Instant::now(),
            Self::Poisson { per_second, arrivals } => {
                let mut arrivals = lock(arrivals);
                // The inverse of the distribution function, of a number above 0.
                let gap = -(1.0 - arrivals.rng.random::<f64>()).ln() / per_second;
                arrivals.next += Duration::from_secs_f64(gap);
                arrivals.next
            }
        }
    }
}

pub(super) struct StreamState {
    file: Arc<fs::File>,
    pace: StreamPace,
    stop: AtomicBool,
    tally: Mutex<NeighbourTally>,
}

impl StreamState {
    pub fn new(file: Arc<fs::File>, pace: StreamPace) -> Self {
        Self { file, pace, stop: AtomicBool::new(false), tally: Mutex::new(NeighbourTally::new()) }
    }

    pub fn snapshot(&self) -> NeighbourSnapshot {
        let intended_per_second = match self.pace {
            StreamPace::Closed => None,
            StreamPace::Poisson { per_second, .. } => Some(per_second),
        };
        let tally = lock(&self.tally);
        NeighbourSnapshot { at: Instant::now(), tally: tally.clone(), intended_per_second }
    }

    /// Asks the threads to end; those that wait must be unparked.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn keep_error(&self, error: &io::Error) {
        lock(&self.tally).keep_error(error);
    }

    fn wait_until(&self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.stop.load(Relaxed) {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            thread::park_timeout(left);
        }
    }
}

/// Sends requests, one at a time, until it is asked to stop or one fails. Returns its processor
/// time.
pub(super) fn run_stream(shared: &StreamState, seed: u64) -> Duration {
    // By default the kernel may wake a thread 50 µs late. Without the right to change that, it
    // does.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if let Err(error) = send_requests(shared, seed) {
        shared.keep_error(&error);
    }
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

fn send_requests(shared: &StreamState, seed: u64) -> io::Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut block = Aligned::new(BLOCK);
    rng.fill_bytes(block.as_mut_bytes());
    let blocks = shared.file.metadata()?.len() / BLOCK as u64;
    loop {
        let due = shared.pace.next();
        if !shared.wait_until(due) {
            return Ok(());
        }
        let (is_read, place) = (rng.random::<bool>(), rng.random_range(0..blocks) * BLOCK as u64);
        let began = Instant::now();
        if is_read {
            shared.file.read_exact_at(block.as_mut_bytes(), place)?;
        } else {
            shared.file.write_all_at(block.as_mut_bytes(), place)?;
        }
        lock(&shared.tally).add_request(is_read, due, began);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

#[cfg(test)]
mod tests {
    use bakeoff_devices::neighbour::NeighbourLevel;
    use bakeoff_testkit::wait_until;

    use super::*;
    use crate::neighbour::{NeighbourFile, RunningNeighbours, measure_alone};

    #[test]
    fn a_request_that_fails_is_reported_and_ends_its_stream() {
        let mut temporary = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut temporary, &[0; 4 * BLOCK]).unwrap();
        // Its reads succeed, its writes don't.
        let file = NeighbourFile::from_handle(fs::File::open(temporary.path()).unwrap());
        let neighbours = RunningNeighbours::start(&file, NeighbourLevel::Streams(2), 0.0, 1);
        let start = neighbours.snapshot();
        wait_until("a failure", || neighbours.snapshot().since(&start).error.is_some());
        let report = neighbours.finish();
        assert_eq!(report.writes, 0);
        assert!(report.error.is_some_and(|text| text.contains("Bad file descriptor")));
        // Its stream may get no turn in a short time.
        let measured = |n: u32| measure_alone(&file, Duration::from_millis(50) * (1 << n));
        let mut errors = (0..8).filter_map(|n| measured(n).err()).map(|it| it.to_string());
        assert!(errors.any(|error| error.contains("Bad file descriptor")));
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_an_exponential() {
        let pace = StreamPace::poisson(1000.0, 7);
        let times: Vec<_> = (0..20_000).map(|_| pace.next()).collect();
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        let (count, sum) = (gaps.len() as f64, gaps.clone().sum::<f64>());
        let (mean, squares) = (sum / count, gaps.map(|gap| gap * gap).sum::<f64>() / count);
        // Both are 1/rate; with 20,000 gaps their standard errors are 0.7 % and about 1 %.
        assert!((mean * 1000.0 - 1.0).abs() < 0.04, "{mean}");
        assert!(((squares - mean * mean).sqrt() * 1000.0 - 1.0).abs() < 0.06, "{squares}");
    }
}
