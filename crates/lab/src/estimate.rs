//! Estimates how long a run takes, from facts that are known before it starts.
//!
//! The constants were measured with the presets on two processors and a local SSD. Slow operations
//! can't be foreseen: a window waits for the twentieth of a kind, up to a known bound.

mod drain;

use std::collections::BTreeSet;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::{Cuts, EngineState, group_sequences};

use crate::place::images::Recipe;
use crate::plan::Plan;
use crate::procedures::cut::CUTS_A_RUN;
use crate::spec::{self, DiskSpec, PlannedCut, ResolvedTrial, TrialSpec};
use crate::targets::{DataSize, Setup, TargetHome};

pub(crate) use self::drain::Drains;

/// Seconds of a look at the machine alone, before each block.
const CANARY_S: f64 = 0.1;
/// Seconds that preparing the neighbours' file and measuring one alone take.
const NEIGHBOUR_S: f64 = 3.0;
/// Bytes a second of a load, and of restoring an image with its syncs.
const LOADED_PER_S: f64 = 20e6;
const RESTORED_PER_S: f64 = 400e6;
/// Bytes a second of filling the page cache from a virtual disk. From docs/findings/fileio: trials
/// on 256 MiB took 1.33 s longer than on 16 MiB, 0.63 s of it to restore them.
const FILLED_PER_S: f64 = 360e6;
/// Bytes a second of changing loaded rows: `text-oltp` at scale `large`, 5.9 MB in
/// `mariadb:innodb`, 8.5 MB in `postgres`, 21 MB in `sqlite`, on two processors and a local SSD.
const AGED_PER_S: f64 = 6e6;
/// Seconds that neighbours add to a trial: it opens and drains beside them.
const SHARED_S: f64 = 0.6;

#[derive(Debug, PartialEq)]
struct TargetCosts {
    /// Seconds of a load beside its rows: a server's data folder is made, and it starts and stops.
    load_s: f64,
    loaded_per_s: f64,
    /// Seconds that a trial takes beside its clients' time: its process, opening, draining, closing.
    beside_s: f64,
    /// Seconds that the clients of up to [`CUTS_A_RUN`] power cuts take until the power has gone.
    cut_s: f64,
    audit_s: f64,
    /// Seconds of the same in cuts at every moment, where images are opened one after the other.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumKind {
    Files,
    /// A raw device, which is written once and never copied.
    RawDevice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunEstimate {
    pub loads_s: f64,
    /// If no operation is slow.
    pub trials_s: f64,
    /// If each trial waits for slow operations as long as it may.
    pub most_s: f64,
    /// The longest block, or sequence of blocks that share a conditioning.
    pub longest_block_s: f64,
    pub cuts_s: f64,
    pub limit_s: Option<f64>,
    /// An upper bound, in none of the others: the work is measured in the run.
    pub conditioning_s: f64,
}

impl RunEstimate {
    pub fn on_files(plan: &Plan<'_>) -> Self {
        Self::from_plan(MediumKind::Files, plan)
    }

    pub fn from_plan(medium: MediumKind, plan: &Plan<'_>) -> Self {
        let max_time = plan.experiment.bounds.and_then(|bounds| bounds.max_time);
        let limit_s = max_time.map(|time| time.as_secs_f64());
        let mut estimate = Self { limit_s, ..Self::default() };
        let (mut loaded, mut hired) = (BTreeSet::new(), false);
        let drains = Drains::default();
        for blocks in group_sequences(&plan.trials.blocks, |block| block) {
            let before_s = estimate.trials_s;
            estimate.trials_s += CANARY_S;
            estimate.condition(plan.block_trials(blocks[0]));
            for trial in blocks.iter().flat_map(|block| plan.block_trials(block)) {
                hired |= spec::wants_hired(&trial.spec);
                estimate.load(&trial.spec.setup, &mut loaded);
                estimate.trials_s += trial_s(medium, trial, &drains);
                estimate.most_s +=
                    (trial.drive.longest_duration() - trial.drive.planned_duration()).as_secs_f64();
            }
            let block_s = estimate.trials_s - before_s;
            estimate.longest_block_s = estimate.longest_block_s.max(block_s);
        }
        if hired {
            estimate.loads_s += NEIGHBOUR_S;
        }
        estimate.most_s += estimate.trials_s;
        if let Some(cuts) = &plan.experiment.cuts {
            estimate.cut(plan, cuts, &mut loaded);
        }
        estimate
    }

    pub fn total_s(&self) -> f64 {
        let measured_s = self.loads_s + self.trials_s;
        self.limit_s.map_or(measured_s, |limit_s| measured_s.min(limit_s)) + self.cuts_s
    }

    /// All trials of a block get as much conditioning as the slowest engine needs.
    fn condition<'p>(&mut self, trials: impl Iterator<Item = &'p ResolvedTrial>) {
        let steady = trials.filter(|trial| trial.drive.state == EngineState::Steady);
        let each: Vec<f64> =
            steady.map(|trial| target_costs(&trial.spec.setup).conditioning_s).collect();
        self.conditioning_s += each.len() as f64 * each.iter().copied().fold(0.0, f64::max);
    }

    /// Each recipe is loaded once. An external database is loaded for each trial, and not counted
    /// here.
    fn load(&mut self, setup: &Setup, loaded: &mut BTreeSet<Recipe>) {
        if setup.is_elsewhere() || !loaded.insert(setup.recipe.clone()) {
            return;
        }
        self.loads_s += load_s(setup);
    }

