use std::collections::BTreeMap;

use bakeoff_results::measure::SPACE;
use bakeoff_results::published::Quantity;
use bakeoff_results::{FigureOfMerit, Levels, Scope, TrialSummary};
use bakeoff_stats::steady::Steadiness;
use bakeoff_stats::{CONFIDENCE, paired};

use crate::cells;
use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::document::Document;
use crate::open_loop::is_behind;
use crate::published::{Ours, UntoldReason};
use crate::steady::rounds;
use crate::verdict::ENOUGH;

pub(super) struct TrialsByCell<'a> {
    document: &'a Document,
    cells: BTreeMap<&'a Levels, [Vec<&'a TrialSummary>; 2]>,
}

#[derive(Clone, Copy)]
struct CellFigure {
    value: f64,
    /// A bound, since operations were still running at the end.
    cut_off: bool,
}

impl<'a> TrialsByCell<'a> {
    pub(super) fn from_document(document: &'a Document) -> Self {
        let mut cells: BTreeMap<&Levels, [Vec<&TrialSummary>; 2]> = BTreeMap::new();
        for trial in &document.trials {
            cells.entry(&trial.levels).or_default()[0].push(trial);
        }
        for trial in cells::select_counted(&document.trials) {
            cells.entry(&trial.levels).or_default()[1].push(trial);
        }
        Self { document, cells }
    }

    /// The ratio of the cell of `levels` to the cell that has the levels of `base` instead.
    pub(super) fn estimate_ratio(
        &self,
        of: Quantity,
        operation: Option<&str>,
        levels: &Levels,
        base: &Levels,
    ) -> Result<Ours, UntoldReason> {
        let mut at_base = levels.clone();
        at_base.extend(base.clone());
        if [levels, &at_base].iter().any(|levels| self.is_left_out(levels)) {
            return Err(UntoldReason::NotPossible);
        }
        let cell = self.find_trials(levels, UntoldReason::NotRun, UntoldReason::SetAside)?;
        let base_cell =
            self.find_trials(&at_base, UntoldReason::BaseNotRun, UntoldReason::BaseSetAside)?;
        let operation = operation.unwrap_or_default();
        if of != Quantity::Space {
            let both = || cell.iter().chain(&base_cell);
            check(both(), operation)?;
        }
        let compare = &self.document.run.run.compare;
        let compared = match base.get(compare).filter(|_| base.len() == 1 && of == Quantity::Time) {
            Some(baseline) => self.find_compared(operation, levels, baseline),
            None => None,
        };
        if let Some(compared) = compared {
            return compared;
        }
        // All other levels are equal within a pair, and so is the repetition.
        let key = |trial: &TrialSummary| {
            let mut others = trial.levels.clone();
            others.retain(|factor, _| !base.contains_key(factor));
            (trial.repetition, others)
        };
        let figures = |trials: &[&TrialSummary]| -> BTreeMap<_, CellFigure> {
            let figures =
                trials.iter().filter_map(|it| Some((key(it), read_figure(it, of, operation)?)));
            figures.collect()
        };
        let (cell, base_cell) = (figures(&cell), figures(&base_cell));
        let pair = |(key, base): (_, &CellFigure)| Some((*base, *cell.get(key)?));
        estimate(&base_cell.iter().filter_map(pair).collect::<Vec<_>>(), of)
    }

    fn is_left_out(&self, levels: &Levels) -> bool {
        let within = |(factor, level): (&String, &String)| levels.get(factor) == Some(level);
        self.document.run.run.left_out.iter().any(|left| left.levels.iter().all(within))
    }

