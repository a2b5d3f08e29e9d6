//! What the image of each engine answered when it was asked, before its first trial.

use serde::{Deserialize, Serialize};

use crate::record::Levels;

/// What an image answered to seeded operations of one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Tells the image from others: the data, and the engine that holds them.
    pub image: String,
    /// The engine.
    pub engine: String,
    /// What tells the image's cells from those of other images: levels without their aliases.
    pub levels: Levels,
    /// What was asked: two images of the same work were asked the same. Empty where nothing was
    /// answered.
    pub work: String,
    /// How many operations were asked for.
    pub operations: u64,
    /// How many statements these were made of.
    pub statements: u64,
    /// A digest of all answers, in hexadecimal digits; `None` where none came.
    pub digest: Option<String>,
    /// Why none came.
    pub failed: Option<String>,
    /// The first answer that is unlike another image's, where there is one.
    pub difference: Option<AnswerDifference>,
}

/// The first answers of two images that are not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDifference {
    /// The engine of the other image.
    pub other: String,
    /// Which operation, from 1.
    pub number: u64,
    /// The operation's name.
    pub operation: String,
    /// The statement's name.
    pub statement: String,
    /// What this image answered, in a few words.
    pub answer: String,
    /// What the other did.
    pub other_answer: String,
}

impl AnswerDifference {
    /// What differs in words: where, and what each engine answered; `engine` is the one of this image.
    pub fn in_words(&self, engine: &str) -> String {
        let Self { other, number, operation, statement, answer, other_answer } = self;
        format!(
            "operation {number} ({operation}), statement `{statement}`: {engine} answered {answer}, and \
             {other} {other_answer}"
        )
    }
}

impl Answers {
    /// How a trial's warning begins that tells what was found broken after its drain.
    pub const BROKEN: &str = "after the drain: ";

    /// Whether it is known that two images answer alike. Images that were asked different things are
    /// not held against each other.
    pub fn is_unlike(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(one), Some(two)) => self.work == other.work && one != two,
            (None, _) | (_, None) => true,
        }
    }
}
