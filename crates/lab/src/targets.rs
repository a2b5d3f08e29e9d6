//! Targets: what the clients of a trial drive. A file each; the next one is a value in
//! [`Registry::standard`](crate::Registry::standard).
//!
//! A target knows what it opens and how its clients work. It must never know how it is staged,
//! paced, timed or judged.

pub mod folder;
pub mod page;
pub mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::BufRead;
use std::path::Path;

use bakeoff_devices::limit::Load;
use bakeoff_engines::{self as engines, Claim, Debt};
use bakeoff_experiment::{Cell, Cpus, Experiment, Factor, Memory, WorkloadNames};
use bakeoff_load::{Driver, Share};
use bakeoff_results::{AppliedSetting, Measures};
use bakeoff_workloads::{Claims, Counts, FigureOfMerit, Findings, Name};
use serde_json::Value;

use crate::TrialError;
use crate::answers::Told;
use crate::place::device::RawDevice;
use crate::place::group::Limit;
use crate::place::images::Recipe;
pub use crate::place::limits::Shared;
use crate::place::{Place, ProcessGroup};
use crate::process::Output;
use crate::refusal::Refusal;

/// A kind of thing that clients can drive.
pub trait Target: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The workloads that it runs, and the factors that each has.
    fn workloads(&self) -> Vec<WorkloadNames>;

    /// What a user should know of one of its workloads; `None` for a workload of another target.
    fn about(&self, workload: &str) -> Option<About>;

    /// Turns a trial's levels into what this target needs to know, once: below this nobody parses a
    /// level again. Nothing is started to find out, and nothing falls back: what can't be had is
    /// refused here, so that the plan can say so before anything runs.
    ///
    /// # Errors
    /// Levels that don't go together, or that can't be had on this machine.
    fn resolve(&self, wanted: &Wanted<'_>) -> Result<Setup, Refusal>;

    /// How large its data roughly are, for the time and the room that a run needs; `None` where
    /// nobody knows.
    fn size(&self, subject: &Value) -> Option<Size> {
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

    /// The cache that it keeps for itself where its memory is limited to so many bytes, as the setting that
    /// gives it; `None` where it keeps none, or nobody knows.
    fn cache(&self, subject: &Value, memory_bytes: u64) -> Option<AppliedSetting> {
        let _ = (subject, memory_bytes);
        None
    }

    /// What a reader of the plan should know of a subject before anything is measured, in a line, where its
    /// memory is limited to so many bytes or, with `None`, is all that the machine has free.
    fn remark(&self, subject: &Value, memory_bytes: Option<u64>) -> Option<String> {
        let _ = (subject, memory_bytes);
        None
    }

    /// Gets a subject ready that [`Target::resolve`] made, in the process that works with it.
    ///
    /// # Errors
    /// What keeps it from being ready.
    fn prepare(&self, subject: &Value) -> Result<Box<dyn Subject>, TrialError>;

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

    /// Whether a raw device can be in the place of its files: [`Place::device`].
    ///
    /// # Errors
    /// Why it can't, with what to change: a clause about the device.
    fn fits_device(&self, subject: &Value, device: &RawDevice) -> Result<(), String> {
        let _ = (subject, device);
        Err("this workload keeps its data in files: name a folder".into())
    }

    /// What so many of its clients in a closed loop ask files for; `None` where something is between them and
    /// the files.
    fn device_load(&self, subject: &Value, clients: usize) -> Option<Load> {
        let _ = (subject, clients);
        None
    }

    /// Whether an image of its data can be asked what its clients ask: [`Subject::answers`].
    fn can_be_asked(&self, subject: &Value) -> bool {
        let _ = subject;
        false
    }

    /// Keeps other bakeoffs off what somebody else runs, until what is returned is dropped.
    ///
    /// # Errors
    /// Who keeps this one off, or why nobody can be asked.
    fn claim(&self, subject: &Value) -> Result<Claim, TrialError> {
        let _ = subject;
        Ok(Box::new(()))
    }

    /// What its processes are opened with in a place, and that differs from their own defaults.
    fn settings(&self, subject: &Value, place: &Place) -> Vec<AppliedSetting> {
        let _ = (subject, place);
        Vec::new()
    }
}

/// What a user should know of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// One line on what it stands for.
    pub summary: String,
    /// What its clients may do, whatever the levels, in the order in which results have it.
    pub operations: Vec<Name>,
    /// What its readers speak of.
    pub figure_of_merit: FigureOfMerit,
    /// What its drivers count of each operation beside its time ([`bakeoff_load::Done::work`]).
    pub counts: Counts,
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
        let mut refusal = Refusal::of(cell, &factors, format!("at most {number}: {why}"));
        refusal.levels.insert(Factor::CLIENTS.name().into(), clients.to_string());
        Err(refusal)
    }
}

