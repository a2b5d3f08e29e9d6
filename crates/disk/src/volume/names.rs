//! Names: what is where, and what is made, moved and removed.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::inode::Inode;
use super::{Ino, Volume, path_of};

/// Who makes a file, and so owns it.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// User.
    pub uid: u32,
    /// Group, unless the folder gives its own to what is in it (`S_ISGID`).
    pub gid: u32,
}

impl Volume {
    /// Finds a name in a folder.
    ///
    /// The application holds what it finds until it has let go of it ([`Volume::forget`]) as often
    /// as it was told of it. The same goes for whatever is made here.
    ///
    /// # Errors
    /// `ENOENT`, or what the backing file system said.
    pub fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        self.find(&folder, name).map(|(_, stat)| stat)
    }

    /// Makes a file and opens it. `mode` is used as it is: the umask has been taken off.
    ///
    /// # Errors
    /// `EEXIST`, or what the backing file system said.
    pub fn create(&self, parent: Ino, name: &OsStr, mode: u32, who: Who) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder.any(), name, flags, Mode::from_raw_mode(mode))?;
        let stat = self.own(&folder, &file, Some(mode), who)?;
        self.inodes.hold(Inode::created(file, &stat));
        Ok(stat)
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// `EEXIST`, or what the backing file system said.
    pub fn mkdir(&self, parent: Ino, name: &OsStr, mode: u32, who: Who) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        rustix::fs::mkdirat(folder.any(), name, Mode::from_raw_mode(mode))?;
        self.made(&folder, name, Some(mode), who)
    }

    /// Makes a file, pipe, socket or device file. `mode` says which.
    ///
    /// # Errors
    /// `EEXIST`, or what the backing file system said.
    pub fn mknod(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        device: u64,
        who: Who,
    ) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        let kind = FileType::from_raw_mode(mode);
        rustix::fs::mknodat(folder.any(), name, kind, Mode::from_raw_mode(mode), device)?;
        self.made(&folder, name, Some(mode), who)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// `EEXIST`, or what the backing file system said.
    pub fn symlink(
        &self,
        parent: Ino,
        name: &OsStr,
        target: &Path,
        who: Who,
    ) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        rustix::fs::symlinkat(target, folder.any(), name)?;
        self.made(&folder, name, None, who)
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn readlink(&self, ino: Ino) -> Result<OsString, Errno> {
        let link = self.inode(ino)?;
        let target = rustix::fs::readlinkat(link.any(), "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// `EEXIST`, or what the backing file system said.
    pub fn link(&self, ino: Ino, parent: Ino, name: &OsStr) -> Result<Stat, Errno> {
        let (inode, folder) = (self.inode(ino)?, self.inode(parent)?);
        let by = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, path_of(inode.any()), folder.any(), name, by)?;
        let stat = inode.stat()?;
        self.inodes.hold_again(&inode);
        Ok(stat)
    }

    /// Removes a name that is not a folder's.
    ///
    /// # Errors
    /// `ENOENT`, `EISDIR`, or what the backing file system said.
    pub fn unlink(&self, parent: Ino, name: &OsStr) -> Result<(), Errno> {
        let folder = self.inode(parent)?;
        rustix::fs::unlinkat(folder.any(), name, AtFlags::empty())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// `ENOTEMPTY`, `ENOTDIR`, or what the backing file system said.
    pub fn rmdir(&self, parent: Ino, name: &OsStr) -> Result<(), Errno> {
        let folder = self.inode(parent)?;
        rustix::fs::unlinkat(folder.any(), name, AtFlags::REMOVEDIR)
    }

    /// Moves a name; what had the new one is replaced, refused or exchanged, as the flags say.
    ///
    /// # Errors
    /// `EEXIST`, `ENOTEMPTY`, `EINVAL` for flags not known, or what the backing file system said.
    pub fn rename(
        &self,
        from: Ino,
        name: &OsStr,
        to: Ino,
        new_name: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if !(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE).contains(flags) {
            return Err(Errno::INVAL);
        }
        let (from, to) = (self.inode(from)?, self.inode(to)?);
        rustix::fs::renameat_with(from.any(), name, to.any(), new_name, flags)
    }

    /// Finds a name and holds what it names.
    pub(super) fn find(&self, folder: &Inode, name: &OsStr) -> Result<(Arc<Inode>, Stat), Errno> {
        let (inode, stat) = self.peek(folder, name)?;
        Ok((self.inodes.hold(inode), stat))
    }

    fn peek(&self, folder: &Inode, name: &OsStr) -> Result<(Inode, Stat), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::openat(folder.any(), name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&place)?;
        if stat.st_dev != self.device {
            return Err(Errno::XDEV);
        }
        Ok((Inode::at(place, &stat), stat))
    }

    /// What was just made under a name, given to whom it belongs.
    fn made(
        &self,
        folder: &Inode,
        name: &OsStr,
        mode: Option<u32>,
        who: Who,
    ) -> Result<Stat, Errno> {
        let (inode, _) = self.peek(folder, name)?;
        let stat = self.own(folder, inode.any(), mode, who)?;
        self.inodes.hold(inode);
        Ok(stat)
    }

    /// Gives what was just made its owner and its mode, where the system gave it those of this
    /// process. A symbolic link has no mode.
    fn own(
        &self,
        folder: &Inode,
        made: &OwnedFd,
        mode: Option<u32>,
        who: Who,
    ) -> Result<Stat, Errno> {
        let stat = rustix::fs::fstat(made)?;
        let mut changed = false;
        if (stat.st_uid, stat.st_gid) != (who.uid, who.gid) && rustix::process::geteuid().is_root()
        {
            let inherits = folder.stat()?.st_mode & Mode::SGID.as_raw_mode() != 0;
            let gid = (!inherits).then(|| Gid::from_raw(who.gid));
            let uid = Some(Uid::from_raw(who.uid));
            rustix::fs::chownat(made, "", uid, gid, AtFlags::EMPTY_PATH)?;
            changed = true;
        }
        // A change of owner takes these bits away.
        let fragile = (Mode::SUID | Mode::SGID).as_raw_mode();
        if let Some(mode) = mode
            && (mode & self.umask != 0 || (changed && (mode | stat.st_mode) & fragile != 0))
        {
            let inherited = stat.st_mode & Mode::SGID.as_raw_mode();
            rustix::fs::chmod(path_of(made), Mode::from_raw_mode(mode | inherited))?;
            changed = true;
        }
        if changed { Ok(rustix::fs::fstat(made)?) } else { Ok(stat) }
    }
}
