//! The run as one page that needs nothing but itself: no network, no other file.

use std::collections::BTreeMap;

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Document, WarningKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::section::{PagePlace, SectionPart};
use crate::sections::SECTIONS;
use crate::{Options, Result, chart, warning_names};

const TEMPLATE: &str = include_str!("../templates/report.html");
const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = include_str!("../templates/report.js");

/// Every text of the document is escaped.
pub fn write(document: &Document, options: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document).with_present(&options.present);
    let parts = |place: PagePlace| -> Vec<SectionPart<'_>> {
        let sections = SECTIONS.iter().filter(|section| section.place == place);
        sections.flat_map(|section| section.build_parts(&layout)).collect()
    };
    let folded =
        FOLDED.iter().map(|(name, title, place)| FoldedPart { name, title, parts: parts(*place) });
    let run = &document.run.run;
    PageContent {
        title: &run.title,
        name: &run.name,
        version: &run.version,
        first: parts(PagePlace::First),
        parts: Vec::new(),
        folded: folded.filter(|it| !it.parts.is_empty()).collect(),
    }
    .write()
}

#[derive(Serialize)]
pub(crate) struct PageContent<'a> {
    pub title: &'a str,
    pub name: &'a str,
    pub version: &'a str,
    pub first: Vec<SectionPart<'a>>,
    pub parts: Vec<SectionPart<'a>>,
    pub folded: Vec<FoldedPart<'a>>,
}

/// What a page folds up below its first screen.
#[derive(Serialize)]
pub(crate) struct FoldedPart<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub parts: Vec<SectionPart<'a>>,
}

const FOLDED: [(&str, &str, PagePlace); 3] = [
    ("why", "Why: the disk, the processor, deferred work and power cuts", PagePlace::Why),
    ("misleading", "What could mislead", PagePlace::Misleading),
    (
        "everything",
        "Everything: each figure, each trial, and how it was measured",
        PagePlace::Everything,
    ),
];

impl PageContent<'_> {
    pub fn write(&self) -> Result<String> {
        Ok(build_environment()?.get_template("report.html")?.render(Serde(self))?)
    }
}

/// The policy of the page lets this script run, and none that a name might bring in.
fn hash_script(script: &str) -> String {
    // It begins on a line of its own.
    format!("sha256-{}", STANDARD.encode(Sha256::digest(format!("\n{script}"))))
}

fn build_environment() -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.add_global("style", Value::from_safe_string(STYLE.into()));
    environment.add_global("script", Value::from_safe_string(SCRIPT.into()));
    environment.add_global("script_hash", Value::from_safe_string(hash_script(SCRIPT)));
    let signs = (0..chart::STYLES).map(|style| Value::from_safe_string(chart::draw_key(style)));
    environment.add_global("signs", signs.collect::<Value>());
    let marks = (0..chart::STYLES).map(|style| Value::from_safe_string(chart::draw_sign(style)));
    environment.add_global("marks", marks.collect::<Value>());
    let about = WarningKind::ALL.iter().map(|kind| (kind.code(), warning_names::name_kind(*kind)));
    environment.add_global("about", Value::from(Serde(about.collect::<BTreeMap<_, _>>())));
    // The name's ending turns on escaping.
    environment.add_template("report.html", TEMPLATE)?;
    Ok(environment)
}
