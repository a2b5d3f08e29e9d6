//! A walk through a recorded history. Each step costs what one event does, so that all moments can
//! be seen.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;

use super::content::{ContentSource, FileContent};
use super::edits::{Before, Edit};
use super::event::PendingEvent;
use super::image::CrashImage;
use super::names::{EntryPlace, MetadataOperation, NodeKind};
use super::recorded::{Recorded, RecordedEvent};
use super::sparse::{SparseFile, Sum, add_sum, page_sum, subtract_sum, touched_pages};
use super::state::PendingState;
use super::{Contents, Ino, Keep, Metadata, PAGE};

/// Tells images apart. Equal names, attributes and bytes give an equal sum; different images have
/// the same sum by chance in one of 2^128 pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageFingerprint([u64; 2]);

#[derive(Clone)]
pub struct Walk<'a> {
    recorded: &'a Recorded,
    state: PendingState,
    files: HashMap<Ino, SparseFile>,
    called: HashMap<Ino, String>,
    moment: usize,
}

impl<'a> Walk<'a> {
    pub fn new(recorded: &'a Recorded, metadata: Metadata) -> Self {
        let root = recorded.nodes.iter().find(|(ino, ..)| *ino == recorded.root);
        let attributes = root.expect("a history has a root").2;
        let mut state = PendingState::new(recorded.root, attributes, metadata);
        state.data = recorded.data;
        let nodes: HashMap<Ino, _> = recorded
            .nodes
            .iter()
            .map(|(ino, kind, attributes)| (*ino, (kind, attributes)))
            .collect();
        let mut called = HashMap::new();
        for (dir, name, ino) in &recorded.names {
            let Some((kind, attributes)) = nodes.get(ino) else { continue };
            state.adopt(EntryPlace { dir: *dir, name }, *ino, (*kind).clone(), **attributes);
            called.insert(*ino, name.to_string_lossy().into_owned());
        }
        let files = recorded.files.iter().map(|start| {
            let mut file = SparseFile::zeros(start.size);
            for (number, at) in &start.pages {
                let bytes = &recorded.bytes[*at..at + PAGE as usize];
                file.write_range(number * PAGE..(number + 1) * PAGE, bytes);
            }
            (start.ino, file)
        });
        Self { recorded, state, files: files.collect(), called, moment: 0 }
    }

    /// The number of the next event, from 0.
    pub fn moment(&self) -> usize {
        self.moment
    }

    pub fn state(&self) -> &PendingState {
        &self.state
    }

    /// Goes on to the next moment; `false` at the last one.
    pub fn step(&mut self) -> bool {
        let Some(told) = self.recorded.events.get(self.moment) else { return false };
        self.moment += 1;
        match told {
            RecordedEvent::Edit { ino, truncates, range, old_size, new_size, new } => {
                let file = self.files.entry(*ino).or_default();
                let number = self.state.current_mark().0;
                let lost = range.start..range.end.min(*old_size).max(range.start);
                let mut old = vec![0; (file.filled_end(&lost) - lost.start) as usize];
                file.read(lost.start, &mut old);
                let before = Before::Bytes(&old);
                let edit = match truncates {
                    true => Edit::from_truncation(number, *old_size, *new_size, before),
                    false => Edit::from_write(number, range.clone(), *old_size, before),
                };
                file.end_at((*new_size).min(file.size));
                file.size = *new_size;
                let end = range.end.min(*new_size).max(range.start);
                file.write_range(range.start..end, &self.recorded.bytes[new.clone()]);
                self.state.apply_event(PendingEvent::Edit(*ino, edit));
            }
            RecordedEvent::Other(event) => {
                self.note_names(event);
                self.state.apply_event(event.clone());
            }
        }
        true
    }

    /// Goes on to a later moment; `false` if there is no such moment ahead.
    pub fn go_to(&mut self, moment: usize) -> bool {
        while self.moment < moment && self.step() {}
        self.moment == moment
    }

