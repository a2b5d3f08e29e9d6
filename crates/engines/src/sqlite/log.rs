//! SQLite's write-ahead log, by the index that its connections share (sqlite.org/walformat.html):
//! read from its file, so that no lock is taken.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

pub(super) const COUNTERS: [&str; 2] = ["log resets", "log pages written back"];

/// Bytes of the index that are read: two copies of a header, then the state of checkpoints.
const READ: usize = 100;
/// The header's number of pages in the log; native byte order.
const PAGES: usize = 16;
/// The log's first salt, big-endian; it grows by one at each reset.
const SALT: usize = 32;
/// The number of pages written back; native byte order.
const WRITTEN_BACK: usize = 96;
const PAGE_HEADER: u64 = 24;

/// Drop it after the last connection of this process: POSIX drops all of a process's locks on a
/// file with the first of its descriptors that is closed, and SQLite's are on the index.
pub(super) struct WriteAheadLog {
    index: File,
    page: u64,
    limit: u64,
    resets: Mutex<LogResetCounter>,
}

#[derive(Clone, Copy)]
struct LogIndexReading {
    pages: u32,
    written_back: u32,
    resets: u64,
}

impl WriteAheadLog {
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
        log.resets.lock().unwrap_or_else(PoisonError::into_inner).salt = read_salt(&now);
        Ok(log)
    }

    fn read(&self) -> Result<[u8; READ]> {
        let mut bytes = [0; READ];
        self.index.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn look(&self) -> Result<LogIndexReading> {
        let bytes = self.read()?;
        let number = |at| u32::from_ne_bytes(four_bytes(&bytes, at));
        let pages = number(PAGES);
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        let resets = resets.count_resets(read_salt(&bytes), pages == 0);
        Ok(LogIndexReading { pages, written_back: number(WRITTEN_BACK), resets })
    }

    pub fn read_counters(&self) -> Vec<(&'static str, u64)> {
        let Ok(now) = self.look() else { return Vec::new() };
        COUNTERS.into_iter().zip([now.resets, now.written_back.into()]).collect()
    }

    pub fn measure_debt(&self) -> Result<Debt> {
        let LogIndexReading { pages, written_back, resets } = self.look()?;
        let owed = DeferredWork {
            name: "log not checkpointed",
            unit: DebtUnit::Bytes,
            amount: u64::from(pages.saturating_sub(written_back)) * self.page,
            limit: (self.limit > 0).then_some(self.limit * self.page),
        };
        // Pages before the first reset may be from before the opening.
        let turn = DebtTurn { name: "log resets", done: resets, whole: 2 };
        let payment = Payment { name: "log reset", count: resets };
        Ok(Debt { owed: vec![owed], turns: vec![turn], payments: vec![payment] })
    }
}

fn four_bytes(bytes: &[u8; READ], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

fn read_salt(bytes: &[u8; READ]) -> u32 {
    u32::from_be_bytes(four_bytes(bytes, SALT))
}

/// Counts resets by the salt. The log's own count of checkpoints won't do: each connection has its
/// own.
#[derive(Default)]
struct LogResetCounter {
    /// The last salt; 0 if the next one is random.
    salt: u32,
    count: u64,
}

/// A salt that has moved by more is random.
const MOST_AT_ONCE: u32 = 1 << 16;

impl LogResetCounter {
    /// Whoever writes into a file that was cut to nothing may choose a random salt.
    fn count_resets(&mut self, salt: u32, empty: bool) -> u64 {
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
        let mut resets = LogResetCounter::default();
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
            assert_eq!(resets.count_resets(salt, empty), count, "{salt:x}");
        }
    }
}
