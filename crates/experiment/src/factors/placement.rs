//! The factor `placement`.

use bakeoff_results::OwnFactor;
use serde::{Deserialize, Serialize};

use crate::factor::{Factor, LabFactor, Valid};
use crate::message::one_of;

const LEVELS: [&str; 3] =
    [ThreadPlacement::Free.name(), ThreadPlacement::Apart.name(), ThreadPlacement::Together.name()];

impl Factor {
    pub const PLACEMENT: Self = Self::Own(&PLACEMENT);
}

static PLACEMENT: LabFactor = LabFactor {
    name: OwnFactor::Placement.as_str(),
    summary: "on which processors clients and server run",
    syntax: "free: where the kernel puts them; apart: the server on the first half of the processors, clients on \
             the others; together: both on the first half",
    help: "On which processors clients and server run: free, apart (half of them each), together (on one half)",
    default: Some(ThreadPlacement::Free.name()),
    valid: Valid::Text(|text| one_of("placement", text, &LEVELS)),
    bare: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadPlacement {
    /// Where the kernel puts them.
    Free,
    /// The server on the first half of the processors, the clients on the others.
    Apart,
    /// Both on the first half.
    Together,
}

impl ThreadPlacement {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Apart => "apart",
            Self::Together => "together",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Free, Self::Apart, Self::Together].into_iter().find(|it| it.name() == text)
    }
}
