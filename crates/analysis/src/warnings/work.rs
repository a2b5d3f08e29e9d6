//! Warnings about the clients' work: errors, retries, commits without a sync, operations that did
//! not keep up, time that is in no latency.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{DurabilityLevel, Levels, OperationSummary, Run, TrialSummary};
use bakeoff_stats::steady::Steadiness;

use super::{WarningTally, tally_items, tally_trials};
use crate::document::CellView;
use crate::littles_law::{find_concurrency, find_starvation, littles_law};
use crate::open_loop::OpenLoopView;
use crate::steady::steadiness;
use crate::warning::{Warning, WarningKind};

/// How far the sum of latencies may be from the clients' time.
const LITTLE_OFF: f64 = 0.10;

/// Transactions run again, for each operation, that are worth a warning.
const RETRIES: f64 = 0.01;

/// The least share of the syncs that strict commits need.
const SYNCED: f64 = 0.5;

fn is_strict(run: &Run, cell: &CellView) -> bool {
    run.durability(&cell.levels) == Some(DurabilityLevel::Strict) && run.stores_at(&cell.levels)
}

/// The share of syncs that a cell's strict commits need and did not make. Commits that are under
/// way at once can share a sync, so the least is one for each round of the clients. `None` if syncs
/// were not counted exactly.
fn missing_syncs(run: &Run, cell: &CellView, at_once: &BTreeMap<&Levels, f64>) -> Option<f64> {
    let cost = cell.cost.filter(|_| is_strict(run, cell))?;
    cost.sums.syncs.filter(|syncs| syncs.counted_by.is_exact())?;
    let share = cost.syncs_per_commit? * at_once.get(&cell.levels)?;
    (share < SYNCED).then_some(1.0 - share)
}

/// How many operations of each cell can be in flight at once.
fn at_once<'a>(counted: &[&'a TrialSummary]) -> BTreeMap<&'a Levels, f64> {
    counted.iter().filter_map(|trial| Some((&trial.levels, find_concurrency(trial)?))).collect()
}

