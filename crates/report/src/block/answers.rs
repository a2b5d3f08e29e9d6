//! The answer of a run: its sentences, how sure they are, and what a reader asks next.

use serde::Serialize;

use super::StyledText;

/// The sentences of the whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Headline {
    /// On what disk all of it holds; empty where none is simulated.
    pub on: String,
    /// The promises that were broken; empty where none was.
    pub broken: String,
    /// A sentence for each promise of durability, or one of the run.
    pub sentences: Vec<StyledText>,
    /// What else has to be known with them; empty where there is nothing.
    pub rest: String,
    /// How sure they are; `None` where nothing is compared.
    pub confidence: Option<Badge>,
}

/// How sure an answer is.
#[derive(Clone, Debug, Serialize)]
pub struct Badge {
    /// In a word, as [`Confidence::word`](crate::Confidence::word).
    pub word: &'static str,
    /// The same as a number: 1 of 3, 2 or 3.
    pub rank: u32,
    /// Why, and what that is good for, in sentences.
    pub text: String,
}

/// A question that a reader has next, and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// The question.
    pub question: String,
    /// The answer, a line each.
    pub lines: Vec<StyledText>,
    /// What has to be known with it.
    pub note: Option<String>,
    /// A command that can be copied, after the first line.
    pub command: Option<String>,
    /// The section that says more, if there is one.
    pub more: Option<&'static str>,
    /// Whether that section stands in every format, so that this one is for a page's first screen alone.
    pub page_alone: bool,
}
