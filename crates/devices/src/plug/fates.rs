//! Draws from a seed which pending changes a power cut leaves.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::copies::MirrorCopies;
use super::edits::{Edit, EditKind, Fate};
use super::names::{Missing, PendingChange, Tree};
use super::unwritten::UnwrittenPages;
use super::{Ino, Keep, Metadata, PAGE, SECTOR};
use crate::ext4::DataMode;

pub(super) struct Choice {
    pub changes: Vec<bool>,
    pub edits: HashMap<Ino, Vec<Fate>>,
}

enum Any<'a> {
    Change(&'a PendingChange),
    Edit(Ino, &'a Edit),
}

impl Any<'_> {
    fn is_lost(&self) -> bool {
        matches!(self, Self::Edit(_, edit) if edit.is_lost())
    }

    fn number(&self) -> u64 {
        match self {
            Self::Change(change) => change.number,
            Self::Edit(_, edit) => edit.number,
        }
    }
}

impl Choice {
    /// Draws in the order of the changes: the numbers of files may differ from run to run and have
    /// no say.
    pub(super) fn new(
        tree: &Tree,
        changes: &[PendingChange],
        edits: &HashMap<Ino, VecDeque<Edit>>,
        (metadata, data): (Metadata, DataMode),
        (keep, seed, copies): (Keep, u64, Option<&MirrorCopies>),
    ) -> Self {
        let edits = edits.iter().flat_map(|(ino, edits)| edits.iter().map(|edit| (*ino, edit)));
        let mut all: Vec<_> = changes.iter().map(Any::Change).collect();
        all.extend(edits.map(|(ino, edit)| Any::Edit(ino, edit)));
        all.sort_unstable_by_key(Any::number);

        let may_be_kept = all.iter().filter(|any| !any.is_lost()).count();
        let in_order = metadata == Metadata::Ordered;
        // Data in the journal and names are one log.
        let one_log = in_order && data == DataMode::Journal;
        let is_late = in_order && data == DataMode::Writeback;
        let drawn_by = match keep {
            Keep::Subset | Keep::Torn if one_log => Keep::Prefix,
            keep => keep,
        };
        let mut drawn =
            FateSampler::new(drawn_by, seed, may_be_kept as u64, in_order.then_some(changes.len()));
        // The journal is replayed whole.
        let copies = copies.filter(|_| !one_log);
        let mut worse = copies.map(|copies| copies.draw_worse(keep, seed, all.len() as u64));
        let mut missing = Missing::default();
        let (mut ends, mut unwritten) = (TruncatedEnds::default(), UnwrittenPages::default());
        let mut choice = Self { changes: Vec::new(), edits: HashMap::new() };
        for (number, any) in (0..).zip(all) {
            match any {
                Any::Change(change) => {
                    let kept = drawn.keeps_change() && !missing.fells_change(change, tree);
                    if !kept {
                        missing.add_lost(change, tree);
                    }
                    choice.changes.push(kept);
                }
                Any::Edit(ino, edit) => {
                    let fell = ends.falls_with_truncation(ino, edit);
                    let kept = !edit.is_lost() && drawn.keeps_next() && !fell;
                    let waits = in_order && !is_late;
                    let new_from = if waits { unwritten.find_start(ino, edit) } else { u64::MAX };
                    let mut fate =
                        if kept { drawn.draw_fate(edit, new_from) } else { Fate::Dropped };
                    if one_log && keep == Keep::Torn && kept && drawn.left == 0 {
                        fate = drawn.first_pages(edit);
                    }
                    if let Some(worse) = &mut worse {
                        fate = worse.worsen_fate(number, (ino, edit), fate);
                    }
                    if is_late && fate == Fate::Dropped && !edit.is_lost() && !fell {
                        fate = drawn.without_data(edit);
                    }
                    if waits {
                        let whole = keep != Keep::Torn;
                        fate = unwritten.settle_fate((ino, edit, new_from), fate, whole);
                    }
                    if fate == Fate::Dropped {
                        ends.add(ino, edit);
                    }
                    choice.edits.entry(ino).or_default().push(fate);
                }
            }
        }
        choice
    }
}

#[derive(Default)]
struct TruncatedEnds(HashMap<Ino, u64>);

