use bakeoff_analysis::Document;
use bakeoff_analysis::layout::DocumentLayout;
use serde::Serialize;

use crate::sentence::RunAnswer;
use crate::{Options, Result};

pub fn write(document: &Document, _: &Options) -> Result<String> {
    let answer = RunAnswer::from_layout(&DocumentLayout::new(document));
    Ok(serde_json::to_string_pretty(&ReportJson { document, answer })? + "\n")
}

#[derive(Serialize)]
struct ReportJson<'a> {
    #[serde(flatten)]
    document: &'a Document,
    answer: RunAnswer,
}
