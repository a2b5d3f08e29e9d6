//! What a reader asks after the answer: what keeping every commit costs, what was lost, what could mislead, and what
//! would decide what is undecided.

use bakeoff_analysis::Weight;

use super::decide;
use crate::block::{Answered, StyledText};
use crate::changes::{self, JudgedChanges, looser};
use crate::durability;
use crate::layout::DocumentLayout;
use crate::leads::{Ratio, groups, named};
use crate::losses::{Loss, Losses, Worst};
use crate::misleads;
use crate::promises::{self, COMMIT, SYNCED_BLOCK};
use crate::verdict::OperationCase;
use crate::words;

/// So many warnings have room.
const WARNINGS: usize = 3;

/// The questions that the run has an answer to.
pub fn answered<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    changes: &JudgedChanges<'a>,
    losses: &Losses<'a>,
) -> Vec<Answered> {
    let undecided = decide::undecided(layout, cases);
    [cost(layout, cases, changes), lost(layout, losses), mislead(layout), undecided]
        .into_iter()
        .flatten()
        .collect()
}

fn cost<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    changes: &JudgedChanges<'a>,
) -> Option<Answered> {
    let less = layout.conditions.iter().find_map(|it| looser(layout, it))?.1;
    let mut lines = Vec::new();
    for level in layout.contenders() {
        if let Some(price) = changes::price(&prices(layout, changes, level)) {
            lines.push(named(layout, level).plain(": ").then(price));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let title = durability::title(less).to_lowercase();
    let lead = StyledText::from("An operation takes, against ").stressed(title).plain(":");
    lines.insert(0, lead);
    lines.extend(turn(layout, cases));
    Some(Answered {
        question: "What does keeping every commit cost?".into(),
        lines,
        note: None,
        command: None,
        more: None,
        page_alone: false,
    })
}

/// What keeping every commit costs a level, at each operation and condition.
fn prices<'a>(
    layout: &DocumentLayout<'a>,
    changes: &JudgedChanges<'a>,
    level: &'a str,
) -> Vec<Ratio<'a>> {
    let mut prices = Vec::new();
    for condition in &layout.conditions {
        let Some((looser, _)) = looser(layout, condition) else { continue };
        let both = layout.cell(looser, level).zip(layout.cell(condition, level));
        let Some((loose, strict)) = both else { continue };
        let operations = layout.operations();
        let price = |it: &'a str| Some((it, changes.contrast(loose, strict, it)?));
        prices.extend(operations.filter_map(price));
    }
    prices
}

/// That another is fastest where less is promised, if that is so.
fn turn<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<StyledText> {
    let groups = groups(layout, cases);
    let of = |level| groups.iter().find(|group| group.durability == Some(level))?.winner();
    let (strict, relaxed) = of("strict").zip(of("relaxed"))?;
    (strict != relaxed).then(|| {
        StyledText::from("So the order turns: ")
            .then(named(layout, relaxed))
            .plain(" is fastest only while the last second may be lost.")
    })
}

