//! What the kernel accounts to a process, a device and a folder.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that a process has asked for and that storage has moved for it, since it started.
///
/// Source: proc_pid_io(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes asked for in read calls.
    pub read_calls: u64,
    /// Bytes given in write calls.
    pub write_calls: u64,
    /// Bytes fetched from storage.
    pub read: u64,
    /// Bytes sent to storage, or dirtied to be sent later.
    pub write: u64,
}

impl ProcessIo {
    /// The figures of this process, now.
    ///
    /// # Errors
    /// When the kernel keeps no such account.
    pub fn now() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/io")?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Ok(Self {
            read_calls: field("rchar:"),
            write_calls: field("wchar:"),
            read: field("read_bytes:"),
            write: field("write_bytes:"),
        })
    }
}

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

impl Device {
    /// The device under `folder`.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn under(folder: &Path) -> io::Result<Self> {
        let device = fs::metadata(folder)?.dev();
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let link = fs::read_link(format!("/sys/dev/block/{number}")).ok();
        let name = link.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        Ok(Self { name: name.unwrap_or_else(|| number.clone()), number })
    }

    /// Bytes read from and written to the device since the machine started, by anybody; `None`
    /// for a file system without a block device.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let text = fs::read_to_string(format!("/sys/dev/block/{}/stat", self.number)).ok()?;
        let mut fields = text.split_whitespace().map(|field| field.parse::<u64>().ok());
        let read = fields.nth(2)??;
        let written = fields.nth(3)??;
        Some((read * SECTOR, written * SECTOR))
    }
}

/// Bytes that the files below a folder take on disk: allocated blocks, so that a sparse file
/// counts for what it holds.
///
/// # Errors
/// When a folder below can't be read; files that vanish meanwhile count for nothing.
pub fn space(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
        bytes += if metadata.is_dir() { space(&entry.path())? } else { metadata.blocks() * SECTOR };
    }
    Ok(bytes)
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
    fn writes_are_accounted() {
        let folder = tempfile::tempdir().unwrap();
        let before = ProcessIo::now().unwrap();
        fs::write(folder.path().join("file"), vec![1u8; 300_000]).unwrap();
        let after = ProcessIo::now().unwrap();
        assert!(after.write_calls - before.write_calls >= 300_000, "{before:?} {after:?}");
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
