//! Images of moments at which the power stayed on, and of earlier ones.
//!
//! Nothing is copied at the moment itself. What is overwritten or removed after it is remembered
//! ([`bakeoff_devices::plug::History`]), and undone when an image is made of it; so nobody has to wait
//! for an image, but for a block of it at a time while it is read.

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
use super::noted::{Noted, now};
use super::{InodeNumber, Volume};
use crate::materialise::materialise;

/// Bytes of memory for what earlier moments take.
const MOST_RECORDED: u64 = 1 << 30;

impl VolumeModel {
    /// Notes that moments have come, unless they had before: now, or when the power went.
    pub fn note(&mut self, which: &[usize], off_at: Option<Nanos>) {
        if which.is_empty() {
            return;
        }
        let moment = self.pending.history().map(|it| (self.recorders.number, it.now()));
        let noted = Noted { at: off_at.unwrap_or_else(now), moment };
        for number in which {
            self.noted[*number].get_or_insert(noted);
        }
    }

    /// Whether what a file holds now may be seen in an image.
    pub fn may_show(&self, ino: InodeNumber) -> bool {
        self.pending.history().is_some() || self.pending.holds(ino)
    }

    /// Forgets what is remembered when it takes too much memory. Gives what is no longer needed.
    pub fn bound_history(&mut self) -> Vec<InodeNumber> {
        let bytes = self.pending.history().map_or(0, History::bytes);
        if bytes > MOST_RECORDED { self.pending.forget() } else { Vec::new() }
    }
}

impl Volume {
    /// Remembers from now on, until it is closed, what images of earlier moments need: up to 1 GiB.
    pub fn record(&self) {
        self.begin();
    }

    /// Makes all durable that was written and changed so far, as `sync(2)` does, and remembers from this
    /// moment on, and nothing of what was before: so both ways to make names durable can be had of each
    /// later moment. Does nothing where a moment that was waited for has come already. Whether it did.
    ///
    /// # Errors
    /// The power is off.
    pub fn record_anew(self: &Arc<Self>) -> io::Result<bool> {
        if self.is_off() {
            return Err(io::Error::other("the power is off"));
        }
        let now = self.executor.now();
        // Nobody is in the middle of a change.
        let power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.model();
        if model.noted.iter().any(Option::is_some) {
            return Ok(false);
        }
        let background = model.ext4.settle_all(now);
        model.note_closed();
        let mark = model.pending.mark();
        let mut free = model.pending.settle();
        free.extend(model.pending.forget());
        model.pending.record();
        model.recorders.number += 1;
        model.recorders.count += 1;
        drop(model);
        self.free(&free);
        drop(power);
        self.write_back(now, background, mark);
        Ok(true)
    }

    /// When the awaited moments came: see [`Volume::await_moments`].
    pub fn noted(&self) -> Vec<Option<Nanos>> {
        self.model().noted.iter().map(|noted| noted.map(|noted| noted.at)).collect()
    }

    /// For each of these moments, whether its event came, before its time was over and before the power
    /// went.
    pub fn came_by_itself(&self) -> Vec<bool> {
        self.armed.by_itself()
    }

    /// Writes what a disk would hold that lost its power now into the empty folder `to`, and goes
    /// on. The image is of one moment between two changes, and not synced.
    ///
    /// # Errors
    /// The power is off, `to` is not an empty folder outside of the backing folder, the image can't be
    /// written, or more than 1 GiB was overwritten meanwhile; [`io::ErrorKind::ConnectionAborted`] after
    /// [`Volume::end_snapshots`].
    pub fn snapshot(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        if self.is_off() {
            return Err(io::Error::other("the power is off: cut makes images of that moment"));
        }
        let place = self.check_place(to)?;
        let (moment, pending, number) = self.begin();
        let made = SnapshotContents::new(self, moment, number).and_then(|contents| {
            let copies = self.copies(&self.model(), &pending);
            let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
            materialise(&image, &contents, &place)
        });
        self.end();
        made
    }

    /// Ends the snapshots that are being made, of which none is whole then, and makes no more.
    pub fn end_snapshots(&self) {
        let _ = self.leaving.set(());
    }

