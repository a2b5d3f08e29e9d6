use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_devices::ext4::SyncScope;
use fuser::{
    BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, SeekFrom, XattrFlags};

use super::convert::{
    self, to_access, to_errno, to_file_attr, to_file_time, to_file_type, to_mode, to_owner,
};
use super::replies::{GENERATION, reply_done, reply_entry, reply_xattr};
use crate::volume::{AttributeChanges, Volume};

/// Only this process changes the volume.
const VALID: Duration = Duration::from_secs(24 * 3600);

/// With write-back the kernel does not hear of the blocks that its writes took.
const SIZES_VALID: Duration = Duration::from_secs(1);

const LARGEST: u32 = 1 << 20;

/// How many reads and writes the kernel sends before it holds back, if no caller waits for each
/// (`io_submit`, readahead).
const MOST_IN_BACKGROUND: u16 = 4096;

pub struct Adapter {
    pub volume: Arc<Volume>,
    pub write_back: bool,
}

impl Adapter {
    /// For how long the kernel may answer for a file itself.
    fn valid(&self) -> Duration {
        if self.write_back { SIZES_VALID } else { VALID }
    }

    fn open_with_flags(&self, ino: u64, flags: i32) -> Result<FopenFlags, rustix::io::Errno> {
        let mode = to_mode(flags);
        let opened = self.volume.open_file(ino, mode, is_for_writing(flags))?;
        Ok(convert::open_flags(mode, opened))
    }
}