/// How large data are, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// What is loaded.
    pub rows: u64,
    /// What of it is written again before it is measured, once or more.
    pub aged: u64,
    /// What it takes on a disk.
    pub disk: u64,
}

/// The levels that a target is to resolve.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The levels.
    pub cell: &'a Cell,
    /// The workload: the experiment's, or the one that its power cuts are made with.
    pub workload: &'a str,
}

impl Wanted<'_> {
    /// What a target makes of them.
    ///
    /// # Errors
    /// The target's own refusal; two of its groups or shared limits have one name, so that nobody could
    /// say whose limit it is and who is charged; a shared limit is of a group that is not there, or has
    /// one already.
    pub fn resolve(&self, target: &dyn Target) -> Result<Setup, Refusal> {
        let setup = target.resolve(self)?;
        match setup.wrong_groups() {
            None => Ok(setup),
            Some(wrong) => {
                let why = format!("the target `{}` {wrong}", target.name());
                Err(Refusal { levels: BTreeMap::new(), why })
            }
        }
    }
}

/// What a target made of a trial's levels. Its `Debug` leaves the subject out, which may have a
/// password.
#[derive(Clone, PartialEq)]
pub struct Setup {
    /// The target's name.
    pub target: &'static str,
    /// What [`Target::prepare`] is given: the target's own.
    pub subject: Value,
    /// How its data come about.
    pub recipe: Recipe,
    /// The groups of processes that work for it, each of another name.
    pub groups: Vec<GroupSetup>,
    /// Limits that several of these share, each of a name that no group has.
    pub shared: Vec<Shared<GroupLimit>>,
    /// Where it does its work.
    pub home: Home,
}

/// Where a target does its work: what it costs to stage, and what can be done to it, go by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In files alone: nothing is opened but these, and nothing recovers them.
    Files,
    /// In a store in the trial's process.
    Embedded,
    /// In private servers, which are started for a trial and stopped with it. A server wants a folder
    /// beside its data for its socket and log.
    Server,
    /// In a server that somebody else runs: it has no files here, and nothing of it can be limited,
    /// restored, cut or killed. It is loaded anew for each trial.
    Elsewhere,
}

