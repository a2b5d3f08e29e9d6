//! Small tables of figures, whose colours say how far each is from the best.

use serde::Serialize;

use super::{ReportCell, StyledText};

/// Tables of one measure each.
#[derive(Clone, Debug, Serialize)]
pub struct Heats {
    /// What the colours of a page are.
    pub colours: StyledText,
    /// The tables.
    pub maps: Vec<Heat>,
}

/// A table of one measure.
#[derive(Clone, Debug, Serialize)]
pub struct Heat {
    /// What is measured.
    pub caption: String,
    /// What the columns are of.
    pub columns: Vec<ReportCell>,
    /// The rows.
    pub rows: Vec<HeatRow>,
}

/// A row of a heat map.
#[derive(Clone, Debug, Serialize)]
pub struct HeatRow {
    /// What it is of.
    pub name: String,
    /// A cell a column; `None` where there is no figure.
    pub cells: Vec<Option<HeatCell>>,
}

/// A figure of a heat map.
#[derive(Clone, Debug, Serialize)]
pub struct HeatCell {
    /// The figure.
    pub text: String,
    /// How many times the best of the table it is, in words.
    pub times: String,
    /// Where the figure lies by its own trials, in words; `None` where that is not known.
    pub ends: Option<String>,
    /// The same as a shade from 0, the best, to 8: a step for each factor of √2.
    pub shade: u32,
    /// Whether it is the best of its row.
    pub best: bool,
}
