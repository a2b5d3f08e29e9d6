//! The run folder stores a run's records and reads them back.
//!
//! It must never know what a figure means, how a trial is run, how an engine works, or how a report
//! looks.

mod answers;
mod calibration;
mod column;
mod debts;
mod disk_fact;
mod disk_timing;
mod disturbed;
mod error;
mod experiment_change;
mod files;
pub mod histogram;
pub mod limit;
mod machine;
pub mod measure;
mod merge;
mod merit;
mod outline;
mod own_factor;
mod plain_database;
mod power_cut;
mod program;
pub mod published;
mod read;
pub mod record;
mod recount;
mod run;
mod shard;
mod store;
mod summary;
mod table_shapes;
mod takeover;
mod text;
mod trial_course;
mod write;

pub use answers::{AnswerDifference, Answers};
pub use calibration::Calibration;
pub use debts::UNITS as DEBT_UNITS;
pub use disk_fact::DiskFact;
pub use disk_timing::{
    ALIKE, DiskTiming, FlushTiming, LEAST_FLUSH_S, TimedDisk, are_flushes_alike,
};
pub use disturbed::Disturbed;
pub use error::{Error, Lack};
pub use files::{DATABASE, EXPERIMENT};
pub use machine::{HostIdentity, Machine};
pub use measure::{Measure, MeasureUnit, Measures, Reading, Scope};
pub use merge::{HeldRunFolder, MergePart};
pub use merit::{ALL_OPERATIONS, FigureOfMerit, OperationCounts};
pub use own_factor::{CellLevels, DurabilityLevel, OwnFactor};
pub use power_cut::{
    Again, AuditResult, Conditioned, Cut, CutPlan, DebtTurnover, DurabilityPromise, EveryByRule,
    EveryMoment, FileSystem, FirstBroken, JudgedImage, PaymentCut, PromiseFactors, TimedRecovery,
};
pub use program::{find_commit, is_of_changed_files, short_sum};
pub use read::{EndedTrial, FolderSnapshot};
pub use record::*;
pub use run::*;
pub use shard::{Merged, PlanShard, RunMember};
pub use store::RunFolder;
pub use summary::{
    ENOUGH_OPERATIONS, OperationSummary, SlotSummary, TrialSummary, operations_failed,
};
pub use takeover::{Platform, Takeover};
pub use text::escape_unseen;
pub use trial_course::{Courses, TrialCourse};

pub const MOST_REPETITIONS: u32 = 1000;

pub type Result<T> = std::result::Result<T, Error>;
