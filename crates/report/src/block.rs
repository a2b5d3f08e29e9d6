//! The blocks of which sections are made. Each format renders these blocks and leaves out those
//! that it has no room for.

mod answers;
mod heat;
mod strips;
pub mod sweep;
mod table;
mod timeline;

use bakeoff_analysis::Warning;
use serde::Serialize;

use crate::words;

pub use answers::{Answered, Badge, Headline, NextStep};
pub use heat::{Heat, HeatCell, HeatRow, Heats};
pub use strips::{Strip, StripGroup, StripHead, StripRow, Strips};
pub use sweep::Sweeps;
pub use table::{
    CellMark, ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle, Tone,
};
pub use timeline::{
    CourseTracks, Moments, Timeline, TimelineUnit, Timelines, Track, TrackHeight, TrackLine,
    TrackLines,
};

pub use crate::strip::LegendKey;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "kebab-case")]
pub enum ReportBlock {
    Heading(String),
    Headline(Headline),
    Answers(Vec<Answered>),
    Next(NextStep),
    Strips(Strips),
    /// By colour on a page, in words in Markdown; not in a terminal.
    Heats(Heats),
    /// Introduces what follows; not in a terminal.
    Lead(StyledText),
    /// Facts that belong to the figures beside it.
    Note(StyledText),
    /// Not in a terminal.
    Prose(StyledText),
    Facts(Vec<(String, String)>),
    Warnings(Vec<Warning>),
    Table(ReportTable),
    /// On a page alone.
    Charts(Charts),
    /// Charts on a page, rows of signs in a terminal.
    Timelines(Timelines),
    /// Charts on a page, tables in a terminal and in Markdown.
    Sweeps(Sweeps),
    Findings(Vec<Finding>),
    /// Not in a terminal.
    Folded(Folded),
    Command(String),
    Link(Link),
}

/// Parts of text: whether each is stressed, and the style of the sign before it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StyledText(Vec<(String, bool, Option<usize>)>);

impl StyledText {
    pub fn plain(mut self, text: impl Into<String>) -> Self {
        self.0.push((text.into(), false, None));
        self
    }

    pub fn stressed(mut self, text: impl Into<String>) -> Self {
        self.0.push((text.into(), true, None));
        self
    }

    /// `style` is the number of the sign that a page shows before the name.
    pub fn named(mut self, name: impl Into<String>, style: usize) -> Self {
        self.0.push((name.into(), false, Some(style)));
        self
    }

    pub fn marked(mut self, text: &'static str) -> Self {
        let parts = text.split('*').enumerate().filter(|(_, part)| !part.is_empty());
        self.0.extend(parts.map(|(number, part)| (part.to_owned(), number % 2 == 1, None)));
        self
    }

    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn capital(mut self) -> Self {
        if let Some((first, ..)) = self.0.first_mut() {
            *first = words::capitalize(first);
        }
        self
    }

    pub fn parts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(text, stressed, _)| (text.as_str(), *stressed))
    }

    pub fn text(&self) -> String {
        self.parts().map(|(text, _)| text).collect()
    }
}

impl<T: Into<String>> From<T> for StyledText {
    fn from(text: T) -> Self {
        Self::default().plain(text)
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Charts {
    pub explained: StyledText,
    pub legend: Vec<ReportCell>,
    pub charts: Vec<SvgChart>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SvgChart {
    pub caption: String,
    /// An `<svg>` element, which goes into the page as it is: its maker escapes texts.
    pub svg: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub of: String,
    pub text: String,
    pub bad: bool,
    pub log: Option<(String, String)>,
    pub again: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Link {
    pub text: String,
    pub path: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Folded {
    pub summary: String,
    pub blocks: Vec<ReportBlock>,
    /// Left out on paper.
    pub long: bool,
}
