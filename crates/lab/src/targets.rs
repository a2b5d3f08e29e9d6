//! Targets: what the clients of a trial drive. A file each; the next one is a value in
//! [`Registry::standard`](crate::Registry::standard).
//!
//! A target knows what it opens and how its clients work. It must never know how it is staged,
//! paced, timed or judged.

pub mod folder;
pub mod page;
mod running;
mod setup;
pub mod tables;

use std::io::BufRead;
use std::path::Path;

use bakeoff_devices::limit::ClientLoad;
use bakeoff_engines::DatabaseClaim;
use bakeoff_experiment::{Cell, EngineState, Factor, WorkloadNames};
use bakeoff_results::AppliedSetting;
use bakeoff_workloads::{FigureOfMerit, Name, OperationCounts};
use serde_json::Value;

pub use self::running::{Audit, ClientTally, ConditioningStep, Processes, RunningTarget};
pub use self::setup::{GroupLimit, GroupSetup, Setup, TargetHome, WantedLevels};
use crate::TrialError;
use crate::answers::ImageAnswers;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;
pub use crate::place::limits::SharedLimit;
use crate::process::MessageOutput;
use crate::refusal::Refusal;

/// A kind of thing that clients can drive.
pub trait Target: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The workloads that it runs, and the factors that each has.
    fn workloads(&self) -> Vec<WorkloadNames>;

    /// What a user should know of one of its workloads; `None` for a workload of another target.
    fn about(&self, workload: &str) -> Option<WorkloadDescription>;

    /// What an experiment on one of its workloads asks, by its levels, in a line; `None` where the factor that it
    /// compares says it.
    fn question(&self, experiment: &bakeoff_experiment::Experiment) -> Option<String> {
        let _ = experiment;
        None
    }

    /// Turns a trial's levels into what this target needs to know, once: below this nobody parses a
    /// level again. Nothing is started to find out, and nothing falls back: what can't be had is
    /// refused here, so that the plan can say so before anything runs.
    ///
    /// # Errors
    /// Levels that don't go together, or that can't be had on this machine.
    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal>;

    /// How large its data roughly are, for the time and the room that a run needs; `None` where
    /// nobody knows.
    fn size(&self, subject: &Value) -> Option<DataSize> {
        let _ = subject;
        None
    }

    /// The most clients that a subject takes: a cell of more is refused in the plan. By itself each has a
    /// thread.
    fn most_clients(&self, subject: &Value) -> MostClients {
        let _ = subject;
        MostClients::THREADS
    }

    /// The fewest bytes that the memory of one of its groups may be limited to, so that it can be opened
    /// and serves so many clients; `None` where nobody knows.
    fn least_memory(&self, subject: &Value, group: &str, clients: usize) -> Option<u64> {
        let _ = (subject, group, clients);
        None
    }

    /// The cache that it keeps for itself where its memory is limited to so many bytes, or not at all, as the
    /// setting that gives it; `None` where it keeps none, or nobody knows.
    fn cache(&self, subject: &Value, memory_bytes: Option<u64>) -> Option<AppliedSetting> {
        let _ = (subject, memory_bytes);
        None
    }

    /// What a reader of the plan should know of a subject before anything is measured, in a line, where its
    /// memory is limited to so many bytes or, with `None`, is all that the machine has free, and its caches begin
    /// in this state.
    fn remark(
        &self,
        subject: &Value,
        memory_bytes: Option<u64>,
        state: EngineState,
    ) -> Option<String> {
        let _ = (subject, memory_bytes, state);
        None
    }

    /// Gets a subject ready that [`Target::resolve`] made, in the process that works with it.
    ///
    /// # Errors
    /// What keeps it from being ready.
    fn prepare(&self, subject: &Value) -> Result<Box<dyn PreparedTarget>, TrialError>;

    /// Tries what a subject needs of this machine or of somebody else's server, before a run begins.
    /// `reuse` says whether tables of bakeoff's own making may be there.
    ///
    /// # Errors
    /// All that keeps it from being used, each with what to do.
    fn ready(&self, subject: &Value, reuse: bool) -> Result<(), Vec<String>> {
        let _ = (subject, reuse);
        Ok(())
    }

    /// Whether a file, by its path in the place, is what its commits wait for: its log.
    fn is_log(&self, subject: &Value, file: &Path) -> bool {
        let _ = (subject, file);
        false
    }

    /// Whether its clients leave its files as they are, and look for nothing of them in the page cache: then a
    /// trial on the machine's own disk works on the image itself, and not on a copy.
    fn leaves_files(&self, subject: &Value) -> bool {
        let _ = subject;
        false
    }

    /// Whether a raw device can be in the place of its files: [`TargetPlace::device`].
    ///
    /// # Errors
    /// Why it can't, with what to change: a clause about the device.
    fn fits_device(&self, subject: &Value, device: &RawDevice) -> Result<(), String> {
        let _ = (subject, device);
        Err("this workload keeps its data in files: name a folder".into())
    }

    /// Whether its files can lie in this folder on the machine's own disk.
    ///
    /// # Errors
    /// Why they can't, with what to change: a clause about the folder.
    fn fits_folder(&self, subject: &Value, folder: &Path) -> Result<(), String> {
        let _ = (subject, folder);
        Ok(())
    }

    /// What so many of its clients in a closed loop ask files for; `None` where something is between them and
    /// the files.
    fn device_load(&self, subject: &Value, clients: usize) -> Option<ClientLoad> {
        let _ = (subject, clients);
        None
    }

    /// What so many of its clients leave in the page cache when they stop, on average; `None` where they write
    /// nothing through it, and where something is between them and the files.
    fn unsynced(&self, subject: &Value, clients: usize) -> Option<Unsynced> {
        let _ = (subject, clients);
        None
    }

    /// Whether an image of its data can be asked what its clients ask: [`PreparedTarget::answers`].
    fn can_be_asked(&self, subject: &Value) -> bool {
        let _ = subject;
        false
    }

    /// Keeps other bakeoffs off what somebody else runs, until what is returned is dropped.
    ///
    /// # Errors
    /// Who keeps this one off, or why nobody can be asked.
    fn claim(&self, subject: &Value) -> Result<DatabaseClaim, TrialError> {
        let _ = subject;
        Ok(Box::new(()))
    }

    /// What its processes are opened with in a place, and that differs from their own defaults.
    fn settings(&self, subject: &Value, place: &TargetPlace) -> Vec<AppliedSetting> {
        let _ = (subject, place);
        Vec::new()
    }
}

