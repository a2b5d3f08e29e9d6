//! What power cuts have left of each promise, and beside it what the promise costs: text that is
//! ready to be set.

use bakeoff_analysis::{CellView, Document, Found, PromiseView, RuleView};
use bakeoff_results::{Cut, FileSystem, Promised};
use serde::Serialize;

use crate::figures::NONE;
use crate::layout;
use crate::loss::{self, Lane, Limit};
use crate::promises::{self, Told};
use crate::words;

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
    /// The level, and the file system where it is not ext4 alone.
    pub durability: String,
    /// The folder of the run that cut its power; nothing where it is this one.
    pub folder: Option<String>,
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
    /// What the engine said beside it.
    pub log: Option<Log>,
    /// The command that repeats the first cut that broke the promise.
    pub repeat: Option<String>,
}

impl Row {
    /// The engine, and the folder of the run that cut its power where that is another one.
    pub fn name(&self) -> String {
        match &self.folder {
            None => self.engine.clone(),
            Some(folder) => format!("{} ({folder})", self.engine),
        }
    }
}

/// Lines that a sentence only names.
#[derive(Serialize)]
pub struct Log {
    /// What they are.
    pub title: String,
    /// The lines.
    pub lines: String,
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
    let all: Vec<Told> = promises::all(document).collect();
    if all.is_empty() {
        return None;
    }
    let mut rules: Vec<String> = Vec::new();
    for rule in all.iter().flat_map(|told| &told.promise.rules) {
        if !rules.contains(&rule.keep) {
            rules.push(rule.keep.clone());
        }
    }
    let measured = all.iter().any(|told| cells(document, told.promise).next().is_some());
    let operation = document.run.run.operations.first().filter(|_| measured).cloned();
    let row = |told| row(document, told, &rules, operation.as_deref());
    Some(Durability {
        rows: all.iter().map(row).collect(),
        how: how(&all),
        picture: picture(&all),
        operation,
        rules,
    })
}

fn row(document: &Document, told: &Told<'_>, rules: &[String], operation: Option<&str>) -> Row {
    let promise = told.promise;
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
    let repeat = first.zip(told.plan).and_then(|(rule, plan)| {
        let PromiseView { engine, durability, file_system, .. } = promise;
        Some(plan.repeat(engine, durability, *file_system, &rule.keep, rule.repeat?))
    });
    Row {
        engine: promise.engine.clone(),
        durability: told.level(),
        folder: told.folder.map(str::to_owned),
        state: match promise.kept {
            _ if promise.cuts == 0 => "not tried",
            Some(true) => "kept",
            Some(false) => "broken",
            None => "not promised",
        },
        rules: rules.iter().map(rule).collect(),
        recovery: match promise.recovery_median_s.zip(promise.recovery_max_s) {
            Some((median, most)) => {
                format!("{} to {}", tied(median), tied(most))
            }
            None => NONE.into(),
        },
        cost: operation.map_or(NONE.into(), |operation| cost(document, promise, operation)),
        explained: explained(told, first),
        log: said(told, first).and_then(|text| sentence_and_log(text).1),
        repeat,
    }
}

/// A time that is not broken between its number and its unit, in a narrow column.
fn tied(seconds: f64) -> String {
    words::seconds(seconds).replace(' ', "\u{a0}")
}

