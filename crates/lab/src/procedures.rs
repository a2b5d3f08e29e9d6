//! Procedures: what is done to a target in a place. A folder each, with both halves: what the lab does,
//! and what the trial's process does inside ([`Inside`]); and a place in the list of `child`. What the lab does
//! is a function that is called where it is asked for, and that removes what it leaves before it returns:
//! [`drive::in_turn`] measures trials, [`cut::ClientRun::cut`] cuts the power.
//!
//! A procedure knows targets, places and processes by their contracts alone, and nothing of what
//! becomes of what it returns.

pub mod cut;
pub mod drive;
pub mod inside;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_disk::mount::Launcher;
use bakeoff_engines::DatabaseClaim;
use bakeoff_experiment::{Factor, base};
use bakeoff_results::Applied;

use crate::error::wanting;
use crate::place::device::RawDevice;
use crate::place::disk::Hired;
use crate::place::images::{Images, LoadedImage};
use crate::place::{self, TargetPlace};
use crate::process::ChildProgram;
use crate::process::job::{Message, ProcessJob, Task};
use crate::process::{ChildProcess, Received};
use crate::spec::TrialSpec;
use crate::targets::Setup;
use crate::watch::{RunEvent, RunObserver};
use crate::{MachineError, Registry, TrialError};

use inside::told;
pub use inside::{Inside, Within};

/// How often it is looked whether to stop.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);
/// How long a load may say nothing, and how much longer than its clients a trial may take, to
/// recover and to drain.
pub(crate) const GRACE: Duration = Duration::from_secs(300);

/// What procedures work with.
pub struct ProcedureContext<'a> {
    /// What is registered.
    pub registry: &'a Registry,
    /// What is started for each trial: see [`crate::child`].
    pub program: &'a ChildProgram,
    /// What is started for each virtual disk.
    pub launcher: &'a Launcher,
    /// A folder for intermediate files.
    pub work: &'a Path,
    /// The raw device that is in the place of all files, held by who runs this. Its contents are the only image:
    /// the folder of that stays empty.
    pub device: Option<&'a RawDevice>,
    /// The images that were loaded.
    pub images: Images,
    /// The neighbours on the machine's own disk, if any trial wants them.
    pub hired: Option<Hired>,
    /// Whether a database that somebody else runs may hold tables of bakeoff's own making.
    pub reuse: bool,
    /// The databases elsewhere that were filled, by their recipes' targets.
    pub filled: std::collections::BTreeSet<String>,
    /// What keeps other bakeoffs off those that this one uses, likewise; held until the run ends.
    pub claims: std::collections::BTreeMap<String, DatabaseClaim>,
    /// What targets were opened with since somebody took this away.
    pub applied: Vec<Applied>,
    /// Set by somebody else when it is to stop.
    pub stop: &'a AtomicBool,
    /// Who is told.
    pub watch: &'a mut dyn RunObserver,
}

