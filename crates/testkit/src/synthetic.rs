//! Made-up records and run folders, plausible and seeded. Their figures say nothing about any
//! engine.

mod cuts;
mod data;
mod disk;
mod folder;

pub use cuts::sample_cuts;
pub use data::{ENGINES, TrialGenerator, answers, run};
pub use disk::sample_timing;
pub use folder::{BLOCK_TRIALS, write_folder, write_shards};
