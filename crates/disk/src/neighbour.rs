//! Neighbours: other load on a disk, in a file of its own.
//!
//! Every request is 16 KiB at a random place of the file, a read or a write with equal
//! probability, direct (`O_DIRECT`), so that it goes to the disk and not to the page cache. There
//! are two kinds: closed streams, which each send a request as soon as the last one is done, and
//! Poisson arrivals at a share of the rate that one such stream reaches alone.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;

mod file;
mod stream;
mod tally;

pub use file::{Error, FILE_BYTES, LEAST_BYTES, NeighbourFile, is_in_memory};
pub use tally::{NeighbourReport, NeighbourSnapshot};

use stream::{StreamPace, StreamState};

/// How many Poisson arrivals may be in flight at once. More than that wait, and are late.
pub const MOST_IN_FLIGHT: u32 = 32;

/// Neighbours at work. They go when this is dropped.
pub struct RunningNeighbours {
    shared: Arc<StreamState>,
    threads: Vec<thread::JoinHandle<Duration>>,
    start: NeighbourSnapshot,
}

impl RunningNeighbours {
    /// Sends neighbours to work on a file. `alone_rate` is the requests a second that one stream
    /// reaches alone, of which [`NeighbourLevel::Share`] takes its share; other levels do not look at it.
    ///
    /// Poisson arrivals keep the times at which they are meant to be: one that finds the disk
    /// busy is sent beside those in flight, up to [`MOST_IN_FLIGHT`]; where these are not enough
    /// it is late, and its latency counts from when it was due. None is left out.
    ///
    /// # Panics
    /// When a share is asked of a rate that is no positive number.
    pub fn start(file: &NeighbourFile, level: NeighbourLevel, alone_rate: f64, seed: u64) -> Self {
        let (threads, pace) = match level {
            NeighbourLevel::None => (0, StreamPace::Closed),
            NeighbourLevel::Streams(streams) => (streams, StreamPace::Closed),
            NeighbourLevel::Share(share) => {
                (MOST_IN_FLIGHT, StreamPace::poisson(share * alone_rate, seed))
            }
        };
        let shared = Arc::new(StreamState::new(file.handle(), pace));
        let start = shared.snapshot();
        let work = |number| {
            let shared = Arc::clone(&shared);
            let seed = seed.wrapping_add(1 + u64::from(number));
            let thread = thread::Builder::new().name(format!("neighbour-{number}"));
            thread.spawn(move || stream::work(&shared, seed))
        };
        let mut started = Vec::new();
        for thread in (0..threads).map(work) {
            match thread {
                Ok(thread) => started.push(thread),
                Err(error) => shared.fail(&error),
            }
        }
        Self { shared, threads: started, start }
    }

    /// What the neighbours have done so far. The difference of two snapshots is what they did between
    /// them.
    pub fn snapshot(&self) -> NeighbourSnapshot {
        self.shared.snapshot()
    }

    /// Stops them and tells what they did. It takes as long as the requests in flight.
    pub fn finish(mut self) -> NeighbourReport {
        let end = self.snapshot();
        let cpu = self.stop();
        NeighbourReport { cpu, ..end.since(&self.start) }
    }

    /// Ends the threads; the processor time that they used.
    fn stop(&mut self) -> Duration {
        self.shared.stop();
        for thread in &self.threads {
            thread.thread().unpark();
        }
        // A thread that panicked has said so itself.
        self.threads.drain(..).filter_map(|thread| thread.join().ok()).sum()
    }
}

impl Drop for RunningNeighbours {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Requests a second of one closed stream that has the disk for itself, measured over `duration`
/// after a warm-up of a quarter of that.
///
/// # Errors
/// What the disk said, if the stream failed or got nothing done.
pub fn measure_alone(file: &NeighbourFile, duration: Duration) -> Result<f64, Error> {
    // The seed does not matter: only the rate is kept.
    let one = RunningNeighbours::start(file, NeighbourLevel::Streams(1), 0.0, 0);
    thread::sleep(duration / 4);
    let start = one.snapshot();
    thread::sleep(duration);
    let report = one.snapshot().since(&start);
    match report.error {
        Some(text) => Err(Error::Failed(text)),
        None if report.requests == 0 => {
            Err(Error::Failed(format!("no request was done in {} s", report.seconds)))
        }
        None => Ok(report.achieved_per_second),
    }
}
