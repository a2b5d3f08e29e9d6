//! Data images: loaded once, then copied for each trial.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes copied between two looks at whether to stop.
const PIECE: u64 = 64 << 20;

/// Whether a copy is on its disk when it is made, so that the disk has no work left with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It is.
    Yes,
    /// It is not: it is read on the same machine, soon, and thrown away.
    No,
}

/// Copies a folder with everything below it: as clones where the file system can, keeping holes as
/// holes, and modes and, for root, owners as they are. Stops with [`io::ErrorKind::Interrupted`]
/// when asked to.
///
/// # Errors
/// The first file that can't be copied.
pub fn copy(from: &Path, to: &Path, sync: Sync, stop: &AtomicBool) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &target, sync, stop)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target, sync, stop)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        }
    }
    let target = File::open(to)?;
    give(&target, &fs::metadata(from)?)?;
    sync.all_of(&target)
}

impl Sync {
    fn all_of(self, file: &File) -> io::Result<()> {
        match self {
            Self::Yes => file.sync_all(),
            Self::No => Ok(()),
        }
    }
}

/// Gives a copy the owner, if that is this process's to do, and the mode of what it is a copy of.
fn give(target: &File, like: &Metadata) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::fchown(target, Some(like.uid()), Some(like.gid()))?;
    }
    // After the owner, whose change takes bits of the mode away.
    target.set_permissions(like.permissions())
}

fn copy_file(from: &Path, to: &Path, sync: Sync, stop: &AtomicBool) -> io::Result<()> {
    let (source, target) = (File::open(from)?, File::create_new(to)?);
    let metadata = source.metadata()?;
    give(&target, &metadata)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        target.set_len(metadata.len())?;
        copy_data(&source, &target, metadata.len(), sync, stop)?;
    }
    sync.all_of(&target)
}

/// Copies the pieces of a file that hold data, one after the other.
fn copy_data(
    source: &File,
    target: &File,
    length: u64,
    sync: Sync,
    stop: &AtomicBool,
) -> io::Result<()> {
    use rustix::fs::{SeekFrom, seek};
    let mut offset = 0;
    while offset < length {
        let start = match seek(source, SeekFrom::Data(offset)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let end = seek(source, SeekFrom::Hole(start))?;
        copy_range(source, target, start..end, sync, stop)?;
        offset = end;
    }
    Ok(())
}

fn copy_range(
    source: &File,
    target: &File,
    range: Range<u64>,
    sync: Sync,
    stop: &AtomicBool,
) -> io::Result<()> {
    let Range { mut start, end } = range;
    while start < end {
        if sync == Sync::Yes {
            // Piece by piece, so that the sync at the end can't take long.
            target.sync_data()?;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = usize::try_from((end - start).min(PIECE)).expect("a piece fits");
        let (mut read, mut write) = (start, start);
        match rustix::fs::copy_file_range(source, Some(&mut read), target, Some(&mut write), length)
        {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(copied) => start += copied as u64,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    #[test]
    fn a_copy_has_the_same_bytes_and_holes() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/text"), "hello").unwrap();
        let sparse = File::create(from.join("sparse")).unwrap();
        sparse.set_len(1 << 32).unwrap();
        sparse.write_all_at(&[7; 5000], 1 << 30).unwrap();

        let to = place.path().join("to");
        copy(&from, &to, Sync::Yes, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::read(to.join("below/text")).unwrap(), b"hello");
        let copied = File::open(to.join("sparse")).unwrap();
        let mut bytes = [0; 5000];
        copied.read_exact_at(&mut bytes, 1 << 30).unwrap();
        assert_eq!(bytes, [7; 5000]);
        assert_eq!(copied.metadata().unwrap().len(), 1 << 32);
        assert!(copied.metadata().unwrap().blocks() * 512 < 1 << 20, "the hole was filled");
    }

    #[test]
    fn a_copy_has_the_same_modes_and_owners() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/file"), "data").unwrap();
        fs::set_permissions(from.join("below/file"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(from.join("below"), fs::Permissions::from_mode(0o2750)).unwrap();
        let root = rustix::process::geteuid().is_root();
        for name in ["below/file", "below"].into_iter().filter(|_| root) {
            std::os::unix::fs::chown(from.join(name), Some(1), Some(2)).unwrap();
        }
        fs::set_permissions(from.join("below"), fs::Permissions::from_mode(0o2750)).unwrap();
        let to = place.path().join("to");
        copy(&from, &to, Sync::Yes, &AtomicBool::new(false)).unwrap();
        for name in ["", "below", "below/file"] {
            let is = |folder: &Path| fs::metadata(folder.join(name)).unwrap();
            let (is, was) = (is(&to), is(&from));
            assert_eq!((is.mode(), is.uid(), is.gid()), (was.mode(), was.uid(), was.gid()));
        }
    }

    #[test]
    fn a_copy_stops_when_asked() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir(&from).unwrap();
        fs::write(from.join("data"), vec![1; 100_000]).unwrap();
        let answer = copy(&from, &place.path().join("to"), Sync::No, &AtomicBool::new(true));
        assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
