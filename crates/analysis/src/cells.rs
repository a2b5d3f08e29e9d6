//! Which trials count, and what the trials of each cell have in common.

use std::collections::BTreeMap;

use bakeoff_results::measure::{CPU, DRAIN_CPU, RATE, SPACE};
use bakeoff_results::{Levels, Measure, OperationSummary, Run, Scope, TrialSummary};
use bakeoff_stats::quantile::median;

use crate::beside;
use crate::cost::{CostView, Cpu, WorkCost};
use crate::debt::{DebtView, drained_of};
use crate::document::{Attempts, CellView};
use crate::from_disk::{AccessDirection, share};
use crate::groups::{GroupView, ProcessView};
use crate::open_loop::OpenLoopView;
use crate::priced::PricedView;
use crate::space::SpaceView;
use crate::state::{RestartView, SteadyView};
use crate::total::{CellTotal, geometric_mean};
use crate::work::WorkView;

/// Where levels stand in the plan's factors: what cells and comparisons are sorted by. Names that
/// the plan does not know come last.
pub(crate) type Rank = Vec<usize>;

/// The rank of `levels`.
pub(crate) fn rank(run: &Run, levels: &Levels) -> Rank {
    let place = |(factor, known): &(String, Vec<String>)| {
        let level = levels.get(factor)?;
        known.iter().position(|name| name == level)
    };
    run.factors.iter().map(|factor| place(factor).unwrap_or(usize::MAX)).collect()
}

/// The trials that count: the valid ones of the latest attempt at each block that has any.
/// Trials of two attempts were not run back to back, so they never stand against each other.
pub fn counted(trials: &[TrialSummary]) -> Vec<&TrialSummary> {
    let latest = Attempts::from_trials(trials.iter().filter(|trial| trial.valid));
    let counts = |trial: &&TrialSummary| trial.valid && latest.is_latest(trial);
    trials.iter().filter(counts).collect()
}

/// Each cell that has a trial that counts, in the plan's order.
pub(crate) fn cells(run: &Run, counted: &[&TrialSummary]) -> Vec<CellView> {
    let mut cells: BTreeMap<(Rank, &Levels), Vec<&TrialSummary>> = BTreeMap::new();
    for &trial in counted {
        let levels = &trial.levels;
        cells.entry((rank(run, levels), levels)).or_default().push(trial);
    }
    cells.into_iter().map(|((_, levels), trials)| cell(levels, &trials)).collect()
}

/// The operations of the trials of a cell, each once and by its name: what a trial's clients did is the
/// trial's own, not the workload's.
fn operations(trials: &[&TrialSummary]) -> Vec<OperationSummary> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Vec<&OperationSummary>> = Vec::new();
    for view in trials.iter().flat_map(|trial| &trial.operations) {
        let place = *places.entry(&view.name).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(view);
    }
    found.iter().map(|views| operation(views)).collect()
}

fn cell(levels: &Levels, trials: &[&TrialSummary]) -> CellView {
    let each = |measure: &Measure, scope: &Scope| -> Vec<f64> {
        trials.iter().filter_map(|trial| trial.measures.get(measure, scope)).collect()
    };
    let space = each(&SPACE, &Scope::Trial);
    let cost = cost(trials);
    let mean_of = |measure, scope| mean(&each(measure, scope)).unwrap_or_default();
    CellView {
        levels: levels.clone(),
        trials: trials.len() as u32,
        operations: operations(trials),
        total: CellTotal::of_cell(trials),
        space_bytes: median(&space).map(|bytes| bytes as u64),
        space: SpaceView::from_trials(trials),
        cpu_s: Cpu {
            client: mean_of(&CPU, &Scope::Clients),
            engine: mean_of(&CPU, &Scope::DATABASE),
            engine_drain: mean(&each(&DRAIN_CPU, &Scope::DATABASE)),
            disk_daemon: mean(&each(&CPU, &Scope::DISK_DAEMON)),
            neighbours: mean(&each(&CPU, &Scope::Neighbours)),
        },
        restart: RestartView::of_cell(trials),
        steady: SteadyView::of_cell(trials),
        debt: DebtView::of_cell(trials),
        priced: PricedView::of_cell(trials),
        over_time: None,
        harness_share: beside::harness_share(trials),
        neighbour_per_second: mean_of(&RATE, &Scope::Neighbours),
        open_loop: OpenLoopView::of_cell(trials),
        work: WorkView::from_trials(trials, cost.as_ref()),
        cost,
        from_disk: share(AccessDirection::Reads, trials),
        to_disk: share(AccessDirection::Writes, trials),
        groups: GroupView::of_cell(trials),
        processes: ProcessView::of_cell(trials),
        broken_promise: None,
        counters: counters(trials),
    }
}

/// What all trials cost together, where each of them knows. A trial that was not drained does not know
/// what its work wrote in the end.
fn cost(trials: &[&TrialSummary]) -> Option<CostView> {
    let trials = drained_of(trials);
    let costs: Option<Vec<WorkCost>> =
        trials.iter().map(|trial| WorkCost::from_measures(&trial.measures)).collect();
    costs?.into_iter().reduce(|sum, cost| sum.plus(&cost)).map(CostView::from)
}

/// The target's own counters, summed over the trials.
fn counters(trials: &[&TrialSummary]) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in trials.iter().flat_map(|trial| trial.measures.counters()) {
        match sums.get_mut(name) {
            Some(sum) => *sum = sum.saturating_add(count),
            None => drop(sums.insert(name.to_owned(), count)),
        }
    }
    sums
}

/// An operation, by its figures in each trial of a cell that has it.
fn operation(views: &[&OperationSummary]) -> OperationSummary {
    let means: Vec<f64> = views.iter().filter_map(|view| view.mean_s).collect();
    let services: Vec<f64> = views.iter().filter_map(|view| view.service_mean_s).collect();
    let rates: Vec<f64> = views.iter().map(|view| view.per_second).collect();
    let sum = |of: fn(&OperationSummary) -> u64| {
        views.iter().map(|view| of(view)).fold(0, u64::saturating_add)
    };
    // Never of all operations together: how slow one trial is would be taken for how far operations
    // spread.
    let middle = |of: fn(&OperationSummary) -> Option<f64>| {
        let own: Option<Vec<f64>> = views.iter().map(|view| of(view)).collect();
        own.and_then(|own| median(&own))
    };
    OperationSummary {
        name: views.first().map(|view| view.name.clone()).unwrap_or_default(),
        count: sum(|view| view.count),
        unfinished: sum(|view| view.unfinished),
        mean_s: geometric_mean(&means),
        p50_s: middle(|view| view.p50_s),
        p95_s: middle(|view| view.p95_s),
        p99_s: middle(|view| view.p99_s),
        p999_s: middle(|view| view.p999_s),
        max_s: views.iter().filter_map(|view| view.max_s).reduce(f64::max),
        service_mean_s: geometric_mean(&services),
        service_p99_s: middle(|view| view.service_p99_s),
        untrimmed_mean_s: None,
        per_second: mean(&rates).unwrap_or_default(),
        errors: sum(|view| view.errors),
        retries: sum(|view| view.retries),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
