//! The run in a terminal: the first screen last and its verdict at the very end, where the eye is.

mod strips;
mod sweep;
mod table;
mod timeline;

use bakeoff_analysis::Document;

use crate::block::{Answered, Finding, Headline, ReportBlock, Tone};
use crate::disk;
use crate::section::{self, SectionPart};
use crate::{DocumentLayout, Exporter, Options, Result, Section};

/// Lines of at most [`Options::width`] columns, without what a terminal has no room for.
pub struct Terminal;

impl Exporter for Terminal {
    fn name(&self) -> &'static str {
        "term"
    }

    fn about(&self) -> &'static str {
        "Tables for the terminal"
    }

    fn endings(&self) -> &[&'static str] {
        &["term"]
    }

    fn write(
        &self,
        document: &Document,
        sections: &[Box<dyn Section>],
        options: &Options,
    ) -> Result<String> {
        let layout = DocumentLayout::new(document).with_present(&options.present);
        let lines = TerminalWriter::from_options(options);
        let title = lines.paint.bold(&fill(&document.run.run.title, lines.width));
        let on = disk::line(document).map_or_else(String::new, |on| fill(&on, lines.width) + "\n");
        let mut out = format!("{title}\n{on}");
        let Some((first, rest)) = sections.split_first() else { return Ok(out) };
        let is_search = document.run.run.limit.is_some();
        for section in rest.iter().map(Box::as_ref) {
            if section.is_background() || is_search && section.is_of_cells() {
                continue;
            }
            let parts = section::parts(section, &layout);
            out += &parts.iter().map(|part| lines.part(part)).collect::<String>();
        }
        for mut part in section::parts(first.as_ref(), &layout) {
            part.blocks.sort_by_key(|block| matches!(block, ReportBlock::Headline(_)));
            out += &lines.part(&part);
        }
        Ok(out)
    }
}

/// The columns of a report that is plain text.
const TEXT_WIDTH: usize = 80;

/// What a terminal shows, as text for a file or a mail.
pub struct TerminalText;

impl Exporter for TerminalText {
    fn name(&self) -> &'static str {
        "text"
    }

    fn about(&self) -> &'static str {
        "What the terminal shows, without colours and at most 80 columns wide"
    }

    fn endings(&self) -> &[&'static str] {
        &["txt", "text"]
    }

    fn write(
        &self,
        document: &Document,
        sections: &[Box<dyn Section>],
        options: &Options,
    ) -> Result<String> {
        Terminal.write(document, sections, &plain(options))
    }
}

/// How plain text is written.
pub(crate) fn plain(options: &Options) -> Options {
    Options { color: false, width: options.width.min(TEXT_WIDTH), ..options.clone() }
}

/// A title, and blocks under it.
pub(crate) fn of_blocks(title: &str, blocks: Vec<ReportBlock>, options: &Options) -> String {
    let lines = TerminalWriter::from_options(options);
    let part = SectionPart { name: None, link: "", title: String::new(), blocks };
    format!("{}{}", lines.heading(title), lines.part(&part))
}

