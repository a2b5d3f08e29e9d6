//! Tables of strips: marks on axes that rows share. A page draws them, a terminal uses signs,
//! Markdown shows the figures.

use serde::Serialize;

use super::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable};
use crate::strip::{LegendKey, StripAxis, StripContent};

#[derive(Clone, Debug, Serialize)]
pub struct Strips {
    pub caption: String,
    pub names: String,
    pub heads: Vec<StripHead>,
    pub columns: Vec<String>,
    pub groups: Vec<StripGroup>,
    /// A page shows a group when it is chosen, and these beside the others.
    pub more: Option<Vec<StripGroup>>,
    pub legend: Vec<LegendKey>,
    /// Sentences that explain words and brackets behind the strips.
    pub terms: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct StripHead {
    pub name: String,
    /// The unit, and which side is better.
    pub unit: String,
    pub axis: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct StripGroup {
    /// Unique in the page; `None` where nothing leads to it.
    pub id: Option<String>,
    pub title: String,
    /// The text in the command's words, if they differ.
    pub tool: String,
    pub rows: Vec<StripRow>,
}

#[derive(Clone, Debug, Serialize)]
pub struct StripRow {
    pub name: ReportCell,
    pub strips: Vec<Strip>,
    pub cells: Vec<ReportCell>,
    /// Choices of a page's reader, each with the text for the first cell.
    pub against: Vec<(String, String)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Strip {
    pub svg: String,
    pub below: Option<String>,
    #[serde(skip)]
    pub(crate) drawn: StripContent,
}

impl Strip {
    pub(crate) fn from_content(drawn: StripContent, axis: &StripAxis, height: f64) -> Self {
        let below = drawn.at.filter(|_| !drawn.beside).map(|_| drawn.label.clone());
        Self { svg: drawn.svg(axis, height), below, drawn }
    }
}

impl StripGroup {
    pub(crate) fn goes_beyond(&self) -> bool {
        let intervals = self.rows.iter().flat_map(|row| &row.strips);
        intervals.filter_map(|strip| strip.drawn.interval).any(|it| it.goes_beyond())
    }
}

impl Strips {
    /// `figures` adds the figures of the strips.
    pub(crate) fn table(&self, group: &StripGroup, figures: bool) -> ReportTable {
        let mut columns = vec![ReportColumn::new(ColumnKind::Name, &self.names)];
        let heads = self.heads.iter().filter(|_| figures);
        columns.extend(heads.map(|head| ReportColumn::new(ColumnKind::Number, &head.name)));
        columns.extend(self.columns.iter().map(|name| ReportColumn::new(ColumnKind::Number, name)));
        let row = |row: &StripRow| {
            let strips = row.strips.iter().filter(|_| figures);
            let strips = strips.map(|strip| ReportCell::from(&strip.drawn.label));
            let cells = row.cells.iter().map(|cell| match &cell.aside {
                Some(aside) => ReportCell {
                    text: format!("{}\n{aside}", cell.text),
                    aside: None,
                    ..cell.clone()
                },
                None => cell.clone(),
            });
            // Tables that name all levels say what is wrong with a cell.
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
