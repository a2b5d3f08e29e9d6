//! A server's own mounts (`mount_namespaces(7)`): its folders on a short path that any user can
//! reach, and shared memory that goes with it. Nobody else sees them, and they vanish with its last
//! process.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::thread;

use bakeoff_folders::Dir;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Covered by a server's mounts; bakeoff's own, for root alone.
const COVERED: &str = "/run/bakeoff";
/// The start of the source of mounts that a server must not copy: others unmount these disks
/// meanwhile, and could not while a server has a copy.
const TAKEN_AWAY: &[u8] = b"bakeoff-disk:";

#[derive(Debug)]
pub struct Mounts {
    place: OwnedFd,
    runtime: OwnedFd,
}

impl Mounts {
    pub const PLACE: &str = "/run/bakeoff/place";
    pub const RUNTIME: &str = "/run/bakeoff/runtime";

    /// Root may mount, unless its surroundings (mostly a container) deny it.
    pub fn can_be_had() -> bool {
        if !rustix::process::geteuid().is_root() {
            return false;
        }
        let attempt = || {
            let here = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLONE);
            cover_folders().is_ok() && here.is_ok()
        };
        let thread = thread::Builder::new().spawn(attempt);
        thread.is_ok_and(|thread| thread.join().unwrap_or(false))
    }

    pub fn from_folders(directory: &Dir, runtime: &Dir) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        Ok(Self {
            place: open_tree(directory, "", flags)?,
            runtime: open_tree(runtime, "", flags)?,
        })
    }

    /// A descriptor from which nothing above the folder can be reached.
    pub fn data_folder(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.place, c".", flags, Mode::empty())?)
    }

    /// Also for the processes that the thread starts from now on.
    pub fn enter(&self) -> io::Result<()> {
        cover_folders()?;
        for (tree, at) in [(&self.place, Self::PLACE), (&self.runtime, Self::RUNTIME)] {
            rustix::fs::mkdir(at, Mode::from_raw_mode(0o755))?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(tree.as_fd(), "", CWD, at, flags)?;
            mount_change(at, MountPropagationFlags::PRIVATE)?;
        }
        Ok(())
    }
}

/// Copies all mounts for this thread, without those that others unmount, and with empty folders
/// over bakeoff's own and over shared memory.
fn cover_folders() -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(COVERED) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // SAFETY: the table of files is not unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS)? };
    // Later mounts and unmounts of the system are seen here, but not the other way round.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    for place in taken_away()? {
        // One that stays, as below a mount that nobody serves any more, goes with the server.
        let _ = unmount(&place, UnmountFlags::DETACH);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", COVERED, "tmpfs", flags | MountFlags::NOEXEC, Some(c"mode=0755,size=64k"))?;
    match mount("tmpfs", "/dev/shm", "tmpfs", flags, Some(c"mode=1777")) {
        // There is no shared memory to hide.
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn taken_away() -> io::Result<Vec<Vec<u8>>> {
    let mounts = fs::read("/proc/thread-self/mountinfo")?;
    let lines = mounts.split(|byte| *byte == b'\n');
    let mut places: Vec<_> = lines.filter_map(place_of_taken_away).collect();
    places.reverse();
    Ok(places)
}

/// See proc_pid_mountinfo(5).
fn place_of_taken_away(line: &[u8]) -> Option<Vec<u8>> {
    let mut fields = line.split(|byte| *byte == b' ');
    let place = fields.nth(4)?;
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, source) = (fields.next()?, fields.next()?);
    (kind.starts_with(b"fuse") && source.starts_with(TAKEN_AWAY)).then(|| unescape_path(place))
}

fn unescape_path(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\');
        let code = code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_that_others_take_away_are_left_out() {
        let ours =
            br"44 28 0:40 / /tmp/a\040b\134 rw,nosuid shared:2 - fuse bakeoff-disk:/run/x rw";
        assert_eq!(place_of_taken_away(ours).as_deref(), Some(&br"/tmp/a b\"[..]));
        let other = b"25 24 0:23 / /home/me rw,relatime - fuse.sshfs me@there: rw";
        assert_eq!(place_of_taken_away(other), None);
        assert_eq!(place_of_taken_away(b""), None);
    }
}
