//! The registry of this machine's mounts: notes by which a later bakeoff finds what a killed one
//! left.
//!
//! Each mount has a note in a folder of its user's. Its daemon holds a lock on the note; the lock
//! goes with the process, so a note that can be locked tells of a mount whose daemon is gone. Whoever
//! removes what that one left holds the lock meanwhile. The mount itself says where its note is
//! (see [`table`]), whatever folder the user's surroundings name now.
//!
//! Notes are believed where they are one's own or root's ([`own`]), and only what is one's own is
//! removed. The number of a process in a note is for people: that the process lives is told by the
//! lock alone, since another one may have that number by now.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::volume::HIDDEN;
use crate::{own, table};

mod place;

pub use place::place;

/// The folder of the notes of mounts; only there while there are some.
const FOLDER: &str = "disks";
/// Bytes that a note has at most: two paths, and little else.
const LONGEST: u64 = 32 << 10;
const NOTE: &str = "json";
const SOCKET: &str = "socket";
/// How often a note is written again when the folder of notes has just gone.
const ATTEMPTS: u32 = 100;

/// A note of a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountNote {
    /// The daemon's process.
    pub pid: u32,
    /// The folder that holds the files.
    pub backing: PathBuf,
    /// Where they are to be seen.
    pub mountpoint: PathBuf,
    /// The device's model.
    pub model: String,
}

/// A daemon's right to a mountpoint and a backing folder, as long as it lives.
#[derive(Debug)]
pub(crate) struct MountClaim {
    note: PathBuf,
    /// Both held locked.
    _lock: File,
    backing: File,
}

impl MountClaim {
    /// Claims what `note` names; both paths are absolute and resolved.
    ///
    /// # Errors
    /// Another mount has one of them, or the registry can't be used.
    pub(crate) fn new(note: &MountNote) -> Result<Self, Error> {
        let backing = lock_backing(&note.backing)?;
        if let Some(other) = mounted().into_iter().find(|other| overlap(&note.backing, other)) {
            return Err(Error::Folder(format!(
                "{} is part of the disk that is mounted on {}: unmount that first, or take \
                 another folder",
                note.backing.display(),
                other.mountpoint.display()
            )));
        }
        // A daemon that ends may take the empty folder away just before this one writes in it.
        let mut again = 0..ATTEMPTS;
        let written = loop {
            match write(note) {
                Err(error) if error.kind() == ErrorKind::NotFound && again.next().is_some() => {}
                written => break written,
            }
        };
        match written {
            Ok((path, lock)) => Ok(Self { note: path, _lock: lock, backing }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Folder(format!(
                "{at} is in use by another disk: unmount it first (bakeoff disk unmount {at})",
                at = note.mountpoint.display()
            ))),
            Err(error) => Err(unusable(error)),
        }
    }

    /// Where the daemon listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.note.with_extension(SOCKET)
    }
}

impl Drop for MountClaim {
    fn drop(&mut self) {
        clear(&self.backing);
        forget(&self.note);
    }
}

/// What is mounted, as far as this user may know and believe it.
fn mounted() -> Vec<MountNote> {
    let disks = table::disks().into_iter();
    let disks = disks.filter(|(entry, _)| entry.user.is_some_and(own::is_trusted));
    disks.filter_map(|(_, socket)| read(&open(&socket.with_extension(NOTE)).ok()?)).collect()
}

/// Removes what daemons of this user's left that are gone: their mounts, sockets and notes. Returns
/// the mountpoints that were freed. Only what is a disk of bakeoff's is touched.
///
/// # Errors
/// When the registry can't be read.
pub fn sweep() -> io::Result<Vec<PathBuf>> {
    let user = rustix::process::getuid().as_raw();
    let mut disks = table::disks();
    disks.retain(|(entry, _)| entry.user == Some(user));
    let mut notes: BTreeSet<PathBuf> = notes()?.into_iter().collect();
    notes.extend(disks.iter().map(|(_, socket)| socket.with_extension(NOTE)));
    let mut freed: Vec<PathBuf> = notes.iter().filter_map(|note| sweep_one(note, user)).collect();
    for (entry, socket) in disks {
        // Without a note only the kernel can tell.
        let noted = socket.with_extension(NOTE).exists();
        if !noted && entry.is_dead() && table::unmount(&entry.place, table::How::Lazily).is_ok() {
            freed.push(entry.place);
        }
    }
    Ok(freed)
}