/// What a user should know of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadDescription {
    /// One line on what it stands for.
    pub summary: String,
    /// What its clients may do, whatever the levels, in the order in which results have it.
    pub operations: Vec<Name>,
    /// What its readers speak of.
    pub figure_of_merit: FigureOfMerit,
    /// What its drivers count of each operation beside its time ([`bakeoff_load::OperationOutcome::work`]).
    pub counts: OperationCounts,
    /// Its scales from small to large, each with what it holds.
    pub scales: Vec<(Name, String)>,
}

/// The most clients that something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostClients {
    /// How many.
    pub number: usize,
    /// Why no more: a clause.
    pub why: &'static str,
}

impl MostClients {
    /// Where each client has a thread.
    pub const THREADS: Self = Self {
        number: 1024,
        why: "each is a thread of this machine, and more would measure its scheduler",
    };

    /// Refuses a cell with more of them.
    ///
    /// # Errors
    /// The number of clients.
    pub(crate) fn check(self, cell: &Cell, clients: usize) -> Result<(), Refusal> {
        let Self { number, why } = self;
        if clients <= number {
            return Ok(());
        }
        let factors = [Factor::ENGINE, Factor::CLIENTS];
        let mut refusal = Refusal::from_cell(cell, &factors, format!("at most {number}: {why}"));
        refusal.levels.insert(Factor::CLIENTS.name().into(), clients.to_string());
        Err(refusal)
    }
}

/// How large data are, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSize {
    /// What is loaded.
    pub rows: u64,
    /// What of it is written again before it is measured, once or more.
    pub aged: u64,
    /// What it takes on a disk.
    pub disk: u64,
}

/// What clients have written to files and not yet synced when they stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsynced {
    /// How many bytes.
    pub bytes: u64,
    /// How many files they are spread over.
    pub files: u64,
}

/// A target at a trial's levels, ready to be loaded and opened.
pub trait PreparedTarget {
    /// Loads the data into an empty place and drains, so that the image owes nothing. `loaded` is
    /// told now and then, and at the end, of the rows so far and of their bytes.
    ///
    /// # Errors
    /// The target's own.
    fn load(&self, place: &TargetPlace, loaded: &mut dyn FnMut(u64, u64))
    -> Result<(), TrialError>;

    /// Opens what is in a place, and recovers whatever a killed process or a power cut has left.
    ///
    /// # Errors
    /// The target's own.
    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError>;

    /// What one client's operations are answered in a place that is thrown away afterwards: the same by
    /// all that [`Target::can_be_asked`] with the same data, unless one of them is wrong. What the client
    /// does follows from the seed.
    ///
    /// # Errors
    /// The target's own where it can't be asked at all; what fails later is an answer.
    fn answers(&self, place: &TargetPlace, seed: u64) -> Result<ImageAnswers, TrialError> {
        let _ = (place, seed);
        Err(TrialError::User("it can't be asked".into()))
    }

    /// Serves its pages in a place, in a process that [`PreparedTarget::open`] has started for it in another one.
    /// What that one asks comes in lines, and what it is told goes to `output`. It ends when it is told to
    /// stop, or when nobody is there to ask.
    ///
    /// # Errors
    /// The target's own; the user's where it has no pages.
    fn serve(
        &self,
        place: &TargetPlace,
        input: &mut dyn BufRead,
        output: &MessageOutput<'_>,
    ) -> Result<(), TrialError> {
        let _ = (place, input, output);
        Err(TrialError::User("it has no pages".into()))
    }

    /// How many operations had been acknowledged when the power went, by what its clients claimed.
    fn acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        let _ = (claims, off_at_ns);
        0
    }
}
