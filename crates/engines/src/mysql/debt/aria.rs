//! Aria's debt: blocks to write, and the log that a recovery would read
//! (mariadb.com/kb/en/aria-system-variables). The server doesn't report its checkpoints; its
//! control file has them.

use std::fs;
use std::path::{Path, PathBuf};

use mysql::Conn;

use super::{StorageDebt, read_status};
use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

const STATUS: [&str; 1] = ["Aria_pagecache_blocks_not_flushed"];

/// Checkpoints until everything that was dirty at the first is written: each leaves it to the time
/// before the next.
const CHECKPOINTS: u64 = 2;

pub(super) struct Aria {
    data: PathBuf,
    checkpoints: ChangeCounter<Option<LogPosition>>,
}

impl Aria {
    pub fn since_now(data: &Path) -> Self {
        Self { data: data.into(), checkpoints: ChangeCounter::since(last_checkpoint(data)) }
    }
}

impl StorageDebt for Aria {
    fn measure_debt(&self, server: &mut Conn) -> Result<Debt> {
        let [blocks] = read_status(server, &STATUS)?;
        let checkpoint = last_checkpoint(&self.data);
        let count = self.checkpoints.count_changes(checkpoint);
        let blocks = DeferredWork {
            name: "page cache blocks not flushed",
            unit: DebtUnit::Pages,
            amount: blocks,
            limit: None,
        };
        let log = checkpoint.map(|checkpoint| DeferredWork {
            name: "log since the last checkpoint",
            unit: DebtUnit::Bytes,
            amount: log_after(&self.data, checkpoint),
            limit: None,
        });
        Ok(Debt {
            owed: std::iter::once(blocks).chain(log).collect(),
            turns: vec![DebtTurn { name: "checkpoints", done: count, whole: CHECKPOINTS }],
            payments: vec![Payment { name: "checkpoint", count }],
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct LogPosition {
    file: u32,
    offset: u32,
}

/// The last checkpoint by the control file; `None` if there is none, or the file has an unknown
/// form.
fn last_checkpoint(data: &Path) -> Option<LogPosition> {
    parse_position(&fs::read(data.join("aria_log_control")).ok()?)
}

/// The start of a control file: magic and version (`ma_control_file.h`).
const BEGINS: [u8; 4] = [0xfe, 0xfe, 0x0c, 1];
/// The length of the part that was written when the file was made; the other part follows it.
const LENGTH: usize = 20;
/// The last checkpoint in that part, after a checksum: 3 bytes for the file, 4 for the offset.
const CHECKPOINT: usize = 4;

fn parse_position(file: &[u8]) -> Option<LogPosition> {
    if !file.starts_with(&BEGINS) {
        return None;
    }
    let length = u16::from_le_bytes(file.get(LENGTH..LENGTH + 2)?.try_into().ok()?);
    let found = file.get(usize::from(length) + CHECKPOINT..)?.get(..7)?;
    let position = LogPosition {
        file: u32::from_le_bytes([found[0], found[1], found[2], 0]),
        offset: u32::from_le_bytes([found[3], found[4], found[5], found[6]]),
    };
    (position.file > 0).then_some(position)
}

fn log_after(data: &Path, from: LogPosition) -> u64 {
    let length = |number: u32| {
        let file = fs::metadata(data.join(format!("aria_log.{number:08}")));
        file.ok().map(|file| file.len())
    };
    let length: u64 = (from.file..).map_while(length).sum();
    length.saturating_sub(from.offset.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_file_tells_of_its_checkpoint() {
        // Of MariaDB 10.11.19.
        let file = b"\xfe\xfe\x0c\x01\x71\x43\xa5\x37\xe7\x00\x11\xf1\x8b\xac\x02\xfc\x00\x00\x00\x01\
            \x1e\x00\x16\x00\x00\x20\x47\x7a\xca\x53\x1e\xe9\x19\x69\x01\x00\x00\x67\x4c\x06\x00\x01\
            \x00\x00\x00\xe3\x00\x00\x00\x00\x00\x00";
        assert_eq!(parse_position(file), Some(LogPosition { file: 1, offset: 0x0006_4c67 }));
        assert_eq!(parse_position(&file[..40]), None);
        assert_eq!(parse_position(&file[1..]), None);
    }
}