    fn find_trials(
        &self,
        levels: &Levels,
        none: UntoldReason,
        set_aside: UntoldReason,
    ) -> Result<Vec<&'a TrialSummary>, UntoldReason> {
        let within =
            |cell: &Levels| levels.iter().all(|(factor, level)| cell.get(factor) == Some(level));
        let cells = || self.cells.iter().filter(|(cell, _)| within(cell)).map(|(_, trials)| trials);
        let counted: Vec<&TrialSummary> =
            cells().flat_map(|[_, counted]| counted.iter().copied()).collect();
        match (counted.is_empty(), cells().next()) {
            (false, _) => Ok(counted),
            (true, Some(_)) => Err(set_aside),
            (true, None) => Err(none),
        }
    }

    /// The run's own comparison of two levels of the compared factor, where there is one of times.
    fn find_compared(
        &self,
        operation: &str,
        levels: &Levels,
        baseline: &str,
    ) -> Option<Result<Ours, UntoldReason>> {
        let time = FigureOfMerit::Time.metric_name();
        let Document { comparisons, between, .. } = self.document;
        let fits = |it: &&Comparison| {
            let same = |(factor, level): (&String, &String)| {
                *factor == it.factor || it.levels.get(factor) == Some(level)
            };
            it.operation == operation && it.metric == time && levels.iter().all(same)
        };
        let of = |it: &Comparison| it.with_baseline(baseline, levels.get(&it.factor)?);
        let found = comparisons.iter().chain(between).filter(fits).find_map(of)?;
        let Comparison { ratio, ratio_is, low, high, blocks, verdict, .. } = found;
        Some(match (verdict, ratio, ratio_is, blocks) {
            (Verdict::TooFew, ..) => Err(UntoldReason::TooFew),
            (Verdict::NeverSteady, ..) => Err(UntoldReason::NeverSteady),
            (_, Some(ratio), Some(ratio_is), pairs) => {
                Ok(Ours { ratio, ratio_is, low, high, pairs })
            }
            (.., 0) => Err(UntoldReason::NoPair),
            _ => Err(UntoldReason::BothCutOff),
        })
    }
}

fn check<'t>(
    trials: impl Iterator<Item = &'t &'t TrialSummary> + Clone,
    operation: &str,
) -> Result<(), UntoldReason> {
    let counts = trials.clone().filter_map(|trial| {
        trial.operations.iter().find(|view| view.name == operation).map(|view| view.count)
    });
    if counts.min().ok_or(UntoldReason::NoPair)? < ENOUGH {
        return Err(UntoldReason::TooFew);
    }
    if trials.clone().any(|trial| rounds(trial) == Some(Steadiness::NotSteady)) {
        return Err(UntoldReason::NeverSteady);
    }
    if trials.clone().any(|trial| is_behind(trial)) { Err(UntoldReason::NoPair) } else { Ok(()) }
}

fn read_figure(trial: &TrialSummary, of: Quantity, operation: &str) -> Option<CellFigure> {
    let value = match of {
        Quantity::Space => {
            return Some(CellFigure {
                value: trial.measures.get(&SPACE, &Scope::Trial)?,
                cut_off: false,
            });
        }
        Quantity::Time | Quantity::Rate => {
            trial.operations.iter().find(|view| view.name == operation)?
        }
    };
    let cut_off = value.unfinished > 0;
    let value = match of {
        Quantity::Time => value.mean_s?,
        _ => value.per_second,
    };
    Some(CellFigure { value, cut_off }).filter(|figure| figure.value > 0.0)
}

fn estimate(pairs: &[(CellFigure, CellFigure)], of: Quantity) -> Result<Ours, UntoldReason> {
    let cut_off = pairs
        .iter()
        .fold((false, false), |cut, (base, cell)| (cut.0 || base.cut_off, cut.1 || cell.cut_off));
    // When cut off, times are lower bounds, and rates upper ones.
    let ratio_is = match (cut_off, of) {
        ((false, false), _) => RatioBound::Exact,
        ((false, true), Quantity::Rate) | ((true, false), Quantity::Time) => RatioBound::AtMost,
        ((true, false) | (false, true), _) => RatioBound::AtLeast,
        ((true, true), _) => return Err(UntoldReason::BothCutOff),
    };
    let values: Vec<(f64, f64)> =
        pairs.iter().map(|(base, cell)| (base.value, cell.value)).collect();
    let estimate = paired::estimate_ratio(&values, CONFIDENCE).map_err(|_| UntoldReason::NoPair)?;
    let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
    Ok(Ours {
        ratio: estimate.ratio,
        ratio_is,
        low: finite(estimate.low).filter(|_| ratio_is != RatioBound::AtMost),
        high: finite(estimate.high).filter(|_| ratio_is != RatioBound::AtLeast),
        pairs: estimate.pairs as u32,
    })
}
