//! A raw device in the place of files: what the run that writes to it holds, and what the processes that
//! work on it know of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
    /// It can't be opened so, or the path leads to something else.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        let file = options.open(&self.path)?;
        match file.metadata()?.rdev() == self.number {
            true => Ok(file),
            false => Err(io::Error::other("its path leads to another device by now")),
        }
    }
}

/// A raw device that a run may write to: nobody else mounts it, swaps to it or builds another device over it as
/// long as this is there.
#[derive(Debug)]
pub struct HeldDevice {
    device: RawDevice,
    /// The kernel gives such a descriptor to one process at a time, and to none while the device is in use. It is
    /// gone with this process, however that ends. Source: open(2), `O_EXCL`.
    _exclusive: File,
}

impl HeldDevice {
    /// Takes a device; nothing is written to it. `path` is no link.
    ///
    /// # Errors
    /// It can't be written to; [`io::ErrorKind::ResourceBusy`] where it, a partition of it, or the whole of which
    /// it is a partition is in use.
    pub fn hold(path: &Path) -> io::Result<Self> {
        let flags = libc::O_EXCL | libc::O_NOFOLLOW;
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.file_type().is_block_device() {
            return Err(io::Error::other("it is no block device"));
        }
        let bytes = file.seek(SeekFrom::End(0))?;
        let sector = rustix::fs::ioctl_blksszget(&file)?;
        let device = RawDevice { path: path.into(), number: about.rdev(), bytes, sector };
        Ok(Self { device, _exclusive: file })
    }

    /// What the processes that work on it are told.
    pub fn device(&self) -> &RawDevice {
        &self.device
    }
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
    fn a_path_that_leads_to_another_device_by_now_is_not_opened() {
        let number = std::fs::metadata("/dev/null").unwrap().rdev();
        let device = |number| RawDevice { path: "/dev/null".into(), number, bytes: 0, sector: 512 };
        assert!(device(number).open(OpenOptions::new().read(true)).is_ok());
        let error = device(number + 1).open(OpenOptions::new().read(true)).unwrap_err();
        assert!(error.to_string().contains("another device"), "{error}");
    }
}
