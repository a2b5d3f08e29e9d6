//! The user that programs beside a server run as where bakeoff is root: that of the server.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    LinkNameSpaceType, move_into_link_name_space, set_thread_gid, set_thread_groups, set_thread_uid,
};

use crate::servers::MOUNTED_RUNTIME;

/// A child may give lower numbers to descriptors of its own before it becomes the user.
const FIRST_FREE: i32 = 16;

#[derive(Clone, Debug)]
pub struct ServerUser {
    uid: u32,
    gid: u32,
    /// The server's own mounts, on which the user can reach its socket.
    mounts: Option<Arc<OwnedFd>>,
}

impl ServerUser {
    /// `None`: bakeoff is not root, or the server is.
    pub fn of_server(pid: u32) -> io::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let effective = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok())
        };
        let (Some(uid), Some(gid)) = (effective("Uid:"), effective("Gid:")) else {
            return Err(io::Error::other("the server's user is unknown"));
        };
        let own = fs::read_link("/proc/self/ns/mnt")?;
        let at = format!("/proc/{pid}/ns/mnt");
        let mounts = match fs::read_link(&at)? == own {
            true => None,
            false => Some(Arc::new(fcntl_dupfd_cloexec(File::open(at)?, FIRST_FREE)?)),
        };
        Ok((uid != 0).then_some(Self { uid, gid, mounts }))
    }

    /// The path by which the user reaches the server's socket.
    pub fn find_socket(&self, socket: &Path) -> PathBuf {
        match (&self.mounts, socket.file_name()) {
            (Some(_), Some(name)) => Path::new(MOUNTED_RUNTIME).join(name),
            _ => socket.to_owned(),
        }
    }

    /// Makes a new child the user's, for good, before it runs its program. It only makes system calls.
    pub fn become_user(&self) -> io::Result<()> {
        if let Some(mounts) = &self.mounts {
            move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
        }
        set_thread_groups(&[])?;
        set_thread_gid(Gid::from_raw(self.gid))?;
        Ok(set_thread_uid(Uid::from_raw(self.uid))?)
    }
}

impl fmt::Display for ServerUser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let has_number = |line: &&str| line.split(':').nth(2) == Some(&self.uid.to_string());
        match users.lines().find(has_number).and_then(|line| line.split(':').next()) {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "{}", self.uid),
        }
    }
}
