//! The run as one page that needs nothing but itself: no network, no other file.

use std::collections::BTreeMap;

use bakeoff_analysis::{Document, WarningKind};
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::section::{self, SectionPart};
use crate::{DocumentLayout, Exporter, Options, Result, Section, chart, misleads};

const TEMPLATE: &str = include_str!("../templates/report.html");
const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = include_str!("../templates/report.js");

/// One page that opens offline; every text of the document is escaped.
pub struct Html;

impl Exporter for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "One file for a browser"
    }

    fn endings(&self) -> &[&'static str] {
        &["html"]
    }

    fn write(
        &self,
        document: &Document,
        sections: &[Box<dyn Section>],
        options: &Options,
    ) -> Result<String> {
        let layout = DocumentLayout::new(document).with_present(&options.present);
        let mut parts = sections.iter().map(|section| section::parts(section.as_ref(), &layout));
        let run = &document.run.run;
        PageContent {
            title: &run.title,
            name: &run.name,
            version: &run.version,
            first: parts.next().unwrap_or_default(),
            parts: parts.flatten().collect(),
        }
        .write()
    }
}

/// What the template shows.
#[derive(Serialize)]
pub(crate) struct PageContent<'a> {
    pub title: &'a str,
    pub name: &'a str,
    pub version: &'a str,
    /// The first screen.
    pub first: Vec<SectionPart<'a>>,
    /// The rest.
    pub parts: Vec<SectionPart<'a>>,
}

impl PageContent<'_> {
    /// The page's text.
    pub fn write(&self) -> Result<String> {
        Ok(environment()?.get_template("report.html")?.render(Serde(self))?)
    }
}

fn environment() -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.add_global("style", Value::from_safe_string(STYLE.into()));
    environment.add_global("script", Value::from_safe_string(SCRIPT.into()));
    let signs = (0..chart::STYLES).map(|style| Value::from_safe_string(chart::key(style)));
    environment.add_global("signs", signs.collect::<Value>());
    let marks = (0..chart::STYLES).map(|style| Value::from_safe_string(chart::sign(style)));
    environment.add_global("marks", marks.collect::<Value>());
    let about = WarningKind::ALL.iter().map(|kind| (kind.code(), misleads::name(*kind)));
    environment.add_global("about", Value::from(Serde(about.collect::<BTreeMap<_, _>>())));
    // The ending of the name is what turns escaping on.
    environment.add_template("report.html", TEMPLATE)?;
    Ok(environment)
}