impl From<engines::Home> for Home {
    fn from(home: engines::Home) -> Self {
        match home {
            engines::Home::Process => Self::Embedded,
            engines::Home::Server => Self::Server,
            engines::Home::External => Self::Elsewhere,
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

impl Setup {
    /// Whether it has a private server.
    pub fn has_server(&self) -> bool {
        self.home == Home::Server
    }

    /// Whether somebody else runs it.
    pub fn is_elsewhere(&self) -> bool {
        self.home == Home::Elsewhere
    }

    /// What is wrong with its groups: what follows the name of its target.
    fn wrong_groups(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        if let Some(GroupSetup { name, .. }) = self.groups.iter().find(|it| !names.insert(it.name))
        {
            return Some(format!(
                "has two groups of processes named `{name}`: each needs a name of its own"
            ));
        }
        let groups = names.clone();
        let mut sharing: BTreeMap<&str, &str> = BTreeMap::new();
        for Shared { name, groups: of, .. } in &self.shared {
            if !names.insert(name) {
                return Some(format!(
                    "has a shared limit named `{name}` like another one or like a group of processes: \
                     each needs a name of its own"
                ));
            }
            if let Some(group) = of.iter().find(|group| !groups.contains(*group)) {
                let all: Vec<&str> = groups.into_iter().collect();
                return Some(format!(
                    "has the limit `{name}` shared by `{group}`, which is no group of it: name some of {}",
                    all.join(", ")
                ));
            }
            for group in of {
                if let Some(other) = sharing.insert(group, name) {
                    return Some(format!(
                        "has the group `{group}` share the limit `{other}` and the limit `{name}`: it \
                         can share one, once"
                    ));
                }
            }
        }
        None
    }

    /// A place over the files in `directory`, nothing of it limited. Each server has a folder of its
    /// own for what it keeps beside its data, which is to be made: `server`, and the group's name.
    pub fn place(&self, directory: &Path, server: &Path) -> Place {
        let group = |wanted: &GroupSetup| {
            let mut folder = server.as_os_str().to_owned();
            folder.push("-");
            folder.push(wanted.name);
            let runtime = wanted.has_server.then(|| folder.into());
            let files = wanted.files.map(|below| directory.join(below));
            (wanted.name.to_owned(), ProcessGroup { runtime, files, ..ProcessGroup::default() })
        };
        Place { groups: self.groups.iter().map(group).collect(), ..Place::folder(directory) }
    }

    /// A place on a raw device, nothing of it limited: no group has files or a server.
    pub fn on_device(&self, device: &RawDevice) -> Place {
        let group = |wanted: &GroupSetup| (wanted.name.to_owned(), ProcessGroup::default());
        let groups = self.groups.iter().map(group).collect();
        Place { groups, device: Some(device.clone()), ..Place::default() }
    }
}

/// A group of processes that a target wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    /// Its name, as `database`.
    pub name: &'static str,
    /// Whether it is a server, which wants a folder beside its data for its socket and log.
    pub has_server: bool,
    /// The files that are its own, as a folder below the place's: the whole where it is empty.
    pub files: Option<&'static str>,
    /// The most that it may have, by the trial's levels.
    pub limit: GroupLimit,
}

/// The most that a group may have, as levels say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// Of memory, its page cache included.
    pub memory: Memory,
    /// Of processors.
    pub cpus: Cpus,
}

impl GroupLimit {
    /// None.
    pub const NONE: Self = Self { memory: Memory::Unlimited, cpus: Cpus::Unlimited };

    /// With data of so many bytes.
    pub fn of(self, loaded: u64) -> Limit {
        let memory_bytes = match self.memory {
            Memory::Unlimited => None,
            Memory::Bytes(bytes) => Some(bytes),
            Memory::Share(percent) => Some(loaded * u64::from(percent) / 100),
        };
        Limit { memory_bytes, cpu_milli: self.cpus.milli() }
    }
}

impl Shared<GroupLimit> {
    /// With data of so many bytes.
    pub fn of(&self, loaded: u64) -> Shared<Limit> {
        let Self { name, groups, limit } = self;
        Shared { name, groups: groups.clone(), limit: limit.of(loaded) }
    }
}

/// A target at a trial's levels, ready to be loaded and opened.
pub trait Subject {
    /// Loads the data into an empty place and drains, so that the image owes nothing. `loaded` is
    /// told now and then, and at the end, of the rows so far and of their bytes.
    ///
    /// # Errors
    /// The target's own.
    fn load(&self, place: &Place, loaded: &mut dyn FnMut(u64, u64)) -> Result<(), TrialError>;

    /// Opens what is in a place, and recovers whatever a killed process or a power cut has left.
    ///
    /// # Errors
    /// The target's own.
    fn open<'a>(&'a self, place: &Place) -> Result<Box<dyn Running + 'a>, TrialError>;

    /// What one client's operations are answered in a place that is thrown away afterwards: the same by
    /// all that [`Target::can_be_asked`] with the same data, unless one of them is wrong. What the client
    /// does follows from the seed.
    ///
    /// # Errors
    /// The target's own where it can't be asked at all; what fails later is an answer.
    fn answers(&self, place: &Place, seed: u64) -> Result<Told, TrialError> {
        let _ = (place, seed);
        Err(TrialError::User("it can't be asked".into()))
    }

