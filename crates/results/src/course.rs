//! How trials went, second by second.

use rusqlite::Row;

use crate::Result;
use crate::column::{ReadBudget, outline};
use crate::debts;
use crate::outline::Outline;
use crate::record::Debts;
use crate::store::RunFolder;
use crate::summary::{SlotSummary, TrialSummary};

/// How a trial went, second by second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialCourse {
    /// The slots of each operation, in the workload's order.
    pub operations: Vec<Vec<SlotSummary>>,
    /// What its target owed, and when it paid.
    pub debts: Debts,
}

/// Reads the courses of trials, one trial at a time.
pub struct Courses<'a> {
    folder: &'a RunFolder,
    /// How much more may be read of histograms, and of debts.
    left: [ReadBudget; 2],
}

impl Courses<'_> {
    /// How a trial went; without any operation where it failed.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
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
            let slots = operations.map(|operation| slots(folder, id, operation, left));
            let operations = slots.collect::<rusqlite::Result<_>>()?;
            let debts = debts::read(&folder.connection, id, left_of_debts)?;
            Ok(TrialCourse { operations, debts })
        };
        read().map_err(folder.failed())
    }
}

/// The slots of an operation of a trial. `left` is how much may still be read.
pub(crate) fn slots(
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
        left.take(row)?;
        let Outline { count, least, mean, most } = outline(row, 2)?;
        Ok(SlotSummary { start_s: row.get(0)?, end_s: row.get(1)?, count, least, mean, most })
    };
    let slots = statement.query_map([trial, operation], slot)?;
    slots.collect()
}

impl RunFolder {
    /// What reads how trials went.
    pub fn courses(&self) -> Courses<'_> {
        Courses { folder: self, left: [ReadBudget::of_histograms(), ReadBudget::of_a_table()] }
    }
}
