//! What is recorded of a run that is a part of a plan which several machines share.

use serde::{Deserialize, Serialize};

/// Tells machines of one kind apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Host {
    /// Its name in its network; empty where the system does not tell.
    pub name: String,
    /// Which start of its kernel it is: the same in all containers of a machine; empty where the system
    /// does not tell.
    pub boot: String,
}

/// Which part of a plan a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanShard {
    /// Tells the plan from others: only shards of one plan make one run.
    pub plan: String,
    /// Which part, from 1.
    pub index: u32,
    /// How many parts there are.
    pub count: u32,
    /// The machine that runs it.
    pub host: Host,
}
