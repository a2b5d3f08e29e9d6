//! From the records of a run to findings: what the trials of a cell have in common, how the compared
//! levels stand against each other, what power cuts left of each promise, and what a reader should
//! be warned of.
//!
//! It must never know how a trial is run, or how a report looks.

pub mod answer;
mod answers;
mod applications;
mod assemble;
mod attempts;
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
mod fail_condition;
mod find_unreached;
mod flush;
mod groups;
mod harness_cost;
mod idle;
mod images;
mod interim_analysis;
pub mod layout;
mod leader;
mod limits;
mod littles_law;
mod machine_differences;
mod machines;
mod open_loop;
mod operation_case;
mod other_cuts;
mod over_machines;
mod over_time;
mod page_cache;
mod placement;
mod planned_comparisons;
mod price;
mod processor_waits;
mod promise_cases;
mod promises;
mod published;
mod replay;
mod series;
mod space;
mod span;
mod starting_state;
mod statements;
mod steady;
mod sweep;
mod sweep_lines;
#[cfg(test)]
mod tests;
mod total;
mod trial_noise;
mod two_runs;
mod unreached;
mod verdict;
mod warning;
mod warnings;
mod what_if;
mod work;

pub use bakeoff_stats::none_seen::most_of_none;

pub use assemble::read_document;
pub use attempts::Attempts;
pub use cells::select_counted;
pub use changes::{CellChange, compare_changes, estimate_interval};
pub use comparison::{Comparison, Contrast, OtherwiseCounted, RatioBound, Verdict};
pub use condition::{ConditionState, ConditionView};
pub use cost::{CostView, Cpu, SyncCount, SyncObserver, WorkCost};
pub use debt::DebtView;
pub use document::{ApplicationView, CellView, Document, JSON_SCHEMA, OtherCuts, SCHEMA};
pub use fail_condition::{ConditionBreach, FailCondition};
pub use flush::{FLUSH_US, FlushTurn};
pub use groups::{GroupView, ProcessView};
pub use idle::{IdleComparison, IdleTime};
pub use images::ImagesView;
pub use interim_analysis::{JudgedRun, schedule_looks};
pub use leader::{Leader, LeaderOutcome};
pub use limits::{LimitOutcome, LimitView, MOST_PROBES, ProbeVerdict, ProbeView};
pub use littles_law::{find_concurrency, littles_law};
pub use machine_differences::MachineDifferences;
pub use machines::{
    Agreement, Apart, DiskView, MachineRatio, MachineView, MachinesView, RatioOverMachines,
};
pub use open_loop::OpenLoopView;
pub use operation_case::{OperationCase, find_cases};
pub use over_time::{LinePiece, OverTime, OwedOverTime};
pub use planned_comparisons::PlannedComparisons;
pub use price::{PriceRatio, PricedView};
pub use promise_cases::{PromiseCases, Ratio, find_open_reason, group_cases, rank_durability};
pub use promises::{BrokenPromise, CutFindings, PromiseView, RuleView};
pub use published::{
    Goes, Ours, PublishedStatement, PublishedView, RatioShape, UntoldReason, compare_shape,
};
pub use replay::{ConditionReplay, Word, replay};
pub use series::{OperationSeries, SlotView, TrialSeries};
pub use space::SpaceView;
pub use starting_state::{RestartView, SteadyView};
pub use steady::steadiness;
pub use sweep::{
    FastestVerdict, Knee, LeadChange, PointState, SecondFactor, Sweep, SweepFastest, SweepLevel,
    SweepPanel, SweepPoint, SweepSeries,
};
pub use sweep_lines::{build_sweep, build_time_sweep};
pub use total::{CellTotal, Total};
pub use trial_noise::estimate_trial_noise;
pub use two_runs::{GateVerdict, RunComparison, SetupChange, SharedCell, two_runs};
pub use unreached::UnreachedLimit;
pub use warning::{Warning, WarningKind, Weight};
pub use warnings::{in_memory, share_of_others, warn_of_unprotected_connections};
pub use what_if::{
    EffectWord, LevelEffect, OperationEffect, WorkChange, WorkUnit, choose_best, count_worthwhile,
    find_effects,
};
pub use work::{Each, MissingFigure, Unknown, WorkFigure, WorkView};

pub use bakeoff_results::ALL_OPERATIONS;
/// The noise of a trial where nothing is known of the machine.
pub use bakeoff_stats::detectable::USUAL_NOISE;
/// At how many blocks of a condition such a run is first judged.
pub use bakeoff_stats::sequential::FIRST as FIRST_LOOK;
pub use bakeoff_stats::steady::Steadiness;

pub type Result<T> = bakeoff_results::Result<T>;
