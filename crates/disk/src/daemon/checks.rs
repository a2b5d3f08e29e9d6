use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bakeoff_devices::spec::Spec;

use crate::error::Error;
use crate::mount_table;
use crate::options::MountOptions;
use crate::registry::MountNote;

/// The missing folders that were made. Empty ones go when this is dropped.
pub struct MadeFolders {
    backing: Option<PathBuf>,
    mountpoint: Option<PathBuf>,
}

impl MadeFolders {
    pub fn make_missing(options: &MountOptions) -> Result<Self, Error> {
        let mut made = Self { backing: None, mountpoint: None };
        made.backing = make_folder(&options.backing)?;
        made.mountpoint = make_folder(&options.mountpoint)?;
        Ok(made)
    }

    pub fn keep_backing(&mut self) {
        self.backing = None;
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.mountpoint.iter().chain(&self.backing) {
            // A folder with contents stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn make_folder(folder: &Path) -> Result<Option<PathBuf>, Error> {
    let made = fs::create_dir(folder).and_then(|()| std::path::absolute(folder));
    match made {
        Ok(path) => Ok(Some(path)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => {
            Err(Error::Folder(format!("{}: it can't be made: {error}", folder.display())))
        }
    }
}

pub fn check_folders(options: &MountOptions, spec: &Spec) -> Result<MountNote, Error> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| {
        Error::Folder(format!("{}: {why}", path.display()))
    };
    let (given, backing) = (&options.backing, options.backing.canonicalize());
    let backing = backing.map_err(|error| wrong(given, &format!("the backing folder: {error}")))?;
    if !backing.is_dir() {
        return Err(wrong(given, &"it is not a folder; the files of the disk are kept in one"));
    }
    let access =
        rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(&backing, access)
        .map_err(|error| wrong(given, &format!("you may not write there: {error}")))?;
    let given = &options.mountpoint;
    let mountpoint =
        mount_table::resolve_mountpoint(given).map_err(|error| wrong(given, &error))?;
    if mount_table::is_ours(&mountpoint) {
        let why = format!("a disk is mounted here: bakeoff disk unmount {}", given.display());
        return Err(wrong(given, &why));
    }
    if let Some(other) = mount_table::find_mount_at(&mountpoint) {
        let why = format!("something else ({}) is mounted here; take another folder", other.kind);
        return Err(wrong(given, &why));
    }
    if !mountpoint.is_dir() {
        return Err(wrong(given, &"it is not a folder; a disk is mounted on an empty one"));
    }
    if mountpoint.starts_with(&backing) || backing.starts_with(&mountpoint) {
        let why = format!("{} and the mountpoint may not be inside each other", backing.display());
        return Err(wrong(given, &why));
    }
    if !is_empty(&mountpoint).map_err(|error| wrong(given, &error))? {
        return Err(wrong(given, &"it is not empty; a disk is mounted on an empty folder"));
    }
    Ok(MountNote { pid: std::process::id(), backing, mountpoint, model: spec.to_string() })
}

pub fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().is_none())
}

pub const MEND: &str = "on a machine of your own, load the kernel's module (modprobe fuse); in a \
                    container, start it with --device /dev/fuse --cap-add SYS_ADMIN; without root, \
                    install fusermount3 (Debian: apt-get install fuse3)";

/// The number of the device /dev/fuse: Linux, `Documentation/admin-guide/devices.txt`.
const FUSE: (u32, u32) = (10, 229);

/// Checks that FUSE can be used, as far as that can be seen without mounting.
pub fn can_mount() -> Result<(), Error> {
    let device = Path::new("/dev/fuse");
    let opened = fs::File::options().read(true).write(true).open(device);
    let why = match opened.map(|file| rustix::fs::fstat(&file)) {
        Ok(Ok(stat))
            if (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)) == FUSE =>
        {
            return Ok(());
        }
        Ok(_) => "is something else here".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => "is not there".to_owned(),
        // fusermount3 opens it as its caller, too.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(Error::Failed(
                "virtual disks need FUSE, and you may not open /dev/fuse: have root let all users do \
                 so, as on most machines (chmod 666 /dev/fuse), or run bakeoff as root"
                    .into(),
            ));
        }
        Err(error) => format!("can't be opened ({error})"),
    };
    Err(Error::Failed(format!("virtual disks need FUSE, and /dev/fuse {why}: {MEND}")))
}
