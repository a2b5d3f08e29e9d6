//! Power cuts: how many are made, and by which rules each is judged.

use std::collections::{BTreeMap, BTreeSet};

use crate::layer::{Given, Layer, Levels};
use crate::level;
use crate::message::{Place, Problem};
use crate::{Cell, Experiment, Factor, HOST, Vocabulary, WorkloadNames, base};

/// The rules for what a power cut leaves, from mild to harsh.
pub const KEEPS: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];

/// The most cuts of an engine at a level.
pub const MOST_CUTS: u32 = 10_000;

/// What is asked for of power cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// How many are made of each engine at each level of durability.
    pub count: u32,
    /// The rules that each is judged by, at least one of [`KEEPS`].
    pub keep: Vec<String>,
    /// Whether the power goes a second time, while the engine recovers from the first cut.
    pub recovery: bool,
    /// Which one is made alone, counted from 0: one that was made before and is to be repeated.
    pub only: Option<u32>,
    /// The workload whose clients are at work when the power goes.
    pub workload: String,
    /// The engines whose power is cut, without aliases: those of the experiment that store
    /// something, each once.
    pub engines: Vec<String>,
}

impl Cuts {
    /// The numbers of the cuts that are made of each engine at each level.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        self.only.map_or(0..self.count, |only| only..only + 1)
    }
}

impl Experiment {
    /// The disk that the power is cut of: the first that is a virtual one.
    pub fn cut_disk(&self) -> Option<&str> {
        let levels = self.factors.get(&Factor::Disk).into_iter().flatten();
        levels.map(|level| base(level)).find(|level| *level != HOST)
    }

    /// How many clients are at work when the power goes: the most that the experiment names.
    ///
    /// # Panics
    /// When [`Experiment::factors`] holds what was not checked.
    pub fn cut_clients(&self) -> usize {
        let levels = self.factors[&Factor::Clients].iter();
        let numbers = levels.map(|level| base(level).parse().expect("a checked level"));
        numbers.max().expect("a factor has a level")
    }

    /// The workload whose clients are at work when the power goes.
    ///
    /// # Panics
    /// When no power is cut.
    pub fn cut_workload(&self) -> &str {
        &self.cuts.as_ref().expect("an experiment that cuts the power").workload
    }

    /// A cell with that engine at that level of durability: of each other factor the first level.
    pub fn cut_cell(&self, engine: &str, durability: &str) -> Cell {
        let level = |(factor, levels): (&Factor, &Vec<String>)| {
            let level = match factor {
                Factor::Engine => engine,
                Factor::Durability => durability,
                _ => base(&levels[0]),
            };
            (*factor, level.to_owned())
        };
        Cell::new(self.factors.iter().map(level))
    }

    /// The engines and levels of durability whose power is cut, each once; none where no power is
    /// cut.
    pub fn cut_cells(&self) -> Vec<(&str, &str)> {
        let engines = self.cuts.iter().flat_map(|cuts| &cuts.engines);
        let durabilities = each_once(self.factors.get(&Factor::Durability).into_iter().flatten());
        let cells = engines
            .flat_map(|engine| durabilities.iter().map(move |durability| (&**engine, *durability)));
        cells.collect()
    }
}

/// Levels without their aliases, each once.
fn each_once<'a>(levels: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    levels.map(|level| base(level)).filter(|name| seen.insert(*name)).collect()
}

/// How many cuts; 0 for none.
pub(crate) fn count(count: u64) -> Result<u32, Problem> {
    u32::try_from(count).ok().filter(|count| *count <= MOST_CUTS).ok_or_else(|| {
        Problem::new(format!("the power can't be cut {count} times"))
            .help(format!("valid: 0 to {MOST_CUTS}, of each engine at each level of durability"))
    })
}

/// Which one alone.
pub(crate) fn only(number: u64) -> Result<u32, Problem> {
    u32::try_from(number).ok().filter(|number| *number < MOST_CUTS).ok_or_else(|| {
        Problem::new(format!("there is no power cut number {number}"))
            .help(format!("valid: 0 to {}", MOST_CUTS - 1))
    })
}

/// Rules, each once.
pub(crate) fn keep(names: Vec<Given<String>>) -> Result<Vec<String>, Problem> {
    let mut rules: Vec<String> = Vec::new();
    for Given { value, place } in names {
        let rule = level::one_of("rule", &value, &KEEPS).map_err(|problem| problem.at(&place))?;
        if rules.contains(&rule) {
            return Err(Problem::new(format!("`{rule}` is twice among the rules of `keep`"))
                .at(&place)
                .help("leave one out"));
        }
        rules.push(rule);
    }
    if rules.is_empty() {
        return Err(
            Problem::new("`keep` names no rule").help(format!("valid: {}", KEEPS.join(", ")))
        );
    }
    Ok(rules)
}

