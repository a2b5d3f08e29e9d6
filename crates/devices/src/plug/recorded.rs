//! A history that can be kept: its start, all events, and the bytes that were written.
//! [`Walk`](super::Walk) makes every moment of it again, with nothing else.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::edits::{Edit, EditKind};
use super::event::PendingEvent;
use super::history::{History, HistoryMoment};
use super::names::{FileAttributes, NodeKind};
use super::sparse::SparseFile;
use super::{Contents, Ino, PAGE};
use crate::ext4::DataMode;

const BLOCK: u64 = 64 << 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    pub(super) root: Ino,
    #[serde(default)]
    pub(super) data: DataMode,
    pub(super) nodes: Vec<(Ino, NodeKind, FileAttributes)>,
    pub(super) names: Vec<(Ino, OsString, Ino)>,
    pub(super) files: Vec<Start>,
    pub(super) events: Vec<RecordedEvent>,
    /// When each event was noted, by the recorder's clock, and the end.
    pub(super) times: Vec<u64>,
    #[serde(skip)]
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub ino: Ino,
    pub size: u64,
    pub pages: Vec<(u64, usize)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum RecordedEvent {
    Edit {
        ino: Ino,
        truncates: bool,
        range: Range<u64>,
        old_size: u64,
        new_size: u64,
        new: Range<usize>,
    },
    Other(PendingEvent),
}

impl Recorded {
    /// Not part of the serialised form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives a history that was read its bytes. Fails if they belong to another one.
    pub fn with_bytes(mut self, bytes: Vec<u8>) -> io::Result<Self> {
        self.bytes = bytes;
        let pages = self.files.iter().flat_map(|file| &file.pages);
        let pages = pages.map(|(_, at)| at.saturating_add(PAGE as usize));
        let edits = self.events.iter().filter_map(|event| match event {
            RecordedEvent::Edit { new, .. } => Some(new.end.max(new.start)),
            RecordedEvent::Other(_) => None,
        });
        let whole = pages.chain(edits).all(|end| end <= self.bytes.len())
            && self.times.len() == self.events.len() + 1;
        if whole {
            Ok(self)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the history is cut short"))
        }
    }

    /// There is one moment more.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Writes and changes of sizes; syncs; changes of names.
    pub fn count_kinds(&self) -> [usize; 3] {
        let count = |is: fn(&RecordedEvent) -> bool| self.events.iter().filter(|it| is(it)).count();
        [
            count(|it| matches!(it, RecordedEvent::Edit { .. })),
            count(|it| {
                matches!(
                    it,
                    RecordedEvent::Other(PendingEvent::SyncFile(..) | PendingEvent::SyncDir(..))
                ) || matches!(it, RecordedEvent::Other(PendingEvent::Wrote(..)))
            }),
            count(|it| matches!(it, RecordedEvent::Other(PendingEvent::Change(_)))),
        ]
    }

    pub fn moment_end(&self, moment: usize) -> u64 {
        self.times[moment]
    }

    fn keep_bytes(&mut self, bytes: &[u8]) -> Range<usize> {
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..length]);
        start..self.bytes.len()
    }
}

impl History {
    /// The history up to a moment, which was at `end`. `None` if something was pending when it
    /// began.
    pub fn to_recorded(
        &self,
        moment: HistoryMoment,
        end: u64,
        present: &dyn Contents,
    ) -> io::Result<Option<Recorded>> {
        let Some((root, tree)) = self.base().untouched_tree() else { return Ok(None) };
        let mut nodes: Vec<_> = tree.nodes.iter().map(|(ino, node)| (*ino, node)).collect();
        nodes.sort_unstable_by_key(|(ino, _)| *ino);
        let names = tree
            .entries
            .iter()
            .flat_map(|(dir, names)| names.iter().map(|(name, ino)| (*dir, name.clone(), *ino)));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        let files =
            nodes.iter().filter(|(_, node)| node.kind == NodeKind::File).map(|(ino, _)| *ino);
        let files: Vec<Ino> = files.collect();
        // Events in progress when the power went were noted a little later.
        let until = self.times()[..moment.index()].iter();
        let mut times: Vec<u64> = until.map(|time| end.min(*time)).collect();
        times.push(end);
        let mut recorded = Recorded {
            root,
            data: self.base().data,
            nodes: nodes.iter().map(|(ino, it)| (*ino, it.kind.clone(), it.attributes)).collect(),
            names,
            files: Vec::new(),
            events: Vec::new(),
            times,
            bytes: Vec::new(),
        };
        let mut back = Back { present, files: HashMap::new() };
        for (place, event) in self.events().iter().enumerate().rev() {
            let told = match event {
                PendingEvent::Edit(ino, edit) => back.undo_edit(*ino, edit, &mut recorded)?,
                other => RecordedEvent::Other(other.clone()),
            };
            if place < moment.index() {
                recorded.events.push(told);
            }
        }
        recorded.events.reverse();
        for ino in files {
            let file = back.load_file(ino)?;
            let mut start = Start { ino, size: file.size, pages: Vec::new() };
            for (number, page) in file.all_pages() {
                start.pages.push((number, recorded.bytes.len()));
                recorded.bytes.extend_from_slice(page);
            }
            recorded.files.push(start);
        }
        Ok(Some(recorded))
    }
}

struct Back<'a> {
    present: &'a dyn Contents,
    files: HashMap<Ino, SparseFile>,
}

impl Back<'_> {
    fn undo_edit(&mut self, ino: Ino, edit: &Edit, to: &mut Recorded) -> io::Result<RecordedEvent> {
        let old = edit.read_old(self.present)?;
        let file = self.load_file(ino)?;
        let range = edit.range.start..edit.range.end.min(edit.new_size).max(edit.range.start);
        let mut new = vec![0; (file.filled_end(&range) - range.start) as usize];
        file.read(range.start, &mut new);
        file.write_range(
            edit.range.start..edit.range.end.min(edit.old_size).max(edit.range.start),
            &old,
        );
        file.end_at(edit.old_size);
        Ok(RecordedEvent::Edit {
            ino,
            truncates: edit.shape == EditKind::Truncate,
            range: edit.range.clone(),
            old_size: edit.old_size,
            new_size: edit.new_size,
            new: to.keep_bytes(&new),
        })
    }

    fn load_file(&mut self, ino: Ino) -> io::Result<&mut SparseFile> {
        if !self.files.contains_key(&ino) {
            let mut file = SparseFile::zeros(self.present.size(ino)?);
            let mut block = vec![0; BLOCK as usize];
            let mut at = 0;
            while at < file.size {
                let part = &mut block[..BLOCK.min(file.size - at) as usize];
                let read = self.present.read(ino, at, part)?;
                part[read..].fill(0);
                if part.iter().any(|byte| *byte != 0) {
                    file.write_range(at..at + part.len() as u64, part);
                }
                at += part.len() as u64;
            }
            self.files.insert(ino, file);
        }
        Ok(self.files.get_mut(&ino).expect("it is there by now"))
    }
}
