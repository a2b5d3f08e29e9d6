//! The run as one page that needs nothing but itself: no network, no other file.

use bakeoff_analysis::Document;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};

use crate::{Result, page};

const TEMPLATE: &str = include_str!("../templates/report.html");
const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = include_str!("../templates/report.js");

/// The run as a page of HTML; every text of the document is escaped.
pub fn render(document: &Document) -> Result<String> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.add_global("style", Value::from_safe_string(STYLE.into()));
    environment.add_global("script", Value::from_safe_string(SCRIPT.into()));
    // The ending of the name is what turns escaping on.
    environment.add_template("report.html", TEMPLATE)?;
    Ok(environment.get_template("report.html")?.render(Serde(page::page(document)))?)
}
