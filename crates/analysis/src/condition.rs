use bakeoff_results::Levels;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionView {
    pub levels: Levels,
    pub blocks: u32,
    pub judged_at: u32,
    pub state: ConditionState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionState {
    Open,
    Decided,
    /// No comparison without a verdict is likely to get one.
    OutOfReach,
    MaxRepetitions,
    MaxTime,
}
