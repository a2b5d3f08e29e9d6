//! What the lab and a trial's process say to each other: one line of JSON a message.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bakeoff_engines::{Durability, Terms};
use bakeoff_results as results;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The data that a process works on: what is loaded once and then restored for each trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Data {
    /// The engine's name.
    pub engine: String,
    /// The workload's name.
    pub workload: String,
    /// The workload's scale.
    pub scale: String,
    /// The seed of its rows and clients.
    pub seed: u64,
    /// A file to take text from; generated when there is none.
    pub text: Option<PathBuf>,
}

/// Where an engine is opened, and the terms that the lab has set for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Staging {
    /// Where the database is, or is to be.
    pub directory: PathBuf,
    /// Where a server keeps its socket, log and configuration.
    pub runtime: Option<PathBuf>,
    /// Bytes of memory that the engine has, its page cache included, where they are limited.
    pub memory_bytes: Option<u64>,
    /// The control groups that the engine's processes belong into, given by their `cgroup.procs`: a
    /// private server's, else the trial's own.
    pub groups: Vec<PathBuf>,
    /// Settings of the user's own, by name.
    pub settings: Vec<(String, String)>,
    /// The URL, with its password, of a database that somebody else runs. Not to be shown.
    pub url: Option<String>,
}

impl Staging {
    /// The terms that an engine is opened under.
    pub fn terms(&self, durability: Durability) -> Terms {
        Terms {
            durability,
            memory_bytes: self.memory_bytes,
            settings: self.settings.clone(),
            runtime: self.runtime.clone(),
            groups: self.groups.clone(),
        }
    }
}

/// What a process is to do: the first line that it reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// Load the data into an empty folder, and drain.
    Load {
        /// What is loaded.
        data: Data,
        /// Where, and under which terms.
        staging: Staging,
        /// The durability level's name: none, but where the server's owner has chosen it.
        durability: String,
    },
    /// Join the control groups and read the folder, so that the page cache holds what it has room
    /// for.
    Warm {
        /// The folder and the groups; the rest is of no matter.
        staging: Staging,
    },
    /// Open the folder, say [`Message::Ready`], wait for [`GO`], and run the clients.
    Trial {
        /// What was loaded.
        data: Data,
        /// Where, and under which terms.
        staging: Staging,
        /// The durability level's name.
        durability: String,
        /// How many clients run at once.
        clients: usize,
        /// How long they run.
        seconds: f64,
    },
    /// Open the folder, say [`Message::Ready`], wait for [`GO`], and run the ledger's clients until
    /// the engine fails.
    Ledger {
        /// What was loaded: of the workload `ledger`.
        data: Data,
        /// Where, and under which terms.
        staging: Staging,
        /// The durability level's name.
        durability: String,
        /// How many clients run at once.
        clients: usize,
        /// The empty folder that they note in what they sent and what was acknowledged.
        log: PathBuf,
    },
    /// Open what a power cut has left, and hold it against the log.
    Audit {
        /// What was loaded.
        data: Data,
        /// Where the crash image is, and under which terms.
        staging: Staging,
        /// The durability level's name.
        durability: String,
        /// What the clients noted.
        log: PathBuf,
        /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`.
        off_at_ns: u64,
    },
}

/// The second line that a trial's process reads.
pub const GO: &str = "go";

/// What a process says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// So many rows are loaded; said now and then, and of all of them.
    Loaded {
        /// Rows so far.
        rows: u64,
        /// Bytes of them: a text's own, eight of a number, none of a null.
        bytes: u64,
    },
    /// The engine is open and the clients can start; or, before an audit, it can be opened.
    Ready,
    /// A client of the ledger has stopped.
    Stopped {
        /// When, in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// Why.
        reason: String,
    },
    /// What a crash image held.
    Judged(results::Verdict),
    /// The clients are running.
    Progress {
        /// Operations a second, lately.
        per_second: f64,
        /// Mean latency in seconds, lately.
        mean_s: f64,
    },
    /// The clients have stopped; draining comes next.
    Driven,
    /// The job is done. Nothing for a load, or for reading.
    Done(Option<Box<Measured>>),
    /// The job can't be done, and why.
    Failed(String),
}

/// What a trial's process measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// How long the clients ran, in seconds.
    pub ran_s: f64,
    /// Where the headline window starts and ends, in seconds.
    pub window_s: (f64, f64),
    /// One entry an operation, in the workload's order.
    pub operations: Vec<Operation>,
    /// Bytes on disk after the drain.
    pub space_bytes: Option<u64>,
    /// Processor seconds while the clients ran.
    pub cpu_s: results::Cpu,
    /// Input and output of the process.
    pub io: results::Io,
    /// Seconds that `io` was counted for, but for the drain.
    pub counted_s: f64,
    /// What the clients' work cost, by what the machine's own kernel knows. Of the device's bytes,
    /// those of the engine's processes.
    pub cost: results::Cost,
    /// Sum of latencies over window times clients.
    pub littles_law: f64,
    /// Whether the throughput had settled; `None` when the window is too short to tell.
    pub steady: Option<bool>,
    /// What the engine counted of itself while the clients ran.
    pub counters: BTreeMap<String, u64>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// What happened to one operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// What fell into the window.
    pub kept: Counts,
    /// Each slot: where it starts and ends, and what ended in it.
    pub slots: Vec<(f64, f64, Counts)>,
    /// Operations that ended in an error.
    pub errors: u64,
    /// Transactions that were run again.
    pub retries: u64,
}

/// A histogram as pairs of value and count.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts(Vec<(u64, u64)>);

impl Counts {
    /// The pairs of a histogram.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let pairs = histogram.iter_recorded();
        Self(pairs.map(|step| (step.value_iterated_to(), step.count_at_value())).collect())
    }

    /// The histogram of these pairs, with the precision that results are kept in.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("3 digits are a valid precision");
        for (value, count) in &self.0 {
            histogram.record_n(*value, *count).expect("an auto-resizing histogram takes any value");
        }
        histogram
    }
}

impl From<Operation> for results::Operation {
    fn from(operation: Operation) -> Self {
        let slot = |(start_s, end_s, counts): &(f64, f64, Counts)| results::Slot {
            start_s: *start_s,
            end_s: *end_s,
            histogram: counts.histogram(),
        };
        Self {
            kept: operation.kept.histogram(),
            slots: operation.slots.iter().map(slot).collect(),
            name: operation.name,
            errors: operation.errors,
            retries: operation.retries,
        }
    }
}
