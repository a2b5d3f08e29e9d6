//! The kernel's accounts of a device and a folder.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bakeoff_folders::Dir;

/// The block device under a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, `major:minor`.
    pub number: String,
    /// Its name, such as `vda`; the number where the kernel has no block device for it.
    pub name: String,
}

/// Bytes per sector in the kernel's block statistics, whatever the device's own sector size.
const SECTOR: u64 = 512;

/// Where a device's kind of driver tells a number that no other device has.
const SERIALS: [&str; 4] = ["serial", "wwid", "device/serial", "device/wwid"];

impl Device {
    /// The device under `folder`.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn under(folder: &Path) -> io::Result<Self> {
        Ok(Self::of(fs::metadata(folder)?.dev()))
    }

    /// The device of that number, as stat(2) has it.
    pub fn of(device: u64) -> Self {
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let link = fs::read_link(format!("/sys/dev/block/{number}")).ok();
        let name = link.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        Self { name: name.unwrap_or_else(|| number.clone()), number }
    }

    /// Its name with what tells it from others: its number, its size, and its serial number where it has one.
    /// Source: Documentation/ABI/stable/sysfs-block of the kernel.
    pub fn in_full(&self) -> String {
        let read = |file: &str| {
            let text = fs::read_to_string(format!("/sys/dev/block/{}/{file}", self.number)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let sectors = read("size").and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        // A partition has its disk's.
        let serial = ["", "../"]
            .iter()
            .find_map(|of| SERIALS.iter().find_map(|file| read(&format!("{of}{file}"))));
        let serial = serial.map_or_else(String::new, |serial| format!(", serial {serial}"));
        format!("{} ({}, {} bytes{serial})", self.name, self.number, sectors * SECTOR)
    }

    /// Bytes read from and written to the device since the machine started, by anybody; `None`
    /// for a file system without a block device.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let fields = self.statistics()?;
        Some((fields.get(2)? * SECTOR, fields.get(6)? * SECTOR))
    }

    /// Flushes of the device's cache since the machine started, by anybody; `None` where it is not
    /// known.
    pub fn flushes(&self) -> Option<u64> {
        self.statistics()?.get(15).copied()
    }

    /// Source: Documentation/block/stat.rst of the kernel.
    fn statistics(&self) -> Option<Vec<u64>> {
        let text = fs::read_to_string(format!("/sys/dev/block/{}/stat", self.number)).ok()?;
        text.split_whitespace().map(|field| field.parse().ok()).collect()
    }
}

/// Bytes that the files below a folder take on disk: allocated blocks, so that a sparse file
/// counts for what it holds.
///
/// # Errors
/// When a folder below can't be read; files that vanish meanwhile count for nothing.
pub fn space(folder: &Path) -> io::Result<u64> {
    bakeoff_folders::space(&Dir::open(folder)?)
}

/// Bytes that an unprivileged process may still write on the file system of `folder`.
///
/// # Errors
/// When the file system can't be asked.
pub fn free(folder: &Path) -> io::Result<u64> {
    let file_system = rustix::fs::statvfs(folder)?;
    Ok(file_system.f_bavail * file_system.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_the_kernel_does_not_list_is_told_by_its_number() {
        let device = Device::of(rustix::fs::makedev(4094, 3));
        assert_eq!(device.name, "4094:3");
        assert_eq!(device.in_full(), "4094:3 (4094:3, 0 bytes)");
    }

    #[test]
    fn space_counts_blocks_below_and_not_holes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/full"), vec![1u8; 100_000]).unwrap();
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let bytes = space(folder.path()).unwrap();
        assert!((100_000..1_000_000).contains(&bytes), "{bytes}");
    }
}
