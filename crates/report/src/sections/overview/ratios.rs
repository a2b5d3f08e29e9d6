//! The first screen's chart where many conditions have no number in common: a ratio for each condition and level.

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{Contrast, LeaderOutcome, OperationCase, PromiseCases, Verdict};

use super::super::matrix::{DARKEST, name_place, shade_ratio};
use crate::amount::AmountText;
use crate::block::{Heat, HeatCell, HeatRow, Heats, ReportCell, StyledText};
use crate::chart::find_style;
use crate::words;

/// With fewer conditions, strips say more.
const FEWEST: usize = 5;
/// More rows are no overview.
const MOST: usize = 120;

const COLOURS: &str = "A row for each condition: how many times slower than the *ringed* one, the fastest there. \
     Stronger colour: slower. *Dashed*: not shown to be slower. Choose a condition to see its figures below.";

/// `None` unless there are many conditions, and something is compared in them.
pub fn build_matrix<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<Heats> {
    if !(FEWEST..=MOST).contains(&layout.conditions.len()) {
        return None;
    }
    let maps: Vec<Heat> =
        layout.operations().filter_map(|operation| build_map(layout, cases, operation)).collect();
    let colours = StyledText::default().marked(COLOURS);
    (!maps.is_empty()).then_some(Heats { colours, maps, has_links: true })
}

fn build_map<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    operation: &'a str,
) -> Option<Heat> {
    let case_at = |condition: &ConditionLevels<'a>| {
        cases.iter().find(|it| it.operation == operation && it.condition == *condition)
    };
    layout.conditions.iter().find_map(case_at)?;
    let levels = layout.charted_levels();
    let rows = layout.conditions.iter().enumerate().map(|(number, condition)| {
        let cell =
            |level: &&'a str| build_cell(layout, operation, condition, case_at(condition), level);
        HeatRow {
            name: name_place(layout, condition),
            link: Some(format_id(number)),
            cells: levels.iter().map(cell).collect(),
        }
    });
    Some(Heat {
        caption: operation.to_owned(),
        columns: levels
            .iter()
            .map(|level| ReportCell { style: Some(find_style(layout, level)), ..(*level).into() })
            .collect(),
        rows: rows.collect(),
    })
}

/// Of a condition's group of strips.
pub fn format_id(number: usize) -> String {
    format!("condition{number}")
}

fn build_cell<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
    case: Option<&OperationCase<'a>>,
    level: &'a str,
) -> Option<HeatCell> {
    let amount = layout.amount(operation, condition, level).filter(|it| it.value > 0.0)?;
    let plain = |times: &str| HeatCell {
        text: amount.text(),
        times: times.to_owned(),
        ends: None,
        shade: 0,
        best: false,
        open: true,
    };
    if !layout.keeps_promise(condition, level) {
        return Some(plain("promise broken"));
    }
    let Some(case) = case else { return Some(plain("not compared")) };
    if case.leader == level {
        let won = case.outcome == LeaderOutcome::Won;
        let times = if won { "fastest" } else { case.contrast.verdict.word() };
        return Some(HeatCell { best: won, open: !won, ..plain(times) });
    }
    let group = PromiseCases { durability: None, cases: vec![case.clone()] };
    let contrast = group.contrasts(layout, case.leader, level).into_iter().next();
    Some(contrast.map_or_else(|| plain("not compared"), |it| compare_cell(&it, amount)))
}

fn compare_cell(contrast: &Contrast, amount: MeritAmount) -> HeatCell {
    let slower = contrast.verdict == Verdict::Slower;
    let ends = match contrast.ends {
        (Some(low), Some(high)) => Some([low, high].map(words::format_two).join(" – ")),
        _ => None,
    };
    HeatCell {
        text: format!("{}×", words::ratio_or_bound(contrast.ratio, contrast.is)),
        times: if slower { amount.text() } else { contrast.verdict.word().to_owned() },
        ends,
        shade: if slower { shade_ratio(contrast.ratio).clamp(1, DARKEST) } else { 0 },
        best: false,
        open: !slower,
    }
}
