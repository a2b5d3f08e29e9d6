use rusqlite::OptionalExtension;

use crate::Result;
use crate::store::RunFolder;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    pub operations: u64,
    pub seconds: f64,
    /// Whether every debt had been run up and paid once.
    pub turned_over: bool,
}

impl RunFolder {
    pub fn note_calibration(&mut self, key: &str, it: &Calibration) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO calibration (key, operations, seconds, turned_over)
                   VALUES (?1, ?2, ?3, ?4)";
        self.execute_sql(sql, (key, it.operations, it.seconds, it.turned_over))
    }

    pub fn read_calibration(&self, key: &str) -> Result<Option<Calibration>> {
        let sql = "SELECT operations, seconds, turned_over FROM calibration WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| {
            Ok(Calibration {
                operations: row.get(0)?,
                seconds: row.get(1)?,
                turned_over: row.get(2)?,
            })
        });
        found.optional().map_err(self.map_error())
    }
}
