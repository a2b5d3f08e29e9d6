//! Cutting the power.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::{Keep, MirrorCopies, PendingState};
use bakeoff_devices::trigger::{Awaited, CallSignature, Trigger};

use super::Volume;
use super::armed::{CountedCall, Met};
use super::durable::VolumeModel;
use super::inode::Inode;
use super::noted::now;
use crate::materialise::materialise;

impl Volume {
    /// Turns the power off, for good: from now on every call fails with `EIO`, those that wait,
    /// too. Nothing happens when it is off already.
    pub fn power_off(&self) {
        self.go_off();
        let mut model = self.model();
        let all: Vec<usize> = (0..model.noted.len()).collect();
        model.note(&all, self.off_at());
        drop(model);
        self.executor.set_timing(false);
        for ino in self.inodes.all() {
            if let Some(tell) = self.outdated.get() {
                tell(ino);
            }
        }
    }

    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`: before the first call that failed
    /// for it, and after every answer that was given at an earlier time. `None` while it is on.
    pub fn off_at(&self) -> Option<Nanos> {
        self.off_at.get().copied()
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.off_at.get().is_some()
    }

    /// Has the power go by itself; replaces what was armed before.
    ///
    /// # Errors
    /// As of [`Volume::await_moments`].
    pub fn arm(self: &Arc<Self>, trigger: Trigger) -> io::Result<()> {
        self.await_moments(&[Awaited { trigger, within: None }])
    }

    /// Waits for moments, each counted from now, and notes when they come: [`Volume::noted`]. With
    /// the last of them the power goes. Replaces what was armed before.
    ///
    /// # Errors
    /// The power is off, a count is 0, there is none, or no thread can be started.
    pub fn await_moments(self: &Arc<Self>, moments: &[Awaited]) -> io::Result<()> {
        self.await_signatures(moments, &[])
    }

    /// The same, where moments may be counted by signatures.
    ///
    /// # Errors
    /// As of [`Volume::await_moments`], or a moment is counted by a signature that there is not.
    pub fn await_signatures(
        self: &Arc<Self>,
        moments: &[Awaited],
        signatures: &[CallSignature],
    ) -> io::Result<()> {
        if self.is_off() {
            return Err(io::Error::other("the power is off already"));
        }
        let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if moments.is_empty() || moments.iter().any(|it| it.trigger.count() == Some(0)) {
            return invalid("the first one is number 1");
        }
        let unknown = |it: &Awaited| matches!(it.trigger, Trigger::Signature { signature, .. } if signature >= signatures.len());
        if moments.iter().any(unknown) {
            return invalid("there is no such signature");
        }
        let (come, heard) = mpsc::channel();
        let (volume, times) = (Arc::downgrade(self), times(moments));
        let wait = move || watch(&volume, &times, &heard);
        thread::Builder::new().name("disk-plug".into()).spawn(wait)?;
        let mut model = self.model();
        model.noted = vec![None; moments.len()];
        self.armed.set(moments, signatures, come);
        Ok(())
    }

    /// Counts a sync, and notes the moments that come with it: the power may go.
    pub(super) fn count_sync(&self, inode: &Inode) {
        let met = self.armed.call(CountedCall::Sync, || inode.path(&self.backing));
        self.come(&met);
        if met.last {
            self.armed.come();
        }
    }

    /// Moments have come. Where the power goes, another thread does what takes long: this one may
    /// be what the kernel waits for before it can forget a page.
    fn come(&self, met: &Met) {
        if met.last {
            self.go_off();
        }
        if !met.which.is_empty() {
            self.model().note(&met.which, self.off_at());
        }
    }

    pub(super) fn go_off(&self) {
        // The first moment counts.
        let _ = self.off_at.set(now());
    }

    /// Turns the power off and makes an image, if there can be one at `to`: see [`Volume::image`].
    ///
    /// # Errors
    /// `to` is not an empty folder outside of the backing folder: nothing was done. Or the image
    /// can't be written: the power is off then.
    pub fn cut(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        self.check_place(to)?;
        self.power_off();
        self.image(keep, seed, to)
    }

    /// Writes what a disk would hold since the power is off into the empty folder `to`. There may
    /// be as many images of that moment as wanted; the same history, rule and seed give the same.
    /// An image is not synced: it is durable on its own disk when that disk's system says so.
    ///
    /// # Errors
    /// The power is on, `to` is not an empty folder outside of the backing folder, or the image
    /// can't be written.
    pub fn image(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let place = self.check_place(to)?;
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.model();
        let contents = self.contents()?;
        let pending = model.pending.state();
        let copies = self.copies(&model, pending);
        let image = pending.image_on(copies.as_ref(), keep, seed, &contents)?;
        materialise(&image, &contents, &place)
    }

    /// Where what is pending lies on the disks of an array, as far as it has a place by now; `None` where
    /// there is one copy of all. The extents are those at the time of the call. An image of an earlier
    /// moment is made when the power is off, and so takes files to lie where they lie then.
    pub(super) fn copies(
        &self,
        model: &VolumeModel,
        pending: &PendingState,
    ) -> Option<MirrorCopies> {
        let extents = pending.edited().map(|ino| (ino, model.ext4.extents(ino)));
        Some(MirrorCopies::new(self.mirrors?, extents.collect()))
    }

    /// Sees that an image can be made in a folder; says where it is.
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

/// When moments come by the time, and which of them, in order.
fn times(moments: &[Awaited]) -> Vec<(Duration, usize)> {
    let time = |it: &Awaited| match it.trigger {
        Trigger::After(time) => Some(time),
        Trigger::Writes(_) | Trigger::Syncs(_) | Trigger::Signature { .. } => it.within,
    };
    let numbered = moments.iter().enumerate();
    let mut times: Vec<_> = numbered.filter_map(|(number, it)| Some((time(it)?, number))).collect();
    times.sort_unstable();
    times
}

/// Waits for moments until the power goes, other ones are armed, or the volume is gone.
fn watch(volume: &Weak<Volume>, times: &[(Duration, usize)], heard: &Receiver<()>) {
    let began = Instant::now();
    let mut gone = false;
    for (time, number) in times {
        match heard.recv_timeout(time.saturating_sub(began.elapsed())) {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) => gone = true,
            Err(RecvTimeoutError::Timeout) => {
                let Some(volume) = volume.upgrade() else { return };
                let met = volume.armed.is_due(*number);
                volume.come(&met);
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
