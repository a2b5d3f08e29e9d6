//! Compares two runs, cell by cell: another version, another machine, another month.
//!
//! Their trials were not run in the same blocks. So changes of the machine are in every ratio, and
//! the spread of whole trials is in every interval.

mod set_up;

use std::collections::BTreeMap;

use bakeoff_results::{FigureOfMerit, Levels, Run, TrialSummary};
use bakeoff_stats::family::Adjustment;
use serde::Serialize;

pub use set_up::SetupChange;

use crate::answers;
use crate::cells::{rank_levels, select_counted};
use crate::compare::{Counted, start_comparison, subjects_of};
use crate::comparison::{Comparison, Verdict};
use crate::document::Document;
use crate::open_loop::{is_behind, is_open};
use crate::span::ComparedSpan;
use crate::total::geometric_mean;
use crate::verdict::{ComparisonCase, ComparisonSample, JudgingRule, OperationFigure, judge};

const FACTOR: &str = "run";
const BEFORE: &str = "before";
const AFTER: &str = "after";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunComparison {
    pub set_up: Vec<SetupChange>,
    pub shared: Vec<SharedCell>,
    /// These kept up with their rate in the first run and, in more than half of their trials, not
    /// in the second: they are worse, and no ratio says by how much.
    pub fell_behind: Vec<Levels>,
    /// Other cells of which some trials did not keep up.
    pub not_compared: Vec<Levels>,
    /// These were cut off in the second run, without figures of an operation that has some in the
    /// first: they are worse.
    pub hung: Vec<Levels>,
    /// Other cells of which an operation has figures in one run alone.
    pub without_figures: Vec<Levels>,
    pub only_before: Vec<Levels>,
    pub only_after: Vec<Levels>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedCell {
    /// `after` against `before`: the factor is `run`, the levels are the cell's.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The geometric mean of the trials: seconds, or so much a second, megabytes in bytes.
    pub before: f64,
    pub after: f64,
    pub trials: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// Slower by more than the limit, behind the rate, or unfinished.
    Worse,
    Passed,
    Undecided,
}

impl SharedCell {
    pub fn is_worse(&self, limit: f64) -> bool {
        let Comparison { verdict, ratio, .. } = &self.comparison;
        *verdict == Verdict::Slower && ratio.is_some_and(|ratio| ratio > 1.0 + limit)
    }

    pub fn is_decided(&self) -> bool {
        self.comparison.verdict.is_decided()
    }

    /// Its whole interval lies within the limit, whatever else is open.
    pub fn is_within(&self, limit: f64) -> bool {
        let Comparison { verdict, high, .. } = &self.comparison;
        let is_known =
            verdict.is_decided() || matches!(verdict, Verdict::Undecided | Verdict::WithinNoise);
        is_known && high.is_some_and(|high| high <= 1.0 + limit)
    }
}

impl RunComparison {
    pub fn gate(&self, limit: f64) -> GateVerdict {
        let is_worse = self.shared.iter().any(|it| it.is_worse(limit));
        let is_stuck = !(self.fell_behind.is_empty() && self.hung.is_empty());
        match self.shared.iter().any(|it| it.is_decided() || it.is_within(limit)) {
            _ if is_worse || is_stuck => GateVerdict::Worse,
            true => GateVerdict::Passed,
            false => GateVerdict::Undecided,
        }
    }

    pub fn have_cells_in_common(&self) -> bool {
        let lists = [&self.fell_behind, &self.not_compared, &self.hung, &self.without_figures];
        !self.shared.is_empty() || lists.iter().any(|cells| !cells.is_empty())
    }

    /// If one of the two did not keep up with its rate, sets the cell aside and returns true.
    fn set_aside(&mut self, levels: &Levels, [one, other]: [&CellTrials<'_>; 2]) -> bool {
        let is_like = one.behind == 0 && one.is_open == other.is_open;
        let list = match other.behind {
            0 if is_like => return false,
            behind if is_like && 2 * behind > other.trials.len() => &mut self.fell_behind,
            _ => &mut self.not_compared,
        };
        list.push(levels.clone());
        true
    }
}

#[derive(Default)]
struct CellTrials<'a> {
    trials: Vec<&'a TrialSummary>,
    is_open: bool,
    behind: usize,
}

impl CellTrials<'_> {
    fn is_cut_off(&self) -> bool {
        let mut operations = self.trials.iter().flat_map(|trial| &trial.operations);
        operations.any(|view| view.unfinished > 0)
    }
}

