//! A raw device that takes the place of files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bakeoff_disk::neighbour;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

/// udev may hold the lock for a moment while it looks at the device.
const LOCK_TRIES: u32 = 40;
const LOCK_WAIT: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawDevice {
    pub path: PathBuf,
    /// `st_rdev` of stat(2).
    pub number: u64,
    pub bytes: u64,
    /// Direct requests must be a multiple of this logical block size.
    pub sector: u32,
}

impl RawDevice {
    /// Fails if the path now leads to something else, or to a link.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        // Check what it is before opening it for reading or writing.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = File::from(rustix::fs::open(&self.path, flags, Mode::empty())?);
        self.check_identity(&found)?;
        let file = options.open(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
        self.check_identity(&file)?;
        Ok(file)
    }

    fn check_identity(&self, file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        if !about.file_type().is_block_device() {
            return Err(io::Error::other("its path leads to no block device by now"));
        }
        if about.rdev() != self.number {
            return Err(io::Error::other("its path leads to another device by now"));
        }
        Ok(())
    }

    /// Also true if it can't be found out.
    pub fn is_in_memory(&self) -> bool {
        fs::canonicalize(sysfs_folder(self.number)).is_ok_and(|folder| is_in_memory(&folder))
    }
}

fn sysfs_folder(number: u64) -> PathBuf {
    format!("/sys/dev/block/{}:{}", major(number), minor(number)).into()
}

/// Source: Documentation/ABI/stable/sysfs-block and testing/sysfs-block-loop of the kernel.
fn is_in_memory(folder: &Path) -> bool {
    if folder.join("partition").exists() {
        return folder.parent().is_some_and(is_in_memory);
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("ram") || name.starts_with("zram") {
        return true;
    }
    if let Ok(backing) = fs::read_to_string(folder.join("loop/backing_file")) {
        return is_backing_in_memory(Path::new(backing.trim_end_matches('\n')));
    }
    let below = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let mut below = below.filter_map(|entry| entry.path().canonicalize().ok());
    below.any(|folder| is_in_memory(&folder))
}

/// A backing file that can't be looked at may be in memory.
fn is_backing_in_memory(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return true };
    if about.file_type().is_block_device() {
        return fs::canonicalize(sysfs_folder(about.rdev()))
            .map_or(true, |folder| is_in_memory(&folder));
    }
    File::open(path).and_then(|file| neighbour::is_in_memory(&file)).unwrap_or(true)
}

/// As long as this exists, or a process that was started meanwhile, nobody can mount the device,
/// swap to it or build another device over it.
#[derive(Debug)]
pub struct HeldDevice {
    device: RawDevice,
    /// The kernel gives such a descriptor to one holder, and to none while the device is in use.
    /// Started processes inherit it, so the hold lasts until the last writer is gone. Source:
    /// open(2), `O_EXCL`.
    _exclusive: File,
    /// udev and partitioning tools leave a locked disk alone. Source: "Locking Block Device Access"
    /// of systemd.
    _locked: File,
}

impl HeldDevice {
    /// Writes nothing. Fails with [`io::ErrorKind::ResourceBusy`] if the device, a partition of it,
    /// or its whole disk is in use.
    pub fn hold(path: &Path) -> io::Result<Self> {
        let flags = libc::O_EXCL | libc::O_NOFOLLOW;
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.file_type().is_block_device() {
            return Err(io::Error::other("it is no block device"));
        }
        // Some kernels open a read-only device for writing and then refuse each write.
        let read_only = fs::read_to_string(sysfs_folder(about.rdev()).join("ro"));
        if read_only.is_ok_and(|it| it.trim() == "1") {
            return Err(io::Error::from(Errno::ROFS));
        }
        let bytes = file.seek(SeekFrom::End(0))?;
        let sector = rustix::fs::ioctl_blksszget(&file)?;
        let device = RawDevice { path: path.into(), number: about.rdev(), bytes, sector };
        let locked = open_whole_disk(&file, device.number)?;
        lock_disk(&locked)?;
        for held in [&file, &locked] {
            fcntl_setfd(held, FdFlags::empty())?;
        }
        Ok(Self { device, _exclusive: file, _locked: locked })
    }

    pub fn device(&self) -> &RawDevice {
        &self.device
    }
}

fn open_whole_disk(device: &File, number: u64) -> io::Result<File> {
    let listed = sysfs_folder(number);
    if !listed.join("partition").exists() {
        return device.try_clone();
    }
    // The folder of a partition lies in the folder of its disk.
    let about = fs::read_to_string(listed.join("../uevent"))?;
    let of = |key: &str| about.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let path = Path::new("/dev").join(of("DEVNAME="));
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let disk = OpenOptions::new().read(true).custom_flags(flags).open(&path)?;
    let found = disk.metadata()?;
    let [own, wanted] = [
        format!("{}:{}", major(found.rdev()), minor(found.rdev())),
        format!("{}:{}", of("MAJOR="), of("MINOR=")),
    ];
    match found.file_type().is_block_device() && own == wanted {
        true => Ok(disk),
        false => Err(io::Error::other(format!("{} is not its whole disk", path.display()))),
    }
}

fn lock_disk(disk: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match flock(disk, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_WAIT),
            locked => return locked.map_err(io::Error::from),
        }
    }
    Err(io::Error::other("somebody else has a lock on the disk (flock)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_not_held_or_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "years").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let error = HeldDevice::hold(&file).unwrap_err();
        assert!(error.to_string().contains("no block device"), "{error}");
        assert_eq!(HeldDevice::hold(&link).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        // Paths that lead to something else by now.
        let number = std::fs::metadata("/dev/null").unwrap().rdev();
        for path in ["/dev/null".into(), file.clone(), link] {
            let device = RawDevice { path, number, bytes: 0, sector: 512 };
            let options = OpenOptions::new().write(true).truncate(true).clone();
            let error = device.open(&options).unwrap_err();
            assert!(error.to_string().contains("no block device"), "{device:?}: {error}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"years");
    }

    #[test]
    fn devices_that_keep_their_data_in_memory_are_known_and_those_above_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
        for path in
            ["zram0/zram0p1", "ram1", "sda/sda1", "dm-0/slaves", "dm-1/slaves", "loop0/loop"]
        {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("sda/sda1/partition"), "1\n").unwrap();
        fs::write(at("zram0/zram0p1/partition"), "1\n").unwrap();
        std::os::unix::fs::symlink(at("zram0"), at("dm-0/slaves/zram0")).unwrap();
        std::os::unix::fs::symlink(at("sda/sda1"), at("dm-1/slaves/sda1")).unwrap();
        // Nobody can tell what is behind it.
        fs::write(at("loop0/loop/backing_file"), "/nowhere/image (deleted)\n").unwrap();
        for name in ["zram0", "ram1", "dm-0", "zram0/zram0p1", "loop0"] {
            assert!(is_in_memory(&at(name)), "{name}");
        }
        for name in ["sda", "sda/sda1", "dm-1"] {
            assert!(!is_in_memory(&at(name)), "{name}");
        }
    }
}
