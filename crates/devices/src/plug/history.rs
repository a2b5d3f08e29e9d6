//! What happened since some moment, so that images can be made of it and of each later one.
//!
//! Two things are known of an earlier moment: what was pending then, by having all happen again up to
//! it ([`History::pending`]), and what the files held, by undoing on their present bytes what was
//! changed since ([`Earlier`]).

use std::collections::HashMap;
use std::io;

use super::content::FileContent;
use super::data::Edit;
use super::event::PendingEvent;
use super::state::PendingState;
use super::{Contents, Ino, Metadata};

/// A moment of a history: between two events of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryMoment(usize);

impl HistoryMoment {
    /// How many events came before this moment.
    pub(super) fn place(self) -> usize {
        self.0
    }
}

/// All that happened since it was begun.
pub struct History {
    /// What was pending at its start.
    base: PendingState,
    events: Vec<PendingEvent>,
    /// When each was told, by this clock.
    times: Vec<u64>,
    clock: fn() -> u64,
    /// Which of the events are changes of a file's bytes or size.
    edits: HashMap<Ino, Vec<usize>>,
    /// Bytes of memory that it takes.
    bytes: u64,
    /// What would be no longer needed if it were not for this.
    pub(super) free: Vec<Ino>,
}

impl History {
    pub(super) fn new(base: PendingState, clock: fn() -> u64) -> Self {
        Self {
            base,
            events: Vec::new(),
            times: Vec::new(),
            clock,
            edits: HashMap::new(),
            bytes: 0,
            free: Vec::new(),
        }
    }

    pub(super) fn base(&self) -> &PendingState {
        &self.base
    }

    pub(super) fn events(&self) -> &[PendingEvent] {
        &self.events
    }

    pub(super) fn times(&self) -> &[u64] {
        &self.times
    }

    pub(super) fn add(&mut self, event: PendingEvent) {
        self.bytes += (size_of::<PendingEvent>() + size_of::<u64>()) as u64;
        if let PendingEvent::Edit(ino, edit) = &event {
            self.bytes += edit.weight();
            self.edits.entry(*ino).or_default().push(self.events.len());
        }
        self.events.push(event);
        self.times.push((self.clock)());
    }

    /// The present moment.
    pub fn now(&self) -> HistoryMoment {
        HistoryMoment(self.events.len())
    }

    /// All moments from its start to the present one.
    pub fn moments(&self) -> impl Iterator<Item = HistoryMoment> + use<> {
        (0..=self.events.len()).map(HistoryMoment)
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was pending at a moment, on a file system that makes names durable in this way. `None`
    /// for another way than the one that was recorded, if something had been changed before the
    /// history began, and not all of it made durable ([`super::Pending::settle`]): what of it would be
    /// pending there is not known.
    pub fn pending(&self, moment: HistoryMoment, metadata: Metadata) -> Option<PendingState> {
        if metadata != self.base.metadata && !self.base.is_untouched() {
            return None;
        }
        let mut pending = self.base.clone();
        pending.metadata = metadata;
        for event in &self.events[..moment.0] {
            pending.happen(event.clone());
        }
        Some(pending)
    }

    /// What files held at a moment, by what they hold now.
    pub fn earlier<'a>(
        &'a self,
        moment: HistoryMoment,
        present: &'a dyn Contents,
    ) -> EarlierContents<'a> {
        EarlierContents { history: self, moment, present }
    }

    /// The changes of a file since a moment, in order.
    fn since(&self, moment: HistoryMoment, ino: Ino) -> impl DoubleEndedIterator<Item = &Edit> {
        let all = self.edits.get(&ino).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|event| *event < moment.0);
        all[first..].iter().filter_map(|event| match &self.events[*event] {
            PendingEvent::Edit(_, edit) => Some(edit),
            _ => None,
        })
    }
}

/// What files held at an earlier moment.
pub struct EarlierContents<'a> {
    history: &'a History,
    moment: HistoryMoment,
    present: &'a dyn Contents,
}

impl Contents for EarlierContents<'_> {
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.size(ino)?;
        let end = size.min(offset.saturating_add(buffer.len() as u64));
        let Some(part) = buffer.get_mut(..end.saturating_sub(offset) as usize) else {
            return Ok(0);
        };
        let mut content = FileContent::present(ino, self.present.size(ino)?);
        // Another change says nothing of these bytes: what cut them off, or filled them, meets them.
        let meets = |edit: &&Edit| edit.range.start < end && offset < edit.range.end;
        for edit in self.history.since(self.moment, ino).filter(meets).rev() {
            edit.undo(&mut content);
        }
        content.end_at(size);
        content.read(self.present, offset, part)
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        match self.history.since(self.moment, ino).next() {
            Some(first) => Ok(first.old_size),
            None => self.present.size(ino),
        }
    }
}
