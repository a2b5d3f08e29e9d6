//! The slowest operations of each cell: p50, p99 and the longest.

mod tails;

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_results::{FigureOfMerit, OperationSummary};

use crate::block::{
    ReportBlock, ReportCell, Strip, StripGroup, StripHead, StripRow, Strips, StyledText,
};
use crate::cell_tables;
use crate::chart::find_style;
use crate::promise_titles;
use crate::strip::{self, StripAxis, StripContent};
use crate::words;

/// Operations beside each other, and rows below.
const OPERATIONS: usize = 4;
const ROWS: usize = 24;
const HEIGHT: f64 = 26.0;

const EXPLAINED: &str = "A mean hides what one user in a hundred waits for. Half of a cell’s operations took no \
     longer than *p50*, 99 in 100 no longer than *p99*, each the median of what the trials have; *longest* is the \
     longest of all trials, and depends on how many operations there were.";

const NO_P99: &str = "A p99 stands where each trial of a cell has 1,000 such operations or more: longer trials \
     (--seconds) have more.";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    // The table of rates has a row for each rate of a search.
    let is_search = layout.document.run.run.limit.is_some();
    let Some(strips) = build_strips(layout).filter(|_| !is_search) else { return Vec::new() };
    let mut blocks = vec![
        ReportBlock::Lead(StyledText::default().marked(EXPLAINED)),
        ReportBlock::Strips(strips),
    ];
    blocks.extend(tails::build_table(layout).map(ReportBlock::Table));
    blocks
}

fn build_strips<'a>(layout: &DocumentLayout<'a>) -> Option<Strips> {
    let levels = layout.charted_levels();
    let mut conditions = promise_titles::by_promise(layout);
    let all = conditions.len();
    conditions.truncate((ROWS / levels.len().max(1)).max(1));
    let cells: Vec<(&ConditionLevels<'a>, &'a str)> = conditions
        .iter()
        .flat_map(|condition| levels.iter().map(move |level| (*condition, *level)))
        .collect();
    let tails = |operation: &str| -> Vec<Tail> {
        let of = |(condition, level): &(&ConditionLevels<'a>, &'a str)| {
            Tail::from_figures(layout.figures(operation, condition, level)?)
        };
        cells.iter().filter_map(of).collect()
    };
    let mut operations: Vec<&str> =
        layout.operations().filter(|it| !tails(it).is_empty()).collect();
    let left_out = operations.len().saturating_sub(OPERATIONS);
    operations.truncate(OPERATIONS);
    let all_tails = operations.iter().flat_map(|operation| tails(operation));
    let ends = all_tails.flat_map(|it| [Some(it.longest), it.p99, it.p50]).flatten();
    let ends: Vec<f64> = ends.collect();
    if ends.is_empty() {
        return None;
    }
    let axis = StripAxis::of_amounts(FigureOfMerit::Time, &ends, &[]);
    let head = |operation: &&str| StripHead {
        name: (*operation).to_owned(),
        unit: "p50, p99 and longest, log scale".into(),
        axis: axis.svg(),
    };
    let heads = operations.iter().map(head).collect();
    let tailless = |operation: &&str| tails(operation).iter().any(|it| it.p99.is_none());
    let mut notes = build_notes((conditions.len(), all), left_out);
    notes.extend(operations.iter().any(tailless).then(|| NO_P99.to_owned()));
    let chart = SlowestChart { layout, levels, operations, axis };
    Some(Strips {
        more: None,
        caption: "How long operations took at most".into(),
        names: layout.compare.to_owned(),
        heads,
        columns: Vec::new(),
        groups: conditions.iter().map(|condition| chart.group(condition)).collect(),
        legend: strip::legend_of_tails(),
        terms: Vec::new(),
        notes,
    })
}

struct SlowestChart<'b, 'a> {
    layout: &'b DocumentLayout<'a>,
    levels: Vec<&'a str>,
    operations: Vec<&'a str>,
    axis: StripAxis,
}

impl<'a> SlowestChart<'_, 'a> {
    fn group(&self, condition: &ConditionLevels<'a>) -> StripGroup {
        let (title, tool) = promise_titles::build_title(self.layout, condition);
        let rows = self.levels.iter().map(|level| self.row(condition, level)).collect();
        StripGroup { id: None, title, tool, rows }
    }

    fn row(&self, condition: &ConditionLevels<'a>, level: &'a str) -> StripRow {
        let style = find_style(self.layout, level);
        let strip = |operation: &&'a str| {
            let tail =
                self.layout.figures(operation, condition, level).and_then(Tail::from_figures);
            let mut drawn = match tail {
                Some(tail) => draw_tail(&self.axis, tail),
                None => StripContent {
                    label: cell_tables::explain_missing(self.layout, operation, condition, level)
                        .into(),
                    ..StripContent::default()
                },
            };
            drawn.style = style;
            drawn.said = format!("{operation}, {level}: {}", drawn.label);
            Strip::from_content(drawn, &self.axis, HEIGHT)
        };
        let marks = cell_tables::mark_cell(self.layout, condition, level);
        StripRow {
            name: ReportCell { style: Some(style), marks, ..level.into() },
            strips: self.operations.iter().map(strip).collect(),
            cells: Vec::new(),
            against: Vec::new(),
        }
    }
}

#[derive(Clone, Copy)]
struct Tail {
    p50: Option<f64>,
    /// `None` where too few operations lie beyond it.
    p99: Option<f64>,
    longest: f64,
    /// Some operations were cut off: figures are lower bounds.
    cut_off: bool,
}

impl Tail {
    fn from_figures(figures: &OperationSummary) -> Option<Self> {
        let usable = |value: Option<f64>| value.filter(|it| *it > 0.0 && it.is_finite());
        Some(Self {
            p50: usable(figures.p50_s),
            p99: usable(figures.p99_s),
            longest: usable(figures.max_s)?,
            cut_off: figures.unfinished > 0,
        })
    }

    /// "p50 4.50 ms, p99 20.0 ms, longest 105 ms".
    fn text(&self) -> String {
        let figures = [("p50", self.p50), ("p99", self.p99), ("longest", Some(self.longest))];
        let known = figures.into_iter().filter_map(|(name, figure)| Some((name, figure?)));
        let said =
            known.map(|(name, it)| format!("{name} {}", words::seconds_or_more(it, self.cut_off)));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// From p50 (hollow) to p99 and the longest. Without p99 the mark is the longest.
fn draw_tail(axis: &StripAxis, tail: Tail) -> StripContent {
    let longest = axis.place(tail.longest);
    StripContent {
        at: Some(tail.p99.map_or(longest, |p99| axis.place(p99))),
        interval: tail.p99.map(|p99| axis.interval((p99, tail.longest))),
        from: tail.p50.map(|p50| (axis.place(p50), None)),
        label: tail.text(),
        ..StripContent::default()
    }
}

fn build_notes((shown, all): (usize, usize), operations: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if shown < all {
        let all = words::count_nouns(all, "condition");
        notes
            .push(format!("{shown} of {all} are in this chart; the tables below have p99 of all."));
    }
    if operations > 0 {
        let number = words::count_nouns(operations, "more operation");
        notes.push(format!("{number}: in the tables below."));
    }
    notes
}
