//! A run: the planner's blocks one after the other, each trial staged, driven, measured and
//! recorded; then the power cuts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bakeoff_disk::mount::Launcher;
use bakeoff_disk::neighbour;
use bakeoff_experiment::{Cell, Experiment, sequences};
use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Canary, Levels, RunFolder, Scope, Trial, TrialMeasurements};
use bakeoff_trust::TrustedFolder;

use crate::driving::Drive;
use crate::error::wanting;
use crate::estimate::{self, Drains, MediumKind, RunEstimate};
use crate::machine::canary::Cage;
use crate::place::device::HeldDevice;
use crate::place::images::{Images, Recipe};
use crate::place::leftovers::{self, WorkFolder};
use crate::place::{RESERVE, group, room};
use crate::planner::{DueBlock, Planner};
use crate::possible::Possible;
use crate::preflight::Preflight;
use crate::procedures::ProcedureContext;
use crate::process::ChildProgram;
use crate::refusal::Refusal;
use crate::spec::{self, TrialSpec};
use crate::watch::{RunEvent, RunObserver};
use crate::{LabError, MachineError, Registry, TrialError};

mod answers;
mod clock;
mod conditioning;
mod cuts;
mod every;
mod left;
mod sequence;

use clock::RunClock;
pub use cuts::file_systems;
use left::RemainingTime;
use sequence::{in_order, shares};

/// A disturbed machine is given so many chances to settle before a block is run on it anyway.
const CANARY_TRIES: u32 = 3;

/// How the name of a folder begins that has a run's data elsewhere than in the run folder.
pub const WORK_PREFIX: &str = "bakeoff-work-";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All planned trials have ended, and power cuts been made; so many of them failed.
    Finished {
        /// Trials and power cuts of this run that failed.
        failed: u32,
    },
    /// It was asked to stop.
    Interrupted,
}

/// A run in the making.
pub struct Runner<'a> {
    /// What is registered.
    pub registry: &'a Registry,
    /// What is started for each trial: see [`crate::child`].
    pub program: &'a ChildProgram,
    /// What is started for each virtual disk.
    pub launcher: &'a Launcher,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The part of it that can be run.
    pub possible: &'a Possible,
    /// Where its results go.
    pub folder: &'a mut RunFolder,
    /// Where the data lie while it runs, in a new folder that is removed at the end; `None` for the run folder.
    pub data_in: Option<&'a TrustedFolder>,
    /// The raw device that is written over and measured in the place of files; `None` for files.
    pub device: Option<&'a HeldDevice>,
    /// Set by somebody else when the run is to stop.
    pub stop: &'a AtomicBool,
    /// Whether a database that somebody else runs may hold tables of bakeoff's own making.
    pub reuse: bool,
    /// Whether crash images that show a broken promise are kept in the run folder.
    pub keep_images: bool,
}

/// What a run knows of itself on its way.
struct RunProgress {
    cage: Cage,
    canaries: Vec<Canary>,
    /// The trial that is running, from 1, counting those that were done before, and how many there
    /// will be.
    number: usize,
    of: usize,
    /// How much longer it takes.
    left: RemainingTime,
    /// Seconds spent on waiting for the machine to settle.
    waited_s: f64,
    /// How many processors the machine has.
    processors: u32,
    /// The cells of which a trial's leavings were checked.
    checked: BTreeSet<Levels>,
    /// The images of which they were, in this sitting.
    images: BTreeSet<Recipe>,
}