impl TruncatedEnds {
    /// Whether a kept change falls with a lost truncation: sizes change in order, and what lies
    /// past the end of a file has no place before its size is set.
    fn falls_with_truncation(&self, ino: Ino, edit: &Edit) -> bool {
        let end = self.0.get(&ino);
        end.is_some_and(|end| edit.shape == EditKind::Truncate || edit.range.end > *end)
    }

    fn add(&mut self, ino: Ino, edit: &Edit) {
        if edit.shrinks() {
            let end = self.0.entry(ino).or_insert(edit.new_size);
            *end = edit.new_size.min(*end);
        }
    }
}

struct FateSampler {
    keep: Keep,
    random: Xoshiro256PlusPlus,
    left: u64,
    /// For a subset where metadata are one log: how many more of their changes are kept.
    log: Option<u64>,
    /// For a subset: the probability that a change is kept. It is drawn for each image, so that
    /// some lose much and others little.
    share: f64,
}

impl FateSampler {
    fn new(keep: Keep, seed: u64, changes: u64, log: Option<usize>) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let left = if keep == Keep::Prefix { random.random_range(0..=changes) } else { 0 };
        let share = random.random();
        let is_subset = matches!(keep, Keep::Subset | Keep::Torn);
        let log = log.filter(|_| is_subset).map(|log| random.random_range(0..=log as u64));
        Self { keep, random, left, log, share }
    }

    fn keeps_change(&mut self) -> bool {
        let Some(left) = &mut self.log else { return self.keeps_next() };
        let keeps = *left > 0;
        *left = left.saturating_sub(1);
        keeps
    }

    fn keeps_next(&mut self) -> bool {
        match self.keep {
            Keep::DropAll => false,
            Keep::Prefix => {
                let keeps = self.left > 0;
                self.left = self.left.saturating_sub(1);
                keeps
            }
            Keep::Subset | Keep::Torn => self.random.random_bool(self.share),
        }
    }

    /// The fate of a kept change. Half of the writes are whole, three in eight are torn between
    /// pages, one in eight is torn between sectors; each part of a torn write is kept with a
    /// probability of one half. Truncations are never torn, and neither are pages from `new_from`
    /// on, which have no block yet.
    fn draw_fate(&mut self, edit: &Edit, new_from: u64) -> Fate {
        if self.keep != Keep::Torn || edit.shape == EditKind::Truncate {
            return Fate::Kept;
        }
        match self.random.random_range(0..8_u32) {
            0..4 => Fate::Kept,
            4..7 => self.tear_range(&edit.range, PAGE, new_from),
            _ => self.tear_range(&edit.range, SECTOR, new_from),
        }
    }

    fn first_pages(&mut self, edit: &Edit) -> Fate {
        let whole = edit.showing_sectors();
        let (first, end) = (whole.start / PAGE, whole.end.div_ceil(PAGE));
        if edit.shape == EditKind::Truncate || first + 1 >= end {
            return Fate::Kept;
        }
        match self.random.random_range(first + 1..=end) {
            last if last == end => Fate::Kept,
            last => {
                let kept = whole.start..last * PAGE;
                Fate::Torn(Vec::from([kept]))
            }
        }
    }

    /// The fate of a write whose bytes are lost. Where nothing orders data, half of those past the
    /// end keep their size and blocks.
    fn without_data(&mut self, edit: &Edit) -> Fate {
        let is_found = self.keep != Keep::DropAll && edit.grows_file() && self.random.random();
        if is_found { Fate::Stale } else { Fate::Dropped }
    }

    fn tear_range(&mut self, range: &Range<u64>, unit: u64, new_from: u64) -> Fate {
        let whole = range.start / SECTOR * SECTOR..range.end.next_multiple_of(SECTOR);
        let mut parts: Vec<Range<u64>> = Vec::new();
        let mut at = whole.start;
        while at < whole.end {
            let unit = if at < new_from { unit } else { PAGE };
            let end = ((at / unit + 1) * unit).min(whole.end);
            if self.random.random() {
                parts.push(at..end);
            }
            at = end;
        }
        if parts.is_empty() { Fate::Dropped } else { Fate::Torn(parts) }
    }
}
