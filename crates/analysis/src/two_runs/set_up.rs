use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{
    Applied, Canary, DiskFact, EngineFact, Levels, Machine, Platform, Run, short_sum,
};
use bakeoff_stats::MARGIN;
use bakeoff_stats::quantile::median;
use serde::Serialize;

use crate::document::Document;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupChange {
    /// `kernel`, or `postgres, version`.
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

type Fact = (String, String);

pub fn find_differences(before: &Document, after: &Document) -> Vec<SetupChange> {
    let [old, new] = [before, after].map(|document| &document.run.run);
    let [mut one, mut other] = [before, after].map(collect_facts);
    one.extend(collect_settings(old, new));
    other.extend(collect_settings(new, old));
    let [old, new] = [old, new].map(told_by_few);
    one.extend(in_both(&old, &new));
    other.extend(in_both(&new, &old));
    let mut found = find_unequal(&one, &other);
    found.extend(compare_canaries(before, after));
    found
}

/// An unknown fact of the other run is no difference.
fn in_both(facts: &[Fact], other: &[Fact]) -> Vec<Fact> {
    let is_there = |(what, _): &&Fact| other.iter().any(|(there, _)| there == what);
    facts.iter().filter(is_there).cloned().collect()
}

fn find_unequal(before: &[Fact], after: &[Fact]) -> Vec<SetupChange> {
    let value = |facts: &[Fact], what: &str| {
        facts.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone())
    };
    let mut seen = BTreeSet::new();
    let names = before.iter().chain(after).map(|(name, _)| name).filter(|name| seen.insert(*name));
    let both = names.map(|name| SetupChange {
        what: name.clone(),
        before: value(before, name),
        after: value(after, name),
    });
    both.filter(|it| it.before != it.after).collect()
}

fn count_machines(document: &Document) -> usize {
    document.machines.as_ref().map_or(1, |found| found.machines.len())
}

/// Facts that not every machine reports, and older versions did not record.
fn told_by_few(run: &Run) -> Vec<Fact> {
    let later = run.takeovers.iter().filter_map(|it| it.by.program_sha256.as_ref());
    let programs = run.program_sha256.iter().chain(later);
    let programs: BTreeSet<&str> = programs.map(|sum| short_sum(sum)).collect();
    let programs = programs.into_iter().collect::<Vec<_>>().join("; ");
    let mut facts = vec![("bakeoff’s SHA-256".to_owned(), programs)];
    facts.retain(|(_, value)| !value.is_empty());
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (what, value) in machines_of(run).into_iter().flat_map(Machine::settings) {
        values.entry(what).or_default().insert(value);
    }
    let joined = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join("; ");
    facts.extend(values.into_iter().map(|(what, all)| (what.to_owned(), joined(all))));
    facts
}

fn machines_of(run: &Run) -> Vec<&Machine> {
    match run.merged.as_ref().map(|merged| &merged.members) {
        Some(members) if !members.is_empty() => members.iter().map(|it| &it.machine).collect(),
        _ => vec![&run.machine],
    }
}

/// In a merged run, every value that its machines have.
fn of_machines(run: &Run, fact: impl Fn(&Machine) -> String) -> String {
    let values: BTreeSet<String> = machines_of(run).into_iter().map(fact).collect();
    values.into_iter().collect::<Vec<_>>().join("; ")
}

/// A value, and those of the programs that took the run over.
fn with_later(run: &Run, first: String, of: fn(&Platform) -> &String) -> String {
    let mut values = vec![first];
    for value in run.takeovers.iter().map(|it| of(&it.by)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values.join("; ")
}

fn collect_facts(document: &Document) -> Vec<Fact> {
    let run = &document.run.run;
    let shard = run.shard.as_ref().map(|shard| format!("{}/{}", shard.index, shard.count));
    let build = if run.debug_build { "not optimised" } else { "optimised" };
    let each = run.operations_each.map_or("no limit".to_owned(), |each| each.to_string());
    let named = [
        ("bakeoff", with_later(run, run.version.clone(), |it| &it.version)),
        ("bakeoff’s build", build.to_owned()),
        ("machines", count_machines(document).to_string()),
        ("shard", shard.unwrap_or_default()),
        ("system", of_machines(run, |it| it.system.clone())),
        ("kernel", with_later(run, of_machines(run, |it| it.kernel.clone()), |it| &it.kernel)),
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
    let engines = run.engines.iter().flat_map(describe_engine);
    named.chain(levels).chain(list_timed_models(run)).chain(engines).collect()
}

/// The same level `like:PATH` may be another model in each run.
fn list_timed_models(run: &Run) -> Vec<Fact> {
    let fact = |disk: &DiskFact| {
        Some((format!("model of the disk {}", disk.level), disk.timed.as_ref()?.model.clone()))
    };
    run.disks.iter().filter_map(fact).collect()
}

fn describe_engine(fact: &EngineFact) -> Vec<Fact> {
    let name = &fact.name;
    let version = (format!("{name}, version"), fact.version.clone());
    let settings = fact.settings.iter();
    let settings =
        settings.map(|(level, given)| (format!("{name}, durability {level}"), given.clone()));
    std::iter::once(version).chain(settings).collect()
}

fn collect_settings(run: &Run, other: &Run) -> Vec<Fact> {
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

/// Readings of the machines alone, if the medians are further apart than differences that matter.
/// For several machines it is the median of all, and is named so.
fn compare_canaries(before: &Document, after: &Document) -> Vec<SetupChange> {
    type Reading = fn(&Canary) -> Option<f64>;
    let readings: [(&str, Reading); 4] = [
        ("arithmetic", |it| Some(it.cpu_s)),
        ("copying", |it| Some(it.memory_s)),
        ("a sync", |it| Some(it.sync_s)),
        ("a read", |it| it.read_s),
    ];
    let are_several = [before, after].into_iter().any(|document| count_machines(document) > 1);
    let whose = if are_several { "median of each run’s machines" } else { "the machine" };
    let apart = |(what, of): (&str, Reading)| {
        let middle =
            |canaries: &[Canary]| median(&canaries.iter().filter_map(of).collect::<Vec<f64>>());
        let (one, other) = (middle(&before.canaries)?, middle(&after.canaries)?);
        let milliseconds = |seconds: f64| Some(format!("{:.3} ms", seconds * 1e3));
        let differs = (other / one).ln().abs() > MARGIN.ln_1p();
        differs.then(|| SetupChange {
            what: format!("{whose} alone, {what}"),
            before: milliseconds(one),
            after: milliseconds(other),
        })
    };
    readings.into_iter().filter_map(apart).collect()
}
