//! Changes from one cell of a run to another, and what they are called.

use bakeoff_analysis::{CellChange, CellView, Contrast, Verdict, changes};
use bakeoff_results::measure::{COMMITS, PAYLOAD, RETURNED};
use bakeoff_results::{Levels, Scope};

use crate::block::StyledText;
use crate::durability;
use crate::layout::{ConditionLevels, DocumentLayout, get};
use crate::leads::{
    Ratio, backed, bare, bracket, bracket_of_times, figures, in_all_of, one_by_one, wordless,
};
use crate::panels::LOAD;
use crate::words;

/// What an application asks for, and nobody changes to be faster.
const GIVEN: [&str; 2] = ["scale", "state"];
/// So many cells are held against the one in use, at most.
const MOST: usize = 200;

/// One of the changes that lead from a cell to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeStep<'a> {
    /// The factor.
    pub factor: &'a str,
    /// Its level before.
    pub from: &'a str,
    /// Its level after.
    pub to: &'a str,
}

/// A cell that differs from the one in use.
#[derive(Clone, Debug)]
pub struct ChangeTarget<'a> {
    /// What is changed: nothing where the same was run again.
    pub steps: Vec<ChangeStep<'a>>,
    /// The cell.
    pub cell: &'a CellView,
}

/// All changes that a report tells of, judged together.
pub struct JudgedChanges<'a> {
    /// The cell that is in use today; `None` where no trial counts.
    pub present: Option<&'a CellView>,
    /// Those that one or two steps lead to, in the plan's order.
    pub targets: Vec<ChangeTarget<'a>>,
    judged: Vec<CellChange<'a>>,
}

impl<'a> JudgedChanges<'a> {
    /// Of a run.
    pub fn from_layout(layout: &DocumentLayout<'a>) -> Self {
        let present = present(layout);
        let mut targets: Vec<ChangeTarget> = present.map_or(Vec::new(), |it| targets(layout, it));
        // Of very many the single changes are told first.
        targets.sort_by_key(|target| target.steps.len());
        targets.truncate(MOST);
        let asked = present
            .into_iter()
            .flat_map(|from| targets.iter().map(move |target| (&from.levels, &target.cell.levels)));
        let mut pairs: Vec<(&Levels, &Levels)> = asked.chain(prices(layout)).collect();
        pairs.sort();
        pairs.dedup();
        // Cells that stand beside each other in blocks are compared by the run itself: one pair has one verdict.
        let (beside, apart): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|(from, to)| is_beside(layout, from, to));
        let document = layout.document;
        let mut judged = changes(&document.run.run, &document.trials, apart);
        let broken = document.cells.iter().filter(|cell| cell.broken_promise.is_some());
        let broken: Vec<&Levels> = broken.map(|cell| &cell.levels).collect();
        let is_broken = |levels: &Levels| broken.contains(&levels);
        for change in judged.iter_mut().filter(|it| is_broken(it.from) || is_broken(it.to)) {
            change.comparison.verdict = Verdict::Void;
        }
        judged.extend(beside.into_iter().flat_map(|(from, to)| compared(layout, from, to)));
        Self { present, targets, judged }
    }

    /// What a change does to an operation; `None` where the two cells have nothing in common.
    pub fn contrast(&self, from: &CellView, to: &CellView, operation: &str) -> Option<Contrast> {
        let found = self.judged.iter().find(|it| {
            *it.from == from.levels && *it.to == to.levels && it.comparison.operation == operation
        });
        Contrast::from_comparison(&found?.comparison)
    }
}

/// Whether two cells differ in the compared factor alone, neither of them entered under another name.
fn is_beside(layout: &DocumentLayout<'_>, from: &Levels, to: &Levels) -> bool {
    let run = &layout.document.run.run;
    let level = |levels: &Levels| get(levels, layout.compare).to_owned();
    let is_alias = |levels: &Levels| run.alias(layout.compare, &level(levels)).is_some();
    let alike = layout.varying.iter().all(|factor| get(from, factor) == get(to, factor));
    alike && level(from) != level(to) && !is_alias(from) && !is_alias(to)
}

