use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use super::content::{ContentPiece, ContentSource, FileContent, read_full};
use super::{Contents, Ino, PAGE, SECTOR};

#[derive(Clone, Copy, Debug)]
pub enum Before<'a> {
    /// Zeros follow up to the end of the place. Zeros at their end take no memory.
    Bytes(&'a [u8]),
    /// What this number's [`Contents`](super::Contents) hold at the same offsets: a copy that
    /// shares its blocks, for what is too large for memory. It is given back when no longer needed.
    Kept(Ino),
}

#[derive(Clone, Debug)]
enum Old {
    Bytes(Box<[u8]>),
    Kept(Ino),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    Write,
    Truncate,
}

#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub number: u64,
    pub shape: EditKind,
    /// The bytes changed; for a truncation those cut off or added.
    pub range: Range<u64>,
    pub old_size: u64,
    pub new_size: u64,
    old: Old,
    /// Set when a sync of it failed: no later one makes it durable.
    lost: Option<Box<Lost>>,
}

#[derive(Clone, Debug, Default)]
struct Lost {
    mended: Vec<Range<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Dropped,
    Kept,
    Torn(Vec<Range<u64>>),
    /// A write past the end keeps its size and blocks but not its bytes: the blocks hold what lay
    /// there before.
    Stale,
}

impl Edit {
    pub(super) fn from_write(
        number: u64,
        range: Range<u64>,
        old_size: u64,
        before: Before<'_>,
    ) -> Self {
        let new_size = old_size.max(range.end);
        Self {
            number,
            shape: EditKind::Write,
            range,
            old_size,
            new_size,
            old: before.into(),
            lost: None,
        }
    }

    pub(super) fn from_truncation(
        number: u64,
        old_size: u64,
        new_size: u64,
        before: Before<'_>,
    ) -> Self {
        let range = old_size.min(new_size)..old_size.max(new_size);
        Self {
            number,
            shape: EditKind::Truncate,
            range,
            old_size,
            new_size,
            old: before.into(),
            lost: None,
        }
    }

    pub(super) fn grows_file(&self) -> bool {
        self.shape == EditKind::Write && self.new_size > self.old_size
    }

    fn new_blocks(&self) -> Range<u64> {
        let start = self.range.start / PAGE * PAGE;
        let start = start.max(self.old_size.next_multiple_of(PAGE));
        start..self.new_size.max(start)
    }

    pub(super) fn shrinks(&self) -> bool {
        self.shape == EditKind::Truncate && self.new_size < self.old_size
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let old = match &self.old {
            Old::Bytes(bytes) => bytes.len(),
            Old::Kept(_) => 0,
        };
        (size_of::<Self>() + old) as u64
    }

    /// The file that keeps what it cut off.
    pub(super) fn kept_file(&self) -> Option<Ino> {
        match self.old {
            Old::Kept(ino) => Some(ino),
            Old::Bytes(_) => None,
        }
    }

    pub(super) fn read_old(&self, contents: &dyn Contents) -> io::Result<Vec<u8>> {
        match &self.old {
            Old::Bytes(bytes) => Ok(bytes.to_vec()),
            Old::Kept(ino) => {
                let end = self.range.end.min(self.old_size);
                let mut bytes = vec![0; end.saturating_sub(self.range.start) as usize];
                let read = read_full(contents, *ino, self.range.start, &mut bytes)?;
                bytes.truncate(read);
                Ok(bytes)
            }
        }
    }

