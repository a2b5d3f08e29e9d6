//! How long a run is going to take, from what is known before it starts.
//!
//! What a trial takes beside its seconds was measured with the presets on a machine of two
//! processors and a local SSD. How long an operation takes nobody knows before: where one is slow,
//! a window waits for the twentieth of its kind, and the trial takes more, up to a bound that is known.

mod drain;

use std::collections::BTreeSet;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::{Cuts, EngineState, Experiment, PlannedTrial, TrialBlock, sequences};

use crate::driving::Drive;
use crate::place::images::Recipe;
use crate::procedures::cut::CUTS_A_RUN;
use crate::spec::{self, DiskSpec, TrialSpec};
use crate::targets::{DataSize, Setup, TargetHome, WantedLevels};
use crate::{Possible, Registry};

pub(crate) use self::drain::Drains;

/// Seconds of a look at the machine alone, before each block.
const CANARY_S: f64 = 0.1;
/// Seconds that preparing the neighbours' file and measuring one alone take.
const NEIGHBOUR_S: f64 = 3.0;
/// Bytes a second that rows are loaded with, and that an image is restored with, its syncs among
/// them; files without rows are made as they are restored.
const LOADED_PER_S: f64 = 20e6;
const RESTORED_PER_S: f64 = 400e6;
/// Bytes a second that files on a virtual disk are read with before clients start, so that the page cache has them.
/// From the runs of docs/findings/fileio: beside their clients and their drain, trials on files of 256 MiB took
/// 1.33 s longer than on files of 16 MiB, 0.63 s of it to restore them.
const FILLED_PER_S: f64 = 360e6;
/// Bytes a second of rows that are changed after they were loaded: of `text-oltp` at scale `large`, 5.9 MB in
/// `mariadb:innodb`, 8.5 MB in `postgres` and 21 MB in `sqlite`, on two processors and a local SSD.
const AGED_PER_S: f64 = 6e6;
/// Seconds that a trial takes more where a disk has neighbours: it opens and drains beside them.
const SHARED_S: f64 = 0.6;

/// What depends on where a target does its work ([`Home`]).
#[derive(Debug, PartialEq)]
struct TargetCosts {
    /// Seconds of a load beside its rows: a server's data folder is made, and it starts and stops.
    load_s: f64,
    /// Bytes a second of its rows.
    loaded_per_s: f64,
    /// Seconds that a trial takes beside its clients' time: its process, opening, draining, closing.
    beside_s: f64,
    /// Seconds that the clients of up to [`CUTS_A_RUN`] power cuts take until the power has gone.
    cut_s: f64,
    /// Seconds of each recovery and audit after it.
    audit_s: f64,
    /// Seconds of the same where one image after the other is opened, of every moment.
    image_s: f64,
    /// The most seconds that one conditioning was seen to take.
    conditioning_s: f64,
}

const FILES: TargetCosts = TargetCosts {
    load_s: 0.1,
    loaded_per_s: RESTORED_PER_S,
    beside_s: 0.1,
    cut_s: EMBEDDED.cut_s,
    audit_s: EMBEDDED.audit_s,
    image_s: 0.0,
    conditioning_s: 0.0,
};
const EMBEDDED: TargetCosts = TargetCosts {
    load_s: 0.1,
    loaded_per_s: LOADED_PER_S,
    beside_s: 0.25,
    cut_s: 2.0,
    audit_s: 0.1,
    image_s: 0.01,
    conditioning_s: 120.0,
};
/// Servers of 512 MB took 17 to 40 minutes to turn all debts of a block over at the scale `large`.
const SERVER: TargetCosts = TargetCosts {
    load_s: 1.3,
    loaded_per_s: LOADED_PER_S,
    beside_s: 0.9,
    cut_s: 2.0,
    audit_s: 1.2,
    image_s: 1.2,
    conditioning_s: 2400.0,
};
const ELSEWHERE: TargetCosts = TargetCosts {
    load_s: 0.2,
    loaded_per_s: LOADED_PER_S,
    beside_s: 0.2,
    cut_s: 0.0,
    audit_s: 0.0,
    image_s: 0.0,
    conditioning_s: 0.0,
};

