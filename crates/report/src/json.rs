//! The document itself and the answer, as `docs/results.schema.json` describes them.

use bakeoff_analysis::Document;
use serde::Serialize;

use crate::confidence::Confidence;
use crate::layout::DocumentLayout;
use crate::sentence::RunAnswer;
use crate::{Exporter, Options, Result, Section};

/// The documented JSON.
pub struct Json;

impl Exporter for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "The documented JSON"
    }

    fn endings(&self) -> &[&'static str] {
        &["json"]
    }

    fn write(&self, document: &Document, _: &[Box<dyn Section>], _: &Options) -> Result<String> {
        let said = RunAnswer::from_layout(&DocumentLayout::new(document));
        let sentences = said.sentences.iter().map(|it| it.text()).collect();
        let RunAnswer { on, broken, rest, confidence, .. } = said;
        let answer = AnswerJson { on, broken, sentences, rest, confidence };
        let written = ReportJson { document, answer };
        Ok(serde_json::to_string_pretty(&written)? + "\n")
    }
}

#[derive(Serialize)]
struct ReportJson<'a> {
    #[serde(flatten)]
    document: &'a Document,
    answer: AnswerJson,
}

/// What the first screen of a report says.
#[derive(Serialize)]
struct AnswerJson {
    /// On what disk it holds; empty where none is simulated.
    on: String,
    /// The promises that were broken; empty where none was.
    broken: String,
    /// A sentence for each promise of durability, or one of the run.
    sentences: Vec<String>,
    /// What else has to be known with them; empty where there is nothing.
    rest: String,
    /// How sure they are; `null` where nothing is compared.
    confidence: Option<Confidence>,
}
