//! A document arranged for reading: the levels that are compared, and their conditions.

use std::collections::{HashMap, HashSet};

use bakeoff_results::{
    ALL_OPERATIONS, Applied, FigureOfMerit, Levels, OperationSummary, OwnFactor, TrialSummary,
};

use crate::cells::select_counted;
use crate::comparison::Comparison;
use crate::document::{CellView, Document};
use crate::operation_case::OperationCase;
use crate::total::Total;

/// The level of `rate` at which each client waits for its answer.
pub const CLOSED: (&str, &str) = (OwnFactor::Rate.as_str(), "closed");

/// A level of each factor that varies beside the compared one, in their order.
pub type ConditionLevels<'a> = Vec<&'a str>;

/// A cell's figure of merit: a time, or a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeritAmount {
    pub merit: FigureOfMerit,
    /// In seconds, or a second; megabytes in bytes.
    pub value: f64,
    /// Operations were cut off: a time is a lower bound then, a rate an upper one.
    pub is_bound: bool,
}

pub struct DocumentLayout<'a> {
    pub document: &'a Document,
    pub compare: &'a str,
    /// In the plan's order; a level entered twice is here once.
    pub levels: Vec<&'a str>,
    pub varying: Vec<&'a str>,
    /// Combinations that were tried, in the plan's order.
    pub conditions: Vec<ConditionLevels<'a>>,
    /// Levels in use today, each with its factor, as the user gave them.
    pub present: &'a [(String, String)],
    cells: HashMap<(ConditionLevels<'a>, &'a str), &'a CellView>,
    trials: HashMap<(ConditionLevels<'a>, &'a str), Vec<&'a TrialSummary>>,
    comparisons: HashMap<(&'a str, ConditionLevels<'a>), Vec<&'a Comparison>>,
    between: HashMap<(&'a str, ConditionLevels<'a>), Vec<&'a Comparison>>,
}