/// What the data of a run lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumKind {
    /// Files, of which a trial that changes them has a copy.
    Files,
    /// A raw device, which is written once; no trial has a copy of it.
    RawDevice,
}

/// How long a run takes, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunEstimate {
    /// The loads.
    pub loads_s: f64,
    /// The trials, where no operation is slow.
    pub trials_s: f64,
    /// The trials, where each waits for slow operations as long as it may.
    pub most_s: f64,
    /// The longest block of them, or the longest blocks that follow one conditioning and are run together.
    pub longest_block_s: f64,
    /// The power cuts.
    pub cuts_s: f64,
    /// The most that the loads and the trials may take, where the experiment says so.
    pub limit_s: Option<f64>,
    /// At most what brings trials to their steady state, which is in none of the others: how much work it
    /// takes is learnt in the run.
    pub conditioning_s: f64,
}

impl RunEstimate {
    /// Of all that is possible of an experiment, on files.
    pub fn on_files(registry: &Registry, experiment: &Experiment, possible: &Possible) -> Self {
        Self::on(MediumKind::Files, registry, experiment, possible)
    }

    /// Of all that is possible of an experiment, where its data lie on this.
    pub fn on(
        medium: MediumKind,
        registry: &Registry,
        experiment: &Experiment,
        possible: &Possible,
    ) -> Self {
        let max_time = experiment.bounds.and_then(|bounds| bounds.max_time);
        let limit_s = max_time.map(|time| time.as_secs_f64());
        let mut estimate = Self { limit_s, ..Self::default() };
        let (mut loaded, mut hired) = (BTreeSet::new(), false);
        let drains = Drains::default();
        for blocks in sequences(&possible.plan.blocks, |block| block) {
            let before_s = estimate.trials_s;
            estimate.trials_s += CANARY_S;
            estimate.condition(registry, experiment, blocks[0]);
            let trials =
                blocks.iter().flat_map(|it| it.trials.iter().map(|trial| (it.number, trial)));
            for (block, planned) in trials {
                let resolved = spec::resolve(registry, experiment, &planned.cell, block);
                let Ok((trial, drive)) = resolved else { continue };
                hired |= spec::wants_hired(&trial);
                estimate.load(registry, &trial.setup, &mut loaded);
                estimate.trials_s += trial_s(medium, registry, &trial, &drive, &drains);
                estimate.most_s += (drive.cap() - drive.duration()).as_secs_f64();
            }
            let block_s = estimate.trials_s - before_s;
            estimate.longest_block_s = estimate.longest_block_s.max(block_s);
        }
        if hired {
            estimate.loads_s += NEIGHBOUR_S;
        }
        estimate.most_s += estimate.trials_s;
        if let Some(cuts) = &experiment.cuts {
            estimate.cut(registry, experiment, possible, cuts, &mut loaded);
        }
        estimate
    }

    /// All of it.
    pub fn total_s(&self) -> f64 {
        let measured_s = self.loads_s + self.trials_s;
        self.limit_s.map_or(measured_s, |limit_s| measured_s.min(limit_s)) + self.cuts_s
    }

    /// Adds the conditionings of a block, and of those that share them with it: all trials of a block have
    /// the same work before them, that of the engine that takes longest.
    fn condition(&mut self, registry: &Registry, experiment: &Experiment, block: &TrialBlock) {
        let steady = block.trials.iter().filter(|it| it.cell.state() == EngineState::Steady);
        let setup = |it: &PlannedTrial| {
            let resolved = spec::resolve(registry, experiment, &it.cell, block.number);
            resolved.map(|(trial, _)| costs(&trial.setup).conditioning_s)
        };
        let each: Vec<f64> = steady.filter_map(|it| setup(it).ok()).collect();
        self.conditioning_s += each.len() as f64 * each.iter().copied().fold(0.0, f64::max);
    }

