//! The dirty pages of the page cache.
//!
//! Linux ages whole files: one whose oldest dirty page has expired is written back with all of its
//! dirty pages (`dirty_expire_centisecs`, and `dirtied_when` in fs/fs-writeback.c).

use std::collections::BTreeSet;
use std::ops::Range;

use super::FileNumber;
use super::ranges::RangeSet;
use crate::device::Nanos;

#[derive(Debug, Default)]
pub struct DirtyRanges {
    pages: RangeSet,
    since: Nanos,
}

impl DirtyRanges {
    pub fn is_empty(&self) -> bool {
        self.pages.total() == 0
    }

    pub fn first_run(&self, most: u64) -> Option<Range<u64>> {
        self.pages.first_run(most)
    }

    pub fn clean_parts(&self, pages: Range<u64>) -> Vec<Range<u64>> {
        self.pages.find_gaps(pages)
    }
}

#[derive(Debug, Default)]
pub struct DirtyPages {
    oldest_first: BTreeSet<(Nanos, FileNumber)>,
    pages: u64,
}

impl DirtyPages {
    pub fn page_count(&self) -> u64 {
        self.pages
    }

    pub fn oldest_file(&self) -> Option<(Nanos, FileNumber)> {
        self.oldest_first.first().copied()
    }

    pub fn mark_dirty(
        &mut self,
        now: Nanos,
        file: FileNumber,
        dirty: &mut DirtyRanges,
        pages: Range<u64>,
    ) {
        if dirty.is_empty() {
            dirty.since = now;
            self.oldest_first.insert((now, file));
        }
        self.pages += dirty.pages.insert(pages);
    }

    pub fn mark_clean(&mut self, file: FileNumber, dirty: &mut DirtyRanges, pages: Range<u64>) {
        let removed = dirty.pages.remove(pages);
        self.pages -= removed;
        if removed > 0 && dirty.is_empty() {
            self.oldest_first.remove(&(dirty.since, file));
        }
    }
}
