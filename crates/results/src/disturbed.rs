//! Blocks that the machine disturbed.

use crate::Result;
use crate::column::text;
use crate::store::RunFolder;
use crate::write::unfit;

/// A block that was measured, or began, while the machine was not as it had been before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbed {
    /// Its number.
    pub block: u32,
    /// Which attempt at it, from 0.
    pub attempt: u32,
    /// What was not as before, in a few words.
    pub what: String,
}

impl RunFolder {
    /// Notes that a block was disturbed.
    ///
    /// # Errors
    /// As [`RunFolder::commit_trial`].
    pub fn note_disturbed(&mut self, block: u32, attempt: u32, what: &str) -> Result<()> {
        let sql = "INSERT INTO disturbed (block, attempt, what) VALUES (?1, ?2, ?3)";
        let noted = self.connection.execute(sql, (block, attempt, what));
        noted.map(drop).map_err(|cause| unfit(cause, self.failed()))
    }

    /// The attempts at blocks that were disturbed.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where they can't be read.
    pub fn disturbed(&self) -> Result<Vec<Disturbed>> {
        let sql = "SELECT block, attempt, what FROM disturbed ORDER BY block, attempt";
        self.rows(sql, |row| {
            Ok(Disturbed { block: row.get(0)?, attempt: row.get(1)?, what: text(row, 2)? })
        })
    }
}
