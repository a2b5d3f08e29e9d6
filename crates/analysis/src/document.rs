//! The documented JSON of a run: plain figures, no histograms. Times in seconds, sizes in bytes.
//!
//! `docs/results.schema.json` describes it; a change that readers could trip over raises
//! [`SCHEMA`].

use std::collections::BTreeMap;

use bakeoff_results::{Canary, Cut, CutPlan, Levels, OperationSummary, RunState, TrialSummary};
use serde::{Deserialize, Serialize};

pub use crate::comparison::{Comparison, RatioIs, Verdict};
use crate::condition::ConditionView;
use crate::cost::{CostView, Cpu};
use crate::debt::DebtView;
use crate::flush::FlushTurn;
use crate::groups::{GroupView, ProcessView};
use crate::limits::LimitView;
use crate::machines::MachinesView;
use crate::open_loop::OpenLoopView;
use crate::over_time::OverTime;
use crate::priced::PricedView;
use crate::promises::{BrokenPromise, PromiseView};
use crate::published::PublishedView;
use crate::series::TrialSeries;
use crate::space::SpaceView;
use crate::state::{RestartView, SteadyView};
use crate::sweep::Sweep;
use crate::total::CellTotal;
use crate::unreached::Unreached;
use crate::warning::Warning;
use crate::work::WorkView;

/// The version of the document's form.
pub const SCHEMA: u32 = 5;

/// The JSON Schema (2020-12) of the document.
pub const JSON_SCHEMA: &str = include_str!("../../../docs/results.schema.json");

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run, and on what.
    pub run: RunState,
    /// Every trial that ended, in the order in which they ran.
    pub trials: Vec<TrialSummary>,
    /// How each of the trials went, slot by slot, in their order: empty until it is asked for
    /// ([`Document::take_series`]), and in no JSON.
    #[serde(skip)]
    pub series: Vec<TrialSeries>,
    /// What the valid trials of each cell have in common, in the order of the plan's factors.
    pub cells: Vec<CellView>,
    /// The compared factor's levels against the baseline, paired inside blocks.
    pub comparisons: Vec<Comparison>,
    /// Its other levels against each other: each with those that come after it in the plan.
    #[serde(default)]
    pub between: Vec<Comparison>,
    /// The same for a level entered twice: what is measured where there is no difference.
    pub noise: Vec<Comparison>,
    /// How the compared factor's levels stand over a numeric factor; `None` where no factor is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// The searches for the highest rate that keeps a limit; empty in a run that makes none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitView>,
    /// What each machine found, and whether they agree; `None` where the run was not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<MachinesView>,
    /// How far each condition came, in a run that goes on until it is decided; empty in any other.
    #[serde(default)]
    pub conditions: Vec<ConditionView>,
    /// The machine alone, before each block.
    pub canaries: Vec<Canary>,
    /// Every power cut, in the order in which they were made.
    #[serde(default)]
    pub cuts: Vec<Cut>,
    /// What they come to, for each engine and level of durability.
    #[serde(default)]
    pub promises: Vec<PromiseView>,
    /// What power cuts of other runs found, where a report was asked to take them
    /// ([`Document::take_cuts`]).
    #[serde(default)]
    pub other_cuts: Vec<OtherCuts>,
    /// What other runs found of the levels that this one compares, where a report was asked to take them
    /// ([`Document::take_application`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationView>,
    /// What somebody else measured beside what was measured here; `None` where the experiment has
    /// nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedView>,
    /// Where the order of the compared levels would turn with the time of a flush; empty where no simulated
    /// disk has such a constant, and with several clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flush_turns: Vec<FlushTurn>,
    /// Limits that were set and not reached, of which the run says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
    /// What a reader should know of the run as a whole, the worst first.
    pub warnings: Vec<Warning>,
}

