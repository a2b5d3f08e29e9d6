//! The run in a terminal: the first screen last and its verdict at the very end, where the eye is.

mod brief;
mod strips;
mod sweep;
mod table;
mod timeline;

use bakeoff_analysis::Document;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{Answered, Finding, Headline, NextStep, ReportBlock, Tone};
use crate::disk;
use crate::section::{SectionKind, SectionPart};
use crate::sections::SECTIONS;
use crate::{Options, Result};

pub use brief::write as write_brief;

/// Leaves out blocks that a terminal has no room for.
pub fn write(document: &Document, options: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document).with_present(&options.present);
    let lines = TerminalWriter::from_options(options);
    let title = lines.paint.bold(&fill(&document.run.run.title, lines.width));
    let on =
        disk::describe_disks(document).map_or_else(String::new, |on| fill(&on, lines.width) + "\n");
    let mut out = format!("{title}\n{on}");
    let [first, rest @ ..] = &SECTIONS;
    let is_search = document.run.run.limit.is_some();
    for section in rest {
        match section.kind {
            SectionKind::Background => continue,
            SectionKind::OfCells if is_search => continue,
            _ => out.extend(section.build_parts(&layout).iter().map(|part| lines.write_part(part))),
        }
    }
    for mut part in first.build_parts(&layout) {
        part.blocks.sort_by_key(|block| matches!(block, ReportBlock::Headline(_)));
        out += &lines.write_part(&part);
    }
    Ok(out)
}

const TEXT_WIDTH: usize = 80;

pub fn write_text(document: &Document, options: &Options) -> Result<String> {
    write(document, &plain_options(options))
}

pub(crate) fn plain_options(options: &Options) -> Options {
    Options { color: false, width: options.width.min(TEXT_WIDTH), ..options.clone() }
}

pub(crate) fn of_blocks(title: &str, blocks: Vec<ReportBlock>, options: &Options) -> String {
    let lines = TerminalWriter::from_options(options);
    let part = SectionPart { name: None, link: "", title: String::new(), blocks };
    format!("{}{}", lines.write_heading(title), lines.write_part(&part))
}

struct TerminalWriter {
    paint: Paint,
    width: usize,
    unicode: bool,
}

impl TerminalWriter {
    fn from_options(options: &Options) -> Self {
        let Options { color, unicode, .. } = *options;
        Self { paint: Paint(color), width: options.width.max(40), unicode }
    }

    fn write_part(&self, part: &SectionPart<'_>) -> String {
        let text: String = part.blocks.iter().map(|block| self.write_block(block)).collect();
        if text.is_empty() {
            return text;
        }
        format!("\n{}{text}", self.write_heading(&part.title))
    }

    fn write_heading(&self, title: &str) -> String {
        if title.is_empty() {
            return String::new();
        }
        format!("{}\n", self.paint.bold(&self.fill(title)))
    }

    fn write_block(&self, block: &ReportBlock) -> String {
        match block {
            ReportBlock::Heading(title) => format!("\n{}", self.write_heading(title)),
            ReportBlock::Headline(headline) => self.write_headline(headline),
            ReportBlock::Answers(answers) => {
                answers.iter().filter(|it| !it.page_alone).map(|it| self.write_answer(it)).collect()
            }
            ReportBlock::Next(next) => self.write_next_step(next),
            ReportBlock::Strips(of) => self.write_strips(of),
            ReportBlock::Note(words) => format!("{}\n", self.fill(&words.text())),
            ReportBlock::Facts(facts) => {
                let line = |(name, fact): &(String, String)| self.fill(&format!("{name}: {fact}"));
                facts.iter().map(|fact| line(fact) + "\n").collect()
            }
            ReportBlock::Warnings(warnings) => {
                let lines = warnings.iter().map(|it| self.fill(&format!("warning: {it}")));
                lines.map(|line| format!("{}\n", self.paint.with_tone(Tone::Open, &line))).collect()
            }
            ReportBlock::Table(table) => {
                self.write_table(table.compact.as_deref().unwrap_or(table))
            }
            ReportBlock::Timelines(of) => self.write_timelines(of),
            ReportBlock::Sweeps(of) => self.write_sweeps(of),
            ReportBlock::Findings(findings) => {
                findings.iter().map(|it| self.write_finding(it)).collect()
            }
            ReportBlock::Command(command) => format!("  {command}\n"),
            ReportBlock::Link(link) => format!("{}: {}\n", link.text, link.path),
            ReportBlock::Lead(_)
            | ReportBlock::Prose(_)
            | ReportBlock::Charts(_)
            | ReportBlock::Heats(_)
            | ReportBlock::Folded(_) => String::new(),
        }
    }

