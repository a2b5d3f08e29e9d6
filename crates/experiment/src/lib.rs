//! From an experiment's file to the plan of its trials.
//!
//! An experiment names a workload, the levels of its factors, and how to measure; its plan is the
//! cells that are run, in blocks, in an order that its seed fixes. This crate knows the lab's own
//! factors and how their levels are written, and reads all other names against what is registered: the
//! engines, workloads, disks, arrival processes and planners of a [`Vocabulary`]. It must never know
//! how load is made, how a trial is run or how results are shown: it starts nothing and measures
//! nothing.

mod bounds;
mod count;
mod cut_by;
mod cuts;
mod disks;
mod engine_settings;
mod engines;
mod entries;
mod experiment;
mod factor;
mod factors;
mod file;
mod flags;
mod images;
mod keys;
mod layer;
mod level;
mod load;
mod message;
mod options;
mod plan;
mod preset;
mod published;
pub mod random;
mod registration_problems;
mod rows;
mod shard;
mod url_passwords;
mod vocabulary;

pub use bakeoff_engines::Declared;
pub use bakeoff_results::limit::{Quantile, ResponseTimeLimit};
pub use bounds::Bounds;
pub use count::{Count, EVERY};
pub use cut_by::{CutBy, LevelSubstitute};
pub use cuts::{Cuts, FILE_SYSTEMS, KEEPS, MOST_CUTS, MOST_IMAGES};
pub use disks::{Disks, HOST, LIKE, model_table};
pub use engine_settings::LevelMove;
pub use engines::Engines;
pub use experiment::Experiment;
pub use factor::{Declarer, Factor, LabFactor, OptionFactor};
pub use factors::{Cpus, EngineState, MemoryLimit, NeighbourLoad, Rate, ThreadPlacement};
pub use keys::FlagOverrides;
pub use layer::ServerSettings;
pub use level::{engine_name, without_alias};
pub use load::MOST_TRIALS;
pub use message::{Error, MOST_SHOWN, explain_unshown};
pub use plan::{Cell, PlannedTrial, TrialBlock, TrialPlan, group_sequences};
pub use preset::{ARTICLES, Preset, presets};
pub use published::PublishedArticle;
pub use rows::{GENERATED, RowOrigin};
pub use shard::{Shard, ShardCountError, deal_blocks};
pub use url_passwords::without_passwords;
pub use vocabulary::{PlannerNames, Vocabulary, WorkloadNames};
