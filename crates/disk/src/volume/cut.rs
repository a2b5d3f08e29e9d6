use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::{Keep, MirrorCopies, PendingState};
use bakeoff_devices::trigger::{CallSignature, TimedTrigger, Trigger};

use super::Volume;
use super::countdown::{CountedCall, FiredTriggers};
use super::durable::VolumeModel;
use super::inode::Inode;
use super::moments::monotonic_now;
use crate::materialise::materialise;

impl Volume {
    /// Turns the power off, for good: from now on every call fails with `EIO`, waiting ones, too.
    pub fn power_off(&self) {
        self.go_off();
        let mut model = self.lock_model();
        let all: Vec<usize> = (0..model.noted.len()).collect();
        model.note_moments(&all, self.off_at());
        drop(model);
        self.executor.set_timing(false);
        for ino in self.inodes.held_numbers() {
            if let Some(tell) = self.outdated.get() {
                tell(ino);
            }
        }
    }

    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`: before the first call that failed
    /// because of it, and after every answer at an earlier time. `None` while it is on.
    pub fn off_at(&self) -> Option<Nanos> {
        self.off_at.get().copied()
    }

    pub fn is_off(&self) -> bool {
        self.off_at.get().is_some()
    }

    /// Waits for moments, counted from now, and notes when they come: [`Volume::moment_times`]. The power
    /// goes with the last one. Replaces what was armed before.
    pub fn await_moments(
        self: &Arc<Self>,
        moments: &[TimedTrigger],
        signatures: &[CallSignature],
    ) -> io::Result<()> {
        if self.is_off() {
            return Err(io::Error::other("the power is off already"));
        }
        let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if moments.is_empty() || moments.iter().any(|it| it.trigger.count() == Some(0)) {
            return invalid("the first one is number 1");
        }
        let unknown = |it: &TimedTrigger| matches!(it.trigger, Trigger::Signature { signature, .. } if signature >= signatures.len());
        if moments.iter().any(unknown) {
            return invalid("there is no such signature");
        }
        let (come, heard) = mpsc::channel();
        let (volume, times) = (Arc::downgrade(self), list_due_times(moments));
        let wait = move || watch_moments(&volume, &times, &heard);
        thread::Builder::new().name("disk-plug".into()).spawn(wait)?;
        let mut model = self.lock_model();
        model.noted = vec![None; moments.len()];
        self.armed.set_moments(moments, signatures, come);
        Ok(())
    }

    pub(super) fn count_sync(&self, inode: &Inode) {
        let met = self.armed.count_call(CountedCall::Sync, || inode.find_path(&self.backing));
        self.note_moments(&met);
        if met.last {
            self.armed.notify_last();
        }
    }

    /// If the power goes, another thread does what takes long: the kernel may wait for this one
    /// before it can forget a page.
    fn note_moments(&self, met: &FiredTriggers) {
        if met.last {
            self.go_off();
        }
        if !met.which.is_empty() {
            self.lock_model().note_moments(&met.which, self.off_at());
        }
    }

    pub(super) fn go_off(&self) {
        // The first moment counts.
        let _ = self.off_at.set(monotonic_now());
    }

    /// Turns the power off and makes an image if `to` is an empty folder outside of the backing
    /// folder; else does nothing. See [`Volume::image`].
    pub fn cut_power(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        self.check_place(to)?;
        self.power_off();
        self.image(keep, seed, to)
    }

    /// Writes what a disk would hold since the power is off into the empty folder `to`. The same
    /// history, rule and seed give the same image. It is not synced.
    pub fn image(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let place = self.check_place(to)?;
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.lock_model();
        let contents = self.present_contents()?;
        let pending = model.pending.state();
        let copies = self.mirror_copies(&model, pending);
        let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
        materialise(&image, &contents, &place)?;
        contents.copy_extended(&image, &place)
    }

    /// The places of pending data on an array; `None` without copies. Extents are those at the time
    /// of the call: images of earlier moments, made with the power off, use them, too.
    pub(super) fn mirror_copies(
        &self,
        model: &VolumeModel,
        pending: &PendingState,
    ) -> Option<MirrorCopies> {
        let extents = pending.edited_files().map(|ino| (ino, model.ext4.file_extents(ino)));
        Some(MirrorCopies::new(self.mirrors?, extents.collect()))
    }

    pub(super) fn check_place(&self, to: &Path) -> io::Result<PathBuf> {
        let place = to.canonicalize()?;
        if place.starts_with(&self.backing) {
            return Err(io::Error::other("the image can't be inside the backing folder"));
        }
        if fs::read_dir(&place)?.next().is_some() {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        Ok(place)
    }
}

fn list_due_times(moments: &[TimedTrigger]) -> Vec<(Duration, usize)> {
    let time = |it: &TimedTrigger| match it.trigger {
        Trigger::After(time) => Some(time),
        Trigger::Writes(_) | Trigger::Syncs(_) | Trigger::Signature { .. } => it.within,
    };
    let numbered = moments.iter().enumerate();
    let mut times: Vec<_> = numbered.filter_map(|(number, it)| Some((time(it)?, number))).collect();
    times.sort_unstable();
    times
}

fn watch_moments(volume: &Weak<Volume>, times: &[(Duration, usize)], heard: &Receiver<()>) {
    let began = Instant::now();
    let mut gone = false;
    for (time, number) in times {
        match heard.recv_timeout(time.saturating_sub(began.elapsed())) {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) => gone = true,
            Err(RecvTimeoutError::Timeout) => {
                let Some(volume) = volume.upgrade() else { return };
                let met = volume.armed.is_due(*number);
                volume.note_moments(&met);
                gone = met.last;
            }
        }
        if gone {
            break;
        }
    }
    if (gone || heard.recv().is_ok())
        && let Some(volume) = volume.upgrade()
    {
        volume.power_off();
    }
}
