//! A run: the planner's blocks one after the other, each trial staged, driven, measured and
//! recorded; then the power cuts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bakeoff_disk::mount::Launcher;
use bakeoff_disk::neighbour;
use bakeoff_experiment::{Cell, group_sequences};
use bakeoff_folders::trust::TrustedFolder;
use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Canary, Levels, RunFolder, Scope, Trial, TrialMeasurements};

use crate::error::with_context;
use crate::estimate::{self, Drains, MediumKind, RunEstimate};
use crate::machine::canary::CanaryProbe;
use crate::place::device::HeldDevice;
use crate::place::images::{Images, Recipe};
use crate::place::leftovers::{self, WorkFolder};
use crate::place::{RESERVE, ensure_room, group};
use crate::plan::Plan;
use crate::planner::{DueBlock, Planner};
use crate::preflight::Preflight;
use crate::procedures::ProcedureContext;
use crate::process::ChildProgram;
use crate::spec;
use crate::watch::{RunEvent, RunObserver};
use crate::{LabError, MachineError, TrialError};

mod answers;
mod clock;
mod conditioning;
mod cuts;
mod every;
mod remaining_time;
mod scheduled;
mod sequence;

use clock::RunClock;
pub use cuts::file_systems;
use remaining_time::RemainingTime;
use scheduled::ScheduledBlock;
use sequence::{in_order, shares};

/// A disturbed machine gets this many chances to settle; then the block runs anyway.
const CANARY_TRIES: u32 = 3;

/// Prefix of a folder that holds a run's data outside the run folder.
pub const WORK_PREFIX: &str = "bakeoff-work-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    Finished { failed: u32 },
    Interrupted,
}

/// In the run folder.
const PROGRAMS_LOG: &str = "programs.log";

pub struct Runner<'a> {
    pub plan: &'a Plan<'a>,
    pub program: &'a ChildProgram,
    pub launcher: &'a Launcher,
    pub folder: &'a mut RunFolder,
    /// A new folder is made here for the data and removed at the end; `None` for the run folder.
    pub data_in: Option<&'a TrustedFolder>,
    /// Used in place of files, and overwritten.
    pub device: Option<&'a HeldDevice>,
    pub stop: &'a AtomicBool,
    /// Whether a database that somebody else runs may hold tables that bakeoff made.
    pub reuse: bool,
    /// Whether crash images that show a broken promise are kept in the run folder.
    pub keep_images: bool,
}

struct RunProgress {
    cage: CanaryProbe,
    canaries: Vec<Canary>,
    /// Counts from 1, including trials of earlier sittings.
    number: usize,
    of: usize,
    left: RemainingTime,
    waited_s: f64,
    processors: u32,
    checked: BTreeSet<Levels>,
    images: BTreeSet<Recipe>,
}

