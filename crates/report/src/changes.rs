//! Changes from one cell of a run to another, and their names.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout, level_or_empty};
use bakeoff_analysis::{
    CellChange, CellView, Contrast, Ratio, Verdict, compare_changes, find_open_reason,
};
use bakeoff_results::measure::{COMMITS, PAYLOAD, RETURNED};
use bakeoff_results::{DurabilityLevel, Levels, OwnFactor, Scope};

use crate::block::StyledText;
use crate::panels::LOAD;
use crate::ratio_words::{
    back_ratios, bracket_of_times, format_bracket, format_ratios, in_all_of, one_by_one,
    without_operations,
};
use crate::words;

/// Given by the application: nobody changes these to be faster.
const GIVEN: [OwnFactor; 2] = [OwnFactor::Scale, OwnFactor::State];
/// At most this many cells are compared with the one in use.
const MOST: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeStep<'a> {
    pub factor: &'a str,
    pub from: &'a str,
    pub to: &'a str,
}

#[derive(Clone, Debug)]
pub struct ChangeTarget<'a> {
    pub steps: Vec<ChangeStep<'a>>,
    pub cell: &'a CellView,
}

pub struct JudgedChanges<'a> {
    /// The cell in use today; `None` where no trial counts.
    pub present: Option<&'a CellView>,
    /// One or two steps away, in the plan's order.
    pub targets: Vec<ChangeTarget<'a>>,
    judged: Vec<CellChange<'a>>,
}

impl<'a> JudgedChanges<'a> {
    pub fn from_layout(layout: &DocumentLayout<'a>) -> Self {
        let present = find_present(layout);
        let mut targets: Vec<ChangeTarget> =
            present.map_or(Vec::new(), |it| find_targets(layout, it));
        // If there are too many, single changes come first.
        targets.sort_by_key(|target| target.steps.len());
        targets.truncate(MOST);
        let asked = present
            .into_iter()
            .flat_map(|from| targets.iter().map(move |target| (&from.levels, &target.cell.levels)));
        let mut pairs: Vec<(&Levels, &Levels)> = asked.chain(pair_prices(layout)).collect();
        pairs.sort();
        pairs.dedup();
        // Blocks already compare cells that differ in the compared factor: a pair has one verdict.
        let (beside, apart): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|(from, to)| is_beside(layout, from, to));
        let document = layout.document;
        let mut judged = compare_changes(&document.run.run, &document.trials, apart);
        let broken = document.cells.iter().filter(|cell| cell.broken_promise.is_some());
        let broken: Vec<&Levels> = broken.map(|cell| &cell.levels).collect();
        let is_broken = |levels: &Levels| broken.contains(&levels);
        for change in judged.iter_mut().filter(|it| is_broken(it.from) || is_broken(it.to)) {
            change.comparison.verdict = Verdict::Void;
        }
        judged.extend(beside.into_iter().flat_map(|(from, to)| find_changes(layout, from, to)));
        Self { present, targets, judged }
    }

    /// `None` where the two cells have nothing in common.
    pub fn find_contrast(
        &self,
        from: &CellView,
        to: &CellView,
        operation: &str,
    ) -> Option<Contrast> {
        let found = self.judged.iter().find(|it| {
            *it.from == from.levels && *it.to == to.levels && it.comparison.operation == operation
        });
        Contrast::from_comparison(&found?.comparison)
    }
}

/// They differ in the compared factor alone, and neither is an alias.
fn is_beside(layout: &DocumentLayout<'_>, from: &Levels, to: &Levels) -> bool {
    let run = &layout.document.run.run;
    let level = |levels: &Levels| level_or_empty(levels, layout.compare).to_owned();
    let is_alias = |levels: &Levels| run.resolve_alias(layout.compare, &level(levels)).is_some();
    let alike = layout
        .varying
        .iter()
        .all(|factor| level_or_empty(from, factor) == level_or_empty(to, factor));
    alike && level(from) != level(to) && !is_alias(from) && !is_alias(to)
}

fn find_changes<'a>(
    layout: &DocumentLayout<'a>,
    from: &'a Levels,
    to: &'a Levels,
) -> Vec<CellChange<'a>> {
    let condition: ConditionLevels<'a> =
        layout.varying.iter().map(|factor| level_or_empty(from, factor)).collect();
    let change = |operation: &'a str| {
        let [old, new] = [from, to].map(|levels| level_or_empty(levels, layout.compare));
        let comparison = layout.pair(operation, &condition, old, new)?;
        Some(CellChange { from, to, comparison })
    };
    layout.operations().filter_map(change).collect()
}

/// The same condition with less promised: the last second may be lost, or else anything.
pub fn find_looser<'b, 'a>(
    layout: &'b DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> Option<(&'b ConditionLevels<'a>, &'static str)> {
    let at = layout.varying.iter().position(|factor| *factor == OwnFactor::Durability)?;
    if condition.get(at) != Some(&DurabilityLevel::Strict.as_str()) {
        return None;
    }
    let at_level = |level: DurabilityLevel| {
        let level = level.as_str();
        Some((layout.sibling(condition, OwnFactor::Durability.as_str(), level)?, level))
    };
    at_level(DurabilityLevel::Relaxed).or_else(|| at_level(DurabilityLevel::None))
}

