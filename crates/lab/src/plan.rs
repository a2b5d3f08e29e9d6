//! Decides which part of an experiment can be run, before anything runs. A cell that can't be had
//! is not replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use bakeoff_engines::{Durability, EngineHome};
use bakeoff_experiment::{
    Cell, Cuts, Experiment, Factor, LevelMove, PlannedTrial, Shard, TrialBlock, TrialPlan,
    engine_name, without_alias,
};
use bakeoff_results::{LeftOut, in_words};

use crate::spec::{PlannedCut, ResolvedTrial, resolve_trial};
use crate::{Refusal, Registry, TrialError};

/// The part of an experiment that can be run, with each cell resolved once.
#[derive(Clone)]
pub struct Plan<'a> {
    pub registry: &'a Registry,
    pub experiment: &'a Experiment,
    /// The blocks without impossible cells; they keep their numbers.
    pub trials: TrialPlan,
    pub cuts: Vec<PlannedCut>,
    pub left_out: Vec<LeftOut>,
    /// Whether levels were to be compared, and fewer than two are left.
    nothing_to_compare: bool,
    /// Each cell on each of its images.
    cells: BTreeMap<(Cell, u32), Arc<ResolvedTrial>>,
}

impl<'a> Plan<'a> {
    pub fn from_experiment(registry: &'a Registry, experiment: &'a Experiment) -> Self {
        ask_servers(registry, experiment);
        let refused = try_settings(registry, experiment);
        let mut left_out: BTreeMap<Refusal, (u32, u32)> = BTreeMap::new();
        let whole = experiment.plan();
        let mut cells: BTreeMap<(Cell, u32), Result<Arc<ResolvedTrial>, Refusal>> = BTreeMap::new();
        let mut blocks = Vec::new();
        for block in &whole.blocks {
            let mut trials = block.trials.clone();
            for planned in &block.trials {
                let resolved = cells.entry((planned.cell.clone(), planned.image));
                let resolved = resolved.or_insert_with_key(|(cell, image)| {
                    let name = cell.level(Factor::ENGINE).unwrap_or_default();
                    let why = refused.iter().find(|(level, _)| level == name);
                    why.map_or(Ok(()), |(_, why)| {
                        Err(Refusal::from_cell(cell, &[Factor::ENGINE], why))
                    })?;
                    resolve_trial(registry, experiment, cell, *image).map(Arc::new)
                });
                let Err(refusal) = resolved else { continue };
                trials.retain(|trial| trial.order != planned.order);
                left_out.entry(refusal.clone()).or_default().0 += 1;
            }
            if !trials.is_empty() {
                blocks.push(TrialBlock { trials, ..block.clone() });
            }
        }
        let mut cuts = Vec::new();
        for (subject, level) in experiment.cut_cells() {
            match PlannedCut::resolve(registry, experiment, subject, level) {
                Ok(cut) => cuts.push(cut),
                Err(refusal) => {
                    left_out.entry(refusal).or_default().1 += count_cuts_each(experiment) as u32;
                }
            }
        }
        for (refusal, trials) in find_moved(experiment, &whole) {
            left_out.entry(refusal).or_default().0 += trials;
        }
        let trials = TrialPlan { blocks };
        let compares =
            |plan: &TrialPlan| plan.blocks.iter().any(|it| has_comparison(it, experiment.compare));
        let nothing_to_compare = compares(&whole) && !compares(&trials);
        let left_out = left_out
            .into_iter()
            .map(|(Refusal { levels, why }, (trials, cuts))| LeftOut { levels, why, trials, cuts });
        Self {
            registry,
            experiment,
            trials,
            cuts,
            left_out: left_out.collect(),
            nothing_to_compare,
            cells: cells.into_iter().filter_map(|(key, it)| Some((key, it.ok()?))).collect(),
        }
    }

    /// Only a cell that a planner has added is resolved now.
    pub fn resolve(&self, planned: &PlannedTrial) -> Result<Arc<ResolvedTrial>, Refusal> {
        let PlannedTrial { cell, image, .. } = planned;
        match self.cells.get(&(cell.clone(), *image)) {
            Some(known) => Ok(Arc::clone(known)),
            None => resolve_trial(self.registry, self.experiment, cell, *image).map(Arc::new),
        }
    }

