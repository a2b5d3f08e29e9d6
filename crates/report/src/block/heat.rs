//! Small tables of figures, coloured by their distance from the best.

use serde::Serialize;

use super::{ReportCell, StyledText};

#[derive(Clone, Debug, Serialize)]
pub struct Heats {
    pub colours: StyledText,
    pub maps: Vec<Heat>,
    /// Rows lead to the conditions that they stand for, and a reader of a page may sort them.
    pub has_links: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Heat {
    pub caption: String,
    pub columns: Vec<ReportCell>,
    pub rows: Vec<HeatRow>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HeatRow {
    pub name: String,
    /// Of the place that shows more of it, in a page.
    pub link: Option<String>,
    pub cells: Vec<Option<HeatCell>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HeatCell {
    pub text: String,
    pub times: String,
    pub ends: Option<String>,
    /// From 0, the best, to 8: a step for each factor of √2.
    pub shade: u32,
    pub best: bool,
    /// Not shown to be slower than the best.
    pub open: bool,
}
