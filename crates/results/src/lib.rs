//! The run folder: what is kept of a run. It stores records, and reads them back.
//!
//! It must never know what a figure means, how a trial is run, how an engine works, or how a report
//! looks.

mod answers;
mod calibration;
mod column;
mod course;
mod debts;
mod disk_fact;
mod disturbed;
mod edited;
mod error;
mod files;
mod foreign;
pub mod histogram;
mod machine;
pub mod measure;
mod merge;
mod outline;
mod power_cut;
mod program;
mod read;
pub mod record;
mod recount;
mod run;
mod shape;
mod shard;
mod store;
mod summary;
mod takeover;
mod text;
mod write;

pub use answers::{AnswerDifference, Answers};
pub use bakeoff_factor::{ALL_OPERATIONS, FigureOfMerit, MOST_REPETITIONS, limit, published};
pub use calibration::Calibration;
pub use course::{Courses, TrialCourse};
pub use debts::UNITS as DEBT_UNITS;
pub use disk_fact::DiskFact;
pub use disturbed::Disturbed;
pub use error::Error;
pub use files::{DATABASE, EXPERIMENT};
pub use machine::{HostIdentity, Machine};
pub use measure::{Measure, MeasureUnit, Measures, Reading, Scope};
pub use merge::{HeldRunFolder, MergePart};
pub use power_cut::{
    Again, AuditResult, Conditioned, Cut, CutPlan, EveryByRule, EveryMoment, FileSystem,
    FirstBroken, JudgedImage, PaymentCut, PromiseFactors, Promised, TimedRecovery, TurnedOver,
};
pub use program::{commit, is_of_changed_files, short_sum};
pub use read::{EndedTrial, FolderSnapshot};
pub use record::*;
pub use run::*;
pub use shard::{Merged, PlanShard, RunMember};
pub use store::RunFolder;
pub use summary::{
    ENOUGH_OPERATIONS, OperationSummary, SlotSummary, TrialSummary, operations_failed,
};
pub use takeover::{Platform, Takeover};
pub use text::visible;

/// The result of work on a run folder.
pub type Result<T> = std::result::Result<T, Error>;
