//! What is tried before the first load, so that a run that can't come to its end does not begin: every
//! target, the virtual disk, the limits and the room, all at once.

mod device;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;

use bakeoff_disk::mount::Launcher;
use bakeoff_disk::neighbour;
use bakeoff_experiment::{Cpus, Experiment, Factor, HOST, MemoryLimit, TrialBlock};

use crate::error::Problems;
use crate::place::device::RawDevice;
use crate::place::group::{try_cpu_limit, try_memory_limit};
use crate::place::images::Recipe;
use crate::place::{RESERVE, disk, room};
use crate::spec::{self, DiskSpec, TrialSpec};
use crate::targets::{GroupLimit, Setup, TargetHome, WantedLevels};
use crate::{MachineError, Possible, Registry, TrialError, estimate};

/// Bytes that a trial's record takes.
const RECORD: u64 = 100_000;

/// How many images a refusal for want of room names.
const NAMED: usize = 4;

/// What is to be tried, and where.
pub struct Preflight<'a> {
    /// What is registered.
    pub registry: &'a Registry,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The part of it that can be run.
    pub possible: &'a Possible,
    /// A folder on the disk of the data.
    pub folder: &'a Path,
    /// One on the disk of the run folder, where the data do not lie in that.
    pub results: Option<&'a Path>,
    /// The raw device that is in the place of files.
    pub device: Option<&'a RawDevice>,
    /// What starts a virtual disk, to mount one; `None`, and nothing is mounted to find out.
    pub launcher: Option<&'a Launcher>,
    /// Whether a database that somebody else runs may hold tables of bakeoff's own making.
    pub reuse: bool,
}

