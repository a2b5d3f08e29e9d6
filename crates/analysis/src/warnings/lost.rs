//! Warnings about trials that failed or do not count, and about engines on external servers.

use std::collections::BTreeSet;

use bakeoff_results::{ConnectionSecurity, Disturbed, OwnFactor, Run, TrialSummary, in_words};

use super::figures::{format_otherwise, pair_in_words, told_of};
use super::{describe_place, format_part};
use crate::comparison::Comparison;
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_lost_trials(run: &Run, trials: &[&TrialSummary]) -> [Option<Warning>; 2] {
    let say = |lost: Vec<&TrialSummary>, kind, how: &str| {
        let first = lost.first()?;
        let reason = first.reason.as_deref().unwrap_or("no reason was given");
        let (part, place) =
            (format_part(lost.len(), trials.len()), describe_place(run, &first.levels));
        Some(Warning::new(kind, format!("{part} {how}; the first at {place}: {reason}")))
    };
    let (failed, disturbed): (Vec<&TrialSummary>, Vec<&TrialSummary>) =
        trials.iter().copied().filter(|trial| !trial.valid).partition(|trial| trial.has_failed());
    let how = if disturbed.len() == 1 {
        "does not count, though it ended"
    } else {
        "do not count, though they ended"
    };
    [
        say(failed, WarningKind::TrialsFailed, "failed"),
        say(disturbed, WarningKind::TrialsNotCounted, how),
    ]
}

pub(super) fn warn_of_left_out_cells(run: &Run) -> Option<Warning> {
    let cells = run.left_out.iter().map(|it| format!("{} ({})", in_words(&it.levels), it.why));
    let cells: Vec<String> = cells.collect();
    (!cells.is_empty()).then(|| {
        let cells = cells.join("; ");
        let text = format!(
            "cells that are not possible were not run and are compared with nothing: {cells}"
        );
        Warning::new(WarningKind::LeftOut, text)
    })
}

pub(super) fn warn_of_set_aside_trials(
    aside: &[&TrialSummary],
    disturbed: &[Disturbed],
    (run, compared): (&Run, &[&Comparison]),
) -> Option<Warning> {
    let by_machine = |trial: &&&TrialSummary| {
        disturbed.iter().any(|it| (it.block, it.attempt) == (trial.block, trial.attempt))
    };
    let why = match aside.iter().filter(by_machine).count() {
        0 => "when the run was interrupted",
        all if all == aside.len() => "because the machine was disturbed",
        _ => "when the run was interrupted or the machine disturbed",
    };
    let blocks: BTreeSet<u32> = aside.iter().map(|trial| trial.block).collect();
    let (trials, was) = match aside.len() {
        0 => return None,
        1 => ("1 trial".to_owned(), "was"),
        number => (format!("{number} trials"), "were"),
    };
    let again = match (aside.len(), blocks.len()) {
        (1, _) => "its block was",
        (_, 1) => "their block was",
        _ => "their blocks were",
    };
    let ratio = compared.iter().find_map(|it| Some((it, it.with_set_aside?.ratio_of_added(it)?)));
    let ratio = ratio.map_or_else(String::new, |(it, added)| {
        let shown =
            told_of(&Comparison { ratio: Some(added), low: None, high: None, ..(**it).clone() });
        let shown = shown.split(',').next().unwrap_or_default().to_owned();
        let (what, pair) = (&it.operation, pair_in_words(run, it));
        format!("; they had a ratio of {shown} in {what} of {pair}, where {} is told", told_of(it))
    });
    let text = format!("{trials} {was} set aside {why}; {again} run again{ratio}");
    Some(Warning::new(WarningKind::SetAside, text))
}

pub(super) fn warn_if_set_aside_decides(run: &Run, compared: &[&Comparison]) -> Option<Warning> {
    let differs = |it: &&&Comparison| {
        let all = it.with_set_aside;
        all.is_some_and(|all| all.is_outside(it) || all.verdict != it.verdict)
    };
    let differ: Vec<&&Comparison> = compared.iter().filter(differs).collect();
    let first = differ.first()?;
    let all = first.with_set_aside?;
    let text = format!(
        "{} of {} ratios would be others if the trials that were set aside counted; the first is \
         {} of {}: {} with all {} pairs, {} without those that were set aside",
        differ.len(),
        compared.len(),
        first.operation,
        pair_in_words(run, first),
        format_otherwise(&all, first),
        all.pairs,
        told_of(first)
    );
    let warning = Warning::new(WarningKind::SetAsideDecides, text);
    Some(warning.with_remedy("repeat the run on a machine that nobody else uses"))
}

pub(super) fn warn_of_external_engines(run: &Run) -> Option<Warning> {
    let levels = run.base_levels(OwnFactor::Engine.as_str());
    let urls: Vec<&str> = levels.filter(|level| level.contains("://")).collect();
    (!urls.is_empty()).then(|| {
        let text = format!(
            "somebody else runs {}: its database is emptied and loaded anew for each trial that \
             can start, so that trials do not start from the same bytes; its settings, memory and \
             disk are what its owner gave it, and who else uses it is not known",
            urls.join(" and ")
        );
        Warning::new(WarningKind::ExternalServer, text)
    })
}

pub fn warn_of_unprotected_connections<'e>(
    engines: impl IntoIterator<Item = (&'e str, ConnectionSecurity)>,
) -> Vec<Warning> {
    let engines: Vec<(&str, ConnectionSecurity)> = engines.into_iter().collect();
    let of = |wanted: ConnectionSecurity| {
        let names = engines.iter().filter(|(_, transport)| *transport == wanted);
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let plain = of(ConnectionSecurity::Plain).map(|names| {
        let text = format!(
            "what is sent to {names} and back crosses the network without TLS: anybody on the way \
             can read and change it"
        );
        Warning::new(WarningKind::WithoutTls, text)
    });
    let unverified = of(ConnectionSecurity::Unverified).map(|names| {
        let text = format!(
            "the certificate of {names} is not verified: somebody on the way can answer in its \
             place, and read and change what is sent"
        );
        Warning::new(WarningKind::NotVerified, text)
    });
    plain.into_iter().chain(unverified).collect()
}
