//! Images of moments at which the power stayed on, and of earlier ones.
//!
//! Nothing is copied at the moment itself. What is overwritten or removed later is remembered
//! ([`bakeoff_devices::plug::History`]), and undone when an image is made. So nobody waits for an
//! image, except for a block of it at a time while it is read.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::{
    Contents, EarlierContents, History, HistoryMoment, Keep, Metadata, PendingState, Recorded,
};

use super::contents::BackingContents;
use super::durable::VolumeModel;
use super::moments::{Noted, monotonic_now};
use super::{InodeNumber, Volume};
use crate::materialise::materialise;

/// Bytes of memory for what earlier moments take.
const MOST_RECORDED: u64 = 1 << 30;

impl VolumeModel {
    /// Notes that moments have come, now or when the power went, unless they had before.
    pub fn note_moments(&mut self, which: &[usize], off_at: Option<Nanos>) {
        if which.is_empty() {
            return;
        }
        let moment = self.pending.history().map(|it| (self.recorders.number, it.current_moment()));
        let noted = Noted { at: off_at.unwrap_or_else(monotonic_now), moment };
        for number in which {
            self.noted[*number].get_or_insert(noted);
        }
    }

    /// Whether an image may show the file's present content.
    pub fn may_show(&self, ino: InodeNumber) -> bool {
        self.pending.history().is_some() || self.pending.needs_content(ino)
    }

    /// Forgets what is remembered if it takes too much memory. Returns what is no longer needed.
    pub fn bound_history(&mut self) -> Vec<InodeNumber> {
        let bytes = self.pending.history().map_or(0, History::memory_bytes);
        if bytes > MOST_RECORDED { self.pending.forget_history() } else { Vec::new() }
    }
}

impl Volume {
    pub fn record(&self) {
        self.begin_recording();
    }

    /// Makes all earlier changes durable, as `sync(2)` does, and remembers from here on, with
    /// nothing of before: so images of each later moment can have both ways to make names durable.
    /// Returns false and does nothing if an awaited moment has come already.
    pub fn record_anew(self: &Arc<Self>) -> io::Result<bool> {
        if self.is_off() {
            return Err(io::Error::other("the power is off"));
        }
        let now = self.executor.now();
        // Nobody is in the middle of a change.
        let power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.lock_model();
        if model.noted.iter().any(Option::is_some) {
            return Ok(false);
        }
        let (background, mark) = model.begin_settling(now);
        let mut free = model.pending.settle(mark);
        free.extend(model.pending.forget_history());
        model.pending.record();
        model.recorders.number += 1;
        model.recorders.count += 1;
        drop(model);
        self.free_files(&free);
        drop(power);
        self.write_back(now, background, mark);
        Ok(true)
    }

    pub fn moment_times(&self) -> Vec<Option<Nanos>> {
        self.lock_model().noted.iter().map(|noted| noted.map(|noted| noted.at)).collect()
    }

    /// For each of these moments, whether its event came before its time was over and before the
    /// power went.
    pub fn came_by_itself(&self) -> Vec<bool> {
        self.armed.by_itself()
    }

    /// Writes what a disk would hold that lost its power now into the empty folder `to`; the power
    /// stays on. The image is of one moment between two changes, and not synced. Fails if more than
    /// 1 GiB is overwritten meanwhile, and with [`io::ErrorKind::ConnectionAborted`] after
    /// [`Volume::end_snapshots`].
    pub fn snapshot(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        if self.is_off() {
            return Err(io::Error::other("the power is off: cut makes images of that moment"));
        }
        let place = self.check_place(to)?;
        let (moment, pending, number) = self.begin_recording();
        let made = SnapshotContents::new(self, moment, number).and_then(|contents| {
            let copies = self.mirror_copies(&self.lock_model(), &pending);
            let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
            materialise(&image, &contents, &place)?;
            contents.present.borrow().copy_extended(&image, &place)
        });
        self.end_recording();
        made
    }

    /// Ends the snapshots that are being made, none of which is whole then, and makes no more.
    pub fn end_snapshots(&self) {
        let _ = self.leaving.set(());
    }

