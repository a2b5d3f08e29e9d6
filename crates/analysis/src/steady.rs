//! Whether a trial's throughput had settled, and whether one that was to be steady was.

use bakeoff_results::measure::{
    RISE, RISE_ERROR, RISE_SECONDS, ROUNDS_ERROR, ROUNDS_RANGE, ROUNDS_RISE,
};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::rounds;
use bakeoff_stats::steady::{Slope, Steadiness};

/// What the operations a second of a trial say; `None` where its window was too short for a line
/// through them, and for a trial that failed.
pub fn steadiness(trial: &TrialSummary) -> Option<Steadiness> {
    let of = |measure| trial.measures.get(measure, &Scope::Trial);
    let (rise, error, seconds) = (of(&RISE)?, of(&RISE_ERROR)?, of(&RISE_SECONDS)?);
    Some(Slope { rise, error, values: seconds as usize }.says())
}

/// What the rounds of a trial say that was to be steady; `None` for any other.
pub fn rounds(trial: &TrialSummary) -> Option<Steadiness> {
    let of = |measure| trial.measures.get(measure, &Scope::Trial);
    Some(rounds::says(of(&ROUNDS_RANGE)?, of(&ROUNDS_RISE)?, of(&ROUNDS_ERROR)?))
}