    /// Adds a load, once for each recipe: a database that somebody else runs is loaded for each
    /// trial.
    fn load(&mut self, registry: &Registry, setup: &Setup, loaded: &mut BTreeSet<Recipe>) {
        if setup.is_elsewhere() || !loaded.insert(setup.recipe.clone()) {
            return;
        }
        self.loads_s += load_s(registry, setup);
    }

    /// Adds the power cuts, with the loads that they need.
    fn cut(
        &mut self,
        registry: &Registry,
        experiment: &Experiment,
        possible: &Possible,
        cuts: &Cuts,
        loaded: &mut BTreeSet<Recipe>,
    ) {
        let workload = &*cuts.by.workload;
        // A second cut is another recovery, by each rule.
        let recoveries = cuts.keep.len() as f64 * if cuts.recovery { 2.0 } else { 1.0 };
        let numbers = cuts.numbers().len();
        let runs = numbers.div_ceil(CUTS_A_RUN as usize) as f64;
        let each = (numbers * cuts.file_systems.len()) as f64;
        for (engine, level) in &possible.cuts {
            let cell = &experiment.cut_cell(engine, level);
            let Ok(target) = registry.target_of(workload) else { continue };
            let Ok(setup) = WantedLevels { experiment, cell, workload }.resolve(target) else {
                continue;
            };
            self.load(registry, &setup, loaded);
            let costs = costs(&setup);
            if let Some(images) = cuts.every {
                let images = f64::from(images) * cuts.file_systems.len() as f64;
                self.cuts_s += costs.cut_s + images * costs.image_s;
                continue;
            }
            // All of a file is written into the image, and read again.
            let files_s = match setup.home {
                TargetHome::Files => 2.0 * size(registry, &setup).disk as f64 / RESTORED_PER_S,
                TargetHome::Embedded | TargetHome::Server | TargetHome::Elsewhere => 0.0,
            };
            self.cuts_s += runs * costs.cut_s + each * recoveries * (costs.audit_s + files_s);
        }
    }
}

fn costs(setup: &Setup) -> &'static TargetCosts {
    match setup.home {
        TargetHome::Files => &FILES,
        TargetHome::Embedded => &EMBEDDED,
        TargetHome::Server => &SERVER,
        TargetHome::Elsewhere => &ELSEWHERE,
    }
}

fn load_s(registry: &Registry, setup: &Setup) -> f64 {
    let DataSize { rows, aged, .. } = size(registry, setup);
    let TargetCosts { load_s, loaded_per_s, .. } = costs(setup);
    load_s + rows as f64 / loaded_per_s + aged as f64 / AGED_PER_S
}

/// Seconds that a trial takes where no operation is slow.
pub(crate) fn trial_s(
    medium: MediumKind,
    registry: &Registry,
    trial: &TrialSpec,
    drive: &Drive,
    drains: &Drains,
) -> f64 {
    let setup = &trial.setup;
    let in_place = medium == MediumKind::RawDevice || spec::is_in_place(registry, trial);
    let staged_s = match setup.is_elsewhere() {
        true => load_s(registry, setup),
        false if in_place => 0.0,
        false => size(registry, setup).disk as f64 / RESTORED_PER_S,
    };
    let filled_s = match (setup.home, &trial.disk) {
        (TargetHome::Files, DiskSpec::Virtual(_)) if drive.state != EngineState::Cold => {
            size(registry, setup).disk as f64 / FILLED_PER_S
        }
        _ => 0.0,
    };
    let shared_s = if trial.neighbours == NeighbourLevel::None { 0.0 } else { SHARED_S };
    let before_s = staged_s + filled_s + costs(setup).beside_s + shared_s;
    before_s + drive.duration().as_secs_f64() + drains.seconds(registry, trial, drive)
}

