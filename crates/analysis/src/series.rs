//! The recorded course of every trial, slot by slot: for a table that leaves nothing out.

use bakeoff_results::{DATABASE, Debts, Error, RunFolder, SlotSummary, TrialCourse, TrialSummary};

use crate::Result;

/// The most slots and looks of a run; 30 hours of eight series have fewer.
const MOST: usize = 1_000_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialSeries {
    pub operations: Vec<OperationSeries>,
    pub debts: Debts,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OperationSeries {
    pub name: String,
    pub slots: Vec<SlotView>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotView {
    pub start_s: f64,
    pub end_s: f64,
    pub count: u64,
    /// The least, the mean and the greatest, to three digits; `None` where none ended.
    pub latency_s: Option<[f64; 3]>,
}

pub(crate) fn read_series(folder: &RunFolder, trials: &[TrialSummary]) -> Result<Vec<TrialSeries>> {
    let mut courses = folder.open_courses();
    let mut all = Vec::with_capacity(trials.len());
    let mut points = 0;
    for trial in trials {
        let series = TrialSeries::from_course(trial, courses.read_course(trial)?);
        points += series.count_points();
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

    fn count_points(&self) -> usize {
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
