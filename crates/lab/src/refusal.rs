//! Why a cell can't be had: the levels that don't go together, and the reason.

use bakeoff_engines::{Durability, Engine};
use bakeoff_experiment::{Cell, Factor};
use bakeoff_results::{Levels, in_words};

use crate::TrialError;

/// Why a cell can't be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// The levels that don't go together.
    pub levels: Levels,
    /// Why they don't.
    pub why: String,
}

impl Refusal {
    /// Of these factors' levels in a cell, as far as it has them.
    pub fn from_cell(cell: &Cell, factors: &[Factor], why: impl Into<String>) -> Self {
        let level = |factor: &Factor| Some((factor.name().into(), cell.level(*factor)?.into()));
        Self { levels: factors.iter().filter_map(level).collect(), why: why.into() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.levels.is_empty() {
            write!(formatter, "{}: ", in_words(&self.levels))?;
        }
        formatter.write_str(&self.why)
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for TrialError {
    fn from(refusal: Refusal) -> Self {
        Self::User(refusal.to_string())
    }
}

/// Whether an engine gives a level of durability.
pub(crate) fn gives(
    engine: &dyn Engine,
    cell: &Cell,
    durability: Durability,
) -> Result<(), Refusal> {
    let given = engine.gives(durability);
    given.map_err(|why| Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], why))
}

/// Whether settings of the user's own leave a level of durability as the engine gives it.
pub(crate) fn keeps(
    engine: &dyn Engine,
    cell: &Cell,
    durability: Durability,
    settings: &[(String, String)],
) -> Result<(), Refusal> {
    let kept = engine.keeps(durability, settings);
    kept.map_err(|why| Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], why))
}
