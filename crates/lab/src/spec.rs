//! A cell's levels, resolved once into typed values. Code below this never parses a level.

use std::collections::BTreeMap;
use std::num::NonZero;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::spec::Spec;
use bakeoff_engines::Engine;
use bakeoff_experiment::{
    Cell, Cpus, Experiment, Factor, NeighbourLoad, Rate, ThreadPlacement, random::SplitMix64,
};
use bakeoff_results::Levels;

mod cut;
mod least_memory;

pub use self::cut::{PlannedCut, can_be_cut};

use crate::driving::{CheckScope, Conditioning, Drive, Pacing};
use crate::options::CellParts;
use crate::refusal::Refusal;
use crate::targets::{DataSize, GroupLimit, Setup, TargetHome, WantedLevels};
use crate::{Registry, TrialError};

/// Makes the seed of an open loop's starts differ from other seeds of the block.
const STARTS: u64 = 3;
/// Makes the seed of the clients' work differ from those.
const CLIENTS: u64 = 4;

#[derive(Clone, Debug)]
pub struct TrialSpec {
    pub setup: Setup,
    /// The limit of each group of processes; a missing group has no limit.
    pub limits: BTreeMap<&'static str, GroupLimit>,
    pub disk: DiskSpec,
    pub neighbours: NeighbourLevel,
    /// Seeds the disk and its neighbours: the same for all trials of a block.
    pub seed: u64,
    pub levels: Levels,
    pub options: Levels,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DiskSpec {
    Host,
    Virtual(Spec),
}

/// A trial: how it is staged and driven. Only the seeds depend on the block: see
/// [`ResolvedTrial::in_block`].
#[derive(Clone)]
pub struct ResolvedTrial {
    pub cell: Cell,
    pub engine: Option<&'static dyn Engine>,
    pub spec: TrialSpec,
    pub drive: Drive,
    seed: u64,
}

impl ResolvedTrial {
    pub fn in_block(&self, block: u32) -> (TrialSpec, Drive) {
        let (mut spec, mut drive) = (self.spec.clone(), self.drive.clone());
        let seed = |what| SplitMix64::from_words(&[self.seed, what, block.into()]).next();
        if let DiskSpec::Virtual(_) = spec.disk {
            spec.seed = self.seed.wrapping_add(block.into());
        }
        drive.seed = seed(CLIENTS);
        if let Pacing::Open { seed: starts, .. } = &mut drive.pacing {
            *starts = seed(STARTS);
        }
        (spec, drive)
    }
}

/// The image is counted from 0.
pub fn resolve_trial(
    registry: &Registry,
    experiment: &Experiment,
    cell: &Cell,
    image: u32,
) -> Result<ResolvedTrial, Refusal> {
    let no_target = |error: TrialError| Refusal::from_cell(cell, &[], error.to_string());
    let target = registry.target_of(&experiment.workload).map_err(no_target)?;
    let engines: Vec<_> = registry.engines().collect();
    let parts = CellParts::resolve(&engines, registry.models(), experiment, cell)?;
    let CellParts { engine, disk } = parts;
    let disk = disk.map_or(DiskSpec::Host, DiskSpec::Virtual);
    enough_processors(cell)?;
    let wanted = WantedLevels { experiment, cell, workload: &experiment.workload, image };
    let setup = wanted.resolve(target)?;
    check_placement(&setup, cell)?;
    setup.subject.most_clients().check(cell, cell.clients())?;
    least_memory::check_memory(target, &setup, &wanted)?;
    let limits = setup.groups.iter().map(|group| (group.name, group.limit)).collect();
    enough_disk(setup.subject.size(), setup.home, &disk, cell)?;
    let neighbours = neighbour_level(cell);
    if matches!(&disk, DiskSpec::Virtual(spec) if spec.is_null())
        && neighbours != NeighbourLevel::None
    {
        let why = "the disk `null` has no queue, so it can't have background I/O (`neighbours`)";
        return Err(Refusal::from_cell(cell, &[Factor::DISK, Factor::NEIGHBOURS], why));
    }
    let seed = experiment.seed;
    let (levels, options) = (cell.to_map(), option_levels(cell));
    Ok(ResolvedTrial {
        cell: cell.clone(),
        engine: engine.ok(),
        spec: TrialSpec { setup, limits, seed, disk, neighbours, levels, options },
        drive: Drive {
            clients: cell.clients(),
            state: cell.state(),
            placement: cell.placement(),
            // The amount of work is unknown before the run.
            conditioning: Conditioning::None,
            seconds: experiment.seconds,
            enough: experiment.operations.map(u64::from),
            pacing: to_pacing(cell.rate(), seed),
            seed,
            // The runner turns this on for the first trial of each cell.
            check: CheckScope::None,
        },
        seed,
    })
}

/// Refuses a quota of more processors than there are: it would limit nothing.
fn enough_processors(cell: &Cell) -> Result<(), Refusal> {
    let there = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cell.cpus().milli().is_none_or(|milli| u64::from(milli) <= there as u64 * 1000) {
        return Ok(());
    }
    let why = match there {
        1 => "this machine has 1 processor".to_owned(),
        _ => format!("this machine has {there} processors"),
    };
    let most = Cpus::Milli(there as u32 * 1000);
    Err(Refusal::from_cell(
        cell,
        &[Factor::CPUS],
        format!("{why}: name {most} at most, or `unlimited`"),
    ))
}

/// Refuses a placement that the cell's threads can't have.
fn check_placement(setup: &Setup, cell: &Cell) -> Result<(), Refusal> {
    if cell.placement() == ThreadPlacement::Free {
        return Ok(());
    }
    let refused = |why: &str| Err(Refusal::from_cell(cell, &[Factor::PLACEMENT], why));
    if std::thread::available_parallelism().map_or(1, NonZero::get) < 2 {
        return refused("there is only 1 processor here: name the placement `free`");
    }
    let has_server = setup.groups.iter().any(|group| group.has_server);
    if cell.placement() == ThreadPlacement::Apart && !has_server {
        let why =
            "it runs in its clients' threads, so that nothing is apart: name `free` or `together`";
        return Err(Refusal::from_cell(cell, &[Factor::ENGINE, Factor::PLACEMENT], why));
    }
    Ok(())
}

/// Refuses data that a modelled disk of a known size can't hold.
pub(crate) fn enough_disk(
    size: Option<DataSize>,
    home: TargetHome,
    disk: &DiskSpec,
    cell: &Cell,
) -> Result<(), Refusal> {
    let (Some(DataSize { rows, aged, disk: needed }), DiskSpec::Virtual(spec)) = (size, disk)
    else {
        return Ok(());
    };
    let Some(there) = spec.size().filter(|there| *there < needed) else { return Ok(()) };
    let mb = |bytes: u64| bytes / 1_000_000;
    if home == TargetHome::Files {
        let why = format!(
            "the files take {} MB, and the disk holds {} MB: take a smaller `size`, or a larger disk",
            mb(needed),
            mb(there)
        );
        return Err(Refusal::from_cell(cell, &[Factor::DISK], why));
    }
    let aged = if aged > 0 { format!(", {} MB of them aged,", mb(aged)) } else { String::new() };
    let why = format!(
        "{} MB of rows{aged} take about {} MB with indexes and a log, and the disk holds {} MB: name a \
         smaller scale, or a larger disk",
        mb(rows),
        mb(needed),
        mb(there)
    );
    Err(Refusal::from_cell(cell, &[Factor::ENGINE, Factor::SCALE, Factor::DISK], why))
}

pub(crate) fn option_levels(cell: &Cell) -> Levels {
    cell.options().map(|(option, level)| (option.name.clone(), level.to_owned())).collect()
}

/// Whether a trial works on the image of its data, and needs no copy.
pub fn is_in_place(trial: &TrialSpec) -> bool {
    trial.disk == DiskSpec::Host && trial.setup.subject.leaves_files()
}

pub fn wants_hired(trial: &TrialSpec) -> bool {
    trial.disk == DiskSpec::Host && trial.neighbours != NeighbourLevel::None
}

fn neighbour_level(cell: &Cell) -> NeighbourLevel {
    match cell.neighbours() {
        NeighbourLoad::None => NeighbourLevel::None,
        NeighbourLoad::Percent(percent) => NeighbourLevel::Share(f64::from(percent) / 100.0),
        NeighbourLoad::Streams(count) => NeighbourLevel::Streams(count),
    }
}

fn to_pacing(rate: Rate, seed: u64) -> Pacing {
    match rate {
        Rate::Closed => Pacing::Closed,
        Rate::Open { per_second, arrivals } => {
            let arrivals = arrivals.unwrap_or_else(|| bakeoff_load::ARRIVALS[0].name.to_owned());
            Pacing::Open { per_second, arrivals, seed }
        }
    }
}
