//! A real ext4 on a loop device, as `mkfs.ext4` makes it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::Requests;
use super::counter::Counter;

/// Bytes of the device: enough for blocks of 4 KiB, as every disk of today gets. Most of them are
/// never written.
const SIZE: u64 = 2 << 30;

/// A mounted ext4; unmounted at the end, with which its loop device goes, too.
pub struct Real {
    mount: Mount,
    /// Under `/sys/block`.
    stat: PathBuf,
    writes: Counter,
    flushes: Counter,
}

/// What has to be unmounted.
struct Mount(TempDir);

impl Real {
    /// Makes and mounts one.
    ///
    /// # Errors
    /// What this machine lacks for it.
    pub fn mount() -> Result<Self, String> {
        if !bakeoff_testkit::is_root() {
            return Err("only root can mount an ext4".to_owned());
        }
        let folders = tempfile::tempdir().unwrap();
        let [image, at] = ["image", "mount"].map(|name| folders.path().join(name));
        std::fs::File::create(&image).unwrap().set_len(SIZE).unwrap();
        std::fs::create_dir(&at).unwrap();
        call("mkfs.ext4", &["-q", &text(&image)])?;
        // The kernel would fill the tables of inodes meanwhile, and that would be counted.
        call("mount", &["-o", "loop,noinit_itable", &text(&image), &text(&at)])?;
        let mount = Mount(folders);
        let number = std::fs::metadata(mount.path()).unwrap().dev();
        let (major, minor) = (libc::major(number), libc::minor(number));
        let counter = |what: &str| {
            let filter = format!("dev == {} && {what}", (major << 20) | minor);
            Counter::new(&filter).map_err(|error| format!("the kernel counts no requests: {error}"))
        };
        let stat = format!("/sys/dev/block/{major}:{minor}/stat").into();
        let (writes, flushes) = (counter("bytes > 0 && rwbs ~ \"*W*\"")?, counter("bytes == 0")?);
        Ok(Self { mount, stat, writes, flushes })
    }

    /// Its root.
    pub fn path(&self) -> PathBuf {
        self.mount.path()
    }

    /// What the device was asked so far.
    pub fn requests(&self) -> Requests {
        let stat = std::fs::read_to_string(&self.stat).unwrap();
        // Linux, Documentation/block/stat.rst: the seventh is write sectors.
        let sectors: u64 = stat.split_whitespace().nth(6).unwrap().parse().unwrap();
        Requests { writes: self.writes.now(), bytes: sectors * 512, flushes: self.flushes.now() }
    }
}

impl Mount {
    fn path(&self) -> PathBuf {
        self.0.path().join("mount")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = call("umount", &[&text(&self.path())]) {
            // Not while it is used, but when that ends.
            let detached = call("umount", &["-l", &text(&self.path())]);
            eprintln!("{error}; detached: {detached:?}");
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary folders are UTF-8").to_owned()
}

/// What a program prints.
fn call(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program} can't be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{program} {}: {said}", arguments.join(" ")))
}
