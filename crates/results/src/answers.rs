//! Each engine's answers from its image, before the first trial.

use serde::{Deserialize, Serialize};

use crate::record::Levels;

/// The answers of an image to seeded operations of one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    pub image: String,
    pub engine: String,
    pub levels: Levels,
    /// The same for images that got the same questions; empty without answers.
    pub work: String,
    pub operations: u64,
    pub statements: u64,
    /// A digest of all answers, in hexadecimal digits; `None` without answers.
    pub digest: Option<String>,
    pub failed: Option<String>,
    pub difference: Option<AnswerDifference>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDifference {
    pub other: String,
    pub number: u64,
    pub operation: String,
    pub statement: String,
    pub answer: String,
    pub other_answer: String,
}

impl AnswerDifference {
    pub fn in_words(&self, engine: &str) -> String {
        let Self { other, number, operation, statement, answer, other_answer } = self;
        format!(
            "operation {number} ({operation}), statement `{statement}`: {engine} answered {answer}, and \
             {other} {other_answer}"
        )
    }
}

impl Answers {
    /// The start of a trial's warning about data that were found broken after its drain.
    pub const BROKEN: &str = "after the drain: ";

    /// Images with different questions are not compared.
    pub fn is_unlike(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(one), Some(two)) => self.work == other.work && one != two,
            (None, _) | (_, None) => true,
        }
    }
}
