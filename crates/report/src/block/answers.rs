//! The answer of a run: its sentences, their confidence, and the next questions of a reader.

use serde::Serialize;

use super::StyledText;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Headline {
    pub on: String,
    pub broken: String,
    pub sentences: Vec<StyledText>,
    pub rest: String,
    pub confidence: Option<Badge>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Badge {
    pub word: &'static str,
    /// From 1, low, to 3, high.
    pub rank: u32,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    pub question: String,
    pub lines: Vec<StyledText>,
    pub note: Option<String>,
    pub command: Option<String>,
    pub more: Option<&'static str>,
    /// The section is in every format, so this answer is only for a page's first screen.
    pub page_alone: bool,
}

/// What to do with the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    pub text: String,
    pub command: Option<String>,
}

impl Answered {
    /// The next step has the command already.
    pub fn leave_command(&mut self, next: &NextStep) {
        if self.command.is_none() || self.command != next.command {
            return;
        }
        self.command = None;
        if let Some(first) = self.lines.first_mut() {
            *first = StyledText::from(first.text().trim_end_matches(':').to_owned() + ".");
        }
    }
}
