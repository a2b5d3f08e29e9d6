//! Searches for the highest rate that keeps a limit: results, and every rate that was tried.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{LimitView, ProbeVerdict, ProbeView};
use bakeoff_results::limit::ResponseTimeLimit;

use crate::block::{ColumnKind, ReportBlock, ReportColumn, ReportRow, ReportTable, StyledText};
use crate::figures::{self, NONE};
use crate::searches;
use crate::words;

const EXPLAINED: &str = "Operations were due at each rate, whether or not those before them had ended. A rate \
     keeps the limit where the load was kept up and no kind of operation is over it; a trial that failed breaks it. \
     Response time counts from the moment at which an operation was due, service time from its start. Backlog: the \
     most that were due and had not started at any moment. The rate that is found was tried again three times.";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let Some(limit) = document.run.run.limit else { return Vec::new() };
    if document.limits.is_empty() {
        return Vec::new();
    }
    let places = searches::distinguishing_factors(layout);
    let said = |view| ReportBlock::Note(describe_answer(&places, limit, view));
    let mut blocks: Vec<ReportBlock> = document.limits.iter().map(said).collect();
    let table = build_table(&places, limit, &document.limits);
    if !table.rows.is_empty() {
        blocks.extend([ReportBlock::Note(EXPLAINED.into()), ReportBlock::Table(table)]);
    }
    blocks
}

fn describe_answer(places: &[&str], limit: ResponseTimeLimit, view: &LimitView) -> StyledText {
    let place = searches::describe_place(places, view);
    let place = if place.is_empty() { place } else { place + ": " };
    let closed = view.closed_per_second.map_or_else(String::new, |reached| {
        format!(" A closed loop reached {} a second.", words::format_digits(reached))
    });
    StyledText::from(words::capitalize(&format!("{place}{}.{closed}", view.answer(limit))))
}

fn build_table(places: &[&str], limit: ResponseTimeLimit, views: &[LimitView]) -> ReportTable {
    let quantile = limit.quantile.name();
    let conditions = ReportColumn::from_factors(places);
    let columns = [
        ReportColumn::new(ColumnKind::Main, "offered per second").with_short(Some("offered/s")),
        ReportColumn::new(ColumnKind::Verdict, "limit"),
        ReportColumn::new(ColumnKind::Number, format!("response time, {quantile}"))
            .with_short(Some(quantile)),
        ReportColumn::new(ColumnKind::Text, "of"),
        ReportColumn::new(ColumnKind::Number, "service time, p99").with_short(Some("service p99")),
        ReportColumn::new(ColumnKind::Number, "backlog"),
        ReportColumn::new(ColumnKind::Text, "load"),
        ReportColumn::new(ColumnKind::Reason, "why it does not count").with_short(None::<String>),
    ];
    let row = |view: &LimitView, probe: &ProbeView| {
        let level = |factor: &&str| view.levels.get(*factor).cloned().unwrap_or_default();
        let levels: Vec<String> = places.iter().map(level).collect();
        ReportRow::from_cells(levels.into_iter().chain(format_cells(probe)))
    };
    let rows = views.iter().flat_map(|view| view.probes.iter().map(move |probe| (view, probe)));
    let table = ReportTable {
        caption: format!("Rates that were tried against {limit}").into(),
        columns: conditions.chain(columns).collect(),
        rows: rows.map(|(view, probe)| row(view, probe)).collect(),
        ..ReportTable::default()
    };
    table.without_empty_columns(|_| true)
}

fn format_cells(probe: &ProbeView) -> [String; 8] {
    let said = match probe.said {
        ProbeVerdict::Keeps => "kept",
        ProbeVerdict::Breaks => "broken",
        ProbeVerdict::Unknown => "not known",
    };
    let load = match probe.kept_up {
        Some(true) => "kept up",
        Some(false) => "not kept up",
        None => NONE,
    };
    [
        words::format_digits(probe.per_second),
        said.into(),
        figures::format_latency(probe.response_s),
        probe.operation.clone().unwrap_or_else(|| NONE.into()),
        figures::format_latency(probe.service_p99_s),
        probe.backlog.map_or_else(|| NONE.into(), words::format_count),
        load.into(),
        probe.failed.clone().unwrap_or_default(),
    ]
}