    fn write_headline(&self, headline: &Headline) -> String {
        let line = |text: &str, tone| match text {
            "" => String::new(),
            text => {
                format!("\n{}\n", self.paint.bold(&self.paint.with_tone(tone, &self.fill(text))))
            }
        };
        let broken = line(&headline.broken, Tone::Bad);
        let sentences = headline.sentences.iter().map(|it| line(&it.text(), Tone::Plain));
        let rest = match headline.rest.as_str() {
            "" => String::new(),
            rest => format!("\n{}\n", self.fill(rest)),
        };
        let sure = headline.confidence.as_ref().map_or(String::new(), |it| {
            let tone = if it.rank == 1 { Tone::Open } else { Tone::Plain };
            format!(
                "{}\n",
                self.paint.with_tone(tone, &self.fill(&format!("{}: {}", it.word, it.text)))
            )
        });
        let sure = if sure.is_empty() { sure } else { format!("\n{sure}") };
        let on = match headline.on.as_str() {
            "" => String::new(),
            on => format!("\n{}\n", self.fill(on)),
        };
        // The last line is read first.
        format!("{broken}{sure}{rest}{on}{}", sentences.collect::<String>())
    }

    fn write_next_step(&self, next: &NextStep) -> String {
        let command = next.command.iter().map(|command| self.write_command(command));
        format!("\n{}\n{}", self.fill(&format!("Next: {}", next.text)), command.collect::<String>())
    }

    fn write_answer(&self, answered: &Answered) -> String {
        let mut lines = answered.lines.iter().map(|line| self.fill(&line.text()) + "\n");
        let first = lines.next();
        let command = answered.command.iter().map(|command| self.write_command(command));
        let note = answered.note.iter().map(|note| self.fill(note) + "\n");
        let heading = self.write_heading(&answered.question);
        let all = first.into_iter().chain(command).chain(lines).chain(note);
        format!("\n{heading}{}", all.collect::<String>())
    }

    /// A wide command is broken before flags, so that a shell takes the lines for one.
    fn write_command(&self, command: &str) -> String {
        let (mut out, mut used) = ("  ".to_owned(), 2);
        for (number, part) in command.split(" --").enumerate() {
            let part = if number == 0 { part.to_owned() } else { format!(" --{part}") };
            let length = part.chars().count();
            // Leave room for the continuation sign.
            if number > 0 && used + length + 2 > self.width {
                out += " \\\n   ";
                used = 3;
            }
            out += &part;
            used += length;
        }
        out + "\n"
    }

    fn write_finding(&self, finding: &Finding) -> String {
        let text = self.fill(&format!("{}: {}", finding.of, finding.text));
        let again = finding.again.iter().map(|command| format!("  again: {command}\n"));
        let lines = format!("{text}\n{}", again.collect::<String>());
        if finding.bad { self.paint.with_tone(Tone::Bad, &lines) } else { lines }
    }

    fn fill(&self, text: &str) -> String {
        fill(text, self.width)
    }
}

fn fill(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.join("\n")
}

struct Paint(bool);

impl Paint {
    fn with_code(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn bold(&self, text: &str) -> String {
        self.with_code("1", text)
    }

    fn with_tone(&self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Plain => text.into(),
            Tone::Good => self.with_code("32", text),
            Tone::Bad => self.with_code("31", text),
            Tone::Open => self.with_code("33", text),
        }
    }
}
