//! What SQLite's write-ahead log tells of itself, in the index that its connections share
//! (sqlite.org/walformat.html): read from its file, so that no lock is taken.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::{Debt, DebtTurn, DebtUnit, Owed, Payment, Result};

/// How often the log was begun again, and how many of its pages are in the database by now.
pub(super) const COUNTERS: [&str; 2] = ["log resets", "log pages written back"];

/// What of the index is read: two copies of a header, then what its checkpoints have come to.
const READ: usize = 100;
/// Where the header has the number of pages in the log, in the machine's own order.
const PAGES: usize = 16;
/// Where it has the log's first salt, big-endian: counted up by one at each reset.
const SALT: usize = 32;
/// Where the index counts the pages that were written back, in the machine's own order.
const WRITTEN_BACK: usize = 96;
/// What a page in the log has before it, in bytes.
const PAGE_HEADER: u64 = 24;

/// A log, by its index.
///
/// It has to be dropped after the last connection of this process: POSIX drops all of a process's
/// locks on a file with the first of its descriptors that is closed, and SQLite's are on the index.
pub(super) struct WriteAheadLog {
    index: File,
    /// Bytes of a page, with what is before it in the log.
    page: u64,
    /// How many pages the log has when a commit writes them back.
    limit: u64,
    resets: Mutex<Resets>,
}

/// What the index says at a moment.
#[derive(Clone, Copy)]
struct LogIndexReading {
    /// In the log.
    pages: u32,
    /// Of those, in the database.
    written_back: u32,
    resets: u64,
}

impl WriteAheadLog {
    /// The log of a database that this connection has opened and read.
    pub fn from_database(database: &Path, connection: &Connection) -> Result<Self> {
        let mut index = database.as_os_str().to_owned();
        index.push("-shm");
        let number =
            |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0));
        let log = Self {
            index: File::open(index)?,
            page: u64::from(number("page_size")?) + PAGE_HEADER,
            limit: u64::from(number("wal_autocheckpoint")?),
            resets: Mutex::default(),
        };
        let now = log.read()?;
        log.resets.lock().unwrap_or_else(PoisonError::into_inner).salt = salt(&now);
        Ok(log)
    }

    fn read(&self) -> Result<[u8; READ]> {
        let mut bytes = [0; READ];
        self.index.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn look(&self) -> Result<LogIndexReading> {
        let bytes = self.read()?;
        let number = |at| u32::from_ne_bytes(four(&bytes, at));
        let pages = number(PAGES);
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        let resets = resets.seen(salt(&bytes), pages == 0);
        Ok(LogIndexReading { pages, written_back: number(WRITTEN_BACK), resets })
    }

    /// What there is of [`COUNTERS`].
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let Ok(now) = self.look() else { return Vec::new() };
        COUNTERS.into_iter().zip([now.resets, now.written_back.into()]).collect()
    }

    /// What it owes: its pages that are not in the database.
    pub fn debt(&self) -> Result<Debt> {
        let LogIndexReading { pages, written_back, resets } = self.look()?;
        let owed = Owed {
            name: "log not checkpointed",
            unit: DebtUnit::Bytes,
            amount: u64::from(pages.saturating_sub(written_back)) * self.page,
            limit: (self.limit > 0).then_some(self.limit * self.page),
        };
        // What is before the first may have been left from before the opening.
        let turn = DebtTurn { name: "log resets", done: resets, whole: 2 };
        let payment = Payment { name: "log reset", count: resets };
        Ok(Debt { owed: vec![owed], turns: vec![turn], payments: vec![payment] })
    }
}

fn four(bytes: &[u8; READ], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

fn salt(bytes: &[u8; READ]) -> u32 {
    u32::from_be_bytes(four(bytes, SALT))
}

/// How often a log was begun again, from its salt. The log's own count of checkpoints won't do: each
/// connection has its own.
#[derive(Default)]
struct Resets {
    /// As it was last seen; 0 where the next log's is made up anew.
    salt: u32,
    count: u64,
}

/// A salt that has moved by more was made up anew.
const MOST_AT_ONCE: u32 = 1 << 16;

impl Resets {
    /// How many there were, when the salt is this. One who writes into a file that was cut to nothing
    /// may make the salt up.
    fn seen(&mut self, salt: u32, empty: bool) -> u64 {
        self.count += match salt.wrapping_sub(self.salt) {
            _ if self.salt == 0 => 0,
            more @ 0..MOST_AT_ONCE => more.into(),
            _ => 1,
        };
        self.salt = if empty { 0 } else { salt };
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_counted_by_the_salt() {
        let mut resets = Resets::default();
        let looks = [
            (0x9000_0000, false, 0),
            (0x9000_0000, false, 0),
            (0x9000_0003, false, 3),
            (0x9000_0004, true, 4),
            (0x9000_0004, true, 4),
            (0x1234_5678, false, 4),
            (0x1234_5679, false, 5),
            (0xffff_ffff, false, 6),
            (0x0000_0001, false, 8),
        ];
        for (salt, empty, count) in looks {
            assert_eq!(resets.seen(salt, empty), count, "{salt:x}");
        }
    }
}
