//! What differs in the set-up of two runs.

use std::collections::BTreeSet;

use bakeoff_results::{Applied, Canary, EngineFact, Levels, Machine, Run};
use bakeoff_stats::MARGIN;
use bakeoff_stats::quantile::median;
use serde::Serialize;

use crate::document::Document;

/// Something of the set-up that is not the same in both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetUp {
    /// What it is: `kernel`, `postgres, version`.
    pub what: String,
    /// What it was in the first run; `None` where that has no such thing.
    pub before: Option<String>,
    /// What it was in the second.
    pub after: Option<String>,
}

/// A fact of a run: what it is, and its value.
type Fact = (String, String);

/// All that differs: the program, the machine, what was asked for, the engines and their settings.
pub fn differences(before: &Document, after: &Document) -> Vec<SetUp> {
    let [old, new] = [before, after].map(|document| &document.run.run);
    let [mut one, mut other] = [before, after].map(facts);
    one.extend(settings(old, new));
    other.extend(settings(new, old));
    let mut found = unequal(&one, &other);
    found.extend(alone(before, after));
    found
}

/// The facts that only one of the two has, or that have another value.
fn unequal(before: &[Fact], after: &[Fact]) -> Vec<SetUp> {
    let value = |facts: &[Fact], what: &str| {
        facts.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone())
    };
    let mut seen = BTreeSet::new();
    let names = before.iter().chain(after).map(|(name, _)| name).filter(|name| seen.insert(*name));
    let both = names.map(|name| SetUp {
        what: name.clone(),
        before: value(before, name),
        after: value(after, name),
    });
    both.filter(|it| it.before != it.after).collect()
}

/// How many machines a run was made on.
fn machines(document: &Document) -> usize {
    document.machines.as_ref().map_or(1, |found| found.machines.len())
}

/// What a run's machine is or, of a run that was merged, each thing that its machines are.
fn of_machines(run: &Run, fact: impl Fn(&Machine) -> String) -> String {
    let members = run.merged.iter().flat_map(|merged| &merged.members);
    let mut values: BTreeSet<String> = members.map(|member| fact(&member.machine)).collect();
    if values.is_empty() {
        values.insert(fact(&run.machine));
    }
    values.into_iter().collect::<Vec<_>>().join("; ")
}

fn facts(document: &Document) -> Vec<Fact> {
    let run = &document.run.run;
    let shard = run.shard.as_ref().map(|shard| format!("{}/{}", shard.index, shard.count));
    let build = if run.debug_build { "not optimised" } else { "optimised" };
    let each = run.operations_each.map_or("no limit".to_owned(), |each| each.to_string());
    let named = [
        ("bakeoff", run.version.clone()),
        ("bakeoff’s build", build.to_owned()),
        ("machines", machines(document).to_string()),
        ("shard", shard.unwrap_or_default()),
        ("system", of_machines(run, |it| it.system.clone())),
        ("kernel", of_machines(run, |it| it.kernel.clone())),
        ("processor", of_machines(run, |it| it.processor.clone())),
        ("processors", of_machines(run, |it| it.processors.to_string())),
        ("memory", of_machines(run, |it| format!("{} bytes", it.memory_bytes))),
        ("file system", of_machines(run, |it| it.file_system.clone())),
        ("device", of_machines(run, |it| it.device.clone())),
        ("experiment", run.name.clone()),
        ("seconds of a trial", run.seconds.to_string()),
        ("operations of each kind that end a trial", each),
        ("planner", run.planner.clone().unwrap_or_default()),
        ("seed", run.seed.to_string()),
        ("text", run.text.clone()),
    ];
    let named = named.into_iter().map(|(what, value)| (what.to_owned(), value));
    let levels = run.factors.iter();
    let levels = levels.map(|(factor, levels)| (format!("levels of {factor}"), levels.join(", ")));
    named.chain(levels).chain(run.engines.iter().flat_map(engine)).collect()
}

fn engine(fact: &EngineFact) -> Vec<Fact> {
    let name = &fact.name;
    let version = (format!("{name}, version"), fact.version.clone());
    let settings = fact.settings.iter();
    let settings =
        settings.map(|(level, given)| (format!("{name}, durability {level}"), given.clone()));
    std::iter::once(version).chain(settings).collect()
}

/// What engines were opened with, under the terms that the other run has, too.
fn settings(run: &Run, other: &Run) -> Vec<Fact> {
    fn terms(it: &Applied) -> (&str, &str, &str, &Levels) {
        (&it.engine, &it.durability, &it.memory, &it.options)
    }
    let shared = |it: &&Applied| other.applied.iter().any(|there| terms(there) == terms(it));
    let of = |it: &Applied| {
        let options = it.options.iter().map(|(name, level)| format!(", {name} {level}"));
        let options: String = options.collect();
        let Applied { engine, durability, memory, settings, .. } = it;
        let facts = settings.iter().map(|setting| {
            let what = &setting.name;
            let what = format!("{engine}, {what} ({durability}, {memory} memory{options})");
            (what, setting.value.clone())
        });
        facts.collect::<Vec<Fact>>()
    };
    run.applied.iter().filter(shared).flat_map(of).collect()
}

/// What the machines did alone, where their medians are further apart than differences that matter. Of a run
/// on several machines it is the median of all, and is called so.
fn alone(before: &Document, after: &Document) -> Vec<SetUp> {
    type Reading = fn(&Canary) -> Option<f64>;
    let readings: [(&str, Reading); 4] = [
        ("arithmetic", |it| Some(it.cpu_s)),
        ("copying", |it| Some(it.memory_s)),
        ("a sync", |it| Some(it.sync_s)),
        ("a read", |it| it.read_s),
    ];
    let are_several = [before, after].into_iter().any(|document| machines(document) > 1);
    let whose = if are_several { "median of each run’s machines" } else { "the machine" };
    let apart = |(what, of): (&str, Reading)| {
        let middle =
            |canaries: &[Canary]| median(&canaries.iter().filter_map(of).collect::<Vec<f64>>());
        let (one, other) = (middle(&before.canaries)?, middle(&after.canaries)?);
        let milliseconds = |seconds: f64| Some(format!("{:.3} ms", seconds * 1e3));
        let differs = (other / one).ln().abs() > MARGIN.ln_1p();
        differs.then(|| SetUp {
            what: format!("{whose} alone, {what}"),
            before: milliseconds(one),
            after: milliseconds(other),
        })
    };
    readings.into_iter().filter_map(apart).collect()
}