/// "25 of 25 kept; lost up to 74, the oldest 59.5 ms before".
fn left(rule: &RuleView, promised: Promised) -> String {
    let (number, word) = survived(rule, promised);
    let mut parts = vec![format!("{number} of {} {word}", rule.cuts)];
    if let Some(oldest) = rule.oldest_lost_s {
        let most = words::count(rule.lost.most);
        parts.push(format!("lost up to {most}, of the last {}", tied(oldest)));
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

/// The verdict in a line, and what of another run is not as in this one.
fn explained(told: &Told<'_>, first: Option<&RuleView>) -> String {
    let verdict = verdict(told, first);
    match (told.folder, told.differences.is_empty()) {
        (None, _) => verdict,
        (Some(folder), true) => format!("{verdict} Found by the run in {folder}."),
        (Some(folder), false) => {
            format!("{verdict} Found by the run in {folder}: {}.", told.differences.join("; "))
        }
    }
}

fn verdict(told: &Told<'_>, first: Option<&RuleView>) -> String {
    let promise = told.promise;
    let cuts = words::many(promise.cuts as usize, "cut");
    let words = said(told, first).map(|text| sentence_and_log(text).0);
    if promise.cuts == 0 {
        return format!("Not tried: {}.", words.unwrap_or("no cut"));
    }
    if let Some(rule) = first {
        let example = words.map_or(String::new(), |words| format!(": {words}"));
        let broken = promise.broken;
        return format!("Broken in {broken} of {cuts}; by the rule {}{example}.", rule.keep);
    }
    let most = promise.rules.iter().map(|rule| rule.lost.most).max().unwrap_or(0);
    let oldest = promise.rules.iter().filter_map(|rule| rule.oldest_lost_s).reduce(f64::max);
    let lost = match oldest {
        Some(oldest) => format!(
            "lost {} at most, acknowledged up to {} before the cut",
            words::many(most as usize, "commit"),
            words::seconds(oldest)
        ),
        None => match uncounted(promise) {
            Uncounted::None => "lost nothing".into(),
            Uncounted::Some => "lost nothing that could be counted".into(),
            Uncounted::All => "left nothing that losses could be counted by".into(),
        },
    };
    match promise.promised {
        Promised::Everything => {
            format!("Kept: after {cuts}, all that was acknowledged was there and whole.")
        }
        Promised::Whole { window_s, most_lost } => {
            format!("Kept: {cuts} {lost}; {}. The rest was whole.", limit(window_s, most_lost))
        }
        Promised::Nothing => {
            let worst = promise.rules.iter().max_by_key(|rule| harm(rule));
            let worst = match worst.filter(|rule| harm(rule) > (0, 0)) {
                Some(rule) => format!("; {} by the rule {}", words::list(&damage(rule)), rule.keep),
                None => String::new(),
            };
            format!("Nothing was promised: {cuts} {lost}{worst}.")
        }
    }
}

/// How bad a rule's findings are, losses aside: in how many cuts nothing can be relied on, and in
/// how many something else is wrong.
fn harm(rule: &RuleView) -> (u32, u32) {
    let wrong = [rule.torn, rule.hole, rule.phantom, rule.index_broken];
    (rule.corrupt, wrong.iter().map(|found| found.cuts).sum())
}

/// How many images were too broken for their losses to be counted.
enum Uncounted {
    None,
    Some,
    All,
}

fn uncounted(promise: &PromiseView) -> Uncounted {
    let sum = |of: fn(&RuleView) -> u32| promise.rules.iter().map(of).sum::<u32>();
    match (sum(|rule| rule.corrupt), sum(|rule| rule.cuts)) {
        (0, _) => Uncounted::None,
        (corrupt, images) if corrupt < images => Uncounted::Some,
        _ => Uncounted::All,
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

/// What was said of the first cut that broke the promise, or why none could be made.
fn said<'a>(told: &Told<'a>, first: Option<&'a RuleView>) -> Option<&'a str> {
    match told.promise.cuts {
        0 => told.cuts.iter().find_map(|cut| cut.failed.as_deref()),
        _ => first?.example.as_deref(),
    }
}

/// The first line of a text as a part of a sentence, without the dot at its end; and apart from
/// it the lines that follow, under the words that announce them: "; the last lines of its log:".
fn sentence_and_log(text: &str) -> (&str, Option<Log>) {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    let (sentence, title) = match first.trim_end().strip_suffix(':') {
        Some(announced) => announced.rsplit_once("; ").unwrap_or((announced, "what it said")),
        None => (first, "what else it said"),
    };
    let log = Log { title: words::capital(title), lines: lines.trim_end().to_owned() };
    (sentence.trim_end_matches('.'), (!log.lines.is_empty()).then_some(log))
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
    let mut means: Vec<(f64, bool)> = cells(document, promise)
        .filter_map(|cell| {
            let found = cell.operations.iter().find(|o| o.name == operation)?;
            Some((found.mean_s?, found.unfinished > 0))
        })
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text = |(mean, cut_off): (f64, bool)| words::seconds_or_more(mean, cut_off);
    match means.as_slice() {
        [] => NONE.into(),
        [only] => text(*only),
        [least, .., most] if least == most => text(*least),
        [least, .., most] => format!("{} to {}", text(*least), text(*most)),
    }
}

/// How the cuts were made: a sentence for each run.
fn how(all: &[Told<'_>]) -> String {
    let runs = all.chunk_by(|one, next| one.folder == next.folder);
    let mut sentences: Vec<String> = runs.map(how_of_run).collect();
    if all.iter().any(|told| told.promise.kept == Some(false)) {
        let tries = "Which client comes first is up to the system: a cut may have to be made again \
                     more than once before it shows the same.";
        sentences.push(tries.into());
    }
    sentences.join(" ")
}

fn how_of_run(all: &[Told<'_>]) -> String {
    let (folder, plan) = (all[0].folder, all[0].plan);
    let sum = |of: fn(&PromiseView) -> u32| all.iter().map(|told| of(told.promise)).sum::<u32>();
    let (made, failed) = (sum(|promise| promise.cuts), sum(|promise| promise.failed));
    let mut text = format!("{} made", words::many(made as usize, "cut"));
    match (folder, plan) {
        (None, Some(plan)) => text += &format!(" of {} planned", words::count(plan.planned.into())),
        (Some(folder), _) => text += &format!(" by the run in {folder}"),
        (None, None) => {}
    }
    if let Some(plan) = plan {
        let clients = words::many(plan.clients as usize, "client");
        text += &format!(", on the disk {} with {clients} at work", plan.disk);
        if plan.file_systems.contains(&FileSystem::Posix) {
            text += "; on posix a name is there once its folder was synced, as POSIX promises and no \
                     more, and on ext4 with the next commit of the journal";
        }
    }
    text += &again(all);
    if failed > 0 {
        text += &format!("; {} failed", words::count(failed.into()));
    }
    text + "."
}

/// How often the power went a second time, and how often while there was still something to do.
fn again(all: &[Told<'_>]) -> String {
    let judged = all.iter().flat_map(|told| &told.cuts).flat_map(|cut| &cut.judged);
    let again: Vec<_> = judged.filter_map(|judged| judged.again.as_ref()).collect();
    let in_time = again.iter().filter(|again| again.in_time).count();
    if again.is_empty() {
        return String::new();
    }
    format!(
        "; the power went again in {} recoveries, in {} of them before all was recovered and checked",
        words::count(again.len() as u64),
        words::count(in_time as u64)
    )
}

/// How old the oldest loss of each cut was.
fn picture(all: &[Told<'_>]) -> Option<String> {
    let tried = all.iter().filter(|told| told.promise.cuts > 0);
    let lanes: Vec<Lane> = tried.map(lane).collect();
    loss::svg(&lanes)
}

fn lane(told: &Told<'_>) -> Lane {
    let promise = told.promise;
    let of_rule = |keep: &str| {
        let judged = |cut: &&Cut| {
            let of_rule = cut.judged.iter().filter(|judged| judged.keep == keep);
            let dot = |verdict: &bakeoff_results::Verdict| {
                Some((verdict.oldest_lost_s?, verdict.breaks(cut.promised)))
            };
            of_rule.filter_map(|judged| dot(&judged.verdict)).collect::<Vec<_>>()
        };
        told.cuts.iter().flat_map(judged).collect()
    };
    let rules = promise.rules.iter().map(|rule| (rule.keep.clone(), of_rule(&rule.keep)));
    let folder = told.folder.map_or(String::new(), |folder| format!(" ({folder})"));
    Lane {
        name: format!("{}, {}{folder}", promise.engine, told.level()),
        rules: rules.collect(),
        empty: match uncounted(promise) {
            Uncounted::None | Uncounted::Some => "nothing lost",
            Uncounted::All => "nothing could be counted",
        },
        uncounted: told
            .cuts
            .iter()
            .flat_map(|cut| &cut.judged)
            .filter(|it| it.verdict.corrupt.is_some() && it.verdict.oldest_lost_s.is_none())
            .count(),
        limit: match promise.promised {
            Promised::Whole { window_s, most_lost } => Limit { window_s, most_lost },
            Promised::Nothing | Promised::Everything => Limit::default(),
        },
    }
}
