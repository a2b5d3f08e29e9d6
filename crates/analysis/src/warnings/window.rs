//! Trials that were not watched alike: windows that went on, drains that were cut off, warm-ups that
//! took longer than was allowed for.

use std::collections::BTreeMap;

use bakeoff_results::measure::{
    DRAIN, DRAIN_CUT_OFF, ROUNDS_RANGE, TRIALS_SINCE, TURNED_OVER, WARM_UP,
};
use bakeoff_results::{Run, Scope, TrialSummary};
use bakeoff_stats::steady::Steadiness;

use super::{WarningTally, part, percent};
use crate::steady::rounds;
use crate::warning::{Warning, WarningKind};

/// How many times its time a window may last before it is worth a word.
const LONGER: f64 = 1.5;

/// Trials whose window waited for the slowest kind of operation: they saw a longer time than the
/// others of their block, with other debts in it.
pub(super) fn went_on(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // A steady window comes after as many seconds as it has.
    let turns = |trial: &TrialSummary| if rounds(trial).is_some() { 2.0 } else { 1.0 };
    let end = |trial: &TrialSummary| trial.window_s.map_or(0.0, |(_, end)| end / turns(trial));
    let longer =
        |trial| Some(end(trial)).filter(|end| *end > LONGER * run.seconds).unwrap_or_default();
    WarningTally::of_trials(counted, longer).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the window went on after its {} s until enough operations of each kind had ended, \
             at worst until {worst:.0} s, at {at}: faster levels of the block were measured for a \
             shorter time",
            part(n, m),
            run.seconds
        );
        Warning::new(WarningKind::WindowWentOn, text)
            .remedy(format!("--seconds {worst:.0} measures all levels for the same time"))
    })
}

/// Drains that took longer than their clients had run.
pub(super) fn drain_cut_off(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let of = |trial: &TrialSummary, measure| trial.measures.get(measure, &Scope::Trial);
    let after = |trial: &TrialSummary| {
        of(trial, &DRAIN_CUT_OFF).and_then(|_| of(trial, &DRAIN)).unwrap_or_default()
    };
    WarningTally::of_trials(counted, after).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the drain took longer than the clients had run, over {} s at {at}, and was cut \
             off there: such a debt grows for as long as clients run, and the figures leave its \
             cost out",
            part(n, m),
            // No more than it was.
            (worst * 10.0).floor() / 10.0
        );
        Warning::new(WarningKind::DrainCutOff, text)
    })
}

/// Trials whose start is unlike the rest for longer than their window leaves out.
pub(super) fn warm_up(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let beyond = |trial: &TrialSummary| {
        let took = trial.measures.get(&WARM_UP, &Scope::Trial).unwrap_or_default();
        let from = trial.window_s.map_or(0.0, |(from, _)| from);
        if took > from { took } else { 0.0 }
    };
    WarningTally::of_trials(counted, beyond).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the start is unlike the rest for longer than the tenth that is left out as \
             warm-up, at worst for {worst:.0} s, at {at}: what comes after that tenth counts all \
             the same",
            part(n, m)
        );
        Warning::new(WarningKind::WarmUp, text).remedy("a longer --seconds leaves out more")
    })
}

/// Trials that were to be steady and whose rounds were not at one level.
pub(super) fn never_steady(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let range = |trial: &TrialSummary| trial.measures.get(&ROUNDS_RANGE, &Scope::Trial);
    let above = |trial: &TrialSummary| match rounds(trial) {
        Some(Steadiness::NotSteady) => range(trial).unwrap_or_default().max(f64::MIN_POSITIVE),
        _ => 0.0,
    };
    WarningTally::of_trials(counted, above).say(run, |n, m, worst, at| {
        let text = format!(
            "{} never steady, at worst at {at}, where the fastest of five rounds of equal numbers of \
             operations was ahead of the slowest by {} of their mean: their comparisons stay open",
            if n == 1 { format!("{} was", part(n, m)) } else { format!("{} were", part(n, m)) },
            percent(worst)
        );
        Warning::new(WarningKind::NeverSteady, text)
            .remedy("a longer --seconds lengthens what comes before the rounds, and the rounds")
    })
}

/// Trials that were to be steady, of an engine that had not paid every debt once before them.
pub(super) fn not_turned_over(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let lacks = |trial: &TrialSummary| {
        let turned = trial.measures.get(&TURNED_OVER, &Scope::Trial);
        f64::from(u8::from(turned == Some(0.0)))
    };
    WarningTally::of_trials(counted, lacks).say(run, |n, m, _, at| {
        let text = format!(
            "{} began before all kinds of deferred work had been through one cycle, first at {at}: \
             some may still be growing",
            part(n, m)
        );
        Warning::new(WarningKind::NotTurnedOver, text).remedy(
            "settings that make the engine's log or tables in memory smaller shorten its cycle",
        )
    })
}

/// Trials that were conditioned by themselves because the one before them had failed, while others of
/// their block followed another trial: what they began with differs.
pub(super) fn conditioned_anew(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let place = |trial: &TrialSummary| trial.measures.get(&TRIALS_SINCE, &Scope::Trial);
    let mut latest: BTreeMap<u32, f64> = BTreeMap::new();
    for (trial, place) in counted.iter().filter_map(|trial| Some((trial, place(trial)?))) {
        latest.entry(trial.block).and_modify(|it| *it = it.max(place)).or_insert(place);
    }
    let earlier = |trial: &TrialSummary| {
        let latest = latest.get(&trial.block).copied();
        latest.zip(place(trial)).map_or(0.0, |(latest, own)| latest - own)
    };
    WarningTally::of_trials(counted, earlier).say(run, |n, m, _, at| {
        let text = format!(
            "{} preconditioned anew because a trial before them had failed, first at {at}, while others \
             of their block followed other trials after one preconditioning: they did not begin alike",
            if n == 1 { format!("{} was", part(n, m)) } else { format!("{} were", part(n, m)) },
        );
        Warning::new(WarningKind::ConditionedAnew, text)
            .remedy("mend what made the trial fail, and run the experiment again")
    })
}