/// What the run says of two such cells, at each operation.
fn compared<'a>(
    layout: &DocumentLayout<'a>,
    from: &'a Levels,
    to: &'a Levels,
) -> Vec<CellChange<'a>> {
    let condition: ConditionLevels<'a> =
        layout.varying.iter().map(|factor| get(from, factor)).collect();
    let change = |operation: &'a str| {
        let [old, new] = [from, to].map(|levels| get(levels, layout.compare));
        let comparison = layout.pair(operation, &condition, old, new)?;
        Some(CellChange { from, to, comparison })
    };
    layout.operations().filter_map(change).collect()
}

/// The condition at which the least is promised beside one that keeps every commit: where the last second
/// may be lost, or else anything.
pub fn looser<'b, 'a>(
    layout: &'b DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> Option<(&'b ConditionLevels<'a>, &'static str)> {
    let at = layout.varying.iter().position(|factor| *factor == durability::FACTOR)?;
    if condition.get(at) != Some(&"strict") {
        return None;
    }
    let at_level = |level| Some((layout.sibling(condition, durability::FACTOR, level)?, level));
    at_level("relaxed").or_else(|| at_level("none"))
}

/// What keeping every commit costs: each level of the compared factor with less promised, and without.
fn prices<'a>(layout: &DocumentLayout<'a>) -> Vec<(&'a Levels, &'a Levels)> {
    let mut pairs = Vec::new();
    for condition in &layout.conditions {
        let Some((looser, _)) = looser(layout, condition) else { continue };
        for level in layout.contenders() {
            let both = layout.cell(looser, level).zip(layout.cell(condition, level));
            pairs.extend(both.map(|(loose, strict)| (&loose.levels, &strict.levels)));
        }
    }
    pairs
}

/// The first cell at the levels that were named, or else the first of all; where levels are left open, one
/// whose clients got something done.
fn present<'a>(layout: &DocumentLayout<'a>) -> Option<&'a CellView> {
    let document = layout.document;
    let contends = |cell: &&CellView| {
        let level = get(&cell.levels, layout.compare);
        cell.trials > 0 && layout.contenders().contains(&level)
    };
    let asked = |cell: &&CellView| {
        layout.present.iter().all(|(factor, level)| get(&cell.levels, factor) == level)
    };
    let all = || document.cells.iter().filter(contends);
    let named = || all().filter(asked);
    let works = |cell: &&CellView| works(layout, cell);
    named()
        .find(works)
        .or_else(|| named().next())
        .or_else(|| all().find(works))
        .or_else(|| all().next())
}

/// Whether an engine stores what a cell's clients give it, and they read or wrote anything: a page of constants
/// is what nobody has in use. Where either was not counted, they may have.
fn works(layout: &DocumentLayout<'_>, cell: &CellView) -> bool {
    let document = layout.document;
    if !document.run.run.stores(get(&cell.levels, "engine")) {
        return false;
    }
    let mut trials = document.trials.iter().filter(|it| it.valid && it.levels == cell.levels);
    trials.any(|trial| {
        let amounts = [&RETURNED, &COMMITS, &PAYLOAD];
        !amounts.iter().all(|it| trial.measures.get(it, &Scope::Clients) == Some(0.0))
    })
}

