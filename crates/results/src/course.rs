//! How trials went, second by second.

use crate::Result;
use crate::column::Left;
use crate::debts;
use crate::record::{Debts, Slot};
use crate::store::RunFolder;
use crate::summary::TrialSummary;

/// How a trial went, second by second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The slots of each operation, in the workload's order.
    pub operations: Vec<Vec<Slot>>,
    /// What its target owed, and when it paid.
    pub debts: Debts,
}

/// Reads the courses of trials, one trial at a time.
pub struct Courses<'a> {
    folder: &'a RunFolder,
    /// How much more may be read of histograms, and of debts.
    left: [Left; 2],
}

impl Courses<'_> {
    /// How a trial went; without any operation where it failed.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn of(&mut self, trial: &TrialSummary) -> Result<Course> {
        let (folder, [left, left_of_debts]) = (self.folder, &mut self.left);
        let mut read = || -> rusqlite::Result<Course> {
            let key = (trial.block, trial.attempt, trial.order);
            let id: i64 = folder
                .connection
                .prepare_cached(
                    "SELECT id FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3",
                )?
                .query_row(key, |row| row.get(0))?;
            let operations = 0..trial.operations.len() as i64;
            let slots = operations.map(|operation| folder.slots(id, operation, left));
            let operations = slots.collect::<rusqlite::Result<_>>()?;
            let debts = debts::read(&folder.connection, id, left_of_debts)?;
            Ok(Course { operations, debts })
        };
        read().map_err(folder.failed())
    }
}

impl RunFolder {
    /// What reads how trials went.
    pub fn courses(&self) -> Courses<'_> {
        Courses { folder: self, left: [Left::of_histograms(), Left::of_a_table()] }
    }
}
