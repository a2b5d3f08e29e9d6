//! Reads the backing folder. Its owner may change it meanwhile, so it is read by descriptors and
//! without following links.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{FileAttributes, NodeKind};
use bakeoff_folders::{self as folders, Dir, FolderEntry};
use rustix::fs::FileType;

use super::durable::to_entry_place;
use super::{HIDDEN, InodeNumber, ROOT, Volume};

impl Volume {
    pub(super) fn adopt_all(&self) -> io::Result<()> {
        walk_folder(&self.open_backing()?, ROOT, &mut |number, dir, entry| {
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
            let mut model = self.lock_model();
            if kind == NodeKind::File && !model.pending.needs_content(ino) {
                model.ext4.adopt_file(ino, stat.st_size.cast_unsigned());
            }
            model.pending.adopt(to_entry_place(number, name), ino, kind, attributes);
            Ok(ino)
        })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let mut used = 0;
        // An entry that vanishes while it is counted is not in use.
        let _ = self.open_backing().and_then(|backing| {
            walk_folder(&backing, ROOT, &mut |_, _, entry| {
                used += entry.stat.st_blocks.cast_unsigned() * 512;
                Ok(ROOT)
            })
        });
        used
    }

    /// Wherever it was moved to.
    pub(super) fn open_backing(&self) -> io::Result<Dir> {
        Dir::from_descriptor(self.root.any_descriptor(), &self.backing)
    }
}

/// Walks through a folder, each folder before its entries. `seen` gets the number that it gave to
/// the entry's folder, the folder, and the entry; it returns the entry's number.
pub(super) fn walk_folder(
    root: &Dir,
    number: InodeNumber,
    seen: &mut dyn FnMut(InodeNumber, &Dir, &FolderEntry) -> io::Result<InodeNumber>,
) -> io::Result<()> {
    for entry in root.list_entries()? {
        if number == ROOT && entry.name == HIDDEN {
            continue;
        }
        let ino = seen(number, root, &entry)?;
        if entry.kind == folders::EntryKind::Folder {
            match root.enter_folder(&entry.name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                folder => walk_folder(&folder?, ino, seen)?,
            }
        }
    }
    Ok(())
}

pub(super) fn open_below(root: &Dir, path: &Path, number: u64) -> io::Result<File> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mut names = path.iter();
    let name = names.next_back().ok_or_else(gone)?;
    let mut folder: Option<Dir> = None;
    for name in names {
        folder = Some(folder.as_ref().unwrap_or(root).enter_folder(name)?);
    }
    let file = folder.as_ref().unwrap_or(root).open_for_read(name)?;
    if rustix::fs::fstat(&file)?.st_ino == number { Ok(file) } else { Err(gone()) }
}

pub(super) fn path_below(root: &Dir, folder: &Dir, entry: &FolderEntry) -> PathBuf {
    let path = folder.path().join(&entry.name);
    path.strip_prefix(root.path()).map(Path::to_owned).unwrap_or(path)
}
