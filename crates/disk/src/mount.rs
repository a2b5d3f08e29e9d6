//! Mounting from outside: a daemon is started, waited for until it is ready, and ended.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::control::DiskControl;
use crate::launcher::Launched;
use crate::patience::PATIENCE;
use crate::stopped::Guard;
use crate::{launcher, registry, table};

pub use crate::error::Error;
pub use crate::launcher::Launcher;
pub use crate::options::MountOptions;

/// How often a look is taken whether a daemon has ended, or the users of a disk, who were ended, have let go
/// of it.
const LOOK: Duration = Duration::from_millis(10);

/// A disk that is mounted as long as this is there.
#[derive(Debug)]
pub struct Mounted {
    daemon: Child,
    _guard: Guard,
    mountpoint: PathBuf,
    control: DiskControl,
}

impl Mounted {
    /// Mounts a disk by a daemon of its own, and waits until it is ready. When the thread that called
    /// this ends, even by a kill of its process, the disk is unmounted, too. A daemon that is stopped
    /// for 5 s is ended: nobody who waits for its disk could be ended before.
    ///
    /// What killed daemons left is the caller's to remove first: [`registry::sweep`].
    ///
    /// # Errors
    /// What the daemon said.
    pub fn start(launcher: &Launcher, options: &MountOptions) -> Result<Self, Error> {
        let mut command = launcher.command();
        // Ctrl-C is for the one who started it.
        command.process_group(0);
        end_with_this_process(&mut command);
        let Launched { mut daemon, guard, last_words } = launcher::launch(command, options)?;
        match DiskControl::connect(&options.mountpoint) {
            Ok(control) => {
                let control = control.of_started(last_words);
                let mountpoint = control.mountpoint().into();
                Ok(Self { daemon, _guard: guard, mountpoint, control })
            }
            Err(error) => {
                end(&mut daemon);
                Err(error)
            }
        }
    }

    /// The way to speak to its daemon.
    pub fn control(&self) -> &DiskControl {
        &self.control
    }

    /// The folder where the files are to be seen.
    pub fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// Unmounts it and waits for the daemon's end. Those who used it have been ended; the kernel may
    /// need a moment to close their files.
    ///
    /// # Errors
    /// Somebody still uses it after 60 s: then they have lost it.
    pub fn unmount(self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.control.unmount() {
                Err(Error::Folder(_)) if start.elapsed() < PATIENCE => thread::sleep(LOOK),
                // Dropping it does the rest, and all of it where this fails.
                done => return done,
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if matches!(self.daemon.try_wait(), Ok(None)) && self.control.unmount().is_err() {
            end(&mut self.daemon);
        }
        let _ = self.daemon.wait();
        // One that had to be killed has left its mount and its note; those who waited for it may use
        // the mount for a moment more.
        let start = Instant::now();
        while table::is_ours(&self.mountpoint) && start.elapsed() < PATIENCE {
            let _ = registry::sweep();
            thread::sleep(LOOK);
        }
    }
}

/// Unmounts a disk, with or without the help of its daemon.
///
/// # Errors
/// Somebody uses it, it is another user's, or there is none.
pub fn unmount(mountpoint: &Path) -> Result<(), Error> {
    let unreachable = match DiskControl::connect(mountpoint) {
        Ok(control) => return control.unmount(),
        Err(error) => error,
    };
    match table::resolve(mountpoint) {
        // A daemon that nobody can reach any more ends when its mount is gone.
        Ok(place) if table::is_ours(&place) => {
            table::unmount(&place, table::How::Now).map_err(|error| match error.kind() {
                ErrorKind::ResourceBusy => Error::in_use(&place),
                _ => unreachable,
            })
        }
        _ => Err(unreachable),
    }
}

/// Mounts a disk by a daemon that goes on when this process ends, and waits until it is ready.
/// Returns its process.
///
/// # Errors
/// What the daemon said.
pub fn detach(launcher: &Launcher, options: &MountOptions) -> Result<u32, Error> {
    let mut command = launcher.command();
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    launcher::launch(command, options).map(|launched| launched.daemon.id())
}

/// Lets a child be told to end when the thread that starts it ends.
fn end_with_this_process(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            // It may have died before the line above took effect.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(ErrorKind::BrokenPipe.into())
            }
        });
    }
}

/// Ends a daemon: in order if it can, else not.
fn end(daemon: &mut Child) {
    let _ = rustix::process::kill_process(Pid::from_child(daemon), Signal::TERM);
    let start = Instant::now();
    while matches!(daemon.try_wait(), Ok(None)) {
        if start.elapsed() > PATIENCE {
            let _ = daemon.kill();
            return;
        }
        thread::sleep(LOOK);
    }
}
