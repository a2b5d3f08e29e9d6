//! Which trials count, and what the trials of each cell have in common.

use std::collections::BTreeMap;

use bakeoff_stats::quantile::median;
use hdrhistogram::Histogram;

use crate::cost::{Cost, CostView};
use crate::document::{Attempts, CellView, OperationView};
use crate::read::TrialRow;
use crate::record::{Cpu, Levels, Run};
use crate::store::RunFolder;
use crate::{Result, figures};

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
pub(crate) fn counted(rows: &[TrialRow]) -> Vec<&TrialRow> {
    let latest = Attempts::of(rows.iter().map(|row| &row.view).filter(|view| view.valid));
    let counts = |row: &&TrialRow| row.view.valid && latest.is_latest(&row.view);
    rows.iter().filter(counts).collect()
}

/// Each cell that has a trial that counts, in the plan's order. The histograms of one cell at a
/// time are in memory.
pub(crate) fn cells(folder: &RunFolder, run: &Run, counted: &[&TrialRow]) -> Result<Vec<CellView>> {
    let mut cells: BTreeMap<(Rank, &Levels), Vec<&TrialRow>> = BTreeMap::new();
    for &row in counted {
        let levels = &row.view.levels;
        cells.entry((rank(run, levels), levels)).or_default().push(row);
    }
    let mut kept = folder.kept()?;
    let mut views = Vec::with_capacity(cells.len());
    for ((_, levels), trials) in cells {
        let mut merged = Vec::new();
        for trial in &trials {
            folder.merge_kept(&mut kept, trial.id, &mut merged)?;
        }
        views.push(cell(levels, &trials, &merged));
    }
    Ok(views)
}

fn cell(levels: &Levels, trials: &[&TrialRow], merged: &[Histogram<u64>]) -> CellView {
    let each = |value: fn(&TrialRow) -> Option<f64>| -> Vec<f64> {
        trials.iter().filter_map(|row| value(row)).collect()
    };
    let space = each(|row| row.view.space_bytes.map(|bytes| bytes as f64));
    let operations = merged.iter().enumerate();
    CellView {
        levels: levels.clone(),
        trials: trials.len() as u32,
        operations: operations.map(|(at, merged)| operation(trials, at, merged)).collect(),
        space_bytes: median(&space).map(|bytes| bytes as u64),
        cpu_s: Cpu {
            client: mean(&each(|row| row.view.cpu_s.map(|cpu| cpu.client))).unwrap_or_default(),
            engine: mean(&each(|row| row.view.cpu_s.map(|cpu| cpu.engine))).unwrap_or_default(),
        },
        neighbour_per_second: mean(&each(achieved)).unwrap_or_default(),
        cost: cost(trials),
        counters: counters(trials),
    }
}

/// What all trials cost together, where each of them knows.
fn cost(trials: &[&TrialRow]) -> Option<CostView> {
    let of = |row: &TrialRow| Some(row.view.facts.as_ref()?.cost?.sums);
    let costs: Option<Vec<Cost>> = trials.iter().map(|row| of(row)).collect();
    costs?.into_iter().reduce(|sum, cost| sum.plus(&cost)).map(CostView::from)
}

/// The engine's own counters, summed over the trials.
fn counters(trials: &[&TrialRow]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for facts in trials.iter().filter_map(|row| row.view.facts.as_ref()) {
        for (name, count) in &facts.counters {
            *sums.entry(name.clone()).or_default() += count;
        }
    }
    sums
}

/// The neighbours' requests a second.
pub(crate) fn achieved(row: &TrialRow) -> Option<f64> {
    row.view.facts.as_ref().map(|facts| facts.neighbour.achieved_per_second)
}

/// The operation at place `at` of the workload, over all trials of a cell.
fn operation(trials: &[&TrialRow], at: usize, merged: &Histogram<u64>) -> OperationView {
    let views: Vec<&OperationView> =
        trials.iter().filter_map(|row| row.view.operations.get(at)).collect();
    let name = views.first().map_or("", |view| &view.name);
    let means: Vec<f64> = views.iter().filter_map(|view| view.mean_s).collect();
    let rates: Vec<f64> = views.iter().map(|view| view.per_second).collect();
    OperationView {
        mean_s: geometric_mean(&means),
        per_second: mean(&rates).unwrap_or_default(),
        errors: views.iter().map(|view| view.errors).sum(),
        retries: views.iter().map(|view| view.retries).sum(),
        ..figures::of_histogram(name, merged)
    }
}

/// exp(mean of ln x): what is twice too slow weighs as much as what is twice too fast, and one
/// trial that stalled does not make the cell.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).map(f64::exp)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
