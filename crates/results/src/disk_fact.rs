use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskFact {
    /// Without an alias.
    pub level: String,
    pub simulates: String,
    /// Time of a flush of the device's cache; `None` if the model has none.
    pub flush_s: Option<f64>,
}
