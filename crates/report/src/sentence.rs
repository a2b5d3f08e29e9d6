//! The result in sentences that the author of the slowest engine would sign.

mod against;
mod case_words;
mod caveats;
mod findings;
mod machines;
mod not_compared;
pub mod numeric_factor;
mod of_promise;
mod over_cases;
mod undecided;

use bakeoff_analysis::Document;
use bakeoff_analysis::answer::{Answer, ConfidenceGrade};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_results::OwnFactor;
use serde::{Serialize, Serializer};

use crate::block::StyledText;
use crate::confidence::Confidence;
use crate::disk;
use crate::offered_rate;
use crate::promises;
use crate::searches;
use crate::unreached_limits;
use crate::words;

/// For each promise the fastest level, by how much and how sure; or what it depends on; or that
/// nothing is decided.
///
/// It goes by the figure of merit and never claims more than the 95 % intervals allow.
pub fn verdict(document: &Document) -> String {
    list_sentences(document).join(" ")
}

/// The verdict, sentence by sentence: the disk, broken promises, each answer, caveats.
pub fn list_sentences(document: &Document) -> Vec<String> {
    let said = RunAnswer::from_layout(&DocumentLayout::new(document));
    let sentences = said.sentences.iter().map(StyledText::text);
    let all = [said.on, said.broken].into_iter().chain(sentences).chain(said.rest);
    all.filter(|part| !part.is_empty()).collect()
}

#[derive(Serialize)]
pub struct RunAnswer {
    /// Empty where no disk is simulated.
    pub on: String,
    pub broken: String,
    /// One for each promise of durability, or one of the run.
    #[serde(serialize_with = "write_plain")]
    pub sentences: Vec<StyledText>,
    /// Caveats, a sentence each.
    #[serde(serialize_with = "write_joined")]
    pub rest: Vec<String>,
    pub confidence: Option<Confidence>,
}

fn write_plain<S: Serializer>(texts: &[StyledText], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(texts.iter().map(StyledText::text))
}

fn write_joined<S: Serializer>(sentences: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&sentences.join(" "))
}

impl RunAnswer {
    pub fn from_layout(layout: &DocumentLayout<'_>) -> Self {
        Self::from_answer(layout, &Answer::from_layout(layout))
    }

    pub fn from_answer(layout: &DocumentLayout<'_>, answer: &Answer<'_>) -> Self {
        let document = layout.document;
        let is_low = answer.confidence.as_ref().is_some_and(|it| it.grade == ConfidenceGrade::Low);
        let sentences = match searches::describe_answer(layout) {
            Some(answer) => vec![answer],
            None => findings::describe_findings(layout, answer, is_low),
        };
        let sentence = |clause: &String| capitalize_text(document, clause) + ".";
        let broken = promises::describe_broken(document);
        let broken = if broken.is_empty() { String::new() } else { sentence(&broken.join("; ")) };
        let rest = list_caveats(layout, answer).iter().map(sentence).collect();
        let on = disk::describe_disks(document).unwrap_or_default();
        let confidence = answer.confidence.as_ref().map(|it| Confidence::from_answer(layout, it));
        Self { on, broken, sentences, rest, confidence }
    }
}

fn list_caveats(layout: &DocumentLayout<'_>, answer: &Answer<'_>) -> Vec<String> {
    let document = layout.document;
    let Answer { cases, is_compared, .. } = answer;
    let mut clauses = Vec::new();
    if *is_compared {
        clauses.extend(disk::describe_turns(layout));
    }
    clauses.extend(promises::describe_kept(document));
    if *is_compared {
        clauses.extend(unreached_limits::list_clauses(document));
        clauses.extend(machines::describe_apart(layout, cases));
        clauses.extend(caveats::otherwise_counted(layout, cases));
        clauses.extend(caveats::held_back(layout));
        clauses.extend(caveats::not_decided(layout));
        clauses.extend(caveats::cut_off(layout, cases));
        clauses.extend(caveats::name_fresh(layout));
        clauses.extend(offered_rate::describe_behind(layout));
    }
    clauses.extend(caveats::below_noise(cases));
    clauses.extend(caveats::name_missing(layout, cases));
    clauses.extend(caveats::count_lost(document));
    clauses.extend(caveats::first_error(layout));
    clauses.extend(caveats::describe_progress(document));
    clauses
}

/// A name keeps its own letters.
fn capitalize_text(document: &Document, text: &str) -> String {
    let engines = document.run.run.levels_of(OwnFactor::Engine.as_str()).iter();
    let others = document.other_cuts.iter().map(|other| &other.promise.engine);
    let promised = document.promises.iter().map(|promise| &promise.engine);
    let mut names = engines.chain(others).chain(promised);
    match names.any(|name| text.starts_with(name)) {
        true => text.into(),
        false => words::capitalize(text),
    }
}
