//! Which part of an experiment can be run. It is decided here alone, before anything runs: which
//! cells can't be had, and why. The plan goes without them; nothing takes their place.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use bakeoff_engines::{Durability, EngineHome};
use bakeoff_experiment::{
    Cell, CutBy, Cuts, EngineState, Experiment, Factor, Shard, TrialBlock, TrialPlan, base,
};
use bakeoff_results::{LeftOut, in_words};

use crate::refusal::gives;
use crate::spec::{self, DiskSpec};
use crate::targets::{MostClients, WantedLevels};
use crate::{Refusal, Registry, TrialError};

/// The part of an experiment that can be run, and what was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible {
    /// The plan without what can't be had; its blocks keep their numbers.
    pub plan: TrialPlan,
    /// What promises something that power cuts can try, as an engine, and the level of its promise, each
    /// once.
    pub cuts: Vec<(String, String)>,
    /// What can't be had, in the order of its levels.
    pub left_out: Vec<LeftOut>,
    /// Whether there was something to compare, and there is not any more.
    nothing_to_compare: bool,
}

impl Possible {
    /// Looks at every cell of an experiment. Servers that somebody else runs are asked what they
    /// give.
    pub fn from_experiment(registry: &Registry, experiment: &Experiment) -> Self {
        ask(registry, experiment);
        let mut left_out: BTreeMap<Refusal, (u32, u32)> = BTreeMap::new();
        let whole = experiment.plan();
        let mut known: BTreeMap<&Cell, Option<Refusal>> = BTreeMap::new();
        let mut blocks = Vec::new();
        for block in &whole.blocks {
            let mut trials = block.trials.clone();
            for planned in &block.trials {
                let refusal = known.entry(&planned.cell).or_insert_with(|| {
                    spec::resolve(registry, experiment, &planned.cell, block.number).err()
                });
                let Some(refusal) = refusal else { continue };
                trials.retain(|trial| trial.order != planned.order);
                left_out.entry(refusal.clone()).or_default().0 += 1;
            }
            if !trials.is_empty() {
                blocks.push(TrialBlock { trials, ..block.clone() });
            }
        }
        let mut cuts = Vec::new();
        for (engine, level) in experiment.cut_cells() {
            match can_be_cut(registry, experiment, engine, level) {
                Ok(()) => cuts.push((engine.to_owned(), level.to_owned())),
                Err(refusal) => left_out.entry(refusal).or_default().1 += made(experiment) as u32,
            }
        }
        let plan = TrialPlan { blocks };
        let compares =
            |plan: &TrialPlan| plan.blocks.iter().any(|it| compares(it, experiment.compare));
        let nothing_to_compare = compares(&whole) && !compares(&plan);
        let left_out = left_out
            .into_iter()
            .map(|(Refusal { levels, why }, (trials, cuts))| LeftOut { levels, why, trials, cuts });
        Self { plan, cuts, left_out: left_out.collect(), nothing_to_compare }
    }

    /// The same with the first repetitions alone, so many of them.
    #[must_use]
    pub fn first_repetitions(&self, repetitions: u32) -> Self {
        let blocks = self.plan.blocks.iter().filter(|block| block.repetition < repetitions);
        Self { plan: TrialPlan { blocks: blocks.cloned().collect() }, ..self.clone() }
    }

    /// The same with the blocks and the power cuts of a shard alone.
    ///
    /// # Errors
    /// The user's, where there are more shards than the experiment has parts.
    pub fn shard(&self, experiment: &Experiment, shard: Shard) -> Result<Self, TrialError> {
        let whole = experiment.plan();
        let cells = experiment.cut_cells();
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
            false => shard.blocks(&whole).map_err(|error| TrialError::User(error.to_string()))?,
        };
        let own = self.plan.blocks.iter().filter(|block| blocks.contains(&block.number));
        let plan = TrialPlan { blocks: own.cloned().collect() };
        let is_own = |(engine, level): &&(String, String)| {
            let place = cells.iter().position(|cell| *cell == (engine.as_str(), level.as_str()));
            place.is_some_and(|place| shard.has(place))
        };
        let cuts = self.cuts.iter().filter(is_own).cloned().collect();
        Ok(Self { plan, cuts, ..self.clone() })
    }

    /// How many power cuts are made.
    pub fn planned_cuts(&self, experiment: &Experiment) -> usize {
        self.cuts.len() * made(experiment)
    }

    /// Fails when nothing is left that would answer the experiment's question.
    ///
    /// # Errors
    /// The user's: all that can't be had, and why.
    pub fn suffices(&self) -> Result<(), TrialError> {
        let left = !self.plan.blocks.is_empty() && !self.nothing_to_compare;
        if left || !self.cuts.is_empty() || self.left_out.is_empty() {
            return Ok(());
        }
        let what = match self.plan.blocks.is_empty() {
            true => "nothing in this experiment can be run",
            false => "nothing is left to compare",
        };
        let reasons: Vec<String> = self.left_out.iter().map(line).collect();
        Err(TrialError::User(format!("{what}\n{}", reasons.join("\n"))))
    }
}

