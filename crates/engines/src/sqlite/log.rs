//! What SQLite's write-ahead log tells of itself, in its own files (sqlite.org/walformat.html).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How often the log was begun again, and how many of its pages are in the database by now.
pub(super) const COUNTERS: [&str; 2] = ["log resets", "log pages written back"];

/// Where the log's header counts its checkpoints, big-endian.
const CHECKPOINTS: u64 = 12;
/// Where the index of the log, after two copies of a header of 48 bytes, counts the pages that were
/// written back, in the machine's own order.
const WRITTEN_BACK: u64 = 96;

/// A log and its index.
///
/// It has to be dropped after the last connection of this process: POSIX drops all of a process's
/// locks on a file with the first of its descriptors that is closed, and SQLite's are on the index.
pub(super) struct Log {
    log: Option<File>,
    index: Option<File>,
}

impl Log {
    /// Of a database that is open.
    pub fn of(database: &Path) -> Self {
        let open = |end: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(end);
            File::open(path).ok()
        };
        Self { log: open("-wal"), index: open("-shm") }
    }

    /// What there is of [`COUNTERS`].
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let number = |file: &Option<File>, at: u64| {
            let mut bytes = [0; 4];
            file.as_ref()?.read_exact_at(&mut bytes, at).ok()?;
            Some(bytes)
        };
        let resets = number(&self.log, CHECKPOINTS).map(u32::from_be_bytes);
        let pages = number(&self.index, WRITTEN_BACK).map(u32::from_ne_bytes);
        let [first, second] = COUNTERS;
        let known = [(first, resets), (second, pages)];
        known.into_iter().filter_map(|(name, value)| Some((name, u64::from(value?)))).collect()
    }
}
