//! A document laid out for reading: which levels stand against each other, at which conditions.

use std::collections::{HashMap, HashSet};

use bakeoff_analysis::{ALL_OPERATIONS, CellView, Comparison, Document, Total, counted};
use bakeoff_results::{Applied, FigureOfMerit, Levels, OperationSummary, TrialSummary};

use crate::amount::MeritAmount;
use crate::chart::STYLES;
use crate::promises;
use crate::words;

/// A level for each of the factors that vary beside the compared one, in their order.
pub type ConditionLevels<'a> = Vec<&'a str>;

/// The axes of a document, and its cells and comparisons by their place on them.
pub struct DocumentLayout<'a> {
    /// The document.
    pub document: &'a Document,
    /// The compared factor.
    pub compare: &'a str,
    /// Its levels that were tried, in the plan's order; one entered twice is here once.
    pub levels: Vec<&'a str>,
    /// The other factors that were given more than one level.
    pub varying: Vec<&'a str>,
    /// The combinations of their levels that were tried, in the plan's order.
    pub conditions: Vec<ConditionLevels<'a>>,
    /// What is in use today, as it was asked for: levels of some factors, each with its factor.
    pub present: &'a [(String, String)],
    cells: HashMap<(ConditionLevels<'a>, &'a str), &'a CellView>,
    trials: HashMap<(ConditionLevels<'a>, &'a str), Vec<&'a TrialSummary>>,
    comparisons: HashMap<(&'a str, ConditionLevels<'a>), Vec<&'a Comparison>>,
    between: HashMap<(&'a str, ConditionLevels<'a>), Vec<&'a Comparison>>,
}