/// How large a target's data are; nothing where nobody knows.
pub(crate) fn size(registry: &Registry, setup: &Setup) -> DataSize {
    let target = registry.target(setup.target);
    target.and_then(|target| target.size(&setup.subject)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A target without a group of processes may well have a server, and one of files groups.
    #[test]
    fn what_a_target_costs_goes_by_where_it_does_its_work_alone() {
        let homes = [
            (TargetHome::Files, &FILES),
            (TargetHome::Embedded, &EMBEDDED),
            (TargetHome::Server, &SERVER),
            (TargetHome::Elsewhere, &ELSEWHERE),
        ];
        for (home, expected) in homes {
            let recipe = Recipe { key: "k".into(), about: "a".into(), into: "i".into() };
            let (groups, shared) = (Vec::new(), Vec::new());
            let setup = Setup { target: "t", subject: Value::Null, recipe, groups, shared, home };
            assert_eq!(costs(&setup), expected, "{home:?}");
            assert_eq!(setup.has_server(), home == TargetHome::Server);
            assert_eq!(setup.is_elsewhere(), home == TargetHome::Elsewhere);
        }
    }

    /// On a raw device nothing is copied before a trial; it is written once all the same.
    #[test]
    fn a_raw_device_is_written_once_and_never_copied() {
        let place = tempfile::tempdir().unwrap();
        let registry = Registry::standard();
        let estimated = |pattern: &str, medium: MediumKind| {
            let file = place.path().join("files.toml");
            let toml = format!(
                "workload = 'fileio'\npattern = '{pattern}'\nsize = '4G'\nrepetitions = 3\n\
                 seconds = 5\n"
            );
            std::fs::write(&file, toml).unwrap();
            let (file, changes) =
                (file.to_string_lossy(), bakeoff_experiment::FlagOverrides::default());
            let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
            let possible = Possible::from_experiment(&registry, &experiment);
            assert_eq!(possible.plan.trials(), 3, "{:?}", possible.left_out);
            RunEstimate::on(medium, &registry, &experiment, &possible)
        };
        let files = estimated("randwrite", MediumKind::Files);
        let device = estimated("randwrite", MediumKind::RawDevice);
        let copy_s = (4u64 << 30) as f64 / RESTORED_PER_S;
        assert!(device.loads_s >= copy_s, "{device:?}");
        assert_eq!(device.loads_s, files.loads_s);
        let saved_s = files.trials_s - device.trials_s;
        assert!((saved_s - 3.0 * copy_s).abs() < 1e-6, "{saved_s} s of {copy_s} s three times");
        // What only reads is copied nowhere.
        let read = estimated("randread", MediumKind::RawDevice);
        assert!((read.trials_s - device.trials_s).abs() < 1e-6, "{read:?} {device:?}");
        assert_eq!(read, estimated("randread", MediumKind::Files));
    }

    #[test]
    fn targets_say_where_they_do_their_work() {
        let place = tempfile::tempdir().unwrap();
        let registry = Registry::standard();
        for (name, toml, home) in [
            ("folder", "workload = 'fileio'\n", TargetHome::Files),
            ("embedded", "workload = 'ledger'\nengine = 'sqlite'\n", TargetHome::Embedded),
            ("server", "workload = 'ledger'\nengine = 'postgres'\n", TargetHome::Server),
        ] {
            let file = place.path().join(format!("{name}.toml"));
            std::fs::write(&file, toml).unwrap();
            let (file, changes) =
                (file.to_string_lossy(), bakeoff_experiment::FlagOverrides::default());
            let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
            let cell = &experiment.plan().blocks[0].trials[0].cell;
            let (trial, _) = spec::resolve(&registry, &experiment, cell, 0).unwrap();
            assert_eq!(trial.setup.home, home, "{name}");
        }
    }
}
