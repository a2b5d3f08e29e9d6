//! Which pending changes a power cut leaves, drawn from a seed.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::copies::MirrorCopies;
use super::data::{Edit, EditKind, Fate};
use super::names::{Missing, PendingChange, Tree};
use super::unwritten::Unwritten;
use super::{Ino, Keep, Metadata, PAGE, SECTOR};
use crate::ext4::DataMode;

/// The fates of all pending changes.
pub(super) struct Choice {
    /// Whether each change of names or attributes is kept.
    pub changes: Vec<bool>,
    /// What an image gets of each change of a file.
    pub edits: HashMap<Ino, Vec<Fate>>,
}

/// A pending change of either kind.
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
    /// Draws them, in the order in which the changes were made: the numbers of files, which may
    /// differ from run to run, have no say.
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
        // What is in the journal is replayed whole.
        let copies = copies.filter(|_| !one_log);
        let mut worse = copies.map(|copies| copies.worse(keep, seed, all.len() as u64));
        let mut missing = Missing::default();
        let (mut ends, mut unwritten) = (TruncatedEnds::default(), Unwritten::default());
        let mut choice = Self { changes: Vec::new(), edits: HashMap::new() };
        for (number, any) in (0..).zip(all) {
            match any {
                Any::Change(change) => {
                    let kept = drawn.keeps_change() && !missing.fells(change, tree);
                    if !kept {
                        missing.add(change, tree);
                    }
                    choice.changes.push(kept);
                }
                Any::Edit(ino, edit) => {
                    let fell = ends.fell(ino, edit);
                    let kept = !edit.is_lost() && drawn.keeps() && !fell;
                    let waits = in_order && !is_late;
                    let new_from = if waits { unwritten.start(ino, edit) } else { u64::MAX };
                    let mut fate = if kept { drawn.fate(edit, new_from) } else { Fate::Dropped };
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
                        fate = unwritten.settle((ino, edit, new_from), fate, whole);
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

/// Where truncations that a power cut took had set the ends of files.
#[derive(Default)]
struct TruncatedEnds(HashMap<Ino, u64>);

impl TruncatedEnds {
    /// Whether a change, kept so far, falls because a truncation did: sizes change in order, and
    /// what lies past the end of a file has no place before its size is set.
    fn fell(&self, ino: Ino, edit: &Edit) -> bool {
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

/// Draws fates.
struct FateSampler {
    keep: Keep,
    random: Xoshiro256PlusPlus,
    /// For a prefix: how many more are kept.
    left: u64,
    /// For a subset, how many more changes of names and attributes are, if those are one log.
    log: Option<u64>,
    /// For a subset: the probability that one is kept. It is drawn for each image, so that much
    /// is lost in some and little in others.
    share: f64,
}

impl FateSampler {
    /// For so many changes of all kinds, and so many of names and attributes in one log.
    fn new(keep: Keep, seed: u64, changes: u64, log: Option<usize>) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let left = if keep == Keep::Prefix { random.random_range(0..=changes) } else { 0 };
        let share = random.random();
        let is_subset = matches!(keep, Keep::Subset | Keep::Torn);
        let log = log.filter(|_| is_subset).map(|log| random.random_range(0..=log as u64));
        Self { keep, random, left, log, share }
    }

    /// Whether a change of names or attributes is kept.
    fn keeps_change(&mut self) -> bool {
        let Some(left) = &mut self.log else { return self.keeps() };
        let keeps = *left > 0;
        *left = left.saturating_sub(1);
        keeps
    }

    fn keeps(&mut self) -> bool {
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

    /// The fate of a change that is kept. Half of the writes are whole, three in eight are torn
    /// between pages, one in eight is torn between sectors; of what is torn, each part is kept
    /// with a probability of one half. Truncations are never torn, and pages from
    /// `new_from` on, which have no block yet, never within.
    fn fate(&mut self, edit: &Edit, new_from: u64) -> Fate {
        if self.keep != Keep::Torn || edit.shape == EditKind::Truncate {
            return Fate::Kept;
        }
        match self.random.random_range(0..8_u32) {
            0..4 => Fate::Kept,
            4..7 => self.torn(&edit.range, PAGE, new_from),
            _ => self.torn(&edit.range, SECTOR, new_from),
        }
    }

    /// The fate of the last write that the journal has: it may end between two of its pages.
    fn first_pages(&mut self, edit: &Edit) -> Fate {
        let whole = edit.sectors();
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

    /// The fate of a write whose bytes are not there: where nothing orders data, half of those past the end
    /// have their size and their blocks committed all the same.
    fn without_data(&mut self, edit: &Edit) -> Fate {
        let is_found = self.keep != Keep::DropAll && edit.grows() && self.random.random();
        if is_found { Fate::Stale } else { Fate::Dropped }
    }

    fn torn(&mut self, range: &Range<u64>, unit: u64, new_from: u64) -> Fate {
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
