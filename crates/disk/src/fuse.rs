//! A volume as a FUSE file system: calls of the kernel become calls of the volume, and its answers
//! go back from whichever thread has them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fuser::{BackgroundSession, Config, INodeNo, MountOption, SessionACL};

use crate::volume::Volume;

mod calls;
mod convert;
mod lost;
mod replies;

pub use lost::{end_with_a_lost_reply, end_with_a_panic, give_up};

use calls::Adapter;

/// How a volume is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Threads that take calls from the kernel.
    pub threads: usize,
    /// What `/proc/mounts` shows as the device.
    pub name: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads: processors.max(2), name: "bakeoff".to_owned() }
    }
}

/// A volume that is mounted. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct FuseSession {
    background: BackgroundSession,
}

impl FuseSession {
    /// Waits until somebody has unmounted it and the last call is answered.
    ///
    /// # Errors
    /// A thread of it failed.
    pub fn wait(self) -> io::Result<()> {
        self.background.join()
    }

    /// Unmounts it, and waits until those who have files open in it have closed them.
    ///
    /// # Errors
    /// It can't be unmounted, or a thread of it failed.
    pub fn unmount(self) -> io::Result<()> {
        self.background.umount_and_join()
    }
}

/// Mounts a volume in a folder, and serves it from threads of its own.
///
/// All users may use it if this process is root's, as database servers run under users of their
/// own; else only the one who mounts. The kernel checks permissions.
///
/// # Errors
/// It can't be mounted: no `/dev/fuse`, no right to, no such folder.
pub fn serve(
    volume: Arc<Volume>,
    mountpoint: &Path,
    options: &ServeOptions,
) -> io::Result<FuseSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(options.name.clone()),
        MountOption::Subtype("bakeoff".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    let root = rustix::process::geteuid().is_root();
    config.acl = if root { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(options.threads);
    config.clone_fd = true;
    let adapter = Adapter { volume: Arc::clone(&volume) };
    let background = fuser::spawn_mount(adapter, mountpoint, &config)?;
    let notifier = background.notifier();
    volume.on_outdated(move |ino| {
        // It fails for a file that the kernel does not know: there is nothing to be told then.
        let _ = notifier.inval_inode(INodeNo(ino), 0, 0);
    });
    Ok(FuseSession { background })
}
