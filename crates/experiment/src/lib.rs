//! From an experiment's file to the plan of its trials.
//!
//! Knows what factors there are, how their levels are written, and how blocks are laid out and
//! shuffled. It must never know an engine, a workload or a disk itself: which names are valid is
//! told to it in a [`Vocabulary`]. It starts nothing and measures nothing.

mod cuts;
mod disks;
mod engines;
mod experiment;
mod factor;
mod file;
mod flags;
mod layer;
mod level;
mod message;
mod plan;
pub mod random;
mod secret;

pub use cuts::{Cuts, KEEPS, MOST_CUTS};
pub use disks::{DeviceProblem, Disks, HOST};
pub use engines::Engines;
pub use experiment::{Experiment, MOST_TRIALS, Settings};
pub use factor::Factor;
pub use file::{Preset, presets};
pub use flags::Changes;
pub use level::{Memory, Neighbours, base};
pub use message::Error;
pub use plan::{Block, Cell, Plan, PlannedTrial};
pub use secret::without_passwords;

/// The names that are valid in an experiment, in the order in which they are listed to a user.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The engines.
    pub engines: Engines,
    /// The workloads.
    pub workloads: Vec<WorkloadNames>,
    /// The disks.
    pub disks: Disks,
}

/// What may be said of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadNames {
    /// Its name.
    pub name: String,
    /// The scales that it comes in, at least one; the first is the default.
    pub scales: Vec<String>,
}
