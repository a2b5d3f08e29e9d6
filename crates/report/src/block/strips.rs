//! A table of strips: in each a mark on an axis that all rows share. A page draws them, a terminal sets
//! them in signs, Markdown has their figures.

use serde::Serialize;

use super::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable};
use crate::strip::{LegendKey, StripAxis, StripContent};

/// Rows of marks on axes that they share.
#[derive(Clone, Debug, Serialize)]
pub struct Strips {
    /// What it shows.
    pub caption: String,
    /// What the names of the rows are.
    pub names: String,
    /// The strips of a row.
    pub heads: Vec<StripHead>,
    /// The headings of what stands behind the strips.
    pub columns: Vec<String>,
    /// The rows.
    pub groups: Vec<StripGroup>,
    /// What the marks are; it stands above the rows.
    pub legend: Vec<LegendKey>,
    /// What words and brackets behind the strips mean, a sentence each; with the legend.
    pub terms: Vec<String>,
    /// What else has to be known.
    pub notes: Vec<String>,
}

/// What a column of strips shows.
#[derive(Clone, Debug, Serialize)]
pub struct StripHead {
    /// Of what.
    pub name: String,
    /// In which unit, and which side is better.
    pub unit: String,
    /// The axis as an `<svg>` element.
    pub axis: String,
}

/// Rows that stand together.
#[derive(Clone, Debug, Serialize)]
pub struct StripGroup {
    /// What they share; empty where there is nothing.
    pub title: String,
    /// The same as the command has it; empty where that is no other.
    pub tool: String,
    /// The rows, the best first.
    pub rows: Vec<StripRow>,
}

/// A row of strips.
#[derive(Clone, Debug, Serialize)]
pub struct StripRow {
    /// What it is of.
    pub name: ReportCell,
    /// A strip for each head.
    pub strips: Vec<Strip>,
    /// What stands behind them, a cell a column.
    pub cells: Vec<ReportCell>,
    /// What stands in the first of these where a reader of a page chooses what the rows are held against:
    /// each choice, and the text.
    pub against: Vec<(String, String)>,
}

/// A mark on an axis.
#[derive(Clone, Debug, Serialize)]
pub struct Strip {
    /// As an `<svg>` element.
    pub svg: String,
    /// Its figure, where that does not stand in it.
    pub below: Option<String>,
    /// The same in places and words.
    #[serde(skip)]
    pub(crate) drawn: StripContent,
}

impl Strip {
    /// A strip of such a height, in pixels.
    pub(crate) fn from_content(drawn: StripContent, axis: &StripAxis, height: f64) -> Self {
        let below = drawn.at.filter(|_| !drawn.beside).map(|_| drawn.label.clone());
        Self { svg: drawn.svg(axis, height), below, drawn }
    }
}

impl StripGroup {
    /// Whether an interval goes on beyond its axis.
    pub(crate) fn goes_beyond(&self) -> bool {
        let intervals = self.rows.iter().flat_map(|row| &row.strips);
        intervals.filter_map(|strip| strip.drawn.interval).any(|it| it.goes_beyond())
    }
}

impl Strips {
    /// A group's figures as a table; `figures` says whether those of the strips are among them.
    pub(crate) fn table(&self, group: &StripGroup, figures: bool) -> ReportTable {
        let mut columns = vec![ReportColumn::new(ColumnKind::Name, &self.names)];
        let heads = self.heads.iter().filter(|_| figures);
        columns.extend(heads.map(|head| ReportColumn::new(ColumnKind::Number, &head.name)));
        columns.extend(self.columns.iter().map(|name| ReportColumn::new(ColumnKind::Number, name)));
        let row = |row: &StripRow| {
            let strips = row.strips.iter().filter(|_| figures);
            let strips = strips.map(|strip| ReportCell::from(&strip.drawn.label));
            // What is said beside a word stands below it.
            let cells = row.cells.iter().map(|cell| match &cell.aside {
                Some(aside) => ReportCell {
                    text: format!("{}\n{aside}", cell.text),
                    aside: None,
                    ..cell.clone()
                },
                None => cell.clone(),
            });
            // What is wrong with a cell is told by the tables that name all its levels.
            let name = ReportCell { marks: Vec::new(), ..row.name.clone() };
            ReportRow::from_cells([name].into_iter().chain(strips).chain(cells))
        };
        let table = ReportTable {
            columns,
            rows: group.rows.iter().map(row).collect(),
            ..ReportTable::default()
        };
        table.without_empty_columns(|_| true)
    }
}
