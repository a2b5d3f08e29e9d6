//! What is recorded of a run and of each of its trials; times in seconds, sizes in bytes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::cost::Cost;
use crate::power_cut::CutPlan;

/// A level of each factor, by the factors' names.
pub type Levels = BTreeMap<String, String>;

/// The engine that stores nothing and promises nothing: it measures the harness.
pub const HARNESS: &str = "null";

/// A trial that ended, well or not.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which pass over all blocks, from 0.
    pub repetition: u32,
    /// Which block of the plan, from 0: unique over all repetitions.
    pub block: u32,
    /// Which attempt at the block, from 0: a block that was disturbed is run again as a whole.
    pub attempt: u32,
    /// Its place in the block, from 0.
    pub order: u32,
    /// The cell.
    pub levels: Levels,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// Whether it counts in comparisons.
    pub valid: bool,
    /// Why not.
    pub reason: Option<String>,
    /// What was measured; `None` when it failed before there was anything.
    pub measured: Option<Measured>,
}

/// What a trial measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How long the clients ran.
    pub ran_s: f64,
    /// Where the window that the headline figures are taken from starts and ends.
    pub window_s: (f64, f64),
    /// One entry an operation, in the workload's order.
    pub operations: Vec<Operation>,
    /// Everything else.
    pub facts: Facts,
}

/// What happened to one operation of the workload in a trial.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// What fell into the window.
    pub kept: Histogram<u64>,
    /// Each slot of the trial, in order: a second, or what the window's edges leave of one.
    pub slots: Vec<Slot>,
    /// Operations that ended in an error, over the whole trial.
    pub errors: u64,
    /// Transactions that were run again after a conflict, over the whole trial.
    pub retries: u64,
}

/// One operation's latencies in a piece of a trial, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Where it starts, in seconds from the start of the clients.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// The latencies of the operations that ended in it, in nanoseconds.
    pub histogram: Histogram<u64>,
}

/// What a trial measured besides latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Bytes on disk after a drain; `None` where the files are somebody else's.
    pub space_bytes: Option<u64>,
    /// Processor seconds while the clients ran.
    pub cpu_s: Cpu,
    /// Input and output while the clients ran, and in the drain after them.
    pub io: Io,
    /// What the other load on the disk did.
    pub neighbour: Neighbour,
    /// What the virtual disk did; `None` on the machine's own.
    #[serde(default)]
    pub disk: Option<Disk>,
    /// What the limit of the engine's memory held; `None` where it was not limited.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// Sum of latencies over window times clients: near 1 when the books balance.
    pub littles_law: f64,
    /// Whether the throughput had settled: no slope of over 10 % of the mean in the window. `None`
    /// when the window has fewer than ten full seconds, too few to tell.
    pub steady: Option<bool>,
    /// What the clients' work cost; `None` where an older bakeoff did not count it.
    #[serde(default)]
    pub cost: Option<Cost>,
    /// What the engine counted of itself while the clients ran.
    pub counters: BTreeMap<String, u64>,
    /// What a reader of the figures should know, in sentences.
    pub warnings: Vec<String>,
}

/// Processor seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// What bakeoff's own clients used.
    pub client: f64,
    /// What the engine used: its calls and its own threads or processes.
    pub engine: f64,
}

/// Bytes in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io {
    /// Bytes that the engine's process asked to read, from the page cache or the disk.
    pub read_call_bytes: u64,
    /// Bytes that it asked to write.
    pub write_call_bytes: u64,
    /// Bytes that the kernel fetched from storage for it.
    pub read_bytes: u64,
    /// Bytes that it sent, or will send, to storage.
    pub write_bytes: u64,
    /// Bytes written during the drain, as `write_bytes`.
    pub drain_write_bytes: u64,
    /// Bytes written to the whole device during the drain, by anybody.
    pub drain_device_write_bytes: Option<u64>,
    /// Bytes read from the whole device under the folder, by anybody.
    pub device_read_bytes: Option<u64>,
    /// Bytes written to the whole device, by anybody.
    pub device_write_bytes: Option<u64>,
}

/// What the neighbours did while the clients ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Requests a second that were intended; `None` for closed streams, which go as fast as they
    /// can.
    pub intended_per_second: Option<f64>,
    /// Requests a second that were done.
    pub achieved_per_second: f64,
    /// Mean latency of a request, in seconds.
    pub mean_s: f64,
}