/// A line on what can't be had.
pub fn line(left_out: &LeftOut) -> String {
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

/// Whether two levels stand against each other in a block: a level and its alias are one.
fn compares(block: &TrialBlock, compare: Factor) -> bool {
    let levels = block.trials.iter().map(|trial| base(trial.cell.get(compare)));
    levels.collect::<BTreeSet<_>>().len() > 1
}

/// How many power cuts are made of each engine at each level.
fn made(experiment: &Experiment) -> usize {
    let cuts = experiment.cuts.as_ref();
    cuts.map_or(0, |cuts: &Cuts| cuts.numbers().len() * cuts.file_systems.len())
}

/// Asks all servers that somebody else runs at the same time: one that is not there may take
/// seconds not to answer. What they say is kept.
pub(crate) fn ask(registry: &Registry, experiment: &Experiment) {
    let levels = experiment.levels(Factor::ENGINE);
    let engines: BTreeSet<&str> = levels.iter().map(|level| base(level)).collect();
    let engines = engines.into_iter().filter_map(|name| registry.engine(name));
    thread::scope(|scope| {
        for engine in engines.filter(|engine| engine.home() == EngineHome::External) {
            // Where there is no thread for it, it is asked when it has to be known.
            let _ = thread::Builder::new().spawn_scoped(scope, || engine.gives(Durability::Strict));
        }
    });
}

/// Whether power cuts can try the promise of a subject, as an engine, at that level at all.
///
/// # Errors
/// Why not.
pub fn can_be_cut(
    registry: &Registry,
    experiment: &Experiment,
    subject: &str,
    level: &str,
) -> Result<(), Refusal> {
    let cell = experiment.cut_cell(subject, level);
    spec::check_options(registry, experiment, &cell)?;
    let every = experiment.cuts.as_ref().is_some_and(|cuts| cuts.every.is_some());
    if every && cell.state() == EngineState::Steady {
        let why = "every moment is cut of a short run on a fresh database, which owes nothing yet; give a \
                   number of cuts (`--cuts 25`), or `--state warm`";
        return Err(Refusal::from_cell(&cell, &[Factor::STATE], why));
    }
    let promise = experiment.cuts.as_ref().map_or(CutBy::OF_ENGINES, |cuts| cuts.by.promise);
    if promise == CutBy::OF_ENGINES {
        engine_can_be_cut(registry, &cell, level)?;
    }
    if promise[0] == Factor::DISK && spec::disk(registry, experiment, &cell)? == DiskSpec::Host {
        let why = "bakeoff can't cut the power of this machine's own disk; name a virtual one \
                   (`bakeoff list disks`)";
        return Err(Refusal::from_cell(&cell, &[Factor::DISK], why));
    }
    let Some(cuts) = &experiment.cuts else { return Ok(()) };
    let workload = &*cuts.by.workload;
    let refused = |error: TrialError| Refusal::from_cell(&cell, &[], error.to_string());
    let target = registry.target_of(workload).map_err(refused)?;
    let setup = WantedLevels { experiment, cell: &cell, workload }.resolve(target)?;
    let disk = spec::disk(registry, experiment, &cell)?;
    spec::enough_disk(target.size(&setup.subject), setup.home, &disk, &cell)?;
    // Each client claims on a thread of its own, whatever those of trials do.
    MostClients::THREADS.check(&cell, experiment.cut_clients())
}

/// Whether an engine's power can be cut at all at that level of durability.
fn engine_can_be_cut(registry: &Registry, cell: &Cell, level: &str) -> Result<(), Refusal> {
    let engine = spec::engine(registry, cell)?;
    if engine.home() == EngineHome::External {
        let why = "bakeoff can't cut the power of a server that it doesn't run; name an engine that \
                   it starts itself (`bakeoff list engines`)";
        return Err(Refusal::from_cell(cell, &[Factor::ENGINE], why));
    }
    match Durability::parse(level) {
        Some(durability) => gives(engine, cell, durability),
        None => Ok(()),
    }
}
