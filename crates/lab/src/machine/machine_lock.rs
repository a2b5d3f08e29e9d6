use std::fs::File;
use std::io;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Takes this machine for one run of this user until the file is dropped or the process ends.
/// `None` if another run has it.
pub fn hold_machine() -> io::Result<Option<File>> {
    let folder = File::open(bakeoff_disk::registry::find_notes_folder()?)?;
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(folder)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
