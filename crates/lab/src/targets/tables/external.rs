use bakeoff_experiment::{Cell, Factor, HOST};

use crate::refusal::Refusal;

/// Factors that stage a server: the only level that an external server can have, and what bakeoff
/// can't do there.
const ONLY: [(Factor, &str, &str); 6] = [
    (Factor::DISK, HOST, "put a disk under it"),
    (Factor::MEMORY, "unlimited", "limit its memory"),
    (Factor::CPUS, "unlimited", "limit its processors"),
    (Factor::NEIGHBOURS, "0", "give its disk neighbours"),
    (Factor::STATE, "warm", "restart it or know what it owes"),
    (Factor::PLACEMENT, "free", "place its threads"),
];

/// Reports all problems at once, with the flags that solve them.
pub fn check_external(cell: &Cell) -> Result<(), Refusal> {
    let other = ONLY
        .iter()
        .filter(|(factor, only, _)| cell.level(*factor).is_some_and(|level| level != *only));
    let refused: Vec<&(Factor, &str, &str)> = other.collect();
    if refused.is_empty() {
        return Ok(());
    }
    let cannot: Vec<&str> = refused.iter().map(|(.., what)| *what).collect();
    let flags: Vec<String> =
        refused.iter().map(|(factor, only, _)| format!("--{factor} {only}")).collect();
    let why = format!(
        "bakeoff does not run this server, so it can't {}; add {}",
        cannot.join(", or "),
        flags.join(" ")
    );
    let factors: Vec<Factor> = refused.iter().map(|(factor, ..)| *factor).collect();
    Err(Refusal::from_cell(cell, &[&[Factor::ENGINE][..], &factors[..]].concat(), why))
}