impl ProcedureContext<'_> {
    /// Whether it is to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails when it is to stop.
    ///
    /// # Errors
    /// [`MachineError::Interrupted`].
    pub fn go_on(&self) -> Result<(), MachineError> {
        if self.stopped() { Err(MachineError::Interrupted) } else { Ok(()) }
    }

    /// A place for a target: over the files in `directory` or, where there is one, on the raw device.
    pub fn place(&self, setup: &Setup, directory: &Path) -> TargetPlace {
        match self.device {
            None => setup.place(directory, &self.work.join("server")),
            Some(device) => setup.on_device(device),
        }
    }

    /// Keeps other bakeoffs off a target that somebody else runs, until the run ends.
    ///
    /// # Errors
    /// Why that can't be.
    pub fn claim(&mut self, setup: &Setup) -> Result<(), TrialError> {
        if !self.claims.contains_key(&setup.recipe.into) {
            let target = self.registry.target(setup.target).expect("the one that resolved it");
            let claim = target.claim(&setup.subject)?;
            self.claims.insert(setup.recipe.into.clone(), claim);
        }
        Ok(())
    }

    /// The image of a target's data, loaded once.
    ///
    /// # Errors
    /// Why it can't be had.
    pub fn image(&mut self, setup: &Setup) -> Result<LoadedImage, TrialError> {
        if let Some(known) = self.images.get(&setup.recipe) {
            let known = known.clone();
            return known.map_err(|e| e.because(|why| format!("its data can't be loaded: {why}")));
        }
        let folder = self.images.folder(self.work)?;
        let unfinished = folder.clone();
        let place = self.place(setup, &folder);
        let servers = place.make_folders()?;
        let loaded = self.load(setup, place);
        for server in servers {
            wanting("removing the server's folder", place::remove(&server))?;
        }
        let image = loaded.and_then(|loaded_bytes| LoadedImage::new(folder, loaded_bytes));
        let image = self.unless_full(image);
        if image.is_err() {
            wanting("removing what was loaded", place::remove(&unfinished))?;
        }
        if let Err(error) = &image
            && error.stops_the_run()
        {
            return Err(error.clone());
        }
        self.images.put(&setup.recipe, image.clone());
        image.map_err(|e| e.because(|why| format!("its data can't be loaded: {why}")))
    }

    /// Loads a target's data in a process of its own, and tells of it; how many bytes of rows they
    /// were.
    ///
    /// # Errors
    /// Why they can't be loaded.
    pub fn load(&mut self, setup: &Setup, place: TargetPlace) -> Result<u64, TrialError> {
        let start = Instant::now();
        self.watch.event(RunEvent::Loading { data: &setup.recipe, rows: 0 });
        let loaded = self.load_unseen(setup, place);
        let seconds = start.elapsed().as_secs_f64();
        tracing::debug!(what = setup.recipe.about, seconds, ?loaded, "loaded");
        let failure = loaded.as_ref().err().map(ToString::to_string);
        // A load that was interrupted has not failed; and of a page of somebody else's nothing is loaded.
        let is_told = match loaded {
            Ok(bytes) => bytes > 0,
            Err(_) => !self.stopped(),
        };
        if is_told {
            let (data, failure) = (&setup.recipe, failure.as_deref());
            self.watch.event(RunEvent::Loaded { data, seconds, failure });
        }
        loaded
    }

    fn load_unseen(&mut self, setup: &Setup, place: TargetPlace) -> Result<u64, TrialError> {
        let process = self.start(setup, place, Task::Load)?;
        let (mut heard, mut loaded) = (Instant::now(), 0);
        loop {
            if heard.elapsed() > GRACE {
                let seconds = GRACE.as_secs();
                return Err(TrialError::process(format!(
                    "loading made no progress for {seconds} s"
                )));
            }
            self.go_on()?;
            match process.receive(PATIENCE) {
                Received::Message(Message::Loaded { rows, bytes }) => {
                    (heard, loaded) = (Instant::now(), bytes);
                    self.watch.event(RunEvent::Loading { data: &setup.recipe, rows });
                }
                Received::Message(Message::Done(_)) => return Ok(loaded),
                Received::Message(Message::Failed(reason)) => return Err(reason),
                Received::Message(_) | Received::Nothing => {}
                Received::End => return Err(TrialError::process(process.exit_report())),
            }
        }
    }

    /// Notes for the report what a target is opened with.
    pub fn note_settings(&mut self, trial: &TrialSpec, place: &TargetPlace) {
        let Some(target) = self.registry.target(trial.setup.target) else { return };
        let level = |factor: Factor| {
            trial.levels.get(factor.name()).map_or("", |level| base(level)).to_owned()
        };
        self.applied.push(Applied {
            engine: level(Factor::ENGINE),
            durability: level(Factor::DURABILITY),
            memory: level(Factor::MEMORY),
            options: trial.options.clone(),
            settings: target.settings(&trial.setup.subject, place),
        });
    }

    /// Starts a process on a task.
    ///
    /// # Errors
    /// [`MachineError::System`] when none can be started.
    pub fn start(
        &self,
        setup: &Setup,
        place: TargetPlace,
        task: Task,
    ) -> Result<ChildProcess, MachineError> {
        let (target, subject) = (setup.target.to_owned(), setup.subject.clone());
        let job = ProcessJob { target, subject, place, task };
        wanting("a trial's process", ChildProcess::start(self.program, &job))
    }

    /// What came of something, unless that failed because the disk is full: that is no fault of
    /// what is tested.
    ///
    /// # Errors
    /// What failed, or [`MachineError::Full`] in its place.
    pub fn unless_full<T>(&self, answer: Result<T, TrialError>) -> Result<T, TrialError> {
        if answer.is_err() && !self.stopped() {
            place::room(self.work, place::RESERVE)?;
        }
        answer
    }
}