    /// Serves its pages in a place, in a process that [`Subject::open`] has started for it in another one.
    /// What that one asks comes in lines, and what it is told goes to `output`. It ends when it is told to
    /// stop, or when nobody is there to ask.
    ///
    /// # Errors
    /// The target's own; the user's where it has no pages.
    fn serve(
        &self,
        place: &Place,
        input: &mut dyn BufRead,
        output: &Output<'_>,
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

/// A target that is open. Dropping it closes it cleanly; nothing of it runs on after that.
pub trait Running: Sync {
    /// The names of the operations that its clients run at the trial's levels, in the order of
    /// [`About::operations`]. The window waits for each of them; a driver's kinds are numbers into these.
    fn operations(&self) -> &[Name];

    /// How many drivers so many clients take: each has a thread.
    fn drivers(&self, clients: usize) -> usize {
        clients
    }

    /// How many operations of so many clients can be in flight at once.
    fn concurrency(&self, clients: usize) -> usize {
        clients
    }

    /// Files that a client has open, so that too many clients are refused before they start.
    ///
    /// # Errors
    /// The target's own.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(1)
    }

    /// Makes the driver of a share of the clients, on the thread that is going to run it. Where
    /// `claims` are wanted, it tells them what it sent and what was acknowledged.
    ///
    /// # Errors
    /// The target's own.
    fn driver<'a>(
        &'a self,
        share: &Share,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError>;

    /// What does one operation after the other of the work that conditions it, which makes it no larger,
    /// as one of so many clients: see [`bakeoff_workloads::Prepared::conditioner`].
    ///
    /// # Errors
    /// The target's own; the user's where it can't be conditioned.
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<Conditioner<'_>, TrialError> {
        let _ = (number, clients, seed);
        Err(TrialError::User("it can't be preconditioned".into()))
    }

    /// What it owes as of now; `None` where nobody knows. It is asked while clients are at work.
    ///
    /// # Errors
    /// The target's own.
    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        Ok(None)
    }

    /// Fills its caches as far as they go, as after days of work.
    ///
    /// # Errors
    /// The target's own.
    fn warm(&self) -> Result<(), TrialError>;

    /// Does everything that it has put off.
    ///
    /// # Errors
    /// The target's own.
    fn drain(&self) -> Result<(), TrialError>;

    /// What is wrong with what it holds, in sentences: by its own check, and by what its workload's data
    /// must fulfil whatever its clients did; `None` where nobody can look. Nobody else uses it meanwhile.
    ///
    /// # Errors
    /// The target's own where it can't be checked at all.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        Ok(None)
    }

    /// Its groups of processes by their names.
    fn groups(&self) -> Vec<(&'static str, Processes)>;

    /// What it counts of itself, as of now.
    fn counters(&self) -> Measures {
        Measures::default()
    }

    /// The names of those of its counters that grow when it writes back what it had put off; empty
    /// where it puts nothing off, or does not count it.
    fn writes_back(&self) -> &'static [&'static str] {
        &[]
    }

    /// The names of those of its counters that grow when it does not find something in its own cache;
    /// empty where it has none, or does not count it.
    fn cache_misses(&self) -> &'static [&'static str] {
        &[]
    }

    /// What clients did on the whole that have stopped since the last call: a call empties the tally.
    /// `None` for work without transactions that runs on no thread but the target's own.
    fn tally(&self) -> Option<Tally> {
        None
    }

    /// The part of their time, 0 to 1, in which its drivers did not wait, neither for it nor for a start to be
    /// due: of those that have ended since the last call. `None` where nobody counts.
    fn take_busy(&self) -> Option<f64> {
        None
    }

    /// Holds what is there against what clients claimed; nobody else uses it meanwhile.
    ///
    /// # Errors
    /// The target's own where something can't be read; the user's where it can't audit itself.
    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let _ = (claims, off_at_ns);
        Err(TrialError::User("it can't audit itself".into()))
    }
}

/// Does one operation each time that it is called; how many writing transactions it committed.
pub type Conditioner<'a> = Box<dyn FnMut() -> Result<u64, TrialError> + 'a>;

/// What the processes of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// The trial's own, on the threads of its drivers and on threads of its own.
    Own,
    /// A process with all its descendants.
    Family(u32),
    /// A process with all its descendants, but for one of these with all of its own.
    Without {
        /// The process.
        root: u32,
        /// The one that is another group's.
        apart: u32,
    },
}

/// What clients did on the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Transactions that changed something and were committed.
    pub commits: u64,
    /// Bytes that these wrote, as the application sees them.
    pub bytes: u64,
    /// Bytes of the rows that clients were returned, as they see them; `None` where nobody counts.
    pub returned: Option<u64>,
    /// The part of the drivers' processor time that was spent in the target's code, where that runs
    /// on their threads.
    pub inside: f64,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// What the target's own check found wrong, in words.
    pub faults: Vec<String>,
    /// Which claims were broken.
    pub findings: Findings,
}