impl<'a> DocumentLayout<'a> {
    /// Lays a document out.
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
            let is_alias =
                |trial: &&TrialSummary| run.alias(compare, get(&trial.levels, compare)).is_some();
            document.trials.iter().filter(move |trial| !is_alias(trial))
        };

        let mut levels = distinct(trials().map(|trial| get(&trial.levels, compare)));
        levels.sort_by_key(|level| place(document, compare, level));
        let mut conditions = distinct(trials().map(|trial| pick(&trial.levels, &varying)));
        conditions.sort_by_key(|condition| {
            varying.iter().zip(condition).map(|(f, l)| place(document, f, l)).collect::<Vec<_>>()
        });

        let cells = document
            .cells
            .iter()
            .map(|cell| ((pick(&cell.levels, &varying), get(&cell.levels, compare)), cell))
            .collect();
        let mut of_cell: HashMap<_, Vec<_>> = HashMap::new();
        for trial in counted(&document.trials) {
            let place = (pick(&trial.levels, &varying), get(&trial.levels, compare));
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

    /// The same seen from what is in use today.
    pub fn with_present(self, present: &'a [(String, String)]) -> Self {
        Self { present, ..self }
    }

    /// What there are figures of: the workload's operations, where anything was to be timed. Where levels
    /// are compared by a rate, all of them together come first.
    pub fn operations(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (timed, run) = (is_timed(self.document), &self.document.run.run);
        let together = self.has_rate() && run.operations.len() > 1;
        let all = together.then_some(ALL_OPERATIONS);
        all.into_iter().chain(run.operations.iter().map(String::as_str)).filter(move |_| timed)
    }

    /// Whether levels are compared by a rate in some cell.
    fn has_rate(&self) -> bool {
        let closed = |cell: &CellView| cell.open_loop.is_none();
        self.document.run.run.figure_of_merit.is_rate() && self.document.cells.iter().any(closed)
    }

    /// What the levels are compared by at an operation and a condition, if they are. Where operations
    /// are due at a rate, that is given, and it is their times.
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

    /// What the levels are compared by at an operation wherever they are: `None` where they are nowhere,
    /// or not everywhere by the same.
    pub fn only_merit(&self, operation: &str) -> Option<FigureOfMerit> {
        let mut merits =
            self.conditions.iter().filter_map(|condition| self.merit(operation, condition));
        let first = merits.next()?;
        merits.all(|merit| merit == first).then_some(first)
    }

    /// A cell's figure of merit at an operation; of one that is not compared its mean time.
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

    /// The levels that compete: all but the one that measures the harness.
    pub fn contenders(&self) -> Vec<&'a str> {
        self.levels.iter().copied().filter(|level| !self.is_harness(level)).collect()
    }

    /// Whether nothing shows that a cell broke the promise of its level of durability.
    pub fn keeps_promise(&self, condition: &ConditionLevels<'a>, level: &'a str) -> bool {
        self.cell(condition, level).is_none_or(|cell| cell.broken_promise.is_none())
    }

    /// The levels that compete at a condition: those that kept their promise there.
    pub fn contenders_at(&self, condition: &ConditionLevels<'a>) -> Vec<&'a str> {
        let kept = |level: &&'a str| self.keeps_promise(condition, level);
        self.contenders().into_iter().filter(kept).collect()
    }

    /// The levels that charts show: the harness only when there is nothing else.
    pub fn charted(&self) -> Vec<&'a str> {
        let contenders = self.contenders();
        if contenders.is_empty() { self.levels.clone() } else { contenders }
    }

    /// The levels that measure the harness and stand beside others: charts leave them out.
    pub fn hidden(&self) -> Vec<&'a str> {
        let charted = self.charted();
        self.levels.iter().copied().filter(|level| !charted.contains(level)).collect()
    }

    /// Whether a level of the compared factor measures the harness and not an engine.
    pub fn is_harness(&self, level: &str) -> bool {
        self.compare == "engine" && !self.document.run.run.stores(level)
    }

    /// All comparisons but those that show what the harness costs.
    pub fn contending(&self) -> impl Iterator<Item = &Comparison> {
        let all = self.document.comparisons.iter().chain(&self.document.between);
        all.filter(|it| !self.is_harness(&it.level) && !self.is_harness(&it.baseline))
    }

    /// Whether operations were due at a rate in some cell.
    pub fn is_open(&self) -> bool {
        self.document.cells.iter().any(|cell| cell.open_loop.is_some())
    }

    /// Whether clients of some cells waited for each operation, and those of others did not.
    pub fn has_both_loops(&self) -> bool {
        self.is_open() && self.document.cells.iter().any(|cell| cell.open_loop.is_none())
    }

    /// The time of an operation, in words.
    pub fn metric(&self) -> &'static str {
        if self.is_open() { "mean response time" } else { "mean time" }
    }

    /// Whether the run is of engines, whatever it compares.
    pub fn has_engines(&self) -> bool {
        self.document.run.run.factors.iter().any(|(factor, _)| factor == "engine")
    }

    /// The number of the style that a level keeps in every chart; the last is the harness's.
    pub fn style(&self, level: &str) -> usize {
        if self.is_harness(level) {
            return STYLES - 1;
        }
        self.contenders().iter().position(|l| *l == level).unwrap_or(0) % (STYLES - 1)
    }

    /// What the valid trials of a cell have in common, if it has any.
    pub fn cell(&self, condition: &ConditionLevels<'a>, level: &'a str) -> Option<&'a CellView> {
        self.cells.get(&(condition.clone(), level)).copied().filter(|cell| cell.trials > 0)
    }

    /// The trials of a cell that count, in the order in which they ran.
    pub fn trials(&self, condition: &ConditionLevels<'a>, level: &'a str) -> &[&'a TrialSummary] {
        self.trials.get(&(condition.clone(), level)).map_or(&[], Vec::as_slice)
    }

    /// What each trial of a cell has of its figure of merit at an operation.
    pub fn each(
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

    /// The level of a factor in a cell; `None` for a factor that the run does not have.
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
            None => {
                let known = self.document.run.run.factors.iter().find(|(name, _)| name == factor);
                known.and_then(|(_, levels)| levels.first()).map(String::as_str)
            }
        }
    }

    /// The same condition with another level of one of its factors; `None` where that was not tried.
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

    /// A cell's figures of one operation.
    pub fn figures(
        &self,
        operation: &str,
        condition: &ConditionLevels<'a>,
        level: &'a str,
    ) -> Option<&'a OperationSummary> {
        self.cell(condition, level)?.operations.iter().find(|o| o.name == operation)
    }

    /// How a level stands against another, whichever of them the baseline is: above 1, it is slower.
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

    /// The comparisons of an operation at a condition with its baseline.
    pub fn comparisons(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
    ) -> &[&'a Comparison] {
        self.comparisons.get(&(operation, condition.clone())).map_or(&[], Vec::as_slice)
    }

    /// The comparisons of an operation at a condition of levels other than its baseline with each other.
    pub fn between(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
    ) -> &[&'a Comparison] {
        self.between.get(&(operation, condition.clone())).map_or(&[], Vec::as_slice)
    }

    /// How a level stands against the run's baseline, if that is to be had.
    pub fn against_baseline(
        &self,
        operation: &'a str,
        condition: &ConditionLevels<'a>,
        level: &str,
    ) -> Option<&'a Comparison> {
        self.comparisons(operation, condition).iter().copied().find(|c| c.level == level)
    }

    /// What power cuts have shown of the promise of a cell, if it is broken.
    pub fn broken(&self, condition: &ConditionLevels<'a>, level: &'a str) -> Option<&'static str> {
        promises::mark(self.document, |factor| self.level_of(factor, condition, level))
    }

    /// "with 4 clients and no neighbours"; empty when nothing varies.
    pub fn place(&self, condition: &ConditionLevels<'a>) -> String {
        let words: Vec<String> =
            self.varying.iter().zip(condition).map(|(f, l)| words::level(f, l)).collect();
        if words.is_empty() { String::new() } else { format!(" with {}", words::list(&words)) }
    }
}