    pub fn image(&self, keep: Keep, seed: u64) -> io::Result<CrashImage<'_>> {
        self.state.image(keep, seed, self)
    }

    pub fn fingerprint(&self, image: &CrashImage<'_>) -> io::Result<ImageFingerprint> {
        let mut lanes = [DefaultHasher::new(), DefaultHasher::new()];
        lanes[1].write_u8(1);
        let (mut numbers, mut to_visit) = (HashMap::new(), vec![image.root()]);
        while let Some(ino) = to_visit.pop() {
            let next = numbers.len();
            // A file with two names is one thing.
            let number = *numbers.entry(ino).or_insert(next);
            let is_new = number == next;
            let item = image.item(ino).filter(|_| is_new);
            let content = item.and_then(|item| item.content.as_ref());
            let held = content.map(|content| {
                Ok::<_, io::Error>((content.size(), self.sum_content(ino, content)?))
            });
            let held = held.transpose()?;
            for lane in &mut lanes {
                number.hash(lane);
                held.hash(lane);
                let Some(item) = item else { continue };
                let attributes = item.attributes;
                (attributes.mode, attributes.uid, attributes.gid).hash(lane);
                match &item.kind {
                    NodeKind::File => 0.hash(lane),
                    NodeKind::Directory => 1.hash(lane),
                    NodeKind::Symlink(target) => target.hash(lane),
                    NodeKind::Special(format, device) => (format, device).hash(lane),
                }
                item.entries.len().hash(lane);
                item.entries.keys().for_each(|name| name.hash(lane));
            }
            to_visit.extend(item.into_iter().flat_map(|item| item.entries.values()));
        }
        Ok(ImageFingerprint(lanes.map(|lane| lane.finish())))
    }

    /// The sum of an image's file: that of the present file, except for the pages that come from
    /// elsewhere.
    fn sum_content(&self, ino: Ino, content: &FileContent<'_>) -> io::Result<Sum> {
        let file = self.files.get(&ino).ok_or_else(|| missing_file_error(ino))?;
        let mut changed = std::collections::BTreeSet::new();
        for (range, source) in content.list_pieces(0..u64::MAX) {
            match source {
                ContentSource::Present => {}
                ContentSource::Zeros => {
                    changed.extend(file.filled_pages(touched_pages(&range)));
                    changed.insert(range.start / PAGE);
                    changed.extend((range.end < u64::MAX).then(|| (range.end - 1) / PAGE));
                }
                ContentSource::Bytes { .. } | ContentSource::Kept(_) | ContentSource::Stale => {
                    changed.extend(touched_pages(&range))
                }
            }
        }
        let (mut sum, mut page) = (file.sum(), vec![0; PAGE as usize]);
        for number in changed {
            subtract_sum(&mut sum, file.sum_of(number));
            let read = content.read(self, number * PAGE, &mut page)?;
            page[read..].fill(0);
            add_sum(&mut sum, page_sum(number, &page));
        }
        Ok(sum)
    }

    /// In words, what a power cut at this moment interrupts.
    pub fn describe_next_event(&self) -> String {
        let Some(told) = self.recorded.events.get(self.moment) else {
            return "the end".into();
        };
        let called = |ino: &Ino| self.called.get(ino).cloned().unwrap_or_else(|| format!("#{ino}"));
        match told {
            RecordedEvent::Edit { ino, truncates: true, new_size, .. } => {
                format!("the size of {} set to {new_size}", called(ino))
            }
            RecordedEvent::Edit { ino, range: Range { start, end }, .. } => {
                format!("a write of {} bytes at {start} of {}", end - start, called(ino))
            }
            RecordedEvent::Other(event) => match event {
                PendingEvent::SyncFile(ino, _) => format!("inside a sync of {}", called(ino)),
                PendingEvent::FailSync(ino, _) => {
                    format!("inside a failed sync of {}", called(ino))
                }
                PendingEvent::SyncDir(ino, _) => {
                    format!("inside a sync of the folder {}", called(ino))
                }
                PendingEvent::Wrote(ino, ..) => format!("inside a direct write of {}", called(ino)),
                PendingEvent::Expire(ino, _) => {
                    format!("{} is written back by its age", called(ino))
                }
                PendingEvent::CommitNames(_) | PendingEvent::CommitJournal(_) => {
                    "inside a journal commit".into()
                }
                PendingEvent::Settle(_) => "all is made durable at once".into(),
                PendingEvent::Add(..) => "a file is made".into(),
                PendingEvent::Change(operation) => describe_operation(operation),
                PendingEvent::Edit(ino, _) => format!("a change of {}", called(ino)),
            },
        }
    }

    fn note_names(&mut self, event: &PendingEvent) {
        match event {
            PendingEvent::Add(ino, NodeKind::File, _) => {
                drop(self.files.insert(*ino, SparseFile::default()))
            }
            PendingEvent::Change(
                MetadataOperation::Create(step)
                | MetadataOperation::Link(step)
                | MetadataOperation::Rename([_, step]),
            ) => {
                let name = step.name.to_string_lossy().into_owned();
                self.called.extend(step.after.map(|ino| (ino, name)));
            }
            _ => {}
        }
    }
}

fn describe_operation(operation: &MetadataOperation) -> String {
    match operation {
        MetadataOperation::Create(step) => format!("{} is made", step.name.display()),
        MetadataOperation::Link(step) => format!("{} is linked", step.name.display()),
        MetadataOperation::Remove(step) => format!("{} is removed", step.name.display()),
        MetadataOperation::Rename([from, to]) => {
            format!("{} is renamed to {}", from.name.display(), to.name.display())
        }
        MetadataOperation::Attributes(..) => "permissions change".into(),
    }
}

fn missing_file_error(ino: Ino) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the history has no file {ino}"))
}

impl Contents for Walk<'_> {
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.files.get(&ino).ok_or_else(|| missing_file_error(ino))?;
        let length = file.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        file.read(offset, &mut buffer[..length]);
        Ok(length)
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        self.files.get(&ino).map(|file| file.size).ok_or_else(|| missing_file_error(ino))
    }

    fn filled_ranges(&self, ino: Ino, range: Range<u64>) -> Vec<Range<u64>> {
        let Some(file) = self.files.get(&ino) else { return vec![range] };
        let mut filled: Vec<Range<u64>> = Vec::new();
        for number in file.filled_pages(touched_pages(&range)) {
            let page = range.start.max(number * PAGE)..range.end.min((number + 1) * PAGE);
            match filled.last_mut() {
                Some(last) if last.end == page.start => last.end = page.end,
                _ => filled.push(page),
            }
        }
        filled
    }
}
