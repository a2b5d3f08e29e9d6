//! Decides which trials count, and sums up the trials of a cell.

use std::collections::BTreeMap;

use bakeoff_results::measure::{CPU, DRAIN_CPU, RATE, SPACE};
use bakeoff_results::{Levels, Measure, OperationSummary, Run, Scope, TrialSummary};
use bakeoff_stats::quantile::median;

use crate::attempts::Attempts;
use crate::cost::{CostView, Cpu, WorkCost};
use crate::debt::{DebtView, drained_of};
use crate::document::CellView;
use crate::groups::{GroupView, ProcessView};
use crate::harness_cost;
use crate::open_loop::OpenLoopView;
use crate::page_cache::{AccessDirection, compute_disk_share};
use crate::price::PricedView;
use crate::space::SpaceView;
use crate::starting_state::{RestartView, SteadyView};
use crate::total::{CellTotal, geometric_mean, mean};
use crate::work::WorkView;

/// The places of levels in the plan's factors: the sort key of cells and comparisons. Unknown names
/// come last.
pub(crate) type Rank = Vec<usize>;

pub(crate) fn rank_levels(run: &Run, levels: &Levels) -> Rank {
    let place = |(factor, known): &(String, Vec<String>)| {
        let level = levels.get(factor)?;
        known.iter().position(|name| name == level)
    };
    run.factors.iter().map(|factor| place(factor).unwrap_or(usize::MAX)).collect()
}

/// The trials that count: the valid ones of the latest attempt at each block that has any. Trials
/// of two attempts were not run back to back, so they are never compared.
pub fn select_counted(trials: &[TrialSummary]) -> Vec<&TrialSummary> {
    let latest = Attempts::from_trials(trials.iter().filter(|trial| trial.valid));
    let counts = |trial: &&TrialSummary| trial.valid && latest.is_latest(trial);
    trials.iter().filter(counts).collect()
}

pub(crate) fn collect_cells(run: &Run, counted: &[&TrialSummary]) -> Vec<CellView> {
    let mut cells: BTreeMap<(Rank, &Levels), Vec<&TrialSummary>> = BTreeMap::new();
    for &trial in counted {
        let levels = &trial.levels;
        cells.entry((rank_levels(run, levels), levels)).or_default().push(trial);
    }
    cells.into_iter().map(|((_, levels), trials)| summarize_cell(levels, &trials)).collect()
}

/// By name, each once: a trial's clients may do other operations than the workload lists.
fn summarize_operations(trials: &[&TrialSummary]) -> Vec<OperationSummary> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Vec<&OperationSummary>> = Vec::new();
    for view in trials.iter().flat_map(|trial| &trial.operations) {
        let place = *places.entry(&view.name).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(view);
    }
    found.iter().map(|views| summarize_operation(views)).collect()
}

fn summarize_cell(levels: &Levels, trials: &[&TrialSummary]) -> CellView {
    let each = |measure: &Measure, scope: &Scope| -> Vec<f64> {
        trials.iter().filter_map(|trial| trial.measures.get(measure, scope)).collect()
    };
    let space = each(&SPACE, &Scope::Trial);
    let cost = sum_costs(trials);
    let mean_of = |measure, scope| mean(&each(measure, scope)).unwrap_or_default();
    CellView {
        levels: levels.clone(),
        trials: trials.len() as u32,
        operations: summarize_operations(trials),
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
        harness_share: harness_cost::harness_share(trials),
        neighbour_per_second: mean_of(&RATE, &Scope::Neighbours),
        open_loop: OpenLoopView::of_cell(trials),
        work: WorkView::from_trials(trials, cost.as_ref()),
        cost,
        from_disk: compute_disk_share(AccessDirection::Reads, trials),
        to_disk: compute_disk_share(AccessDirection::Writes, trials),
        groups: GroupView::of_cell(trials),
        processes: ProcessView::of_cell(trials),
        broken_promise: None,
        counters: sum_counters(trials),
    }
}

/// `None` where some trial's cost is unknown: a trial that was not drained does not know what its
/// work wrote in the end.
fn sum_costs(trials: &[&TrialSummary]) -> Option<CostView> {
    let trials = drained_of(trials);
    let costs: Option<Vec<WorkCost>> =
        trials.iter().map(|trial| WorkCost::from_measures(&trial.measures)).collect();
    costs?.into_iter().reduce(|sum, cost| sum.plus(&cost)).map(CostView::from)
}

pub fn sum_counters(trials: &[&TrialSummary]) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in trials.iter().flat_map(|trial| trial.measures.counters()) {
        match sums.get_mut(name) {
            Some(sum) => *sum = sum.saturating_add(count),
            None => drop(sums.insert(name.to_owned(), count)),
        }
    }
    sums
}

fn summarize_operation(views: &[&OperationSummary]) -> OperationSummary {
    let means: Vec<f64> = views.iter().filter_map(|view| view.mean_s).collect();
    let services: Vec<f64> = views.iter().filter_map(|view| view.service_mean_s).collect();
    let rates: Vec<f64> = views.iter().map(|view| view.per_second).collect();
    let sum = |of: fn(&OperationSummary) -> u64| {
        views.iter().map(|view| of(view)).fold(0, u64::saturating_add)
    };
    // Not for all operations together: the speed of one trial would look like the spread of
    // operations.
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