    /// As [`Volume::image`], of a moment that was waited for, on a file system that makes names
    /// durable in this way.
    ///
    /// # Errors
    /// Those of [`Volume::image`]; or that moment is not remembered, or not in this way.
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
        let model = self.model();
        let known = || {
            let history = model.pending.history()?;
            let (of, moment) = model.noted.get(number)?.as_ref()?.moment?;
            let pending = history.pending(moment, metadata)?;
            (of == model.recorders.number).then_some((history, moment, pending))
        };
        let (history, moment, pending) = known().ok_or_else(forgotten)?;
        let present = self.contents()?;
        let contents = history.earlier(moment, &present);
        let copies = self.copies(&model, &pending);
        let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
        materialise(&image, &contents, &place)
    }

    /// The remembered history from its start to the first awaited moment, in a form that can be kept.
    ///
    /// # Errors
    /// The power is on; the first awaited moment is not remembered, or something was pending at the start;
    /// or a file can't be read.
    pub fn recorded(&self) -> io::Result<Recorded> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.model();
        let known = || {
            let history = model.pending.history()?;
            let noted = model.noted.first()?.as_ref()?;
            let (of, moment) = noted.moment?;
            (of == model.recorders.number).then_some((history, moment, noted.at))
        };
        let (history, moment, end) = known().ok_or_else(forgotten)?;
        history.recorded(moment, end, &self.contents()?)?.ok_or_else(forgotten)
    }

    /// Sees that the present moment is remembered. Gives it, what is pending, and which history it is
    /// of.
    fn begin(&self) -> (HistoryMoment, PendingState, u64) {
        // Nobody is in the middle of a change.
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.model();
        if model.pending.history().is_none() {
            model.pending.record_by(now);
            model.recorders.number += 1;
        }
        model.recorders.count += 1;
        let history = model.pending.history().expect("it was begun");
        let moment = history.now();
        (moment, model.pending.state().clone(), model.recorders.number)
    }

    /// One less needs what is remembered.
    fn end(&self) {
        let _power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.model();
        model.recorders.count -= 1;
        let free = if model.recorders.count == 0 { model.pending.forget() } else { Vec::new() };
        drop(model);
        self.free(&free);
    }
}

fn forgotten() -> io::Error {
    io::Error::other("what the disk held at that moment is not known: too much was changed since")
}

/// What files held at an earlier moment, while they go on to change.
struct SnapshotContents<'a> {
    volume: &'a Volume,
    moment: HistoryMoment,
    /// The history that the moment is of.
    number: u64,
    present: RefCell<BackingContents<'a>>,
}

impl<'a> SnapshotContents<'a> {
    fn new(volume: &'a Volume, moment: HistoryMoment, number: u64) -> io::Result<Self> {
        // What is moved or changed while all are listed is found, or found anew, when it is read.
        let present = RefCell::new(volume.contents()?);
        Ok(Self { volume, moment, number, present })
    }

    /// Looks at what files held, while nobody changes them.
    fn look<T>(&self, look: impl Fn(&EarlierContents<'_>) -> io::Result<T>) -> io::Result<T> {
        if self.volume.leaving.get().is_some() {
            let why = "the disk is being unmounted";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
        }
        let _power = self.volume.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.volume.model();
        let history = model.pending.history().filter(|_| model.recorders.number == self.number);
        let history = history.ok_or_else(forgotten)?;
        let looked = look(&history.earlier(self.moment, &*self.present.borrow()));
        match looked {
            // It was moved or removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self.present.borrow_mut() = self.volume.contents()?;
                look(&history.earlier(self.moment, &*self.present.borrow()))
            }
            looked => looked,
        }
    }
}

impl Contents for SnapshotContents<'_> {
    fn read(&self, ino: InodeNumber, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let buffer = RefCell::new(buffer);
        self.look(|earlier| earlier.read(ino, offset, &mut buffer.borrow_mut()))
    }

    fn size(&self, ino: InodeNumber) -> io::Result<u64> {
        self.look(|earlier| earlier.size(ino))
    }
}