/// What the layers say of cuts, made whole; `None` where none are made.
pub(crate) fn settle(
    layer: &Layer,
    workload: &WorkloadNames,
    factors: &BTreeMap<Factor, Vec<String>>,
    vocabulary: &Vocabulary,
) -> Option<Cuts> {
    asked(layer)?;
    let mut engines = each_once(factors.get(&Factor::Engine).into_iter().flatten());
    engines.retain(|engine| vocabulary.engines.stores(engine));
    Some(Cuts {
        count: layer.cuts.as_ref().map_or(0, |cuts| cuts.value),
        keep: layer.keep.clone().unwrap_or_else(|| KEEPS.map(str::to_owned).into()),
        recovery: layer.cut_recovery.unwrap_or(false),
        only: layer.cut_number.as_ref().map(|only| only.value),
        // Where there is none, the check refuses the cuts.
        workload: workload.cut_by.clone().unwrap_or_default(),
        engines: engines.into_iter().map(str::to_owned).collect(),
    })
}

/// Where cuts are asked for, if they are.
pub(crate) fn asked(layer: &Layer) -> Option<&Place> {
    let count = layer.cuts.as_ref().filter(|count| count.value > 0);
    layer.cut_number.as_ref().or(count).map(|given| &given.place)
}

/// What is wrong with an experiment that cuts the power, or that has nothing to run. `given` are
/// the levels as they were written, and `asked` is where cuts are asked for.
pub(crate) fn check(
    experiment: &Experiment,
    given: &BTreeMap<Factor, Levels>,
    asked: Option<&Place>,
    workload: &WorkloadNames,
    vocabulary: &Vocabulary,
) -> Vec<Problem> {
    let at = |factor: Factor, wrong: &str, problem: Problem| {
        let written = given.get(&factor).into_iter().flatten();
        match written.into_iter().find(|level| base(&level.value) == wrong) {
            Some(level) => problem.at(&level.place),
            None => problem,
        }
    };
    let engines = each_once(experiment.factors.get(&Factor::Engine).into_iter().flatten());
    let forgetful = engines.iter().filter(|engine| !vocabulary.engines.stores(engine));
    let mut problems = Vec::new();
    if workload.reads_back {
        let each = |engine: &&str| at(Factor::Engine, engine, forgets(engine, &workload.name));
        problems.extend(forgetful.clone().map(each));
    }
    let Some(asked) = asked else {
        if experiment.repetitions == 0 {
            problems.push(nothing_to_run());
        }
        return problems;
    };
    if let Err(reason) = &workload.cut_by {
        problems.push(no_cuts(&workload.name, reason).at(asked));
        return problems;
    }
    if let (true, Some(first)) = (problems.is_empty(), forgetful.clone().next())
        && forgetful.count() == engines.len()
    {
        problems.push(at(Factor::Engine, first, nothing_to_cut(first)));
    }
    let elsewhere: BTreeSet<&str> =
        engines.into_iter().filter(|engine| engine.contains("://")).collect();
    problems.extend(elsewhere.into_iter().map(|url| at(Factor::Engine, url, not_ours(url))));
    if experiment.cut_disk().is_none() {
        problems.push(at(Factor::Disk, HOST, our_own(vocabulary.disks.example())));
    }
    problems
}

fn forgets(engine: &str, workload: &str) -> Problem {
    Problem::new(format!(
        "`{engine}` stores nothing, and the clients of `{workload}` read again what they wrote"
    ))
    .help(format!("leave `{engine}` out, or measure the harness with another workload"))
}

fn no_cuts(workload: &str, reason: &str) -> Problem {
    Problem::in_lines(&format!("no power can be cut under `{workload}`: {reason}"))
        .help("run the trials alone: leave out `cuts`, `--cuts` and `--cut-number`")
}

fn nothing_to_run() -> Problem {
    Problem::new("with 0 repetitions there is nothing to run")
        .help("give --repetitions (or the key) 1 to 1000; 0 is for power cuts alone, beside `cuts`")
}

fn nothing_to_cut(engine: &str) -> Problem {
    Problem::new(format!("no power can be cut: `{engine}` stores nothing that a cut could take"))
        .help("name an engine that stores its data, or leave the cuts out: `--cuts 0`")
}

fn not_ours(url: &str) -> Problem {
    Problem::new(format!("the power of `{url}` can't be cut: it is somebody else's server"))
        .help("cut that of an engine that bakeoff starts itself (see `bakeoff list engines`)")
        .help("or run the trials alone: `--cuts 0`")
}

fn our_own(example: &str) -> Problem {
    Problem::new(format!(
        "the power of the disk `{HOST}` can't be cut: it is this machine's own, and would take \
         the machine with it"
    ))
    .help(format!(
        "a virtual disk loses its power alone: `disk = \"{example}\"`, or `--disk {example}`"
    ))
}
