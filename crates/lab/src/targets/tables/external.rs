//! Databases on servers that somebody else runs: what can't be had of them.

use bakeoff_experiment::{Cell, Factor, HOST};

use crate::refusal::Refusal;

/// What a server that somebody else runs leaves to choose of the factors that stage it, and why.
const ONLY: [(Factor, &str, &str); 5] = [
    (Factor::DISK, HOST, "bakeoff can't put a disk under a server that it doesn't run"),
    (Factor::MEMORY, "unlimited", "bakeoff can't limit the memory of a server that it doesn't run"),
    (
        Factor::CPUS,
        "unlimited",
        "bakeoff can't limit the processors of a server that it doesn't run",
    ),
    (
        Factor::NEIGHBOURS,
        "0",
        "bakeoff can't give neighbours to the disk of a server that it doesn't run",
    ),
    (
        Factor::STATE,
        "warm",
        "bakeoff can't restart a server that it doesn't run, nor know what that owes",
    ),
];

/// Refuses what can't be had of a server that somebody else runs.
pub fn check(cell: &Cell) -> Result<(), Refusal> {
    let mut other = ONLY.into_iter().filter(|(factor, only, _)| cell.base(*factor) != *only);
    let Some((factor, only, why)) = other.next() else { return Ok(()) };
    let why = format!("{why}; it can be had with {factor} {only} alone");
    Err(Refusal::of(cell, &[Factor::ENGINE, factor], why))
}
