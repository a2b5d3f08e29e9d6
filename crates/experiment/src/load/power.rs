//! Checks experiments that cut the power, or that have nothing to run.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::MOST_REPETITIONS;

use crate::disks::EXAMPLE;
use crate::layer::LocatedLevels;
use crate::level::{each_once, without_alias};
use crate::message::{ExperimentProblem, SourceSpan};
use crate::{CutBy, Experiment, Factor, HOST, Vocabulary, WorkloadNames};

/// `given` are the levels as written; `asked` is the place that asks for cuts.
pub(super) fn check_power_cuts(
    experiment: &Experiment,
    given: &BTreeMap<Factor, LocatedLevels>,
    asked: Option<&SourceSpan>,
    workload: &WorkloadNames,
    vocabulary: &Vocabulary,
) -> Vec<ExperimentProblem> {
    let at = |factor: Factor, wrong: &str, problem: ExperimentProblem| {
        let written = given.get(&factor).into_iter().flatten();
        match written.into_iter().find(|level| without_alias(&level.value) == wrong) {
            Some(level) => problem.at_place(&level.place),
            None => problem,
        }
    };
    let engines = each_once(experiment.factors.get(&Factor::ENGINE).into_iter().flatten());
    let forgetful = engines.iter().filter(|engine| !vocabulary.engines.stores(engine));
    let mut problems = Vec::new();
    if workload.reads_back {
        let each =
            |engine: &&str| at(Factor::ENGINE, engine, explain_forgetful(engine, &workload.name));
        problems.extend(forgetful.clone().map(each));
    }
    let Some(asked) = asked else {
        if experiment.repetitions == 0 {
            problems.push(nothing_to_run());
        }
        return problems;
    };
    if let Err(reason) = &workload.cut_by {
        problems.push(no_cuts(&workload.name, reason).at_place(asked));
        return problems;
    }
    let every = experiment.cuts.as_ref().filter(|cuts| cuts.every.is_some());
    if every.is_some_and(|cuts| cuts.by.promise != CutBy::OF_ENGINES) {
        problems.push(no_engine(&workload.name).at_place(asked));
    }
    if let (true, Some(first)) = (problems.is_empty(), forgetful.clone().next())
        && forgetful.count() == engines.len()
    {
        problems.push(at(Factor::ENGINE, first, nothing_to_cut(first)));
    }
    // If another engine can be cut, the plan says that this one is not.
    let storing = engines.iter().filter(|engine| vocabulary.engines.stores(engine));
    let (elsewhere, ours): (BTreeSet<&str>, BTreeSet<&str>) =
        storing.partition(|engine| engine.contains("://"));
    if ours.is_empty() {
        problems.extend(elsewhere.into_iter().map(|url| at(Factor::ENGINE, url, not_ours(url))));
    }
    if experiment.cut_disk().is_none() {
        problems.push(at(Factor::DISK, HOST, our_own(EXAMPLE)));
    }
    problems
}

fn explain_forgetful(engine: &str, workload: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "`{engine}` stores nothing, and the clients of `{workload}` read again what they wrote"
    ))
    .with_help(format!("leave `{engine}` out, or measure the harness with another workload"))
}

fn no_cuts(workload: &str, reason: &str) -> ExperimentProblem {
    ExperimentProblem::in_lines(&format!("no power can be cut under `{workload}`: {reason}"))
        .with_help("run the trials alone: leave out `cuts`, `--cuts` and `--cut-number`")
}

fn no_engine(workload: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "every moment is cut of an engine's clients alone, and `{workload}` has no engine"
    ))
    .with_help("give a number of cuts: `--cuts 50`")
}

fn nothing_to_run() -> ExperimentProblem {
    ExperimentProblem::new("with 0 repetitions there is nothing to run").with_help(format!(
        "give --repetitions (or the key) 1 to {MOST_REPETITIONS}; 0 is only for a run of power cuts, \
         with `cuts`"
    ))
}

fn nothing_to_cut(engine: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "no power can be cut: `{engine}` stores nothing that a cut could take"
    ))
    .with_help("name an engine that stores its data, or leave the cuts out: `--cuts 0`")
}

fn not_ours(url: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "the power of `{url}` can't be cut: it is somebody else's server"
    ))
    .with_help("cut that of an engine that bakeoff starts itself (see `bakeoff list engines`)")
    .with_help("or run the trials alone: `--cuts 0`")
}

fn our_own(example: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "the power of the disk `{HOST}` can't be cut: it is this machine's own, and would take \
         the machine with it"
    ))
    .with_help(format!(
        "use a virtual disk, which can lose its power by itself: `disk = \"{example}\"`, or \
         `--disk {example}`"
    ))
}
