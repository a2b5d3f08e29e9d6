//! The next questions of a reader: the cost of keeping every commit, losses, warnings, and how to
//! decide more.

use bakeoff_analysis::answer::MoreTrials;
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{OperationCase, Ratio, Weight, group_cases};
use bakeoff_results::DurabilityLevel;

use super::decide;
use crate::block::{Answered, StyledText};
use crate::changes::{self, JudgedChanges, find_looser};
use crate::durability;
use crate::promises::{self, COMMIT, SYNCED_BLOCK};
use crate::ratio_words::name_level;
use crate::warning_names;
use crate::words;
use crate::worst_losses::{Loss, Losses, Worst};

const WARNINGS: usize = 3;

pub fn ask_questions<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    changes: &JudgedChanges<'a>,
    losses: &Losses<'a>,
    more: Option<&MoreTrials>,
) -> Vec<Answered> {
    let undecided = more.map(decide::describe_more_trials);
    [ask_cost(layout, cases, changes), ask_losses(layout, losses), ask_warnings(layout), undecided]
        .into_iter()
        .flatten()
        .collect()
}

fn ask_cost<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    changes: &JudgedChanges<'a>,
) -> Option<Answered> {
    let less = layout.conditions.iter().find_map(|it| find_looser(layout, it))?.1;
    let mut lines = Vec::new();
    for level in layout.contenders() {
        if let Some(price) = changes::describe_price(&find_prices(layout, changes, level)) {
            lines.push(name_level(layout, level).plain(": ").then(price));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let title = durability::title_level(less).to_lowercase();
    let lead = StyledText::from("An operation takes, against ").stressed(title).plain(":");
    lines.insert(0, lead);
    lines.extend(describe_turn(layout, cases));
    Some(Answered {
        question: "What does keeping every commit cost?".into(),
        lines,
        note: None,
        command: None,
        more: None,
        page_alone: false,
    })
}

fn find_prices<'a>(
    layout: &DocumentLayout<'a>,
    changes: &JudgedChanges<'a>,
    level: &'a str,
) -> Vec<Ratio<'a>> {
    let mut prices = Vec::new();
    for condition in &layout.conditions {
        let Some((looser, _)) = find_looser(layout, condition) else { continue };
        let both = layout.cell(looser, level).zip(layout.cell(condition, level));
        let Some((loose, strict)) = both else { continue };
        let operations = layout.operations();
        let price = |it: &'a str| Some((it, changes.find_contrast(loose, strict, it)?));
        prices.extend(operations.filter_map(price));
    }
    prices
}

/// Names another level that is fastest if less is promised.
fn describe_turn<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<StyledText> {
    let groups = group_cases(layout, cases);
    let of = |level: DurabilityLevel| {
        groups.iter().find(|group| group.durability == Some(level.as_str()))?.winner()
    };
    let (strict, relaxed) = of(DurabilityLevel::Strict).zip(of(DurabilityLevel::Relaxed))?;
    (strict != relaxed).then(|| {
        StyledText::from("So the order turns: ")
            .then(name_level(layout, relaxed))
            .plain(" is fastest only while the last second may be lost.")
    })
}

