use serde::{Deserialize, Serialize};

use crate::disk_timing::TimedDisk;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskFact {
    /// Without an alias.
    pub level: String,
    pub simulates: String,
    /// Time of a flush of the device's cache; `None` if the model has none.
    pub flush_s: Option<f64>,
    /// Of a level `like:PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedDisk>,
}
