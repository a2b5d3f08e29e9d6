//! Procedures: what is done to a target in a place. Each has a half in the lab and one in the
//! trial's process ([`ProcedureTask`](crate::process::job::ProcedureTask)). The lab's half removes
//! what it leaves before it returns.
//!
//! A procedure knows targets, places and processes by their contracts alone.

pub mod cut;
pub mod drive;
pub mod inside;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_disk::mount::Launcher;
use bakeoff_engines::DatabaseClaim;
use bakeoff_experiment::{Factor, without_alias};
use bakeoff_results::Applied;

use crate::error::with_context;
use crate::place::device::RawDevice;
use crate::place::disk::HostNeighbours;
use crate::place::images::{Images, LoadedImage};
use crate::place::{self, TargetPlace};
use crate::process::ChildProgram;
use crate::process::job::{Message, ProcessJob, Task};
use crate::process::{ChildProcess, ReceiveOutcome};
use crate::spec::TrialSpec;
use crate::targets::Setup;
use crate::watch::{RunEvent, RunObserver};
use crate::{MachineError, TrialError};

pub use inside::ChildContext;

pub(crate) const PATIENCE: Duration = Duration::from_millis(50);
/// The longest silence of a load, and the most time that a trial takes beside its clients' work.
pub(crate) const GRACE: Duration = Duration::from_secs(300);

pub struct ProcedureContext<'a> {
    pub program: &'a ChildProgram,
    pub launcher: &'a Launcher,
    pub work: &'a Path,
    /// In the run folder; made when a program writes something.
    pub programs_log: PathBuf,
    /// Its contents are the only image, so the image folder stays empty.
    pub device: Option<&'a RawDevice>,
    pub images: Images,
    pub hired: Option<HostNeighbours>,
    /// Whether a database that somebody else runs may hold tables that bakeoff made.
    pub reuse: bool,
    /// The databases that somebody else runs in which this run has made tables.
    pub filled: std::collections::BTreeSet<String>,
    /// Keeps other bakeoffs off these databases until the run ends.
    pub claims: std::collections::BTreeMap<String, DatabaseClaim>,
    pub applied: Vec<Applied>,
    pub stop: &'a AtomicBool,
    pub watch: &'a mut dyn RunObserver,
}

impl ProcedureContext<'_> {
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn go_on(&self) -> Result<(), MachineError> {
        if self.stopped() { Err(MachineError::Interrupted) } else { Ok(()) }
    }

    /// A place for a target: over the files in `directory` or, where there is one, on the raw device.
    pub fn make_place(&self, setup: &Setup, directory: &Path) -> TargetPlace {
        let place = match self.device {
            None => setup.make_place(directory, &self.work.join("server")),
            Some(device) => setup.on_device(device),
        };
        TargetPlace { programs_log: Some(self.programs_log.clone()), ..place }
    }

    pub fn claim(&mut self, setup: &Setup) -> Result<(), TrialError> {
        if !self.claims.contains_key(&setup.recipe.into) {
            let claim = setup.subject.claim()?;
            self.claims.insert(setup.recipe.into.clone(), claim);
        }
        Ok(())
    }

    pub fn loaded_image(&mut self, setup: &Setup) -> Result<LoadedImage, TrialError> {
        if let Some(known) = self.images.get(&setup.recipe) {
            return known.clone().map_err(not_loaded);
        }
        let folder = self.work.join(format!("image-{}", self.images.len()));
        with_context("the image folder", fs::create_dir(&folder))?;
        let unfinished = folder.clone();
        let place = self.make_place(setup, &folder);
        let servers = place.make_folders()?;
        let loaded = self.load_data(setup, place);
        place::remove_folders(&servers)?;
        let image = loaded.and_then(|loaded_bytes| LoadedImage::new(folder, loaded_bytes));
        let image = self.unless_full(image);
        if image.is_err() {
            with_context("removing what was loaded", place::remove_folder(&unfinished))?;
        }
        if let Err(error) = &image
            && error.stops_the_run()
        {
            return Err(error.clone());
        }
        self.images.insert(setup.recipe.clone(), image.clone());
        image.map_err(not_loaded)
    }

    /// Loads in a new process. Returns the bytes of the rows.
    pub fn load_data(&mut self, setup: &Setup, place: TargetPlace) -> Result<u64, TrialError> {
        let start = Instant::now();
        self.watch.on_event(RunEvent::Loading { data: &setup.recipe, rows: 0 });
        let loaded = self.load_unseen(setup, place);
        let seconds = start.elapsed().as_secs_f64();
        tracing::debug!(what = setup.recipe.about, seconds, ?loaded, "loaded");
        let failure = loaded.as_ref().err().map(ToString::to_string);
        // An interrupted load has not failed. For a web page nothing is loaded.
        let is_told = match loaded {
            Ok(bytes) => bytes > 0,
            Err(_) => !self.stopped(),
        };
        if is_told {
            let (data, failure) = (&setup.recipe, failure.as_deref());
            self.watch.on_event(RunEvent::Loaded { data, seconds, failure });
        }
        loaded
    }

    fn load_unseen(&mut self, setup: &Setup, place: TargetPlace) -> Result<u64, TrialError> {
        let process = self.start_process(setup, place, Task::Load)?;
        let (mut heard, mut loaded) = (Instant::now(), 0);
        loop {
            if heard.elapsed() > GRACE {
                let seconds = GRACE.as_secs();
                return Err(TrialError::process_error(format!(
                    "loading made no progress for {seconds} s"
                )));
            }
            self.go_on()?;
            match process.receive(PATIENCE) {
                ReceiveOutcome::Message(Message::Loaded { rows, bytes }) => {
                    (heard, loaded) = (Instant::now(), bytes);
                    if setup.is_elsewhere() {
                        self.filled.insert(setup.recipe.into.clone());
                    }
                    self.watch.on_event(RunEvent::Loading { data: &setup.recipe, rows });
                }
                ReceiveOutcome::Message(Message::Done(_)) => return Ok(loaded),
                ReceiveOutcome::Message(Message::Failed(reason)) => return Err(reason),
                ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {}
                ReceiveOutcome::End => {
                    return Err(TrialError::process_error(process.exit_report()));
                }
            }
        }
    }

    pub fn note_settings(&mut self, trial: &TrialSpec, place: &TargetPlace) {
        let level = |factor: Factor| {
            trial.levels.get(factor.name()).map_or("", |level| without_alias(level)).to_owned()
        };
        self.applied.push(Applied {
            engine: level(Factor::ENGINE),
            durability: level(Factor::DURABILITY),
            memory: level(Factor::MEMORY),
            options: trial.options.clone(),
            settings: trial.setup.subject.settings(place),
        });
    }

    pub fn start_process(
        &self,
        setup: &Setup,
        place: TargetPlace,
        task: Task,
    ) -> Result<ChildProcess, MachineError> {
        let (target, subject) = (setup.target.to_owned(), setup.subject.to_json());
        let job = ProcessJob { target, subject, place, task };
        with_context("a trial's process", ChildProcess::start(self.program, &job))
    }

    /// A full disk is no fault of what is tested: say that instead.
    pub fn unless_full<T>(&self, answer: Result<T, TrialError>) -> Result<T, TrialError> {
        if answer.is_err() && !self.stopped() {
            place::ensure_room(self.work, place::RESERVE)?;
        }
        answer
    }
}

fn not_loaded(error: TrialError) -> TrialError {
    error.map_text(|why| format!("its data can't be loaded: {why}"))
}
