//! From the records of a run to findings: what the trials of a cell have in common, how the compared
//! levels stand against each other, what power cuts left of each promise, and what a reader should
//! be warned of.
//!
//! It must never know how a trial is run, or how a report looks.

mod answers;
mod applications;
mod assemble;
mod beside;
mod bounds;
mod broken_promises;
mod cells;
mod changes;
mod compare;
mod comparison;
mod condition;
mod cost;
mod debt;
pub mod document;
mod find_unreached;
mod flush;
mod from_disk;
mod groups;
mod judged;
mod leader;
mod limits;
mod littles_law;
mod machines;
mod open_loop;
mod others;
mod over;
mod over_machines;
mod over_time;
mod priced;
mod promises;
mod published;
mod replay;
mod series;
mod space;
mod span;
mod state;
mod statements;
mod steady;
mod sweep;
mod total;
mod two_runs;
mod unreached;
mod verdict;
mod waits;
mod warning;
mod warnings;
mod work;

pub use bakeoff_stats::none_seen::most_of_none;

pub use assemble::document;
pub use cells::counted;
pub use changes::{CellChange, changes, interval};
pub use comparison::{Comparison, Contrast, OtherwiseCounted, RatioIs, Verdict};
pub use condition::{ConditionState, ConditionView};
pub use cost::{CostView, Cpu, SyncCount, SyncObserver, WorkCost};
pub use debt::DebtView;
pub use document::{ApplicationView, Attempts, CellView, Document, JSON_SCHEMA, OtherCuts, SCHEMA};
pub use flush::FlushTurn;
pub use groups::{GroupView, ProcessView};
pub use judged::{JudgedRun, schedule};
pub use leader::{Leader, LeaderOutcome};
pub use limits::{LimitOutcome, LimitView, MOST_PROBES, ProbeVerdict, ProbeView};
pub use littles_law::{concurrency, littles_law};
pub use machines::{
    Agreement, Apart, DiskView, MachineView, MachinesView, OnMachine, RatioOverMachines,
};
pub use open_loop::OpenLoopView;
pub use over::{sweep, times};
pub use over_time::{LinePiece, OverTime, OwedOverTime};
pub use priced::{PriceRatio, PricedView};
pub use promises::{BrokenPromise, FoundInCuts, PromiseView, RuleView};
pub use published::{
    Goes, Ours, PublishedStatement, PublishedView, RatioShape, UntoldReason, shape,
};
pub use replay::{Replayed, Word, replay};
pub use series::{OperationSeries, SlotView, TrialSeries};
pub use space::SpaceView;
pub use state::{RestartView, SteadyView};
pub use steady::steadiness;
pub use sweep::{
    FastestVerdict, Knee, LeadChange, PointState, SecondFactor, Sweep, SweepFastest, SweepLevel,
    SweepPanel, SweepPoint, SweepSeries,
};
pub use total::{CellTotal, Total};
pub use two_runs::{GateVerdict, SetUp, SharedCell, TwoRuns, two_runs};
pub use unreached::Unreached;
pub use warning::{Warning, WarningKind, Weight};
pub use warnings::{in_memory, share_of_others, unprotected};
pub use work::{Each, Lack, Unknown, WorkFigure, WorkView};

pub use bakeoff_results::ALL_OPERATIONS;
/// At how many blocks of a condition a run is looked at first that goes on until it is decided.
pub use bakeoff_stats::sequential::FIRST as FIRST_LOOK;
pub use bakeoff_stats::steady::Steadiness;

/// The result of reading a run folder.
pub type Result<T> = bakeoff_results::Result<T>;