/// What a virtual disk did while the clients ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Writes that the engine made to its files.
    pub host_writes: u64,
    /// Bytes of these.
    pub host_write_bytes: u64,
    /// Reads that reached the device, without the neighbours'.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Writes that reached the device, the file system's journal among them, without the
    /// neighbours'.
    pub writes: u64,
    /// Bytes of these.
    pub write_bytes: u64,
    /// Bytes that were written to the device during the drain, as `write_bytes`; `None` where an
    /// older bakeoff did not count them.
    #[serde(default)]
    pub drain_write_bytes: Option<u64>,
    /// Calls that made files of the engine's lasting, and its writes that did so by themselves;
    /// `None` where an older bakeoff did not count them.
    #[serde(default)]
    pub syncs: Option<u64>,
    /// Flushes of the device.
    pub flushes: u64,
    /// The share of the time that the device was busy, the neighbours' requests among it.
    pub utilisation: f64,
    /// Mean time that the file system's answers took by the model, in seconds; `None` when none
    /// had to wait for the device.
    pub modelled_mean_s: Option<f64>,
    /// Mean time that they took in fact.
    pub achieved_mean_s: Option<f64>,
    /// Median of |achieved - modelled| / modelled over the answers that took a millisecond or more
    /// by the model; `None` when none did.
    pub error_median: Option<f64>,
    /// Its 99th percentile.
    pub error_p99: Option<f64>,
}

/// The memory that an engine had, its page cache included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The limit, in bytes.
    pub limit_bytes: u64,
    /// The most that was in use at once, the page cache among it; `None` where the kernel does not
    /// tell (before Linux 5.19, by cgroup v2).
    pub peak_bytes: Option<u64>,
    /// Bytes of files in the page cache when the clients stopped.
    pub cached_bytes: u64,
}

/// One of the canary's measurements: its name, and its seconds where it was made.
pub type Measurement = (&'static str, fn(&Canary) -> Option<f64>);

impl Canary {
    /// Each measurement, by name.
    pub const MEASUREMENTS: [Measurement; 4] = [
        ("arithmetic", |canary| Some(canary.cpu_s)),
        ("copying in memory", |canary| Some(canary.memory_s)),
        ("a synced append", |canary| Some(canary.sync_s)),
        ("a random read", |canary| canary.read_s),
    ];
}

/// A short measurement of the machine alone, before a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    /// When, in seconds since 1970.
    pub at_s: f64,
    /// Seconds for a fixed amount of arithmetic.
    pub cpu_s: f64,
    /// Seconds for a fixed amount of copying.
    pub memory_s: f64,
    /// Median seconds of an append of 4 KiB and its fdatasync.
    pub sync_s: f64,
    /// Median seconds of a direct random read of 4 KiB; `None` where the folder can't be read so.
    pub read_s: Option<f64>,
    /// What was off against the readings before it; `None` when nothing was. The run waits a little
    /// after such a reading, and goes on after the third.
    pub off: Option<String>,
}

/// What the run was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system's name and version.
    pub system: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many processors this process may use.
    pub processors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The type of the file system under the run folder.
    pub file_system: String,
    /// The device under the run folder.
    pub device: String,
}

/// What is known of a run before its first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The experiment's name.
    pub name: String,
    /// One line on what it asks.
    pub title: String,
    /// The workload's name.
    pub workload: String,
    /// The operations of the workload, in its order.
    pub operations: Vec<String>,
    /// The compared factor.
    pub compare: String,
    /// The compared factor's level that the others are held against.
    pub baseline: String,
    /// The levels of each factor, in the order in which they were given.
    pub factors: Vec<(String, Vec<String>)>,
    /// Seconds that the clients of a trial run.
    pub seconds: f64,
    /// How often each block is repeated.
    pub repetitions: u32,
    /// The seed of everything that is random.
    pub seed: u64,
    /// How many trials are planned.
    pub planned: u32,
    /// The command that repeats the run.
    pub command: String,
    /// bakeoff's version.
    pub version: String,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// The machine.
    pub machine: Machine,
    /// Each engine of the run: its name, version and settings a durability level.
    pub engines: Vec<EngineFact>,
    /// What timing and recording an operation costs bakeoff on this machine, in seconds of
    /// processor time; measured when the run begins.
    pub harness_s: f64,
    /// Requests a second that one neighbour stream reached alone, where it was measured.
    pub neighbour_alone_per_second: Option<f64>,
    /// Where the workload's text comes from.
    pub text: String,
    /// What engines were opened with, under the terms of each trial that ran: noted as they are.
    #[serde(default)]
    pub applied: Vec<Applied>,
    /// The power cuts that are planned, if any.
    #[serde(default)]
    pub cuts: Option<CutPlan>,
}

impl Run {
    /// The level of the plan that `level` of `factor` is an alias of, entered as `sqlite@again`.
    pub fn alias<'a>(&self, factor: &str, level: &'a str) -> Option<&'a str> {
        let (base, _) = level.rsplit_once('@')?;
        let (_, levels) = self.factors.iter().find(|(name, _)| name == factor)?;
        levels.iter().any(|known| known == base).then_some(base)
    }
}

/// The settings that an engine was opened with under some terms, and that differ from its own
/// defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The engine's name.
    pub engine: String,
    /// The durability level.
    pub durability: String,
    /// The memory level.
    pub memory: String,
    /// The settings.
    pub settings: Vec<Setting>,
}

/// A setting that differs from an engine's own default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, as the engine's users write it.
    pub name: String,
    /// Its value, as they write it.
    pub value: String,
    /// Why it differs; `None` for one of the user's own, from the experiment.
    pub reason: Option<String>,
}

/// What a report says of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFact {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Durability level and the settings that give it.
    pub settings: Vec<(String, String)>,
}
