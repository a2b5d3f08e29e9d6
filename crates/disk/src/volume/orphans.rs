//! Files that the application has removed, and whose content a power cut may bring back.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::inode::Inode;
use super::{InodeNumber, path_of};

pub const HIDDEN: &str = ".bakeoff-disk";

pub(super) struct Orphans {
    folder: OwnedFd,
    /// Its files, with their numbers in the backing file system.
    buried: Mutex<HashMap<InodeNumber, u64>>,
}

impl Orphans {
    /// Removes what an earlier volume left there: it ended without a power cut, and so in the state
    /// of its backing folder.
    pub fn open(root: &OwnedFd) -> Result<Self, Errno> {
        match rustix::fs::mkdirat(root, HIDDEN, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(root, HIDDEN, flags, Mode::empty())?;
        empty_folder(&folder)?;
        Ok(Self { folder, buried: Mutex::default() })
    }

    pub fn close(&self, root: &OwnedFd) {
        let _ = empty_folder(&self.folder);
        let _ = rustix::fs::unlinkat(root, HIDDEN, AtFlags::REMOVEDIR);
    }

    /// Moves it here instead of removing its last name.
    pub fn move_here(
        &self,
        folder: &Inode,
        name: &OsStr,
        ino: InodeNumber,
        backing: u64,
    ) -> Result<(), Errno> {
        rustix::fs::renameat(folder.any_descriptor(), name, &self.folder, ino.to_string())?;
        self.lock().insert(ino, backing);
        Ok(())
    }

    /// For a file that is about to be replaced.
    pub fn link_here(
        &self,
        folder: &Inode,
        name: &OsStr,
        ino: InodeNumber,
        backing: u64,
    ) -> Result<(), Errno> {
        let grave = ino.to_string();
        rustix::fs::linkat(folder.any_descriptor(), name, &self.folder, grave, AtFlags::empty())?;
        self.lock().insert(ino, backing);
        Ok(())
    }

    pub fn create(&self, ino: InodeNumber) -> Result<OwnedFd, Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.folder, ino.to_string(), flags, mode)?;
        let backing = rustix::fs::fstat(&file)?.st_ino;
        self.lock().insert(ino, backing);
        Ok(file)
    }

    pub fn open_orphan(&self, ino: InodeNumber) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, ino.to_string(), flags, Mode::empty())
    }

    pub fn remove(&self, ino: InodeNumber) -> Option<u64> {
        let backing = self.lock().remove(&ino)?;
        // The next volume empties what stays.
        let _ = rustix::fs::unlinkat(&self.folder, ino.to_string(), AtFlags::empty());
        Some(backing)
    }

    pub fn contains(&self, ino: InodeNumber) -> bool {
        self.lock().contains_key(&ino)
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// How much space the wanted ones take.
    pub fn count_bytes(&self, wanted: impl Fn(InodeNumber) -> bool) -> u64 {
        let buried = self.lock();
        let stat = |ino: &InodeNumber| {
            rustix::fs::statat(&self.folder, ino.to_string(), AtFlags::SYMLINK_NOFOLLOW).ok()
        };
        let kept = buried.keys().filter(|ino| wanted(**ino)).filter_map(stat);
        kept.map(|stat| stat.st_blocks.cast_unsigned() * 512).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<InodeNumber, u64>> {
        self.buried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty_folder(folder: &OwnedFd) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::open(path_of(folder), flags, Mode::empty())?;
    let mut names = Vec::new();
    let mut buffer = Vec::with_capacity(8 << 10);
    let mut entries = RawDir::new(listing, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        names.push(entry?.file_name().to_owned());
    }
    for name in names.iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
        rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
    }
    Ok(())
}
