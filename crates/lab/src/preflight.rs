//! Tries everything that a run needs before the first load: targets, virtual disk, limits and room.

mod device;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;

use bakeoff_disk::mount::Launcher;
use bakeoff_disk::neighbour;
use bakeoff_experiment::{Cell, Cpus, Factor, HOST, MemoryLimit};

use crate::error::Problems;
use crate::place::device::RawDevice;
use crate::place::group::{try_cpu_limit, try_memory_limit};
use crate::place::images::Recipe;
use crate::place::{RESERVE, disk, ensure_room};
use crate::plan::Plan;
use crate::spec::{self, DiskSpec, ResolvedTrial, TrialSpec};
use crate::targets::{GroupLimit, Setup, TargetHome};
use crate::{MachineError, TrialError, estimate};

const RECORD: u64 = 100_000;

const NAMED: usize = 4;

const NOT_TRIED: &str = "what tries it has panicked; tell bakeoff's makers";

pub struct Preflight<'a> {
    pub plan: &'a Plan<'a>,
    /// On the disk of the data.
    pub folder: &'a Path,
    /// On the disk of the run folder, if that is a different disk.
    pub results: Option<&'a Path>,
    pub device: Option<&'a RawDevice>,
    /// `None`: nothing is mounted to find out.
    pub launcher: Option<&'a Launcher>,
    /// Whether a database that somebody else runs may hold tables that bakeoff made.
    pub reuse: bool,
}

