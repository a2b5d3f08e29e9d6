//! What power cuts have left of each promise, and beside it what the promise costs: text that is
//! ready to be set.

use bakeoff_results::document::{CellView, Document};
use bakeoff_results::{Found, PromiseView, Promised, RuleView};
use serde::Serialize;

use crate::layout;
use crate::loss::{self, Lane};
use crate::tables::NONE;
use crate::words;

/// What is said beside a cell whose promise was broken.
pub const BROKEN: &str = "promise broken";

/// A table of all promises, a row an engine and level.
#[derive(Serialize)]
pub struct Durability {
    /// The rules for what a cut leaves, a column each.
    pub rules: Vec<String>,
    /// The operation whose mean time stands beside them, where it was measured.
    pub operation: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// How the cuts were made, in a sentence or two.
    pub how: String,
    /// The loss window as a picture, where anything was lost.
    pub picture: Option<String>,
}

/// An engine at a level.
#[derive(Serialize)]
pub struct Row {
    /// The engine.
    pub engine: String,
    /// The level.
    pub durability: String,
    /// `kept`, `broken`, `not promised` or `not tried`.
    pub state: &'static str,
    /// What each rule has left.
    pub rules: Vec<Rule>,
    /// The time to recover: from the median to the longest.
    pub recovery: String,
    /// The mean time of the operation in the timed trials of the same run.
    pub cost: String,
    /// The verdict in a line.
    pub explained: String,
    /// The command that repeats the first cut that broke the promise.
    pub repeat: Option<String>,
}

/// What a rule has left.
#[derive(Serialize)]
pub struct Rule {
    /// In words.
    pub text: String,
    /// After how many cuts the promise held, in a few characters.
    pub short: String,
    /// Whether that is less than was promised.
    pub broken: bool,
}

/// The promises of a run whose power was cut.
pub fn durability(document: &Document) -> Option<Durability> {
    let promises = &document.promises;
    if promises.is_empty() {
        return None;
    }
    let mut rules: Vec<String> = Vec::new();
    for rule in promises.iter().flat_map(|promise| &promise.rules) {
        if !rules.contains(&rule.keep) {
            rules.push(rule.keep.clone());
        }
    }
    let measured = promises.iter().any(|promise| cells(document, promise).next().is_some());
    let operation = document.run.run.operations.first().filter(|_| measured).cloned();
    let row = |promise| row(document, promise, &rules, operation.as_deref());
    Some(Durability {
        rows: promises.iter().map(row).collect(),
        how: how(document),
        picture: picture(document),
        operation,
        rules,
    })
}

/// The promise of a cell, where power cuts have shown that it is not kept.
pub fn is_broken(document: &Document, engine: &str, durability: &str) -> bool {
    let run = &document.run.run;
    let engine = run.alias("engine", engine).unwrap_or(engine);
    let durability = run.alias("durability", durability).unwrap_or(durability);
    document.promises.iter().any(|promise| {
        promise.kept == Some(false) && promise.engine == engine && promise.durability == durability
    })
}

/// What the verdict on the run says of its promises: the broken ones, a clause each.
pub fn broken(document: &Document) -> Vec<String> {
    let broken = document.promises.iter().filter(|promise| promise.kept == Some(false));
    let clause = |promise: &PromiseView| {
        let (engine, level) = (&promise.engine, &promise.durability);
        let cuts = words::many(promise.cuts as usize, "power cut");
        format!("{engine} broke its promise at {level} in {} of {cuts}", worst(promise))
    };
    broken.map(clause).collect()
}

/// That all promises were kept, or what else there is to say when none was broken.
pub fn kept(document: &Document) -> Option<String> {
    let told = |state| document.promises.iter().filter(move |promise| promise.kept == Some(state));
    let (kept, cuts) = told(true).fold((0, 0), |(n, cuts), p| (n + 1, cuts + p.cuts));
    if document.promises.is_empty() {
        return None;
    }
    let cuts = words::many(cuts as usize, "power cut");
    Some(match (kept, told(false).count()) {
        (0, 0) => "no promise was put to the test".into(),
        (0, _) => return None,
        (1, 0) => format!("the only promise stood {cuts}"),
        (kept, 0) => format!("all {} stood {cuts}", words::many(kept, "promise")),
        (kept, _) => format!("{} stood {cuts}", words::many(kept, "other promise")),
    })
}

