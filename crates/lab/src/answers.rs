//! Asks an image the questions of a client's seeded operations, untimed, and keeps the answers in a
//! form in which engines that keep their contract agree ([`collect_answers`]). This shows whether
//! all engines of a run answer alike and, if not, at which statement they first differ.
//!
//! It must never know which engine answers, what an operation stands for, or what becomes of a
//! difference.

mod canonical;
mod difference;
mod generated_keys;
mod listening_session;

use bakeoff_results::AnswerDifference;
use serde::{Deserialize, Serialize};

pub use difference::describe_difference;
pub use listening_session::{AnswersRequest, collect_answers};

pub const MOST_OPERATIONS: usize = 500;
/// No operation starts after this many statements. One operation of `redmine` has some 275.
pub const MOST_STATEMENTS: u64 = 5_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageAnswers {
    pub work: String,
    /// An answer refers to one of these names by its index.
    pub statements: Vec<String>,
    pub operations: Vec<AnsweredOperation>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredOperation {
    pub name: String,
    pub answers: Vec<RecordedAnswer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    pub statement: usize,
    /// The same from every engine that keeps its contract. A long answer is cut, with a digest of
    /// all of it.
    pub text: String,
    /// The error in the engine's own words.
    pub said: Option<String>,
    /// Of an answer that was cut: its rows, as far as they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
}

impl ImageAnswers {
    pub fn count_answers(&self) -> u64 {
        self.operations.iter().map(|operation| operation.answers.len() as u64).sum()
    }

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

    /// The first answer that differs from the image of the engine `other`, if any.
    pub fn find_difference(&self, other: &str, theirs: &Self) -> Option<AnswerDifference> {
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
                (!same).then(|| {
                    let [answer, other_answer] = match find_long_difference(one, two) {
                        Some(places) => places,
                        None => [self.in_words(one, statement), theirs.in_words(two, statement)],
                    };
                    AnswerDifference {
                        other: other.to_owned(),
                        number,
                        operation: operation.name.clone(),
                        statement: self.statements[statement].clone(),
                        answer,
                        other_answer,
                    }
                })
            })
        })
    }

    fn in_words(&self, answer: Option<&RecordedAnswer>, spoken_of: usize) -> String {
        let Some(RecordedAnswer { statement, text, said, .. }) = answer else {
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

/// Where two answers to one statement differ of which both were cut.
fn find_long_difference(
    one: Option<&RecordedAnswer>,
    other: Option<&RecordedAnswer>,
) -> Option<[String; 2]> {
    let (one, other) = one.zip(other)?;
    let are_cut = !one.rows.is_empty() && !other.rows.is_empty();
    let is_one_statement = one.statement == other.statement;
    if !are_cut || !is_one_statement {
        return None;
    }
    let places = describe_difference(&one.rows, &other.rows)?;
    let count = |answer: &RecordedAnswer| answer.text.split(':').next().map(str::to_owned);
    let counts = [count(one)?, count(other)?];
    Some([0, 1].map(|at| format!("{}, {}", counts[at], places[at])))
}

/// FNV-1a with 64 bits over a row of texts: the same on every machine.
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// 0xff ends each text: no UTF-8 text contains it.
    pub fn add(&mut self, text: &str) {
        let ended = text.bytes().chain([0xff]);
        self.0 = ended.fold(self.0, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }
}
