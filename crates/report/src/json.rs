//! The document itself, as `docs/results.schema.json` describes it.

use bakeoff_analysis::Document;

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
        Ok(serde_json::to_string_pretty(document)? + "\n")
    }
}
