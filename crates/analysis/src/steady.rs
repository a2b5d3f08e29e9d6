use bakeoff_results::measure::{
    RISE, RISE_ERROR, RISE_SECONDS, ROUNDS_ERROR, ROUNDS_RANGE, ROUNDS_RISE,
};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::rounds;
use bakeoff_stats::steady::{Slope, Steadiness};

/// `None` where the window is too short for a line through the operations a second.
pub fn steadiness(trial: &TrialSummary) -> Option<Steadiness> {
    let of = |measure| trial.measures.get(measure, &Scope::Trial);
    let (rise, error, seconds) = (of(&RISE)?, of(&RISE_ERROR)?, of(&RISE_SECONDS)?);
    Some(Slope { rise, error, values: seconds as usize }.steadiness())
}

/// `None` for a trial that was not meant to be steady.
pub fn rounds(trial: &TrialSummary) -> Option<Steadiness> {
    let of = |measure| trial.measures.get(measure, &Scope::Trial);
    Some(rounds::judge_rounds(of(&ROUNDS_RANGE)?, of(&ROUNDS_RISE)?, of(&ROUNDS_ERROR)?))
}