fn pair_prices<'a>(layout: &DocumentLayout<'a>) -> Vec<(&'a Levels, &'a Levels)> {
    let mut pairs = Vec::new();
    for condition in &layout.conditions {
        let Some((looser, _)) = find_looser(layout, condition) else { continue };
        for level in layout.contenders() {
            let both = layout.cell(looser, level).zip(layout.cell(condition, level));
            pairs.extend(both.map(|(loose, strict)| (&loose.levels, &strict.levels)));
        }
    }
    pairs
}

/// The first cell at the named levels. If levels are left open, its clients must have done
/// something.
fn find_present<'a>(layout: &DocumentLayout<'a>) -> Option<&'a CellView> {
    let document = layout.document;
    let contends = |cell: &&CellView| {
        let level = level_or_empty(&cell.levels, layout.compare);
        cell.trials > 0 && layout.contenders().contains(&level)
    };
    let asked = |cell: &&CellView| {
        layout.present.iter().all(|(factor, level)| level_or_empty(&cell.levels, factor) == level)
    };
    let all = || document.cells.iter().filter(contends);
    let named = || all().filter(asked);
    let works = |cell: &&CellView| has_work(layout, cell);
    named()
        .find(works)
        .or_else(|| named().next())
        .or_else(|| all().find(works))
        .or_else(|| all().next())
}

/// An engine stores what clients read or write. A page of constants is nobody's present choice.
/// Uncounted operations may be work.
fn has_work(layout: &DocumentLayout<'_>, cell: &CellView) -> bool {
    let document = layout.document;
    if !document.run.run.stores_at(&cell.levels) {
        return false;
    }
    let mut trials = document.trials.iter().filter(|it| it.valid && it.levels == cell.levels);
    trials.any(|trial| {
        let amounts = [&RETURNED, &COMMITS, &PAYLOAD];
        !amounts.iter().all(|it| trial.measures.get(it, &Scope::Clients) == Some(0.0))
    })
}

/// One or two changes away, and the same cell where it was run again.
fn find_targets<'a>(layout: &DocumentLayout<'a>, present: &'a CellView) -> Vec<ChangeTarget<'a>> {
    let run = &layout.document.run.run;
    let to = |cell: &'a CellView| {
        let mut steps = Vec::new();
        for (factor, _) in &run.factors {
            let (from, to) =
                (level_or_empty(&present.levels, factor), level_or_empty(&cell.levels, factor));
            if from == to {
                continue;
            }
            if let Some(of) = run.resolve_alias(factor, to) {
                // The same cell under another name.
                if of != from {
                    return None;
                }
                continue;
            }
            let chosen = !LOAD.contains(&factor.as_str()) && !GIVEN.iter().any(|it| factor == it);
            if !chosen || (factor == layout.compare && layout.is_harness(to)) {
                return None;
            }
            steps.push(ChangeStep { factor, from, to });
        }
        let again = steps.is_empty() && cell.levels != present.levels;
        let aliased =
            cell.levels.iter().any(|(factor, level)| run.resolve_alias(factor, level).is_some());
        let told = again || ((1..=2).contains(&steps.len()) && !aliased);
        (told && cell.trials > 0).then_some(ChangeTarget { steps, cell })
    };
    layout.document.cells.iter().filter_map(to).collect()
}

/// "1.4× as long (1.2–1.7)", "undecided: 1.1× as fast (1.02–1.3)".
pub fn describe_change(contrast: Contrast) -> String {
    let faster = contrast.ratio < 1.0;
    let shown = if faster { contrast.with_inverse_ratio() } else { contrast };
    let interval = format_bracket(&[shown]);
    let sure = match contrast.verdict {
        Verdict::Faster | Verdict::Slower => "",
        Verdict::Same => return format!("no difference{interval}"),
        Verdict::Undecided | Verdict::WithinNoise => match contrast.ends {
            (Some(low), Some(high)) if low < 1.0 && high > 1.0 => {
                return format!("undecided{}", bracket_of_times(&[contrast]));
            }
            _ => "undecided: ",
        },
        _ => return find_open_reason(&[contrast]).map_or("", Verdict::word).to_owned(),
    };
    let times = format_ratios(&[shown]).unwrap_or_default();
    let how = if faster { "as fast" } else { "as long" };
    format!("{sure}{times}× {how}{interval}")
}

/// How many times as long with every commit kept: "1.5 times as long in both operations (1.3–1.8)",
/// "1.5 to 1.6 times as long (all 95 % intervals lie within 1.3–1.8)".
pub fn describe_price(ratios: &[Ratio<'_>]) -> Option<StyledText> {
    let contrasts = &without_operations(ratios)[..];
    let figures = format_ratios(contrasts)?;
    let told = |stressed: &str, rest: String| StyledText::default().stressed(stressed).plain(rest);
    if let Some(reason) = find_open_reason(contrasts) {
        return Some(told(reason.word(), String::new()));
    }
    let interval = format_bracket(contrasts);
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
        let rest = format!(" as long{}{}", in_all_of(ratios), back_ratios(contrasts));
        told(&format!("{figures} times"), rest)
    });
    Some(StyledText::default().plain(may).then(times))
}

/// "+85 %", "−40 %", "3.4×".
pub fn format_delta(new: f64, old: f64) -> Option<String> {
    let ratio = Some(new / old).filter(|it| it.is_finite() && *it > 0.0)?;
    let share = ((ratio - 1.0) * 100.0).round();
    Some(match ratio {
        it if it >= 3.0 => format!("{}×", words::format_two(it)),
        _ if share == 0.0 => "±0 %".into(),
        _ if share > 0.0 => format!("+{share} %"),
        _ => format!("−{} %", -share),
    })
}
