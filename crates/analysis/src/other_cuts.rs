//! Power cuts of other runs, of engines or disks at levels that this run has, too.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Applied, Cut, OwnFactor, PromiseFactors, Run};

use crate::document::{Document, OtherCuts};
use crate::promises::PromiseView;
use crate::warning::{self, Warning, WarningKind};

impl Document {
    /// Takes the findings of power cuts of the run in `folder` at levels that this run has, too.
    /// Cuts of another version, or under other settings of the user's own, are left out, with a
    /// warning. Returns how many promises the runs share, those left out included.
    pub fn take_cuts(&mut self, folder: &str, other: &Document) -> usize {
        let run = &self.run.run;
        let plan = other.run.run.cuts.as_ref();
        let factors = plan.map(|plan| plan.promise.clone()).unwrap_or_default();
        let has = |factor: &str, level: &str| resolve_aliases(run, factor).contains(level);
        let common: Vec<&PromiseView> = other
            .promises
            .iter()
            .filter(|it| has(&factors.who, &it.engine) && has(&factors.what, &it.durability))
            .filter(|it| it.cuts > 0)
            .collect();
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for promise in &common {
            let compared = match factors.is_of_engines() {
                true => compare_engines(run, &other.run.run, promise),
                false => Ok(differing_levels(run, &other.run.run, &factors)),
            };
            match compared {
                Ok(mut differences) => {
                    differences.extend(other_machine(run, &other.run.run));
                    taken.push(other_cuts(folder, other, promise, differences));
                }
                Err(reason) => left_out.push(Warning::new(
                    WarningKind::CutsLeftOut,
                    format!(
                        "the power cuts of {folder} say nothing of {} at {} in this run: {reason}",
                        promise.engine, promise.durability
                    ),
                )),
            }
        }
        let common = common.len();
        self.other_cuts.extend(taken);
        self.warnings.extend(left_out);
        self.judge_promises();
        warning::sort(&mut self.warnings);
        common
    }
}

fn other_cuts(
    folder: &str,
    other: &Document,
    promise: &PromiseView,
    differences: Vec<String>,
) -> OtherCuts {
    let of = |cut: &&Cut| promise.is_of(cut);
    OtherCuts {
        folder: folder.to_owned(),
        plan: other.run.run.cuts.clone(),
        promise: promise.clone(),
        cuts: other.cuts.iter().filter(of).cloned().collect(),
        differences,
    }
}

fn resolve_aliases<'a>(run: &'a Run, factor: &str) -> BTreeSet<&'a str> {
    let levels = run.levels_of(factor).iter();
    levels.map(|level| run.resolve_alias(factor, level).unwrap_or(level)).collect()
}

/// Where disks promise: the other factors whose levels differ, but for the number of clients. A
/// disk is its name and its parameters, and has no version.
fn differing_levels(run: &Run, other: &Run, promise: &PromiseFactors) -> Vec<String> {
    let names = run.factors.iter().chain(&other.factors).map(|(name, _)| name.as_str());
    let names: BTreeSet<&str> = names
        .filter(|name| *name != promise.who && *name != promise.what)
        .filter(|name| *name != OwnFactor::Clients)
        .collect();
    let words = |levels: BTreeSet<&str>| match levels.is_empty() {
        true => "not a factor".to_owned(),
        false => levels.into_iter().collect::<Vec<_>>().join(" or "),
    };
    let sentence = |name: &str| {
        let [here, there] = [run, other].map(|run| resolve_aliases(run, name));
        let differ = here != there;
        differ.then(|| format!("{name} is {} there, and {} here", words(there), words(here)))
    };
    names.into_iter().filter_map(sentence).collect()
}

/// Harmless differences of an engine; the error is one that matters.
fn compare_engines(run: &Run, other: &Run, promise: &PromiseView) -> Result<Vec<String>, String> {
    let [here, there] = [run, other].map(|run| find_version_and_settings(run, promise));
    let ([Some(version), level], [Some(version_there), level_there]) = (here, there) else {
        return Err("its version is not known".to_owned());
    };
    if version != version_there {
        return Err(format!("it is version {version_there} there, and {version} here"));
    }
    if level != level_there {
        let words = |level: Option<&str>| level.unwrap_or("nothing").to_owned();
        let (there, here) = (words(level_there), words(level));
        return Err(format!("the level is given by `{there}` there, and by `{here}` here"));
    }
    let [here, there] = [run, other].map(|run| find_applied(run, promise));
    if here.is_empty() || there.is_empty() {
        return Ok(vec![
            "the settings it was opened with are not recorded for both runs".to_owned(),
        ]);
    }
    let own = name_differing_settings(&here, &there, true);
    match own.is_empty() {
        true => Ok(name_differing_settings(&here, &there, false)),
        false => Err(own.join("; ")),
    }
}

/// The machine has no part in the promise: the disk is simulated, and the engine the same.
fn other_machine(here: &Run, there: &Run) -> Option<String> {
    let [here, there] = [here, there].map(|run| (&run.machine.processor, run.machine.processors));
    let words = |(name, number): (&String, u32)| format!("{name} with {number} processors");
    (here != there)
        .then(|| format!("the machine is {} there, and {} here", words(there), words(here)))
}

fn find_version_and_settings<'a>(run: &'a Run, promise: &PromiseView) -> [Option<&'a str>; 2] {
    let fact = run.engines.iter().find(|fact| fact.name == promise.engine);
    let level = fact.and_then(|fact| {
        let level = fact.settings.iter().find(|(name, _)| *name == promise.durability);
        level.map(|(_, settings)| settings.as_str())
    });
    [fact.map(|fact| fact.version.as_str()), level]
}

fn find_applied<'a>(run: &'a Run, promise: &PromiseView) -> Vec<&'a Applied> {
    let same =
        |one: &&Applied| (&one.engine, &one.durability) == (&promise.engine, &promise.durability);
    run.applied.iter().filter(same).collect()
}

/// `own`: the user's own settings; else those that follow from the terms.
fn name_differing_settings(here: &[&Applied], there: &[&Applied], own: bool) -> Vec<String> {
    let [here, there] = [here, there].map(|opened| collect_setting_values(opened, own));
    let names: BTreeSet<&str> = here.keys().chain(there.keys()).copied().collect();
    let words = |values: Option<&BTreeSet<&str>>| match values {
        None => "its default".to_owned(),
        Some(values) => values.iter().copied().collect::<Vec<_>>().join(" or "),
    };
    let differs = |name: &&str| here.get(name) != there.get(name);
    let sentence = |name| {
        format!("{name} is {} there, and {} here", words(there.get(name)), words(here.get(name)))
    };
    names.into_iter().filter(differs).map(sentence).collect()
}

fn collect_setting_values<'a>(
    opened: &[&'a Applied],
    own: bool,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let settings = opened.iter().flat_map(|one| &one.settings);
    for setting in settings.filter(|setting| setting.reason.is_none() == own) {
        values.entry(&setting.name).or_default().insert(&setting.value);
    }
    values
}
