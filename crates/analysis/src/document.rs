//! The documented JSON of a run: plain figures, no histograms. Times are in seconds, sizes in
//! bytes.
//!
//! `docs/results.schema.json` describes it; a change that could break readers raises [`SCHEMA`].

use std::collections::BTreeMap;

use bakeoff_results::{Canary, Cut, CutPlan, Levels, OperationSummary, RunState, TrialSummary};
use serde::{Deserialize, Serialize};

pub use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::condition::ConditionView;
use crate::cost::{CostView, Cpu};
use crate::debt::DebtView;
use crate::flush::FlushTurn;
use crate::groups::{GroupView, ProcessView};
use crate::idle::IdleComparison;
use crate::limits::LimitView;
use crate::machines::MachinesView;
use crate::open_loop::OpenLoopView;
use crate::over_time::OverTime;
use crate::price::PricedView;
use crate::promises::{BrokenPromise, PromiseView};
use crate::published::PublishedView;
use crate::series::TrialSeries;
use crate::space::SpaceView;
use crate::starting_state::{RestartView, SteadyView};
use crate::sweep::Sweep;
use crate::total::CellTotal;
use crate::unreached::UnreachedLimit;
use crate::warning::Warning;
use crate::work::WorkView;

pub const SCHEMA: u32 = 5;

pub const JSON_SCHEMA: &str = include_str!("../../../docs/results.schema.json");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema: u32,
    pub run: RunState,
    pub trials: Vec<TrialSummary>,
    /// The course of each trial, slot by slot: empty until [`Document::take_series`], and in no
    /// JSON.
    #[serde(skip)]
    pub series: Vec<TrialSeries>,
    pub cells: Vec<CellView>,
    pub comparisons: Vec<Comparison>,
    /// The other levels against each other: each with those after it in the plan.
    #[serde(default)]
    pub between: Vec<Comparison>,
    /// All pairs of levels by the p99 of each operation: where each of their trials has 1,000 of it.
    #[serde(default)]
    pub tails: Vec<Comparison>,
    /// A level against its alias: measures the difference of equal things.
    pub noise: Vec<Comparison>,
    /// Pairs of levels of which at least one stood still in two trials or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<IdleComparison>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitView>,
    /// `None` where the run was not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<MachinesView>,
    #[serde(default)]
    pub conditions: Vec<ConditionView>,
    pub canaries: Vec<Canary>,
    #[serde(default)]
    pub cuts: Vec<Cut>,
    #[serde(default)]
    pub promises: Vec<PromiseView>,
    /// Power cuts of other runs, from [`Document::take_cuts`].
    #[serde(default)]
    pub other_cuts: Vec<OtherCuts>,
    /// Findings of other runs about the compared levels, from [`Document::take_application`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedView>,
    /// Where the order of the levels would turn with the time of a flush; empty where no simulated
    /// disk has such a constant, and with several clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flush_turns: Vec<FlushTurn>,
    /// Limits that were set and not reached: the run can't judge them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<UnreachedLimit>,
    /// Worst first.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellView {
    pub levels: Levels,
    pub trials: u32,
    /// `mean_s` is the geometric mean of the trials' means, the rate is the mean of their rates,
    /// quantiles are the medians of theirs, the longest is that of any, counts are sums.
    ///
    /// With the geometric mean the ratio of two cells equals the ratio of their pairs, where both
    /// have trials in the same blocks: exp(mean of ln a) / exp(mean of ln b) = exp(mean of ln a/b).
    pub operations: Vec<OperationSummary>,
    #[serde(default)]
    pub total: Option<CellTotal>,
    /// The median; `None` for files of an external server.
    pub space_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceView>,
    pub cpu_s: Cpu,
    #[serde(default)]
    pub restart: Option<RestartView>,
    #[serde(default)]
    pub steady: Option<SteadyView>,
    #[serde(default)]
    pub debt: Option<DebtView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced: Option<PricedView>,
    #[serde(default)]
    pub over_time: Option<OverTime>,
    /// The share of the clients' time in which bakeoff's own code used a processor: it is inside
    /// every latency.
    #[serde(default)]
    pub harness_share: Option<f64>,
    pub neighbour_per_second: f64,
    pub open_loop: Option<OpenLoopView>,
    pub cost: Option<CostView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkView>,
    /// The share of the bytes read from files that came from a disk and not from the page cache;
    /// `None` for an engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_disk: Option<f64>,
    /// The share of the bytes written to files that had reached a disk when the clients stopped; on
    /// the machine's own disk an upper bound. `None` for an engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_disk: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupView>,
    /// Processor time for an operation, where several groups of processes worked for the clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_promise: Option<BrokenPromise>,
    pub counters: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationView {
    pub folder: String,
    pub workload: String,
    pub varying: Vec<String>,
    pub comparisons: Vec<Comparison>,
    pub differences: Vec<String>,
}

/// Power cuts of another run, of an engine and level that this run has, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherCuts {
    pub folder: String,
    pub plan: Option<CutPlan>,
    pub promise: PromiseView,
    pub cuts: Vec<Cut>,
    /// Differences between the runs that don't matter for the promise.
    pub differences: Vec<String>,
}