impl Runner<'_> {
    pub fn run(mut self, watch: &mut dyn RunObserver) -> Result<RunOutcome, LabError> {
        let used_s = self.folder.run()?.sequential.map_or(0.0, |it| it.used_s);
        let clock = RunClock::from_seconds_used(used_s);
        let ended = self.run_all(&clock, watch);
        let noted = self.folder.note_used(clock.used_s());
        match ended.and_then(|failed| Ok(noted.map(|()| failed)?)) {
            Ok(failed) => Ok(RunOutcome::Finished { failed }),
            Err(error) if error.is_interrupted() => Ok(RunOutcome::Interrupted),
            // An error after a request to stop is no failure.
            Err(_) if self.stop.load(Ordering::Relaxed) => Ok(RunOutcome::Interrupted),
            Err(error) => Err(error),
        }
    }

    fn run_all(&mut self, clock: &RunClock, watch: &mut dyn RunObserver) -> Result<u32, LabError> {
        let registry = with_context("the registry of work folders", leftovers::registry())?;
        sweep_leftovers(&registry, watch)?;
        let mut planner = self.begin_planner()?;
        // Without inodes not even a work folder can be made.
        ensure_room(self.data_in.map_or(self.folder.dir(), TrustedFolder::path), 0)?;
        let work = self.work_folder(&registry)?;
        let left = self.scheduled(planner.blocks_left());
        self.preflight(work.path()).check(left.iter().flat_map(ScheduledBlock::resolved))?;
        let left: Vec<&ScheduledBlock> = left.iter().collect();
        let number =
            remaining_time::count_ended(&self.plan.trials, &self.folder.read_ended_trials()?);
        let mut way = RunProgress {
            cage: with_context("the canary", CanaryProbe::new(work.path()))?,
            canaries: self.folder.own_canaries()?,
            number,
            of: number + count_trials(&left),
            left: self.time_left(&left),
            waited_s: 0.0,
            processors: self.folder.run()?.machine_now().processors,
            checked: self.checked_cells()?,
            images: BTreeSet::new(),
        };
        let mut stage = ProcedureContext {
            program: self.program,
            launcher: self.launcher,
            work: work.path(),
            programs_log: self.folder.dir().join(PROGRAMS_LOG),
            device: self.device.map(HeldDevice::device),
            images: Images::default(),
            hired: None,
            reuse: self.reuse,
            filled: BTreeSet::new(),
            claims: BTreeMap::new(),
            applied: Vec::new(),
            stop: self.stop,
            watch,
        };
        self.prepare(&mut stage, &left)?;
        let mut failed = 0;
        let mut next = self.next(&mut *planner, &mut stage, clock)?;
        while let Some(due) = next {
            stage.go_on()?;
            if self.data_in.is_some() || self.device.is_some() {
                // Trials check the room where the data lie; the records may lie elsewhere.
                ensure_room(self.folder.dir(), RESERVE)?;
            }
            let dues;
            (dues, next) = self.with_those_that_share(due, &mut *planner, &mut stage, clock)?;
            let these: Vec<&ScheduledBlock> = dues.iter().collect();
            self.prepare(&mut stage, &these)?;
            let left = self.scheduled(planner.blocks_left());
            let known: Vec<&ScheduledBlock> = dues.iter().chain(&next).chain(&left).collect();
            if way.number + count_trials(&known) > way.of {
                way.of = way.number + count_trials(&known);
                way.left.expect_trials(self.to_come(&known));
            }
            failed += self.run_sequence(&mut stage, &mut way, &dues)?;
            if next.is_none() {
                next = self.next(&mut *planner, &mut stage, clock)?;
            }
        }
        Ok(failed + self.cut_power(&mut stage)?)
    }

    /// Collects the blocks that the planner names next and that share the first one's conditioning.
    /// The second value is a next block that shares nothing.
    fn with_those_that_share(
        &mut self,
        first: ScheduledBlock,
        planner: &mut dyn Planner,
        stage: &mut ProcedureContext<'_>,
        clock: &RunClock,
    ) -> Result<(Vec<ScheduledBlock>, Option<ScheduledBlock>), LabError> {
        let mut dues = vec![first];
        while planner.blocks_left().first().is_some_and(|next| shares(&dues, &next.block)) {
            match self.next(planner, stage, clock)? {
                Some(due) if shares(&dues, &due.block) => dues.push(due),
                other => return Ok((dues, other)),
            }
        }
        Ok((dues, None))
    }

    /// Tells the planner how much time was used, and reports its news.
    fn next(
        &mut self,
        planner: &mut dyn Planner,
        stage: &mut ProcedureContext<'_>,
        clock: &RunClock,
    ) -> Result<Option<ScheduledBlock>, LabError> {
        self.folder.note_used(clock.used_s())?;
        let due = planner.next(self.folder)?;
        if let Some(news) = planner.take_news() {
            tracing::info!(news, "planner");
            stage.watch.on_event(RunEvent::Planned(&news));
        }
        Ok(due.map(|due| ScheduledBlock::from_due(&due, self.plan)))
    }

    fn scheduled(&self, dues: Vec<&DueBlock>) -> Vec<ScheduledBlock> {
        dues.into_iter().map(|due| ScheduledBlock::from_due(due, self.plan)).collect()
    }

    fn checked_cells(&self) -> Result<BTreeSet<Levels>, LabError> {
        let trials = self.folder.read_trials()?.into_iter();
        let checked = trials.filter(|trial| trial.measures.get(&FAULTS, &Scope::Trial).is_some());
        Ok(checked.map(|trial| trial.levels).collect())
    }

    fn begin_planner(&mut self) -> Result<Box<dyn Planner>, LabError> {
        let name = &self.plan.experiment.planner;
        let known = self.plan.registry.planners().iter().find(|planner| planner.name == name);
        let unknown = || TrialError::User(format!("there is no planner {name}"));
        let begin = known.ok_or_else(unknown)?.begin;
        Ok(begin(self.plan.experiment, &self.plan.trials, self.folder)?)
    }

    fn work_folder(&self, registry: &Path) -> Result<WorkFolder, MachineError> {
        let (parent, name) = match self.data_in {
            None => (self.hold_folder()?, "work".to_owned()),
            Some(parent) => {
                let held = parent.try_clone().map_err(io::Error::from);
                // Other runs may have theirs there, also those of other containers.
                let name = format!("{WORK_PREFIX}{}-{:.0}", std::process::id(), now_s() * 1e6);
                (with_context("the folder for the data", held)?, name)
            }
        };
        with_context("the work folder", WorkFolder::create(parent, &name, registry))
    }

    fn hold_folder(&self) -> Result<TrustedFolder, MachineError> {
        let folder = self.folder.held().map(TrustedFolder::try_clone);
        let folder = folder.unwrap_or_else(|| bakeoff_folders::trust::folder(self.folder.dir()));
        with_context("the run folder", folder.map_err(io::Error::from))
    }

    fn prepare(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        blocks: &[&ScheduledBlock],
    ) -> Result<(), LabError> {
        let trials = || blocks.iter().flat_map(|block| block.resolved()).map(|trial| &trial.spec);
        if stage.hired.is_none() && trials().any(spec::wants_hired) {
            self.hire_neighbours(stage)?;
        }
        let mut known = BTreeMap::new();
        for setup in trials().map(|trial| &trial.setup).filter(|setup| !setup.is_elsewhere()) {
            known.entry(&setup.recipe).or_insert(setup);
        }
        // Load all images first: a load between two trials would separate them in time.
        for setup in known.values() {
            stage.go_on()?;
            match stage.loaded_image(setup) {
                Err(error) if error.stops_the_run() => return Err(error.into()),
                // The trials will report this failure.
                Err(_) | Ok(_) => {}
            }
        }
        self.check_answers(stage, blocks)
    }

    fn preflight<'b>(&'b self, folder: &'b Path) -> Preflight<'b> {
        Preflight {
            plan: self.plan,
            folder,
            results: self.data_in.map(|_| self.folder.dir()),
            device: self.device.map(HeldDevice::device),
            launcher: Some(self.launcher),
            reuse: self.reuse,
        }
    }

    /// Virtual disks have neighbours in their own queue; only the machine's disk needs this file.
    fn hire_neighbours(&mut self, stage: &mut ProcedureContext<'_>) -> Result<(), LabError> {
        stage.watch.on_event(RunEvent::MeasuringNeighbour);
        let prepared = neighbour::NeighbourFile::prepare(stage.work, neighbour::FILE_BYTES);
        let file = prepared.map_err(MachineError::from)?;
        let alone = match self.folder.run()?.neighbour_alone_per_second {
            // A resumed run keeps its first measurement.
            Some(alone) => alone,
            None => neighbour::measure_alone(&file, Duration::from_secs(2))
                .map_err(MachineError::from)?,
        };
        self.folder.set_neighbour_alone(alone)?;
        stage.hired = Some((file, alone));
        Ok(())
    }

    fn note_applied(&mut self, stage: &mut ProcedureContext<'_>) -> Result<(), LabError> {
        stage.applied.drain(..).try_for_each(|applied| Ok(self.folder.note_applied(&applied)?))
    }

    fn data_medium(&self) -> MediumKind {
        if self.device.is_some() { MediumKind::RawDevice } else { MediumKind::Files }
    }

    fn time_left(&self, blocks: &[&ScheduledBlock]) -> RemainingTime {
        let estimate = RunEstimate::from_plan(self.data_medium(), self.plan);
        RemainingTime::new(self.to_come(blocks), estimate.cuts_s)
    }

    fn to_come<'b>(
        &'b self,
        blocks: &'b [&ScheduledBlock],
    ) -> impl Iterator<Item = (Cell, f64)> + 'b {
        let drains = Drains::default();
        let sequences = group_sequences(blocks, |due| &due.block).into_iter();
        let trials =
            sequences.flat_map(|dues| in_order(&dues.into_iter().copied().collect::<Vec<_>>()));
        trials.map(move |(due, level)| {
            let seconds = match &due.trials[level] {
                Ok(trial) => estimate::trial_s(self.data_medium(), trial, &drains),
                Err(_) => self.plan.experiment.seconds,
            };
            (due.block.trials[level].cell.clone(), seconds)
        })
    }

    /// Reads the canary and gives a disturbed machine time to settle. Returns the remaining
    /// disturbance.
    fn take_canary(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        way: &mut RunProgress,
    ) -> Result<Option<String>, LabError> {
        let patience_s =
            0.05 * self.plan.experiment.seconds * self.plan.trials.count_trials() as f64;
        for tries in 1..=CANARY_TRIES {
            let mut canary = with_context("the canary", way.cage.take_reading())?;
            canary.off = find_disturbance(&way.canaries, &canary);
            self.folder.commit_canary(&canary)?;
            tracing::debug!(?canary, "canary");
            way.canaries.push(canary.clone());
            let Some(what) = canary.off else { return Ok(None) };
            if tries == CANARY_TRIES || way.waited_s > patience_s {
                return Ok(Some(what));
            }
            stage.go_on()?;
            stage.watch.on_event(RunEvent::Unsettled(&what));
            std::thread::sleep(Duration::from_millis(500));
            way.waited_s += 0.5;
        }
        Ok(None)
    }
}

