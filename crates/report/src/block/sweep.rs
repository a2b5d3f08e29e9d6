//! Lines over a numeric factor: a panel for each operation and condition, a line for each compared
//! level.

use bakeoff_analysis::RatioBound;
use serde::Serialize;

use super::{ReportTable, StyledText, SvgChart};

/// Made by `Sweeps::from_panels`: the panels share a scale.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sweeps {
    pub explained: StyledText,
    pub charts: Vec<DrawnPanel>,
    /// How lines stand at the ends of the axis; on a page alone.
    pub standing: Option<ReportTable>,
}

#[derive(Clone, Debug, Serialize)]
pub struct DrawnPanel {
    #[serde(flatten)]
    pub(crate) chart: SvgChart,
    #[serde(skip)]
    pub(crate) panel: LinePanel,
}

#[derive(Clone, Debug)]
pub struct LinePanel {
    /// Unique in the page: letters and digits.
    pub id: String,
    pub caption: String,
    pub description: String,
    pub factor: String,
    pub ticks: Vec<Tick>,
    pub amount: SweepUnit,
    /// With the direction: `mean time, lower is faster`.
    pub title: String,
    pub lines: Vec<SweepLine>,
    /// A row for all lines, or one for each where lines share a name; empty where nothing is
    /// compared.
    pub fastest: Vec<Fastest>,
    /// Index of the tick that each line's figures are divided by.
    pub base: Option<usize>,
    /// Faint lines show a time that grows as the level does.
    pub slopes: bool,
    pub against: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub name: String,
    /// 0 stands left of a break.
    pub value: f64,
    pub marked: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SweepUnit {
    Seconds,
    Rate(&'static str),
    BytesRate,
    Times,
}

#[derive(Clone, Debug)]
pub struct SweepLine {
    pub name: String,
    pub style: usize,
    pub source: LineSource,
    /// Place in an order of at most 4, from light and thin to dark and thick.
    pub shade: Option<usize>,
    /// Drawn behind the line that the panel is about.
    pub pale: bool,
    pub points: Vec<LinePoint>,
    pub against: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    Ours,
    Published,
    Modelled,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LinePoint {
    NotRun,
    /// The figure that does not count, if any, and why.
    SetAside(Option<f64>, String),
    Known(LineValue),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineValue {
    pub value: f64,
    pub is: RatioBound,
    /// The 95 % interval, or the range that was published.
    pub ends: (Option<f64>, Option<f64>),
}

#[derive(Clone, Debug)]
pub struct Fastest {
    /// Empty where there is one row.
    pub name: String,
    pub signs: Vec<LeaderLabel>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderLabel {
    Known(String, usize),
    TooClose(Vec<String>),
    /// The trials don't count, or are too few.
    Unknown,
    /// Fewer than two have a figure, or another panel says it.
    Nothing,
}

impl LinePoint {
    pub fn known_value(&self) -> Option<LineValue> {
        match self {
            Self::Known(value) => Some(*value),
            Self::NotRun | Self::SetAside(..) => None,
        }
    }
}

impl From<f64> for LineValue {
    fn from(value: f64) -> Self {
        Self { value, is: RatioBound::Exact, ends: (None, None) }
    }
}