    /// Turns the state right after this change into the one right before it.
    pub(super) fn undo_in<'a>(&'a self, content: &mut FileContent<'a>) {
        let start = self.range.start;
        let source = match &self.old {
            Old::Bytes(bytes) if bytes.is_empty() => ContentSource::Zeros,
            Old::Bytes(bytes) => ContentSource::Bytes { start, bytes },
            Old::Kept(ino) => ContentSource::Kept(*ino),
        };
        for part in self.unmended_ranges() {
            content.set_source(part.start..part.end.min(self.old_size), source);
        }
        content.end_at(self.old_size);
    }

    fn unmended_ranges(&self) -> Vec<Range<u64>> {
        let mut parts = vec![self.range.clone()];
        for mended in self.lost.iter().flat_map(|lost| &lost.mended) {
            let cut = |part: Range<u64>| {
                [part.start..part.end.min(mended.start), part.start.max(mended.end)..part.end]
            };
            parts = parts.into_iter().flat_map(cut).filter(|part| !part.is_empty()).collect();
        }
        parts
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// A sync of it failed. Its bytes are lost; sizes that are set are the journal's, and are not.
    pub(super) fn mark_lost(&mut self) {
        if self.shape == EditKind::Write && self.lost.is_none() {
            self.lost = Some(Box::default());
        }
    }

    /// A later change became durable, and with it the sectors it touches. Returns whether anything
    /// of this one is still lost.
    pub(super) fn mend_by(&mut self, later: &Self) -> bool {
        let mut mended = later.showing_sectors();
        match later.shape {
            EditKind::Write => {
                let end = mended.end.min(later.new_size);
                self.old_size = self.old_size.max(end);
                self.new_size = self.new_size.max(end);
            }
            EditKind::Truncate => {
                mended.end = u64::MAX;
                self.old_size = later.new_size;
                self.new_size = later.new_size;
            }
        }
        let overlaps = |part: &Range<u64>| part.start < mended.end && mended.start < part.end;
        if self.unmended_ranges().iter().any(overlaps)
            && let Some(lost) = &mut self.lost
        {
            lost.mended.push(mended);
        }
        self.old_size != self.new_size || !self.unmended_ranges().is_empty()
    }

    /// The sectors that show the change: all that it touches, or for a truncation that of the new
    /// end.
    pub(super) fn showing_sectors(&self) -> Range<u64> {
        let range = match self.shape {
            EditKind::Write => self.range.clone(),
            EditKind::Truncate => self.new_size..self.new_size,
        };
        range.start / SECTOR * SECTOR..range.end.next_multiple_of(SECTOR)
    }
}

impl From<Before<'_>> for Old {
    fn from(before: Before<'_>) -> Self {
        match before {
            Before::Bytes(bytes) => {
                let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                Self::Bytes(bytes[..length].into())
            }
            Before::Kept(ino) => Self::Kept(ino),
        }
    }
}

struct Redo<'a> {
    shape: EditKind,
    size: u64,
    pieces: Vec<ContentPiece<'a>>,
}

/// A file's content when the changes meet these fates, from its present size.
///
/// Walks back to the durable state. A kept change's own bytes are read on the way, just before it
/// is undone. Then the kept changes are made again, in order.
pub(super) fn build_content<'a>(
    ino: Ino,
    edits: &'a VecDeque<Edit>,
    fates: &[Fate],
    present_size: u64,
) -> FileContent<'a> {
    let mut content = FileContent::from_present(ino, present_size);
    let mut redos = Vec::new();
    for (edit, fate) in edits.iter().zip(fates).rev() {
        let ranges = match fate {
            Fate::Dropped | Fate::Stale => None,
            Fate::Kept => Some(vec![edit.showing_sectors()]),
            Fate::Torn(ranges) => Some(ranges.clone()),
        };
        if let Some(ranges) = ranges {
            let end = ranges.last().map_or(0, |range| range.end);
            let size = match edit.shape {
                EditKind::Write => end.min(content.size),
                EditKind::Truncate => edit.new_size,
            };
            let pieces = ranges.into_iter().flat_map(|range| content.list_pieces(range)).collect();
            redos.push(Redo { shape: edit.shape, size, pieces });
        }
        if *fate == Fate::Stale {
            let pieces = vec![(edit.new_blocks(), ContentSource::Stale)];
            redos.push(Redo { shape: edit.shape, size: edit.new_size, pieces });
        }
        edit.undo_in(&mut content);
    }
    for redo in redos.into_iter().rev() {
        if redo.shape == EditKind::Truncate {
            content.end_at(redo.size);
        }
        for (range, source) in redo.pieces {
            content.set_source(range, source);
        }
        content.size = content.size.max(redo.size);
    }
    content
}
