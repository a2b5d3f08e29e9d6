//! Turns a run's document into something that people read: a page, a table, a sentence.
//!
//! It arranges figures and adds none of its own. It must never know how a trial is run, how results
//! are stored, how a verdict is decided, or what an engine is.
//!
//! Sections make [`block`]s of a document. A [`ReportFormat`] writes the blocks as text.

mod amount;
mod articles;
pub mod block;
mod block_machines;
mod cell_tables;
mod changes;
mod chart;
mod confidence;
mod csv;
mod disk;
mod durability;
mod figures;
mod format;
mod group_tables;
mod html;
mod json;
mod loss_chart;
mod markdown;
mod offered_rate;
mod panels;
mod promise_titles;
mod promises;
mod ratio_words;
mod scale;
mod searches;
mod section;
mod sections;
mod sentence;
mod stacked_bars;
mod strip;
mod sweep;
mod term;
mod timeline;
mod two_runs;
mod unreached_limits;
mod verdict;
mod warning_names;
mod what_if;
mod words;
mod worst_losses;

pub use articles::{ArticleRun, write_articles};
pub use confidence::Confidence;
pub use format::{FORMATS, ReportFormat, format_of_ending, is_for_terminal, render, render_blocks};
pub use sentence::{list_sentences, verdict};
pub use two_runs::{ComparedRun, FORMATS as TWO_RUNS_FORMATS, two_runs};
pub use what_if::{ChangeOutcome, SettingChange, WhatIfReport, write_what_if};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvRows {
    Trials,
    Cuts,
    /// Seconds of operations, looks at deferred work and payments: needs
    /// [`Document::take_series`](bakeoff_analysis::Document::take_series).
    Series,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub color: bool,
    pub width: usize,
    /// Plots in a terminal use block characters, not ASCII alone.
    pub unicode: bool,
    /// `None`: trials, or power cuts where there is no trial.
    pub rows: Option<CsvRows>,
    /// Levels in use today, each with its factor: each change's gain is counted from there. Other
    /// factors, and levels that were not tried, are as in the run's first cell whose clients read
    /// or wrote.
    pub present: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { color: false, width: 80, unicode: true, rows: None, present: Vec::new() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the run can't be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the page can't be made: {0}")]
    Template(#[from] minijinja::Error),
    #[error("there is no format `{format}`; choose one of: {known}")]
    UnknownFormat { format: String, known: String },
}

impl Error {
    fn unknown_format(format: &str, known: &[&str]) -> Self {
        Self::UnknownFormat { format: format.to_owned(), known: known.join(", ") }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
