//! The documented JSON of a run: plain figures, no histograms. Times in seconds, sizes in bytes.
//!
//! `docs/results.schema.json` describes it; a change that readers could trip over raises
//! [`SCHEMA`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::cost::CostView;
use crate::cuts::{self, PromiseView};
use crate::others::OtherCuts;
use crate::power_cut::Cut;
use crate::record::{Canary, Cpu, Facts, Levels, Run};
use crate::store::RunFolder;
use crate::{Result, cells, compare, warnings};

/// The version of the document's form.
pub const SCHEMA: u32 = 1;

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
    pub trials: Vec<TrialView>,
    /// What the valid trials of each cell have in common, in the order of the plan's factors.
    pub cells: Vec<CellView>,
    /// The compared factor's levels against the baseline, paired inside blocks.
    pub comparisons: Vec<Comparison>,
    /// The same for a level entered twice: what is measured where there is no difference.
    pub noise: Vec<Comparison>,
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
    /// What a reader should know of the run as a whole, in sentences.
    pub warnings: Vec<String>,
}

/// The run, and how far it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// What was known before the first trial.
    #[serde(flatten)]
    pub run: Run,
    /// How it ended.
    pub status: Status,
    /// When it ended, in seconds since 1970; `None` while it is running, and when it was killed.
    pub ended_s: Option<f64>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is running, or was killed.
    Unfinished,
    /// It was asked to stop.
    Interrupted,
    /// All planned trials have ended.
    Finished,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialView {
    /// Which pass over all blocks, from 0.
    pub repetition: u32,
    /// Which block, from 0.
    pub block: u32,
    /// Which attempt at the block, from 0.
    pub attempt: u32,
    /// Its place in the block, from 0.
    pub order: u32,
    /// The cell.
    pub levels: Levels,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// Figures of each operation; empty for a trial that failed.
    pub operations: Vec<OperationView>,
    /// Size on disk after the drain.
    pub space_bytes: Option<u64>,
    /// Processor seconds.
    pub cpu_s: Option<Cpu>,
    /// Everything else that was measured: input and output, the neighbour, the engine's counters.
    ///
    /// In the JSON of a trial that failed the fields are there and `null`; the counters and the
    /// warnings are empty.
    #[serde(flatten, serialize_with = "with_nulls")]
    pub facts: Option<FactsView>,
    /// Whether it counts in comparisons.
    pub valid: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// The rest of a trial's facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactsView {
    /// Input and output.
    pub io: crate::record::Io,
    /// The other load on the disk.
    pub neighbour: crate::record::Neighbour,
    /// The virtual disk; `None` on the machine's own.
    pub disk: Option<crate::record::Disk>,
    /// What the limit of the engine's memory held; `None` where it was not limited.
    pub memory: Option<crate::record::Memory>,
    /// What the clients' work cost; `None` where it was not counted.
    pub cost: Option<CostView>,
    /// Sum of latencies over window times clients.
    pub littles_law: f64,
    /// Whether the throughput had settled; `None` when the window is too short to tell.
    pub steady: Option<bool>,
    /// What the engine counted of itself while the clients ran.
    pub counters: BTreeMap<String, u64>,
    /// What a reader of the trial should know.
    pub warnings: Vec<String>,
}

/// One operation's figures, from the window of a trial or of all of a cell's trials.
///
/// A quantile q is there only when N (1 - q) >= 100 operations back it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationView {
    /// Its name.
    pub name: String,
    /// How many ended in the window.
    pub count: u64,
    /// Mean latency, over a trial's operations; in a cell the geometric mean of its trials' means.
    /// `None` when there is none.
    pub mean_s: Option<f64>,
    /// Median latency.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// 99.9th percentile.
    pub p999_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// The mean over the whole trial, nothing dropped; `None` for a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrimmed_mean_s: Option<f64>,
    /// Operations a second in the window.
    pub per_second: f64,
    /// Operations that ended in an error.
    pub errors: u64,
    /// Transactions that were run again after a conflict.
    pub retries: u64,
}

/// What the valid trials of a cell have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellView {
    /// The cell.
    pub levels: Levels,
    /// How many trials back it.
    pub trials: u32,
    /// Operations: `mean_s` is the geometric mean of the trials' means, the rate the mean of their
    /// rates, quantiles come from the merged histograms, counts are sums.
    ///
    /// The geometric mean, so that the ratio of two cells is the ratio of their pairs where both
    /// have trials in the same blocks: exp(mean of ln a) / exp(mean of ln b) = exp(mean of ln a/b).
    pub operations: Vec<OperationView>,
    /// Median size on disk; `None` where the files are somebody else's.
    pub space_bytes: Option<u64>,
    /// Mean processor seconds a trial.
    pub cpu_s: Cpu,
    /// Mean requests a second of the neighbours.
    pub neighbour_per_second: f64,
    /// What the clients' work cost, all trials together; `None` where it was not counted.
    pub cost: Option<CostView>,
    /// What the engine counted of itself while the clients ran, all trials together.
    pub counters: BTreeMap<String, u64>,
}

