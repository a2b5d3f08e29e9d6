//! What the kernel holds of a disk that is mounted with write-back.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::own_calls::through_the_mount;
use crate::mount_table;

/// How long the kernel holds a buffered write: short beside the 30 s that the model of the page
/// cache holds it.
const HOLD: Duration = Duration::from_secs(1);

pub struct KernelPages {
    mountpoint: PathBuf,
    /// An open folder of the mount would keep it from being unmounted.
    reaching: Mutex<()>,
    ended: AtomicBool,
}

impl KernelPages {
    /// Hands over what the kernel holds once every [`HOLD`], until the last owner drops it.
    pub fn start(mountpoint: PathBuf) -> io::Result<Arc<Self>> {
        let pages = Arc::new(Self {
            mountpoint,
            reaching: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::downgrade(&pages);
        let run = move || hand_over_in_turn(&theirs);
        thread::Builder::new().name("disk-kernel-pages".into()).spawn(run)?;
        Ok(pages)
    }

    /// Nobody opens a file of the mount for the kernel's pages until the guard is dropped.
    pub fn stay_away(&self) -> MutexGuard<'_, ()> {
        self.reaching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is handed over any more: the mount goes.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Waits until the volume has what the kernel held.
    pub fn hand_over(&self) -> io::Result<()> {
        let _reaching = self.stay_away();
        if self.ended.load(Ordering::Acquire) {
            return Ok(());
        }
        let mountpoint = self.mountpoint.clone();
        through_the_mount(move || {
            // Without the mount it would sync the file system below.
            if mount_table::is_ours(&mountpoint) {
                rustix::fs::syncfs(File::open(&mountpoint)?)?;
            }
            Ok(())
        })
    }
}

fn hand_over_in_turn(pages: &Weak<KernelPages>) {
    loop {
        thread::sleep(HOLD);
        let Some(pages) = pages.upgrade() else { return };
        // A disk whose power is off takes nothing more.
        let _ = pages.hand_over();
    }
}
