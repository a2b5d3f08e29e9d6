//! Refusals: levels that don't go together in a cell, and the reason.

use bakeoff_engines::{Durability, Engine};
use bakeoff_experiment::{Cell, Factor};
use bakeoff_results::{Levels, in_words};

use crate::TrialError;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    pub levels: Levels,
    pub why: String,
}

impl Refusal {
    /// Skips factors that the cell lacks.
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

pub(crate) fn check_durability(
    engine: &dyn Engine,
    cell: &Cell,
    durability: Durability,
) -> Result<(), Refusal> {
    let given = engine.check_level(durability);
    given.map_err(|why| Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], why))
}

pub(crate) fn check_settings(
    engine: &dyn Engine,
    cell: &Cell,
    durability: Durability,
    settings: &[(String, String)],
) -> Result<(), Refusal> {
    let kept = engine.check_user_settings(durability, settings);
    kept.map_err(|why| Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], why))
}
