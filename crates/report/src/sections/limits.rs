//! The searches for the highest rate that keeps a limit on response times: what was found, and every rate that was
//! tried.

use bakeoff_analysis::{LimitView, ProbeView, Said};
use bakeoff_results::limit::Limit;

use crate::block::{Block, Column, Kind, Row, Table, Words};
use crate::figures::{self, NONE};
use crate::layout::Layout;
use crate::searches;
use crate::section::Section;
use crate::words;

/// The searches.
pub struct Limits;

/// What the figures mean, for a reader.
const EXPLAINED: &str = "Operations were due at each rate, whether or not those before them had ended. A rate \
     keeps the limit where the load was kept up and no kind of operation is over it; a trial that failed breaks it. \
     Response time counts from the moment at which an operation was due, service time from its start. Backlog: the \
     most that were due and had not started at any moment. The rate that is found was tried again three times.";

impl Section for Limits {
    fn name(&self) -> &str {
        "limits"
    }

    fn title(&self) -> &str {
        "The highest rate that keeps the limit"
    }

    fn link(&self) -> &str {
        "Highest rate"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let document = layout.document;
        let Some(limit) = document.run.run.limit else { return Vec::new() };
        if document.limits.is_empty() {
            return Vec::new();
        }
        let places = searches::places(layout);
        let said = |view| Block::Note(answer(&places, limit, view));
        let mut blocks: Vec<Block> = document.limits.iter().map(said).collect();
        let table = table(&places, limit, &document.limits);
        if !table.rows.is_empty() {
            blocks.extend([Block::Note(EXPLAINED.into()), Block::Table(table)]);
        }
        blocks
    }
}

/// What a search has found.
fn answer(places: &[&str], limit: Limit, view: &LimitView) -> Words {
    let place = searches::place(places, view);
    let place = if place.is_empty() { place } else { place + ": " };
    let closed = view.closed_per_second.map_or_else(String::new, |reached| {
        format!(" A closed loop reached {} a second.", words::digits(reached))
    });
    Words::from(words::capital(&format!("{place}{}.{closed}", view.answer(limit))))
}

/// Every rate that was tried, in order.
fn table(places: &[&str], limit: Limit, views: &[LimitView]) -> Table {
    let quantile = limit.quantile.name();
    let conditions = places.iter().map(|factor| Column::new(Kind::Condition, *factor));
    let columns = [
        Column::new(Kind::Main, "offered per second").short(Some("offered/s")),
        Column::new(Kind::Verdict, "limit"),
        Column::new(Kind::Number, format!("response time, {quantile}")).short(Some(quantile)),
        Column::new(Kind::Text, "of"),
        Column::new(Kind::Number, "service time, p99").short(Some("service p99")),
        Column::new(Kind::Number, "backlog"),
        Column::new(Kind::Text, "load"),
        Column::new(Kind::Reason, "why it does not count").short(None::<String>),
    ];
    let row = |view: &LimitView, probe: &ProbeView| {
        let level = |factor: &&str| view.levels.get(*factor).cloned().unwrap_or_default();
        let levels: Vec<String> = places.iter().map(level).collect();
        Row::of(levels.into_iter().chain(cells(probe)))
    };
    let rows = views.iter().flat_map(|view| view.probes.iter().map(move |probe| (view, probe)));
    let table = Table {
        caption: format!("Rates that were tried against {limit}").into(),
        columns: conditions.chain(columns).collect(),
        rows: rows.map(|(view, probe)| row(view, probe)).collect(),
        ..Table::default()
    };
    table.without_empty_columns(|_| true)
}

/// What a probe says, a text for each column.
fn cells(probe: &ProbeView) -> [String; 8] {
    let said = match probe.said {
        Said::Keeps => "kept",
        Said::Breaks => "broken",
        Said::Unknown => "not known",
    };
    let load = match probe.kept_up {
        Some(true) => "kept up",
        Some(false) => "not kept up",
        None => NONE,
    };
    [
        words::digits(probe.per_second),
        said.into(),
        figures::latency(probe.response_s),
        probe.operation.clone().unwrap_or_else(|| NONE.into()),
        figures::latency(probe.service_p99_s),
        probe.backlog.map_or_else(|| NONE.into(), words::count),
        load.into(),
        probe.failed.clone().unwrap_or_default(),
    ]
}