/// In how many cuts a promise was broken by the harshest of the rules.
fn worst(promise: &PromiseView) -> u32 {
    promise.rules.iter().map(|rule| rule.broken).max().unwrap_or(0)
}

fn row(
    document: &Document,
    promise: &PromiseView,
    rules: &[String],
    operation: Option<&str>,
) -> Row {
    let rule = |name: &String| {
        let found = promise.rules.iter().find(|rule| rule.keep == *name);
        let none = || Rule { text: NONE.into(), short: NONE.into(), broken: false };
        found.map_or_else(none, |found| Rule {
            text: left(found, promise.promised),
            short: format!("{} of {}", survived(found, promise.promised).0, found.cuts),
            broken: found.broken > 0,
        })
    };
    let first = promise.rules.iter().find(|rule| rule.broken > 0);
    let plan = document.run.run.cuts.as_ref();
    let repeat = first.zip(plan).and_then(|(rule, plan)| {
        Some(plan.repeat(&promise.engine, &promise.durability, &rule.keep, rule.repeat?))
    });
    Row {
        engine: promise.engine.clone(),
        durability: promise.durability.clone(),
        state: match promise.kept {
            _ if promise.cuts == 0 => "not tried",
            Some(true) => "kept",
            Some(false) => "broken",
            None => "not promised",
        },
        rules: rules.iter().map(rule).collect(),
        recovery: match promise.recovery_median_s.zip(promise.recovery_max_s) {
            Some((median, most)) => {
                format!("{} to {}", words::seconds(median), words::seconds(most))
            }
            None => NONE.into(),
        },
        cost: operation.map_or(NONE.into(), |operation| cost(document, promise, operation)),
        explained: explained(document, promise, first),
        repeat,
    }
}

/// "25 of 25 kept; lost up to 74, the oldest 59.5 ms before".
fn left(rule: &RuleView, promised: Promised) -> String {
    let (number, word) = survived(rule, promised);
    let mut parts = vec![format!("{number} of {} {word}", rule.cuts)];
    if let Some(oldest) = rule.oldest_lost_s {
        let most = words::count(rule.lost.most);
        parts.push(format!("lost up to {most}, of the last {}", words::seconds(oldest)));
    } else if rule.lost.cuts > 0 {
        parts.push(format!("lost up to {}", words::count(rule.lost.most)));
    }
    parts.extend(damage(rule));
    parts.join("; ")
}

/// After how many cuts the promise held, or all was there where there is no promise.
fn survived(rule: &RuleView, promised: Promised) -> (u32, &'static str) {
    match promised {
        Promised::Nothing => (rule.intact, "intact"),
        Promised::Whole { .. } | Promised::Everything => (rule.cuts - rule.broken, "survived"),
    }
}

/// What is wrong beside losses, a text for each kind.
fn damage(rule: &RuleView) -> Vec<String> {
    let kinds: [(&str, Found); 5] = [
        ("torn", rule.torn),
        ("holes", rule.hole),
        ("phantoms", rule.phantom),
        ("index broken", rule.index_broken),
        ("corrupt", Found { cuts: rule.corrupt, most: 0 }),
    ];
    let found = kinds.into_iter().filter(|(_, found)| found.cuts > 0);
    found.map(|(name, found)| format!("{name} in {}", found.cuts)).collect()
}

/// The verdict in a line.
fn explained(document: &Document, promise: &PromiseView, first: Option<&RuleView>) -> String {
    let cuts = words::many(promise.cuts as usize, "cut");
    if promise.cuts == 0 {
        let failed = document
            .cuts
            .iter()
            .filter(|cut| cut.engine == promise.engine && cut.durability == promise.durability);
        let reason = failed.filter_map(|cut| cut.failed.as_deref()).next().unwrap_or("no cut");
        return format!("Not tried: {}.", line(reason));
    }
    if let Some(rule) = first {
        let example = rule.example.as_deref().map_or(String::new(), |e| format!(": {}", line(e)));
        return format!("Broken in {} of {cuts} by the rule {}{example}.", rule.broken, rule.keep);
    }
    let most = promise.rules.iter().map(|rule| rule.lost.most).max().unwrap_or(0);
    let oldest = promise.rules.iter().filter_map(|rule| rule.oldest_lost_s).reduce(f64::max);
    let lost = match oldest {
        Some(oldest) => format!(
            "lost {} at most, acknowledged up to {} before the cut",
            words::many(most as usize, "commit"),
            words::seconds(oldest)
        ),
        None => "lost nothing".into(),
    };
    match promise.promised {
        Promised::Everything => {
            format!("Kept: after {cuts}, all that was acknowledged was there and whole.")
        }
        Promised::Whole { window_s, most_lost } => {
            format!("Kept: {cuts} {lost}; {}. The rest was whole.", limit(window_s, most_lost))
        }
        Promised::Nothing => {
            let worst = promise.rules.last().map(damage).unwrap_or_default();
            let worst = match promise.rules.last().filter(|_| !worst.is_empty()) {
                Some(rule) => format!("; {} by the rule {}", words::list(&worst), rule.keep),
                None => String::new(),
            };
            format!("Nothing was promised: {cuts} {lost}{worst}.")
        }
    }
}

