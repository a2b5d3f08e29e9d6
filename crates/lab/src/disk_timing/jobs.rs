//! The requests, each kind repeated until its time is over.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_results::FlushTiming;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::file::{LARGE, SMALL, TimedFile, create_nameless};
use super::samples::Samples;
use crate::targets::folder::AlignedBuffers;

/// A disk that takes longer than its time is asked so often all the same.
const LEAST: usize = 4;

/// Each request gets its number.
pub fn time_requests(
    duration: Duration,
    mut request: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<Samples> {
    let begin = Instant::now();
    let mut samples = Samples::default();
    while samples.count() < LEAST || begin.elapsed() < duration {
        let start = Instant::now();
        request(samples.count() as u64)?;
        samples.add(start.elapsed().as_secs_f64());
    }
    Ok(samples)
}

/// Large writes, each with its sync.
pub struct LargeWrites {
    pub block: usize,
    /// Seconds of a write, and of it with its sync.
    pub write_s: f64,
    pub synced_s: f64,
}

pub fn write_large(
    file: &mut TimedFile,
    block: usize,
    duration: Duration,
) -> io::Result<LargeWrites> {
    let mut writes = Samples::default();
    let synced = time_requests(duration, |number| {
        let start = Instant::now();
        file.overwrite(block, number)?;
        writes.add(start.elapsed().as_secs_f64());
        file.sync()
    })?;
    Ok(LargeWrites { block, write_s: writes.mean(), synced_s: synced.mean() })
}

impl LargeWrites {
    /// MB/s by which their syncs take longer than those of small writes; 0 if they do not, or if a part of
    /// it is the write itself.
    pub fn find_rate(&self, small: &FlushTiming) -> f64 {
        const CLEAR: f64 = 0.2;
        const CLEAR_S: f64 = 20e-6;
        let longer_s = self.synced_s - self.write_s - small.flush_s;
        let is_clear = longer_s > (CLEAR * small.flush_s).max(CLEAR_S);
        if is_clear && small.write_s.is_some() { self.block as f64 / 1e6 / longer_s } else { 0.0 }
    }
}

/// How many appends a second so many writers make durable, each in a file of its own.
pub fn count_appends(folder: &Path, writers: u32, duration: Duration) -> io::Result<f64> {
    let append = |_: u32| {
        let file = create_nameless(folder)?;
        let block = [0x5A; SMALL];
        Ok::<_, io::Error>(move |number: u64| {
            file.write_all_at(&block, number * SMALL as u64)?;
            file.sync_data()
        })
    };
    count_requests(writers, duration, append)
}

/// How many random blocks a second so many readers read, each one at a time.
pub fn read_random(file: &TimedFile, readers: u32, duration: Duration) -> io::Result<f64> {
    let (handle, blocks) = (file.file(), file.bytes() / SMALL as u64);
    let read = |seed: u32| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(seed));
        let mut buffer = AlignedBuffers::new(1, SMALL);
        Ok(move |_: u64| {
            let place = rng.random_range(0..blocks) * SMALL as u64;
            handle.read_exact_at(buffer.all(), place)
        })
    };
    count_requests(readers, duration, read)
}

/// Requests a second of so many threads, each with a request of its own.
fn count_requests<R: FnMut(u64) -> io::Result<()> + Send>(
    threads: u32,
    duration: Duration,
    make: impl Fn(u32) -> io::Result<R>,
) -> io::Result<f64> {
    let requests = (0..threads).map(make).collect::<io::Result<Vec<R>>>()?;
    let begin = Instant::now();
    let count = thread::scope(|scope| {
        let start = |request| {
            thread::Builder::new().spawn_scoped(scope, move || time_requests(duration, request))
        };
        let started: io::Result<Vec<_>> = requests.into_iter().map(start).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<Samples>>| {
            thread.join().expect("it does not panic").map(|samples| samples.count())
        };
        started?.into_iter().map(join).sum::<io::Result<usize>>()
    })?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// Makes the file that is read, of at most so many bytes, and says how many MB/s were written.
pub fn write_read_file(
    folder: &Path,
    most: u64,
    duration: Duration,
) -> io::Result<(TimedFile, f64)> {
    let mut file = TimedFile::create_empty(folder)?;
    let begin = Instant::now();
    let mut number = 0;
    // The smallest file is no larger than what every disk must have room for.
    while file.bytes() < most && (number < LEAST as u64 || begin.elapsed() < duration) {
        file.append(number)?;
        number += 1;
    }
    file.sync()?;
    let seconds = begin.elapsed().as_secs_f64();
    let mb_s = file.bytes() as f64 / 1e6 / seconds;
    Ok((file, mb_s))
}

/// MB/s.
pub fn read_in_order(file: &mut TimedFile, duration: Duration) -> io::Result<f64> {
    let samples = time_requests(duration, |number| file.read_large(number))?;
    Ok(LARGE as f64 / 1e6 / samples.mean())
}
