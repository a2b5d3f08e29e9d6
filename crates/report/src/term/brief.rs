//! The answer of a run in 25 lines at most: the question, on what, a chart, the verdict, how sure,
//! what could mislead, and what to type next.

use bakeoff_analysis::{Document, Weight};
use bakeoff_results::OwnFactor;

use super::{TerminalWriter, fill};
use crate::block::{Answered, Headline, ReportBlock, StripGroup, Strips, Tone};
use crate::confidence::{Confidence, ConfidenceGrade};
use crate::layout::CLOSED;
use crate::sections::SECTIONS;
use crate::verdict::{self, LeaderOutcome};
use crate::{DocumentLayout, Options, Result, disk, warning_names, words};

/// The command adds one with the report's path.
const LINES: usize = 24;
/// At most so many lines of each part; the chart has what is left.
const TITLE: usize = 2;
const ON: usize = 3;
const BROKEN: usize = 2;
const SENTENCES: usize = 7;
const SURE: usize = 2;
const REST: usize = 3;
const MISLEADING: usize = 2;
const NEXT: usize = 3;
/// How many warnings are named.
const WARNINGS: usize = 2;
/// Factors that an answer without is no answer.
const TOLD: [OwnFactor; 5] = [
    OwnFactor::Durability,
    OwnFactor::Memory,
    OwnFactor::Clients,
    OwnFactor::Rate,
    OwnFactor::Neighbours,
];

pub fn write(document: &Document, options: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document).with_present(&options.present);
    let lines = TerminalWriter::from_options(options);
    let mut parts = BriefParts::default();
    let blocks = SECTIONS[0].build_parts(&layout).into_iter().flat_map(|part| part.blocks);
    for block in blocks {
        match block {
            ReportBlock::Headline(headline) => parts.headline = headline,
            ReportBlock::Strips(strips) => parts.strips = Some(strips),
            ReportBlock::Answers(answers) => parts.answers = answers,
            _ => {}
        }
    }
    Ok(lines.write_brief(&layout, &parts))
}

#[derive(Default)]
struct BriefParts {
    headline: Headline,
    strips: Option<Strips>,
    answers: Vec<Answered>,
}

impl TerminalWriter {
    fn write_brief(&self, layout: &DocumentLayout<'_>, parts: &BriefParts) -> String {
        let document = layout.document;
        let title = self.clip(&document.run.run.title, TITLE).into_iter();
        let mut above: Vec<String> = title.map(|line| self.paint.bold(&line)).collect();
        above.extend(self.clip(&describe_terms(document), ON));
        let below = self.write_verdict(layout, parts);
        let room = LINES.saturating_sub(above.len() + below.len() + 1);
        let chart = parts.strips.as_ref().map_or_else(Vec::new, |of| self.fit_charts(of, room));
        let all = above.into_iter().chain(chart).chain([String::new()]).chain(below);
        all.take(LINES).map(|line| line + "\n").collect()
    }

    fn write_verdict(&self, layout: &DocumentLayout<'_>, parts: &BriefParts) -> Vec<String> {
        let Headline { broken, sentences, rest, confidence, .. } = &parts.headline;
        let painted = |text: &str, most, tone| {
            let lines = self.clip(text, most).into_iter();
            lines.map(move |line| self.paint.bold(&self.paint.with_tone(tone, &line)))
        };
        let mut lines: Vec<String> = painted(broken, BROKEN, Tone::Bad).collect();
        let mut left = SENTENCES;
        for (number, sentence) in sentences.iter().enumerate() {
            let filled: Vec<String> = painted(&sentence.text(), left, Tone::Plain).collect();
            left -= filled.len();
            lines.extend(filled);
            if left == 0 && number + 1 < sentences.len() {
                let more = words::count_nouns(sentences.len() - number - 1, "more answer");
                lines.extend(self.clip(&format!("And {more}: --full"), 1));
                break;
            }
        }
        if let Some(badge) = confidence {
            let sure = self.clip(&format!("{}: {}", badge.word, badge.text), SURE).into_iter();
            let tone = if badge.rank == 1 { Tone::Open } else { Tone::Plain };
            lines.extend(sure.map(|line| self.paint.with_tone(tone, &line)));
        }
        lines.extend(self.clip(rest, REST));
        lines.extend(
            describe_misleading(layout.document)
                .map_or_else(Vec::new, |text| self.clip(&text, MISLEADING)),
        );
        lines.extend(self.write_next(layout, &parts.answers));
        lines
    }

