//! The run as Markdown, for an issue or a wiki.

use std::fmt::Write;

use bakeoff_analysis::Document;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{
    Answered, ColumnKind, Finding, Heat, HeatCell, ReportBlock, ReportCell, ReportTable,
    StripGroup, Strips, StyledText, TableStyle,
};
use crate::figures::NONE;
use crate::sections::SECTIONS;
use crate::{Options, Result};

/// Folded blocks stand open; charts and records are left out.
pub fn write(document: &Document, options: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document).with_present(&options.present);
    let mut out = format!("# {}\n", escape(&document.run.run.title));
    for part in SECTIONS.iter().flat_map(|section| section.build_parts(&layout)) {
        let text = write_blocks(&part.blocks);
        if !text.is_empty() && !part.title.is_empty() {
            let _ = write!(out, "\n## {}\n", escape(&part.title));
        }
        out += &text;
    }
    Ok(out)
}

pub(crate) fn of_blocks(title: &str, of: &[ReportBlock]) -> String {
    format!("# {}\n{}", escape(title), write_blocks(of))
}

fn write_blocks(blocks: &[ReportBlock]) -> String {
    let texts = blocks.iter().map(write_block).filter(|text| !text.is_empty());
    texts.map(|text| format!("\n{}\n", text.trim_end())).collect()
}

fn write_block(block: &ReportBlock) -> String {
    match block {
        ReportBlock::Heading(text) => format!("### {}", escape(text)),
        ReportBlock::Headline(headline) => {
            let sentences = headline.sentences.iter().map(|it| stress_text(&it.text()));
            let broken =
                Some(stress_text(&headline.broken)).filter(|_| !headline.broken.is_empty());
            let rest = Some(escape(&headline.rest)).filter(|rest| !rest.is_empty());
            let sure = headline.confidence.as_ref();
            let sure = sure.map(|it| format!("{}: {}", stress_text(it.word), escape(&it.text)));
            let on = Some(escape(&headline.on)).filter(|on| !on.is_empty());
            let all = on.into_iter().chain(broken).chain(sentences).chain(rest).chain(sure);
            all.collect::<Vec<_>>().join("\n\n")
        }
        ReportBlock::Answers(answers) => {
            let all = answers.iter().filter(|it| !it.page_alone).map(write_answer);
            all.collect::<Vec<_>>().join("\n")
        }
        ReportBlock::Strips(of) => write_strips(of),
        ReportBlock::Next(next) => {
            let command = next.command.iter().map(|command| format!("\n\n{}", fence_code(command)));
            format!("**Next**: {}{}\n", escape(&next.text), command.collect::<String>())
        }
        ReportBlock::Heats(of) => {
            let lead = if of.has_links { RATIOS } else { TIMES };
            format!("{lead}\n\n{}", of.maps.iter().map(write_heat).collect::<Vec<_>>().join("\n"))
        }
        ReportBlock::Lead(text) | ReportBlock::Note(text) | ReportBlock::Prose(text) => {
            write_words(text)
        }
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
        ReportBlock::Table(of) => write_table(of),
        ReportBlock::Sweeps(of) => {
            of.charts.iter().map(|it| write_table(&it.panel.table()) + "\n").collect()
        }
        ReportBlock::Charts(_) | ReportBlock::Timelines(_) => String::new(),
        ReportBlock::Findings(findings) => findings.iter().map(write_finding).collect(),
        ReportBlock::Folded(folded) => match write_blocks(&folded.blocks) {
            none if none.is_empty() => none,
            text => format!("### {}\n{text}", escape(&folded.summary)),
        },
        ReportBlock::Command(command) => fence_code(command),
        ReportBlock::Link(link) => format!("{}: {}", escape(&link.text), escape(&link.path)),
    }
}

fn stress_text(text: &str) -> String {
    format!("**{}**", escape(text))
}

fn write_answer(answered: &Answered) -> String {
    let item = |line: &StyledText| format!("- {}\n", write_words(line));
    let body = match (&answered.command, answered.lines.split_first()) {
        (Some(command), Some((first, rest))) => {
            let rest: String = rest.iter().map(item).collect();
            format!("{}\n\n{}\n\n{rest}", write_words(first), fence_code(command))
        }
        _ => answered.lines.iter().map(item).collect(),
    };
    let note = answered.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", escape(note)));
    format!("### {}\n\n{body}{note}", escape(&answered.question))
}

