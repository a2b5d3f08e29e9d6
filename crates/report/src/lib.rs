//! A run's document made into something a person reads: a page, a table, a sentence.
//!
//! It lays out figures that exist and adds none of its own. It must never know how a trial is run, how
//! results are stored, how a word is decided (faster, slower, same), or what an engine is.

mod cell_rows;
mod chart;
mod costs;
mod csv;
mod debts;
mod durability;
mod figures;
mod html;
mod layout;
mod loss;
mod markdown;
mod offered;
mod page;
mod promises;
mod scale;
mod sentence;
mod tables;
mod term;
mod verdict;
mod words;

use bakeoff_analysis::Document;

pub use sentence::verdict;

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One page that opens offline.
    Html,
    /// The document itself, as `docs/results.schema.json` describes it.
    Json,
    /// A row a trial and operation, or a power cut and rule, for a spreadsheet or a data frame.
    Csv,
    /// Tables for an issue or a wiki.
    Markdown,
    /// Tables for a terminal.
    Term,
}

impl Format {
    /// Every format, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Html, Self::Json, Self::Csv, Self::Markdown, Self::Term];

    /// The format's name in flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Markdown => "md",
            Self::Term => "term",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What the rows of [`Format::Csv`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A trial and operation.
    Trials,
    /// A power cut and rule.
    Cuts,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether colours may be used in a terminal.
    pub color: bool,
    /// How many columns a line may take there.
    pub width: usize,
    /// What the rows of [`Format::Csv`] are; `None` for trials, or power cuts where there is no
    /// trial.
    pub rows: Option<Rows>,
}

impl Default for Options {
    fn default() -> Self {
        Self { color: false, width: 80, rows: None }
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
}

/// What a call of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Writes the run as `format`; the text ends in a line break.
///
/// # Errors
/// [`Error::Json`] or [`Error::Template`]; neither is caused by what a document says.
pub fn render(document: &Document, format: Format, options: &Options) -> Result<String> {
    match format {
        Format::Html => html::render(document),
        Format::Json => Ok(serde_json::to_string_pretty(document)? + "\n"),
        Format::Csv => Ok(csv::render(document, options.rows)),
        Format::Markdown => Ok(markdown::render(document)),
        Format::Term => Ok(term::render(document, options)),
    }
}
