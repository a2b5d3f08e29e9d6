//! The registry of this machine's mounts: notes by which a later bakeoff finds what a killed one
//! left.
//!
//! Each mount has a note in a folder of its user's. Its daemon holds a lock on the note; the lock
//! goes with the process. So a note that can be locked tells of a mount whose daemon is gone;
//! whoever removes what is left holds the lock meanwhile. The mount itself says where its note is
//! (see [`crate::mount_table`]), whatever folder the environment names now.
//!
//! Notes are believed if they are one's own or root's ([`trust`]), and only one's own are removed.
//! The process number in a note is for people: another process may have it by now, so only the lock
//! tells whether the daemon lives.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bakeoff_folders::trust;
use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::mount_table;
use crate::volume::HIDDEN;

mod place;

pub use place::find_notes_folder;

/// It is there only while there are notes.
const FOLDER: &str = "disks";
const LONGEST: u64 = 32 << 10;
const NOTE: &str = "json";
const SOCKET: &str = "socket";
/// How often to write a note again if the folder of notes has just vanished.
const ATTEMPTS: u32 = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountNote {
    pub pid: u32,
    pub backing: PathBuf,
    pub mountpoint: PathBuf,
    pub model: String,
}

/// A daemon's right to a mountpoint and a backing folder, as long as it lives.
#[derive(Debug)]
pub(crate) struct MountClaim {
    note: PathBuf,
    _lock: File,
    backing: File,
}

impl MountClaim {
    /// Both paths in `note` are absolute and resolved. Fails if another mount has one of them.
    pub(crate) fn new(note: &MountNote) -> Result<Self, Error> {
        let backing = lock_backing(&note.backing)?;
        if let Some(other) =
            list_mounted().into_iter().find(|other| overlaps_mount(&note.backing, other))
        {
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
            match write_note(note) {
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
            Err(error) => Err(unusable_error(error)),
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.note.with_extension(SOCKET)
    }
}

impl Drop for MountClaim {
    fn drop(&mut self) {
        clear_hidden_folder(&self.backing);
        remove_note(&self.note);
    }
}

/// Only mounts whose notes this user may read and believe.
fn list_mounted() -> Vec<MountNote> {
    let disks = mount_table::list_disks().into_iter();
    let disks = disks.filter(|(entry, _)| entry.user.is_some_and(trust::is_trusted));
    disks
        .filter_map(|(_, socket)| read_note(&open_note(&socket.with_extension(NOTE)).ok()?))
        .collect()
}

/// Removes the mounts, sockets and notes of this user's daemons that are gone. Returns the
/// mountpoints that were freed. Only disks of bakeoff's are touched.
pub fn sweep() -> io::Result<Vec<PathBuf>> {
    let user = rustix::process::getuid().as_raw();
    let mut disks = mount_table::list_disks();
    disks.retain(|(entry, _)| entry.user == Some(user));
    let mut notes: BTreeSet<PathBuf> = list_notes()?.into_iter().collect();
    notes.extend(disks.iter().map(|(_, socket)| socket.with_extension(NOTE)));
    let mut freed: Vec<PathBuf> = notes.iter().filter_map(|note| sweep_one(note, user)).collect();
    for (entry, socket) in disks {
        // Without a note only the kernel can say.
        let noted = socket.with_extension(NOTE).exists();
        if !noted
            && entry.is_dead()
            && mount_table::unmount(&entry.place, mount_table::How::Lazily).is_ok()
        {
            freed.push(entry.place);
        }
    }
    Ok(freed)
}

/// Returns the mountpoint if a daemon is gone that was still mounted.
fn sweep_one(path: &Path, user: u32) -> Option<PathBuf> {
    let file = open_note(path).ok()?;
    if file.metadata().ok()?.uid() != user {
        return None;
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    if file.metadata().ok()?.nlink() == 0 {
        // Another process has swept it meanwhile, and a new note may have its name.
        return None;
    }
    let mut freed = None;
    if let Some(note) = read_note(&file) {
        let mount =
            mount_table::find_mount_at(&note.mountpoint).filter(|entry| entry.user == Some(user));
        if mount.and_then(|entry| entry.socket()) == Some(path.with_extension(SOCKET)) {
            mount_table::unmount(&note.mountpoint, mount_table::How::Lazily).ok()?;
            freed = Some(note.mountpoint);
        }
        // A new one may have the folder already, under another mountpoint.
        if let Ok(backing) = lock_backing(&note.backing) {
            clear_hidden_folder(&backing);
        }
    }
    remove_note(path);
    freed
}

fn list_notes() -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(find_notes_folder()?.join(FOLDER)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let is_note = |path: &PathBuf| path.extension() != Some(OsStr::new(SOCKET));
    Ok(paths?.into_iter().filter(is_note).collect())
}

fn open_note(path: &Path) -> io::Result<File> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let note = trust::folder(folder)?.open_file(name)?;
    note.map(File::from).ok_or_else(|| ErrorKind::NotFound.into())
}

fn read_note(file: &File) -> Option<MountNote> {
    serde_json::from_reader(file.take(LONGEST)).ok()
}

/// Removes a volume's hidden folder that the volume itself could not. Only one that a daemon of
/// this user's made; the path of `backing` may lead elsewhere by now.
fn clear_hidden_folder(backing: &File) {
    let hidden = Path::new("/proc/self/fd").join(backing.as_raw_fd().to_string()).join(HIDDEN);
    let user = rustix::process::getuid().as_raw();
    if fs::symlink_metadata(&hidden).is_ok_and(|there| there.is_dir() && there.uid() == user) {
        let _ = fs::remove_dir_all(hidden);
    }
}

/// Removes a note and its socket, and their folder with the last of them.
fn remove_note(note: &Path) {
    let _ = fs::remove_file(note.with_extension(SOCKET));
    let _ = fs::remove_file(note);
    let _ = note.parent().map(fs::remove_dir);
}

/// The note stays locked as long as the file is open.
fn write_note(note: &MountNote) -> io::Result<(PathBuf, File)> {
    let folder = make_folder(&find_notes_folder()?)?;
    let path = folder.join(format_file_name(&note.mountpoint, NOTE));
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

fn make_folder(place: &Path) -> io::Result<PathBuf> {
    let folder = place.join(FOLDER);
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(folder),
    }
}

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
    let notes = list_mounted();
    let other = notes.iter().find(|note| note.backing == backing);
    let by = other.map_or_else(String::new, |note| format!(" on {}", note.mountpoint.display()));
    Err(Error::Folder(format!("{} is mounted already{by}: unmount it first", backing.display())))
}

/// Whether a folder is inside another mount's backing folder or mountpoint, or around one of them.
fn overlaps_mount(folder: &Path, other: &MountNote) -> bool {
    [&other.backing, &other.mountpoint]
        .iter()
        .any(|theirs| folder.starts_with(theirs) || theirs.starts_with(folder))
}

/// A hash (FNV-1a) of the mountpoint, since a path can be longer than a name.
fn format_file_name(mountpoint: &Path, extension: &str) -> String {
    let bytes = mountpoint.as_os_str().as_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}.{extension}")
}

fn unusable_error(error: io::Error) -> Error {
    Error::Failed(format!("the notes of mounts can't be kept: {error}"))
}
