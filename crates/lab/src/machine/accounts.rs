//! The kernel's accounts of a device and a folder.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bakeoff_folders::Dir;

/// The block device under a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its number, `major:minor`.
    pub number: String,
    /// Its name, such as `vda`; the number where the kernel has no block device for it.
    pub name: String,
}

/// Bytes per sector in the kernel's block statistics, whatever the device's own sector size.
const SECTOR: u64 = 512;

/// What `statfs` calls file systems that a process serves (linux/magic.h).
const FUSE: u64 = 0x6573_5546;

/// Where a device's kind of driver tells a number that no other device has.
const SERIALS: [&str; 7] =
    ["dm/uuid", "md/uuid", "uuid", "serial", "wwid", "device/serial", "device/wwid"];
/// Where the kernel lists devices by their numbers.
const LISTED: &str = "/sys/dev/block";

impl BlockDevice {
    /// The device under `folder`.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn under(folder: &Path) -> io::Result<Self> {
        Ok(Self::from_number(fs::metadata(folder)?.dev()))
    }

    /// The device of that number, as stat(2) has it.
    pub fn from_number(device: u64) -> Self {
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let link = fs::read_link(format!("/sys/dev/block/{number}")).ok();
        let name = link.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        Self { name: name.unwrap_or_else(|| number.clone()), number }
    }

    /// Its name with what tells it from others: its number, its size, where it begins if it is a partition, and its
    /// serial number. One without is known only as long as it is not attached anew, and until the machine is
    /// started anew: `boot` tells that from others. Source: Documentation/ABI/stable/sysfs-block of the kernel.
    pub fn in_full(&self, boot: &str) -> String {
        self.told(Path::new(LISTED), boot)
    }

    /// The same by the folder in which devices are listed.
    fn told(&self, listed: &Path, boot: &str) -> String {
        let listed = listed.join(&self.number);
        let read = |file: &str| {
            let text = fs::read_to_string(listed.join(file)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let bytes = |file: &str| Some(read(file)?.parse::<u64>().ok()? * SECTOR);
        // A partition has its disk's.
        let of_disk = if read("partition").is_some() { &["", "../"][..] } else { &[""][..] };
        let find = |files: &[&str]| {
            of_disk.iter().find_map(|of| files.iter().find_map(|it| read(&format!("{of}{it}"))))
        };
        let start = bytes("start").map_or_else(String::new, |start| format!(" from byte {start}"));
        let known = find(&SERIALS).map(|serial| format!("serial {serial}")).unwrap_or_else(|| {
            let number = find(&["diskseq"]).unwrap_or_else(|| "?".into());
            format!("attached as {number} since boot {boot}")
        });
        let (name, number, size) = (&self.name, &self.number, bytes("size").unwrap_or(0));
        format!("{name} ({number}, {size} bytes{start}, {known})")
    }

    /// Bytes read from and written to the device since the machine started, by anybody; `None`
    /// for a file system without a block device.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let fields = self.statistics()?;
        Some((fields.get(2)? * SECTOR, fields.get(6)? * SECTOR))
    }

    /// Flushes of the device's cache since the machine started, by anybody; `None` where it is not
    /// known: the kernel counts none of partitions, nor of devices over others.
    pub fn flushes(&self) -> Option<u64> {
        let listed = Path::new(LISTED).join(&self.number);
        let is_counted = ["partition", "dm", "md"].iter().all(|it| !listed.join(it).exists());
        self.statistics().filter(|_| is_counted)?.get(15).copied()
    }

    /// Source: Documentation/block/stat.rst of the kernel.
    fn statistics(&self) -> Option<Vec<u64>> {
        let text = fs::read_to_string(format!("{LISTED}/{}/stat", self.number)).ok()?;
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

/// Whether a process serves the file system of `folder`. It may have a block device (`fuseblk`) that the kernel
/// counts the requests of that process for, and not those of whoever reads the files.
///
/// # Errors
/// When the file system can't be asked.
pub fn is_fuse(folder: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(folder)?.f_type as u64 & 0xffff_ffff == FUSE)
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
        let device = BlockDevice::from_number(rustix::fs::makedev(4094, 3));
        assert_eq!(device.name, "4094:3");
        let shown = device.in_full("b");
        assert_eq!(shown, "4094:3 (4094:3, 0 bytes, attached as ? since boot b)");
        assert_eq!((device.bytes(), device.flushes()), (None, None));
    }

    #[test]
    fn a_device_is_told_by_its_serial_or_by_when_it_was_attached() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let write = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), format!("{text}\n")).unwrap();
        };
        // What lies above a disk is no disk's.
        write("serial", "of-the-controller");
        for disk in ["sda", "sdb"] {
            write(&format!("{disk}/size"), "4096");
            write(&format!("{disk}/diskseq"), "9");
            write(&format!("{disk}/one/partition"), "1");
            write(&format!("{disk}/one/size"), "8");
            write(&format!("{disk}/one/start"), "2048");
        }
        write("sdb/device/wwid", "naa.5");
        let told = |listed: &str, boot: &str| {
            let device = BlockDevice { number: listed.into(), name: "it".into() };
            device.told(folder.path(), boot)
        };
        assert_eq!(told("sda", "b"), "it (sda, 2097152 bytes, attached as 9 since boot b)");
        assert_ne!(told("sda", "b"), told("sda", "c"), "the machine was started anew");
        assert_eq!(told("sdb", "b"), "it (sdb, 2097152 bytes, serial naa.5)");
        let partition = told("sdb/one", "b");
        assert_eq!(partition, "it (sdb/one, 4096 bytes from byte 1048576, serial naa.5)");
        let words = "from byte 1048576, attached as 9 since boot b";
        assert!(told("sda/one", "b").contains(words), "{}", told("sda/one", "b"));
        write("sda/diskseq", "10");
        assert!(told("sda/one", "b").contains("attached as 10 "), "it was attached anew");
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