impl Preflight<'_> {
    /// Tries what these trials need, each cell on each image once, and the power cuts of the plan.
    pub fn check<'t>(
        &self,
        trials: impl Iterator<Item = &'t ResolvedTrial>,
    ) -> Result<(), Problems> {
        let on_image = |trial: &'t ResolvedTrial| (&trial.cell, &trial.spec.setup.recipe);
        let cells: BTreeMap<(&Cell, &Recipe), &TrialSpec> =
            trials.map(|trial| (on_image(trial), &trial.spec)).collect();
        let trials: Vec<&TrialSpec> = cells.into_values().collect();
        let cut: Vec<&Setup> = self.plan.cuts.iter().map(|cut| &cut.spec.setup).collect();
        let cuts = !cut.is_empty();
        let mut problems = self.check_targets(&trials, &cut);
        let of_device = |it| device::find_problems(it, &trials, cuts);
        problems.extend(self.device.map(of_device).unwrap_or_default());
        problems.extend(self.unfit_folder(&trials));
        let is_virtual = |trial: &&TrialSpec| trial.disk != DiskSpec::Host;
        if cuts || trials.iter().any(is_virtual) {
            problems.extend(self.virtual_disk(cuts));
        }
        problems.extend(check_limits(&trials));
        problems.extend(self.too_little_room(&trials, &cut).err().map(TrialError::from));
        // The records may share the disk of the data, so ask for the room of both.
        let records =
            self.results.map_or(Ok(()), |it| ensure_room(it, RESERVE + self.record_bytes()));
        problems.extend(records.err().map(TrialError::from));
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// Tries each target once for each place that it loads into, all at the same time: an absent
    /// server may take seconds to answer.
    fn check_targets(&self, trials: &[&TrialSpec], cut: &[&Setup]) -> Vec<TrialError> {
        let setups = trials.iter().map(|trial| &trial.setup).chain(cut.iter().copied());
        let named = setups.map(|setup| ((&*setup.recipe.into, setup.target), setup));
        let all: BTreeMap<(&str, &str), &Setup> = named.collect();
        let ready =
            &|setup: &Setup| setup.subject.check_ready(self.reuse).err().unwrap_or_default();
        let answers: Vec<(&str, Vec<String>)> = thread::scope(|scope| {
            let ask = |setup| thread::Builder::new().spawn_scoped(scope, move || ready(setup));
            let asked: Vec<_> = all.into_values().map(|setup| (setup, ask(setup))).collect();
            // Without a thread it takes longer.
            let answer = |(setup, asked): (_, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
                let answer = match asked {
                    Ok(asked) => asked.join().unwrap_or_else(|_| vec![NOT_TRIED.into()]),
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

    fn unfit_folder(&self, trials: &[&TrialSpec]) -> Vec<TrialError> {
        let is_there = |trial: &&&TrialSpec| self.device.is_none() && trial.disk == DiskSpec::Host;
        let unfit = |trial: &&TrialSpec| trial.setup.subject.fits_folder(self.folder).err();
        let whys: BTreeSet<String> = trials.iter().filter(is_there).filter_map(unfit).collect();
        let told = |why| TrialError::User(format!("{}: {why}", self.folder.display()));
        whys.into_iter().map(told).collect()
    }

    fn virtual_disk(&self, cuts: bool) -> Option<TrialError> {
        let tried = match self.launcher {
            None => bakeoff_disk::daemon::can_mount().map_err(|error| error.to_string()),
            Some(launcher) => self.try_mount(launcher),
        };
        let why = tried.err()?;
        let levels = self.plan.experiment.run_levels(Factor::DISK).join(", ");
        // Only a virtual disk can lose its power.
        let what = if cuts {
            format!("no power can be cut, since the disk {levels} can't be had: {why}")
        } else {
            format!(
                "the disk {levels} can't be had: {why}; to run without virtual disks: --disk {HOST}"
            )
        };
        Some(MachineError::Place(what).into())
    }

    fn try_mount(&self, launcher: &Launcher) -> Result<(), String> {
        let place = self.folder.join("try-disk");
        let wrong = |error: std::io::Error| format!("{}: {error}", place.display());
        std::fs::create_dir(&place).map_err(wrong)?;
        let tried = disk::try_virtual_disk(launcher, &place);
        let removed = std::fs::remove_dir_all(&place).map_err(wrong);
        tried.and(removed)
    }

    fn record_bytes(&self) -> u64 {
        RECORD * self.plan.trials.count_trials() as u64
    }

    fn fewer_images(&self) -> &'static str {
        if self.plan.experiment.images > 1 { ", or fewer --images" } else { "" }
    }

    /// Whether the images, copies of the largest, the neighbours' file and the records have room.
    fn too_little_room(&self, trials: &[&TrialSpec], cut: &[&Setup]) -> Result<(), MachineError> {
        let setups = trials.iter().map(|trial| &trial.setup).chain(cut.iter().copied());
        let images: BTreeMap<&Recipe, ImageFootprint> = setups
            // A raw device takes the data of all these.
            .filter(|setup| !setup.is_elsewhere() && self.device.is_none())
            .map(|setup| (&setup.recipe, ImageFootprint::from_setup(setup)))
            .collect();
        let copied = trials.iter().filter(|trial| !spec::is_in_place(trial));
        let copied = copied.map(|trial| &trial.setup).chain(cut.iter().copied());
        let copied = copied.filter_map(|setup| images.get(&setup.recipe));
        let largest = copied.map(|taken| taken.disk).max().unwrap_or(0);
        let hired = if trials.iter().any(|trial| spec::wants_hired(trial)) {
            neighbour::FILE_BYTES
        } else {
            0
        };
        // A trial's files grow while its clients write, and a crash image is another copy.
        let copies = largest * if cut.is_empty() { 2 } else { 3 };
        let all: u64 = images.values().map(|taken| taken.disk).sum();
        let needed = RESERVE + all + copies + hired + self.record_bytes();
        ensure_room(self.folder, needed).map_err(|error| match error {
            MachineError::Full { folder, free, needed, .. } => MachineError::Full {
                folder,
                free,
                needed,
                what_for: what_for(&images, copies) + self.fewer_images(),
            },
            other => other,
        })
    }
}

#[derive(Clone, Copy)]
struct ImageFootprint {
    disk: u64,
    aged: bool,
    files: bool,
}

impl ImageFootprint {
    fn from_setup(setup: &Setup) -> Self {
        let size = estimate::estimate_size(setup);
        Self { disk: size.disk, aged: size.aged > 0, files: setup.home == TargetHome::Files }
    }
}

/// Names the largest images, and how to do with less room.
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

/// Why groups can't be limited, for each factor by which a trial limits them.
fn check_limits(trials: &[&TrialSpec]) -> Vec<TrialError> {
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
