//! Warnings about windows that went on, drains that were cut off, and warm-ups that took too long.

use std::collections::BTreeMap;

use bakeoff_results::measure::{
    DRAIN, DRAIN_CUT_OFF, ROUNDS_RANGE, TRIALS_SINCE, TURNED_OVER, WARM_UP,
};
use bakeoff_results::{Run, Scope, TrialSummary};
use bakeoff_stats::steady::Steadiness;

use super::{WarningTally, tally_trials};
use crate::steady::rounds;
use crate::warning::{Warning, WarningKind};

/// How many times its time a window may last without a warning.
const LONGER: f64 = 1.5;

/// Their window waited for the slowest kind of operation, so they saw a longer time than others of
/// their block, with other debts in it.
pub(super) fn warn_of_long_windows(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // A steady window comes after as many seconds as it has.
    let turns = |trial: &TrialSummary| if rounds(trial).is_some() { 2.0 } else { 1.0 };
    let end = |trial: &TrialSummary| trial.window_s.map_or(0.0, |(_, end)| end / turns(trial));
    let longer =
        |trial| Some(end(trial)).filter(|end| *end > LONGER * run.seconds).unwrap_or_default();
    let WarningTally { part, worst, at, .. } = tally_trials(run, counted, longer)?;
    let text = format!(
        "in {part} the window went on after its {} s until enough operations of each kind had \
         ended, at worst until {worst:.0} s, at {at}: faster levels of the block were measured for \
         a shorter time",
        run.seconds
    );
    let warning = Warning::new(WarningKind::WindowWentOn, text);
    Some(warning.with_remedy(format!("--seconds {worst:.0} measures all levels for the same time")))
}

pub(super) fn warn_of_cut_off_drains(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let of = |trial: &TrialSummary, measure| trial.measures.get(measure, &Scope::Trial);
    let after = |trial: &TrialSummary| {
        of(trial, &DRAIN_CUT_OFF).and_then(|_| of(trial, &DRAIN)).unwrap_or_default()
    };
    let WarningTally { part, worst, at, .. } = tally_trials(run, counted, after)?;
    let text = format!(
        "in {part} the drain took longer than the clients had run, over {} s at {at}, and was cut \
         off there: such a debt grows for as long as clients run, and the figures leave its cost \
         out",
        (worst * 10.0).floor() / 10.0
    );
    Some(Warning::new(WarningKind::DrainCutOff, text))
}

/// Trials whose start is unlike the rest for longer than their window leaves out.
pub(super) fn warn_of_long_warm_ups(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let beyond = |trial: &TrialSummary| {
        let took = trial.measures.get(&WARM_UP, &Scope::Trial).unwrap_or_default();
        let from = trial.window_s.map_or(0.0, |(from, _)| from);
        if took > from { took } else { 0.0 }
    };
    let WarningTally { part, worst, at, .. } = tally_trials(run, counted, beyond)?;
    let text = format!(
        "in {part} the start is unlike the rest for longer than the tenth that is left out as \
         warm-up, at worst for {worst:.0} s, at {at}: what comes after that tenth counts all the \
         same"
    );
    Some(Warning::new(WarningKind::WarmUp, text).with_remedy("a longer --seconds leaves out more"))
}

pub(super) fn warn_of_never_steady(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let range = |trial: &TrialSummary| trial.measures.get(&ROUNDS_RANGE, &Scope::Trial);
    let above = |trial: &TrialSummary| match rounds(trial) {
        Some(Steadiness::NotSteady) => range(trial).unwrap_or_default().max(f64::MIN_POSITIVE),
        _ => 0.0,
    };
    let WarningTally { part, share, at, was, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "{part} {was} never steady, at worst at {at}, where the fastest of five rounds of equal \
         numbers of operations was ahead of the slowest by {share} of their mean: their \
         comparisons stay open"
    );
    let warning = Warning::new(WarningKind::NeverSteady, text);
    Some(
        warning.with_remedy(
            "a longer --seconds lengthens what comes before the rounds, and the rounds",
        ),
    )
}

/// Warns if an engine had not paid every debt once before its trials.
pub(super) fn warn_of_unturned_debts(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let lacks = |trial: &TrialSummary| {
        let turned = trial.measures.get(&TURNED_OVER, &Scope::Trial);
        f64::from(u8::from(turned == Some(0.0)))
    };
    let WarningTally { part, at, .. } = tally_trials(run, counted, lacks)?;
    let text = format!(
        "{part} began before all kinds of deferred work had been through one cycle, first at {at}: \
         some may still be growing"
    );
    let warning = Warning::new(WarningKind::NotTurnedOver, text);
    Some(warning.with_remedy(
        "settings that make the engine's log or tables in memory smaller shorten its cycle",
    ))
}

/// The trial before them had failed, while others of their block followed another trial: what they
/// began with differs.
pub(super) fn warn_of_new_conditioning(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let place = |trial: &TrialSummary| trial.measures.get(&TRIALS_SINCE, &Scope::Trial);
    let mut latest: BTreeMap<u32, f64> = BTreeMap::new();
    for (trial, place) in counted.iter().filter_map(|trial| Some((trial, place(trial)?))) {
        latest.entry(trial.block).and_modify(|it| *it = it.max(place)).or_insert(place);
    }
    let earlier = |trial: &TrialSummary| {
        let latest = latest.get(&trial.block).copied();
        latest.zip(place(trial)).map_or(0.0, |(latest, own)| latest - own)
    };
    let WarningTally { part, at, was, .. } = tally_trials(run, counted, earlier)?;
    let text = format!(
        "{part} {was} preconditioned anew because a trial before them had failed, first at {at}, \
         while others of their block followed other trials after one preconditioning: they did not \
         begin alike"
    );
    let warning = Warning::new(WarningKind::ConditionedAnew, text);
    Some(warning.with_remedy("mend what made the trial fail, and run the experiment again"))
}
