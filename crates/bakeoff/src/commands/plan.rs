//! What a run is going to do, and roughly how long it takes: `bakeoff run --dry-run`.

use std::collections::BTreeMap;

use bakeoff_engines::Home;
use bakeoff_experiment::{Block, Cuts, Experiment, Plan};
use bakeoff_lab::Registry;

use crate::progress::span;

/// A plan of more blocks has its total at its end, too.
const LONG: usize = 20;
/// Seconds that a power cut takes, until the power has gone and for each rule that it is judged by.
/// Measured on two processors: nothing but an order of size elsewhere.
const EMBEDDED_S: (f64, f64) = (0.3, 0.07);
/// Likewise, of a server, which starts and recovers each time.
const SERVER_S: (f64, f64) = (0.6, 0.7);

/// The plan, for a reader.
pub fn describe(registry: &Registry, experiment: &Experiment, plan: &Plan) -> String {
    let total = total(experiment, plan);
    let blocks: String = plan.blocks.iter().map(|block| line(experiment, block)).collect();
    let again = if plan.blocks.len() > LONG { &*total } else { "" };
    format!("{}\n{total}{blocks}{}{again}", experiment.title, refusals(registry, experiment, plan))
}

/// How many trials and power cuts there are, and how long they take.
fn total(experiment: &Experiment, plan: &Plan) -> String {
    let cuts = experiment.cuts.as_ref().map(|cuts| describe_cuts(experiment, cuts));
    let trials = plan.trials();
    if trials == 0 {
        return format!("no trials, and {}\n", cuts.unwrap_or_default());
    }
    let seconds = trials as f64 * (experiment.seconds + bakeoff_lab::OVERHEAD_S);
    let trials = format!(
        "{} in {}, {} s each, about {} and the loading\n",
        count(trials, "trial"),
        count(plan.blocks.len(), "block"),
        experiment.seconds,
        span(seconds),
    );
    trials + &cuts.map_or(String::new(), |cuts| format!("then {cuts}\n"))
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn describe_cuts(experiment: &Experiment, cuts: &Cuts) -> String {
    let which = match cuts.only {
        Some(number) => format!("number {number}"),
        None => cuts.count.to_string(),
    };
    format!(
        "{}, {which} of each engine at each level {}, judged by {}: very roughly {} and the loading",
        count(bakeoff_lab::planned_cuts(experiment), "power cut"),
        on(&cuts.file_systems),
        cuts.keep.join(", "),
        span(rounded(cuts_s(experiment, cuts))),
    )
}

/// The file systems of power cuts, in words.
fn on(file_systems: &[String]) -> String {
    match file_systems {
        [one] => format!("on the file system {one}"),
        all => format!("on each of the file systems {}", all.join(", ")),
    }
}

/// Seconds that the power cuts take.
fn cuts_s(experiment: &Experiment, cuts: &Cuts) -> f64 {
    // A second cut is another recovery, by each rule.
    let recoveries = cuts.keep.len() as f64 * if cuts.recovery { 2.0 } else { 1.0 };
    let each = |engine: &str| {
        let server = bakeoff_engines::find(engine).is_some_and(|it| it.home() == Home::Server);
        let (first, recovery) = if server { SERVER_S } else { EMBEDDED_S };
        first + recoveries * recovery
    };
    let cells = experiment.cut_cells().into_iter();
    let made = (cuts.numbers().len() * cuts.file_systems.len()) as f64;
    cells.map(|(engine, _)| made * each(engine)).sum()
}

/// To tens of seconds, and above two minutes to minutes: more would be pretence.
fn rounded(seconds: f64) -> f64 {
    let step = if seconds > 120.0 { 60.0 } else { 10.0 };
    (seconds / step).ceil() * step
}

/// A block in a line, with the numbers that the reports have.
fn line(experiment: &Experiment, block: &Block) -> String {
    let first = &block.trials[0].cell;
    let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
    let terms: Vec<String> = others
        .filter(|factor| experiment.levels(**factor).len() > 1)
        .map(|factor| format!("{} {}", factor.name(), first.get(*factor)))
        .collect();
    let order: Vec<&str> =
        block.trials.iter().map(|trial| trial.cell.get(experiment.compare)).collect();
    format!(
        "block {:>3}  repetition {:>2}  {:<32}  {} {}\n",
        block.number,
        block.repetition,
        terms.join(", "),
        experiment.compare.name(),
        order.join(", ")
    )
}

/// The trials that can't be run, with the reasons.
fn refusals(registry: &Registry, experiment: &Experiment, plan: &Plan) -> String {
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for block in &plan.blocks {
        for trial in &block.trials {
            let resolved = bakeoff_lab::resolve(registry, experiment, &trial.cell, block.number);
            if let Err(reason) = resolved {
                *refused.entry(reason.to_string()).or_default() += 1;
            }
        }
    }
    let line = |(reason, trials)| format!("{trials} of them can't be run: {reason}\n");
    refused.into_iter().map(line).collect()
}
