use std::time::Duration;

use fuser::{Generation, ReplyEmpty, ReplyEntry, ReplyXattr};

use super::convert::{to_errno, to_file_attr};

/// A number is not given to another file while the kernel knows it.
pub const GENERATION: Generation = Generation(0);

pub fn reply_entry(
    found: Result<rustix::fs::Stat, rustix::io::Errno>,
    valid: &Duration,
    reply: ReplyEntry,
) {
    match found {
        Ok(stat) => reply.entry(valid, &to_file_attr(&stat), GENERATION),
        Err(error) => reply.error(to_errno(error)),
    }
}

pub fn reply_done(done: Result<(), rustix::io::Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(to_errno(error)),
    }
}

pub fn reply_xattr(
    size: u32,
    reply: ReplyXattr,
    read: impl FnOnce(&mut [u8]) -> Result<usize, rustix::io::Errno>,
) {
    let mut buffer = vec![0; size as usize];
    match read(&mut buffer) {
        Ok(length) if size == 0 => reply.size(length as u32),
        Ok(length) => reply.data(&buffer[..length]),
        Err(error) => reply.error(to_errno(error)),
    }
}