/// All comparisons of two runs of one workload, as one family.
///
/// A level that was entered twice is there once, and engines that store nothing are left out: they
/// only show the harness.
pub fn two_runs(before: &Document, after: &Document) -> RunComparison {
    let [old, new] = [collect_cells(before), collect_cells(after)];
    let runs = [&before.run.run, &after.run.run];
    let mut found = RunComparison {
        set_up: set_up::find_differences(before, after),
        only_before: find_missing(runs[0], &old, &new),
        only_after: find_missing(runs[1], &new, &old),
        ..RunComparison::default()
    };
    let (mut cases, mut figures) = (Vec::new(), Vec::new());
    for (levels, one) in in_order(runs[0], &old) {
        let Some(other) = new.get(levels) else { continue };
        if found.set_aside(levels, [one, other]) {
            continue;
        }
        let of_cell = of_cell(runs, levels, [one, other]);
        match of_cell.alone {
            [true, _] if other.is_cut_off() => found.hung.push(levels.clone()),
            [false, false] => {}
            _ => found.without_figures.push(levels.clone()),
        }
        for (case, shown) in of_cell.cases {
            cases.push(case);
            figures.push(shown);
        }
    }
    let judged = judge(cases, JudgingRule::Once(Adjustment::Holm));
    let shared = judged.into_iter().zip(figures).map(|(comparison, shown)| SharedCell {
        comparison,
        before: shown.means[0],
        after: shown.means[1],
        trials: shown.trials,
    });
    found.shared = shared.collect();
    let place = |it: &SharedCell| {
        let operations = &runs[0].operations;
        let place = operations.iter().position(|name| *name == it.comparison.operation);
        place.unwrap_or(usize::MAX)
    };
    found.shared.sort_by_key(place);
    found
}

struct ShownMeans {
    means: [f64; 2],
    trials: [u32; 2],
}

#[derive(Default)]
struct CellCases {
    cases: Vec<(ComparisonCase, ShownMeans)>,
    /// Whether an operation has figures in the first run alone, or in the second.
    alone: [bool; 2],
}

fn of_cell(runs: [&Run; 2], levels: &Levels, cells: [&CellTrials<'_>; 2]) -> CellCases {
    let unlike = answers::differ_between(runs, levels);
    let mut of_cell = CellCases::default();
    for subject in subjects_of(runs[0], cells[0].is_open) {
        let figures = cells.map(|cell| -> Vec<OperationFigure> {
            let figure = |trial: &&TrialSummary| {
                subject.read_figure(&Counted::from_trial(trial), ComparedSpan::Window)
            };
            cell.trials.iter().filter_map(figure).collect()
        });
        let comparison = Comparison {
            factor: FACTOR.to_owned(),
            ..start_comparison(runs[0], subject, levels, BEFORE, AFTER)
        };
        let is_rate =
            FigureOfMerit::of_metric(&comparison.metric).is_some_and(FigureOfMerit::is_rate);
        let mean = |figures: &Vec<OperationFigure>| {
            let costs: Vec<f64> = figures.iter().map(|figure| figure.cost_s).collect();
            let mean = geometric_mean(&costs)?;
            Some(if is_rate { 1.0 / mean } else { mean })
        };
        let means = match [mean(&figures[0]), mean(&figures[1])] {
            [Some(before), Some(after)] => [before, after],
            found => {
                of_cell.alone[0] |= found[0].is_some();
                of_cell.alone[1] |= found[1].is_some();
                continue;
            }
        };
        let trials = [figures[0].len() as u32, figures[1].len() as u32];
        let [baseline, level] = figures;
        let case =
            ComparisonCase { comparison, unlike, sample: ComparisonSample::Apart(baseline, level) };
        of_cell.cases.push((case, ShownMeans { means, trials }));
    }
    of_cell
}

fn collect_cells(document: &Document) -> BTreeMap<&Levels, CellTrials<'_>> {
    let run = &document.run.run;
    let is_left_out = |levels: &Levels| {
        let stores_nothing = !run.stores_at(levels);
        stores_nothing
            || levels.iter().any(|(factor, level)| run.resolve_alias(factor, level).is_some())
    };
    let mut cells: BTreeMap<&Levels, CellTrials> = BTreeMap::new();
    for trial in select_counted(&document.trials) {
        if is_left_out(&trial.levels) {
            continue;
        }
        let cell = cells.entry(&trial.levels).or_default();
        cell.is_open |= is_open(trial);
        cell.behind += usize::from(is_behind(trial));
        cell.trials.push(trial);
    }
    cells
}

fn in_order<'b, 'a>(
    run: &Run,
    cells: &'b BTreeMap<&'a Levels, CellTrials<'a>>,
) -> Vec<(&'a Levels, &'b CellTrials<'a>)> {
    let mut ordered: Vec<_> = cells.iter().map(|(levels, cell)| (*levels, cell)).collect();
    ordered.sort_by_cached_key(|(levels, _)| rank_levels(run, levels));
    ordered
}

fn find_missing(
    run: &Run,
    cells: &BTreeMap<&Levels, CellTrials<'_>>,
    other: &BTreeMap<&Levels, CellTrials<'_>>,
) -> Vec<Levels> {
    let ordered = in_order(run, cells).into_iter();
    ordered.filter(|(levels, _)| !other.contains_key(*levels)).map(|(it, _)| it.clone()).collect()
}
