//! Trial specs: a cell's levels, resolved once into typed values. Below this nobody parses a level.

use std::collections::BTreeMap;
use std::num::NonZero;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::spec::Spec;
use bakeoff_engines::Engine;
use bakeoff_experiment::{Cell, Cpus, Experiment, Factor, NeighbourLoad, Rate, random::SplitMix64};
use bakeoff_results::Levels;

mod least_memory;

use crate::driving::{CheckScope, Conditioning, Drive, Pacing};
use crate::options;
use crate::refusal::Refusal;
use crate::targets::{DataSize, GroupLimit, Setup, TargetHome, WantedLevels};
use crate::{Registry, TrialError};

/// Tells the seed of an open loop's starts from others of the same block.
const STARTS: u64 = 3;
/// Tells the seed of what clients do from these.
const CLIENTS: u64 = 4;

/// What a trial is staged with.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// The target, as it made of the levels.
    pub setup: Setup,
    /// The most that each of its groups of processes may have, by its name; a group that is not
    /// there is not limited.
    pub limits: BTreeMap<&'static str, GroupLimit>,
    /// The disk under its files.
    pub disk: DiskSpec,
    /// The other load on that disk.
    pub neighbours: NeighbourLevel,
    /// Seeds the disk and its neighbours: the same for all trials of a block.
    pub seed: u64,
    /// The levels, for the record.
    pub levels: Levels,
    /// Those of them that are options of its engine or its disk.
    pub options: Levels,
}

/// A disk, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum DiskSpec {
    /// The machine's own.
    Host,
    /// A virtual one of this model.
    Virtual(Spec),
}

/// Resolves a cell of an experiment: what is staged, and how it is driven. `block` is the number of
/// its block.
///
/// # Errors
/// Levels that don't go together, or that can't be had on this machine.
pub fn resolve(
    registry: &Registry,
    experiment: &Experiment,
    cell: &Cell,
    block: u32,
) -> Result<(TrialSpec, Drive), Refusal> {
    let no_target = |error: TrialError| Refusal::from_cell(cell, &[], error.to_string());
    let target = registry.target_of(&experiment.workload).map_err(no_target)?;
    check_options(registry, experiment, cell)?;
    enough_processors(cell)?;
    let wanted = WantedLevels { experiment, cell, workload: &experiment.workload };
    let setup = wanted.resolve(target)?;
    target.most_clients(&setup.subject).check(cell, cell.clients())?;
    least_memory::check(target, &setup, &wanted)?;
    let limits = setup.groups.iter().map(|group| (group.name, group.limit)).collect();
    let disk = disk(registry, experiment, cell)?;
    enough_disk(target.size(&setup.subject), setup.home, &disk, cell)?;
    let neighbours = neighbours(cell);
    if matches!(&disk, DiskSpec::Virtual(spec) if spec.is_null())
        && neighbours != NeighbourLevel::None
    {
        let why = "the disk `null` has no queue, so it can't have background I/O (`neighbours`)";
        return Err(Refusal::from_cell(cell, &[Factor::DISK, Factor::NEIGHBOURS], why));
    }
    let trial = TrialSpec {
        setup,
        limits,
        seed: match disk {
            DiskSpec::Host => experiment.seed,
            // The same seed for all of a block, another one for the next.
            DiskSpec::Virtual(_) => experiment.seed.wrapping_add(block.into()),
        },
        disk,
        neighbours,
        levels: cell.to_map(),
        options: options(cell),
    };
    let (clients, seconds) = (cell.clients(), experiment.seconds);
    let seed = |what| SplitMix64::from_words(&[experiment.seed, what, block.into()]).next();
    let pacing = pacing(registry, cell.rate(), seed(STARTS));
    let drive = Drive {
        clients,
        state: cell.state(),
        // How much work it takes is not known before the run.
        conditioning: Conditioning::None,
        seconds,
        enough: experiment.operations.map(u64::from),
        pacing,
        seed: seed(CLIENTS),
        // Once a cell: what was checked before is known to the run.
        check: CheckScope::None,
    };
    Ok((trial, drive))
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

/// Refuses data that a modelled disk of a known size would not hold.
///
/// # Errors
/// How much there is, and how much the disk holds.
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

/// The disk of a cell.
///
/// # Errors
/// It can't be had.
pub(crate) fn disk(
    registry: &Registry,
    experiment: &Experiment,
    cell: &Cell,
) -> Result<DiskSpec, Refusal> {
    let disk = options::disk(registry.models(), experiment, cell)?;
    Ok(disk.map_or(DiskSpec::Host, DiskSpec::Virtual))
}

/// The engine of a cell, with the options that it is given.
///
/// # Errors
/// It can't be had so.
pub fn engine(registry: &Registry, cell: &Cell) -> Result<&'static dyn Engine, Refusal> {
    options::engine(&registry.engines().collect::<Vec<_>>(), cell)
}

/// Checks that a cell can be had with its options.
///
/// # Errors
/// The option that nothing there has.
pub(crate) fn check_options(
    registry: &Registry,
    experiment: &Experiment,
    cell: &Cell,
) -> Result<(), Refusal> {
    let engines: Vec<_> = registry.engines().collect();
    options::check(&engines, registry.models(), experiment, cell)
}

/// The levels of a cell's options, by their names.
pub(crate) fn options(cell: &Cell) -> Levels {
    cell.options().map(|(option, level)| (option.name.clone(), level.to_owned())).collect()
}

/// Whether a trial works on the image of its data, and needs no copy of it.
pub fn is_in_place(registry: &Registry, trial: &TrialSpec) -> bool {
    let TrialSpec { setup, disk, .. } = trial;
    let target = registry.target(setup.target);
    *disk == DiskSpec::Host && target.is_some_and(|it| it.leaves_files(&setup.subject))
}

/// Whether a trial runs on the machine's own disk beside neighbours.
pub fn wants_hired(trial: &TrialSpec) -> bool {
    trial.disk == DiskSpec::Host && trial.neighbours != NeighbourLevel::None
}

/// The other load that a cell wants.
fn neighbours(cell: &Cell) -> NeighbourLevel {
    match cell.neighbours() {
        NeighbourLoad::None => NeighbourLevel::None,
        NeighbourLoad::Percent(percent) => NeighbourLevel::Share(f64::from(percent) / 100.0),
        NeighbourLoad::Streams(count) => NeighbourLevel::Streams(count),
    }
}

fn pacing(registry: &Registry, rate: Rate, seed: u64) -> Pacing {
    match rate {
        Rate::Closed => Pacing::Closed,
        Rate::Open { per_second, arrivals } => {
            let arrivals = arrivals.unwrap_or_else(|| registry.arrivals()[0].name.to_owned());
            Pacing::Open { per_second, arrivals, seed }
        }
    }
}