fn write_strips(of: &Strips) -> String {
    let group = |group: &StripGroup| {
        let tool = Some(&group.tool).filter(|tool| !tool.is_empty());
        let tool = tool.map_or(String::new(), |tool| format!(" ({})", escape(tool)));
        let title = match group.title.as_str() {
            "" => String::new(),
            title => format!("{}{tool}\n\n", stress_text(title)),
        };
        format!("{title}{}\n", write_table(&of.table(group, true)))
    };
    let line = |text: &String| format!("{}\n", escape(text));
    let terms: String = of.terms.iter().map(line).collect();
    let terms = if terms.is_empty() { terms } else { format!("{terms}\n") };
    let notes = of.notes.iter().map(line);
    std::iter::once(terms).chain(of.groups.iter().map(group)).chain(notes).collect()
}

const TIMES: &str =
    "In brackets: how many times the best of its table. **Bold**: the best of its row.";

const RATIOS: &str = "A row for each condition: how many times slower than the fastest there.";

fn write_heat(of: &Heat) -> String {
    let figure = |cell: &Option<HeatCell>| match cell {
        None => NONE.to_owned(),
        Some(HeatCell { text, times, ends, best, .. }) => {
            let text = if *best { stress_text(text) } else { escape(text) };
            let ends = ends.iter().map(|ends| format!("; {}", escape(ends))).collect::<String>();
            format!("{text} ({times}{ends})")
        }
    };
    let mut out = format!("{}\n\n", escape(&of.caption));
    let heads = of.columns.iter().map(|column| escape(&column.text));
    write_row(&mut out, std::iter::once(String::new()).chain(heads));
    out += &format!("|---{}|\n", "|--:".repeat(of.columns.len()));
    for line in &of.rows {
        write_row(
            &mut out,
            std::iter::once(escape(&line.name)).chain(line.cells.iter().map(figure)),
        );
    }
    out
}

fn write_words(words: &StyledText) -> String {
    let part = |(text, stressed)| match stressed {
        true => format!("*{}*", escape(text)),
        false => escape(text),
    };
    words.parts().map(part).collect()
}

fn write_table(table: &ReportTable) -> String {
    let mut out = String::new();
    let caption = &table.caption.text;
    // Without a heading, the caption names the table.
    if table.look == TableStyle::Plain && !caption.is_empty() {
        let _ = writeln!(out, "{}\n", escape(caption));
    }
    write_row(&mut out, table.columns.iter().map(|column| escape(&column.name)));
    for column in &table.columns {
        let right =
            matches!(column.kind, ColumnKind::Number | ColumnKind::Main | ColumnKind::LongNumber);
        out.push_str(if right || column.kind == ColumnKind::Verdict { "|--:" } else { "|---" });
    }
    out.push_str("|\n");
    for line in &table.rows {
        write_row(&mut out, line.cells.iter().map(write_cell));
    }
    out + &table.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", escape(note)))
}

fn write_cell(cell: &ReportCell) -> String {
    let marks = cell.marks.iter().map(|mark| mark.text);
    let more: Vec<&str> = cell.aside.as_deref().into_iter().chain(marks).collect();
    match more.as_slice() {
        [] => escape(&cell.text),
        more => escape(&format!("{} ({})", cell.text, more.join(", "))),
    }
}

fn write_row(out: &mut String, cells: impl Iterator<Item = String>) {
    for cell in cells {
        let _ = write!(out, "| {cell} ");
    }
    out.push_str("|\n");
}

fn write_finding(finding: &Finding) -> String {
    let again = finding.again.as_ref();
    let again = again.map_or(String::new(), |it| format!("\n  Again:\n\n{}\n\n", fence_code(it)));
    format!("- **{}**: {}\n{again}", escape(&finding.of), escape(&finding.text))
}

/// Escapes markup, HTML, entities, formulas, and addresses, which would become links or fetched
/// images.
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

/// The fence is longer than any in the text.
fn fence_code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