    /// As [`Volume::image`], of an awaited moment, with names made durable in this way.
    pub fn image_of(
        &self,
        number: usize,
        metadata: Metadata,
        keep: Keep,
        seed: u64,
        to: &Path,
    ) -> io::Result<()> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let place = self.check_place(to)?;
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.lock_model();
        let known = || {
            let history = model.pending.history()?;
            let (of, moment) = model.noted.get(number)?.as_ref()?.moment?;
            let pending = history.pending_at(moment, metadata)?;
            (of == model.recorders.number).then_some((history, moment, pending))
        };
        let (history, moment, pending) = known().ok_or_else(forgotten_error)?;
        let present = self.present_contents()?;
        let contents = history.contents_at(moment, &present);
        let copies = self.mirror_copies(&model, &pending);
        let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
        materialise(&image, &contents, &place)?;
        present.copy_extended(&image, &place)
    }

    /// The remembered history up to the first awaited moment, with the power off, in a form that
    /// can be kept.
    pub fn to_recorded(&self) -> io::Result<Recorded> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.lock_model();
        let known = || {
            let history = model.pending.history()?;
            let noted = model.noted.first()?.as_ref()?;
            let (of, moment) = noted.moment?;
            (of == model.recorders.number).then_some((history, moment, noted.at))
        };
        let (history, moment, end) = known().ok_or_else(forgotten_error)?;
        history.to_recorded(moment, end, &self.present_contents()?)?.ok_or_else(forgotten_error)
    }

    /// Sees that the present moment is remembered. Returns it, what is pending, and the number of
    /// the history.
    fn begin_recording(&self) -> (HistoryMoment, PendingState, u64) {
        // Nobody is in the middle of a change.
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.lock_model();
        if model.pending.history().is_none() {
            model.pending.record_by(monotonic_now);
            model.recorders.number += 1;
        }
        model.recorders.count += 1;
        let history = model.pending.history().expect("it was begun");
        let moment = history.current_moment();
        (moment, model.pending.state().clone(), model.recorders.number)
    }

    fn end_recording(&self) {
        let _power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.lock_model();
        model.recorders.count -= 1;
        let free =
            if model.recorders.count == 0 { model.pending.forget_history() } else { Vec::new() };
        drop(model);
        self.free_files(&free);
    }
}

fn forgotten_error() -> io::Error {
    io::Error::other("what the disk held at that moment is not known: too much was changed since")
}

/// The content of files at an earlier moment, while they go on to change.
struct SnapshotContents<'a> {
    volume: &'a Volume,
    moment: HistoryMoment,
    number: u64,
    present: RefCell<BackingContents<'a>>,
}

impl<'a> SnapshotContents<'a> {
    fn new(volume: &'a Volume, moment: HistoryMoment, number: u64) -> io::Result<Self> {
        // A file that moves or changes during the listing is found when it is read.
        let present = RefCell::new(volume.present_contents()?);
        Ok(Self { volume, moment, number, present })
    }

    fn with_earlier<T>(
        &self,
        look: impl Fn(&EarlierContents<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.volume.leaving.get().is_some() {
            let why = "the disk is being unmounted";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
        }
        let _power = self.volume.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.volume.lock_model();
        let history = model.pending.history().filter(|_| model.recorders.number == self.number);
        let history = history.ok_or_else(forgotten_error)?;
        let looked = look(&history.contents_at(self.moment, &*self.present.borrow()));
        match looked {
            // It was moved or removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self.present.borrow_mut() = self.volume.present_contents()?;
                look(&history.contents_at(self.moment, &*self.present.borrow()))
            }
            looked => looked,
        }
    }
}

impl Contents for SnapshotContents<'_> {
    fn read(&self, ino: InodeNumber, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let buffer = RefCell::new(buffer);
        self.with_earlier(|earlier| earlier.read(ino, offset, &mut buffer.borrow_mut()))
    }

    fn size(&self, ino: InodeNumber) -> io::Result<u64> {
        self.with_earlier(|earlier| earlier.size(ino))
    }
}
