//! Records of trials and of the machine before them; times in seconds, sizes in bytes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::histogram;
use crate::measure::Measures;

pub type Levels = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The pass over all blocks, from 0.
    pub repetition: u32,
    /// From 0, unique over all repetitions.
    pub block: u32,
    /// From 0: a disturbed block is run again as a whole.
    pub attempt: u32,
    /// The position in the block, from 0.
    pub order: u32,
    pub levels: Levels,
    /// Since 1970.
    pub started_s: f64,
    /// Whether it takes part in comparisons.
    pub valid: bool,
    pub reason: Option<String>,
    /// `None` if it failed before.
    pub measured: Option<TrialMeasurements>,
}

/// Sent by the trial's process and stored as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialMeasurements {
    pub ran_s: f64,
    pub window_s: (f64, f64),
    pub operations: Vec<OperationRecord>,
    pub measures: Measures,
    pub debts: Debts,
    pub warnings: Vec<String>,
}

/// Times are from the clients' start; debts are read about once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Debts {
    /// Empty if nobody knows.
    pub owed: Vec<OwedSeries>,
    pub payments: Vec<PaymentSeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedSeries {
    /// In the engine's words: "dirty pages".
    pub name: String,
    /// `bytes`, `pages`, `rows`, `transactions` or `files`.
    pub unit: String,
    /// The amount at which the engine begins to pay at the latest.
    pub limit: Option<u64>,
    pub points: Vec<(f64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaymentSeries {
    /// In the singular: "checkpoint".
    pub name: String,
    /// When an end was seen, and how many since the last look.
    pub ended: Vec<(f64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    pub name: String,
    /// Operations that started in the window, in nanoseconds: latencies in a closed loop, response
    /// times in an open one. What was cut off has the time until then.
    #[serde(with = "histogram")]
    pub kept: Histogram<u64>,
    /// Cut off: the mean is then a lower bound.
    pub unfinished: u64,
    /// Operations that ended in the window without failing, over its length.
    pub per_second: f64,
    /// Service times; `None` in a closed loop.
    #[serde(with = "histogram::optional")]
    pub service: Option<Histogram<u64>>,
    /// In order: seconds, or what the window's edges leave of one.
    pub slots: Vec<SlotRecord>,
    pub errors: u64,
    /// After a conflict, over the whole trial.
    pub retries: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotRecord {
    /// From the clients' start.
    pub start_s: f64,
    pub end_s: f64,
    /// Operations that ended in it, in nanoseconds.
    #[serde(with = "histogram")]
    pub histogram: Histogram<u64>,
}

pub type Measurement = (&'static str, fn(&Canary) -> Option<f64>);

impl Canary {
    pub const MEASUREMENTS: [Measurement; 4] = [
        ("arithmetic", |canary| Some(canary.cpu_s)),
        ("copying in memory", |canary| Some(canary.memory_s)),
        ("a synced append", |canary| Some(canary.sync_s)),
        ("a random read", |canary| canary.read_s),
    ];
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    /// Since 1970.
    pub at_s: f64,
    /// A fixed amount of arithmetic.
    pub cpu_s: f64,
    /// A fixed amount of copying.
    pub memory_s: f64,
    /// Median of an append of 4 KiB with fdatasync.
    pub sync_s: f64,
    /// Median of a direct random read of 4 KiB; `None` if the folder can't be read so.
    pub read_s: Option<f64>,
    /// The disturbance; `None` for none. The run waits after such a reading, and goes on after the
    /// third.
    pub off: Option<String>,
}
