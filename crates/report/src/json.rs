use bakeoff_analysis::Document;
use bakeoff_analysis::answer::{Answer, FindingView};
use bakeoff_analysis::layout::DocumentLayout;
use serde::Serialize;

use crate::sentence::RunAnswer;
use crate::{Options, Result};

pub fn write(document: &Document, _: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document);
    let answer = Answer::from_layout(&layout);
    let findings = answer.findings.iter().map(|it| FindingView::from_finding(&layout, it));
    let findings = findings.collect();
    let answer = AnswerJson { told: RunAnswer::from_answer(&layout, &answer), findings };
    Ok(serde_json::to_string_pretty(&ReportJson { document, answer })? + "\n")
}

#[derive(Serialize)]
struct ReportJson<'a> {
    #[serde(flatten)]
    document: &'a Document,
    answer: AnswerJson<'a>,
}

#[derive(Serialize)]
struct AnswerJson<'a> {
    #[serde(flatten)]
    told: RunAnswer,
    findings: Vec<FindingView<'a>>,
}