pub(crate) fn unsynced_cells(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> BTreeSet<Levels> {
    let at_once = at_once(counted);
    let unsynced = cells.iter().filter(|cell| missing_syncs(run, cell, &at_once).is_some());
    unsynced.map(|cell| cell.levels.clone()).collect()
}

pub(super) fn warn_of_missing_syncs(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> Option<Warning> {
    let at_once = at_once(counted);
    let strict: Vec<&CellView> = cells.iter().filter(|cell| is_strict(run, cell)).collect();
    let missing = |cell: &&CellView| missing_syncs(run, cell, &at_once).unwrap_or_default();
    let WarningTally { part, worst, at, .. } =
        tally_items(run, "strict cell", strict, |cell| &cell.levels, missing)?;
    let text = format!(
        "in {part} the engine did not sync for its commits, at worst it made {:.2} of the syncs \
         that its clients' commits need at least, at {at}: a power cut would take commits that it \
         had acknowledged",
        1.0 - worst
    );
    let warning = Warning::new(WarningKind::NotSynced, text);
    Some(warning.with_remedy(
        "do not compare it with engines that sync; look for a setting that turns syncs off",
    ))
}

pub(super) fn warn_of_errors(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let all = |errors: &mut dyn Iterator<Item = u64>| errors.fold(0, u64::saturating_add);
    let errors = |trial: &TrialSummary| all(&mut trial.operations.iter().map(|op| op.errors));
    let sum = all(&mut counted.iter().map(|trial| errors(trial)));
    let WarningTally { part, worst, at, .. } =
        tally_trials(run, counted, |trial| errors(trial) as f64)?;
    let operations = if sum == 1 { "operation" } else { "operations" };
    let text = format!("{sum} {operations} ended in an error, in {part}; most ({worst}) at {at}");
    Some(Warning::new(WarningKind::Errors, text))
}

pub(super) fn warn_of_retries(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let share = |trial: &TrialSummary| {
        let sum = |of: fn(&OperationSummary) -> u64| trial.operations.iter().map(of).sum::<u64>();
        sum(|op| op.retries) as f64 / sum(|op| op.count).max(1) as f64
    };
    let above = |trial| Some(share(trial)).filter(|share| *share > RETRIES).unwrap_or_default();
    let WarningTally { part, worst, at, .. } = tally_trials(run, counted, above)?;
    let what = if run.has_engines() {
        "transactions were run again (a conflict in the engine, or a stale version of the row)"
    } else {
        "requests were sent once more, since the server had closed their kept connection"
    };
    let text = format!(
        "in {part} {what}, at worst {worst:.2} for each operation, at {at}; the latencies include it"
    );
    Some(Warning::new(WarningKind::Retries, text))
}

pub(super) fn warn_of_falling_behind(run: &Run, cells: &[CellView]) -> Option<Warning> {
    let open = cells.iter().filter_map(|cell| Some((cell, cell.open_loop?)));
    let lag = |(_, open): &(&CellView, OpenLoopView)| match open.kept_up {
        true => 0.0,
        // Even where it rounds to nothing over all trials.
        false => open.share_not_started().max(f64::MIN_POSITIVE),
    };
    let WarningTally { part, share, at, .. } =
        tally_items(run, "cell", open, |(cell, _)| &cell.levels, lag)?;
    let text = format!(
        "{part} did not keep up with the rate that was offered, at worst {share} of what was due \
         had not started when the time was over, at {at}: response times there only grow with the \
         length of the trial"
    );
    let warning = Warning::new(WarningKind::NotKeptUp, text);
    Some(warning.with_remedy("offer a lower rate to learn what it can serve"))
}

pub(super) fn warn_of_cut_off_trials(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let running = |trial: &TrialSummary| {
        trial.operations.iter().map(|operation| operation.unfinished).sum::<u64>() as f64
    };
    let WarningTally { part, worst, at, was, .. } = tally_trials(run, counted, running)?;
    let text = format!(
        "{part} {was} cut off while operations were still running, most ({worst}) at {at}: they \
         count with the time that they had taken by then, so that means, quantiles and ratios \
         there are bounds"
    );
    let warning = Warning::new(WarningKind::CutOff, text);
    Some(warning.with_remedy("longer trials (--seconds) wait longer for them"))
}

/// Clients waited for something that is in no latency.
pub(super) fn warn_of_unbalanced_clients(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // Starving clients have a warning of their own.
    let off = |trial: &TrialSummary| {
        littles_law(trial).filter(|_| find_starvation(trial).is_none()).map(|law| (law - 1.0).abs())
    };
    let above = |trial| off(trial).filter(|off| *off > LITTLE_OFF).unwrap_or_default();
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "in {part} the latencies do not add up to the clients' time, at worst by {share}, at {at}: \
         clients waited for something that is in no latency, or operations are long compared with \
         the trial"
    );
    let warning = Warning::new(WarningKind::TimeMissing, text);
    Some(warning.with_remedy("a longer --seconds mends it where operations are long"))
}

/// In an open loop, too: there the throughput falls where it no longer keeps up.
pub(super) fn warn_of_unsteady_trials(
    run: &Run,
    counted: &[&TrialSummary],
) -> [Option<Warning>; 2] {
    let is = |answer| {
        let so = move |trial: &TrialSummary| steadiness(trial) == Some(answer);
        tally_trials(run, counted, move |trial| f64::from(u8::from(so(trial))))
    };
    let not = is(Steadiness::NotSteady).map(|WarningTally { number, part, at, .. }| {
        let end = if number == 1 { "it ended" } else { "they ended" };
        let text = format!("{part} had not settled when {end}, first at {at}");
        Warning::new(WarningKind::NotSettled, text)
            .with_remedy("a longer --seconds shows what comes then")
    });
    let unknown = is(Steadiness::CannotTell).map(|WarningTally { number, part, at, .. }| {
        let they = if number == 1 { "it" } else { "they" };
        let text = format!(
            "of {part} it cannot be told whether {they} had settled, first at {at}: the operations \
             a second vary so much that a rise or fall of a tenth would not show"
        );
        Warning::new(WarningKind::CannotTellSettled, text).with_remedy("a longer --seconds tells")
    });
    [not, unknown]
}
