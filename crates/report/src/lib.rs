//! A run's document made into something a person reads: a page, a table, a sentence.
//!
//! It lays out figures that exist and adds none of its own. It must never know how a trial is run, how
//! results are stored, how a word is decided (faster, slower, same), or what an engine is.
//!
//! A report is made of [`Section`]s, which say what they have to say in [`block`]s; an [`Exporter`]
//! writes the blocks in a format. [`Reports`] has both, and takes others' of either kind.

mod amount;
mod apart;
mod articles;
mod behind;
pub mod block;
mod cell_rows;
mod changes;
mod chart;
mod confidence;
mod csv;
mod disk;
mod durability;
mod exporter;
mod figures;
mod group_rows;
mod heads;
mod html;
mod json;
mod layout;
mod leads;
mod loss;
mod losses;
mod markdown;
mod misleads;
mod panels;
mod promises;
mod ran_on;
mod reports;
mod scale;
mod searches;
mod section;
mod sections;
mod sentence;
mod stack;
mod strip;
mod sweep;
mod term;
mod timeline;
mod two_runs;
mod unreached;
mod verdict;
mod words;

pub use articles::{ArticleRun, articles};
pub use confidence::{Confidence, ConfidenceGrade};
pub use exporter::Exporter;
pub use layout::{ConditionLevels, DocumentLayout};
pub use reports::Reports;
pub use section::Section;
pub use sentence::verdict;
pub use two_runs::{FORMATS as TWO_RUNS_FORMATS, Side, two_runs};

/// What the rows of CSV are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvRows {
    /// A trial and operation.
    Trials,
    /// A power cut and rule.
    Cuts,
    /// A second of a trial and operation, a look at what was owed, or a payment: needs
    /// [`Document::take_series`](bakeoff_analysis::Document::take_series).
    Series,
}

/// How a report is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether colours may be used in a terminal.
    pub color: bool,
    /// How many columns a line may take there.
    pub width: usize,
    /// Whether a terminal shows more than ASCII: plots are made of blocks then.
    pub unicode: bool,
    /// What the rows of CSV are; `None` for trials, or power cuts where there is no trial.
    pub rows: Option<CsvRows>,
    /// What is in use today: levels of some factors, each with its factor. What each change buys is told
    /// from there. Factors that are not here, and levels that were not tried, count as at the run's first
    /// cell whose clients read or wrote anything.
    pub present: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { color: false, width: 80, unicode: true, rows: None, present: Vec::new() }
    }
}

/// Why a report can't be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document can't be written as JSON.
    #[error("the run can't be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The page's template failed.
    #[error("the page can't be made: {0}")]
    Template(#[from] minijinja::Error),
    /// No exporter has that name.
    #[error("there is no format `{format}`; choose one of: {known}")]
    UnknownFormat {
        /// What was asked for.
        format: String,
        /// What there is.
        known: String,
    },
    /// Two sections or two formats of one name.
    #[error("there is a {what} `{name}` already; choose another name")]
    Taken {
        /// A section or a format.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An exporter that is not built in can't do its work.
    #[error("the report can't be written: {0}")]
    Other(String),
}

/// What a call of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
