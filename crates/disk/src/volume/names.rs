//! Names: what is where, and what is made, moved and removed.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use bakeoff_devices::plug::NodeKind;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::durable::{attributes, place};
use super::inode::Inode;
use super::{InodeNumber, Volume, is_hidden, path_of};

/// Who makes a file, and so owns it.
#[derive(Clone, Copy, Debug)]
pub struct FileOwner {
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
    pub fn lookup(&self, parent: InodeNumber, name: &OsStr) -> Result<Stat, Errno> {
        let folder = self.inode(parent)?;
        self.find(&folder, name)
    }

    /// Makes a file and opens it. `mode` is used as it is: the umask has been taken off.
    ///
    /// # Errors
    /// `EEXIST`, `ENOSPC`, or what the backing file system said.
    pub fn create(
        &self,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let folder = self.room_for(parent, name)?;
        let _naming = self.naming();
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder.any(), name, flags, Mode::from_raw_mode(mode))?;
        self.made(&folder, name, file, Some(mode), who, NodeKind::File)
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// `EEXIST`, `ENOSPC`, or what the backing file system said.
    pub fn mkdir(
        &self,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let folder = self.room_for(parent, name)?;
        let _naming = self.naming();
        rustix::fs::mkdirat(folder.any(), name, Mode::from_raw_mode(mode))?;
        self.made(&folder, name, find(&folder, name)?, Some(mode), who, NodeKind::Directory)
    }