impl Preflight<'_> {
    /// Tries what these blocks need, and the power cuts of these engines.
    ///
    /// # Errors
    /// All that stands in the way.
    pub fn check<'b>(&self, blocks: impl Iterator<Item = &'b TrialBlock>) -> Result<(), Problems> {
        let trials = self.trials(blocks);
        let cut = self.cut();
        let cuts = !cut.is_empty();
        let mut problems = self.targets(&trials, &cut);
        let of_device = |it| device::problems(self.registry, it, &trials, cuts);
        problems.extend(self.device.map(of_device).unwrap_or_default());
        problems.extend(self.unfit_folder(&trials));
        let is_virtual = |trial: &TrialSpec| trial.disk != DiskSpec::Host;
        if cuts || trials.iter().any(is_virtual) {
            problems.extend(self.virtual_disk(cuts));
        }
        problems.extend(limits(&trials));
        problems.extend(self.too_little_room(&trials, &cut).err().map(TrialError::from));
        // They may share a disk, whose room is asked for all of it above.
        let records = self.results.map_or(Ok(()), |it| room(it, RESERVE + self.records()));
        problems.extend(records.err().map(TrialError::from));
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// What is staged, each cell once.
    fn trials<'b>(&self, blocks: impl Iterator<Item = &'b TrialBlock>) -> Vec<TrialSpec> {
        let mut cells = BTreeMap::new();
        for block in blocks {
            for planned in &block.trials {
                cells.entry(&planned.cell).or_insert_with(|| {
                    spec::resolve(self.registry, self.experiment, &planned.cell, block.number).ok()
                });
            }
        }
        cells.into_values().flatten().map(|(trial, _)| trial).collect()
    }

    /// What power cuts are staged with.
    fn cut(&self) -> Vec<Setup> {
        let Some(cuts) = &self.experiment.cuts else { return Vec::new() };
        let (experiment, workload) = (self.experiment, &*cuts.by.workload);
        let setup = |(engine, level): &(String, String)| {
            let cell = &experiment.cut_cell(engine, level);
            let target = self.registry.target_of(workload).ok()?;
            WantedLevels { experiment, cell, workload }.resolve(target).ok()
        };
        self.possible.cuts.iter().filter_map(setup).collect()
    }

    /// What keeps targets from being used. What each of them needs is tried once for all trials that
    /// have it loaded into the same, and all at the same time: a server that is not there may take
    /// seconds not to answer.
    fn targets(&self, trials: &[TrialSpec], cut: &[Setup]) -> Vec<TrialError> {
        let setups = trials.iter().map(|trial| &trial.setup).chain(cut);
        let named = setups.map(|setup| ((&*setup.recipe.into, setup.target), setup));
        let all: BTreeMap<(&str, &str), &Setup> = named.collect();
        let ready = &|setup: &Setup| {
            let target = self.registry.target(setup.target);
            let tried = target.map_or(Ok(()), |it| it.ready(&setup.subject, self.reuse));
            tried.err().unwrap_or_default()
        };
        let answers: Vec<(&str, Vec<String>)> = thread::scope(|scope| {
            let ask = |setup| thread::Builder::new().spawn_scoped(scope, move || ready(setup));
            let asked: Vec<_> = all.into_values().map(|setup| (setup, ask(setup))).collect();
            // Without a thread it takes longer.
            let answer = |(setup, asked): (_, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
                let answer = match asked {
                    Ok(asked) => asked.join().unwrap_or_default(),
                    Err(_) => ready(setup),
                };
                (&*setup.recipe.into, answer)
            };
            asked.into_iter().map(answer).collect()
        });
        let told = |(name, problems): (&str, Vec<String>)| {
            let told = |why| TrialError::User(format!("{name} can't be used: {why}"));
            problems.into_iter().map(told).collect::<Vec<_>>()
        };
        answers.into_iter().flat_map(told).collect()
    }

    /// What keeps files from lying in the folder, where no virtual disk is over it.
    fn unfit_folder(&self, trials: &[TrialSpec]) -> Vec<TrialError> {
        let is_there = |trial: &&TrialSpec| self.device.is_none() && trial.disk == DiskSpec::Host;
        let unfit = |trial: &TrialSpec| {
            let target = self.registry.target(trial.setup.target)?;
            target.fits_folder(&trial.setup.subject, self.folder).err()
        };
        let whys: BTreeSet<String> = trials.iter().filter(is_there).filter_map(unfit).collect();
        let told = |why| TrialError::User(format!("{}: {why}", self.folder.display()));
        whys.into_iter().map(told).collect()
    }

    /// What keeps a virtual disk from being mounted.
    fn virtual_disk(&self, cuts: bool) -> Option<TrialError> {
        let tried = match self.launcher {
            None => bakeoff_disk::daemon::can_mount().map_err(|error| error.to_string()),
            Some(launcher) => self.mount(launcher),
        };
        let why = tried.err()?;
        let levels = self.experiment.levels(Factor::DISK).join(", ");
        // The plug that is pulled is a virtual disk's.
        let what = if cuts {
            format!("no power can be cut, since the disk {levels} can't be had: {why}")
        } else {
            format!(
                "the disk {levels} can't be had: {why}; to run without virtual disks: --disk {HOST}"
            )
        };
        Some(MachineError::Place(what).into())
    }

    /// Mounts a disk in a folder of its own, and takes both away again.
    fn mount(&self, launcher: &Launcher) -> Result<(), String> {
        let place = self.folder.join("try-disk");
        let wrong = |error: std::io::Error| format!("{}: {error}", place.display());
        std::fs::create_dir(&place).map_err(wrong)?;
        let tried = disk::try_virtual_disk(launcher, &place);
        let removed = std::fs::remove_dir_all(&place).map_err(wrong);
        tried.and(removed)
    }

    /// Bytes that the run's records take.
    fn records(&self) -> u64 {
        RECORD * self.possible.plan.trials() as u64
    }

    /// Whether the images, copies of the largest, the neighbours' file and the records find room.
    fn too_little_room(&self, trials: &[TrialSpec], cut: &[Setup]) -> Result<(), MachineError> {
        let setups = trials.iter().map(|trial| &trial.setup).chain(cut);
        let images: BTreeMap<&Recipe, ImageFootprint> = setups
            // A raw device takes them all.
            .filter(|setup| !setup.is_elsewhere() && self.device.is_none())
            .map(|setup| (&setup.recipe, ImageFootprint::by(self.registry, setup)))
            .collect();
        let copied = trials.iter().filter(|trial| !spec::is_in_place(self.registry, trial));
        let copied = copied.map(|trial| &trial.setup).chain(cut);
        let copied = copied.filter_map(|setup| images.get(&setup.recipe));
        let largest = copied.map(|taken| taken.disk).max().unwrap_or(0);
        let hired = if trials.iter().any(spec::wants_hired) { neighbour::FILE_BYTES } else { 0 };
        // A trial's files grow while its clients write, and a crash image is another copy.
        let copies = largest * if cut.is_empty() { 2 } else { 3 };
        let all: u64 = images.values().map(|taken| taken.disk).sum();
        let needed = RESERVE + all + copies + hired + self.records();
        room(self.folder, needed).map_err(|error| match error {
            MachineError::Full { folder, free, needed, .. } => {
                MachineError::Full { folder, free, needed, what_for: what_for(&images, copies) }
            }
            other => other,
        })
    }
}