impl Runner<'_> {
    /// Runs what is not done yet, and tells `watch` of it.
    ///
    /// # Errors
    /// What keeps the run as a whole from going on; a trial's own failure is recorded and the
    /// next one is run.
    pub fn run(mut self, watch: &mut dyn RunObserver) -> Result<Ending, LabError> {
        let used_s = self.folder.run()?.sequential.map_or(0.0, |it| it.used_s);
        let clock = RunClock::after(used_s);
        let ended = self.run_all(&clock, watch);
        let noted = self.folder.note_used(clock.used_s());
        match ended.and_then(|failed| Ok(noted.map(|()| failed)?)) {
            Ok(failed) => Ok(Ending::Finished { failed }),
            Err(error) if error.is_interrupted() => Ok(Ending::Interrupted),
            // What fails when it is stopped has not failed by itself.
            Err(_) if self.stop.load(Ordering::Relaxed) => Ok(Ending::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// How many trials and cuts failed.
    fn run_all(&mut self, clock: &RunClock, watch: &mut dyn RunObserver) -> Result<u32, LabError> {
        let registry = wanting("the registry of work folders", leftovers::registry())?;
        sweep(&registry, watch)?;
        let mut planner = self.planner()?;
        let work = self.work_folder(&registry)?;
        let left = planner.left();
        self.preflight(work.path()).check(left.iter().map(|due| &due.block))?;
        let number = left::ended(&self.possible.plan, &self.folder.done()?);
        let mut way = RunProgress {
            cage: wanting("the canary", Cage::new(work.path()))?,
            canaries: self.folder.own_canaries()?,
            number,
            of: number + trials(&left),
            left: self.left(&left),
            waited_s: 0.0,
            processors: self.folder.run()?.machine_now().processors,
            checked: self.checked()?,
            images: BTreeSet::new(),
        };
        let mut stage = ProcedureContext {
            registry: self.registry,
            program: self.program,
            launcher: self.launcher,
            work: work.path(),
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
                // Trials ask for room where their data lie, and have none to ask for on a device.
                room(self.folder.dir(), RESERVE)?;
            }
            let dues;
            (dues, next) = self.with_those_that_share(due, &mut *planner, &mut stage, clock)?;
            // Those that nobody knew of before.
            let these: Vec<&DueBlock> = dues.iter().collect();
            self.prepare(&mut stage, &these)?;
            let known: Vec<&DueBlock> = dues.iter().chain(&next).chain(planner.left()).collect();
            if way.number + trials(&known) > way.of {
                way.of = way.number + trials(&known);
                way.left.expect(self.to_come(&known));
            }
            failed += self.run_sequence(&mut stage, &mut way, &dues)?;
            if next.is_none() {
                next = self.next(&mut *planner, &mut stage, clock)?;
            }
        }
        Ok(failed + self.cut_power(&mut stage)?)
    }

    /// A block with those that the planner names next and that share its conditioning; and the planner's
    /// next where it turns out to be another one.
    fn with_those_that_share(
        &mut self,
        first: DueBlock,
        planner: &mut dyn Planner,
        stage: &mut ProcedureContext<'_>,
        clock: &RunClock,
    ) -> Result<(Vec<DueBlock>, Option<DueBlock>), LabError> {
        let mut dues = vec![first];
        while planner.left().first().is_some_and(|next| shares(&dues, next)) {
            match self.next(planner, stage, clock)? {
                Some(due) if shares(&dues, &due) => dues.push(due),
                other => return Ok((dues, other)),
            }
        }
        Ok((dues, None))
    }

    /// The planner's next block, once it knows how much time was used; tells what it has decided.
    fn next(
        &mut self,
        planner: &mut dyn Planner,
        stage: &mut ProcedureContext<'_>,
        clock: &RunClock,
    ) -> Result<Option<DueBlock>, LabError> {
        self.folder.note_used(clock.used_s())?;
        let due = planner.next(self.folder)?;
        if let Some(news) = planner.news() {
            tracing::info!(news, "planner");
            stage.watch.event(RunEvent::Planned(&news));
        }
        Ok(due)
    }

    /// The cells that were checked in an earlier sitting.
    fn checked(&self) -> Result<BTreeSet<Levels>, LabError> {
        let trials = self.folder.trials()?.into_iter();
        let checked = trials.filter(|trial| trial.measures.get(&FAULTS, &Scope::Trial).is_some());
        Ok(checked.map(|trial| trial.levels).collect())
    }

    /// The experiment's planner, at what the run folder lacks.
    fn planner(&mut self) -> Result<Box<dyn Planner>, LabError> {
        let name = &self.experiment.planner;
        let known = self.registry.planners().iter().find(|planner| planner.name == name);
        let unknown = || TrialError::User(format!("there is no planner {name}"));
        let begin = known.ok_or_else(unknown)?.begin;
        Ok(begin(self.experiment, &self.possible.plan, self.folder)?)
    }

    /// A new folder for the data.
    fn work_folder(&self, registry: &Path) -> Result<WorkFolder, MachineError> {
        let (parent, name) = match self.data_in {
            None => (self.held()?, "work".to_owned()),
            Some(parent) => {
                let held = parent.again().map_err(io::Error::from);
                // Other runs may have theirs there, also those of other containers.
                let name = format!("{WORK_PREFIX}{}-{:.0}", std::process::id(), now_s() * 1e6);
                (wanting("the folder for the data", held)?, name)
            }
        };
        wanting("the work folder", WorkFolder::create(parent, &name, registry))
    }

    /// The run folder, held once more.
    fn held(&self) -> Result<TrustedFolder, MachineError> {
        let folder = self.folder.held().map(TrustedFolder::again);
        let folder = folder.unwrap_or_else(|| bakeoff_trust::folder(self.folder.dir()));
        wanting("the run folder", folder.map_err(io::Error::from))
    }

    /// Resolves what is to be run, and loads its data, unless they are there.
    fn prepare(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        blocks: &[&DueBlock],
    ) -> Result<(), LabError> {
        let trials = blocks.iter().flat_map(|due| {
            due.block.trials.iter().map(|trial| self.resolve(&trial.cell, due.block.number))
        });
        let trials: Vec<TrialSpec> = trials.filter_map(|it| Some(it.ok()?.0)).collect();
        if stage.hired.is_none() && trials.iter().any(spec::wants_hired) {
            self.hire_neighbours(stage)?;
        }
        let mut known = BTreeMap::new();
        for trial in trials.into_iter().filter(|trial| !trial.setup.is_elsewhere()) {
            known.entry(trial.setup.recipe.clone()).or_insert(trial.setup);
        }
        // In the plan's order each image would be loaded when its first trial comes: blocks would
        // not be back to back.
        for setup in known.values() {
            stage.go_on()?;
            match stage.image(setup) {
                Err(error) if error.stops_the_run() => return Err(error.into()),
                // It is the trials' failure, told with each.
                Err(_) | Ok(_) => {}
            }
        }
        self.check_answers(stage, blocks)
    }

    /// What is tried before anything is loaded.
    fn preflight<'b>(&'b self, folder: &'b Path) -> Preflight<'b> {
        Preflight {
            registry: self.registry,
            experiment: self.experiment,
            possible: self.possible,
            folder,
            results: self.data_in.map(|_| self.folder.dir()),
            device: self.device.map(HeldDevice::device),
            launcher: Some(self.launcher),
            reuse: self.reuse,
        }
    }

    /// Resolves a cell in a block.
    fn resolve(&self, cell: &Cell, block: u32) -> Result<(TrialSpec, Drive), Refusal> {
        spec::resolve(self.registry, self.experiment, cell, block)
    }

    /// Prepares the neighbours' file on the machine's own disk, and measures one alone. A virtual
    /// disk has its neighbours in its own queue.
    fn hire_neighbours(&mut self, stage: &mut ProcedureContext<'_>) -> Result<(), LabError> {
        stage.watch.event(RunEvent::MeasuringNeighbour);
        let prepared = neighbour::NeighbourFile::prepare(stage.work, neighbour::FILE_BYTES);
        let file = prepared.map_err(MachineError::from)?;
        let alone = match self.folder.run()?.neighbour_alone_per_second {
            // A resumed run keeps to the terms that it began with.
            Some(alone) => alone,
            None => neighbour::measure_alone(&file, Duration::from_secs(2))
                .map_err(MachineError::from)?,
        };
        self.folder.set_neighbour_alone(alone)?;
        stage.hired = Some((file, alone));
        Ok(())
    }

    /// Notes for the report what targets were opened with.
    fn note_applied(&mut self, stage: &mut ProcedureContext<'_>) -> Result<(), LabError> {
        stage.applied.drain(..).try_for_each(|applied| Ok(self.folder.note_applied(&applied)?))
    }

    /// What its data lie on.
    fn medium(&self) -> MediumKind {
        if self.device.is_some() { MediumKind::RawDevice } else { MediumKind::Files }
    }

    /// How long what is left to do is going to take.
    fn left(&self, blocks: &[&DueBlock]) -> RemainingTime {
        let medium = self.medium();
        let estimate = RunEstimate::on(medium, self.registry, self.experiment, self.possible);
        RemainingTime::new(self.to_come(blocks), estimate.cuts_s)
    }

    /// The trials of these blocks, each with the seconds that it is estimated at.
    fn to_come<'b>(&'b self, blocks: &'b [&DueBlock]) -> impl Iterator<Item = (Cell, f64)> + 'b {
        let drains = Drains::default();
        let each = move |block: u32, cell: &Cell| {
            let resolved = self.resolve(cell, block);
            let seconds = |(trial, drive): &_| {
                estimate::trial_s(self.medium(), self.registry, trial, drive, &drains)
            };
            (cell.clone(), resolved.as_ref().map_or(self.experiment.seconds, seconds))
        };
        let sequences = sequences(blocks, |due| &due.block).into_iter();
        let trials =
            sequences.flat_map(|dues| in_order(&dues.into_iter().copied().collect::<Vec<_>>()));
        trials.map(move |(due, trial)| each(due.block.number, &trial.cell))
    }

    /// Reads the canary; when it is off, gives the machine time to settle, within bounds. What is
    /// still off then.
    fn take_canary(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        way: &mut RunProgress,
    ) -> Result<Option<String>, LabError> {
        let patience_s = 0.05 * self.experiment.seconds * self.possible.plan.trials() as f64;
        for tries in 1..=CANARY_TRIES {
            let mut canary = wanting("the canary", way.cage.read())?;
            canary.off = disturbed(&way.canaries, &canary);
            self.folder.commit_canary(&canary)?;
            tracing::debug!(?canary, "canary");
            way.canaries.push(canary.clone());
            let Some(what) = canary.off else { return Ok(None) };
            if tries == CANARY_TRIES || way.waited_s > patience_s {
                return Ok(Some(what));
            }
            stage.go_on()?;
            stage.watch.event(RunEvent::Unsettled(&what));
            std::thread::sleep(Duration::from_millis(500));
            way.waited_s += 0.5;
        }
        Ok(None)
    }
}

/// How many trials blocks have.
fn trials(blocks: &[&DueBlock]) -> usize {
    blocks.iter().map(|due| due.block.trials.len()).sum()
}

/// Removes what killed runs have left: first what is mounted in work folders, then these.
fn sweep(registry: &Path, watch: &mut dyn RunObserver) -> Result<(), MachineError> {
    let mut swept = group::sweep();
    swept.extend(wanting("left-over mounts", bakeoff_disk::registry::sweep())?);
    swept.extend(wanting("left-over work folders", leftovers::sweep(registry))?);
    swept.iter().for_each(|path| watch.event(RunEvent::Swept(path)));
    Ok(())
}

/// What time it is, in seconds since 1970.
pub fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

/// A trial counts when it was measured and at most one operation in a hundred failed.
fn judge(trial: &mut Trial) {
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

/// What differs in a canary from the earlier ones, in a few words.
fn disturbed(earlier: &[Canary], canary: &Canary) -> Option<String> {
    Canary::MEASUREMENTS.into_iter().find_map(|(name, seconds)| {
        let now = seconds(canary)?;
        let history: Vec<f64> = earlier.iter().filter_map(seconds).collect();
        bakeoff_stats::canary::is_off(&history, now)
            .then(|| format!("{name} takes {:.2} ms, unlike before", now * 1e3))
    })
}
