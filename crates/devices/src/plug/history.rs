//! The events since some moment, so that images can be made of it and of each later one.
//!
//! What was pending at a moment comes from replaying the events up to it ([`History::pending`]).
//! What files held comes from undoing later changes on their present bytes ([`EarlierContents`]).

use std::collections::HashMap;
use std::io;

use super::content::FileContent;
use super::edits::Edit;
use super::event::PendingEvent;
use super::state::PendingState;
use super::{Contents, Ino, Metadata};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryMoment(usize);

impl HistoryMoment {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

pub struct History {
    base: PendingState,
    events: Vec<PendingEvent>,
    times: Vec<u64>,
    clock: fn() -> u64,
    edits: HashMap<Ino, Vec<usize>>,
    bytes: u64,
    /// Content that is needed only by the history.
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

    pub(super) fn add_event(&mut self, event: PendingEvent) {
        self.bytes += (size_of::<PendingEvent>() + size_of::<u64>()) as u64;
        if let PendingEvent::Edit(ino, edit) = &event {
            self.bytes += edit.memory_bytes();
            self.edits.entry(*ino).or_default().push(self.events.len());
        }
        self.events.push(event);
        self.times.push((self.clock)());
    }

    pub fn current_moment(&self) -> HistoryMoment {
        HistoryMoment(self.events.len())
    }

    pub fn moments(&self) -> impl Iterator<Item = HistoryMoment> + use<> {
        (0..=self.events.len()).map(HistoryMoment)
    }

    pub fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// What was pending at a moment, with names made durable in this way. `None` for a way other
    /// than the recorded one, unless nothing was pending at the start ([`super::Pending::settle`]).
    pub fn pending_at(&self, moment: HistoryMoment, metadata: Metadata) -> Option<PendingState> {
        if metadata != self.base.metadata && !self.base.is_untouched() {
            return None;
        }
        let mut pending = self.base.clone();
        pending.metadata = metadata;
        for event in &self.events[..moment.0] {
            pending.apply_event(event.clone());
        }
        Some(pending)
    }

    pub fn contents_at<'a>(
        &'a self,
        moment: HistoryMoment,
        present: &'a dyn Contents,
    ) -> EarlierContents<'a> {
        EarlierContents { history: self, moment, present }
    }

    fn edits_since(
        &self,
        moment: HistoryMoment,
        ino: Ino,
    ) -> impl DoubleEndedIterator<Item = &Edit> {
        let all = self.edits.get(&ino).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|event| *event < moment.0);
        all[first..].iter().filter_map(|event| match &self.events[*event] {
            PendingEvent::Edit(_, edit) => Some(edit),
            _ => None,
        })
    }
}

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
        let mut content = FileContent::from_present(ino, self.present.size(ino)?);
        // Other changes say nothing of these bytes.
        let meets = |edit: &&Edit| edit.range.start < end && offset < edit.range.end;
        for edit in self.history.edits_since(self.moment, ino).filter(meets).rev() {
            edit.undo_in(&mut content);
        }
        content.end_at(size);
        content.read(self.present, offset, part)
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        match self.history.edits_since(self.moment, ino).next() {
            Some(first) => Ok(first.old_size),
            None => self.present.size(ino),
        }
    }
}
