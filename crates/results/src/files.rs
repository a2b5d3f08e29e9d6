//! The names of what a run folder holds.

/// The file of a run folder that holds its records.
pub const DATABASE: &str = "run.sqlite";

/// The same, packed by gzip, as runs are kept that a page rests on.
pub(crate) const PACKED: &str = "run.sqlite.gz";

/// The file of a run folder that holds the experiment.
pub const EXPERIMENT: &str = "experiment.toml";
