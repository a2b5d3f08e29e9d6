use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bakeoff_folders::Dir;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// `major:minor`.
    pub number: String,
    /// The number if the kernel has no block device for it.
    pub name: String,
}

/// The kernel's block statistics always count these, whatever the device's own sector size.
const SECTOR: u64 = 512;

/// `FUSE_SUPER_MAGIC` (linux/magic.h).
const FUSE: u64 = 0x6573_5546;

const SERIALS: [&str; 7] =
    ["dm/uuid", "md/uuid", "uuid", "serial", "wwid", "device/serial", "device/wwid"];
const LISTED: &str = "/sys/dev/block";

impl BlockDevice {
    pub fn from_folder(folder: &Path) -> io::Result<Self> {
        Ok(Self::from_number(fs::metadata(folder)?.dev()))
    }

    /// `device` is a number of stat(2).
    pub fn from_number(device: u64) -> Self {
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let link = fs::read_link(format!("/sys/dev/block/{number}")).ok();
        let name = link.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        Self { name: name.unwrap_or_else(|| number.clone()), number }
    }

    /// Whether the kernel numbers it anew at each mount.
    pub fn is_unnamed(&self) -> bool {
        self.number.starts_with("0:")
    }

    /// The name with number, size, start of a partition, and serial number. A device without serial
    /// number is known only until it is attached anew or the machine restarts: `boot` tells
    /// restarts apart. Source: Documentation/ABI/stable/sysfs-block of the kernel.
    pub fn in_full(&self, boot: &str) -> String {
        self.told(Path::new(LISTED), boot)
    }

    fn told(&self, listed: &Path, boot: &str) -> String {
        let listed = listed.join(&self.number);
        let read = |file: &str| {
            let text = fs::read_to_string(listed.join(file)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let bytes = |file: &str| Some(read(file)?.parse::<u64>().ok()? * SECTOR);
        // A partition has the serial number of its disk.
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

    /// Bytes read and written since boot, by anybody. `None` without a block device.
    pub fn bytes_moved(&self) -> Option<(u64, u64)> {
        let fields = self.read_statistics()?;
        Some((fields.get(2)? * SECTOR, fields.get(6)? * SECTOR))
    }

    /// Cache flushes since boot, by anybody. The kernel counts none for partitions and stacked
    /// devices.
    pub fn count_flushes(&self) -> Option<u64> {
        let listed = Path::new(LISTED).join(&self.number);
        let is_counted = ["partition", "dm", "md"].iter().all(|it| !listed.join(it).exists());
        self.read_statistics().filter(|_| is_counted)?.get(15).copied()
    }

    /// A setting of the queue, such as `write_cache`; a partition has its disk's. `None` without a block
    /// device. Source: Documentation/ABI/stable/sysfs-block of the kernel.
    pub fn read_queue_setting(&self, name: &str) -> Option<String> {
        let listed = Path::new(LISTED).join(&self.number);
        let read = |of: &str| fs::read_to_string(listed.join(format!("{of}queue/{name}"))).ok();
        Some(read("").or_else(|| read("../"))?.trim().to_owned())
    }

    /// Source: Documentation/block/stat.rst of the kernel.
    fn read_statistics(&self) -> Option<Vec<u64>> {
        let text = fs::read_to_string(format!("{LISTED}/{}/stat", self.number)).ok()?;
        text.split_whitespace().map(|field| field.parse().ok()).collect()
    }
}

/// Allocated bytes of the files below a folder. Files that vanish meanwhile are skipped.
pub fn allocated_bytes(folder: &Path) -> io::Result<u64> {
    bakeoff_folders::disk_usage(&Dir::open(folder)?)
}

/// A FUSE file system may have a block device (`fuseblk`), but the kernel counts the serving
/// process's requests for it, not those of whoever reads the files.
pub fn is_fuse(folder: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(folder)?.f_type as u64 & 0xffff_ffff == FUSE)
}

/// Bytes that an unprivileged process may still write.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let file_system = rustix::fs::statvfs(folder)?;
    Ok(file_system.f_bavail * file_system.f_frsize)
}

/// How many files an unprivileged process may still make; `None` where there is no such limit.
pub fn free_inodes(folder: &Path) -> io::Result<Option<u64>> {
    let file_system = rustix::fs::statvfs(folder)?;
    Ok((file_system.f_files > 0).then_some(file_system.f_favail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_told_by_its_serial_or_by_when_it_was_attached() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
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
        for (listed, boot, words) in [
            ("sda", "b", "sda, 2097152 bytes, attached as 9 since boot b"),
            // The machine was started anew.
            ("sda", "c", "sda, 2097152 bytes, attached as 9 since boot c"),
            ("sdb", "b", "sdb, 2097152 bytes, serial naa.5"),
            ("sdb/one", "b", "sdb/one, 4096 bytes from byte 1048576, serial naa.5"),
            ("sda/one", "b", "sda/one, 4096 bytes from byte 1048576, attached as 9 since boot b"),
        ] {
            assert_eq!(told(listed, boot), format!("it ({words})"));
        }
        write("sda/diskseq", "10");
        assert!(told("sda/one", "b").contains("attached as 10 "), "it was attached anew");
        // One that the kernel does not list is told by its number.
        let device = BlockDevice::from_number(rustix::fs::makedev(4094, 3));
        let shown = device.in_full("b");
        assert_eq!(shown, "4094:3 (4094:3, 0 bytes, attached as ? since boot b)");
        assert_eq!((device.bytes_moved(), device.count_flushes()), (None, None));
    }

    #[test]
    fn space_counts_blocks_below_and_not_holes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/full"), vec![1u8; 100_000]).unwrap();
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let bytes = allocated_bytes(folder.path()).unwrap();
        assert!((100_000..1_000_000).contains(&bytes), "{bytes}");
    }
}
