//! The canary: a short measurement of the machine alone, before each block.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use bakeoff_results::Canary;

const FILE: u64 = 16 << 20;
const BLOCK: usize = 4096;
/// No part takes longer, however slow the disk is.
const LIMIT: Duration = Duration::from_millis(250);

pub struct CanaryProbe {
    log: File,
    /// Opened with `O_DIRECT`; `None` if the file system refuses that.
    reads: Option<File>,
    memory: Vec<u8>,
    copy: Vec<u8>,
    state: u64,
    end: u64,
}

impl CanaryProbe {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let path = folder.join("canary-read");
        fs::write(&path, vec![0xA5; FILE as usize])?;
        File::open(&path)?.sync_all()?;
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let reads = OpenOptions::new().read(true).custom_flags(direct).open(&path).ok();
        Ok(Self {
            log: File::create(folder.join("canary-log"))?,
            reads,
            memory: vec![1; 16 << 20],
            copy: vec![0; 16 << 20],
            state: 1,
            end: 0,
        })
    }

    /// Takes about 50 ms on a fast machine.
    pub fn take_reading(&mut self) -> io::Result<Canary> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Canary {
            at_s: now.as_secs_f64(),
            cpu_s: median_of(9, || {
                self.compute_arithmetic();
                Ok(())
            })?,
            memory_s: median_of(9, || {
                self.copy_memory();
                Ok(())
            })?,
            sync_s: self.time_sync()?,
            read_s: self.random_read()?,
            off: None,
        })
    }

    fn next_random(&mut self) -> u64 {
        // xorshift64 (Marsaglia 2003): any cheap sequence would do.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn compute_arithmetic(&mut self) {
        for _ in 0..1_000_000 {
            self.next_random();
        }
        std::hint::black_box(self.state);
    }

    fn copy_memory(&mut self) {
        self.copy.copy_from_slice(&self.memory);
        std::hint::black_box(&self.copy);
    }

    fn time_sync(&mut self) -> io::Result<f64> {
        let block = [0x5A; BLOCK];
        median_of(30, || {
            self.log.write_all_at(&block, self.end)?;
            self.end += BLOCK as u64;
            self.log.sync_data()
        })
    }

    fn random_read(&mut self) -> io::Result<Option<f64>> {
        let Some(file) = self.reads.take() else { return Ok(None) };
        // Direct reads need aligned memory: leave room to move up to the next boundary.
        let mut memory = vec![0; 2 * BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        let seconds = median_of(100, || {
            let block = self.next_random() % (FILE / BLOCK as u64);
            file.read_exact_at(&mut memory[start..start + BLOCK], block * BLOCK as u64)
        })?;
        self.reads = Some(file);
        Ok(Some(seconds))
    }
}

fn median_of(count: usize, mut body: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let begin = Instant::now();
    let mut times = Vec::with_capacity(count);
    while times.len() < count && (times.len() < 3 || begin.elapsed() < LIMIT) {
        let start = Instant::now();
        body()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut cage = CanaryProbe::new(folder.path()).unwrap();
        let canary = cage.take_reading().unwrap();
        assert!(canary.cpu_s > 0.0 && canary.memory_s > 0.0 && canary.sync_s > 0.0);
        assert!(canary.read_s.is_none_or(|seconds| seconds > 0.0));
    }

    #[test]
    fn what_takes_long_is_timed_three_times_and_no_more() {
        let mut times = 0;
        let median = median_of(100, || {
            times += 1;
            std::thread::sleep(LIMIT / 2);
            Ok(())
        });
        assert_eq!(times, 3);
        assert!(median.unwrap() >= LIMIT.as_secs_f64() / 2.0);
    }
}
