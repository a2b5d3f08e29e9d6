use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use bakeoff_devices::plug::NodeKind;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::durable::{to_attributes, to_entry_place};
use super::inode::Inode;
use super::{InodeNumber, Volume, is_hidden, path_of};

#[derive(Clone, Copy, Debug)]
pub struct FileOwner {
    pub uid: u32,
    /// Used unless the folder gives its own group to new entries (`S_ISGID`).
    pub gid: u32,
}

impl Volume {
    /// The application holds the file until it has let go of it ([`Volume::forget`]) as often as it
    /// has looked it up. The same holds for everything that is made here.
    pub fn lookup(&self, parent: InodeNumber, name: &OsStr) -> Result<Stat, Errno> {
        let folder = self.find_inode(parent)?;
        self.find_and_hold(&folder, name)
    }

    /// Also opens the file. `mode` is used as it is: the umask has been taken off.
    pub fn create(
        self: &Arc<Self>,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.make_entry(parent, name, (Some(mode), who), NodeKind::File, |folder| {
            rustix::fs::openat(folder.any_descriptor(), name, flags, Mode::from_raw_mode(mode))
        })
    }

    pub fn mkdir(
        self: &Arc<Self>,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        self.make_entry(parent, name, (Some(mode), who), NodeKind::Directory, |folder| {
            rustix::fs::mkdirat(folder.any_descriptor(), name, Mode::from_raw_mode(mode))?;
            open_entry(folder, name)
        })
    }

    /// Makes a file, pipe, socket or device file, as `mode` says.
    pub fn mknod(
        self: &Arc<Self>,
        parent: InodeNumber,
        name: &OsStr,
        mode: u32,
        device: u64,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let format = FileType::from_raw_mode(mode);
        let kind = match format {
            FileType::RegularFile => NodeKind::File,
            other => NodeKind::Special(other.as_raw_mode(), device),
        };
        self.make_entry(parent, name, (Some(mode), who), kind, |folder| {
            let mode = Mode::from_raw_mode(mode);
            rustix::fs::mknodat(folder.any_descriptor(), name, format, mode, device)?;
            open_entry(folder, name)
        })
    }

    pub fn symlink(
        self: &Arc<Self>,
        parent: InodeNumber,
        name: &OsStr,
        target: &Path,
        who: FileOwner,
    ) -> Result<Stat, Errno> {
        let kind = NodeKind::Symlink(target.as_os_str().to_owned());
        self.make_entry(parent, name, (None, who), kind, |folder| {
            rustix::fs::symlinkat(target, folder.any_descriptor(), name)?;
            open_entry(folder, name)
        })
    }

    /// Makes something, of which `make` returns a descriptor.
    fn make_entry(
        self: &Arc<Self>,
        parent: InodeNumber,
        name: &OsStr,
        (mode, who): (Option<u32>, FileOwner),
        kind: NodeKind,
        make: impl FnOnce(&Inode) -> Result<OwnedFd, Errno>,
    ) -> Result<Stat, Errno> {
        self.await_room(0);
        let _power = self.hold_power()?;
        let folder = self.room_for(parent, name)?;
        let _naming = self.lock_naming();
        let made = make(&folder)?;
        self.hold_new(&folder, name, made, mode, who, kind)
    }

