//! The user that an application's programs run as where bakeoff is root: that of the server.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bakeoff_engines::servers::MOUNTED_RUNTIME;

#[derive(Clone, Debug)]
pub struct ServerUser {
    uid: u32,
    gid: u32,
    /// The server's own mounts, on which the user can reach its socket.
    mounts: Option<Arc<File>>,
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
            false => Some(Arc::new(File::open(at)?)),
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

    /// Makes this process the user's, for good. It only makes system calls.
    pub fn become_user(&self) -> io::Result<()> {
        let mounts = self.mounts.as_ref().map(|mounts| mounts.as_raw_fd());
        // SAFETY: the descriptor is open; no list of groups is read, as it has no length.
        let done = unsafe {
            mounts.is_none_or(|mounts| libc::setns(mounts, libc::CLONE_NEWNS) == 0)
                && libc::setgroups(0, std::ptr::null()) == 0
                && libc::setgid(self.gid) == 0
                && libc::setuid(self.uid) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
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
