//! Extended attributes of crash images: what was set is durable at once.

use std::ffi::{CStr, OsStr};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{CrashImage, NodeKind};
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::contents::BackingContents;
use super::{InodeNumber, ROOT};

/// Beside `user.…`: others are the machine's, such as a label of SELinux.
const KEPT: [&str; 3] =
    ["security.capability", "system.posix_acl_access", "system.posix_acl_default"];
/// Linux, `XATTR_SIZE_MAX` and `XATTR_LIST_MAX`.
const LONGEST: usize = 64 << 10;

impl BackingContents<'_> {
    /// Gives the files and folders of an image in `to` the attributes that they have now.
    pub(super) fn copy_extended(&self, image: &CrashImage<'_>, to: &Path) -> io::Result<()> {
        let mut left = vec![(image.root(), to.to_owned())];
        while let Some((ino, path)) = left.pop() {
            let Some(item) = image.item(ino) else { continue };
            if matches!(item.kind, NodeKind::File | NodeKind::Directory) {
                self.copy_attributes(ino, &path)?;
            }
            left.extend(item.entries.iter().map(|(name, entry)| (*entry, path.join(name))));
        }
        Ok(())
    }

    fn copy_attributes(&self, ino: InodeNumber, to: &Path) -> io::Result<()> {
        let Some((from, _held)) = self.find_place(ino)? else { return Ok(()) };
        let mut names = vec![0; LONGEST];
        let length = match rustix::fs::listxattr(&from, &mut names) {
            Ok(length) => length,
            // Moved while a snapshot is made, or not for this user.
            Err(Errno::NOTSUP | Errno::NOENT | Errno::ACCESS) => 0,
            Err(error) => return Err(error.into()),
        };
        let names = names[..length].split_inclusive(|byte| *byte == 0);
        let mut value = vec![0; LONGEST];
        for name in names.filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
            let shown = OsStr::from_bytes(name.to_bytes());
            let is_user = name.to_bytes().starts_with(b"user.");
            if !is_user && KEPT.iter().all(|kept| shown != *kept) {
                continue;
            }
            let length = match rustix::fs::getxattr(&from, name, &mut value) {
                Ok(length) => length,
                Err(Errno::NODATA | Errno::NOENT | Errno::ACCESS) => continue,
                Err(error) => return Err(error.into()),
            };
            match set_attribute(to, name, &value[..length]) {
                Err(Errno::PERM | Errno::NOTSUP) if !is_user => {}
                set => set?,
            }
        }
        Ok(())
    }

    /// Its path, which holds as long as what comes with it; `None` if it is gone.
    fn find_place(&self, ino: InodeNumber) -> io::Result<Option<(PathBuf, Option<fs::File>)>> {
        let backing =
            PathBuf::from(format!("/proc/self/fd/{}", self.backing().as_fd().as_raw_fd()));
        if ino == ROOT {
            return Ok(Some((backing.join("."), None)));
        }
        if let Some(path) = self.path_below_backing(ino) {
            return Ok(Some((backing.join(path), None)));
        }
        match self.open_orphan(ino) {
            Ok(file) => {
                let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                Ok(Some((path, Some(file))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A file that its owner may not write takes an attribute only while they may.
fn set_attribute(path: &Path, name: &CStr, value: &[u8]) -> Result<(), Errno> {
    let set = || rustix::fs::setxattr(path, name, value, XattrFlags::empty());
    match set() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let failed = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let before = fs::metadata(path).map_err(failed)?.permissions();
    fs::set_permissions(path, Permissions::from_mode(before.mode() | 0o200)).map_err(failed)?;
    let done = set();
    fs::set_permissions(path, before).map_err(failed)?;
    done
}
