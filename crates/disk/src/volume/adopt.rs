//! What is in the backing folder.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{Attributes, Kind};
use rustix::fs::FileType;

use super::lasting::place;
use super::{HIDDEN, Ino, ROOT, Volume};

impl Volume {
    /// Takes in all that is there: it is lasting.
    pub(super) fn adopt(&self) -> io::Result<()> {
        walk(&self.backing, ROOT, &mut |dir, path, meta| {
            if meta.dev() != self.device {
                let path = path.display();
                return Err(io::Error::other(format!("{path} is on another file system")));
            }
            let (ino, _) = self.numbers.of(meta.ino());
            let kind = match FileType::from_raw_mode(meta.mode()) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Symlink(fs::read_link(path)?.into_os_string()),
                other => Kind::Special(other.as_raw_mode(), meta.rdev()),
            };
            let attributes =
                Attributes { mode: meta.mode() & 0o7777, uid: meta.uid(), gid: meta.gid() };
            let mut model = self.model();
            if kind == Kind::File && !model.pending.holds(ino) {
                model.ext4.adopt(ino, meta.len());
            }
            let name = path.file_name().unwrap_or_default();
            model.pending.adopt(place(dir, name), ino, kind, attributes);
            Ok(ino)
        })
    }

    /// Bytes that the files take in the backing file system.
    pub(super) fn used(&self) -> u64 {
        let mut used = 0;
        // What goes while it is counted is not in use.
        let _ = walk(&self.backing, ROOT, &mut |_, _, meta| {
            used += meta.blocks() * 512;
            Ok(ROOT)
        });
        used
    }
}

/// Walks through a folder, each folder before what is in it. `seen` is told the number it gave to
/// the folder that something is in, its path, and what it is; it gives a number.
pub(super) fn walk(
    root: &Path,
    number: Ino,
    seen: &mut dyn FnMut(Ino, &Path, &Metadata) -> io::Result<Ino>,
) -> io::Result<()> {
    let mut folders: Vec<(PathBuf, Ino)> = vec![(root.to_owned(), number)];
    while let Some((folder, dir)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if folder == root && entry.file_name() == HIDDEN {
                continue;
            }
            let meta = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                meta => meta?,
            };
            let path = entry.path();
            let ino = seen(dir, &path, &meta)?;
            if meta.is_dir() {
                folders.push((path, ino));
            }
        }
    }
    Ok(())
}
