//! One server per folder: a lock that its processes hold while one of them lives.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::servers::{Error, Result};

const POLL: Duration = Duration::from_millis(10);

/// The lock belongs to the descriptor and to all processes that inherit it: what is left of a
/// killed server holds it until it ends, and this call waits for that. `path` is for messages.
pub fn lock_folder(folder: OwnedFd, path: &Path, patience: Duration) -> Result<OwnedFd> {
    let start = Instant::now();
    loop {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(folder),
            Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < patience => {
                thread::sleep(POLL);
            }
            Err(Errno::WOULDBLOCK) => {
                let seconds = patience.as_secs_f64();
                return Err(Error::Busy { folder: path.into(), seconds });
            }
            Err(error) => return Err(Error::at_path("lock", path)(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_path_buf();
        let lock = |patience| {
            let folder = std::fs::File::open(&path).expect("a folder");
            super::lock_folder(folder.into(), &path, patience)
        };
        let held = lock(Duration::ZERO).expect("it is free");
        assert!(matches!(lock(Duration::from_millis(30)), Err(Error::Busy { .. })));
        thread::scope(|scope| {
            let waits = scope.spawn(|| lock(Duration::from_secs(60)).map(drop));
            thread::sleep(Duration::from_millis(30));
            drop(held);
            waits.join().expect("it waits").expect("it is free now");
        });
    }
}
