//! The run as Markdown, for an issue or a wiki.

use std::fmt::Write;

use bakeoff_analysis::Document;

use crate::block::{
    Answered, ColumnKind, Finding, Heat, HeatCell, ReportBlock, ReportCell, ReportTable,
    StripGroup, Strips, StyledText, TableStyle,
};
use crate::figures::NONE;
use crate::section;
use crate::{DocumentLayout, Exporter, Options, Result, Section};

/// GitHub's Markdown: what is folded on a page stands open, charts and records are left out.
pub struct Markdown;

impl Exporter for Markdown {
    fn name(&self) -> &'static str {
        "md"
    }

    fn about(&self) -> &'static str {
        "Tables for a text"
    }

    fn endings(&self) -> &[&'static str] {
        &["md"]
    }

    fn write(
        &self,
        document: &Document,
        sections: &[Box<dyn Section>],
        options: &Options,
    ) -> Result<String> {
        let layout = DocumentLayout::new(document).with_present(&options.present);
        let mut out = format!("# {}\n", escape(&document.run.run.title));
        for part in sections.iter().flat_map(|it| section::parts(it.as_ref(), &layout)) {
            let text = blocks(&part.blocks);
            if !text.is_empty() && !part.title.is_empty() {
                let _ = write!(out, "\n## {}\n", escape(&part.title));
            }
            out += &text;
        }
        Ok(out)
    }
}

/// A title, and blocks under it.
pub(crate) fn of_blocks(title: &str, of: &[ReportBlock]) -> String {
    format!("# {}\n{}", escape(title), blocks(of))
}

/// Each block after an empty line.
fn blocks(blocks: &[ReportBlock]) -> String {
    let texts = blocks.iter().map(block).filter(|text| !text.is_empty());
    texts.map(|text| format!("\n{}\n", text.trim_end())).collect()
}

fn block(block: &ReportBlock) -> String {
    match block {
        ReportBlock::Heading(text) => format!("### {}", escape(text)),
        ReportBlock::Headline(headline) => {
            let sentences = headline.sentences.iter().map(|it| bold(&it.text()));
            let broken = Some(bold(&headline.broken)).filter(|_| !headline.broken.is_empty());
            let rest = Some(escape(&headline.rest)).filter(|rest| !rest.is_empty());
            let sure = headline.confidence.as_ref();
            let sure = sure.map(|it| format!("{}: {}", bold(it.word), escape(&it.text)));
            let on = Some(escape(&headline.on)).filter(|on| !on.is_empty());
            let all = on.into_iter().chain(broken).chain(sentences).chain(rest).chain(sure);
            all.collect::<Vec<_>>().join("\n\n")
        }
        ReportBlock::Answers(answers) => {
            let all = answers.iter().filter(|it| !it.page_alone).map(answered);
            all.collect::<Vec<_>>().join("\n")
        }
        ReportBlock::Strips(of) => strips(of),
        ReportBlock::Heats(of) => {
            format!("{TIMES}\n\n{}", of.maps.iter().map(heat).collect::<Vec<_>>().join("\n"))
        }
        ReportBlock::Lead(text) | ReportBlock::Note(text) | ReportBlock::Prose(text) => words(text),
        ReportBlock::Facts(facts) => facts
            .iter()
            .map(|(name, fact)| format!("- {}: {}\n", escape(name), escape(fact)))
            .collect(),
        ReportBlock::Warnings(warnings) => {
            let line = |warning: &bakeoff_analysis::Warning| {
                format!("- {}\n", escape(&warning.to_string()))
            };
            warnings.iter().map(line).collect::<String>()
        }
        ReportBlock::Table(table) if table.look == TableStyle::Records => String::new(),
        ReportBlock::Table(of) => table(of),
        ReportBlock::Sweeps(of) => {
            of.charts.iter().map(|it| table(&it.panel.table()) + "\n").collect()
        }
        ReportBlock::Charts(_) | ReportBlock::Timelines(_) => String::new(),
        ReportBlock::Findings(findings) => findings.iter().map(finding).collect(),
        ReportBlock::Folded(folded) => match blocks(&folded.blocks) {
            none if none.is_empty() => none,
            text => format!("### {}\n{text}", escape(&folded.summary)),
        },
        ReportBlock::Command(command) => code(command),
        ReportBlock::Link(link) => format!("{}: {}", escape(&link.text), escape(&link.path)),
    }
}