fn ask_losses(layout: &DocumentLayout<'_>, losses: &Losses<'_>) -> Option<Answered> {
    let document = layout.document;
    let factors =
        promises::list_promises(document).next().map(|told| told.factors()).unwrap_or_default();
    let of_files = !factors.is_of_engines();
    let title = |level: &str| match of_files {
        true => words::capitalize(&words::phrase_level(&factors.what, level)),
        false => durability::title_level(level),
    };
    let unit = if of_files { SYNCED_BLOCK } else { COMMIT };
    let lines: Vec<StyledText> = losses
        .levels()
        .into_iter()
        .map(|level| {
            let found: Vec<(&str, &Loss)> = losses.of_level(level).collect();
            let tried: Vec<&str> = found.iter().map(|(engine, _)| *engine).collect();
            let alone = promises::tried_alone(document, &factors.who, &tried);
            let left = describe_losses(&found, unit, alone.as_deref());
            let without = promises::describe_missing(document, level);
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
        format!("Some of the power cuts were made by other runs: {}.", words::join_list(&folders))
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

const LOAD: &str = "While the power is cut, clients commit small transactions as fast as they can: the faster an \
     engine, the more it has to lose in a second.";

const LOAD_OF_FILES: &str = "While the power is cut, clients write and sync blocks as fast as they can: the faster a \
     disk, the more it has to lose in a second.";

/// "up to 81 commits were lost (sqlite, of 84.0 a second), none older than 970 ms", "nothing was
/// lost in 45 power cuts".
fn describe_losses(found: &[(&str, &Loss)], unit: &str, alone: Option<&str>) -> String {
    let sum = |of: fn(&Loss) -> u64| found.iter().map(|(_, loss)| of(loss)).sum::<u64>();
    let damaged = found.iter().filter_map(|(engine, loss)| match loss.worst {
        Worst::Damaged(number, of) => Some((*engine, "was damaged", number, of)),
        Worst::Broken(number, of) => Some((*engine, "held less than it promises", number, of)),
        Worst::Nothing | Worst::Lost(_) => None,
    });
    let damaged: Vec<String> = damaged
        .map(|(engine, what, number, of)| {
            let [number, of] = [number, of].map(words::format_count);
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
        parts.push(words::join_list(&damaged));
    }
    match most {
        Some((1, engine)) => parts.push(format!("1 {unit} was lost ({engine})")),
        Some((most, engine)) => {
            parts.push(format!(
                "up to {} {unit}s were lost ({engine}{load})",
                words::format_count(most)
            ));
        }
        None if some => parts.push(format!("some {unit}s were lost")),
        None if damaged.is_empty() => {
            let (cuts, images) = (sum(|it| it.cuts), sum(|it| it.images));
            let alone = alone.map_or_else(String::new, |names| format!(", of {names} alone"));
            let bound = bound_of_each(found);
            return format!(
                "nothing was lost in {}{alone}{bound}",
                words::count_cuts(cuts, images)
            );
        }
        None => {}
    }
    let oldest = found.iter().filter_map(|(_, loss)| loss.oldest_s).reduce(f64::max);
    if let Some(oldest) = oldest.filter(|_| most.is_some()) {
        parts.push(format!("none older than {}", words::format_seconds(oldest)));
    }
    parts.join(", ")
}

/// " (15 of each: at most 18 in 100)", where nothing was lost.
fn bound_of_each(found: &[(&str, &Loss)]) -> String {
    let fewest = found.iter().map(|(_, loss)| loss.cuts).min().unwrap_or(0);
    let is_known = found.iter().all(|(_, loss)| loss.describe_bound().is_some());
    match (is_known, found.len()) {
        (false, _) | (_, 0) => String::new(),
        (true, 1) => format!(" ({})", promises::at_most(fewest)),
        (true, _) => format!(" ({fewest} of each: {})", promises::at_most(fewest)),
    }
}

fn ask_warnings(layout: &DocumentLayout<'_>) -> Option<Answered> {
    let warnings = &layout.document.warnings;
    // If two warnings have the same name, show the worse.
    let mut names = Vec::new();
    let mut is_new = |name: &'static str| {
        let new = !names.contains(&name);
        names.push(name);
        new
    };
    let told = warnings.iter().filter(|it| it.kind.weight() != Weight::Notes);
    let told: Vec<StyledText> = told
        .filter(|it| is_new(warning_names::name_kind(it.kind)))
        .map(|it| {
            let name = format!("{}.", warning_names::name_kind(it.kind));
            StyledText::default()
                .stressed(name)
                .plain(format!(" {}", warning_names::shorten_warning(it)))
        })
        .collect();
    let more = told.len().saturating_sub(WARNINGS);
    (!told.is_empty()).then(|| Answered {
        question: "What could mislead?".into(),
        lines: told.into_iter().take(WARNINGS).collect(),
        note: (more > 0)
            .then(|| format!("And {} below.", words::count_nouns(more, "more warning"))),
        command: None,
        more: Some(warning_names::SECTION),
        page_alone: true,
    })
}