fn lost(layout: &DocumentLayout<'_>, losses: &Losses<'_>) -> Option<Answered> {
    let document = layout.document;
    let factors = promises::all(document).next().map(|told| told.factors()).unwrap_or_default();
    let of_files = !factors.is_of_engines();
    let title = |level: &str| match of_files {
        true => words::capital(&words::level(&factors.what, level)),
        false => durability::title(level),
    };
    let unit = if of_files { SYNCED_BLOCK } else { COMMIT };
    let lines: Vec<StyledText> = losses
        .levels()
        .into_iter()
        .map(|level| {
            let found: Vec<(&str, &Loss)> = losses.of_level(level).collect();
            let tried: Vec<&str> = found.iter().map(|(engine, _)| *engine).collect();
            let alone = promises::tried_alone(document, &factors.who, &tried);
            let left = left(&found, unit, alone.as_deref());
            let without = promises::without(document, level);
            let without = without.map_or_else(String::new, |it| format!("; {it}"));
            StyledText::default().stressed(title(level)).plain(format!(": {left}{without}."))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let all: Vec<&Loss> =
        losses.levels().into_iter().flat_map(|it| losses.of_level(it)).map(|it| it.1).collect();
    let elsewhere = all.iter().any(|loss| loss.elsewhere).then(|| {
        let folders = document.other_cuts.iter().map(|other| other.folder.as_str());
        let mut folders: Vec<&str> = folders.collect();
        folders.dedup();
        format!("Some of the power cuts were made by other runs: {}.", words::list(&folders))
    });
    let lost = all.iter().any(|loss| matches!(loss.worst, Worst::Lost(Some(2..))));
    let load = lost.then(|| if of_files { LOAD_OF_FILES } else { LOAD }.to_owned());
    let notes: Vec<String> = [load, elsewhere].into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    Some(Answered {
        question: "What was lost when the power was cut?".into(),
        lines,
        note,
        command: None,
        more: Some(promises::SECTION),
        page_alone: false,
    })
}

/// What the lost commits are of.
const LOAD: &str = "While the power is cut, clients commit small transactions as fast as they can: the faster an \
     engine, the more it has to lose in a second.";

/// The same of blocks of files.
const LOAD_OF_FILES: &str = "While the power is cut, clients write and sync blocks as fast as they can: the faster a \
     disk, the more it has to lose in a second.";

/// "up to 81 commits were lost (sqlite, of 84.0 a second), none older than 970 ms"; "nothing was lost in 45 power
/// cuts, of sqlite alone" where others were not tried.
fn left(found: &[(&str, &Loss)], unit: &str, alone: Option<&str>) -> String {
    let sum = |of: fn(&Loss) -> u64| found.iter().map(|(_, loss)| of(loss)).sum::<u64>();
    let damaged = found.iter().filter_map(|(engine, loss)| match loss.worst {
        Worst::Damaged(number, of) => Some((*engine, "was damaged", number, of)),
        Worst::Broken(number, of) => Some((*engine, "held less than it promises", number, of)),
        Worst::Nothing | Worst::Lost(_) => None,
    });
    let damaged: Vec<String> = damaged
        .map(|(engine, what, number, of)| {
            let [number, of] = [number, of].map(words::count);
            format!("{engine} {what} in {number} of {of} images")
        })
        .collect();
    let lost = found.iter().filter(|(_, loss)| loss.most > 0);
    let most = lost.map(|(engine, loss)| (loss.most, *engine)).max();
    let load = most.and_then(|(_, engine)| {
        let (_, loss) = found.iter().find(|(name, _)| *name == engine)?;
        Some(format!(", at {} a second", loss.per_second()?))
    });
    let load = load.unwrap_or_default();
    let some = found.iter().any(|(_, loss)| loss.worst == Worst::Lost(None));
    let mut parts = Vec::new();
    if !damaged.is_empty() {
        parts.push(words::list(&damaged));
    }
    match most {
        Some((1, engine)) => parts.push(format!("1 {unit} was lost ({engine})")),
        Some((most, engine)) => {
            parts.push(format!("up to {} {unit}s were lost ({engine}{load})", words::count(most)));
        }
        None if some => parts.push(format!("some {unit}s were lost")),
        None if damaged.is_empty() => {
            let (cuts, images) = (sum(|it| it.cuts), sum(|it| it.images));
            let alone = alone.map_or_else(String::new, |names| format!(", of {names} alone"));
            let bound = bound_of_each(found);
            return format!("nothing was lost in {}{alone}{bound}", words::cuts(cuts, images));
        }
        None => {}
    }
    let oldest = found.iter().filter_map(|(_, loss)| loss.oldest_s).reduce(f64::max);
    if let Some(oldest) = oldest.filter(|_| most.is_some()) {
        parts.push(format!("none older than {}", words::seconds(oldest)));
    }
    parts.join(", ")
}

/// " (15 of each: at most 18 in 100)": how often each may lose something though nothing was lost.
fn bound_of_each(found: &[(&str, &Loss)]) -> String {
    let fewest = found.iter().map(|(_, loss)| loss.cuts).min().unwrap_or(0);
    let is_known = found.iter().all(|(_, loss)| loss.bound().is_some());
    match (is_known, found.len()) {
        (false, _) | (_, 0) => String::new(),
        (true, 1) => format!(" ({})", promises::at_most(fewest)),
        (true, _) => format!(" ({fewest} of each: {})", promises::at_most(fewest)),
    }
}

/// The worst warnings, in a sentence each.
fn mislead(layout: &DocumentLayout<'_>) -> Option<Answered> {
    let warnings = &layout.document.warnings;
    // Of two kinds by one name the worse stands for both.
    let mut names = Vec::new();
    let mut is_new = |name: &'static str| {
        let new = !names.contains(&name);
        names.push(name);
        new
    };
    let told = warnings.iter().filter(|it| it.kind.weight() != Weight::Notes);
    let told: Vec<StyledText> = told
        .filter(|it| is_new(misleads::name(it.kind)))
        .map(|it| {
            let name = format!("{}.", misleads::name(it.kind));
            StyledText::default().stressed(name).plain(format!(" {}", misleads::gist(it)))
        })
        .collect();
    let more = told.len().saturating_sub(WARNINGS);
    (!told.is_empty()).then(|| Answered {
        question: "What could mislead?".into(),
        lines: told.into_iter().take(WARNINGS).collect(),
        note: (more > 0).then(|| format!("And {} below.", words::many(more, "more warning"))),
        command: None,
        more: Some(misleads::SECTION),
        page_alone: true,
    })
}
