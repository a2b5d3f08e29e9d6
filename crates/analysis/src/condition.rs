//! How far a condition came of a run that goes on until it is decided, as the document has it.

use bakeoff_results::Levels;
use serde::{Deserialize, Serialize};

/// A condition: the levels of all factors but the compared one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionView {
    /// The levels.
    pub levels: Levels,
    /// How many blocks were run to their end.
    pub blocks: u32,
    /// At how many blocks it was judged last; 0 before the first look.
    pub judged_at: u32,
    /// Why it goes on, or why it ended.
    pub state: ConditionState,
}

/// Why a condition goes on, or why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionState {
    /// It goes on: some comparison has no word yet.
    Open,
    /// Every comparison is faster, slower or same.
    Decided,
    /// Of those that have no word none is likely to get one.
    OutOfReach,
    /// As many blocks were run as may be.
    MaxRepetitions,
    /// The time was over.
    MaxTime,
}
