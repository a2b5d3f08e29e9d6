//! Counts the rates of old runs from their seconds.
//!
//! Those runs have rates by Little's law, which are wrong by up to two times if some clients
//! starve.

use crate::column::{ReadBudget, read_histogram};
use crate::measure::{
    BYTES, BYTES_RATE, DONE_RATE, ENDED, LITTLE_RATE, Measure, OFFERED, ROWS, ROWS_RATE, STARVED,
    Scope,
};
use crate::store::RunFolder;
use crate::summary::{SlotSummary, TrialSummary};
use crate::trial_course::read_slots;

/// The least part of the window that whole seconds must cover.
const COVERED: f64 = 0.5;

const SAME_S: f64 = 1e-6;

/// If the whole seconds of a window are too few, the trial keeps its rates and has no [`ENDED`].
pub(crate) fn recount_rates(
    folder: &RunFolder,
    trials: &mut [(i64, TrialSummary)],
) -> rusqlite::Result<()> {
    let mut left = ReadBudget::of_histograms();
    for (id, trial) in trials {
        let Some((from, to)) = trial.window_s.filter(|_| !trial.has_counted_rates()) else {
            continue;
        };
        let operations = 0..trial.operations.len() as i64;
        let slots = operations.map(|operation| read_slots(folder, *id, operation, &mut left));
        let slots = slots.collect::<rusqlite::Result<Vec<_>>>()?;
        if put_counted_rates(trial, &slots) {
            let starved = count_starved(folder, *id, to - from, &mut left)?;
            trial.measures.set(&STARVED, Scope::Clients, starved as f64);
        }
    }
    Ok(())
}

fn operation_scope(name: &str) -> Scope {
    Scope::Operation(name.to_owned().into())
}

/// Rates by Little's law stay as [`LITTLE_RATE`]. Returns whether the seconds cover enough of the
/// window.
fn put_counted_rates(trial: &mut TrialSummary, slots: &[Vec<SlotSummary>]) -> bool {
    let Some((from, to)) = trial.window_s else { return false };
    let is_inside =
        |slot: &&SlotSummary| slot.start_s >= from - SAME_S && slot.end_s <= to + SAME_S;
    let length = |slots: &Vec<SlotSummary>| -> f64 {
        slots.iter().filter(is_inside).map(|slot| slot.end_s - slot.start_s).sum()
    };
    let covered = slots.first().map_or(0.0, length);
    if covered < COVERED * (to - from) || covered <= 0.0 {
        return false;
    }
    let failed = trial.operations.iter().any(|operation| operation.errors > 0);
    let known = trial.measures.get(&DONE_RATE, &Scope::Clients);
    let sum: f64 = trial.operations.iter().map(|operation| operation.per_second).sum();
    if trial.measures.get(&OFFERED, &Scope::Clients).is_none() {
        let little = known.or_else(|| (!failed).then_some(sum));
        trial.measures.set_some(&LITTLE_RATE, Scope::Clients, little);
    }
    for (operation, slots) in trial.operations.iter_mut().zip(slots) {
        let counts = slots.iter().filter(is_inside).map(|slot| slot.count);
        let ended = counts.fold(0, u64::saturating_add);
        operation.per_second = ended as f64 / covered;
        trial.measures.set(&ENDED, operation_scope(&operation.name), ended as f64);
    }
    let done = trial.operations.iter().map(|operation| operation.per_second).sum();
    trial.measures.set(&DONE_RATE, Scope::Clients, done);
    put_work_rate(trial, &ROWS, &ROWS_RATE);
    put_work_rate(trial, &BYTES, &BYTES_RATE);
    true
}

/// The rate of rows or bytes, from the mean of operations that started in the window.
fn put_work_rate(trial: &mut TrialSummary, work: &Measure, rate: &'static Measure) {
    if trial.measures.get(rate, &Scope::Clients).is_none() {
        return;
    }
    let of_kind = |operation: &crate::OperationSummary| {
        let work = trial.measures.get(work, &operation_scope(&operation.name))?;
        let ended = operation.count.saturating_sub(operation.unfinished);
        (ended > 0).then(|| operation.per_second * work / ended as f64)
    };
    let sum: f64 = trial.operations.iter().filter_map(of_kind).sum();
    trial.measures.set(rate, Scope::Clients, sum);
}

fn count_starved(
    folder: &RunFolder,
    trial: i64,
    window_s: f64,
    left: &mut ReadBudget,
) -> rusqlite::Result<u64> {
    let mut statement = folder
        .connection
        .prepare_cached("SELECT kept FROM operation WHERE trial = ?1 AND max_s >= ?2")?;
    let mut rows = statement.query((trial, window_s))?;
    let mut starved = 0_u64;
    while let Some(row) = rows.next()? {
        left.take_row(row)?;
        let long = (window_s * 1e9) as u64;
        starved = starved.saturating_add(read_histogram(row, 0)?.count_between(long, u64::MAX));
    }
    Ok(starved)
}
