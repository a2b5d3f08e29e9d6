//! A raw device in the place of files: what the run that writes to it holds, and what the processes that
//! work on it know of it.

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

/// So often a lock is asked for that udev may have for a moment, while it looks at a device.
const LOCK_TRIES: u32 = 40;
/// How long to wait between two of these.
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// A raw device, as the processes that work on it know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawDevice {
    /// Its path, without links.
    pub path: PathBuf,
    /// Its number, as stat(2) has it in `st_rdev`.
    pub number: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// Bytes of its logical blocks: direct requests are for a multiple of them.
    pub sector: u32,
}

impl RawDevice {
    /// Opens it, if its path still leads to it.
    ///
    /// # Errors
    /// It can't be opened so, or the path leads to something else: a link, too.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        // Nothing is opened for reading or writing before it is known what it is.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = File::from(rustix::fs::open(&self.path, flags, Mode::empty())?);
        self.check(&found)?;
        let file = options.open(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
        self.check(&file)?;
        Ok(file)
    }

    /// Refuses what is not this device.
    fn check(&self, file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        if !about.file_type().is_block_device() {
            return Err(io::Error::other("its path leads to no block device by now"));
        }
        if about.rdev() != self.number {
            return Err(io::Error::other("its path leads to another device by now"));
        }
        Ok(())
    }

    /// Whether it keeps its data in memory, so that no disk would be measured, or may do so since nobody can tell.
    pub fn is_in_memory(&self) -> bool {
        fs::canonicalize(listed(self.number)).is_ok_and(|folder| is_in_memory(&folder))
    }
}

/// Where the kernel lists a device.
fn listed(number: u64) -> PathBuf {
    format!("/sys/dev/block/{}:{}", major(number), minor(number)).into()
}

/// Whether the device that the kernel lists in a folder, or one below it, keeps its data in memory. Source:
/// Documentation/ABI/stable/sysfs-block and testing/sysfs-block-loop of the kernel.
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

/// The same of what is behind a loop device. What can't be looked at may be in memory.
fn is_backing_in_memory(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return true };
    if about.file_type().is_block_device() {
        return fs::canonicalize(listed(about.rdev())).map_or(true, |folder| is_in_memory(&folder));
    }
    File::open(path).and_then(|file| neighbour::is_in_memory(&file)).unwrap_or(true)
}

/// A raw device that a run may write to: nobody else mounts it, swaps to it or builds another device over it as
/// long as this is there, or a process that was started meanwhile.
#[derive(Debug)]
pub struct HeldDevice {
    device: RawDevice,
    /// The kernel gives such a descriptor to one holder at a time, and to none while the device is in use. Processes
    /// that are started have it, too: so it is gone with the last that may write, however this one ends. Source:
    /// open(2), `O_EXCL`.
    _exclusive: File,
    /// The whole disk's node, locked: udev and the tools that partition disks leave a disk alone that is. Source:
    /// "Locking Block Device Access" of systemd.
    _locked: File,
}

impl HeldDevice {
    /// Takes a device; nothing is written to it. `path` is no link.
    ///
    /// # Errors
    /// It can't be written to; its disk's node can't be locked; [`io::ErrorKind::ResourceBusy`] where it, a partition
    /// of it, or the whole of which it is a partition is in use.
    pub fn hold(path: &Path) -> io::Result<Self> {
        let flags = libc::O_EXCL | libc::O_NOFOLLOW;
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.file_type().is_block_device() {
            return Err(io::Error::other("it is no block device"));
        }
        // Some kernels open one that is read-only for writing, and refuse each write.
        let read_only = fs::read_to_string(listed(about.rdev()).join("ro"));
        if read_only.is_ok_and(|it| it.trim() == "1") {
            return Err(io::Error::from(Errno::ROFS));
        }
        let bytes = file.seek(SeekFrom::End(0))?;
        let sector = rustix::fs::ioctl_blksszget(&file)?;
        let device = RawDevice { path: path.into(), number: about.rdev(), bytes, sector };
        let locked = whole(&file, device.number)?;
        lock(&locked)?;
        for held in [&file, &locked] {
            fcntl_setfd(held, FdFlags::empty())?;
        }
        Ok(Self { device, _exclusive: file, _locked: locked })
    }

    /// What the processes that work on it are told.
    pub fn device(&self) -> &RawDevice {
        &self.device
    }
}

/// The node of the whole disk of a device, opened: the device itself where it is no partition.
fn whole(device: &File, number: u64) -> io::Result<File> {
    let listed = listed(number);
    if !listed.join("partition").exists() {
        return device.try_clone();
    }
    // The folder of a partition lies in its disk's.
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

/// Locks a disk's node.
fn lock(disk: &File) -> io::Result<()> {
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
    fn what_is_no_block_device_is_not_held() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "years").unwrap();
        let error = HeldDevice::hold(&file).unwrap_err();
        assert!(error.to_string().contains("no block device"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), b"years");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(HeldDevice::hold(&link).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn a_path_that_leads_to_something_else_by_now_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "years").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
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
        for path in ["zram0", "ram1", "sda/sda1", "dm-0/slaves", "dm-1/slaves", "loop0/loop"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("sda/sda1/partition"), "1\n").unwrap();
        fs::create_dir(at("zram0/zram0p1")).unwrap();
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
