use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::{BLOCK, BlockRun};
use super::requests::DeviceRange;
use super::space::FreeSpace;

/// Blocks that a growing file is given ahead of need, at least and at most: 64 KiB and 8 MiB.
const AHEAD: (u64, u64) = ((64 << 10) / BLOCK, (8 << 20) / BLOCK);

#[derive(Clone, Copy, Debug)]
struct BlockExtent {
    place: u64,
    length: u64,
    /// Whether they hold data, or are only allocated (`fallocate`).
    written: bool,
}

#[derive(Debug, Default)]
pub struct Extents {
    parts: BTreeMap<u64, BlockExtent>,
    blocks: u64,
    /// Reserved behind the last blocks that were allocated, for the next ones.
    ahead: Option<BlockRun>,
}

impl Extents {
    /// Allocates the missing blocks of `range`, which hold data if `written`. Returns whether
    /// anything changed.
    pub fn allocate_missing(
        &mut self,
        range: Range<u64>,
        written: bool,
        space: &mut FreeSpace,
    ) -> bool {
        let mut changed = false;
        let mut at = range.start;
        while at < range.end {
            match self.find_extent(at) {
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
                    let run = self.allocate_run(hole.clone(), next.is_none(), space);
                    self.insert_extent(
                        at,
                        BlockExtent { place: run.place, length: run.length, written },
                    );
                    self.blocks += run.length;
                    at += run.length;
                    changed = true;
                }
            }
        }
        changed
    }

    pub fn free_range(&mut self, range: Range<u64>, space: &mut FreeSpace) -> bool {
        let parts = self.extract_range(range);
        for (_, part) in &parts {
            self.blocks -= part.length;
            space.release_run(BlockRun { place: part.place, length: part.length });
        }
        !parts.is_empty()
    }

    pub fn block_count(&self) -> u64 {
        self.blocks
    }

    pub fn stop_growing(&mut self, space: &mut FreeSpace) {
        if let Some(run) = self.ahead.take() {
            space.release_run(run);
        }
    }

    pub fn has_data(&self, block: u64) -> bool {
        self.find_extent(block).is_some_and(|(_, part)| part.written)
    }

    /// Adds the places on the device, in bytes, of those of the file's bytes that hold data.
    pub fn push_data_ranges(&self, bytes: Range<u64>, pieces: &mut Vec<DeviceRange>) {
        let first =
            self.find_extent(bytes.start / BLOCK).map_or(bytes.start / BLOCK, |(start, _)| start);
        for (&start, part) in self.parts.range(first..bytes.end.div_ceil(BLOCK)) {
            let from = bytes.start.max(start * BLOCK);
            let until = bytes.end.min((start + part.length) * BLOCK);
            if part.written && from < until {
                let place = part.place * BLOCK + (from - start * BLOCK);
                pieces.push(DeviceRange { place, length: until - from });
            }
        }
    }

    /// (first byte in the file, place on the device) of each extent, also of those without data.
    pub fn iter(&self) -> impl Iterator<Item = (u64, DeviceRange)> {
        self.parts.iter().map(|(&start, part)| {
            (start * BLOCK, DeviceRange { place: part.place * BLOCK, length: part.length * BLOCK })
        })
    }

    fn find_extent(&self, block: u64) -> Option<(u64, BlockExtent)> {
        let (&start, &part) = self.parts.range(..=block).next_back()?;
        (block < start + part.length).then_some((start, part))
    }

    /// Blocks for (the start of) a hole: from the reserve if it continues the file's last block,
    /// else from the free space. A file that grows again gets a reserve as large as itself, so that
    /// files that grow in turns still lie in long runs.
    fn allocate_run(&mut self, hole: Range<u64>, at_end: bool, space: &mut FreeSpace) -> BlockRun {
        let want = hole.end - hole.start;
        let before = self.parts.range(..hole.start).next_back();
        let goal = before.map(|(&start, part)| part.place + (hole.start - start));
        let grows = at_end && before.is_some();
        let kept = self.ahead.take();
        let run = match kept {
            Some(kept) if Some(kept.place) == goal => kept,
            _ => {
                if let Some(kept) = kept {
                    space.release_run(kept);
                }
                let ahead =
                    if grows { self.blocks.next_power_of_two().clamp(AHEAD.0, AHEAD.1) } else { 0 };
                space.take_run(goal, want.max(ahead))
            }
        };
        let taken = run.length.min(want);
        if taken < run.length {
            self.ahead = Some(BlockRun { place: run.place + taken, length: run.length - taken });
        }
        BlockRun { place: run.place, length: taken }
    }

    fn make_written(&mut self, range: Range<u64>) {
        for (start, part) in self.extract_range(range) {
            self.insert_extent(start, BlockExtent { written: true, ..part });
        }
    }

    fn extract_range(&mut self, range: Range<u64>) -> Vec<(u64, BlockExtent)> {
        self.split_at(range.start);
        self.split_at(range.end);
        let within: Vec<(u64, BlockExtent)> =
            self.parts.range(range).map(|(&start, &part)| (start, part)).collect();
        for (start, _) in &within {
            self.parts.remove(start);
        }
        within
    }

    fn split_at(&mut self, block: u64) {
        if let Some((start, part)) = self.find_extent(block)
            && start < block
        {
            let head = block - start;
            self.parts.insert(start, BlockExtent { length: head, ..part });
            let tail = BlockExtent { place: part.place + head, length: part.length - head, ..part };
            self.parts.insert(block, tail);
        }
    }

    fn insert_extent(&mut self, mut start: u64, mut part: BlockExtent) {
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
