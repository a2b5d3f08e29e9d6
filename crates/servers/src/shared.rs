//! Shared memory of a server's own, which is freed with its last process, even a killed one.

use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// A name space for shared memory (`ipc_namespaces(7)`).
pub struct NameSpace {
    /// The same user and group inside as outside, for who is not root and needs a name space of
    /// users for that (`user_namespaces(7)`).
    maps: Option<[String; 2]>,
}

impl NameSpace {
    /// A name space of a child's own, where this process may make one. Where the system denies it, a
    /// server's shared memory is cleaned up when the server is started again.
    pub fn own() -> Option<Self> {
        let same = |id: u32| format!("{id} {id} 1");
        let (uid, gid) = (geteuid(), getegid());
        let maps = (!uid.is_root()).then(|| [same(uid.as_raw()), same(gid.as_raw())]);
        let (tried, own) = (Self { maps: maps.clone() }, Self { maps });
        let mut attempt = Command::new("true");
        attempt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: it only makes system calls, and allocates nothing.
        unsafe { attempt.pre_exec(move || tried.enter()) };
        attempt.status().is_ok_and(|status| status.success()).then_some(own)
    }

    /// Takes the calling process into a new one; to be called between fork and exec.
    pub fn enter(&self) -> io::Result<()> {
        let users = if self.maps.is_some() { UnshareFlags::NEWUSER } else { UnshareFlags::empty() };
        // SAFETY: the table of files is not unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWIPC | users)? };
        let Some([users, groups]) = &self.maps else { return Ok(()) };
        put(c"/proc/self/setgroups", "deny")?;
        put(c"/proc/self/uid_map", users)?;
        put(c"/proc/self/gid_map", groups)
    }
}

fn put(path: &CStr, text: &str) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes())?;
    Ok(())
}
