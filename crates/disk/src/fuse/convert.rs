use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bakeoff_devices::ext4::{Mode, SyncScope};
use fuser::{FileAttr, FileType, FopenFlags, INodeNo, OpenFlags, Request, TimeOrNow, WriteFlags};
use rustix::fs::{OFlags, SeekFrom, Stat};

use crate::volume::{DataAccess, FileOwner, FileTime, ListingEntry, OpenedFile};

pub(super) fn to_errno(error: rustix::io::Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

pub(super) fn to_file_type(kind: rustix::fs::FileType) -> FileType {
    use rustix::fs::FileType as Kind;
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::RegularFile | Kind::Unknown => FileType::RegularFile,
    }
}

pub(super) fn to_file_attr(stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(stat.st_ino),
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        atime: to_system_time(stat.st_atime, stat.st_atime_nsec),
        mtime: to_system_time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: to_system_time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: to_file_type(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

pub(super) fn negative_attributes() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

pub(super) fn entry_attributes(entry: ListingEntry<'_>) -> FileAttr {
    FileAttr { ino: INodeNo(entry.ino), kind: to_file_type(entry.kind), ..negative_attributes() }
}

fn to_system_time(seconds: i64, nanos: impl TryInto<u32>) -> SystemTime {
    let nanos = Duration::from_nanos(nanos.try_into().unwrap_or(0).into());
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    base + nanos
}

pub(super) fn to_file_time(time: TimeOrNow) -> FileTime {
    let TimeOrNow::SpecificTime(time) = time else { return FileTime::Now };
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => FileTime::At(since.as_secs() as i64, since.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = -(before.as_secs() as i64);
            match before.subsec_nanos() {
                0 => FileTime::At(seconds, 0),
                nanos => FileTime::At(seconds - 1, 1_000_000_000 - nanos),
            }
        }
    }
}

pub(super) fn to_owner(request: &Request) -> FileOwner {
    FileOwner { uid: request.uid(), gid: request.gid() }
}

pub(super) fn to_mode(flags: i32) -> Mode {
    let flags = OFlags::from_bits_retain(flags as u32);
    if flags.contains(OFlags::DIRECT) { Mode::Direct } else { Mode::Buffered }
}

pub(super) fn to_access(flags: OpenFlags, write: WriteFlags) -> DataAccess {
    // Such pages are written through the page cache, whatever the file is open with.
    let gathered = write.contains(WriteFlags::FUSE_WRITE_CACHE);
    let mode = if gathered { Mode::Buffered } else { to_mode(flags.0) };
    // `O_SYNC` is `O_DSYNC` and one bit more. (What rustix 1 calls `DSYNC` is `O_SYNC`.)
    let contains = |flag| flags.0 & flag == flag;
    // After a buffered write the kernel sends an fsync of its own.
    let sync = match mode {
        Mode::Direct if contains(libc::O_SYNC) => Some(SyncScope::All),
        Mode::Direct if contains(libc::O_DSYNC) => Some(SyncScope::Data),
        _ => None,
    };
    let drop_privileges = write.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
    DataAccess { mode, sync, drop_privileges, gathered }
}

pub(super) fn open_flags(mode: Mode, opened: OpenedFile) -> FopenFlags {
    match mode {
        Mode::Direct => {
            FopenFlags::FOPEN_DIRECT_IO
                | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
                | FopenFlags::FOPEN_NOFLUSH
        }
        Mode::Buffered if opened.cache_holds => {
            FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH
        }
        Mode::Buffered => FopenFlags::FOPEN_NOFLUSH,
    }
}

pub(super) fn to_seek(offset: i64, whence: i32) -> Option<SeekFrom> {
    /// `lseek(2)`: the next data.
    const SEEK_DATA: i32 = 3;
    /// `lseek(2)`: the next hole.
    const SEEK_HOLE: i32 = 4;
    let offset = u64::try_from(offset).ok()?;
    match whence {
        SEEK_DATA => Some(SeekFrom::Data(offset)),
        SEEK_HOLE => Some(SeekFrom::Hole(offset)),
        _ => None,
    }
}
