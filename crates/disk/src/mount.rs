use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::control::DiskControl;
use crate::launcher::DaemonProcess;
use crate::patience::PATIENCE;
use crate::stop_guard::Guard;
use crate::{launcher, mount_table, registry};

pub use crate::error::Error;
pub use crate::launcher::Launcher;
pub use crate::options::MountOptions;

/// How often to check whether a daemon has ended, or killed users of a disk have let go of it.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Mounted {
    daemon: Child,
    _guard: Guard,
    mountpoint: PathBuf,
    control: DiskControl,
}

impl Mounted {
    /// Mounts a disk by a daemon of its own, and waits until it is ready. The disk goes when the
    /// calling thread ends, even if its process is killed. A daemon that is stopped for 5 s is
    /// killed: otherwise users of its disk could not be killed.
    ///
    /// Call [`registry::sweep`] first: it removes what killed daemons left.
    pub fn start(launcher: &Launcher, options: &MountOptions) -> Result<Self, Error> {
        let mut command = launcher.to_command();
        command.process_group(0);
        end_with_this_process(&mut command);
        let DaemonProcess { mut daemon, guard, last_words } =
            launcher::launch_daemon(command, options)?;
        match DiskControl::connect(&options.mountpoint) {
            Ok(control) => {
                let control = control.of_started(last_words);
                let mountpoint = control.mountpoint().into();
                Ok(Self { daemon, _guard: guard, mountpoint, control })
            }
            Err(error) => {
                end_daemon(&mut daemon);
                Err(error)
            }
        }
    }

    pub fn control(&self) -> &DiskControl {
        &self.control
    }

    pub fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// Unmounts it and waits for the daemon's end, up to 60 s. Its users have been killed; the
    /// kernel may need a moment to close their files.
    pub fn unmount(self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.control.unmount() {
                Err(Error::Folder(_)) if start.elapsed() < PATIENCE => thread::sleep(LOOK),
                // Dropping it does the rest, and all of it if this fails.
                done => return done,
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if matches!(self.daemon.try_wait(), Ok(None)) && self.control.unmount().is_err() {
            end_daemon(&mut self.daemon);
        }
        let _ = self.daemon.wait();
        // A killed daemon has left its mount and its note; processes that waited for it may use the
        // mount for a moment more.
        let start = Instant::now();
        while mount_table::is_ours(&self.mountpoint) && start.elapsed() < PATIENCE {
            let _ = registry::sweep();
            thread::sleep(LOOK);
        }
    }
}

pub fn unmount_disk(mountpoint: &Path) -> Result<(), Error> {
    let unreachable = match DiskControl::connect(mountpoint) {
        Ok(control) => return control.unmount(),
        Err(error) => error,
    };
    match mount_table::resolve_mountpoint(mountpoint) {
        // A daemon that nobody can reach any more ends when its mount is gone.
        Ok(place) if mount_table::is_ours(&place) => {
            mount_table::unmount(&place, mount_table::How::Now).map_err(|error| {
                match error.kind() {
                    ErrorKind::ResourceBusy => Error::in_use(&place),
                    _ => unreachable,
                }
            })
        }
        _ => Err(unreachable),
    }
}

/// Mounts a disk by a daemon that outlives this process. Returns the daemon's process when it is
/// ready.
pub fn mount_detached(launcher: &Launcher, options: &MountOptions) -> Result<u32, Error> {
    let mut command = launcher.to_command();
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    launcher::launch_daemon(command, options).map(|launched| launched.daemon.id())
}

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

fn end_daemon(daemon: &mut Child) {
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