/// The cells that one or two choices lead to, and the same one where it was run again.
fn targets<'a>(layout: &DocumentLayout<'a>, present: &'a CellView) -> Vec<ChangeTarget<'a>> {
    let run = &layout.document.run.run;
    let to = |cell: &'a CellView| {
        let mut steps = Vec::new();
        for (factor, _) in &run.factors {
            let (from, to) = (get(&present.levels, factor), get(&cell.levels, factor));
            if from == to {
                continue;
            }
            if let Some(of) = run.alias(factor, to) {
                // The same under another name.
                if of != from {
                    return None;
                }
                continue;
            }
            let chosen = !LOAD.contains(&factor.as_str()) && !GIVEN.contains(&factor.as_str());
            if !chosen || (factor == layout.compare && layout.is_harness(to)) {
                return None;
            }
            steps.push(ChangeStep { factor, from, to });
        }
        let again = steps.is_empty() && cell.levels != present.levels;
        let aliased = cell.levels.iter().any(|(factor, level)| run.alias(factor, level).is_some());
        let told = again || ((1..=2).contains(&steps.len()) && !aliased);
        (told && cell.trials > 0).then_some(ChangeTarget { steps, cell })
    };
    layout.document.cells.iter().filter_map(to).collect()
}

/// What a change does to an operation: "1.4× as long (1.2–1.7)", "undecided: 1.1× as fast (1.02–1.3)".
pub fn said(contrast: Contrast) -> String {
    let faster = contrast.ratio < 1.0;
    let shown = if faster { contrast.turned() } else { contrast };
    let interval = bracket(&[shown]);
    let sure = match contrast.verdict {
        Verdict::Faster | Verdict::Slower => "",
        Verdict::Same => return format!("no difference{interval}"),
        Verdict::Undecided | Verdict::WithinNoise => match contrast.ends {
            (Some(low), Some(high)) if low < 1.0 && high > 1.0 => {
                return format!("undecided{}", bracket_of_times(&[contrast]));
            }
            _ => "undecided: ",
        },
        _ => return wordless(&[contrast]).unwrap_or_default().to_owned(),
    };
    let times = figures(&[shown]).unwrap_or_default();
    let how = if faster { "as fast" } else { "as long" };
    format!("{sure}{times}× {how}{interval}")
}

/// How many times as long operations take with every commit kept: "1.5 times as long in both operations (1.3–1.8)",
/// of a few operations that don't round alike each for itself, of more cases "1.5 to 1.6 times as long (all 95 %
/// intervals lie within 1.3–1.8)". `None` without a ratio.
pub fn price(ratios: &[Ratio<'_>]) -> Option<StyledText> {
    let contrasts = &bare(ratios)[..];
    let figures = figures(contrasts)?;
    let told = |stressed: &str, rest: String| StyledText::default().stressed(stressed).plain(rest);
    if let Some(reason) = wordless(contrasts) {
        return Some(told(reason, String::new()));
    }
    let interval = bracket(contrasts);
    let open =
        |it: &Contrast| matches!(it.ends, (Some(low), Some(high)) if low < 1.0 && high > 1.0);
    if contrasts.iter().all(open) {
        return Some(told("undecided", bracket_of_times(contrasts)));
    }
    if contrasts.iter().all(|it| it.verdict == Verdict::Same) {
        return Some(told("no difference", interval));
    }
    let decided = |it: &Contrast| matches!(it.verdict, Verdict::Slower | Verdict::Faster);
    let may = if contrasts.iter().all(decided) { "" } else { "undecided: " };
    let times = one_by_one(ratios).unwrap_or_else(|| {
        let rest = format!(" as long{}{}", in_all_of(ratios), backed(contrasts));
        told(&format!("{figures} times"), rest)
    });
    Some(StyledText::default().plain(may).then(times))
}

/// How a figure stands to another of the same kind: "+85 %", "−40 %", "3.4×".
pub fn delta(new: f64, old: f64) -> Option<String> {
    let ratio = Some(new / old).filter(|it| it.is_finite() && *it > 0.0)?;
    let share = ((ratio - 1.0) * 100.0).round();
    Some(match ratio {
        it if it >= 3.0 => format!("{}×", words::two(it)),
        _ if share == 0.0 => "±0 %".into(),
        _ if share > 0.0 => format!("+{share} %"),
        _ => format!("−{} %", -share),
    })
}