impl<'a> DocumentLayout<'a> {
    pub fn new(document: &'a Document) -> Self {
        let run = &document.run.run;
        let compare = run.compare.as_str();
        let varying: Vec<&str> = run
            .factors
            .iter()
            .filter(|(name, levels)| name != compare && levels.len() > 1)
            .map(|(name, _)| name.as_str())
            .collect();
        let trials = || {
            let is_alias = |trial: &&TrialSummary| {
                run.resolve_alias(compare, level_or_empty(&trial.levels, compare)).is_some()
            };
            document.trials.iter().filter(move |trial| !is_alias(trial))
        };

        let mut levels =
            collect_distinct(trials().map(|trial| level_or_empty(&trial.levels, compare)));
        levels.sort_by_key(|level| find_place(document, compare, level));
        let mut conditions = collect_distinct(trials().map(|trial| pick(&trial.levels, &varying)));
        conditions.sort_by_key(|condition| {
            varying
                .iter()
                .zip(condition)
                .map(|(f, l)| find_place(document, f, l))
                .collect::<Vec<_>>()
        });

        let cells = document
            .cells
            .iter()
            .map(|cell| {
                ((pick(&cell.levels, &varying), level_or_empty(&cell.levels, compare)), cell)
            })
            .collect();
        let mut of_cell: HashMap<_, Vec<_>> = HashMap::new();
        for trial in select_counted(&document.trials) {
            let place = (pick(&trial.levels, &varying), level_or_empty(&trial.levels, compare));
            of_cell.entry(place).or_default().push(trial);
        }
        let placed = |comparisons: &'a [Comparison]| {
            let mut placed: HashMap<_, Vec<_>> = HashMap::new();
            for comparison in comparisons {
                let key = (comparison.operation.as_str(), pick(&comparison.levels, &varying));
                placed.entry(key).or_default().push(comparison);
            }
            placed
        };
        let (comparisons, between) = (placed(&document.comparisons), placed(&document.between));
        Self {
            document,
            compare,
            levels,
            varying,
            conditions,
            present: &[],
            cells,
            trials: of_cell,
            comparisons,
            between,
        }
    }

    pub fn with_present(self, present: &'a [(String, String)]) -> Self {
        Self { present, ..self }
    }

    /// The workload's timed operations. Where levels are compared by a rate, all operations
    /// together come first.
    pub fn operations(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (timed, run) = (is_timed(self.document), &self.document.run.run);
        let together = self.has_rate() && run.operations.len() > 1;
        let all = together.then_some(ALL_OPERATIONS);
        all.into_iter().chain(run.operations.iter().map(String::as_str)).filter(move |_| timed)
    }

    fn has_rate(&self) -> bool {
        let closed = |cell: &CellView| cell.open_loop.is_none();
        self.document.run.run.figure_of_merit.is_rate() && self.document.cells.iter().any(closed)
    }

    /// `None` where nothing is compared. In an open loop the rate is given: times are compared.
    pub fn merit(&self, operation: &str, condition: &ConditionLevels<'a>) -> Option<FigureOfMerit> {
        let run = &self.document.run.run;
        let is_open = |level: &&'a str| {
            self.cell(condition, level).is_some_and(|cell| cell.open_loop.is_some())
        };
        let by_rate = run.figure_of_merit.is_rate() && !self.levels.iter().any(is_open);
        let together = operation == ALL_OPERATIONS;
        match (by_rate, together || run.operations.len() == 1) {
            (true, true) => Some(run.figure_of_merit),
            (true, false) => None,
            (false, _) => (!together).then_some(FigureOfMerit::Time),
        }
    }

    /// The rate by which all of these cases are compared; `None` where some are by time.
    pub fn shared_rate<'c>(
        &self,
        cases: impl IntoIterator<Item = &'c OperationCase<'a>>,
    ) -> Option<FigureOfMerit>
    where
        'a: 'c,
    {
        let mut merits = cases.into_iter().map(|case| self.merit(case.operation, &case.condition));
        let first = merits.next()?.filter(|merit| merit.is_rate())?;
        merits.all(|merit| merit == Some(first)).then_some(first)
    }

    /// The one figure of merit of all conditions; `None` where they differ.
    pub fn only_merit(&self, operation: &str) -> Option<FigureOfMerit> {
        let mut merits =
            self.conditions.iter().filter_map(|condition| self.merit(operation, condition));
        let first = merits.next()?;
        merits.all(|merit| merit == first).then_some(first)
    }

    /// The mean time where nothing is compared.
    pub fn amount(
        &self,
        operation: &str,
        condition: &ConditionLevels<'a>,
        level: &'a str,
    ) -> Option<MeritAmount> {
        let merit = self.merit(operation, condition).unwrap_or(FigureOfMerit::Time);
        if !merit.is_rate() {
            let figures = self.figures(operation, condition, level)?;
            return Some(MeritAmount {
                merit,
                value: figures.mean_s?,
                is_bound: figures.unfinished > 0,
            });
        }
        let total = self.cell(condition, level)?.total.as_ref()?.typical;
        Some(MeritAmount { merit, value: total.rate(merit)?, is_bound: total.at_most })
    }

    /// All levels but the harness.
    pub fn contenders(&self) -> Vec<&'a str> {
        self.levels.iter().copied().filter(|level| !self.is_harness(level)).collect()
    }

    /// Nothing shows that the cell broke its promise.
    pub fn keeps_promise(&self, condition: &ConditionLevels<'a>, level: &'a str) -> bool {
        self.cell(condition, level).is_none_or(|cell| cell.broken_promise.is_none())
    }

    pub fn contenders_at(&self, condition: &ConditionLevels<'a>) -> Vec<&'a str> {
        let kept = |level: &&'a str| self.keeps_promise(condition, level);
        self.contenders().into_iter().filter(kept).collect()
    }

    /// The harness is shown only if there is nothing else.
    pub fn charted_levels(&self) -> Vec<&'a str> {
        let contenders = self.contenders();
        if contenders.is_empty() { self.levels.clone() } else { contenders }
    }

    /// Levels of the harness beside others: charts leave them out.
    pub fn hidden(&self) -> Vec<&'a str> {
        let charted = self.charted_levels();
        self.levels.iter().copied().filter(|level| !charted.contains(level)).collect()
    }

    pub fn is_harness(&self, level: &str) -> bool {
        self.document.run.run.is_harness(level)
    }

    /// Without those against the harness.
    pub fn contending_comparisons(&self) -> impl Iterator<Item = &Comparison> {
        let all = self.document.comparisons.iter().chain(&self.document.between);
        all.filter(|it| !self.is_harness(&it.level) && !self.is_harness(&it.baseline))
    }

    /// Operations were due at a rate in some cell.
    pub fn is_open(&self) -> bool {
        self.document.cells.iter().any(|cell| cell.open_loop.is_some())
    }

    /// Some cells are closed loops, others open.
    pub fn has_both_loops(&self) -> bool {
        self.is_open() && self.document.cells.iter().any(|cell| cell.open_loop.is_none())
    }

    pub fn has_engines(&self) -> bool {
        self.document.run.run.has_engines()
    }

    pub fn cell(&self, condition: &ConditionLevels<'a>, level: &'a str) -> Option<&'a CellView> {
        self.cells.get(&(condition.clone(), level)).copied().filter(|cell| cell.trials > 0)
    }

    pub fn trials(&self, condition: &ConditionLevels<'a>, level: &'a str) -> &[&'a TrialSummary] {
        self.trials.get(&(condition.clone(), level)).map_or(&[], Vec::as_slice)
    }

    pub fn trial_figures(
        &self,
        operation: &str,
        condition: &ConditionLevels<'a>,
        level: &'a str,
    ) -> Vec<f64> {
        let merit = self.merit(operation, condition).unwrap_or(FigureOfMerit::Time);
        let figure = |trial: &&&TrialSummary| match merit.is_rate() {
            true => Total::from_trial(trial)?.rate(merit),
            false => trial.operations.iter().find(|it| it.name == operation)?.mean_s,
        };
        let figures = self.trials(condition, level).iter().filter_map(|it| figure(&it));
        figures.filter(|it| *it > 0.0 && it.is_finite()).collect()
    }

    /// `None` for a factor that the run doesn't have.
    pub fn level_of(
        &self,
        factor: &str,
        condition: &ConditionLevels<'a>,
        level: &'a str,
    ) -> Option<&'a str> {
        if factor == self.compare {
            return Some(level);
        }
        match self.varying.iter().position(|name| *name == factor) {
            Some(at) => condition.get(at).copied(),
            None => self.document.run.run.levels_of(factor).first().map(String::as_str),
        }
    }

    /// With another level of one factor; `None` where that was not tried.
    pub fn sibling(
        &self,
        condition: &ConditionLevels<'a>,
        factor: &str,
        level: &str,
    ) -> Option<&ConditionLevels<'a>> {
        let at = self.varying.iter().position(|name| *name == factor)?;
        let is = |other: &&ConditionLevels<'a>| {
            let mut pairs = other.iter().zip(condition).enumerate();
            pairs.all(|(n, (other, own))| if n == at { *other == level } else { other == own })
        };
        self.conditions.iter().find(is)
    }

    pub fn figures(
        &self,
        operation: &str,
        condition: &ConditionLevels<'a>,
        level: &'a str,
    ) -> Option<&'a OperationSummary> {
        self.cell(condition, level)?.operations.iter().find(|o| o.name == operation)
    }

    /// Works in either direction. Above 1, the level is slower.
    pub fn pair(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
        baseline: &str,
        level: &str,
    ) -> Option<Comparison> {
        let key = (operation, condition.clone());
        let mut here = [&self.comparisons, &self.between]
            .into_iter()
            .filter_map(|placed| placed.get(&key))
            .flatten();
        here.find_map(|it| match (it.baseline.as_str(), it.level.as_str()) {
            pair if pair == (baseline, level) => Some((*it).clone()),
            pair if pair == (level, baseline) => Some(it.swapped()),
            _ => None,
        })
    }

    pub fn comparisons_with_baseline(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
    ) -> &[&'a Comparison] {
        self.comparisons.get(&(operation, condition.clone())).map_or(&[], Vec::as_slice)
    }

    pub fn comparisons_without_baseline(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
    ) -> &[&'a Comparison] {
        self.between.get(&(operation, condition.clone())).map_or(&[], Vec::as_slice)
    }

    pub fn against_baseline(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
        level: &str,
    ) -> Option<&'a Comparison> {
        self.comparisons_with_baseline(operation, condition)
            .iter()
            .copied()
            .find(|c| c.level == level)
    }
}

