//! Events over time: lines and moments on one axis of seconds.

use bakeoff_analysis::LinePiece;
use serde::Serialize;

use super::{ReportCell, StyledText, SvgChart};

#[derive(Clone, Debug, Default, Serialize)]
pub struct Timelines {
    pub explained: StyledText,
    pub legend: Vec<ReportCell>,
    pub charts: Vec<Timeline>,
}

/// Made of a [`CourseTracks`] by `From`.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    #[serde(flatten)]
    pub(crate) chart: SvgChart,
    /// A terminal draws this itself.
    #[serde(skip)]
    pub(crate) course: CourseTracks,
}

#[derive(Clone, Debug)]
pub struct CourseTracks {
    /// Unique in the page: letters and digits.
    pub id: String,
    pub caption: String,
    pub description: String,
    pub ran_s: f64,
    /// Figures are taken from this stretch; the rest is set apart.
    pub window_s: Option<(f64, f64)>,
    pub tracks: Vec<Track>,
}

#[derive(Clone, Debug)]
pub enum Track {
    Lines(TrackLines),
    Moments(Moments),
}

#[derive(Clone, Debug)]
pub struct TrackLines {
    pub title: String,
    pub unit: TimelineUnit,
    pub size: TrackHeight,
    /// Figures can't go beyond this.
    pub limit: Option<f64>,
    pub lines: Vec<TrackLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineUnit {
    /// A rate per second; a second with a rate of 0 is marked.
    Rate,
    Seconds,
    Bytes,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackHeight {
    Tall,
    Middle,
    Low,
}

#[derive(Clone, Debug)]
pub struct TrackLine {
    pub name: String,
    pub style: usize,
    pub pieces: Vec<LinePiece>,
}

#[derive(Clone, Debug)]
pub struct Moments {
    pub title: String,
    pub style: usize,
    pub ended: Vec<(f64, u64)>,
}
