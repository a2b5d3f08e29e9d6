//! A small file system.

use std::path::Path;
use std::process::Command;

use crate::needs;

/// A small file system in memory, until it is dropped.
pub struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    /// Mounts one of this size (`120m`) on a new folder; none where this is not root, or root may not mount.
    ///
    /// # Panics
    /// Where the folder can't be made; in CI, where nothing can be mounted.
    pub fn mount(path: &'a Path, size: &str) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(path);
        let done = mount.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        needs(done.status.success().then(|| Self(path)).ok_or(said))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
