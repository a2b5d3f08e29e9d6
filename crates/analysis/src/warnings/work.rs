//! What the clients' work shows of itself: errors, retries, commits without a sync, operations that
//! did not keep up, time that is in no latency.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Levels, OperationSummary, Run, TrialSummary};
use bakeoff_stats::steady::Steadiness;

use super::{WarningTally, part, part_of, percent};
use crate::document::CellView;
use crate::littles_law::{concurrency, littles_law, starving};
use crate::open_loop::OpenLoopView;
use crate::steady::steadiness;
use crate::warning::{Warning, WarningKind};

/// How far the sum of latencies may be from the clients' time.
const LITTLE_OFF: f64 = 0.10;

/// Transactions run again, for each operation, that are worth a word.
const RETRIES: f64 = 0.01;

/// The share of the syncs that strict commits need at least; fewer, and some were not synced for.
const SYNCED: f64 = 0.5;

/// Which part of the syncs that its strict commits need a cell did not make; `None` of a cell that promises
/// less, made enough of them, or whose syncs nobody counted exactly. Commits that are under way at once can
/// share a sync, so that one is needed for each round of the clients at least.
fn missing_syncs(run: &Run, cell: &CellView, at_once: &BTreeMap<&Levels, f64>) -> Option<f64> {
    let level = cell.levels.get("durability")?;
    let is_strict = run.alias("durability", level).unwrap_or(level) == "strict";
    let stores = cell.levels.get("engine").is_none_or(|it| run.stores(it));
    let cost = cell.cost.filter(|_| is_strict && stores)?;
    cost.sums.syncs.filter(|syncs| syncs.counted_by.is_exact())?;
    let share = cost.syncs_per_commit? * at_once.get(&cell.levels)?;
    (share < SYNCED).then_some(1.0 - share)
}

/// How many operations of each cell can be in flight at once.
fn at_once<'a>(counted: &[&'a TrialSummary]) -> BTreeMap<&'a Levels, f64> {
    counted.iter().filter_map(|trial| Some((&trial.levels, concurrency(trial)?))).collect()
}

/// The strict cells that did not sync for their commits.
pub(crate) fn unsynced_cells(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> BTreeSet<Levels> {
    let at_once = at_once(counted);
    let unsynced = cells.iter().filter(|cell| missing_syncs(run, cell, &at_once).is_some());
    unsynced.map(|cell| cell.levels.clone()).collect()
}

/// Says which these are.
pub(super) fn unsynced(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> Option<Warning> {
    let at_once = at_once(counted);
    let strict = |cell: &&CellView| {
        let level = cell.levels.get("durability");
        level.is_some_and(|level| run.alias("durability", level).unwrap_or(level) == "strict")
    };
    let stores = |cell: &&CellView| cell.levels.get("engine").is_none_or(|it| run.stores(it));
    let strict: Vec<&CellView> = cells.iter().filter(strict).filter(stores).collect();
    let missing = |cell: &&CellView| missing_syncs(run, cell, &at_once).unwrap_or_default();
    WarningTally::from_items(strict, |cell| &cell.levels, missing).say(run, |n, m, worst, at| {
        let part = part_of(n, m, "strict cell");
        let text = format!(
            "in {part} the engine did not sync for its commits, at worst it made {:.2} of the \
             syncs that its clients' commits need at least, at {at}: a power cut would take \
             commits that it had acknowledged",
            1.0 - worst
        );
        Warning::new(WarningKind::NotSynced, text).remedy(
            "do not compare it with engines that sync; look for a setting that turns syncs off",
        )
    })
}

pub(super) fn errors(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let all = |errors: &mut dyn Iterator<Item = u64>| errors.fold(0, u64::saturating_add);
    let errors = |trial: &TrialSummary| all(&mut trial.operations.iter().map(|op| op.errors));
    let sum = all(&mut counted.iter().map(|trial| errors(trial)));
    WarningTally::of_trials(counted, |trial| errors(trial) as f64).say(run, |n, m, worst, at| {
        let operations = if sum == 1 { "operation" } else { "operations" };
        let trials = part(n, m);
        let text =
            format!("{sum} {operations} ended in an error, in {trials}; most ({worst}) at {at}");
        Warning::new(WarningKind::Errors, text)
    })
}

pub(super) fn retries(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let share = |trial: &TrialSummary| {
        let sum = |of: fn(&OperationSummary) -> u64| trial.operations.iter().map(of).sum::<u64>();
        sum(|op| op.retries) as f64 / sum(|op| op.count).max(1) as f64
    };
    let above = |trial| Some(share(trial)).filter(|share| *share > RETRIES).unwrap_or_default();
    WarningTally::of_trials(counted, above).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} transactions were run again (a conflict in the engine, or a stale version of \
             the row), at worst {worst:.2} for each operation, at {at}; the latencies include it",
            part(n, m)
        );
        Warning::new(WarningKind::Retries, text)
    })
}

