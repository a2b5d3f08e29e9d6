//! A server's own shared memory, freed with its last process, even a killed one.

use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

pub struct NameSpace {
    /// For users other than root, who need a user name space for that (`user_namespaces(7)`): the
    /// same user and group inside as outside.
    maps: Option<[String; 2]>,
}

impl NameSpace {
    /// `None` if the system denies it; then a server's shared memory is cleaned up at its next
    /// start.
    pub fn for_child() -> Option<Self> {
        let same = |id: u32| format!("{id} {id} 1");
        let (uid, gid) = (geteuid(), getegid());
        let maps = (!uid.is_root()).then(|| [same(uid.as_raw()), same(gid.as_raw())]);
        let (tried, own) = (Self { maps: maps.clone() }, Self { maps });
        let mut attempt = Command::new("true");
        attempt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: it only makes system calls, and allocates nothing.
        unsafe { attempt.pre_exec(move || tried.enter_new()) };
        attempt.status().is_ok_and(|status| status.success()).then_some(own)
    }

    /// To be called between fork and exec.
    pub fn enter_new(&self) -> io::Result<()> {
        let users = if self.maps.is_some() { UnshareFlags::NEWUSER } else { UnshareFlags::empty() };
        // SAFETY: the table of files is not unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWIPC | users)? };
        let Some([users, groups]) = &self.maps else { return Ok(()) };
        write_text(c"/proc/self/setgroups", "deny")?;
        write_text(c"/proc/self/uid_map", users)?;
        write_text(c"/proc/self/gid_map", groups)
    }
}

fn write_text(path: &CStr, text: &str) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes())?;
    Ok(())
}
