//! Answers: an image is asked what a client's seeded operations ask, untimed, and what it answers is kept
//! in a form in which engines that keep their contract agree ([`listen`]). So it is known whether all
//! engines of a run answer alike, and if not, which statement they differ in first.
//!
//! It must never know which engine answers, what an operation stands for, or what becomes of a
//! difference.

mod canonical;
mod ids;
mod listen;

use bakeoff_results::AnswerDifference;
use serde::{Deserialize, Serialize};

pub use listen::{AnswersRequest, listen};

/// How many operations an image is asked for at most.
pub const MOST_OPERATIONS: usize = 500;
/// After how many statements no other operation is begun. One of `redmine` is some 275 statements.
pub const MOST_STATEMENTS: u64 = 5_000;

/// What an image answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageAnswers {
    /// What was asked: the workload and the levels that change it.
    pub work: String,
    /// The names of what can be asked; an answer has its number in these.
    pub statements: Vec<String>,
    /// What was answered to each operation, in order.
    pub operations: Vec<AnsweredOperation>,
}

/// What was answered to an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredOperation {
    /// Its name.
    pub name: String,
    /// The answers, in order.
    pub answers: Vec<RecordedAnswer>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// The number of what was asked in [`ImageAnswers::statements`].
    pub statement: usize,
    /// The answer, the same from every engine that keeps its contract. Of a long one its start, and a
    /// digest of all of it.
    pub text: String,
    /// The words of an error, which are each engine's own.
    pub said: Option<String>,
}

impl ImageAnswers {
    /// How many answers there are.
    pub fn answers(&self) -> u64 {
        self.operations.iter().map(|operation| operation.answers.len() as u64).sum()
    }

    /// A digest of all answers.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for operation in &self.operations {
            digest.add(&operation.name);
            for answer in &operation.answers {
                digest.add(&self.statements[answer.statement]);
                digest.add(&answer.text);
            }
        }
        digest.0
    }

    /// The first answer that is not what the image of the engine `other` answered; `None` where all
    /// are.
    pub fn difference(&self, other: &str, theirs: &Self) -> Option<AnswerDifference> {
        let most = self.operations.len().max(theirs.operations.len());
        (0..most).find_map(|at| {
            let [one, two] = [self, theirs].map(|told| told.operations.get(at));
            let operation = one.or(two).expect("one of the two has so many");
            let asked = |told: &Option<&AnsweredOperation>| told.map_or(0, |it| it.answers.len());
            let (number, most) = (at as u64 + 1, asked(&one).max(asked(&two)));
            (0..most).find_map(|at| {
                let [one, two] = [one, two].map(|told| told.and_then(|it| it.answers.get(at)));
                let statement = one.or(two).expect("one of the two has so many").statement;
                let same = one.map(|it| (it.statement, &it.text))
                    == two.map(|it| (it.statement, &it.text));
                (!same).then(|| AnswerDifference {
                    other: other.to_owned(),
                    number,
                    operation: operation.name.clone(),
                    statement: self.statements[statement].clone(),
                    answer: self.in_words(one, statement),
                    other_answer: theirs.in_words(two, statement),
                })
            })
        })
    }

    /// An answer for a reader who knows which statement is spoken of.
    fn in_words(&self, answer: Option<&RecordedAnswer>, spoken_of: usize) -> String {
        let Some(RecordedAnswer { statement, text, said }) = answer else {
            return "it was not asked that".into();
        };
        let text = match said {
            Some(said) => format!("{text}: {}", said.lines().next().unwrap_or_default()),
            None => text.clone(),
        };
        match *statement == spoken_of {
            true => text,
            false => format!("it was asked `{}` there: {text}", self.statements[*statement]),
        }
    }
}

/// FNV-1a with 64 bits, over texts one after the other: the same on every machine.
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds a text, and its end: no text holds the byte that marks it.
    pub fn add(&mut self, text: &str) {
        let ended = text.bytes().chain([0xff]);
        self.0 = ended.fold(self.0, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }
}
