//! Where a file's blocks lie.

use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::{BLOCK, BlockRun};
use super::requests::DeviceRange;
use super::space::FreeSpace;

/// The least and the most blocks that a growing file is given ahead of need: 64 KiB and 8 MiB.
const AHEAD: (u64, u64) = ((64 << 10) / BLOCK, (8 << 20) / BLOCK);

/// Blocks of a file that lie next to each other.
#[derive(Clone, Copy, Debug)]
struct BlockExtent {
    place: u64,
    length: u64,
    /// Whether they hold data, or are only allocated (`fallocate`).
    written: bool,
}

/// A file's extents, and the blocks kept for its growth.
#[derive(Debug, Default)]
pub struct Extents {
    /// By the block of the file that they start at.
    parts: BTreeMap<u64, BlockExtent>,
    blocks: u64,
    /// Reserved behind the last blocks that were allocated, for the next ones.
    ahead: Option<BlockRun>,
}

impl Extents {
    /// Allocates what `range` lacks, as blocks that hold data or (not `written`) as ones that
    /// don't yet. Tells whether anything changed.
    pub fn fill(&mut self, range: Range<u64>, written: bool, space: &mut FreeSpace) -> bool {
        let mut changed = false;
        let mut at = range.start;
        while at < range.end {
            match self.covering(at) {
                Some((start, part)) => {
                    let end = range.end.min(start + part.length);
                    if written && !part.written {
                        self.make_written(at..end);
                        changed = true;
                    }
                    at = end;
                }
                None => {
                    let next = self.parts.range(at..).next().map(|(&start, _)| start);
                    let hole = at..next.unwrap_or(range.end).min(range.end);
                    let run = self.allocate(hole.clone(), next.is_none(), space);
                    self.insert(at, BlockExtent { place: run.place, length: run.length, written });
                    self.blocks += run.length;
                    at += run.length;
                    changed = true;
                }
            }
        }
        changed
    }

    /// Frees the blocks of `range`. Tells whether there were any.
    pub fn cut(&mut self, range: Range<u64>, space: &mut FreeSpace) -> bool {
        let parts = self.extract(range);
        for (_, part) in &parts {
            self.blocks -= part.length;
            space.release(BlockRun { place: part.place, length: part.length });
        }
        !parts.is_empty()
    }

    /// How many blocks there are, without those that are kept for growth.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Gives back the blocks that were kept for growth.
    pub fn stop_growing(&mut self, space: &mut FreeSpace) {
        if let Some(run) = self.ahead.take() {
            space.release(run);
        }
    }

    /// Whether a block holds data.
    pub fn holds(&self, block: u64) -> bool {
        self.covering(block).is_some_and(|(_, part)| part.written)
    }

    /// Adds the places on the device, in bytes, of those of the file's bytes that hold data.
    pub fn pieces(&self, bytes: Range<u64>, pieces: &mut Vec<DeviceRange>) {
        let first =
            self.covering(bytes.start / BLOCK).map_or(bytes.start / BLOCK, |(start, _)| start);
        for (&start, part) in self.parts.range(first..bytes.end.div_ceil(BLOCK)) {
            let from = bytes.start.max(start * BLOCK);
            let until = bytes.end.min((start + part.length) * BLOCK);
            if part.written && from < until {
                let place = part.place * BLOCK + (from - start * BLOCK);
                pieces.push(DeviceRange { place, length: until - from });
            }
        }
    }

    /// Each extent as (first byte in the file, place on the device), with the ones that are only
    /// allocated.
    pub fn iter(&self) -> impl Iterator<Item = (u64, DeviceRange)> {
        self.parts.iter().map(|(&start, part)| {
            (start * BLOCK, DeviceRange { place: part.place * BLOCK, length: part.length * BLOCK })
        })
    }

    /// The extent that holds a block of the file.
    fn covering(&self, block: u64) -> Option<(u64, BlockExtent)> {
        let (&start, &part) = self.parts.range(..=block).next_back()?;
        (block < start + part.length).then_some((start, part))
    }

    /// Blocks for (the start of) a hole: from what was kept for growth if that goes on where the
    /// file's last block lies, else from the free space. A file that grows for a second time is
    /// given as much as it has, so that files that grow in turns still lie in long runs.
    fn allocate(&mut self, hole: Range<u64>, at_end: bool, space: &mut FreeSpace) -> BlockRun {
        let want = hole.end - hole.start;
        let before = self.parts.range(..hole.start).next_back();
        let goal = before.map(|(&start, part)| part.place + (hole.start - start));
        let grows = at_end && before.is_some();
        let kept = self.ahead.take();
        let run = match kept {
            Some(kept) if Some(kept.place) == goal => kept,
            _ => {
                if let Some(kept) = kept {
                    space.release(kept);
                }
                let ahead =
                    if grows { self.blocks.next_power_of_two().clamp(AHEAD.0, AHEAD.1) } else { 0 };
                space.take(goal, want.max(ahead))
            }
        };
        let taken = run.length.min(want);
        if taken < run.length {
            self.ahead = Some(BlockRun { place: run.place + taken, length: run.length - taken });
        }
        BlockRun { place: run.place, length: taken }
    }

    fn make_written(&mut self, range: Range<u64>) {
        for (start, part) in self.extract(range) {
            self.insert(start, BlockExtent { written: true, ..part });
        }
    }

    /// Takes out the parts that lie in `range`, splitting those that reach beyond it.
    fn extract(&mut self, range: Range<u64>) -> Vec<(u64, BlockExtent)> {
        self.split(range.start);
        self.split(range.end);
        let within: Vec<(u64, BlockExtent)> =
            self.parts.range(range).map(|(&start, &part)| (start, part)).collect();
        for (start, _) in &within {
            self.parts.remove(start);
        }
        within
    }

    /// Makes a part start at `block` if one reaches across it.
    fn split(&mut self, block: u64) {
        if let Some((start, part)) = self.covering(block)
            && start < block
        {
            let head = block - start;
            self.parts.insert(start, BlockExtent { length: head, ..part });
            let tail = BlockExtent { place: part.place + head, length: part.length - head, ..part };
            self.parts.insert(block, tail);
        }
    }

    /// Puts a part into a hole, as one with the neighbours that it continues.
    fn insert(&mut self, mut start: u64, mut part: BlockExtent) {
        if let Some((&before, &previous)) = self.parts.range(..start).next_back()
            && before + previous.length == start
            && previous.place + previous.length == part.place
            && previous.written == part.written
        {
            part = BlockExtent { length: previous.length + part.length, ..previous };
            start = before;
        }
        if let Some(&next) = self.parts.get(&(start + part.length))
            && part.place + part.length == next.place
            && part.written == next.written
        {
            self.parts.remove(&(start + part.length));
            part.length += next.length;
        }
        self.parts.insert(start, part);
    }
}
