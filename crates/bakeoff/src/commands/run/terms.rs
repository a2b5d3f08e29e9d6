//! The terms of a run besides its experiment.

use bakeoff_experiment::Shard;

use super::path::DataLocation;
use super::timed_disks::TimedLevels;

pub struct RunTerms {
    /// Where the data lie; `None` for the run folder.
    pub data: Option<DataLocation>,
    pub shard: Option<Shard>,
    /// Whether a shard may run beside another on this machine.
    pub same_machine: bool,
    /// Disks that were timed before it.
    pub timed: TimedLevels,
}
