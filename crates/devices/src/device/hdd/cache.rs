//! The write cache: writes that are acknowledged and not yet on the platters.

use std::collections::BTreeMap;

/// Extents on each side of the head among which the next one to write is chosen.
const LOOK: usize = 32;

/// Bytes up to which writes that touch become one extent.
const MERGE: u64 = 1 << 20;

struct CachedExtent {
    length: u64,
    number: u64,
}

struct Flush {
    id: u64,
    before: u64,
    left: usize,
}

/// The extents in the cache by their offset. It serves timing alone: it does not know which of two
/// overlapping extents is newer.
pub(super) struct WriteCache {
    size: u64,
    used: u64,
    extents: BTreeMap<u64, CachedExtent>,
    numbers: u64,
    flushes: Vec<Flush>,
}

impl WriteCache {
    pub fn new(size: u64) -> Self {
        Self { size, used: 0, extents: BTreeMap::new(), numbers: 0, flushes: Vec::new() }
    }

    pub fn admit_write(&mut self, offset: u64, length: u64) -> bool {
        if self.contains(offset, length) {
            return true;
        }
        if self.used + length > self.size {
            return false;
        }
        let before = self.extents.range_mut(..=offset).next_back();
        match before {
            Some((&start, extent))
                if start + extent.length >= offset && offset + length - start <= MERGE =>
            {
                let longer = (offset + length - start).max(extent.length);
                self.used += longer - extent.length;
                extent.length = longer;
            }
            _ => {
                // An extent that begins at the same place is shorter and is replaced.
                let number = self.numbers;
                self.numbers += 1;
                self.used += length;
                let old = self.extents.insert(offset, CachedExtent { length, number });
                if let Some(old) = old {
                    self.used -= old.length;
                    self.extents.get_mut(&offset).expect("just put there").number = old.number;
                }
            }
        }
        true
    }

    pub fn contains(&self, offset: u64, length: u64) -> bool {
        let before = self.extents.range(..=offset).next_back();
        before.is_some_and(|(start, extent)| start + extent.length >= offset + length)
    }

    /// Makes a flush wait for what is in the cache; false if the cache is empty.
    pub fn queue_flush(&mut self, id: u64, being_written: bool) -> bool {
        let left = self.extents.len() + usize::from(being_written);
        if left > 0 {
            self.flushes.push(Flush { id, before: self.numbers, left });
        }
        left > 0
    }

    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub fn is_flushing(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// Extents near the head that may be written next; while a flush waits, only those it waits
    /// for.
    pub fn drain_candidates(&self, head: u64) -> impl Iterator<Item = u64> {
        let before = self.flushes.first().map_or(u64::MAX, |flush| flush.before);
        let due = move |(_, extent): &(&u64, &CachedExtent)| extent.number < before;
        let below = self.extents.range(..head).rev().filter(due).take(LOOK);
        let above = self.extents.range(head..).filter(due).take(LOOK);
        below.chain(above).map(|(&offset, _)| offset)
    }

    pub fn take_extent(&mut self, offset: u64) -> DrainingExtent {
        let CachedExtent { length, number } = self.extents.remove(&offset).expect("a candidate");
        DrainingExtent { length, number }
    }

    /// Notes that an extent is on the platters. Returns the flushes that waited only for it.
    pub fn finish_extent(&mut self, drain: &DrainingExtent) -> Vec<u64> {
        self.used -= drain.length;
        for flush in self.flushes.iter_mut().filter(|flush| drain.number < flush.before) {
            flush.left -= 1;
        }
        self.flushes.extract_if(.., |flush| flush.left == 0).map(|flush| flush.id).collect()
    }
}

pub(super) struct DrainingExtent {
    pub length: u64,
    number: u64,
}
