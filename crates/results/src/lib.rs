//! The run folder: what is kept of a run, and the JSON that is made of it.
//!
//! It stores and reads back records, and holds the compared levels against each other. It must
//! never know how a trial is run, how an engine works, or how a report looks.

mod cells;
mod compare;
mod cost;
mod cuts;
pub mod document;
mod error;
mod figures;
pub mod measure;
mod others;
mod power_cut;
mod read;
pub mod record;
mod store;
mod warnings;
mod write;

pub use cost::{Cost, CostView, Counter, Syncs};
pub use cuts::{Found, PromiseView, RuleView};
pub use document::{Document, JSON_SCHEMA};
pub use error::Error;
pub use measure::{Measure, Measures, Reading, Scope, Unit};
pub use others::OtherCuts;
pub use power_cut::{Again, Cut, CutPlan, Judged, Promised, Verdict};
pub use read::Done;
pub use record::*;
pub use store::{DATABASE, EXPERIMENT, RunFolder};

/// What comes of working on a run folder.
pub type Result<T> = std::result::Result<T, Error>;
