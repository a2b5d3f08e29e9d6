//! The factor `state`.

use std::fmt;

use bakeoff_results::OwnFactor;
use serde::{Deserialize, Serialize};

use crate::factor::{Factor, LabFactor, Valid};
use crate::message::one_of;

const LEVELS: [&str; 3] =
    [EngineState::Cold.name(), EngineState::Warm.name(), EngineState::Steady.name()];

impl Factor {
    pub const STATE: Self = Self::Own(&STATE);
}

static STATE: LabFactor = LabFactor {
    name: OwnFactor::State.as_str(),
    summary: "caches and deferred work at the start of measuring",
    syntax: "cold: just restarted; warm: caches full, nothing deferred yet; steady: deferred work at \
             its lasting level",
    help: "Caches and deferred work at the start: cold, warm, steady",
    default: Some(EngineState::Warm.name()),
    valid: Valid::Text(|text| one_of("state", text, &LEVELS)),
    bare: true,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineState {
    /// Just restarted: its caches are empty, and the disk takes its time from the start.
    Cold,
    /// Its caches are full, and nothing is put off yet.
    Warm,
    /// Its caches are full, and every debt is at its lasting level.
    Steady,
}

impl EngineState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Steady => "steady",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Cold, Self::Warm, Self::Steady].into_iter().find(|state| state.name() == text)
    }
}

impl fmt::Display for EngineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
