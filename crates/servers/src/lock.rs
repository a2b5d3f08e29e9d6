//! One server a folder: a lock that the server's processes hold as long as one of them lives.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Error, Result};

/// How often a lock that another one holds is tried again.
const POLL: Duration = Duration::from_millis(10);

/// Locks a folder by a descriptor of it. The lock belongs to the descriptor and to all processes that
/// inherit it: the remaining processes of a killed server hold the lock until they end, and the call
/// waits for that. `path` is for messages.
///
/// # Errors
/// [`Error::Busy`] when somebody else holds the lock for all of `patience`.
pub fn lock(folder: OwnedFd, path: &Path, patience: Duration) -> Result<OwnedFd> {
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
            Err(error) => return Err(Error::at("lock", path)(error.into())),
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
            super::lock(folder.into(), &path, patience)
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