    pub fn readlink(&self, ino: InodeNumber) -> Result<OsString, Errno> {
        let link = self.find_inode(ino)?;
        let target = rustix::fs::readlinkat(link.any_descriptor(), "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    pub fn link(
        self: &Arc<Self>,
        ino: InodeNumber,
        parent: InodeNumber,
        name: &OsStr,
    ) -> Result<Stat, Errno> {
        self.await_room(0);
        let _power = self.hold_power()?;
        let (inode, folder) = (self.find_inode(ino)?, self.room_for(parent, name)?);
        let _naming = self.lock_naming();
        if inode.is_nameless() {
            return Err(Errno::NOENT);
        }
        let by = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(
            rustix::fs::CWD,
            path_of(inode.any_descriptor()),
            folder.any_descriptor(),
            name,
            by,
        )?;
        self.note_renamed(&[ino], |pending| pending.link(to_entry_place(parent, name), ino));
        let stat = inode.stat()?;
        self.inodes.hold(inode);
        Ok(stat)
    }

    pub fn unlink(&self, parent: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let _power = self.hold_power()?;
        let folder = self.find_inode(parent)?;
        let _naming = self.lock_naming();
        let thing = self.find_named(&folder, name)?;
        if thing.has_one_name() && self.may_show_after_removal(&thing) {
            self.orphans.move_here(&folder, name, thing.ino, thing.stat.st_ino)?;
        } else {
            rustix::fs::unlinkat(folder.any_descriptor(), name, AtFlags::empty())?;
        }
        self.note_renamed(&[thing.ino], |pending| {
            pending.remove(to_entry_place(parent, name), thing.ino)
        });
        self.lost_name(&thing);
        Ok(())
    }

    pub fn rmdir(&self, parent: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let _power = self.hold_power()?;
        let folder = self.find_inode(parent)?;
        let _naming = self.lock_naming();
        let thing = self.find_named(&folder, name)?;
        rustix::fs::unlinkat(folder.any_descriptor(), name, AtFlags::REMOVEDIR)?;
        self.note_renamed(&[thing.ino], |pending| {
            pending.remove(to_entry_place(parent, name), thing.ino)
        });
        self.lost_name(&thing);
        Ok(())
    }

    /// A file with the new name is replaced, refused or exchanged, as the flags say.
    pub fn rename(
        self: &Arc<Self>,
        from: InodeNumber,
        name: &OsStr,
        to: InodeNumber,
        new_name: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if !(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE).contains(flags) {
            return Err(Errno::INVAL);
        }
        self.await_room(0);
        let _power = self.hold_power()?;
        let (old, new) = (self.find_inode(from)?, self.room_for(to, new_name)?);
        let _naming = self.lock_naming();
        let thing = self.find_named(&old, name)?;
        let there = match self.find_named(&new, new_name) {
            Err(Errno::NOENT) => None,
            there => Some(there?),
        };
        let (source, target) = (to_entry_place(from, name), to_entry_place(to, new_name));
        if flags.contains(RenameFlags::EXCHANGE) {
            let there = there.ok_or(Errno::NOENT)?;
            rustix::fs::renameat_with(
                old.any_descriptor(),
                name,
                new.any_descriptor(),
                new_name,
                flags,
            )?;
            self.note_renamed(&[thing.ino, there.ino], |pending| {
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
        if let Err(error) = rustix::fs::renameat_with(
            old.any_descriptor(),
            name,
            new.any_descriptor(),
            new_name,
            flags,
        ) {
            buried.map(|ino| self.orphans.remove(ino));
            return Err(error);
        }
        let replaced = there.as_ref().map(|there| there.ino);
        self.note_renamed(&[thing.ino, replaced.unwrap_or(thing.ino)], |pending| {
            pending.rename(source, target, thing.ino, replaced)
        });
        if let Some(there) = there.filter(|there| there.ino != thing.ino) {
            self.lost_name(&there);
        }
        Ok(())
    }

    pub(super) fn find_and_hold(&self, folder: &Inode, name: &OsStr) -> Result<Stat, Errno> {
        if is_hidden(folder.ino, name) {
            return Err(Errno::NOENT);
        }
        let place = open_entry(folder, name)?;
        let stat = rustix::fs::fstat(&place)?;
        if stat.st_dev != self.device {
            return Err(Errno::XDEV);
        }
        let (ino, _) = self.numbers.find_or_assign(stat.st_ino);
        let inode = self.inodes.hold(Inode::from_place(ino, place, &stat));
        Ok(inode.adjust_stat(stat))
    }

    fn room_for(&self, parent: InodeNumber, name: &OsStr) -> Result<Arc<Inode>, Errno> {
        let folder = self.find_inode(parent)?;
        if is_hidden(parent, name) {
            return Err(Errno::PERM);
        }
        self.make_room_for_name()?;
        Ok(folder)
    }

    fn find_named(&self, folder: &Inode, name: &OsStr) -> Result<NamedFile, Errno> {
        if is_hidden(folder.ino, name) {
            return Err(Errno::NOENT);
        }
        let stat = rustix::fs::statat(folder.any_descriptor(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        let (ino, _) = self.numbers.find_or_assign(stat.st_ino);
        Ok(NamedFile { ino, stat })
    }

    /// Whether a power cut may show the content of a file without a name: if the removal itself is
    /// not durable, unless everything about the file is pending.
    fn may_show_after_removal(&self, thing: &NamedFile) -> bool {
        let is_file = FileType::from_raw_mode(thing.stat.st_mode) == FileType::RegularFile;
        is_file && self.lock_model().pending.needs_content(thing.ino)
    }

    /// A file that has lost its last name and is not held is removed.
    fn lost_name(&self, thing: &NamedFile) {
        if !thing.has_one_name() {
            return;
        }
        if !self.inodes.note_nameless(thing.ino) {
            self.forget_file(thing.ino, thing.stat.st_ino);
        }
        self.last_removal.note(thing.stat.st_blocks.cast_unsigned() * 512);
    }

    fn hold_new(
        &self,
        folder: &Inode,
        name: &OsStr,
        made: OwnedFd,
        mode: Option<u32>,
        who: FileOwner,
        kind: NodeKind,
    ) -> Result<Stat, Errno> {
        let stat = self.set_owner(folder, &made, mode, who)?;
        let ino = self.numbers.assign(stat.st_ino);
        let open = kind == NodeKind::File && rustix::fs::fcntl_getfl(&made)?.contains(OFlags::RDWR);
        let inode = if open {
            Inode::from_created(ino, made, &stat)
        } else {
            Inode::from_place(ino, made, &stat)
        };
        let place = to_entry_place(folder.ino, name);
        self.note_renamed(&[], |pending| pending.create(place, ino, kind, to_attributes(&stat)));
        Ok(self.inodes.hold(inode).adjust_stat(stat))
    }

    /// Sets owner and mode where the system gave those of this process. A symbolic link has no
    /// mode.
    fn set_owner(
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

struct NamedFile {
    ino: InodeNumber,
    stat: Stat,
}

impl NamedFile {
    fn has_one_name(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory || self.stat.st_nlink == 1
    }
}

fn open_entry(folder: &Inode, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder.any_descriptor(), name, flags, Mode::empty())
}
