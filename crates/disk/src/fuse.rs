//! A volume as a FUSE file system: the kernel's calls become calls of the volume. Answers come from
//! any thread.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fuser::{BackgroundSession, Config, INodeNo, MountOption, SessionACL};

use crate::volume::Volume;

mod calls;
mod convert;
mod lost_replies;
mod replies;

pub use lost_replies::{end_with_a_lost_reply, end_with_a_panic, give_up};

use calls::Adapter;

#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub threads: usize,
    /// The device that `/proc/mounts` shows.
    pub name: String,
    /// See [`crate::mount::MountOptions::write_back`].
    pub write_back: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads: processors.max(2), name: "bakeoff".to_owned(), write_back: false }
    }
}

#[derive(Debug)]
pub struct FuseSession {
    background: BackgroundSession,
}

impl FuseSession {
    pub fn wait_until_unmounted(self) -> io::Result<()> {
        self.background.join()
    }

    /// Waits until its open files have been closed.
    pub fn unmount(self) -> io::Result<()> {
        self.background.umount_and_join()
    }
}

/// Mounts a volume in a folder, and serves it from threads of its own.
///
/// If this process is root's, all users may use it, as database servers run under users of their
/// own; else only its own user. The kernel checks permissions.
pub fn serve_volume(
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
    let adapter = Adapter { volume: Arc::clone(&volume), write_back: options.write_back };
    let background = fuser::spawn_mount(adapter, mountpoint, &config)?;
    let notifier = background.notifier();
    volume.on_outdated(move |ino| {
        // It fails for a file that the kernel does not know, and then there is nothing to do.
        let _ = notifier.inval_inode(INodeNo(ino), 0, 0);
    });
    Ok(FuseSession { background })
}
