//! Answers that several calls have in common.

use std::time::Duration;

use fuser::{Generation, ReplyEmpty, ReplyEntry, ReplyXattr};

use super::convert::{attributes, errno};

/// How long the kernel may believe what it was told: nobody else changes the volume.
pub const VALID: Duration = Duration::from_secs(24 * 3600);

/// The backing folder's files are only ever known under one generation: a number is not given to
/// another file while the kernel knows it.
pub const GENERATION: Generation = Generation(0);

/// Answers with an entry.
pub fn enter(found: Result<rustix::fs::Stat, rustix::io::Errno>, reply: ReplyEntry) {
    match found {
        Ok(stat) => reply.entry(&VALID, &attributes(&stat), GENERATION),
        Err(error) => reply.error(errno(error)),
    }
}

/// Answers that it is done.
pub fn finish(done: Result<(), rustix::io::Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

/// Answers with bytes of an extended attribute, or how many they are.
pub fn tell(
    size: u32,
    reply: ReplyXattr,
    read: impl FnOnce(&mut [u8]) -> Result<usize, rustix::io::Errno>,
) {
    let mut buffer = vec![0; size as usize];
    match read(&mut buffer) {
        Ok(length) if size == 0 => reply.size(length as u32),
        Ok(length) => reply.data(&buffer[..length]),
        Err(error) => reply.error(errno(error)),
    }
}
