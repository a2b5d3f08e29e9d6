//! Power cuts: how many are made, and by which rules each is judged.

use std::collections::{BTreeMap, BTreeSet};

use crate::layer::{Given, Levels};
use crate::level;
use crate::message::Problem;
use crate::{Experiment, Factor, HOST, base};

/// The rules for what a power cut leaves, from mild to harsh.
pub const KEEPS: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];

/// The most cuts of an engine at a level.
pub const MOST_CUTS: u32 = 10_000;

/// The engine that stores nothing.
const HARNESS: &str = "null";

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
        self.factors[&Factor::Disk].iter().map(|level| base(level)).find(|level| *level != HOST)
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

    /// The engines and levels of durability whose power is cut, each once.
    pub fn cut_cells(&self) -> Vec<(&str, &str)> {
        let bases = |factor: Factor| {
            let mut bases: Vec<&str> = self.factors[&factor].iter().map(|l| base(l)).collect();
            let mut seen = std::collections::BTreeSet::new();
            bases.retain(|name| seen.insert(*name));
            bases
        };
        let durabilities = bases(Factor::Durability);
        let each = |engine| durabilities.iter().map(move |durability| (engine, *durability));
        bases(Factor::Engine).into_iter().flat_map(each).collect()
    }
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
    count: Option<u32>,
    keep: Option<Vec<String>>,
    recovery: Option<bool>,
    only: Option<u32>,
) -> Option<Cuts> {
    let count = count.unwrap_or(0);
    let keep = || keep.unwrap_or_else(|| KEEPS.map(str::to_owned).into());
    (count > 0 || only.is_some()).then(|| Cuts {
        count,
        keep: keep(),
        recovery: recovery.unwrap_or(false),
        only,
    })
}

/// What is wrong with an experiment that cuts the power, or that has nothing to run. `given` are
/// the levels as they were written.
pub(crate) fn check(experiment: &Experiment, given: &BTreeMap<Factor, Levels>) -> Vec<Problem> {
    let at = |factor: Factor, wrong: &str, problem: Problem| {
        let written = given.get(&factor).into_iter().flatten();
        match written.into_iter().find(|level| base(&level.value) == wrong) {
            Some(level) => problem.at(&level.place),
            None => problem,
        }
    };
    let engines: Vec<&str> =
        experiment.factors[&Factor::Engine].iter().map(|level| base(level)).collect();
    let reads_again = experiment.workload == "ledger" && engines.contains(&HARNESS);
    let mut problems = Vec::new();
    if reads_again {
        problems.push(at(Factor::Engine, HARNESS, harness_forgets()));
    }
    if experiment.cuts.is_none() {
        if experiment.repetitions == 0 {
            problems.push(nothing_to_run());
        }
        return problems;
    }
    if !reads_again && engines.iter().all(|engine| *engine == HARNESS) {
        problems.push(at(Factor::Engine, HARNESS, nothing_to_cut()));
    }
    let elsewhere: BTreeSet<&str> =
        engines.into_iter().filter(|engine| engine.contains("://")).collect();
    problems.extend(elsewhere.into_iter().map(|url| at(Factor::Engine, url, not_ours(url))));
    if experiment.cut_disk().is_none() {
        problems.push(at(Factor::Disk, HOST, our_own()));
    }
    problems
}

fn harness_forgets() -> Problem {
    Problem::new(format!(
        "`{HARNESS}` stores nothing, and the clients of `ledger` read again what they wrote"
    ))
    .help(format!("leave `{HARNESS}` out, or measure the harness with another workload"))
}

fn nothing_to_run() -> Problem {
    Problem::new("with 0 repetitions there is nothing to run")
        .help("give --repetitions (or the key) 1 to 1000; 0 is for power cuts alone, beside `cuts`")
}

fn nothing_to_cut() -> Problem {
    Problem::new(format!("no power can be cut: `{HARNESS}` stores nothing that a cut could take"))
        .help("name an engine that stores its data, or leave the cuts out: `--cuts 0`")
}

fn not_ours(url: &str) -> Problem {
    Problem::new(format!("the power of `{url}` can't be cut: it is somebody else's server"))
        .help("cut that of an engine that bakeoff starts itself (see `bakeoff list engines`)")
        .help("or run the trials alone: `--cuts 0`")
}

fn our_own() -> Problem {
    Problem::new(format!(
        "the power of the disk `{HOST}` can't be cut: it is this machine's own, and would take \
         the machine with it"
    ))
    .help("a virtual disk loses its power alone: `disk = \"ssd-sata\"`, or `--disk ssd-sata`")
}