fn count_trials(blocks: &[&ScheduledBlock]) -> usize {
    blocks.iter().map(|due| due.block.trials.len()).sum()
}

/// Removes what killed runs left: mounts first, then the folders.
fn sweep_leftovers(registry: &Path, watch: &mut dyn RunObserver) -> Result<(), MachineError> {
    let mut swept = group::sweep_groups();
    swept.extend(with_context("left-over mounts", bakeoff_disk::registry::sweep())?);
    swept.extend(with_context("left-over work folders", leftovers::sweep_work_folders(registry))?);
    swept.iter().for_each(|path| watch.on_event(RunEvent::Swept(path)));
    Ok(())
}

pub fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

/// A trial counts when it was measured and at most one operation in a hundred failed.
fn judge_trial(trial: &mut Trial) {
    let Some(TrialMeasurements { operations, warnings, .. }) = &trial.measured else {
        trial.valid = false;
        return;
    };
    let failed = operations.iter().any(|operation| {
        let done: u64 = operation.slots.iter().map(|slot| slot.histogram.len()).sum();
        operation.errors * 100 > done
    });
    if failed {
        trial.valid = false;
        trial.reason = Some(format!("too many operations failed: {}", warnings.join("; ")));
    }
}

fn find_disturbance(earlier: &[Canary], canary: &Canary) -> Option<String> {
    Canary::MEASUREMENTS.into_iter().find_map(|(name, seconds)| {
        let now = seconds(canary)?;
        let history: Vec<f64> = earlier.iter().filter_map(seconds).collect();
        bakeoff_stats::canary::is_off(&history, now)
            .then(|| format!("{name} takes {:.2} ms, unlike before", now * 1e3))
    })
}
