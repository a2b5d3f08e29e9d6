//! The last acknowledged write of each block, which the block must hold when all writes have ended.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A write is under way or failed: the block may hold it or what was there before.
const UNDER_WAY: u64 = 1 << 63;
/// Two writes overlapped: the block may hold either.
const EITHER: u64 = 1 << 62;
/// Blocks that are tracked, each in 8 bytes.
const MOST: u64 = 8 << 20;

/// The last write of each block; 0 before the first. Empty if there are too many blocks, or nobody
/// writes.
pub struct LastBlockWrites(Vec<AtomicU64>);

impl LastBlockWrites {
    pub fn new(blocks: u64) -> Self {
        let noted = if blocks <= MOST { blocks } else { 0 };
        Self((0..noted).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn begin(&self, block: u64) {
        let Some(noted) = self.0.get(block as usize) else { return };
        if noted.fetch_or(UNDER_WAY, Relaxed) & UNDER_WAY != 0 {
            noted.fetch_or(EITHER, Relaxed);
        }
    }

    /// Numbers are below 2^62.
    pub fn acknowledge(&self, block: u64, number: u64) {
        let Some(noted) = self.0.get(block as usize) else { return };
        let changed = |before: u64| Some(number | (before & EITHER));
        let _ = noted.fetch_update(Relaxed, Relaxed, changed);
    }

    /// `None` if several writes are possible.
    pub fn find_write(&self, block: u64) -> Option<u64> {
        let number = self.0.get(block as usize)?.load(Relaxed);
        (number & (UNDER_WAY | EITHER) == 0).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_the_last_write_that_was_acknowledged_unless_two_met_or_one_failed() {
        let writings = LastBlockWrites::new(4);
        let write = |block, number| {
            writings.begin(block);
            writings.acknowledge(block, number);
        };
        write(0, 7);
        write(0, 9);
        assert_eq!((writings.find_write(0), writings.find_write(1)), (Some(9), Some(0)));
        // Two that meet, in whatever order they end; a later one does not tell which was the last of them.
        writings.begin(1);
        writings.begin(1);
        writings.acknowledge(1, 3);
        writings.acknowledge(1, 4);
        assert_eq!(writings.find_write(1), None);
        write(1, 5);
        assert_eq!(writings.find_write(1), None, "a write that met another may still be under way");
        writings.begin(2);
        assert_eq!(writings.find_write(2), None, "it was never acknowledged");
        assert_eq!(writings.find_write(4), None, "there is no such block");
    }

    #[test]
    fn more_blocks_than_are_noted_are_all_open() {
        let writings = LastBlockWrites::new(MOST + 1);
        writings.begin(0);
        writings.acknowledge(0, 1);
        assert_eq!(writings.find_write(0), None);
    }
}