/// Cells whose operations were due faster than they were done.
pub(super) fn behind(run: &Run, cells: &[CellView]) -> Option<Warning> {
    let open = cells.iter().filter_map(|cell| Some((cell, cell.open_loop?)));
    let lag = |(_, open): &(&CellView, OpenLoopView)| match open.kept_up {
        true => 0.0,
        // Even where it rounds to nothing over all trials.
        false => open.share_not_started().max(f64::MIN_POSITIVE),
    };
    WarningTally::from_items(open, |(cell, _)| &cell.levels, lag).say(run, |n, m, worst, at| {
        let part = part_of(n, m, "cell");
        let text = format!(
            "{part} did not keep up with the rate that was offered, at worst {} of what was due \
             had not started when the time was over, at {at}: response times there only grow with \
             the length of the trial",
            percent(worst)
        );
        Warning::new(WarningKind::NotKeptUp, text)
            .remedy("offer a lower rate to learn what it can serve")
    })
}

/// Trials that were cut off while operations were still running.
pub(super) fn cut_off(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let running = |trial: &TrialSummary| {
        trial.operations.iter().map(|operation| operation.unfinished).sum::<u64>() as f64
    };
    WarningTally::of_trials(counted, running).say(run, |n, m, worst, at| {
        let text = format!(
            "{} cut off while operations were still running, most ({worst}) at {at}: they count with \
             the time that they had taken by then, so that means, quantiles and ratios there are \
             bounds",
            if n == 1 { format!("{} was", part(n, m)) } else { format!("{} were", part(n, m)) }
        );
        Warning::new(WarningKind::CutOff, text)
            .remedy("longer trials (--seconds) wait longer for them")
    })
}

/// Trials of a closed loop in which clients waited for something that is in no latency.
pub(super) fn unbalanced(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // Where clients starve, that is said by its own name.
    let off = |trial: &TrialSummary| {
        littles_law(trial).filter(|_| starving(trial).is_none()).map(|law| (law - 1.0).abs())
    };
    let above = |trial| off(trial).filter(|off| *off > LITTLE_OFF).unwrap_or_default();
    WarningTally::of_trials(counted, above).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the latencies do not add up to the clients' time, at worst by {}, at {at}: \
             clients waited for something that is in no latency, or operations are long compared \
             with the trial",
            part(n, m),
            percent(worst)
        );
        Warning::new(WarningKind::TimeMissing, text)
            .remedy("a longer --seconds mends it where operations are long")
    })
}

/// In an open loop, too: there the throughput falls where it no longer keeps up.
pub(super) fn unsteady(run: &Run, counted: &[&TrialSummary]) -> [Option<Warning>; 2] {
    let is = |answer| {
        let so = move |trial: &TrialSummary| steadiness(trial) == Some(answer);
        WarningTally::of_trials(counted, move |trial| f64::from(u8::from(so(trial))))
    };
    let not = is(Steadiness::NotSteady).say(run, |n, m, _, at| {
        let text = format!(
            "{} had not settled when {}, first at {at}",
            part(n, m),
            if n == 1 { "it ended" } else { "they ended" }
        );
        Warning::new(WarningKind::NotSettled, text)
            .remedy("a longer --seconds shows what comes then")
    });
    let unknown = is(Steadiness::CannotTell).say(run, |n, m, _, at| {
        let text = format!(
            "of {} it cannot be told whether {} had settled, first at {at}: the operations a \
             second vary so much that a rise or fall of a tenth would not show",
            part(n, m),
            if n == 1 { "it" } else { "they" }
        );
        Warning::new(WarningKind::CannotTellSettled, text).remedy("a longer --seconds tells")
    });
    [not, unknown]
}
