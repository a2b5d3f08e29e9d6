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

/// Bytes copied between two checks whether to stop.
const PIECE: u64 = 64 << 20;

/// A synced copy leaves the disk no work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SyncCopy {
    Yes,
    /// For a copy that is read soon on this machine and thrown away.
    No,
}

/// Copies a folder: as clones if the file system can, keeping holes, links, modes and, for root,
/// owners. Nobody else gets into the copy before it is whole. Stops with
/// [`io::ErrorKind::Interrupted`] when asked to.
///
/// The owner of the source may still be at work there. So no link is followed, and pipes, sockets,
/// devices, and hard-linked files of another owner are refused: they could be anything of root's.
pub fn copy_image(from: &Path, to: &Path, sync: SyncCopy, stop: &AtomicBool) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    FolderCopy { sync, stop }.copy_folder(&Dir::open(from)?, &Dir::open(to)?)
}

struct FolderCopy<'a> {
    sync: SyncCopy,
    stop: &'a AtomicBool,
}

impl FolderCopy<'_> {
    fn copy_folder(&self, from: &Dir, to: &Dir) -> io::Result<()> {
        let like = from.stat_folder()?;
        for entry in from.list_entries()? {
            let name = &entry.name;
            match entry.kind {
                EntryKind::Folder => {
                    rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                    self.copy_folder(&from.enter_folder(name)?, &to.enter_folder(name)?)?;
                }
                EntryKind::File => {
                    let source = from.open_for_read(name)?;
                    let stat = rustix::fs::fstat(&source)?;
                    if stat.st_nlink > 1 && stat.st_uid != like.st_uid {
                        let what = "has several names and another owner than its folder: it may be \
                                anything";
                        return Err(from.explain_refusal(name, what));
                    }
                    self.copy_file(&source, &stat, to, name)?;
                }
                EntryKind::Link => {
                    let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                    rustix::fs::symlinkat(target, to, name)?;
                }
                EntryKind::Special => {
                    let what = "is a pipe, a socket or a device, which is not data: remove it";
                    return Err(from.explain_refusal(name, what));
                }
            }
        }
        copy_ownership(to, &like)?;
        match self.sync {
            SyncCopy::Yes => to.sync(),
            SyncCopy::No => Ok(()),
        }
    }

    fn copy_file(&self, source: &File, like: &Stat, to: &Dir, name: &OsStr) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let target = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        copy_ownership(&target, like)?;
        if rustix::fs::ioctl_ficlone(&target, source).is_err() {
            let length = like.st_size.cast_unsigned();
            target.set_len(length)?;
            self.copy_data(source, &target, length)?;
        }
        match self.sync {
            SyncCopy::Yes => target.sync_all(),
            SyncCopy::No => Ok(()),
        }
    }

    fn copy_data(&self, source: &File, target: &File, length: u64) -> io::Result<()> {
        use rustix::fs::{SeekFrom, seek};
        let mut offset = 0;
        while offset < length {
            let start = match seek(source, SeekFrom::Data(offset)) {
                Ok(start) => start,
                Err(rustix::io::Errno::NXIO) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let end = seek(source, SeekFrom::Hole(start))?;
            self.copy_range(source, target, start..end)?;
            offset = end;
        }
        Ok(())
    }

    fn copy_range(&self, source: &File, target: &File, range: Range<u64>) -> io::Result<()> {
        let Range { mut start, end } = range;
        while start < end {
            if self.sync == SyncCopy::Yes {
                // Piece by piece, so that the sync at the end is short.
                target.sync_data()?;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = usize::try_from((end - start).min(PIECE)).expect("a piece fits");
            let (mut read, mut write) = (start, start);
            match rustix::fs::copy_file_range(
                source,
                Some(&mut read),
                target,
                Some(&mut write),
                length,
            ) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(copied) => start += copied as u64,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn copy_ownership(target: impl AsFd, like: &Stat) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        rustix::fs::fchown(&target, Some(uid), Some(gid))?;
    }
    // After the owner: changing it clears bits of the mode.
    Ok(rustix::fs::fchmod(&target, Mode::from_raw_mode(like.st_mode))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown, symlink};

    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        copy_image(from, to, SyncCopy::Yes, &AtomicBool::new(false))
    }

    #[test]
    fn a_copy_has_the_same_bytes_holes_modes_and_owners() {
        let place = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| place.path().join(name));
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/text"), "hello").unwrap();
        let sparse = File::create(from.join("sparse")).unwrap();
        sparse.set_len(1 << 32).unwrap();
        sparse.write_all_at(&[7; 5000], 1 << 30).unwrap();
        for (name, mode) in [("below/text", 0o640), ("below", 0o2750)] {
            if rustix::process::geteuid().is_root() {
                chown(from.join(name), Some(1), Some(2)).unwrap();
            }
            fs::set_permissions(from.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("below/text")).unwrap(), b"hello");
        let (copied, mut bytes) = (File::open(to.join("sparse")).unwrap(), [0; 5000]);
        copied.read_exact_at(&mut bytes, 1 << 30).unwrap();
        assert_eq!((bytes, copied.metadata().unwrap().len()), ([7; 5000], 1 << 32));
        assert!(copied.metadata().unwrap().blocks() * 512 < 1 << 20, "the hole was filled");
        for name in ["", "below", "below/text"] {
            let is = |folder: &Path| fs::metadata(folder.join(name)).unwrap();
            let (is, was) = (is(&to), is(&from));
            assert_eq!((is.mode(), is.uid(), is.gid()), (was.mode(), was.uid(), was.gid()));
        }
        // It stops when asked.
        let again = place.path().join("again");
        let stopped = copy_image(&from, &again, SyncCopy::No, &AtomicBool::new(true));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    /// What somebody who is still at work in an image can put there.
    #[test]
    fn a_copy_has_nothing_that_is_outside_of_what_is_copied() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("outside")).unwrap();
        fs::write(path("outside/file"), "root's").unwrap();
        for name in ["linked", "piped", "named"] {
            fs::create_dir_all(path(name).join("data")).unwrap();
        }
        symlink(path("outside/file"), path("linked/data/file")).unwrap();
        symlink(path("outside"), path("linked/folder")).unwrap();
        copy(&path("linked"), &path("1")).unwrap();
        assert_eq!(fs::read_link(path("1/data/file")).unwrap(), path("outside/file"));
        assert_eq!(fs::read_link(path("1/folder")).unwrap(), path("outside"));
        copy(&path("linked/folder"), &path("2")).unwrap_err();

        let (cwd, pipe) = (rustix::fs::CWD, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(cwd, path("piped/data/pipe"), pipe, Mode::RWXU, 0).unwrap();
        let error = copy(&path("piped"), &path("3")).unwrap_err().to_string();
        assert!(error.contains("data/pipe is a pipe"), "{error}");

        fs::hard_link(path("outside/file"), path("named/data/file")).unwrap();
        copy(&path("named"), &path("4")).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(path("named/data"), Some(1), Some(2)).unwrap();
            let error = copy(&path("named"), &path("5")).unwrap_err().to_string();
            assert!(error.contains("data/file has several names"), "{error}");
        }
    }
}