    /// Makes a file, pipe, socket or device file. `mode` says which.
    ///
    /// # Errors
    /// `EEXIST`, `ENOSPC`, or what the backing file system said.
    pub fn mknod(
        &self,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        device: u64,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let folder = self.room_for(parent, name)?;
        let _naming = self.naming();
        let format = FileType::from_raw_mode(mode);
        rustix::fs::mknodat(folder.any(), name, format, Mode::from_raw_mode(mode), device)?;
        let kind = match format {
            FileType::RegularFile => NodeKind::File,
            other => NodeKind::Special(other.as_raw_mode(), device),
        };
        self.made(&folder, name, find(&folder, name)?, Some(mode), who, kind)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// `EEXIST`, `ENOSPC`, or what the backing file system said.
    pub fn symlink(
        &self,
        parent: InodeNumber,
        name: &OsStr,
        target: &Path,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let folder = self.room_for(parent, name)?;
        let _naming = self.naming();
        rustix::fs::symlinkat(target, folder.any(), name)?;
        let kind = NodeKind::Symlink(target.as_os_str().to_owned());
        self.made(&folder, name, find(&folder, name)?, None, who, kind)
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn readlink(&self, ino: InodeNumber) -> Result<OsString, Errno> {
        let link = self.inode(ino)?;
        let target = rustix::fs::readlinkat(link.any(), "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// `EEXIST`, `ENOENT` for a file that has no name any more, or what the backing file system
    /// said.
    pub fn link(&self, ino: InodeNumber, parent: InodeNumber, name: &OsStr) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let (inode, folder) = (self.inode(ino)?, self.room_for(parent, name)?);
        let _naming = self.naming();
        if inode.nameless() {
            return Err(Errno::NOENT);
        }
        let by = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, path_of(inode.any()), folder.any(), name, by)?;
        self.renamed(&[ino], |pending| pending.link(place(parent, name), ino));
        let stat = inode.stat()?;
        self.inodes.hold(inode);
        Ok(stat)
    }

    /// Removes a name that is not a folder's.
    ///
    /// # Errors
    /// `ENOENT`, `EISDIR`, or what the backing file system said.
    pub fn unlink(&self, parent: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let _power = self.powered()?;
        let folder = self.inode(parent)?;
        let _naming = self.naming();
        let thing = self.named(&folder, name)?;
        if thing.has_one_name() && self.may_show_after_removal(&thing) {
            self.orphans.move_here(&folder, name, thing.ino, thing.stat.st_ino)?;
        } else {
            rustix::fs::unlinkat(folder.any(), name, AtFlags::empty())?;
        }
        self.renamed(&[thing.ino], |pending| pending.remove(place(parent, name), thing.ino));
        self.lost_name(&thing);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// `ENOTEMPTY`, `ENOTDIR`, or what the backing file system said.
    pub fn rmdir(&self, parent: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let _power = self.powered()?;
        let folder = self.inode(parent)?;
        let _naming = self.naming();
        let thing = self.named(&folder, name)?;
        rustix::fs::unlinkat(folder.any(), name, AtFlags::REMOVEDIR)?;
        self.renamed(&[thing.ino], |pending| pending.remove(place(parent, name), thing.ino));
        self.lost_name(&thing);
        Ok(())
    }

    /// Moves a name; what had the new one is replaced, refused or exchanged, as the flags say.
    ///
    /// # Errors
    /// `EEXIST`, `ENOTEMPTY`, `EINVAL` for flags not known, or what the backing file system said.
    pub fn rename(
        &self,
        from: InodeNumber,
        name: &OsStr,
        to: InodeNumber,
        new_name: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if !(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE).contains(flags) {
            return Err(Errno::INVAL);
        }
        let _power = self.powered()?;
        let (old, new) = (self.inode(from)?, self.room_for(to, new_name)?);
        let _naming = self.naming();
        let thing = self.named(&old, name)?;
        let there = match self.named(&new, new_name) {
            Err(Errno::NOENT) => None,
            there => Some(there?),
        };
        let (source, target) = (place(from, name), place(to, new_name));
        if flags.contains(RenameFlags::EXCHANGE) {
            let there = there.ok_or(Errno::NOENT)?;
            rustix::fs::renameat_with(old.any(), name, new.any(), new_name, flags)?;
            self.renamed(&[thing.ino, there.ino], |pending| {
                pending.exchange(source, target, thing.ino, there.ino)
            });
            return Ok(());
        }
        let buried = match &there {
            Some(there) if there.ino == thing.ino => None,
            Some(there) if there.has_one_name() && self.may_show_after_removal(there) => {
                self.orphans.link_here(&new, new_name, there.ino, there.stat.st_ino)?;
                Some(there.ino)
            }
            _ => None,
        };
        if let Err(error) = rustix::fs::renameat_with(old.any(), name, new.any(), new_name, flags) {
            buried.map(|ino| self.orphans.remove(ino));
            return Err(error);
        }
        let replaced = there.as_ref().map(|there| there.ino);
        self.renamed(&[thing.ino, replaced.unwrap_or(thing.ino)], |pending| {
            pending.rename(source, target, thing.ino, replaced)
        });
        if let Some(there) = there.filter(|there| there.ino != thing.ino) {
            self.lost_name(&there);
        }
        Ok(())
    }

    /// Finds a name and holds what it names.
    pub(super) fn find(&self, folder: &Inode, name: &OsStr) -> Result<Stat, Errno> {
        if is_hidden(folder.ino, name) {
            return Err(Errno::NOENT);
        }
        let place = find(folder, name)?;
        let stat = rustix::fs::fstat(&place)?;
        if stat.st_dev != self.device {
            return Err(Errno::XDEV);
        }
        let (ino, _) = self.numbers.find_or_assign(stat.st_ino);
        let inode = self.inodes.hold(Inode::at(ino, place, &stat));
        Ok(inode.told(stat))
    }

    /// The folder that a name is about to be made in.
    fn room_for(&self, parent: InodeNumber, name: &OsStr) -> Result<Arc<Inode>, Errno> {
        let folder = self.inode(parent)?;
        if is_hidden(parent, name) {
            return Err(Errno::PERM);
        }
        self.make_room_for_name()?;
        Ok(folder)
    }

    /// What a name stands for, when it is about to change.
    fn named(&self, folder: &Inode, name: &OsStr) -> Result<NamedFile, Errno> {
        if is_hidden(folder.ino, name) {
            return Err(Errno::NOENT);
        }
        let stat = rustix::fs::statat(folder.any(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        let (ino, _) = self.numbers.find_or_assign(stat.st_ino);
        Ok(NamedFile { ino, stat })
    }

    /// Whether the content of a file may show after a cut of the power though its last name has
    /// gone: as the removal itself is not durable, unless all that is known of it is pending.
    fn may_show_after_removal(&self, thing: &NamedFile) -> bool {
        let is_file = FileType::from_raw_mode(thing.stat.st_mode) == FileType::RegularFile;
        is_file && self.model().pending.holds(thing.ino)
    }

    /// What has lost a name is gone when that was the last one and nobody holds it.
    fn lost_name(&self, thing: &NamedFile) {
        if thing.has_one_name() && !self.inodes.unname(thing.ino) {
            self.gone(thing.ino, thing.stat.st_ino);
        }
    }

    /// Takes in what was just made: gives it its owner and mode, and holds it.
    fn made(
        &self,
        folder: &Inode,
        name: &OsStr,
        made: OwnedFd,
        mode: Option<u32>,
        who: FileOwner,
        kind: NodeKind,
    ) -> Result<Stat, Errno> {
        let stat = self.own(folder, &made, mode, who)?;
        let ino = self.numbers.assign(stat.st_ino);
        let open = kind == NodeKind::File && rustix::fs::fcntl_getfl(&made)?.contains(OFlags::RDWR);
        let inode =
            if open { Inode::created(ino, made, &stat) } else { Inode::at(ino, made, &stat) };
        let place = place(folder.ino, name);
        self.renamed(&[], |pending| pending.create(place, ino, kind, attributes(&stat)));
        Ok(self.inodes.hold(inode).told(stat))
    }

    /// Gives what was just made its owner and its mode, where the system gave it those of this
    /// process. A symbolic link has no mode.
    fn own(
        &self,
        folder: &Inode,
        made: &OwnedFd,
        mode: Option<u32>,
        who: FileOwner,
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

/// What a name stands for.
struct NamedFile {
    ino: InodeNumber,
    stat: Stat,
}

impl NamedFile {
    /// Whether it loses its last name with this one.
    fn has_one_name(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory || self.stat.st_nlink == 1
    }
}

/// A descriptor that says what a name stands for.
fn find(folder: &Inode, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder.any(), name, flags, Mode::empty())
}
