//! What is in the backing folder. Whoever owns what is in it may change it meanwhile, so that it is
//! read by descriptors, and no link is followed.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{FileAttributes, NodeKind};
use bakeoff_folders::{self as folders, Dir, FolderEntry};
use rustix::fs::FileType;

use super::durable::place;
use super::{HIDDEN, InodeNumber, ROOT, Volume};

impl Volume {
    /// Takes in all that is there: it is durable.
    pub(super) fn adopt(&self) -> io::Result<()> {
        walk(&self.backing()?, ROOT, &mut |number, dir, entry| {
            let FolderEntry { name, stat, .. } = entry;
            if stat.st_dev != self.device {
                let path = dir.path().join(name);
                let text = format!("{} is on another file system", path.display());
                return Err(io::Error::other(text));
            }
            let (ino, _) = self.numbers.find_or_assign(stat.st_ino);
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => NodeKind::File,
                FileType::Directory => NodeKind::Directory,
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
                    NodeKind::Symlink(OsString::from_vec(target.into_bytes()))
                }
                other => NodeKind::Special(other.as_raw_mode(), stat.st_rdev),
            };
            let attributes =
                FileAttributes { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid };
            let mut model = self.model();
            if kind == NodeKind::File && !model.pending.holds(ino) {
                model.ext4.adopt(ino, stat.st_size.cast_unsigned());
            }
            model.pending.adopt(place(number, name), ino, kind, attributes);
            Ok(ino)
        })
    }

    /// Bytes that the files take in the backing file system.
    pub(super) fn used(&self) -> u64 {
        let mut used = 0;
        // What goes while it is counted is not in use.
        let _ = self.backing().and_then(|backing| {
            walk(&backing, ROOT, &mut |_, _, entry| {
                used += entry.stat.st_blocks.cast_unsigned() * 512;
                Ok(ROOT)
            })
        });
        used
    }

    /// The backing folder, wherever it is by now.
    pub(super) fn backing(&self) -> io::Result<Dir> {
        Dir::from_descriptor(self.root.any(), &self.backing)
    }
}

/// Walks through a folder, each folder before its entries. For each entry `seen` gets the number that it
/// gave to the entry's folder, the folder, and the entry; it returns the entry's number.
pub(super) fn walk(
    root: &Dir,
    number: InodeNumber,
    seen: &mut dyn FnMut(InodeNumber, &Dir, &FolderEntry) -> io::Result<InodeNumber>,
) -> io::Result<()> {
    for entry in root.entries()? {
        if number == ROOT && entry.name == HIDDEN {
            continue;
        }
        let ino = seen(number, root, &entry)?;
        if entry.kind == folders::EntryKind::Folder {
            match root.enter(&entry.name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                folder => walk(&folder?, ino, seen)?,
            }
        }
    }
    Ok(())
}

/// Opens a file below a folder, to be read, if it is still the one of that number.
pub(super) fn open_below(root: &Dir, path: &Path, number: u64) -> io::Result<File> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mut names = path.iter();
    let name = names.next_back().ok_or_else(gone)?;
    let mut folder: Option<Dir> = None;
    for name in names {
        folder = Some(folder.as_ref().unwrap_or(root).enter(name)?);
    }
    let file = folder.as_ref().unwrap_or(root).read(name)?;
    if rustix::fs::fstat(&file)?.st_ino == number { Ok(file) } else { Err(gone()) }
}

/// The path of something in a folder, from another folder on that it is below.
pub(super) fn path_below(root: &Dir, folder: &Dir, entry: &FolderEntry) -> PathBuf {
    let path = folder.path().join(&entry.name);
    path.strip_prefix(root.path()).map(Path::to_owned).unwrap_or(path)
}
