//! Shows how many blocks each condition took until it was decided, and why it ended.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{ConditionState, ConditionView};

use crate::block::{ColumnKind, ReportBlock, ReportColumn, ReportRow, ReportTable, StyledText};
use crate::words;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let Some(sequential) = document.run.run.sequential.as_ref() else { return Vec::new() };
    if document.conditions.is_empty() {
        return Vec::new();
    }
    let condition = ReportColumn::from_factors(&layout.varying);
    let rest = [
        ReportColumn::new(ColumnKind::Number, "blocks"),
        ReportColumn::new(ColumnKind::Number, "judged at"),
        ReportColumn::new(ColumnKind::State, "why it ended"),
    ];
    let rows = document.conditions.iter().map(|it| {
        let level = |factor: &&str| it.levels.get(*factor).cloned().unwrap_or_default();
        let levels = layout.varying.iter().map(level);
        ReportRow::from_cells(levels.chain(format_figures(it)))
    });
    let table = ReportTable {
        caption: "Blocks of each condition".into(),
        columns: condition.chain(rest).collect(),
        rows: rows.collect(),
        ..ReportTable::default()
    };
    let looks: Vec<String> = sequential.looks.iter().map(ToString::to_string).collect();
    let lead = format!(
        "Every condition was judged at {} blocks, and went on until each comparison was faster, slower \
         or same; verdicts change at these interim analyses alone.",
        words::join_list(&looks)
    );
    vec![ReportBlock::Lead(StyledText::from(lead)), ReportBlock::Table(table)]
}

fn format_figures(it: &ConditionView) -> [String; 3] {
    let judged = if it.judged_at > 0 { it.judged_at.to_string() } else { "–".into() };
    [it.blocks.to_string(), judged, explain_end(it.state).to_owned()]
}

fn explain_end(state: ConditionState) -> &'static str {
    match state {
        ConditionState::Open => "it has not ended",
        ConditionState::Decided => "decided",
        ConditionState::OutOfReach => "no further verdict was likely",
        ConditionState::MaxRepetitions => "most repetitions reached",
        ConditionState::MaxTime => "the time was over",
    }
}
