//! The kernel's device behind all mounts, and the helper that opens it for those who may not.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where it is.
const PATH: &str = "/dev/fuse";
/// Its numbers: see admin-guide/devices.txt of the kernel.
const NUMBERS: (u32, u32) = (10, 229);
/// The program that mounts for ordinary users. It runs as root.
const HELPER: &str = "fusermount3";
/// The bit of a mode by which a program runs as its owner.
const SETUID: u32 = 0o4000;

/// Whether this process can open the device.
///
/// # Errors
/// What the system says; or something else has its name.
pub fn device() -> io::Result<()> {
    let file = File::options().read(true).write(true).open(Path::new(PATH))?;
    let there = rustix::fs::fstat(&file)?.st_rdev;
    if (rustix::fs::major(there), rustix::fs::minor(there)) == NUMBERS {
        return Ok(());
    }
    Err(io::Error::other("something else is there"))
}

/// Whether the helper is there.
pub fn has_helper() -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| {
        let there = fs::metadata(folder.join(HELPER));
        there.is_ok_and(|it| it.is_file() && it.uid() == 0 && it.mode() & SETUID != 0)
    })
}
