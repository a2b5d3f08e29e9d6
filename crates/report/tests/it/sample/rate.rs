//! Runs whose levels are compared by a rate.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{
    ALL_OPERATIONS, CellTotal, Comparison, Document, SpaceView, Total, WorkView,
};
use bakeoff_results::measure::*;
use bakeoff_results::{FigureOfMerit, Levels, OperationSummary, TrialSummary};

/// Rows and bytes of each operation.
const ROWS: f64 = 40.0;
const BYTES: f64 = 4096.0;

/// Has a run's workload speak of a rate. Each kind of operation has its share of the clients' time.
pub fn rate(mut document: Document, merit: FigureOfMerit) -> Document {
    let run = &mut document.run.run;
    run.figure_of_merit = merit;
    let together = match run.operations.as_slice() {
        [only] => only.clone(),
        _ => ALL_OPERATIONS.to_owned(),
    };
    let first = run.operations[0].clone();
    for trial in &mut document.trials {
        let total = total(&trial.operations);
        trial.measures.set(&DONE_RATE, Scope::Clients, total.operations_per_second);
        trial.measures.set_some(&ROWS_RATE, Scope::Clients, total.rows_per_second);
        trial.measures.set_some(&BYTES_RATE, Scope::Clients, total.bytes_per_second);
    }
    document.trials.iter_mut().for_each(take);
    let trials = document.trials.clone();
    for cell in &mut document.cells {
        let own: Vec<_> = trials.iter().filter(|trial| trial.levels == cell.levels).collect();
        cell.work = WorkView::from_trials(&own, cell.cost.as_ref());
        cell.space = SpaceView::from_trials(&own);
        let typical = total(&cell.operations);
        cell.total = Some(CellTotal { typical, each: vec![typical; cell.trials as usize] });
    }
    let cells = document.cells.clone();
    let of = |levels: &Levels, level: &str| {
        let mut levels = levels.clone();
        levels.insert("engine".into(), level.into());
        let cell = cells.iter().find(|cell| cell.levels == levels).expect("a cell");
        cell.total.as_ref().and_then(|total| total.typical.rate(merit)).expect("a rate")
    };
    for comparisons in [&mut document.comparisons, &mut document.between] {
        comparisons.retain(|it| it.operation == first);
        for it in comparisons {
            it.operation.clone_from(&together);
            it.metric = merit.metric_name().into();
            judge(it, of(&it.levels, &it.baseline) / of(&it.levels, &it.level));
        }
    }
    document
}

/// What the rows of a trial took: lmdb has no cache of its own.
fn take(trial: &mut TrialSummary) {
    let operations = trial.measures.get(&OPERATIONS, &Scope::Clients).expect("operations");
    let rows = ROWS * operations;
    let misses = (trial.levels["engine"] != "lmdb").then_some(0.25 * rows);
    trial.measures.set_some(&CACHE_MISSES, Scope::Trial, misses);
    for (measure, scope, value) in [
        (&WORK_ROWS, Scope::Clients, rows),
        (&READS, Scope::Disk, 0.125 * rows),
        (&READ, Scope::Disk, 512.0 * rows),
        (&RETURNED, Scope::Clients, 128.0 * rows),
        (&LOADED, Scope::Trial, 20e6),
    ] {
        trial.measures.set(measure, scope, value);
    }
}

fn total(operations: &[OperationSummary]) -> Total {
    let share = operations.len() as f64;
    let rate: f64 = operations.iter().map(|operation| operation.per_second / share).sum();
    Total {
        operations_per_second: rate,
        rows_per_second: Some(ROWS * rate),
        bytes_per_second: Some(BYTES * rate),
        at_most: false,
    }
}

fn judge(it: &mut Comparison, slower: f64) {
    let (low, high) = (slower / 1.1, slower * 1.1);
    (it.ratio, it.low, it.high) = (Some(slower), Some(low), Some(high));
    it.verdict = match () {
        () if low > 1.05 => Verdict::Slower,
        () if high < 1.0 / 1.05 => Verdict::Faster,
        () => Verdict::Undecided,
    };
}