/// What an image takes, and what that goes by.
#[derive(Clone, Copy)]
struct ImageFootprint {
    /// Bytes on the disk.
    disk: u64,
    /// Whether some of its rows are aged.
    aged: bool,
    /// Whether it is of files, and not of rows in an engine.
    files: bool,
}

impl ImageFootprint {
    /// By the data of a target.
    fn by(registry: &Registry, setup: &Setup) -> Self {
        let size = estimate::size(registry, setup);
        Self { disk: size.disk, aged: size.aged > 0, files: setup.home == TargetHome::Files }
    }
}

/// What takes the room, the largest images first, and how less would do; nothing where there are no images.
fn what_for(images: &BTreeMap<&Recipe, ImageFootprint>, copies: u64) -> String {
    if images.is_empty() {
        return String::new();
    }
    let mut largest: Vec<(&&Recipe, &ImageFootprint)> = images.iter().collect();
    largest.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.disk));
    let image = |(recipe, taken): &(&&Recipe, &ImageFootprint)| {
        format!("about {} MB for {}", taken.disk / 1_000_000, recipe.about)
    };
    let mut parts: Vec<String> = largest.iter().take(NAMED).map(image).collect();
    if let Some(rest @ 1..) = largest.len().checked_sub(NAMED) {
        parts.push(format!("{rest} smaller ones"));
    }
    if copies > 0 {
        parts.push(format!("{} MB for copies of the largest while it is used", copies / 1_000_000));
    }
    let any = |is: fn(&ImageFootprint) -> bool| images.values().any(is);
    let ways = [
        (any(|it| !it.files), "a smaller --scale or fewer engines"),
        (any(|it| it.aged), "a lower `age`"),
        (any(|it| it.files), "a smaller `size` of files"),
    ];
    let ways: Vec<&str> = ways.into_iter().filter(|(is, _)| *is).map(|(_, way)| way).collect();
    format!(": {}; name {}", parts.join(", "), ways.join(", or "))
}

/// What keeps groups from being limited, by each factor that some trial wants to limit them by.
fn limits(trials: &[TrialSpec]) -> Vec<TrialError> {
    let any = |limited: fn(&GroupLimit) -> bool| {
        let shared = |trial: &TrialSpec| trial.setup.shared.iter().any(|it| limited(&it.limit));
        trials.iter().any(|trial| trial.limits.values().any(limited) || shared(trial))
    };
    let told = |factor: Factor, wanted: bool, try_it: fn() -> Result<String, String>| {
        let why = wanted.then(try_it)?.err()?;
        Some(MachineError::Place(format!("{why}, or run with --{factor} unlimited")).into())
    };
    let memory =
        told(Factor::MEMORY, any(|it| it.memory != MemoryLimit::Unlimited), try_memory_limit);
    let cpus = told(Factor::CPUS, any(|it| it.cpus != Cpus::Unlimited), try_cpu_limit);
    memory.into_iter().chain(cpus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_the_room_is_told_with_what_makes_it_less() {
        let recipe =
            |about: &str| Recipe { key: about.into(), about: about.into(), into: "i".into() };
        let (small, large) = (recipe("t small into a"), recipe("t large into b"));
        let taken = |disk, aged, files| ImageFootprint { disk, aged, files };
        let told = |of: [ImageFootprint; 2]| {
            what_for(&BTreeMap::from([(&small, of[0]), (&large, of[1])]), 0)
        };
        assert_eq!(
            told([taken(1_000_000, false, false), taken(2_000_000, false, false)]),
            ": about 2 MB for t large into b, about 1 MB for t small into a; name a smaller --scale or \
             fewer engines"
        );
        let aged = told([taken(1_000_000, false, false), taken(2_000_000, true, false)]);
        assert!(
            aged.ends_with("; name a smaller --scale or fewer engines, or a lower `age`"),
            "{aged}"
        );
        let files = told([taken(1_000_000, false, true), taken(2_000_000, false, true)]);
        assert!(files.ends_with("; name a smaller `size` of files"), "{files}");
        assert_eq!(what_for(&BTreeMap::new(), 5), "");
    }
}