pub fn is_timed(document: &Document) -> bool {
    document.run.run.planned > 0 || document.promises.is_empty()
}

/// Planned trials that ended, without repeated attempts.
pub fn count_ended(document: &Document) -> usize {
    document.trials.iter().map(|t| (t.block, t.order)).collect::<HashSet<_>>().len()
}

pub fn find_applied<'a>(document: &'a Document, levels: &Levels) -> Option<&'a Applied> {
    let run = &document.run.run;
    let is = |factor: &str, name: &str| {
        let level = levels.get(factor);
        level.is_none_or(|level| run.resolve_alias(factor, level).unwrap_or(level) == name)
    };
    run.applied.iter().find(|applied| {
        is(OwnFactor::Engine.as_str(), &applied.engine)
            && is(OwnFactor::Durability.as_str(), &applied.durability)
            && is(OwnFactor::Memory.as_str(), &applied.memory)
            && applied.options.iter().all(|(option, level)| is(option, level))
    })
}

/// Empty for a factor that the cell doesn't have.
pub fn level_or_empty<'a>(levels: &'a Levels, factor: &str) -> &'a str {
    levels.get(factor).map_or("", String::as_str)
}

fn pick<'a>(levels: &'a Levels, factors: &[&str]) -> ConditionLevels<'a> {
    factors.iter().map(|factor| level_or_empty(levels, factor)).collect()
}

fn find_place(document: &Document, factor: &str, level: &str) -> usize {
    let levels = document.run.run.levels_of(factor);
    levels.iter().position(|it| it == level).unwrap_or(usize::MAX)
}

fn collect_distinct<T: Clone + Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.filter(|item| seen.insert(item.clone())).collect()
}
