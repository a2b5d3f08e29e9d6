//! Neighbours: other load on a disk, in a file of its own.
//!
//! Every request is 16 KiB at a random place of the file, a read or a write with equal probability,
//! direct (`O_DIRECT`), so that it goes to the disk and not to the page cache. Closed streams send
//! a request as soon as the last one is done; Poisson arrivals come at a share of one stream's
//! rate.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;

mod file;
mod stream;
mod tally;

pub use file::{
    Error, FILE_BYTES, LEAST_BYTES, NeighbourFile, create_nameless, go_direct, is_in_memory,
};
pub use tally::{NeighbourReport, NeighbourSnapshot};

use stream::{StreamPace, StreamState};

/// The most Poisson arrivals in flight. Further arrivals wait, and are late.
pub const MOST_IN_FLIGHT: u32 = 32;

pub struct RunningNeighbours {
    shared: Arc<StreamState>,
    threads: Vec<thread::JoinHandle<Duration>>,
    start: NeighbourSnapshot,
}

impl RunningNeighbours {
    /// Starts neighbours on a file. [`NeighbourLevel::Share`] is a share of `alone_rate`, the
    /// requests a second of one stream alone; other levels ignore it.
    ///
    /// A Poisson arrival keeps its intended time: if the disk is busy it is sent beside those in
    /// flight, up to [`MOST_IN_FLIGHT`]. Beyond these it is late, and its latency counts from when
    /// it was due. None is left out. Panics on a share of a rate that is not positive.
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
            thread.spawn(move || stream::run_stream(&shared, seed))
        };
        let mut started = Vec::new();
        for thread in (0..threads).map(work) {
            match thread {
                Ok(thread) => started.push(thread),
                Err(error) => shared.keep_error(&error),
            }
        }
        Self { shared, threads: started, start }
    }

    pub fn snapshot(&self) -> NeighbourSnapshot {
        self.shared.snapshot()
    }

    pub fn finish(mut self) -> NeighbourReport {
        let end = self.snapshot();
        let cpu = self.stop();
        NeighbourReport { cpu, ..end.since(&self.start) }
    }

    fn stop(&mut self) -> Duration {
        self.shared.stop();
        for thread in &self.threads {
            thread.thread().unpark();
        }
        self.threads.drain(..).filter_map(|thread| thread.join().ok()).sum()
    }
}

impl Drop for RunningNeighbours {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Requests a second of one closed stream alone, over `duration` after a warm-up of a quarter of
/// that. Fails if the stream got nothing done.
pub fn measure_alone(file: &NeighbourFile, duration: Duration) -> Result<f64, Error> {
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
