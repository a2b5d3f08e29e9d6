//! The run as Markdown: the verdict, the key facts and a table an operation.

use std::fmt::Write;

use bakeoff_analysis::Document;

use crate::costs;
use crate::debts;
use crate::durability::{self, Durability};
use crate::figures::Figures;
use crate::layout::Layout;
use crate::offered;
use crate::sentence;
use crate::tables;

/// The run as GitHub's Markdown.
pub fn render(document: &Document) -> String {
    let layout = Layout::new(document);
    let run = &document.run.run;
    let mut out = format!("# {}\n\n", escape(&run.title));
    let _ = writeln!(out, "**{}**\n", escape(&sentence::verdict(document)));
    for (name, value) in tables::key_facts(document) {
        let _ = writeln!(out, "- {name}: {}", escape(&value));
    }
    for operation in layout.operations() {
        let _ = writeln!(out, "\n## {}\n", escape(operation));
        figures_table(&mut out, &layout, &tables::operation(&layout, operation));
    }
    if let Some(figures) = offered::offered(&layout) {
        out.push_str("\n## What was offered\n\n");
        figures_table(&mut out, &layout, &figures);
        let _ = writeln!(out, "\n{}", escape(offered::EXPLAINED));
    }
    if let Some(durability) = durability::durability(document) {
        promises(&mut out, &durability);
    }
    if let Some(figures) = costs::costs(&layout) {
        out.push_str("\n## What it cost\n\n");
        figures_table(&mut out, &layout, &figures);
        let _ = writeln!(out, "\n{}", escape(&costs::counted_by(&layout)));
    }
    if let Some(figures) = debts::debts(&layout) {
        out.push_str("\n## What was left to write back\n\n");
        figures_table(&mut out, &layout, &figures);
        let _ = writeln!(out, "\n{}", escape(debts::EXPLAINED));
    }
    if let Some(figures) = debts::processor(&layout) {
        out.push_str("\n## Processor time of a trial\n\n");
        figures_table(&mut out, &layout, &figures);
    }
    let space = tables::space(&layout);
    if !space.is_empty() {
        out.push_str("\n## Space on disk\n\n");
        let head = tables::panel_factors(&layout).into_iter().chain([layout.compare]);
        row(&mut out, head.chain(["median", "least", "most"]));
        rule(&mut out, tables::panel_factors(&layout).len() + 1, 3);
        for line in &space {
            let start = line.setting.iter().chain([&line.level, &line.median]);
            row(&mut out, start.chain([&line.least, &line.most]).map(String::as_str));
        }
    }
    let settings = costs::settings(run);
    if !settings.is_empty() {
        out.push_str("\n## Settings that differ from the default, and why\n\n");
        row(&mut out, ["engine", "setting", "value", "at", "why"].into_iter());
        rule(&mut out, 5, 0);
        for line in &settings {
            let cells = [&line.engine, &line.name, &line.value, &line.at, &line.reason];
            row(&mut out, cells.into_iter().map(String::as_str));
        }
    }
    if !document.warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
        for warning in &document.warnings {
            let _ = writeln!(out, "- {}", escape(&warning.to_string()));
        }
    }
    let _ = writeln!(out, "\n## Again\n\n{}", code(&run.command));
    out
}

fn figures_table(out: &mut String, layout: &Layout<'_>, figures: &Figures) {
    let head = layout.varying.iter().copied().chain([layout.compare]);
    row(out, head.chain(figures.columns.iter().map(|column| column.name.as_str())));
    rule(out, layout.varying.len() + 1, figures.columns.len());
    for line in &figures.rows {
        let marks: Vec<&str> = line.marks.iter().map(|mark| mark.text).collect();
        let level = match marks.as_slice() {
            [] => line.level.clone(),
            marks => format!("{} ({})", line.level, marks.join(", ")),
        };
        row(out, line.setting.iter().chain([&level]).chain(&line.cells).map(String::as_str));
    }
}

/// What power cuts have left of each promise.
fn promises(out: &mut String, durability: &Durability) {
    out.push_str("\n## What power cuts left of each promise\n\n");
    let heads = ["engine", "durability", "promise"].into_iter();
    let rules = durability.rules.iter().map(String::as_str);
    let cost = durability.operation.iter().map(String::as_str);
    row(out, heads.chain(rules).chain(["recovery"]).chain(cost));
    rule(out, 4 + durability.rules.len() + durability.operation.iter().count(), 0);
    for line in &durability.rows {
        let name = line.name();
        let heads = [name.as_str(), &line.durability, line.state].into_iter();
        let rules = line.rules.iter().map(|rule| rule.text.as_str());
        let cost = durability.operation.iter().map(|_| line.cost.as_str());
        row(out, heads.chain(rules).chain([line.recovery.as_str()]).chain(cost));
    }
    let _ = writeln!(out, "\n{}\n", escape(&durability.how));
    for line in &durability.rows {
        let (engine, level) = (escape(&line.engine), escape(&line.durability));
        let _ = writeln!(out, "- **{engine}, {level}**: {}", escape(&line.explained));
        if let Some(command) = &line.repeat {
            let _ = writeln!(out, "\n  Again:\n\n{}\n", code(command));
        }
    }
}

fn row<'a>(out: &mut String, cells: impl Iterator<Item = &'a str>) {
    for cell in cells {
        let _ = write!(out, "| {} ", escape(cell));
    }
    out.push_str("|\n");
}

fn rule(out: &mut String, left: usize, right: usize) {
    out.push_str(&"|---".repeat(left));
    out.push_str(&"|--:".repeat(right));
    out.push_str("|\n");
}

/// Text that Markdown shows as it is, on one line: no markup, no HTML, no entity, no formula, and no
/// address made into a link or an image, which would be fetched.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let rest = &text[at..];
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '&' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            ':' if rest.starts_with("://") => out.push_str("\\:"),
            '.' if ends_with_www(&text[..at]) => out.push_str("\\."),
            '\r' | '\n' => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}

fn ends_with_www(text: &str) -> bool {
    text.get(text.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

/// A block of code whose fence is longer than any in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