    pub fn block_trials<'p>(
        &'p self,
        block: &'p TrialBlock,
    ) -> impl Iterator<Item = &'p ResolvedTrial> {
        let key = |planned: &PlannedTrial| (planned.cell.clone(), planned.image);
        block.trials.iter().filter_map(move |planned| self.cells.get(&key(planned))).map(|it| &**it)
    }

    pub fn resolved(&self) -> impl Iterator<Item = &ResolvedTrial> {
        self.trials.blocks.iter().flat_map(|block| self.block_trials(block))
    }

    /// Each cell once, on one of its images.
    pub fn resolved_cells(&self) -> impl Iterator<Item = &ResolvedTrial> {
        let cells: BTreeMap<&Cell, &ResolvedTrial> =
            self.resolved().map(|trial| (&trial.cell, trial)).collect();
        cells.into_values()
    }

    #[must_use]
    pub fn first_repetitions(&self, repetitions: u32) -> Self {
        let blocks = self.trials.blocks.iter().filter(|block| block.repetition < repetitions);
        Self { trials: TrialPlan { blocks: blocks.cloned().collect() }, ..self.clone() }
    }

    pub fn shard(&self, shard: Shard) -> Result<Self, TrialError> {
        let whole = self.experiment.plan();
        let cells = self.experiment.cut_cells();
        let blocks = match whole.blocks.is_empty() {
            true if shard.count() as usize > cells.len() => {
                return Err(TrialError::User(format!(
                    "{} shards are more than the plan has parts: it has power cuts alone, of {} engines and \
                     levels of durability, and those of one level are never divided; take {} shards at most",
                    shard.count(),
                    cells.len(),
                    cells.len()
                )));
            }
            true => BTreeSet::new(),
            false => {
                shard.own_blocks(&whole).map_err(|error| TrialError::User(error.to_string()))?
            }
        };
        let own = self.trials.blocks.iter().filter(|block| blocks.contains(&block.number));
        let trials = TrialPlan { blocks: own.cloned().collect() };
        let is_own = |cut: &&PlannedCut| {
            let place = cells.iter().position(|cell| *cell == (&*cut.subject, &*cut.level));
            place.is_some_and(|place| shard.owns_item(place))
        };
        let cuts = self.cuts.iter().filter(is_own).cloned().collect();
        Ok(Self { trials, cuts, ..self.clone() })
    }

    pub fn cut_names(&self) -> Vec<(String, String)> {
        self.cuts.iter().map(|cut| (cut.subject.clone(), cut.level.clone())).collect()
    }

    pub fn planned_cuts(&self) -> usize {
        self.cuts.len() * count_cuts_each(self.experiment)
    }

    /// Fails if nothing is left that would answer the experiment's question.
    pub fn ensure_comparable(&self) -> Result<(), TrialError> {
        let left = !self.trials.blocks.is_empty() && !self.nothing_to_compare;
        if left || !self.cuts.is_empty() || self.left_out.is_empty() {
            return Ok(());
        }
        let what = match self.trials.blocks.is_empty() {
            true => "nothing in this experiment can be run",
            false => "nothing is left to compare",
        };
        let reasons: Vec<String> = self.left_out.iter().map(describe_left_out).collect();
        Err(TrialError::User(format!("{what}\n{}", reasons.join("\n"))))
    }
}

pub fn describe_left_out(left_out: &LeftOut) -> String {
    let count = |count: u32, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let counts = [count(left_out.trials, "trial"), count(left_out.cuts, "power cut")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let words = in_words(&left_out.levels);
    format!("not run: {words} ({}): {}", counts.join(", "), left_out.why)
}

/// The trials of engines whose settings keep another level of durability, at the level that they are
/// not run at.
fn find_moved(experiment: &Experiment, whole: &TrialPlan) -> Vec<(Refusal, u32)> {
    let all = || whole.blocks.iter().flat_map(|block| &block.trials);
    let told = |LevelMove { engine, asked, kept }: &LevelMove| {
        let is_there = |trial: &&PlannedTrial| {
            trial.cell.level(Factor::ENGINE) == Some(engine)
                && trial.cell.level(Factor::DURABILITY) == Some(kept)
        };
        let level = |factor: Factor, level: &String| (factor.name().to_owned(), level.clone());
        let levels = [level(Factor::ENGINE, engine), level(Factor::DURABILITY, asked)];
        let why = format!(
            "its settings keep durability {kept}, not {asked}: it is run at {kept} instead"
        );
        (Refusal { levels: levels.into(), why }, all().filter(is_there).count() as u32)
    };
    experiment.moves.iter().map(told).collect()
}

/// Whether a block has two different levels; a level and its alias are one.
fn has_comparison(block: &TrialBlock, compare: Factor) -> bool {
    let levels = block.trials.iter().map(|trial| without_alias(trial.cell.aliased_level(compare)));
    levels.collect::<BTreeSet<_>>().len() > 1
}

fn count_cuts_each(experiment: &Experiment) -> usize {
    let cuts = experiment.cuts.as_ref();
    cuts.map_or(0, |cuts: &Cuts| cuts.numbers().len() * cuts.file_systems.len())
}

/// How many servers read their settings at the same time.
const TRIED_AT_ONCE: usize = 4;

/// The levels whose own settings their server does not take, each with what it says. What is not
/// installed at all is found before the run.
fn try_settings(registry: &Registry, experiment: &Experiment) -> Vec<(String, String)> {
    let levels = experiment.run_levels(Factor::ENGINE);
    let levels: BTreeSet<&str> = levels.iter().map(|level| without_alias(level)).collect();
    let has_own = |level: &&str| engine_name(level) != *level;
    let levels: Vec<&str> = levels.into_iter().filter(has_own).collect();
    let try_level = &|level: &str| {
        let engine = registry.engine(level).filter(|engine| engine.available().is_ok())?;
        let problems = engine.check_ready(&experiment.settings_of(level), true).err()?;
        Some((level.to_owned(), problems.join("; ")))
    };
    let mut refused = Vec::new();
    for some in levels.chunks(TRIED_AT_ONCE) {
        thread::scope(|scope| {
            let ask = |level| thread::Builder::new().spawn_scoped(scope, move || try_level(level));
            let asked: Vec<_> = some.iter().map(|level| ask(*level)).collect();
            // One that could not be tried now is tried before the run.
            let answers = asked.into_iter().filter_map(|it| it.ok()?.join().ok()?);
            refused.extend(answers);
        });
    }
    refused
}

/// Asks all external servers at once: an absent one may take seconds to answer. The answers are
/// kept.
pub(crate) fn ask_servers(registry: &Registry, experiment: &Experiment) {
    let levels = experiment.run_levels(Factor::ENGINE);
    let engines: BTreeSet<&str> = levels.iter().map(|level| without_alias(level)).collect();
    let engines = engines.into_iter().filter_map(|name| registry.engine(name));
    thread::scope(|scope| {
        for engine in engines.filter(|engine| engine.home() == EngineHome::External) {
            // Without a thread for it, it is asked later, when the answer is needed.
            let _ = thread::Builder::new()
                .spawn_scoped(scope, || engine.check_level(Durability::Strict));
        }
    });
}