    /// What to do next, and where the rest is.
    fn write_next(&self, layout: &DocumentLayout<'_>, answers: &[Answered]) -> Vec<String> {
        let version = &layout.document.run.run.version;
        let rest = format!("More: the same with --full. Measured by bakeoff {version}");
        let command = answers.iter().find_map(|it| it.command.as_ref());
        let mut lines = match command {
            Some(command) => {
                let command = self.write_command(command);
                let command = command.lines().take(NEXT).map(|line| self.cut_width(line));
                std::iter::once("To decide it:".to_owned()).chain(command).collect()
            }
            None => self.clip(&suggest_choice(layout).unwrap_or_default(), 1),
        };
        lines.extend(self.clip(&rest, NEXT));
        lines
    }

    /// The text in so many lines at most; what is left out ends in "…".
    fn clip(&self, text: &str, most: usize) -> Vec<String> {
        if text.is_empty() || most == 0 {
            return Vec::new();
        }
        let filled = fill(text, self.width);
        let mut lines: Vec<String> = filled.lines().map(|line| self.cut_width(line)).collect();
        if lines.len() > most {
            lines.truncate(most);
            let last = lines.last_mut().expect("one at least");
            let short: String = last.chars().take(self.width.saturating_sub(2)).collect();
            *last = format!("{} {}", short.trim_end(), if self.unicode { "…" } else { "." });
        }
        lines
    }

    /// A word wider than the terminal is cut.
    fn cut_width(&self, line: &str) -> String {
        line.chars().take(self.width).collect()
    }

    /// As many operations and promises of the chart as have room, the first ones first.
    fn fit_charts(&self, of: &Strips, room: usize) -> Vec<String> {
        for heads in (1..=of.heads.len()).rev() {
            let lines = self.write_groups(of, heads).concat();
            if lines.len() <= room {
                return lines;
            }
        }
        let groups = self.write_groups(of, 1);
        let mut lines = Vec::new();
        for group in &groups {
            if lines.len() + group.len() >= room {
                break;
            }
            lines.extend(group.iter().cloned());
        }
        if lines.is_empty() {
            // Too many levels: the fastest ones. A line or two would say nothing.
            let most = if room < 4 { 0 } else { room - 1 };
            lines = groups
                .first()
                .map_or_else(Vec::new, |group| group.iter().take(most).cloned().collect());
        }
        if !lines.is_empty() {
            lines.extend(self.clip("More of it: --full", 1));
        }
        lines
    }

    /// The lines of each promise. A single operation is named once, above the first.
    fn write_groups(&self, of: &Strips, heads: usize) -> Vec<Vec<String>> {
        let group = |(number, group): (usize, &StripGroup)| {
            let named = heads > 1 || number == 0;
            let title = self.clip(&group.title, 1).into_iter().map(|line| self.paint.bold(&line));
            let mut lines: Vec<String> = title.collect();
            for (at, head) in of.heads.iter().take(heads).enumerate() {
                let chart = self.write_chart(head, at, group);
                let skipped = if named { 0 } else { self.write_head(head).lines().count() };
                lines.extend(chart.lines().skip(skipped).map(str::to_owned));
            }
            lines
        };
        of.groups.iter().enumerate().map(group).collect()
    }
}

/// The disk, and the levels that all trials share.
fn describe_terms(document: &Document) -> String {
    let run = &document.run.run;
    let told = TOLD.iter().filter_map(|factor| {
        let (name, levels) = run.factors.iter().find(|(name, _)| name == factor.as_str())?;
        match levels.as_slice() {
            [level] if (name.as_str(), level.as_str()) == CLOSED => None,
            [level] if *factor == OwnFactor::Neighbours && level == "0" => None,
            [level] => Some(words::phrase_level(name, level)),
            _ => None,
        }
    });
    let told = words::capitalize(&told.collect::<Vec<_>>().join(", "));
    let told = if told.is_empty() { told } else { format!("{told}.") };
    let on = disk::name_disks(document);
    [on, told].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn describe_misleading(document: &Document) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let mut serious: Vec<_> =
        document.warnings.iter().filter(|it| it.kind.weight() != Weight::Notes).collect();
    serious.sort_by_key(|it| it.kind.weight() != Weight::Voids);
    for warning in serious {
        let name = warning_names::name_kind(warning.kind).to_lowercase();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(WARNINGS);
    names.truncate(WARNINGS);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    (!names.is_empty()).then(|| format!("What could mislead: {}{more}.", names.join("; ")))
}

/// What to do with the answer, where that is sure.
fn suggest_choice(layout: &DocumentLayout<'_>) -> Option<String> {
    let cases = verdict::find_cases(layout);
    let is_sure =
        Confidence::from_cases(layout, &cases).is_some_and(|it| it.level != ConfidenceGrade::Low);
    let mut leaders: Vec<&str> = cases.iter().map(|case| case.leader).collect();
    leaders.dedup();
    let is_won = cases.iter().all(|case| case.outcome == LeaderOutcome::Won);
    let [only] = leaders.as_slice() else { return None };
    (is_sure && is_won)
        .then(|| format!("Next: choose {}.", words::name_contender(layout.compare, only)))
}