/// Two levels of the compared factor against each other, all other levels equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The operation.
    pub operation: String,
    /// What is compared.
    pub metric: String,
    /// The compared factor.
    pub factor: String,
    /// The other factors' levels.
    pub levels: Levels,
    /// The level that the other is held against.
    pub baseline: String,
    /// The level.
    pub level: String,
    /// The level's mean over the baseline's: above 1 is slower. `None` without a pair.
    pub ratio: Option<f64>,
    /// The 95 % interval's lower end; `None` with fewer than two pairs.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// How many blocks back it.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
}

/// What a comparison says, with a margin of 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies wholly below the margin.
    Faster,
    /// The interval lies wholly above the margin.
    Slower,
    /// The interval lies within the margin.
    Same,
    /// None of these.
    Undecided,
    /// The paired mean and the Hodges-Lehmann estimate disagree.
    Spiky,
}

/// The latest attempt at each block.
pub struct Attempts(BTreeMap<u32, u32>);

impl Attempts {
    /// Of these trials' blocks.
    pub fn of<'a>(trials: impl IntoIterator<Item = &'a TrialView>) -> Self {
        let mut latest = BTreeMap::new();
        for trial in trials {
            let attempt = latest.entry(trial.block).or_insert(trial.attempt);
            *attempt = trial.attempt.max(*attempt);
        }
        Self(latest)
    }

    /// Whether a trial was set aside: it doesn't count, but its block was run again later. That is
    /// no failure.
    pub fn set_aside(&self, trial: &TrialView) -> bool {
        !trial.valid && !self.is_latest(trial)
    }

    /// Whether a trial belongs to the latest attempt at its block.
    pub(crate) fn is_latest(&self, trial: &TrialView) -> bool {
        self.0.get(&trial.block) == Some(&trial.attempt)
    }
}

impl RunFolder {
    /// What the folder has to tell, as it is at this moment.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where it can't be read.
    pub fn document(&self) -> Result<Document> {
        let _snapshot = self.snapshot()?;
        let run = self.state()?;
        let rows = self.trials()?;
        let counted = cells::counted(&rows);
        let cells = cells::cells(self, &run.run, &counted)?;
        let (comparisons, noise) = compare::all(&run.run, &rows, &counted, |view| view.mean_s);
        let cuts = self.cuts()?;
        let mut document = Document {
            schema: SCHEMA,
            promises: cuts::promises(&run.run, &cuts),
            cuts,
            other_cuts: Vec::new(),
            run,
            trials: Vec::new(),
            cells,
            comparisons,
            noise,
            canaries: self.canaries()?,
            warnings: Vec::new(),
        };
        document.warnings = warnings::all(&document, &rows, &counted);
        document.trials = rows.into_iter().map(|row| row.view).collect();
        Ok(document)
    }
}

impl Status {
    const NAMES: [(Self, &str); 3] = [
        (Self::Unfinished, "unfinished"),
        (Self::Interrupted, "interrupted"),
        (Self::Finished, "finished"),
    ];

    /// Its name, as in the JSON and in the tables.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(status, _)| *status)
    }
}

impl Verdict {
    /// The word of the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::Spiky => "spiky",
        }
    }
}

impl From<bakeoff_stats::Verdict> for Verdict {
    fn from(verdict: bakeoff_stats::Verdict) -> Self {
        use bakeoff_stats::Verdict as From;
        match verdict {
            From::Faster => Self::Faster,
            From::Slower => Self::Slower,
            From::Same => Self::Same,
            From::Undecided => Self::Undecided,
            From::Spiky => Self::Spiky,
        }
    }
}

/// Writes the facts, or a field of nothing for each.
fn with_nulls<S: Serializer>(
    facts: &Option<FactsView>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Nothing {
        io: (),
        neighbour: (),
        disk: (),
        memory: (),
        cost: (),
        littles_law: (),
        steady: (),
        counters: BTreeMap<String, u64>,
        warnings: [String; 0],
    }
    match facts {
        Some(facts) => facts.serialize(to),
        None => Nothing {
            io: (),
            neighbour: (),
            disk: (),
            memory: (),
            cost: (),
            littles_law: (),
            steady: (),
            counters: BTreeMap::new(),
            warnings: [],
        }
        .serialize(to),
    }
}

impl FactsView {
    /// The rest of a trial's facts.
    pub fn of(facts: &Facts) -> Self {
        Self {
            io: facts.io,
            neighbour: facts.neighbour,
            disk: facts.disk,
            memory: facts.memory,
            cost: facts.cost.map(CostView::from),
            littles_law: facts.littles_law,
            steady: facts.steady,
            counters: facts.counters.clone(),
            warnings: facts.warnings.clone(),
        }
    }
}