/// What a promise allows to be lost.
fn limit(window_s: Option<f64>, most_lost: Option<u64>) -> String {
    let window = window_s.map(|window| format!("those of the last {}", words::seconds(window)));
    let most = most_lost.map(|most| words::many(most as usize, "commit"));
    let limits: Vec<String> = most.into_iter().chain(window).collect();
    match limits.as_slice() {
        [] => "no limit is documented".into(),
        limits => format!("allowed: {}", limits.join(" and only ")),
    }
}

/// The first line of a text, without the dot at its end.
fn line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches('.')
}

/// The cells that were timed under a promise.
fn cells<'a>(
    document: &'a Document,
    promise: &'a PromiseView,
) -> impl Iterator<Item = &'a CellView> {
    document.cells.iter().filter(move |cell| {
        let is = |factor: &str, level: &str| layout::get(&cell.levels, factor) == level;
        is("engine", &promise.engine) && is("durability", &promise.durability)
    })
}

/// What the operation takes in the cells of a promise: a time, or from one to another.
fn cost(document: &Document, promise: &PromiseView, operation: &str) -> String {
    let means: Vec<f64> = cells(document, promise)
        .filter_map(|cell| cell.operations.iter().find(|o| o.name == operation)?.mean_s)
        .collect();
    let ends = means.iter().copied().reduce(f64::min).zip(means.iter().copied().reduce(f64::max));
    match ends {
        None => NONE.into(),
        Some((least, most)) if means.len() == 1 || least == most => words::seconds(least),
        Some((least, most)) => format!("{} to {}", words::seconds(least), words::seconds(most)),
    }
}

/// How the cuts were made.
fn how(document: &Document) -> String {
    let made = document.promises.iter().map(|promise| promise.cuts).sum::<u32>();
    let failed = document.promises.iter().map(|promise| promise.failed).sum::<u32>();
    let mut text = format!("{} made", words::many(made as usize, "cut"));
    if let Some(plan) = &document.run.run.cuts {
        text += &format!(
            " of {} planned, on the disk {} with {} at work",
            words::count(plan.planned.into()),
            plan.disk,
            words::many(plan.clients as usize, "client")
        );
    }
    if failed > 0 {
        text += &format!("; {} failed", words::count(failed.into()));
    }
    text + "."
}

/// How old the oldest loss of each cut was.
fn picture(document: &Document) -> Option<String> {
    let lane = |promise: &PromiseView| {
        let cuts = document
            .cuts
            .iter()
            .filter(|cut| cut.engine == promise.engine && cut.durability == promise.durability);
        let rules = promise.rules.iter().map(|rule| {
            let judged = cuts.clone().flat_map(|cut| {
                let of_rule = cut.judged.iter().filter(|judged| judged.keep == rule.keep);
                of_rule.map(|judged| (judged, judged.verdict.breaks(cut.promised)))
            });
            let dots =
                judged.filter_map(|(judged, bad)| Some((judged.verdict.oldest_lost_s?, bad)));
            (rule.keep.clone(), dots.collect())
        });
        Lane {
            name: format!("{}, {}", promise.engine, promise.durability),
            rules: rules.collect(),
            window_s: match promise.promised {
                Promised::Whole { window_s, .. } => window_s,
                Promised::Nothing | Promised::Everything => None,
            },
        }
    };
    let tried = document.promises.iter().filter(|promise| promise.cuts > 0);
    let lanes: Vec<Lane> = tried.map(lane).collect();
    loss::svg(&lanes)
}
