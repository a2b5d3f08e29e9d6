//! One run that wants the machine for itself, at a time.

use std::fs::File;
use std::io;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Takes this machine for a run of this user's that is to be alone on it, until what is returned is
/// dropped or the process ends, however it does; `None` where another run has it.
///
/// # Errors
/// When the folder of this user's notes can't be had: the lock is on that.
pub fn hold() -> io::Result<Option<File>> {
    let folder = File::open(bakeoff_disk::registry::place()?)?;
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(folder)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
