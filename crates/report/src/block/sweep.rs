//! Lines over a numeric factor: a panel an operation and condition, a line a level of the compared
//! factor. Panels of one group share the scale of their figures.

use bakeoff_analysis::RatioIs;
use serde::Serialize;

use super::{ReportTable, StyledText, SvgChart};

/// Panels that share the scale of their figures: made by `Sweeps::of`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sweeps {
    /// How they are read.
    pub explained: StyledText,
    /// The panels.
    pub charts: Vec<DrawnPanel>,
    /// How each line stands at the ends of the axis; on a page alone, since a terminal and Markdown
    /// have it beside the figures.
    pub standing: Option<ReportTable>,
}

/// A panel, and how a page draws it.
#[derive(Clone, Debug, Serialize)]
pub struct DrawnPanel {
    /// What a page shows.
    #[serde(flatten)]
    pub(crate) chart: SvgChart,
    /// What a terminal and Markdown make a table of.
    #[serde(skip)]
    pub(crate) panel: LinePanel,
}

/// Lines over the levels of a numeric factor.
#[derive(Clone, Debug)]
pub struct LinePanel {
    /// Unique in the page: letters and digits.
    pub id: String,
    /// What it is of.
    pub caption: String,
    /// What it shows, for a reader who doesn't see it.
    pub description: String,
    /// The factor on the axis.
    pub factor: String,
    /// Its levels, from left to right.
    pub ticks: Vec<Tick>,
    /// What the figures count in.
    pub amount: SweepUnit,
    /// What the figures are, and which way is faster: `mean time, down is faster`.
    pub title: String,
    /// The lines.
    pub lines: Vec<SweepLine>,
    /// Who is fastest at each level: a row for all lines, or a row a line where the lines are of one
    /// name; none where nothing is compared.
    pub fastest: Vec<Fastest>,
    /// The level that all figures of a line are divided by, as an index of the ticks.
    pub base: Option<usize>,
    /// Whether faint lines show a time that grows as the level does.
    pub slopes: bool,
    /// What the last column of a table says, as `at 16, against the fastest`; empty for none.
    pub against: String,
}

/// A level on the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The level as the experiment has it.
    pub name: String,
    /// Its number: 0 stands left of a break.
    pub value: f64,
    /// Whether points have marks here: where there are many levels, not all do.
    pub marked: bool,
}

/// What figures count in.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepUnit {
    /// Seconds.
    Seconds,
    /// Something a second; what stands after a figure, as `/s`.
    Rate(&'static str),
    /// Bytes a second, shown as megabytes.
    BytesRate,
    /// Multiples of the figure at the base.
    Times,
}

/// A line.
#[derive(Clone, Debug)]
pub struct SweepLine {
    /// Whose it is.
    pub name: String,
    /// The number of its style.
    pub style: usize,
    /// Whose figures they are.
    pub source: LineSource,
    /// Its place in an order of at most 4, from light and thin to dark and thick; `None` where the
    /// lines have no order.
    pub shade: Option<usize>,
    /// Whether it only stands behind another that the panel is of.
    pub pale: bool,
    /// A point a tick.
    pub points: Vec<LinePoint>,
    /// How it stands at the last level; empty where nothing is to be said.
    pub against: String,
}

/// Whose figures a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// The run's: filled marks.
    Ours,
    /// Somebody's publication's: hollow marks, and a thin line.
    Published,
    /// A model's alone: a dashed line without marks.
    Modelled,
}

/// What is known at a level.
#[derive(Clone, Debug, PartialEq)]
pub enum LinePoint {
    /// Nothing was run.
    NotRun,
    /// What was run does not count: its figure, where it has one, and why.
    SetAside(Option<f64>, String),
    /// A figure.
    Known(LineValue),
}

/// A figure of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineValue {
    /// The figure.
    pub value: f64,
    /// Whether it is exact or a bound.
    pub is: RatioIs,
    /// The ends of its 95 % interval, where they are known; of a published one, those of the range that it was
    /// published as.
    pub ends: (Option<f64>, Option<f64>),
}

/// Who is fastest at each level.
#[derive(Clone, Debug)]
pub struct Fastest {
    /// What the row is of: empty where there is one.
    pub name: String,
    /// A sign a tick.
    pub signs: Vec<Sign>,
}

/// Who is fastest at a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Whose name and style these are.
    Known(String, usize),
    /// The figures of those of these names are too close to each other: undecided.
    TooClose(Vec<String>),
    /// It can't be told: what was run does not count, or is too little.
    Unknown,
    /// There is nothing to tell: less than two have a figure, or another panel says it.
    Nothing,
}

impl LinePoint {
    /// Its figure, where it counts.
    pub fn known(&self) -> Option<LineValue> {
        match self {
            Self::Known(value) => Some(*value),
            Self::NotRun | Self::SetAside(..) => None,
        }
    }
}

impl From<f64> for LineValue {
    fn from(value: f64) -> Self {
        Self { value, is: RatioIs::Exact, ends: (None, None) }
    }
}
