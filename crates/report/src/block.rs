//! What a section of a report is made of. Each format renders these and knows nothing else; each
//! leaves out what it has no room for, as is said here.

mod answers;
mod heat;
mod strips;
pub mod sweep;
mod table;
mod timeline;

use bakeoff_analysis::Warning;
use serde::Serialize;

use crate::words;

pub use answers::{Answered, Badge, Headline};
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

/// A piece of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "kebab-case")]
pub enum ReportBlock {
    /// A heading: of a part with the rank of a section where its section has no title, and below the
    /// title else.
    Heading(String),
    /// The sentences of the whole run, and how sure they are.
    Headline(Headline),
    /// Answers to the questions that come next, side by side on a page.
    Answers(Vec<Answered>),
    /// Rows of marks on axes that they share.
    Strips(Strips),
    /// Tables of figures: by colour on a page, in words in Markdown; a terminal has no room for them.
    Heats(Heats),
    /// What leads to what follows; a terminal has no room for it.
    Lead(StyledText),
    /// What has to be known with the figures beside it.
    Note(StyledText),
    /// A paragraph to be read through; a terminal has no room for it.
    Prose(StyledText),
    /// Names, and what is to be said of each.
    Facts(Vec<(String, String)>),
    /// What a reader should be warned of, the worst first.
    Warnings(Vec<Warning>),
    /// Rows of figures or words.
    Table(ReportTable),
    /// Charts of one kind, on a page alone.
    Charts(Charts),
    /// What happened over time: charts on a page, rows of signs in a terminal.
    Timelines(Timelines),
    /// Lines over a numeric factor: charts on a page, tables in a terminal and in Markdown.
    Sweeps(Sweeps),
    /// What was found of one thing after another.
    Findings(Vec<Finding>),
    /// What a reader opens who wants to know more; a terminal has no room for it.
    Folded(Folded),
    /// A command that can be copied.
    Command(String),
    /// Another file.
    Link(Link),
}

/// Text, some words of which are stressed, and some the names of what has a sign in charts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StyledText(Vec<(String, bool, Option<usize>)>);

impl StyledText {
    /// More text.
    pub fn plain(mut self, text: impl Into<String>) -> Self {
        self.0.push((text.into(), false, None));
        self
    }

    /// More text, which is stressed.
    pub fn stressed(mut self, text: impl Into<String>) -> Self {
        self.0.push((text.into(), true, None));
        self
    }

    /// A name, and the number of the style of its sign, which a page shows before it.
    pub fn named(mut self, name: impl Into<String>, style: usize) -> Self {
        self.0.push((name.into(), false, Some(style)));
        self
    }

    /// More text that is written in the program: what stands between asterisks is stressed.
    pub fn marked(mut self, text: &'static str) -> Self {
        let parts = text.split('*').enumerate().filter(|(_, part)| !part.is_empty());
        self.0.extend(parts.map(|(number, part)| (part.to_owned(), number % 2 == 1, None)));
        self
    }

    /// The words of another text after these.
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The same with a capital at its start.
    pub(crate) fn capital(mut self) -> Self {
        if let Some((first, ..)) = self.0.first_mut() {
            *first = words::capital(first);
        }
        self
    }

    /// The parts in their order, each with whether it is stressed.
    pub fn parts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(text, stressed, _)| (text.as_str(), *stressed))
    }

    /// The text alone.
    pub fn text(&self) -> String {
        self.parts().map(|(text, _)| text).collect()
    }
}

impl<T: Into<String>> From<T> for StyledText {
    fn from(text: T) -> Self {
        Self::default().plain(text)
    }
}

/// Charts of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Charts {
    /// How they are read; empty where that is plain.
    pub explained: StyledText,
    /// What the signs stand for, where there are any.
    pub legend: Vec<ReportCell>,
    /// The charts.
    pub charts: Vec<SvgChart>,
}

/// A chart.
#[derive(Clone, Debug, Serialize)]
pub struct SvgChart {
    /// What it shows, where there is more than one.
    pub caption: String,
    /// An `<svg>` element. It goes into the page as it is: who makes it escapes its texts.
    pub svg: String,
}

/// A finding about one thing.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Of what.
    pub of: String,
    /// What was found.
    pub text: String,
    /// Whether that is bad.
    pub bad: bool,
    /// Lines that the text only names, and what they are; on a page alone.
    pub log: Option<(String, String)>,
    /// The command that shows it again.
    pub again: Option<String>,
}

/// A link to another file.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// What it is.
    pub text: String,
    /// Its path from the folder that holds the report, with `/` between folders.
    pub path: String,
}

/// Details that a reader can open.
#[derive(Clone, Debug, Serialize)]
pub struct Folded {
    /// What it is.
    pub summary: String,
    /// What is in it.
    pub blocks: Vec<ReportBlock>,
    /// Whether it is too long for paper.
    pub long: bool,
}
