//! How every trial went, slot by slot, as it was recorded: for a table that leaves nothing out.

use bakeoff_results::{DATABASE, Debts, Error, RunFolder, SlotSummary, TrialCourse, TrialSummary};

use crate::Result;

/// The most slots and looks of a run; 30 hours of eight series have fewer.
const MOST: usize = 1_000_000;

/// How a trial went. Times are in seconds from the start of the clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialSeries {
    /// An entry for each of the trial's operations, in the workload's order.
    pub operations: Vec<OperationSeries>,
    /// What its target owed, and when it paid: every look.
    pub debts: Debts,
}

/// The slots of an operation, each of about a second.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationSeries {
    /// The operation's name.
    pub name: String,
    /// Its slots, in order.
    pub slots: Vec<SlotView>,
}

/// What ended in a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotView {
    /// Where it starts.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// How many operations ended in it.
    pub count: u64,
    /// The least, the mean and the greatest latency of these, in seconds, to three digits; `None`
    /// where none ended.
    pub latency_s: Option<[f64; 3]>,
}

/// The series of these trials, in their order.
///
/// # Errors
/// [`Error::Damaged`] where they can't be read, [`Error::Refused`] where they have more points than any
/// run.
pub(crate) fn all(folder: &RunFolder, trials: &[TrialSummary]) -> Result<Vec<TrialSeries>> {
    let mut courses = folder.courses();
    let mut all = Vec::with_capacity(trials.len());
    let mut points = 0;
    for trial in trials {
        let series = TrialSeries::from_course(trial, courses.read_course(trial)?);
        points += series.points();
        if points > MOST {
            let why = format!("its series have more than {MOST} points");
            return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
        }
        all.push(series);
    }
    Ok(all)
}

impl TrialSeries {
    fn from_course(trial: &TrialSummary, course: TrialCourse) -> Self {
        let operations = trial.operations.iter().zip(&course.operations);
        let operations = operations.map(|(operation, slots)| OperationSeries {
            name: operation.name.clone(),
            slots: slots.iter().map(SlotView::from_slot).collect(),
        });
        Self { operations: operations.collect(), debts: course.debts }
    }

    fn points(&self) -> usize {
        let slots = self.operations.iter().map(|operation| operation.slots.len());
        let owed = self.debts.owed.iter().map(|owed| owed.points.len());
        let paid = self.debts.payments.iter().map(|payment| payment.ended.len());
        slots.chain(owed).chain(paid).sum()
    }
}

impl SlotView {
    fn from_slot(slot: &SlotSummary) -> Self {
        let SlotSummary { start_s, end_s, count, least, mean, most } = *slot;
        let seconds = |nanoseconds: f64| nanoseconds / 1e9;
        let latency_s = || [least as f64, mean, most as f64].map(seconds);
        Self { start_s, end_s, count, latency_s: (count > 0).then(latency_s) }
    }
}
