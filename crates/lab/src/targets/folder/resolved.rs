use bakeoff_experiment::{Cell, Declared, EngineState, Factor};
use serde::{Deserialize, Serialize};

use super::content::PAGE;
use super::files::{FileOpenMode, FileSetShape};
use super::levels::{
    self, ACCESS, BLOCK, CALLS, DATA, DEPTH, FILES, IO_URING, OFFSETS, PATTERN, PLAIN, Pattern,
    SIZE, SYNC, SyncRule,
};
use super::ring;
use crate::place::device::RawDevice;
use crate::refusal::Refusal;
use crate::targets::UnsyncedData;

/// Bytes of all requests in flight together.
const MOST_BUFFERS: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedFolder {
    pub shape: FileSetShape,
    pub block: usize,
    pub depth: usize,
    /// Whether requests use io_uring.
    pub ring: bool,
    pub pattern: Pattern,
    pub once: bool,
    pub rule: SyncRule,
    pub direct: bool,
}

impl ResolvedFolder {
    pub fn from_cell(cell: &Cell, seed: u64) -> Result<Self, Refusal> {
        let level = |factor: &'static Declared| cell.base(Factor::Declared(factor));
        let checked = "a checked level";
        let depth: usize = level(&DEPTH).parse().expect(checked);
        let resolved = Self {
            shape: file_shape(level(&SIZE), level(&FILES), level(&DATA), seed),
            block: levels::block_bytes(level(&BLOCK)).expect(checked),
            depth,
            ring: depth > 1 || level(&CALLS) == IO_URING,
            pattern: Pattern::parse(level(&PATTERN)).expect(checked),
            once: level(&OFFSETS) == levels::ONCE,
            rule: SyncRule::parse(level(&SYNC)).expect(checked),
            direct: level(&ACCESS) == levels::DIRECT,
        };
        resolved.go_together(cell)?;
        Ok(resolved)
    }

    fn go_together(&self, cell: &Cell) -> Result<(), Refusal> {
        let refuse = |factors: &[&'static Declared], why: String| {
            let factors: Vec<Factor> = factors.iter().copied().map(Factor::Declared).collect();
            Err(Refusal::from_cell(cell, &factors, why))
        };
        if cell.state() == EngineState::Steady {
            let why = "files have no deferred work with a lasting level: take --state warm or cold";
            return Err(Refusal::from_cell(cell, &[Factor::STATE], why));
        }
        if self.depth > 1 && cell.base(Factor::Declared(&CALLS)) == PLAIN {
            let why = "a plain call is one request in flight: take io_uring, auto, or depth 1";
            return refuse(&[&DEPTH, &CALLS], why.into());
        }
        if self.ring
            && let Err(error) = ring::try_ring()
        {
            return refuse(&[&DEPTH, &CALLS], no_ring(&error));
        }
        if self.once && self.pattern.in_order {
            let why = "blocks in order have no random order: leave `offsets` at uniform";
            return refuse(&[&OFFSETS, &PATTERN], why.into());
        }
        if self.shape.each < self.block as u64 {
            let why = format!(
                "each file would have {} bytes, and a request has {}: take fewer files, a larger size \
                 or smaller blocks",
                self.shape.each, self.block
            );
            return refuse(&[&SIZE, &FILES, &BLOCK], why);
        }
        self.room_for_buffers(cell)
    }

    fn room_for_buffers(&self, cell: &Cell) -> Result<(), Refusal> {
        let requests = cell.clients() as u64 * self.depth as u64;
        let bytes = requests.saturating_mul(self.block as u64);
        if bytes <= MOST_BUFFERS {
            return Ok(());
        }
        let why = format!(
            "they would take {} MB of buffers; at most {} MB: take fewer clients, a smaller depth or \
             smaller blocks",
            bytes / 1_000_000,
            MOST_BUFFERS / 1_000_000
        );
        let factors = [Factor::CLIENTS, Factor::Declared(&DEPTH), Factor::Declared(&BLOCK)];
        Err(Refusal::from_cell(cell, &factors, why))
    }

    pub fn check_device(&self, device: &RawDevice) -> Result<(), String> {
        let (bytes, sector) = (self.shape.total_bytes(), device.sector as usize);
        if self.shape.files != 1 {
            return Err("it is in the place of one file: take `files` 1".into());
        }
        if !self.direct {
            return Err("requests to it go around the page cache: take `access` direct".into());
        }
        if bytes > device.bytes {
            return Err(format!(
                "`size` is {bytes} bytes, and the device has {}: take a smaller `size`",
                device.bytes
            ));
        }
        if !self.block.is_multiple_of(sector) || !bytes.is_multiple_of(sector as u64) {
            return Err(format!(
                "its logical blocks have {sector} bytes, and `block` is {} and `size` {bytes}: take a multiple",
                self.block
            ));
        }
        Ok(())
    }

    /// Half of the bytes that clients write between two syncs, or all files. `None` if the page
    /// cache keeps nothing for them.
    pub fn unsynced_writes(&self, clients: usize) -> Option<UnsyncedData> {
        if self.direct || self.pattern.reads == 100 {
            return None;
        }
        let writes = match self.rule {
            SyncRule::Dsync => return None,
            SyncRule::Never => u64::MAX,
            SyncRule::After { writes, .. } => {
                (clients as u64).saturating_mul(u64::from(writes).saturating_sub(1)) / 2
            }
            SyncRule::All { requests } => {
                let writes = u64::from(100 - self.pattern.reads);
                u64::from(requests).saturating_sub(1) * writes / 200
            }
        };
        let bytes = writes.saturating_mul(self.block as u64).min(self.shape.total_bytes());
        Some(UnsyncedData { bytes, files: self.shape.files as u64 })
    }

    pub fn open_mode(&self) -> FileOpenMode {
        let writes = self.pattern.reads < 100;
        FileOpenMode { direct: self.direct, writes, dsync: writes && self.rule == SyncRule::Dsync }
    }
}

fn file_shape(size: &str, files: &str, data: &str, seed: u64) -> FileSetShape {
    let bytes = levels::size_bytes(size).expect("a checked level");
    let files: usize = files.parse().expect("a checked level");
    let each = bytes / files as u64;
    let each = each - each % PAGE as u64;
    FileSetShape { each, files, zeros: data == levels::ZEROS, seed }
}

pub fn no_ring(error: &std::io::Error) -> String {
    format!(
        "it takes io_uring, and this kernel does not give it ({error}): allow it (sysctl \
         kernel.io_uring_disabled=0, Linux 5.11 or later, no seccomp filter), or take depth 1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_the_size_in_whole_pages() {
        let shape = file_shape("1M", "3", "random", 1);
        assert_eq!((shape.each, shape.files), (349_525 / 4096 * 4096, 3));
        assert_eq!(shape.total_bytes(), 3 * 85 * 4096);
    }

    #[test]
    fn a_kernel_without_rings_is_told_of_with_the_remedy() {
        let error = no_ring(&std::io::Error::from_raw_os_error(38));
        assert!(error.contains("it takes io_uring"), "{error}");
        assert!(error.contains("io_uring_disabled=0") && error.contains("depth 1"), "{error}");
    }
}