/// Removes what a daemon of this user's left if it is gone. Returns its mountpoint if it was still
/// mounted.
fn sweep_one(path: &Path, user: u32) -> Option<PathBuf> {
    let file = open(path).ok()?;
    if file.metadata().ok()?.uid() != user {
        return None;
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    if file.metadata().ok()?.nlink() == 0 {
        // Another one has swept it meanwhile, and a new one may have its name.
        return None;
    }
    let mut freed = None;
    if let Some(note) = read(&file) {
        let mount = table::at(&note.mountpoint).filter(|entry| entry.user == Some(user));
        if mount.and_then(|entry| entry.socket()) == Some(path.with_extension(SOCKET)) {
            table::unmount(&note.mountpoint, table::How::Lazily).ok()?;
            freed = Some(note.mountpoint);
        }
        // A new one may have the folder already, under another mountpoint.
        if let Ok(backing) = lock_backing(&note.backing) {
            clear(&backing);
        }
    }
    forget(path);
    freed
}

/// The notes in the present place.
fn notes() -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(place()?.join(FOLDER)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let is_note = |path: &PathBuf| path.extension() != Some(OsStr::new(SOCKET));
    Ok(paths?.into_iter().filter(is_note).collect())
}

/// Opens what is to be a note, if it may be one.
fn open(path: &Path) -> io::Result<File> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    own::file(own::folder(folder)?, Path::new(name))
}

fn read(file: &File) -> Option<MountNote> {
    serde_json::from_str(&own::text(file, LONGEST).ok()?).ok()
}

/// Removes the folder of a volume's own, where the volume itself could not. Only one that a daemon
/// of this user's made; the names that led to `backing` may lead elsewhere by now.
fn clear(backing: &File) {
    let hidden = Path::new("/proc/self/fd").join(backing.as_raw_fd().to_string()).join(HIDDEN);
    let user = rustix::process::getuid().as_raw();
    if fs::symlink_metadata(&hidden).is_ok_and(|there| there.is_dir() && there.uid() == user) {
        let _ = fs::remove_dir_all(hidden);
    }
}

/// Removes a note and its socket, and their folder with the last of them.
fn forget(note: &Path) {
    let _ = fs::remove_file(note.with_extension(SOCKET));
    let _ = fs::remove_file(note);
    let _ = note.parent().map(fs::remove_dir);
}

/// Writes a note that is held locked as long as the file is open.
fn write(note: &MountNote) -> io::Result<(PathBuf, File)> {
    let folder = make(&place()?)?;
    let path = folder.join(name(&note.mountpoint, NOTE));
    // Locked and written before it gets its name: a sweep never sees half a note.
    let unnamed = folder.join(format!("new-{}", note.pid));
    // One of a killed daemon that had the same number.
    let _ = fs::remove_file(&unnamed);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&unnamed)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    let text = serde_json::to_vec(note).expect("a note is plain data");
    let named = file.write_all(&text).and_then(|()| fs::hard_link(&unnamed, &path));
    let _ = fs::remove_file(&unnamed);
    named.map(|()| (path, file))
}

fn make(place: &Path) -> io::Result<PathBuf> {
    let folder = place.join(FOLDER);
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(folder),
    }
}

/// Locks a backing folder for as long as the file is open.
fn lock_backing(backing: &Path) -> Result<File, Error> {
    let failed = |error: io::Error| Error::Folder(format!("{}: {error}", backing.display()));
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = flags.bits().cast_signed();
    let folder = File::options().read(true).custom_flags(flags).open(backing).map_err(failed)?;
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(folder),
        Err(rustix::io::Errno::WOULDBLOCK) => {}
        Err(error) => return Err(failed(error.into())),
    }
    let notes = mounted();
    let other = notes.iter().find(|note| note.backing == backing);
    let by = other.map_or_else(String::new, |note| format!(" on {}", note.mountpoint.display()));
    Err(Error::Folder(format!("{} is mounted already{by}: unmount it first", backing.display())))
}

/// Whether a folder is inside another mount's backing folder or mountpoint, or around one of them.
fn overlap(folder: &Path, other: &MountNote) -> bool {
    [&other.backing, &other.mountpoint]
        .iter()
        .any(|theirs| folder.starts_with(theirs) || theirs.starts_with(folder))
}

/// The name of a mountpoint's file: a hash (FNV-1a), since a path can be longer than a name.
fn name(mountpoint: &Path, extension: &str) -> String {
    let bytes = mountpoint.as_os_str().as_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}.{extension}")
}

fn unusable(error: io::Error) -> Error {
    Error::Failed(format!("the notes of mounts can't be kept: {error}"))
}
