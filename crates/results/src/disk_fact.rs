//! What is recorded of the disks that a run simulates.

use serde::{Deserialize, Serialize};

/// A simulated disk of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskFact {
    /// The level of the factor `disk`, without an alias.
    pub level: String,
    /// What it simulates, as "SATA SSD".
    pub simulates: String,
    /// Seconds of a flush of the device's cache; `None` where the model has no such constant.
    pub flush_s: Option<f64>,
}
