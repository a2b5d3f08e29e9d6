//! Data images: loaded once, then copied for each trial.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bakeoff_folders::{Dir, EntryKind};
use rustix::fs::{Mode, OFlags, Stat};
use rustix::process::{Gid, Uid};

/// Bytes copied between two looks at whether to stop.
const PIECE: u64 = 64 << 20;

/// Whether a copy is on its disk when it is made, so that the disk has no work left with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SyncCopy {
    /// It is.
    Yes,
    /// It is not: it is read on the same machine, soon, and thrown away.
    No,
}

/// Copies a folder with everything below it: as clones where the file system can, keeping holes as
/// holes, links as links, and modes and, for root, owners as they are. Nobody else gets into the copy
/// before it is whole. Stops with [`io::ErrorKind::Interrupted`] when asked to.
///
/// Whoever owns what is copied may still be at work there: no link is followed, and what could be
/// anything else of root's is refused.
///
/// # Errors
/// The first file that can't be copied: a pipe, a socket or a device, or a file of another owner than
/// its folder's that has other names, too.
pub fn copy(from: &Path, to: &Path, sync: SyncCopy, stop: &AtomicBool) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    copy_folder(&Dir::open(from)?, &Dir::open(to)?, sync, stop)
}

fn copy_folder(from: &Dir, to: &Dir, sync: SyncCopy, stop: &AtomicBool) -> io::Result<()> {
    let like = from.stat()?;
    for entry in from.entries()? {
        let name = &entry.name;
        match entry.kind {
            EntryKind::Folder => {
                rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                copy_folder(&from.enter(name)?, &to.enter(name)?, sync, stop)?;
            }
            EntryKind::File => {
                let source = from.read(name)?;
                let stat = rustix::fs::fstat(&source)?;
                if stat.st_nlink > 1 && stat.st_uid != like.st_uid {
                    let what = "has several names and another owner than its folder: it may be \
                                anything";
                    return Err(from.refusal(name, what));
                }
                copy_file(&source, &stat, to, name, sync, stop)?;
            }
            EntryKind::Link => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                rustix::fs::symlinkat(target, to, name)?;
            }
            EntryKind::Special => {
                let what = "is a pipe, a socket or a device, which is not data: remove it";
                return Err(from.refusal(name, what));
            }
        }
    }
    give(to, &like)?;
    match sync {
        SyncCopy::Yes => to.sync(),
        SyncCopy::No => Ok(()),
    }
}

/// Gives a copy the owner, if that is this process's to do, and the mode of what it is a copy of.
fn give(target: impl AsFd, like: &Stat) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        rustix::fs::fchown(&target, Some(uid), Some(gid))?;
    }
    // After the owner, whose change takes bits of the mode away.
    Ok(rustix::fs::fchmod(&target, Mode::from_raw_mode(like.st_mode))?)
}

fn copy_file(
    source: &File,
    like: &Stat,
    to: &Dir,
    name: &OsStr,
    sync: SyncCopy,
    stop: &AtomicBool,
) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let target = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
    give(&target, like)?;
    if rustix::fs::ioctl_ficlone(&target, source).is_err() {
        let length = like.st_size.cast_unsigned();
        target.set_len(length)?;
        copy_data(source, &target, length, sync, stop)?;
    }
    match sync {
        SyncCopy::Yes => target.sync_all(),
        SyncCopy::No => Ok(()),
    }
}

/// Copies the pieces of a file that hold data, one after the other.
fn copy_data(
    source: &File,
    target: &File,
    length: u64,
    sync: SyncCopy,
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
    sync: SyncCopy,
    stop: &AtomicBool,
) -> io::Result<()> {
    let Range { mut start, end } = range;
    while start < end {
        if sync == SyncCopy::Yes {
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
    use std::fs;
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};

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
        copy(&from, &to, SyncCopy::Yes, &AtomicBool::new(false)).unwrap();
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
        copy(&from, &to, SyncCopy::Yes, &AtomicBool::new(false)).unwrap();
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
        let answer = copy(&from, &place.path().join("to"), SyncCopy::No, &AtomicBool::new(true));
        assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    /// What somebody who is still at work in an image can put there.
    #[test]
    fn a_copy_has_nothing_that_is_outside_of_what_is_copied() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("outside")).unwrap();
        fs::write(path("outside/file"), "root's").unwrap();
        let image = |name: &str| {
            fs::create_dir_all(path(name).join("data")).unwrap();
            path(name)
        };
        let go =
            |from: &Path, to: &str| copy(from, &path(to), SyncCopy::No, &AtomicBool::new(false));

        let linked = image("linked");
        symlink(path("outside/file"), linked.join("data/file")).unwrap();
        symlink(path("outside"), linked.join("folder")).unwrap();
        go(&linked, "1").unwrap();
        assert_eq!(fs::read_link(path("1/data/file")).unwrap(), path("outside/file"));
        assert_eq!(fs::read_link(path("1/folder")).unwrap(), path("outside"));
        go(&linked.join("folder"), "2").unwrap_err();

        let piped = image("piped");
        let (cwd, pipe) = (rustix::fs::CWD, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(cwd, piped.join("data/pipe"), pipe, Mode::RWXU, 0).unwrap();
        let error = go(&piped, "3").unwrap_err().to_string();
        assert!(error.contains("data/pipe is a pipe"), "{error}");

        let named = image("named");
        fs::hard_link(path("outside/file"), named.join("data/file")).unwrap();
        go(&named, "4").unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(named.join("data"), Some(1), Some(2)).unwrap();
            let error = go(&named, "5").unwrap_err().to_string();
            assert!(error.contains("data/file has several names"), "{error}");
        }
    }
}