/// Whether anything was to be timed: a run can be of power cuts alone.
pub fn is_timed(document: &Document) -> bool {
    document.run.run.planned > 0 || document.promises.is_empty()
}

/// How many of the planned trials have ended, not counting second attempts at them.
pub fn ended(document: &Document) -> usize {
    document.trials.iter().map(|t| (t.block, t.order)).collect::<HashSet<_>>().len()
}

/// What the engine of a cell was opened with, where that was noted.
pub fn applied<'a>(document: &'a Document, levels: &Levels) -> Option<&'a Applied> {
    let run = &document.run.run;
    let is = |factor: &str, name: &str| {
        let level = levels.get(factor);
        level.is_none_or(|level| run.alias(factor, level).unwrap_or(level) == name)
    };
    run.applied.iter().find(|applied| {
        is("engine", &applied.engine)
            && is("durability", &applied.durability)
            && is("memory", &applied.memory)
            && applied.options.iter().all(|(option, level)| is(option, level))
    })
}

/// A factor's level in a cell; empty for a factor that the cell doesn't know.
pub fn get<'a>(levels: &'a Levels, factor: &str) -> &'a str {
    levels.get(factor).map_or("", String::as_str)
}

fn pick<'a>(levels: &'a Levels, factors: &[&str]) -> ConditionLevels<'a> {
    factors.iter().map(|factor| get(levels, factor)).collect()
}

/// Where a level stands among its factor's, as the experiment gave them.
fn place(document: &Document, factor: &str, level: &str) -> usize {
    let factors = &document.run.run.factors;
    let levels = factors.iter().find(|(name, _)| name == factor).map(|(_, levels)| levels);
    levels.and_then(|all| all.iter().position(|l| l == level)).unwrap_or(usize::MAX)
}

fn distinct<T: Clone + Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.filter(|item| seen.insert(item.clone())).collect()
}
