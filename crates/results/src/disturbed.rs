use crate::Result;
use crate::column::read_text;
use crate::store::RunFolder;

/// A block during which the machine was not as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbed {
    pub block: u32,
    pub attempt: u32,
    pub what: String,
}

impl RunFolder {
    pub fn note_disturbed(&mut self, block: u32, attempt: u32, what: &str) -> Result<()> {
        let sql = "INSERT INTO disturbed (block, attempt, what) VALUES (?1, ?2, ?3)";
        self.execute_sql(sql, (block, attempt, what))
    }

    pub fn read_disturbed(&self) -> Result<Vec<Disturbed>> {
        let sql = "SELECT block, attempt, what FROM disturbed ORDER BY block, attempt";
        self.read_rows(sql, |row| {
            Ok(Disturbed { block: row.get(0)?, attempt: row.get(1)?, what: read_text(row, 2)? })
        })
    }
}
