//! Trials that say nothing, and engines of which little is known.

use std::collections::BTreeSet;

use bakeoff_results::{Disturbed, Run, Transport, TrialSummary};

use super::{part, place};

/// Trials that failed or don't count; those that were set aside aren't among `trials`.
pub(super) fn lost(run: &Run, trials: &[&TrialSummary]) -> [Option<String>; 2] {
    let say = |lost: Vec<&TrialSummary>, how: &str| {
        let first = lost.first()?;
        let reason = first.reason.as_deref().unwrap_or("no reason was given");
        let (part, place) = (part(lost.len(), trials.len()), place(run, &first.levels));
        Some(format!("{part} {how}; the first at {place}: {reason}"))
    };
    let (failed, disturbed): (Vec<&TrialSummary>, Vec<&TrialSummary>) =
        trials.iter().copied().filter(|trial| !trial.valid).partition(|trial| trial.failed());
    let how = if disturbed.len() == 1 {
        "does not count, though it ended"
    } else {
        "do not count, though they ended"
    };
    [say(failed, "failed"), say(disturbed, how)]
}

/// Trials that don't count because their block was run again, and why it was.
pub(super) fn set_aside(aside: &[&TrialSummary], disturbed: &[Disturbed]) -> Option<String> {
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
    Some(format!("{trials} {was} set aside {why}; {again} run again"))
}

/// Engines that are known by a URL: no image of their data is restored.
pub(super) fn elsewhere(run: &Run) -> Option<String> {
    let (_, levels) = run.factors.iter().find(|(factor, _)| factor == "engine")?;
    let levels = levels.iter().filter(|level| run.alias("engine", level).is_none());
    let urls: Vec<&str> =
        levels.map(String::as_str).filter(|level| level.contains("://")).collect();
    (!urls.is_empty()).then(|| {
        format!(
            "somebody else runs {}: its database is emptied and loaded anew for each trial \
             that can start, so that trials do not start from the same bytes; its settings, memory and disk are what \
             its owner gave it, and who else uses it is not known",
            urls.join(" and ")
        )
    })
}

/// What others may read or change on its way to servers that somebody else runs, and back.
pub fn unprotected<'e>(engines: impl IntoIterator<Item = (&'e str, Transport)>) -> Vec<String> {
    let engines: Vec<(&str, Transport)> = engines.into_iter().collect();
    let of = |wanted: Transport| {
        let names = engines.iter().filter(|(_, transport)| *transport == wanted);
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let plain = of(Transport::Plain).map(|names| {
        format!(
            "what is sent to {names} and back crosses the network without TLS: anybody on the way \
             can read and change it"
        )
    });
    let unverified = of(Transport::Unverified).map(|names| {
        format!(
            "the certificate of {names} is not verified: somebody on the way can answer in its \
             place, and read and change what is sent"
        )
    });
    plain.into_iter().chain(unverified).collect()
}