/// What the valid trials of a cell have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellView {
    /// The cell.
    pub levels: Levels,
    /// How many trials back it.
    pub trials: u32,
    /// Operations: `mean_s` is the geometric mean of the trials' means, the rate the mean of their
    /// rates, quantiles are the medians of theirs, the longest is that of any, counts are sums.
    ///
    /// The geometric mean, so that the ratio of two cells is the ratio of their pairs where both
    /// have trials in the same blocks: exp(mean of ln a) / exp(mean of ln b) = exp(mean of ln a/b).
    pub operations: Vec<OperationSummary>,
    /// What all operations together come to a second; `None` where it is not known.
    #[serde(default)]
    pub total: Option<CellTotal>,
    /// Median size on disk; `None` where the files are somebody else's.
    pub space_bytes: Option<u64>,
    /// The size on disk beside that of the rows; `None` where one of them is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceView>,
    /// Mean processor seconds a trial.
    pub cpu_s: Cpu,
    /// What its trials were after a restart; `None` where they did not begin with one.
    #[serde(default)]
    pub restart: Option<RestartView>,
    /// How steady its trials were; `None` where they were not to be.
    #[serde(default)]
    pub steady: Option<SteadyView>,
    /// What was left to write back when the clients stopped; `None` where it is not known.
    #[serde(default)]
    pub debt: Option<DebtView>,
    /// What a commit costs by the model of the disk; `None` where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced: Option<PricedView>,
    /// How one of the trials went over time; `None` where it was too short to say something.
    #[serde(default)]
    pub over_time: Option<OverTime>,
    /// The part of the clients' time that bakeoff's own code used a processor for: it is inside every
    /// latency. `None` for an open loop, and where it was not counted.
    #[serde(default)]
    pub harness_share: Option<f64>,
    /// Mean requests a second of the neighbours.
    pub neighbour_per_second: f64,
    /// What was offered, all trials together; `None` for a closed loop.
    pub open_loop: Option<OpenLoopView>,
    /// What the clients' work cost, all trials together; `None` where it was not counted.
    pub cost: Option<CostView>,
    /// What each row of the work took, or each operation; `None` where neither rows were counted nor a
    /// device is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkView>,
    /// The part of the bytes that clients read from files that came from a disk and not from the page cache;
    /// `None` for an engine, and where nothing was read or nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_disk: Option<f64>,
    /// The part of the bytes that clients wrote to files that had reached a disk when they stopped, and not the
    /// page cache alone; on the machine's own disk at most so much. `None` for an engine, and where nothing
    /// was written or nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_disk: Option<f64>,
    /// What each group of processes used, and what it was held to, by their names: the engine's own,
    /// `database`, among them. Empty where nobody could look into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupView>,
    /// Whose processes used how much processor time for an operation, where several groups of processes
    /// worked for the clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessView>,
    /// How it broke the promise of its level of durability; `None` where nothing shows that it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_promise: Option<BrokenPromise>,
    /// What the target counted of itself while the clients ran, all trials together.
    pub counters: BTreeMap<String, u64>,
}

/// What another run found of levels that this one compares, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationView {
    /// The other run's folder, as it was named.
    pub folder: String,
    /// Its workload.
    pub workload: String,
    /// The factors that varied there beside the compared one, in their order.
    pub varying: Vec<String>,
    /// The compared factor's levels that both runs have against the baseline of both.
    pub comparisons: Vec<Comparison>,
    /// What differs between the runs beside their workloads.
    pub differences: Vec<String>,
}

/// What another run's power cuts found of an engine at a level that this run has, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherCuts {
    /// The other run's folder, as it was named.
    pub folder: String,
    /// How its cuts were planned.
    pub plan: Option<CutPlan>,
    /// What was found.
    pub promise: PromiseView,
    /// The cuts, in the order in which they were made.
    pub cuts: Vec<Cut>,
    /// What is not the same in the two runs and has no part in what is promised, in words.
    pub differences: Vec<String>,
}

/// The latest attempt at each block.
pub struct Attempts(BTreeMap<u32, u32>);

impl Attempts {
    /// Of these trials' blocks.
    pub fn from_trials<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>) -> Self {
        let mut latest = BTreeMap::new();
        for trial in trials {
            let attempt = latest.entry(trial.block).or_insert(trial.attempt);
            *attempt = trial.attempt.max(*attempt);
        }
        Self(latest)
    }

    /// Whether a trial was set aside: it doesn't count, but its block was run again later. That is
    /// no failure.
    pub fn set_aside(&self, trial: &TrialSummary) -> bool {
        !trial.valid && !self.is_latest(trial)
    }

    /// Whether a trial belongs to the latest attempt at its block.
    pub(crate) fn is_latest(&self, trial: &TrialSummary) -> bool {
        self.0.get(&trial.block) == Some(&trial.attempt)
    }
}
