//! A small file system in memory.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::needs;

/// Unmounted when dropped.
pub struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    /// Mounts one of this size (`120m`) on a new folder; `None` without root, or if root may not
    /// mount.
    pub fn mount(path: &'a Path, size: &str) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(path);
        let done = mount.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        needs(done.status.success().then(|| Self(path)).ok_or(said))
    }

    /// Fills it, and keeps it full whatever others free, until the result is dropped.
    #[must_use]
    pub fn fill(&self) -> Full {
        let path = self.0.join("stuffing");
        let mut file = File::create(&path).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (filled, is_filled) = channel();
        let ends = Arc::clone(&over);
        let filler = std::thread::spawn(move || {
            let some = [1; 16 << 10];
            while !ends.load(Relaxed) {
                if file.write_all(&some).is_err() {
                    // The caller may have stopped waiting.
                    let _ = filled.send(());
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        is_filled.recv().unwrap();
        Full { path, over, filler: Some(filler) }
    }
}

/// A disk that another file fills; the file is removed when this is dropped.
pub struct Full {
    path: PathBuf,
    over: Arc<AtomicBool>,
    filler: Option<JoinHandle<()>>,
}

impl Drop for Full {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        // A filler that panicked has stopped writing, too.
        let _ = self.filler.take().map(JoinHandle::join);
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