    fn cut(&mut self, plan: &Plan<'_>, cuts: &Cuts, loaded: &mut BTreeSet<Recipe>) {
        // A second cut is another recovery, by each rule.
        let recoveries = cuts.keep.len() as f64 * if cuts.recovery { 2.0 } else { 1.0 };
        let numbers = cuts.numbers().len();
        let runs = numbers.div_ceil(CUTS_A_RUN as usize) as f64;
        let each = (numbers * cuts.file_systems.len()) as f64;
        for PlannedCut { spec: TrialSpec { setup, .. }, .. } in &plan.cuts {
            self.load(setup, loaded);
            let costs = target_costs(setup);
            if let Some(images) = cuts.every {
                let images = f64::from(images) * cuts.file_systems.len() as f64;
                self.cuts_s += costs.cut_s + images * costs.image_s;
                continue;
            }
            // The whole file is written into the image, and read again.
            let files_s = match setup.home {
                TargetHome::Files => 2.0 * estimate_size(setup).disk as f64 / RESTORED_PER_S,
                TargetHome::Embedded | TargetHome::Server | TargetHome::Elsewhere => 0.0,
            };
            self.cuts_s += runs * costs.cut_s + each * recoveries * (costs.audit_s + files_s);
        }
    }
}

fn target_costs(setup: &Setup) -> &'static TargetCosts {
    match setup.home {
        TargetHome::Files => &FILES,
        TargetHome::Embedded => &EMBEDDED,
        TargetHome::Server => &SERVER,
        TargetHome::Elsewhere => &ELSEWHERE,
    }
}

fn load_s(setup: &Setup) -> f64 {
    let DataSize { rows, aged, .. } = estimate_size(setup);
    let TargetCosts { load_s, loaded_per_s, .. } = target_costs(setup);
    load_s + rows as f64 / loaded_per_s + aged as f64 / AGED_PER_S
}

pub(crate) fn trial_s(medium: MediumKind, trial: &ResolvedTrial, drains: &Drains) -> f64 {
    let ResolvedTrial { spec: trial, drive, .. } = trial;
    let setup = &trial.setup;
    let in_place = medium == MediumKind::RawDevice || spec::is_in_place(trial);
    let staged_s = match setup.is_elsewhere() {
        true => load_s(setup),
        false if in_place => 0.0,
        false => estimate_size(setup).disk as f64 / RESTORED_PER_S,
    };
    let filled_s = match (setup.home, &trial.disk) {
        (TargetHome::Files, DiskSpec::Virtual(_)) if drive.state != EngineState::Cold => {
            estimate_size(setup).disk as f64 / FILLED_PER_S
        }
        _ => 0.0,
    };
    let shared_s = if trial.neighbours == NeighbourLevel::None { 0.0 } else { SHARED_S };
    let before_s = staged_s + filled_s + target_costs(setup).beside_s + shared_s;
    before_s + drive.planned_duration().as_secs_f64() + drains.seconds(trial, drive)
}

pub(crate) fn estimate_size(setup: &Setup) -> DataSize {
    setup.subject.size().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::tests::load;

    #[test]
    fn what_a_target_costs_goes_by_where_it_does_its_work() {
        let registry = Registry::standard();
        for (toml, home, costs) in [
            ("workload = 'fileio'\n", TargetHome::Files, &FILES),
            ("workload = 'ledger'\nengine = 'sqlite'\n", TargetHome::Embedded, &EMBEDDED),
            ("workload = 'ledger'\nengine = 'postgres'\n", TargetHome::Server, &SERVER),
            ("workload = 'page'\n", TargetHome::Elsewhere, &ELSEWHERE),
        ] {
            let experiment = load(toml);
            let cell = &experiment.plan().blocks[0].trials[0].cell;
            let setup = spec::resolve_trial(&registry, &experiment, cell, 0).unwrap().spec.setup;
            assert_eq!((setup.home, target_costs(&setup)), (home, costs), "{toml}");
            assert_eq!(setup.has_server(), home == TargetHome::Server);
            assert_eq!(setup.is_elsewhere(), home == TargetHome::Elsewhere);
        }
    }

    #[test]
    fn each_image_of_an_engine_is_loaded_once() {
        let registry = Registry::standard();
        let loads_s = |images: u32| {
            let engines = "workload = 'ledger'\nengine = ['sqlite', 'lmdb']\n";
            let experiment = load(&format!("{engines}repetitions = 4\nimages = {images}\n"));
            RunEstimate::on_files(&Plan::from_experiment(&registry, &experiment)).loads_s
        };
        let [one, three] = [1, 3].map(loads_s);
        assert!(one > 0.0 && (three / one - 3.0).abs() < 1e-9, "{one} {three}");
    }

    /// On a raw device nothing is copied before a trial; it is written once all the same.
    #[test]
    fn a_raw_device_is_written_once_and_never_copied() {
        let registry = Registry::standard();
        let estimated = |pattern: &str, medium: MediumKind| {
            let lines = "size = '4G'\nrepetitions = 3\nseconds = 5\n";
            let experiment = load(&format!("workload = 'fileio'\npattern = '{pattern}'\n{lines}"));
            let plan = Plan::from_experiment(&registry, &experiment);
            assert_eq!(plan.trials.count_trials(), 3, "{:?}", plan.left_out);
            RunEstimate::from_plan(medium, &plan)
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
}
