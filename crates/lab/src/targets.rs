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
pub(crate) use self::setup::describe_image;
pub use self::setup::{GroupLimit, GroupSetup, Setup, TargetHome, WantedLevels};
use crate::TrialError;
use crate::answers::ImageAnswers;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;
pub use crate::place::limits::SharedLimit;
use crate::process::MessageOutput;
use crate::refusal::Refusal;

pub trait Target: Send + Sync {
    fn name(&self) -> &'static str;

    fn workloads(&self) -> Vec<WorkloadNames>;

    /// Describes a workload for the user; `None` for a workload of another target.
    fn describe_workload(&self, workload: &str) -> Option<WorkloadDescription>;

    /// The experiment's question in a line; `None` if the compared factor says it.
    fn question(&self, experiment: &bakeoff_experiment::Experiment) -> Option<String> {
        let _ = experiment;
        None
    }

    /// Turns a trial's levels into what this target needs, once: no code below this parses a level
    /// again. Nothing is started to find out, and nothing falls back: a level that can't be had is
    /// refused here, so that the plan can say so before anything runs.
    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal>;

    fn read_subject(&self, json: &Value) -> Result<Box<dyn Subject>, TrialError>;
}

/// A trial's levels as the target understands them. It becomes JSON only for the job of the trial's
/// process.
pub trait Subject: Send + Sync {
    fn to_json(&self) -> Value;

    /// The rough size of its data, to estimate time and room for a run; `None` if unknown.
    fn size(&self) -> Option<DataSize> {
        None
    }

    /// The most clients that it takes; the plan refuses a cell with more. By default each client
    /// has a thread.
    fn most_clients(&self) -> MostClients {
        MostClients::THREADS
    }

    /// The least memory, in bytes, with which a group can open and serve the clients; `None` if
    /// unknown.
    fn least_memory(&self, group: &str, clients: usize) -> Option<u64> {
        let _ = (group, clients);
        None
    }

    /// The setting for the target's own cache under a memory limit (`None`: no limit); `None` if it
    /// has no cache or the size is unknown.
    fn cache_setting(&self, memory_bytes: Option<u64>) -> Option<AppliedSetting> {
        let _ = memory_bytes;
        None
    }

    /// A line for the reader of the plan. Without a memory limit (`None`) the memory is what the
    /// machine has free.
    fn plan_remark(&self, memory_bytes: Option<u64>, state: EngineState) -> Option<String> {
        let _ = (memory_bytes, state);
        None
    }

    fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError>;

    /// Tries what it needs of this machine or of an external server, before a run begins. `reuse`
    /// says whether tables that bakeoff made may be there.
    fn check_ready(&self, reuse: bool) -> Result<(), Vec<String>> {
        let _ = reuse;
        Ok(())
    }

    /// Whether a file, by its path in the place, is the log that commits wait for.
    fn is_log(&self, file: &Path) -> bool {
        let _ = file;
        false
    }

    /// Whether clients leave the files as they are and need nothing of them in the page cache. Then
    /// a trial on the machine's own disk works on the image, not on a copy.
    fn leaves_files(&self) -> bool {
        false
    }

    /// Whether a raw device can replace its files: [`TargetPlace::device`].
    fn fits_device(&self, device: &RawDevice) -> Result<(), String> {
        let _ = device;
        Err("this workload keeps its data in files: name a folder".into())
    }

    /// Whether its files can lie in this folder on the machine's own disk.
    fn fits_folder(&self, folder: &Path) -> Result<(), String> {
        let _ = folder;
        Ok(())
    }

    /// The load that clients in a closed loop put on the files; `None` if a layer lies between.
    fn device_load(&self, clients: usize) -> Option<ClientLoad> {
        let _ = clients;
        None
    }

    /// The bytes that clients leave in the page cache when they stop, on average; `None` if they
    /// write nothing through it.
    fn unsynced_writes(&self, clients: usize) -> Option<UnsyncedData> {
        let _ = clients;
        None
    }

    /// Whether the clients' questions can be asked of an image:
    /// [`PreparedTarget::collect_answers`].
    fn can_be_asked(&self) -> bool {
        false
    }

    /// The process of a server that somebody else runs on this machine: what it uses is no
    /// disturbance.
    fn find_local_server(&self) -> Option<u32> {
        None
    }

    /// Keeps other bakeoffs off an external server until the result is dropped.
    fn claim(&self) -> Result<DatabaseClaim, TrialError> {
        Ok(Box::new(()))
    }

    fn settings(&self, place: &TargetPlace) -> Vec<AppliedSetting> {
        let _ = place;
        Vec::new()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadDescription {
    pub summary: String,
    /// All operations that its clients may do at any level, in the order of the results.
    pub operations: Vec<Name>,
    pub figure_of_merit: FigureOfMerit,
    /// What its drivers count of each operation beside its time ([`bakeoff_load::OperationOutcome::work`]).
    pub counts: OperationCounts,
    pub scales: Vec<(Name, String)>,
    /// How its rows were made, if not by built-in rules.
    pub rows: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostClients {
    pub number: usize,
    /// Why no more, as a clause.
    pub why: &'static str,
}

impl MostClients {
    pub const THREADS: Self = Self {
        number: 1024,
        why: "each is a thread of this machine, and more would measure its scheduler",
    };

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSize {
    pub rows: u64,
    /// The part of it that is written again before it is measured, once or more.
    pub aged: u64,
    pub disk: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsyncedData {
    pub bytes: u64,
    pub files: u64,
}

/// A target at a trial's levels, ready to be loaded and opened.
pub trait PreparedTarget {
    /// Loads the data into an empty place and drains, so that the image owes nothing. `loaded` gets
    /// the rows and bytes so far.
    fn load(&self, place: &TargetPlace, loaded: &mut dyn FnMut(u64, u64))
    -> Result<(), TrialError>;

    /// Opens what is in a place, and recovers whatever a killed process or a power cut has left.
    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError>;

    /// The answers to one client's operations. With the same data and seed all targets must answer
    /// the same. The place is thrown away afterwards.
    fn collect_answers(&self, place: &TargetPlace, seed: u64) -> Result<ImageAnswers, TrialError> {
        let _ = (place, seed);
        Err(TrialError::User("it can't be asked".into()))
    }

    /// Serves pages in a process that [`PreparedTarget::open`] has started. Requests come as lines,
    /// answers go to `output`. Ends on a request to stop, or when no client is left.
    fn serve(
        &self,
        place: &TargetPlace,
        input: &mut dyn BufRead,
        output: &MessageOutput<'_>,
    ) -> Result<(), TrialError> {
        let _ = (place, input, output);
        Err(TrialError::User("it has no pages".into()))
    }

    /// How many operations had been acknowledged when the power went, by the clients' claims.
    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        let _ = (claims, off_at_ns);
        0
    }
}
