//! What happened over time: figures as lines, moments as ticks, on one axis of seconds.

use bakeoff_analysis::LinePiece;
use serde::Serialize;

use super::{ReportCell, StyledText, SvgChart};

/// Charts over time that share their signs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timelines {
    /// How they are read; empty where that was said before.
    pub explained: StyledText,
    /// What the signs stand for.
    pub legend: Vec<ReportCell>,
    /// The charts.
    pub charts: Vec<Timeline>,
}

/// A chart over time: made of a [`CourseTracks`] by `From`.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// What a page shows.
    #[serde(flatten)]
    pub(crate) chart: SvgChart,
    /// What a terminal draws by itself.
    #[serde(skip)]
    pub(crate) course: CourseTracks,
}

/// What happened in a stretch of time: tracks below each other on one axis.
#[derive(Clone, Debug)]
pub struct CourseTracks {
    /// Unique in the page: letters and digits.
    pub id: String,
    /// What it is of.
    pub caption: String,
    /// What it shows, for a reader who doesn't see it.
    pub description: String,
    /// Where the axis ends, in seconds; it starts at 0.
    pub ran_s: f64,
    /// The stretch that figures are taken from, where there is one: the rest is set apart.
    pub window_s: Option<(f64, f64)>,
    /// The tracks, from the top.
    pub tracks: Vec<Track>,
}

/// What is shown below and above others.
#[derive(Clone, Debug)]
pub enum Track {
    /// Figures.
    Lines(TrackLines),
    /// Moments.
    Moments(Moments),
}

/// Figures over time on one axis.
#[derive(Clone, Debug)]
pub struct TrackLines {
    /// What they are.
    pub title: String,
    /// What they count in.
    pub unit: TimelineUnit,
    /// How much room they take.
    pub size: TrackHeight,
    /// Where they can't go beyond, where there is such a limit.
    pub limit: Option<f64>,
    /// The lines.
    pub lines: Vec<TrackLine>,
}

/// What figures count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineUnit {
    /// Things a second. Where there were none in a second, that is marked.
    Rate,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// How much room a track takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackHeight {
    /// What the eye looks for.
    Tall,
    /// What stands beside it.
    Middle,
    /// One of many.
    Low,
}

/// A line.
#[derive(Clone, Debug)]
pub struct TrackLine {
    /// Whose it is.
    pub name: String,
    /// The number of its style.
    pub style: usize,
    /// Its pieces, in order.
    pub pieces: Vec<LinePiece>,
}

/// Moments at which something ended.
#[derive(Clone, Debug)]
pub struct Moments {
    /// What it is.
    pub title: String,
    /// The number of the style of whose it is.
    pub style: usize,
    /// When, in seconds, and how often.
    pub ended: Vec<(f64, u64)>,
}
