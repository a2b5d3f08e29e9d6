//! Calibrations: how much work turned the debts of an engine over, so that a run that goes on
//! conditions with the same.

use rusqlite::OptionalExtension;

use crate::Result;
use crate::store::RunFolder;
use crate::write::unfit;

/// How much work turned an engine's debts over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Operations of the work that conditions.
    pub operations: u64,
    /// Seconds that they took.
    pub seconds: f64,
    /// Whether every debt had been run up and paid once by then.
    pub turned_over: bool,
}

impl RunFolder {
    /// Notes the calibration of something that `key` tells from others.
    ///
    /// # Errors
    /// As [`RunFolder::commit_trial`].
    pub fn note_calibration(&mut self, key: &str, it: &Calibration) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO calibration (key, operations, seconds, turned_over)
                   VALUES (?1, ?2, ?3, ?4)";
        let noted = self.connection.execute(sql, (key, it.operations, it.seconds, it.turned_over));
        noted.map(drop).map_err(|cause| unfit(cause, self.failed()))
    }

    /// What was noted of it.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where it can't be read.
    pub fn calibration(&self, key: &str) -> Result<Option<Calibration>> {
        let sql = "SELECT operations, seconds, turned_over FROM calibration WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| {
            Ok(Calibration {
                operations: row.get(0)?,
                seconds: row.get(1)?,
                turned_over: row.get(2)?,
            })
        });
        found.optional().map_err(self.failed())
    }
}
