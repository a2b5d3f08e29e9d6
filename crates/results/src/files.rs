pub const DATABASE: &str = "run.sqlite";

/// Packed by gzip, as runs of documentation are kept.
pub(crate) const PACKED: &str = "run.sqlite.gz";

pub const EXPERIMENT: &str = "experiment.toml";