/// Writes blocks as lines.
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

    /// Blocks under their heading; nothing where there is room for none.
    fn part(&self, part: &SectionPart<'_>) -> String {
        let text: String = part.blocks.iter().map(|block| self.block(block)).collect();
        if text.is_empty() {
            return text;
        }
        format!("\n{}{text}", self.heading(&part.title))
    }

    fn heading(&self, title: &str) -> String {
        if title.is_empty() {
            return String::new();
        }
        format!("{}\n", self.paint.bold(&self.fill(title)))
    }

    fn block(&self, block: &ReportBlock) -> String {
        match block {
            ReportBlock::Heading(title) => format!("\n{}", self.heading(title)),
            ReportBlock::Headline(headline) => self.headline(headline),
            ReportBlock::Answers(answers) => {
                answers.iter().filter(|it| !it.page_alone).map(|it| self.answered(it)).collect()
            }
            ReportBlock::Strips(of) => self.strips(of),
            ReportBlock::Note(words) => format!("{}\n", self.fill(&words.text())),
            ReportBlock::Facts(facts) => {
                let line = |(name, fact): &(String, String)| self.fill(&format!("{name}: {fact}"));
                facts.iter().map(|fact| line(fact) + "\n").collect()
            }
            ReportBlock::Warnings(warnings) => {
                let lines = warnings.iter().map(|it| self.fill(&format!("warning: {it}")));
                lines.map(|line| format!("{}\n", self.paint.tone(Tone::Open, &line))).collect()
            }
            ReportBlock::Table(table) => self.table(table.compact.as_deref().unwrap_or(table)),
            ReportBlock::Timelines(of) => self.timelines(of),
            ReportBlock::Sweeps(of) => self.sweeps(of),
            ReportBlock::Findings(findings) => findings.iter().map(|it| self.finding(it)).collect(),
            ReportBlock::Command(command) => format!("  {command}\n"),
            ReportBlock::Link(link) => format!("{}: {}\n", link.text, link.path),
            ReportBlock::Lead(_)
            | ReportBlock::Prose(_)
            | ReportBlock::Charts(_)
            | ReportBlock::Heats(_)
            | ReportBlock::Folded(_) => String::new(),
        }
    }

    fn headline(&self, headline: &Headline) -> String {
        let line = |text: &str, tone| match text {
            "" => String::new(),
            text => format!("\n{}\n", self.paint.bold(&self.paint.tone(tone, &self.fill(text)))),
        };
        let broken = line(&headline.broken, Tone::Bad);
        let sentences = headline.sentences.iter().map(|it| line(&it.text(), Tone::Plain));
        let rest = match headline.rest.as_str() {
            "" => String::new(),
            rest => format!("\n{}\n", self.fill(rest)),
        };
        let sure = headline.confidence.as_ref().map_or(String::new(), |it| {
            let tone = if it.rank == 1 { Tone::Open } else { Tone::Plain };
            format!("{}\n", self.paint.tone(tone, &self.fill(&format!("{}: {}", it.word, it.text))))
        });
        let sure = if sure.is_empty() { sure } else { format!("\n{sure}") };
        let on = match headline.on.as_str() {
            "" => String::new(),
            on => format!("\n{}\n", self.fill(on)),
        };
        // The last line is the first that is read.
        format!("{broken}{sure}{rest}{on}{}", sentences.collect::<String>())
    }

    /// A question, and its answer.
    fn answered(&self, answered: &Answered) -> String {
        let mut lines = answered.lines.iter().map(|line| self.fill(&line.text()) + "\n");
        let first = lines.next();
        let command = answered.command.iter().map(|command| self.command(command));
        let note = answered.note.iter().map(|note| self.fill(note) + "\n");
        let heading = self.heading(&answered.question);
        let all = first.into_iter().chain(command).chain(lines).chain(note);
        format!("\n{heading}{}", all.collect::<String>())
    }

    /// A command; where it is wider than the terminal, on lines that a shell takes for one, broken before flags.
    fn command(&self, command: &str) -> String {
        let (mut out, mut used) = ("  ".to_owned(), 2);
        for (number, part) in command.split(" --").enumerate() {
            let part = if number == 0 { part.to_owned() } else { format!(" --{part}") };
            let length = part.chars().count();
            // Room for the sign that the command goes on.
            if number > 0 && used + length + 2 > self.width {
                out += " \\\n   ";
                used = 3;
            }
            out += &part;
            used += length;
        }
        out + "\n"
    }

    fn finding(&self, finding: &Finding) -> String {
        let text = self.fill(&format!("{}: {}", finding.of, finding.text));
        let again = finding.again.iter().map(|command| format!("  again: {command}\n"));
        let lines = format!("{text}\n{}", again.collect::<String>());
        if finding.bad { self.paint.tone(Tone::Bad, &lines) } else { lines }
    }

    fn fill(&self, text: &str) -> String {
        fill(text, self.width)
    }
}

/// Text broken at spaces into lines of at most `width` characters.
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

/// Colours, if they are wanted.
struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn tone(&self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Plain => text.into(),
            Tone::Good => self.with("32", text),
            Tone::Bad => self.with("31", text),
            Tone::Open => self.with("33", text),
        }
    }
}
