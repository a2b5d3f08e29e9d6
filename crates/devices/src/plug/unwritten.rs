//! Pages that had no block on the disk yet: after a power cut they are whole or not there.
//!
//! A journalled file system shows a new block only once all of its data are on the device. ext4
//! makes it *unwritten* until its write has ended (`dioread_nolock`, the default since Linux 5.6),
//! or lets the commit that brings it wait for its data (`data=ordered`); XFS does the first. So
//! such a page holds what it held at some moment, or zeros: no sector is there without the others,
//! and no later write without the earlier ones.
//!
//! Pages past the durable end of a file are new. Holes within it, and what `fallocate` allocated,
//! would be, too, but can't be told from zeros that were written.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::edits::{Edit, EditKind, Fate};
use super::{Ino, PAGE};

#[derive(Default)]
pub(super) struct UnwrittenPages {
    starts: HashMap<Ino, u64>,
    missing: HashSet<(Ino, u64)>,
}

impl UnwrittenPages {
    pub(super) fn find_start(&mut self, ino: Ino, edit: &Edit) -> u64 {
        let start = self.starts.entry(ino).or_insert(edit.old_size.next_multiple_of(PAGE));
        if edit.shrinks() {
            *start = edit.new_size.next_multiple_of(PAGE).min(*start);
        }
        *start
    }

    /// The rest of a change of a file whose new pages begin at `start`. A page shows nothing of it
    /// if something earlier is missing in the page. A change that is kept whole or not at all then
    /// falls whole.
    pub(super) fn settle_fate(
        &mut self,
        (ino, edit, start): (Ino, &Edit, u64),
        fate: Fate,
        whole: bool,
    ) -> Fate {
        if edit.is_lost() {
            return fate;
        }
        if edit.shape == EditKind::Truncate {
            return self.settle_end(ino, edit, start, fate);
        }
        let is_missing = |page: &u64| self.missing.contains(&(ino, *page));
        let new = new_pages(edit, start);
        let fate = match fate {
            Fate::Kept if !new.clone().any(|page| is_missing(&page)) => return Fate::Kept,
            Fate::Kept if whole => Fate::Dropped,
            Fate::Kept => {
                drop_missing_pages(std::iter::once(edit.showing_sectors()), start, is_missing)
            }
            Fate::Torn(kept) => drop_missing_pages(kept.into_iter(), start, is_missing),
            Fate::Dropped => Fate::Dropped,
            Fate::Stale => return Fate::Stale,
        };
        let kept: HashSet<u64> = match &fate {
            Fate::Torn(kept) => kept.iter().map(|part| part.start / PAGE).collect(),
            _ => HashSet::new(),
        };
        self.missing.extend(new.filter(|page| !kept.contains(page)).map(|page| (ino, page)));
        fate
    }

    fn settle_end(&mut self, ino: Ino, edit: &Edit, start: u64, fate: Fate) -> Fate {
        let page = (ino, edit.new_size / PAGE);
        match fate {
            // It sets the size, and brings nothing of the page.
            Fate::Kept if self.missing.contains(&page) => Fate::Torn(Vec::new()),
            Fate::Dropped if edit.shrinks() && edit.new_size >= start => {
                self.missing.insert(page);
                Fate::Dropped
            }
            fate => fate,
        }
    }
}

fn new_pages(edit: &Edit, start: u64) -> Range<u64> {
    edit.range.start.max(start) / PAGE..edit.range.end.max(start).div_ceil(PAGE)
}

fn drop_missing_pages(
    kept: impl Iterator<Item = Range<u64>>,
    start: u64,
    is_missing: impl Fn(&u64) -> bool,
) -> Fate {
    let mut parts = Vec::new();
    for Range { start: mut at, end } in kept {
        if at < start {
            parts.push(at..end.min(start));
            at = start;
        }
        while at < end {
            let next = ((at / PAGE + 1) * PAGE).min(end);
            if !is_missing(&(at / PAGE)) {
                parts.push(at..next);
            }
            at = next;
        }
    }
    if parts.is_empty() { Fate::Dropped } else { Fate::Torn(parts) }
}
