//! Databases on servers that somebody else runs: what can't be had of them.

use bakeoff_experiment::{Cell, Factor, HOST};

use crate::TrialError;

/// What a server that somebody else runs leaves to choose, of the factors that stage it.
const ONLY: [(Factor, &str); 3] =
    [(Factor::Memory, "unlimited"), (Factor::Disk, HOST), (Factor::Neighbours, "0")];

/// Refuses what can't be had of a server that somebody else runs.
pub fn check(cell: &Cell) -> Result<(), TrialError> {
    let mut other = ONLY.into_iter().filter(|(factor, only)| cell.base(*factor) != *only);
    let Some((factor, only)) = other.next() else { return Ok(()) };
    Err(TrialError::User(format!(
        "{factor} {} can't be had: the server is not bakeoff's to limit, to put on another disk or \
         to give neighbours; write {factor} = \"{only}\"",
        cell.base(factor)
    )))
}
