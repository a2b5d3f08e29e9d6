//! From an experiment's file to the plan of its trials.
//!
//! An experiment names a workload, the levels of its factors, and how to measure; its plan is the
//! cells that are run, in blocks, in an order that its seed fixes. This crate knows the lab's own
//! factors and how their levels are written. It must never know an engine, a workload, a target, a
//! device model, an arrival process or a planner by name, nor what a declared factor means: which
//! names are valid, which factors a workload has, and how a declared one is written is told to it in a
//! [`Vocabulary`]. The presets that it holds name some, in files that it reads like any other. It
//! starts nothing and measures nothing.

mod bounds;
mod count;
mod cut_by;
mod cuts;
mod disks;
mod engines;
mod experiment;
mod factor;
mod factors;
mod file;
mod flags;
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
mod registered;
mod rows;
mod secret;
mod shard;
mod vocabulary;
mod written;

pub use bakeoff_factor::Declared;
pub use bakeoff_factor::limit::{Quantile, ResponseTimeLimit};
pub use bounds::Bounds;
pub use count::{Count, EVERY};
pub use cut_by::{CutBy, LevelSubstitute};
pub use cuts::{Cuts, FILE_SYSTEMS, KEEPS, MOST_CUTS, MOST_IMAGES};
pub use disks::{DeviceProblem, DeviceTable, DiskModels, Disks, HOST, ParameterNames};
pub use engines::{
    EngineNames, Engines, Judge, LevelReader, ServerKind, SettingPermission, Variant,
};
pub use experiment::Experiment;
pub use factor::{Declarer, Factor, LabFactor, OptionFactor};
pub use factors::{ArrivalNames, Cpus, EngineState, MemoryLimit, NeighbourLoad, Rate};
pub use keys::FlagOverrides;
pub use layer::ServerSettings;
pub use level::{base, engine};
pub use load::MOST_TRIALS;
pub use message::Error;
pub use plan::{Cell, PlannedTrial, TrialBlock, TrialPlan, sequences};
pub use preset::{ARTICLES, Preset, presets};
pub use published::PublishedArticle;
pub use rows::{GENERATED, RowsFrom};
pub use secret::without_passwords;
pub use shard::{Shard, TooManyShards, deal};
pub use vocabulary::{CollectionNames, PlannerNames, Vocabulary, WorkloadNames};
