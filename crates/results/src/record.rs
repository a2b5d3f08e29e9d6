//! What is recorded of each trial, and of the machine before it; times in seconds, sizes in bytes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::histogram;
use crate::measure::Measures;

/// A level of each factor, by the factors' names.
pub type Levels = BTreeMap<String, String>;

/// A trial that ended, well or not.
#[derive(Clone, Debug, PartialEq)]
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
    pub measured: Option<TrialMeasurements>,
}

/// What a trial measured. The trial's process sends this value, and the run folder stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialMeasurements {
    /// How long the clients ran.
    pub ran_s: f64,
    /// Where the window that the headline figures are taken from starts and ends.
    pub window_s: (f64, f64),
    /// One entry an operation, in the workload's order.
    pub operations: Vec<OperationRecord>,
    /// Everything else that was measured.
    pub measures: Measures,
    /// What the target owed over time, and when it paid.
    pub debts: Debts,
    /// What a reader of the figures should know, in sentences.
    pub warnings: Vec<String>,
}

/// What a target owed over a trial, and when it paid. Times are in seconds from the start of the
/// clients; it is looked at about once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Debts {
    /// One entry for each thing that was put off; empty where nobody knows.
    pub owed: Vec<OwedSeries>,
    /// One entry for each kind of payment.
    pub payments: Vec<PaymentSeries>,
}

/// How much of one thing was put off, over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedSeries {
    /// What it is, in the engine's own term: "dirty pages".
    pub name: String,
    /// What it is counted in: `bytes`, `pages`, `rows`, `transactions` or `files`.
    pub unit: String,
    /// Where the engine begins to pay at the latest, where there is such a limit.
    pub limit: Option<u64>,
    /// When, and how much, in order.
    pub points: Vec<(f64, u64)>,
}

/// When a kind of payment ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaymentSeries {
    /// What it is, in the singular: "checkpoint".
    pub name: String,
    /// When it was seen to have ended, and how many had since the look before, in order.
    pub ended: Vec<(f64, u64)>,
}

/// What happened to one operation of the workload in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Its name.
    pub name: String,
    /// Those that started in the window, in nanoseconds: latencies in a closed loop; in an open one
    /// response times, which count from the moment at which an operation was due. One that was
    /// still running when the trial was cut off is here with the time it had taken by then.
    #[serde(with = "histogram")]
    pub kept: Histogram<u64>,
    /// How many of these were still running then: where there is one, the mean is a lower bound.
    pub unfinished: u64,
    /// Operations a second: those that ended in the window and did not fail, over its length.
    pub per_second: f64,
    /// In an open loop the same of service times, which count from the moment at
    /// which an operation started, in nanoseconds; `None` in a closed loop, where both are one.
    #[serde(with = "histogram::optional")]
    pub service: Option<Histogram<u64>>,
    /// Each slot of the trial, in order: a second, or what the window's edges leave of one.
    pub slots: Vec<SlotRecord>,
    /// Operations that ended in an error, over the whole trial.
    pub errors: u64,
    /// Transactions that were run again after a conflict, over the whole trial.
    pub retries: u64,
}

/// One operation's latencies, or response times, in a piece of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotRecord {
    /// Where it starts, in seconds from the start of the clients.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// Those of the operations that ended in it, in nanoseconds.
    #[serde(with = "histogram")]
    pub histogram: Histogram<u64>,
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