fn bold(text: &str) -> String {
    format!("**{}**", escape(text))
}

/// A question, and its answer as a list; a command after its first line.
fn answered(answered: &Answered) -> String {
    let item = |line: &StyledText| format!("- {}\n", words(line));
    let body = match (&answered.command, answered.lines.split_first()) {
        (Some(command), Some((first, rest))) => {
            let rest: String = rest.iter().map(item).collect();
            format!("{}\n\n{}\n\n{rest}", words(first), code(command))
        }
        _ => answered.lines.iter().map(item).collect(),
    };
    let note = answered.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", escape(note)));
    format!("### {}\n\n{body}{note}", escape(&answered.question))
}

/// What the words of strips are, and a table for each group of them.
fn strips(of: &Strips) -> String {
    let group = |group: &StripGroup| {
        let tool = Some(&group.tool).filter(|tool| !tool.is_empty());
        let tool = tool.map_or(String::new(), |tool| format!(" ({})", escape(tool)));
        let title = match group.title.as_str() {
            "" => String::new(),
            title => format!("{}{tool}\n\n", bold(title)),
        };
        format!("{title}{}\n", table(&of.table(group, true)))
    };
    let line = |text: &String| format!("{}\n", escape(text));
    let terms: String = of.terms.iter().map(line).collect();
    let terms = if terms.is_empty() { terms } else { format!("{terms}\n") };
    let notes = of.notes.iter().map(line);
    std::iter::once(terms).chain(of.groups.iter().map(group)).chain(notes).collect()
}

/// What a page says by colours and rings.
const TIMES: &str =
    "In brackets: how many times the best of its table. **Bold**: the best of its row.";

/// A table whose figures say how far each is from the best.
fn heat(of: &Heat) -> String {
    let figure = |cell: &Option<HeatCell>| match cell {
        None => NONE.to_owned(),
        Some(HeatCell { text, times, ends, best, .. }) => {
            let text = if *best { bold(text) } else { escape(text) };
            let ends = ends.iter().map(|ends| format!("; {}", escape(ends))).collect::<String>();
            format!("{text} ({times}{ends})")
        }
    };
    let mut out = format!("{}\n\n", escape(&of.caption));
    let heads = of.columns.iter().map(|column| escape(&column.text));
    row(&mut out, std::iter::once(String::new()).chain(heads));
    out += &format!("|---{}|\n", "|--:".repeat(of.columns.len()));
    for line in &of.rows {
        row(&mut out, std::iter::once(escape(&line.name)).chain(line.cells.iter().map(figure)));
    }
    out
}

fn words(words: &StyledText) -> String {
    let part = |(text, stressed)| match stressed {
        true => format!("*{}*", escape(text)),
        false => escape(text),
    };
    words.parts().map(part).collect()
}

fn table(table: &ReportTable) -> String {
    let mut out = String::new();
    let caption = &table.caption.text;
    // What is not under a heading of its own says what it is.
    if table.look == TableStyle::Plain && !caption.is_empty() {
        let _ = writeln!(out, "{}\n", escape(caption));
    }
    row(&mut out, table.columns.iter().map(|column| escape(&column.name)));
    for column in &table.columns {
        let right =
            matches!(column.kind, ColumnKind::Number | ColumnKind::Main | ColumnKind::LongNumber);
        out.push_str(if right || column.kind == ColumnKind::Verdict { "|--:" } else { "|---" });
    }
    out.push_str("|\n");
    for line in &table.rows {
        row(&mut out, line.cells.iter().map(cell));
    }
    out + &table.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", escape(note)))
}

/// What a cell says, and in brackets whose it is and what is wrong with it.
fn cell(cell: &ReportCell) -> String {
    let marks = cell.marks.iter().map(|mark| mark.text);
    let more: Vec<&str> = cell.aside.as_deref().into_iter().chain(marks).collect();
    match more.as_slice() {
        [] => escape(&cell.text),
        more => escape(&format!("{} ({})", cell.text, more.join(", "))),
    }
}

fn row(out: &mut String, cells: impl Iterator<Item = String>) {
    for cell in cells {
        let _ = write!(out, "| {cell} ");
    }
    out.push_str("|\n");
}

fn finding(finding: &Finding) -> String {
    let again = finding.again.as_ref();
    let again = again.map_or(String::new(), |it| format!("\n  Again:\n\n{}\n\n", code(it)));
    format!("- **{}**: {}\n{again}", escape(&finding.of), escape(&finding.text))
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
