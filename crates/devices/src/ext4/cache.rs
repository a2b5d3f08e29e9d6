//! The dirty pages of the page cache.
//!
//! Linux ages whole files: one whose oldest dirty page has expired is written back with all of its
//! dirty pages (`dirty_expire_centisecs`, and `dirtied_when` in fs/fs-writeback.c).

use std::collections::BTreeSet;
use std::ops::Range;

use super::FileNumber;
use super::ranges::RangeSet;
use crate::device::Nanos;

/// The dirty pages of a file.
#[derive(Debug, Default)]
pub struct Dirty {
    pages: RangeSet,
    since: Nanos,
}

impl Dirty {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.total() == 0
    }

    /// The first pages in a row, no more than `most`.
    pub fn first(&self, most: u64) -> Option<Range<u64>> {
        self.pages.first(most)
    }

    /// The parts of `pages` that are not dirty.
    pub fn clean(&self, pages: Range<u64>) -> Vec<Range<u64>> {
        self.pages.gaps(pages)
    }
}

/// The dirty pages of all files, counted, and the files by age.
#[derive(Debug, Default)]
pub struct DirtyPages {
    oldest_first: BTreeSet<(Nanos, FileNumber)>,
    pages: u64,
}

impl DirtyPages {
    /// How many pages are dirty.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The file that has been dirty for longest, and since when.
    pub fn oldest(&self) -> Option<(Nanos, FileNumber)> {
        self.oldest_first.first().copied()
    }

    /// Makes pages dirty.
    pub fn mark_dirty(
        &mut self,
        now: Nanos,
        file: FileNumber,
        dirty: &mut Dirty,
        pages: Range<u64>,
    ) {
        if dirty.is_empty() {
            dirty.since = now;
            self.oldest_first.insert((now, file));
        }
        self.pages += dirty.pages.insert(pages);
    }

    /// Makes pages clean: they were written back, or nobody needs them any more.
    pub fn clean(&mut self, file: FileNumber, dirty: &mut Dirty, pages: Range<u64>) {
        let removed = dirty.pages.remove(pages);
        self.pages -= removed;
        if removed > 0 && dirty.is_empty() {
            self.oldest_first.remove(&(dirty.since, file));
        }
    }
}
