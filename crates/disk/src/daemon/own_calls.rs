use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Calls to measure the round trip, and those before, which are not counted.
pub const TRIPS: usize = 200;
const WARM_UP: usize = 50;

/// Runs something on a thread of its own that waits for this very process.
///
/// Such a thread can't be killed before the connection ends, and the process's descriptors keep
/// that open. So the thread gives up its own descriptors first, and must not use any that was open
/// before.
pub fn through_the_mount<T: Send + 'static>(
    what: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = thread::Builder::new().name("disk-own-caller".into());
    let thread = thread.spawn(move || {
        // SAFETY: the thread uses no descriptor from here on, and has no part in those of others.
        unsafe {
            rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES)?;
            libc::close_range(3, libc::c_uint::MAX, 0);
        }
        what()
    })?;
    thread.join().expect("a panic has ended the process")
}

pub fn round_trips(mountpoint: &Path) -> io::Result<Vec<Duration>> {
    let mut trips = Vec::with_capacity(TRIPS);
    for n in 0..WARM_UP + TRIPS {
        let start = Instant::now();
        rustix::fs::statvfs(mountpoint)?;
        if n >= WARM_UP {
            trips.push(start.elapsed());
        }
    }
    Ok(trips)
}