fn is_for_writing(flags: i32) -> bool {
    OpenFlags(flags).acc_mode() != OpenAccMode::O_RDONLY
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            // Without it, `io_submit` waits for each of its requests.
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            // Without it, the kernel asks for an attribute of the file before each write.
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
        ];
        for flag in wanted {
            // An older kernel does without the flags that it doesn't know.
            let _ = config.add_capabilities(flag);
        }
        if self.write_back && config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE).is_err() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let _ = config.set_max_write(LARGEST);
        let _ = config.set_max_background(MOST_IN_BACKGROUND);
        let _ = config.set_congestion_threshold(MOST_IN_BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.volume.lookup(parent.0, name) {
            // Remember also that the name does not exist.
            Err(rustix::io::Errno::NOENT) => {
                reply.entry(&VALID, &convert::negative_attributes(), GENERATION);
            }
            found => reply_entry(found, &self.valid(), reply),
        }
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        self.volume.forget(node.0, lookups);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.volume.getattr(node.0) {
            Ok(stat) => reply.attr(&self.valid(), &to_file_attr(&stat)),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (accessed, modified) = (accessed.map(to_file_time), modified.map(to_file_time));
        let changes = AttributeChanges { mode, uid, gid, size, accessed, modified };
        match self.volume.setattr(node.0, &changes) {
            Ok(stat) => reply.attr(&self.valid(), &to_file_attr(&stat)),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn readlink(&self, _: &Request, node: INodeNo, reply: ReplyData) {
        match self.volume.readlink(node.0) {
            Ok(target) => reply.data(target.as_encoded_bytes()),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let (parent, who) = (parent.0, to_owner(request));
        reply_entry(
            self.volume.mknod(parent, name, mode, device.into(), who),
            &self.valid(),
            reply,
        );
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        reply_entry(
            self.volume.mkdir(parent.0, name, mode, to_owner(request)),
            &self.valid(),
            reply,
        );
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_done(self.volume.unlink(parent.0, name), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_done(self.volume.rmdir(parent.0, name), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        reply_entry(
            self.volume.symlink(parent.0, name, target, to_owner(request)),
            &self.valid(),
            reply,
        );
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let (from, to) = (parent.0, new_parent.0);
        reply_done(self.volume.rename(from, name, to, new_name, flags), reply);
    }

    fn link(&self, _: &Request, node: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        reply_entry(self.volume.link(node.0, parent.0, name), &self.valid(), reply);
    }

    fn open(&self, _: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_with_flags(node.0, flags.0) {
            Ok(flags) => reply.opened(FileHandle(0), flags),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.volume.create(parent.0, name, mode, to_owner(request));
        let opened = made.and_then(|stat| Ok((stat, self.open_with_flags(stat.st_ino, flags)?)));
        match opened {
            Ok((stat, flags)) => {
                let attributes = to_file_attr(&stat);
                reply.created(&self.valid(), &attributes, GENERATION, FileHandle(0), flags);
            }
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let access = to_access(flags, WriteFlags::empty());
        self.volume.read(node.0, offset, size as usize, access, move |read| match read {
            Ok(data) => reply.data(data),
            Err(error) => reply.error(to_errno(error)),
        });
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let access = to_access(flags, write_flags);
        self.volume.write(node.0, offset, data, access, move |written| match written {
            Ok(count) => reply.written(count as u32),
            Err(error) => reply.error(to_errno(error)),
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Nothing is left to write when a file is closed.
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, data: bool, reply: ReplyEmpty) {
        let sync = if data { SyncScope::Data } else { SyncScope::All };
        self.volume.fsync(node.0, sync, move |done| reply_done(done, reply));
    }

    fn release(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        flags: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if is_for_writing(flags.0) {
            self.volume.close_file(node.0);
        }
        reply.ok();
    }

    fn opendir(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.volume.opendir(node.0) {
            Ok(listing) => reply.opened(FileHandle(listing), FopenFlags::empty()),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let done = self.volume.readdir(handle.0, offset, |entry| {
            !reply.add(INodeNo(entry.ino), entry.next, to_file_type(entry.kind), entry.name)
        });
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let volume = &self.volume;
        let done = volume.readdir(handle.0, offset, |entry| {
            // The kernel holds entries whose attributes it gets, but never these two.
            let known = entry.name != "." && entry.name != "..";
            let stat = if known { volume.hold_entry(handle.0, entry.name) } else { None };
            let told = stat.as_ref().map_or_else(|| convert::entry_attributes(entry), to_file_attr);
            let node = stat.map_or(INodeNo(0), |stat| INodeNo(stat.st_ino));
            let full = reply.add(node, entry.next, entry.name, &self.valid(), &told, GENERATION);
            if full && node.0 != 0 {
                volume.forget(node.0, 1);
            }
            !full
        });
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.volume.releasedir(handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.volume.fsyncdir(node.0, move |done| reply_done(done, reply));
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.volume.statfs() {
            Ok(s) => reply.statfs(
                s.f_blocks,
                s.f_bfree,
                s.f_bavail,
                s.f_files,
                s.f_ffree,
                s.f_bsize as u32,
                s.f_namemax as u32,
                s.f_frsize as u32,
            ),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn setxattr(
        &self,
        _: &Request,
        node: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let flags = XattrFlags::from_bits_retain(flags as u32);
        reply_done(self.volume.setxattr(node.0, name, value, flags), reply);
    }

    fn getxattr(&self, _: &Request, node: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        reply_xattr(size, reply, |buffer| self.volume.getxattr(node.0, name, buffer));
    }

    fn listxattr(&self, _: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        reply_xattr(size, reply, |buffer| self.volume.listxattr(node.0, buffer));
    }

    fn removexattr(&self, _: &Request, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_done(self.volume.removexattr(node.0, name), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode as u32);
        reply_done(self.volume.fallocate(node.0, offset, length, flags), reply);
    }

    fn lseek(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let to = convert::to_seek(offset, whence).unwrap_or(SeekFrom::End(0));
        match self.volume.seek(node.0, to) {
            Ok(offset) => reply.offset(offset as i64),
            Err(error) => reply.error(to_errno(error)),
        }
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        // The kernel then reads and writes, and does not ask again.
        reply.error(Errno::ENOSYS);
    }
}
