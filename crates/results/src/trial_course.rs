use rusqlite::Row;

use crate::Result;
use crate::column::{ReadBudget, read_outline};
use crate::debts;
use crate::histogram::{new_histogram, to_bytes};
use crate::outline::Outline;
use crate::record::Debts;
use crate::store::RunFolder;
use crate::summary::{SlotSummary, TrialSummary};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialCourse {
    pub operations: Vec<Vec<SlotSummary>>,
    pub debts: Debts,
}

pub struct Courses<'a> {
    folder: &'a RunFolder,
    /// For histograms and for debts.
    left: [ReadBudget; 2],
}

impl Courses<'_> {
    pub fn read_course(&mut self, trial: &TrialSummary) -> Result<TrialCourse> {
        let (folder, [left, left_of_debts]) = (self.folder, &mut self.left);
        let mut read = || -> rusqlite::Result<TrialCourse> {
            let key = (trial.block, trial.attempt, trial.order);
            let id: i64 = folder
                .connection
                .prepare_cached(
                    "SELECT id FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3",
                )?
                .query_row(key, |row| row.get(0))?;
            let operations = 0..trial.operations.len() as i64;
            let slots = operations.map(|operation| read_slots(folder, id, operation, left));
            let operations = slots.collect::<rusqlite::Result<_>>()?;
            let debts = debts::read_debts(&folder.connection, id, left_of_debts)?;
            Ok(TrialCourse { operations, debts })
        };
        read().map_err(folder.map_error())
    }
}

/// `left` is how much may still be read.
pub(crate) fn read_slots(
    folder: &RunFolder,
    trial: i64,
    operation: i64,
    left: &mut ReadBudget,
) -> rusqlite::Result<Vec<SlotSummary>> {
    let mut statement = folder.connection.prepare_cached(
        "SELECT start_s, end_s, histogram
         FROM slot WHERE trial = ?1 AND operation = ?2 ORDER BY position",
    )?;
    let slot = |row: &Row| {
        left.take_row(row)?;
        let Outline { count, least, mean, most } = read_outline(row, 2)?;
        Ok(SlotSummary { start_s: row.get(0)?, end_s: row.get(1)?, count, least, mean, most })
    };
    let slots = statement.query_map([trial, operation], slot)?;
    slots.collect()
}

impl RunFolder {
    /// The slots of a trial in which no operation of any kind ended, in order: their starts and ends
    /// in seconds from the clients' start. Reads no histogram.
    ///
    /// # Errors
    ///
    /// If the database can't be read.
    pub fn read_idle_slots(&self, trial: &TrialSummary) -> Result<Vec<(f64, f64)>> {
        let empty = to_bytes(&new_histogram()).len() as i64;
        let key = (trial.block, trial.attempt, trial.order, empty);
        let mut left = ReadBudget::of_a_table();
        let mut read = || -> rusqlite::Result<Vec<(f64, f64)>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT min(start_s), max(end_s) FROM slot
                 WHERE trial = (
                     SELECT id FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3
                 )
                 GROUP BY position HAVING max(length(histogram)) <= ?4 ORDER BY position",
            )?;
            let slots = statement.query_map(key, |row| {
                left.take_row(row)?;
                Ok((row.get(0)?, row.get(1)?))
            })?;
            slots.collect()
        };
        read().map_err(self.map_error())
    }

    pub fn open_courses(&self) -> Courses<'_> {
        Courses { folder: self, left: [ReadBudget::of_histograms(), ReadBudget::of_a_table()] }
    }
}
