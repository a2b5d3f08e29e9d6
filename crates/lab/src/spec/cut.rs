//! Power cuts, resolved: the engine or disk, the promise of its level, and how each cut is staged.

use std::collections::BTreeMap;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_engines::{AS_IS, Durability, Engine, EngineHome, PaymentSignature};
use bakeoff_experiment::{Cell, Cpus, CutBy, EngineState, Experiment, Factor, MemoryLimit};
use bakeoff_results::{DurabilityPromise, Levels};

use super::{DiskSpec, TrialSpec, enough_disk, option_levels};
use crate::options::CellParts;
use crate::refusal::{Refusal, check_durability};
use crate::targets::{MostClients, WantedLevels};
use crate::{Registry, TrialError};

/// A thread that syncs once a second may be late on a busy machine.
const LATE_S: f64 = 0.5;

/// The power cuts of an engine or a disk at one level of its promise.
#[derive(Clone)]
pub struct PlannedCut {
    pub subject: String,
    pub level: String,
    pub cell: Cell,
    pub engine: Option<&'static dyn Engine>,
    pub promised: DurabilityPromise,
    pub signatures: &'static [PaymentSignature],
    /// Other clients, memory or scale would change no promise.
    pub spec: TrialSpec,
}

impl PlannedCut {
    pub(crate) fn resolve(
        registry: &Registry,
        experiment: &Experiment,
        subject: &str,
        level: &str,
    ) -> Result<Self, Refusal> {
        let cell = experiment.cut_cell(subject, level);
        let CellParts { engine, disk } = parts_of_cut(registry, experiment, &cell, level)?;
        let disk = disk.map_or(DiskSpec::Host, DiskSpec::Virtual);
        let by = experiment.cuts.as_ref().map_or_else(
            || unreachable!("an experiment without cuts has no cells of them"),
            |cuts| &cuts.by,
        );
        let refused = |error: TrialError| Refusal::from_cell(&cell, &[], error.to_string());
        let target = registry.target_of(&by.workload).map_err(refused)?;
        let wanted = WantedLevels { experiment, cell: &cell, workload: &by.workload, image: 0 };
        let setup = wanted.resolve(target)?;
        enough_disk(setup.subject.size(), setup.home, &disk, &cell)?;
        // Each client claims on a thread of its own, whatever a trial does.
        MostClients::THREADS.check(&cell, experiment.cut_clients())?;
        // A disk may have an engine's name.
        let promising = registry.engine(subject).filter(|_| by.promise == CutBy::OF_ENGINES);
        let promised = match by.promise == CutBy::OF_ENGINES {
            true => find_promise(promising, level),
            // A returned sync makes all that it covered durable.
            false => DurabilityPromise::Everything,
        };
        let spec = TrialSpec {
            setup,
            limits: BTreeMap::new(),
            disk,
            neighbours: NeighbourLevel::None,
            seed: experiment.seed,
            levels: cut_levels(&cell),
            options: option_levels(&cell),
        };
        Ok(Self {
            subject: subject.to_owned(),
            level: level.to_owned(),
            engine: engine.ok(),
            promised,
            signatures: promising.map(|engine| engine.signatures()).unwrap_or_default(),
            cell,
            spec,
        })
    }
}

/// Whether power cuts can test the promise of an engine or disk at that level at all.
pub fn can_be_cut(
    registry: &Registry,
    experiment: &Experiment,
    subject: &str,
    level: &str,
) -> Result<(), Refusal> {
    parts_of_cut(registry, experiment, &experiment.cut_cell(subject, level), level).map(drop)
}

fn parts_of_cut(
    registry: &Registry,
    experiment: &Experiment,
    cell: &Cell,
    level: &str,
) -> Result<CellParts, Refusal> {
    let engines: Vec<_> = registry.engines().collect();
    let parts = CellParts::resolve(&engines, registry.models(), experiment, cell)?;
    let every = experiment.cuts.as_ref().is_some_and(|cuts| cuts.every.is_some());
    if every && cell.state() == EngineState::Steady {
        let why = "every moment is cut of a short run on a fresh database, which owes nothing yet; give a \
                   number of cuts (`--cuts 25`), or `--state warm`";
        return Err(Refusal::from_cell(cell, &[Factor::STATE], why));
    }
    let promise = experiment.cuts.as_ref().map_or(CutBy::OF_ENGINES, |cuts| cuts.by.promise);
    if promise == CutBy::OF_ENGINES {
        engine_can_be_cut(parts.engine.clone()?, cell, level)?;
    }
    if promise[0] == Factor::DISK && parts.disk.is_none() {
        let why = "bakeoff can't cut the power of this machine's own disk; name a virtual one \
                   (`bakeoff list disks`)";
        return Err(Refusal::from_cell(cell, &[Factor::DISK], why));
    }
    Ok(parts)
}

fn engine_can_be_cut(engine: &dyn Engine, cell: &Cell, level: &str) -> Result<(), Refusal> {
    if engine.home() == EngineHome::External {
        let why = "bakeoff can't cut the power of a server that it doesn't run; name an engine that \
                   it starts itself (`bakeoff list engines`)";
        return Err(Refusal::from_cell(cell, &[Factor::ENGINE], why));
    }
    match Durability::from_name(level) {
        Some(durability) => check_durability(engine, cell, durability),
        None if level == AS_IS => {
            let why =
                "a power cut audits a promise: choose none, relaxed or strict by `durability`";
            Err(Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], why))
        }
        None => Ok(()),
    }
}

/// The levels of a cut for the record: its memory and processors are never limited.
fn cut_levels(cell: &Cell) -> Levels {
    let mut levels = cell.to_map();
    levels.insert(Factor::MEMORY.name().into(), MemoryLimit::Unlimited.to_string());
    levels.insert(Factor::CPUS.name().into(), Cpus::Unlimited.to_string());
    levels
}

fn find_promise(engine: Option<&dyn Engine>, level: &str) -> DurabilityPromise {
    let durability = Durability::from_name(level).expect("a checked level");
    let promises = engine.map(|engine| engine.about().promises);
    let mut promises = promises.into_iter().flatten();
    let promise = promises.find(|promise| promise.durability == durability);
    match durability {
        Durability::None => DurabilityPromise::Nothing,
        Durability::Relaxed => DurabilityPromise::Whole {
            window_s: promise.and_then(|it| it.window).map(|it| it.as_secs_f64() + LATE_S),
            most_lost: promise.and_then(|it| it.most_lost),
        },
        Durability::Strict => DurabilityPromise::Everything,
    }
}
