//! The answer of a run in 25 lines at most: the question, on what, a chart, the verdict, how sure,
//! what could mislead, and what to type next.

use bakeoff_analysis::layout::CLOSED;
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Document, Weight};
use bakeoff_results::OwnFactor;

use super::{TerminalWriter, fill};
use crate::block::{
    ColumnKind, Headline, Heat, HeatCell, HeatRow, Heats, NextStep, ReportBlock, ReportCell,
    ReportColumn, ReportRow, ReportTable, StripGroup, Strips, Sweeps, Tone,
};
use crate::figures::NONE;
use crate::sections::SECTIONS;
use crate::{Options, Result, disk, warning_names, words};

/// The command adds one with the report's path.
const LINES: usize = 24;
/// At most so many lines of each part; the chart has what is left.
const TITLE: usize = 2;
const ON: usize = 3;
const BROKEN: usize = 2;
const SENTENCES: usize = 7;
/// Where the chart is cut.
const CUT: &str = "(There is more in the report.)";
/// Where a table has no room otherwise.
const FEW_SENTENCES: usize = 4;
const SURE: usize = 2;
const REST: usize = 3;
const LITTLE_REST: usize = 1;
const MISLEADING: usize = 2;
const NEXT: usize = 3;
/// How many warnings are named.
const WARNINGS: usize = 2;
/// Factors that an answer without is no answer.
const TOLD: [OwnFactor; 4] =
    [OwnFactor::Memory, OwnFactor::Clients, OwnFactor::Rate, OwnFactor::Neighbours];

pub fn write(document: &Document, options: &Options) -> Result<String> {
    let layout = DocumentLayout::new(document).with_present(&options.present);
    let lines = TerminalWriter::from_options(options);
    let mut parts = BriefParts::default();
    let blocks = SECTIONS[0].build_parts(&layout).into_iter().flat_map(|part| part.blocks);
    for block in blocks {
        match block {
            ReportBlock::Headline(headline) => parts.headline = headline,
            ReportBlock::Strips(strips) => parts.strips = Some(strips),
            ReportBlock::Sweeps(lines) => parts.lines = Some(lines),
            ReportBlock::Heats(ratios) => parts.ratios = Some(ratios),
            ReportBlock::Next(next) => parts.next = Some(next),
            _ => {}
        }
    }
    Ok(lines.write_brief(&layout, &parts))
}

#[derive(Default)]
struct BriefParts {
    headline: Headline,
    strips: Option<Strips>,
    lines: Option<Sweeps>,
    ratios: Option<Heats>,
    next: Option<NextStep>,
}

impl TerminalWriter {
    fn write_brief(&self, layout: &DocumentLayout<'_>, parts: &BriefParts) -> String {
        let document = layout.document;
        let title = self.clip(&document.run.run.title, TITLE).into_iter();
        let mut above: Vec<String> = title.map(|line| self.paint.bold(&line)).collect();
        above.extend(self.clip(&describe_terms(document), ON));
        let room = |below: &[String]| LINES.saturating_sub(above.len() + below.len() + 1);
        let mut below = self.write_verdict(layout, parts, (SENTENCES, REST));
        let tables = self.write_tables(parts);
        if self.count_least(parts, &tables) > room(&below) {
            below = self.write_verdict(layout, parts, (FEW_SENTENCES, LITTLE_REST));
        }
        let chart = self.fit_chart(parts, tables, room(&below));
        let all = above.into_iter().chain(chart).chain([String::new()]).chain(below);
        all.take(LINES).map(|line| line + "\n").collect()
    }

    /// `most`: lines of sentences, and of caveats.
    fn write_verdict(
        &self,
        layout: &DocumentLayout<'_>,
        parts: &BriefParts,
        most: (usize, usize),
    ) -> Vec<String> {
        let Headline { broken, sentences, rest, confidence, .. } = &parts.headline;
        let painted = |text: &str, most, tone| {
            let lines = self.clip(text, most).into_iter();
            lines.map(move |line| self.paint.bold(&self.paint.with_tone(tone, &line)))
        };
        let mut lines: Vec<String> = painted(broken, BROKEN, Tone::Bad).collect();
        let mut left = most.0;
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
        lines.extend(self.clip(rest, most.1));
        lines.extend(
            describe_misleading(layout.document)
                .map_or_else(Vec::new, |text| self.clip(&text, MISLEADING)),
        );
        lines.extend(self.write_next(layout, parts.next.as_ref()));
        lines
    }

    /// What to do next, and where the rest is.
    fn write_next(&self, layout: &DocumentLayout<'_>, next: Option<&NextStep>) -> Vec<String> {
        let version = &layout.document.run.run.version;
        let rest = format!("More: the same with --full. Measured by bakeoff {version}");
        let mut lines = Vec::new();
        if let Some(NextStep { text, command }) = next {
            lines.extend(self.clip(&format!("Next: {text}"), NEXT));
            let command = command.as_ref().map(|command| self.write_command(command));
            let command = command.iter().flat_map(|command| command.lines().take(NEXT));
            lines.extend(command.map(|line| self.cut_width(line)));
        }
        lines.extend(self.clip(&rest, NEXT));
        lines
    }

    /// Tables of the lines over a number, or of the ratios of many conditions.
    fn write_tables(&self, parts: &BriefParts) -> Vec<String> {
        let lines = parts.lines.iter().flat_map(|lines| &lines.charts);
        let lines = lines.map(|it| self.write_table(&self.that_fits(&it.panel)));
        let ratios = parts.ratios.iter().flat_map(|ratios| &ratios.maps);
        lines.chain(ratios.map(|map| self.write_table(&build_ratio_table(map)))).collect()
    }

    /// Lines of the smallest chart that says something: the first table, or the first promise.
    fn count_least(&self, parts: &BriefParts, tables: &[String]) -> usize {
        let table = tables.first().map(|table| table.lines().count());
        let group = parts.strips.as_ref().map(|of| self.write_groups(of, 1));
        let group = group.and_then(|groups| Some(groups.first()?.len()));
        table.or(group).unwrap_or(0)
    }

    fn fit_chart(&self, parts: &BriefParts, tables: Vec<String>, room: usize) -> Vec<String> {
        match &parts.strips {
            _ if !tables.is_empty() => self.fit_tables(tables, room),
            Some(strips) => self.fit_charts(strips, room),
            None => Vec::new(),
        }
    }

    /// As many tables as have room, and of the first as many lines.
    fn fit_tables(&self, tables: Vec<String>, room: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for table in tables {
            let table: Vec<&str> = table.lines().collect();
            if lines.is_empty() || lines.len() + table.len() < room {
                lines.extend(table.into_iter().map(|line| self.cut_width(line)));
            } else {
                lines.truncate(room.saturating_sub(1));
                lines.extend(self.clip(CUT, 1));
                return lines;
            }
        }
        if lines.len() > room {
            // A line or two of a table say nothing.
            lines.truncate(if room < 4 { 0 } else { room - 1 });
            lines.extend(self.clip(CUT, 1));
        }
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
            lines.extend(self.clip(CUT, 1));
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

/// Ratios to the fastest of each condition.
fn build_ratio_table(map: &Heat) -> ReportTable {
    let name = ReportColumn::new(ColumnKind::Name, &map.caption);
    let levels = map.columns.iter().map(|level| ReportColumn::new(ColumnKind::Number, &level.text));
    let cell = |cell: &Option<HeatCell>| match cell {
        None => ReportCell::from(NONE),
        Some(cell) if cell.best || cell.open => ReportCell::from(&cell.times),
        Some(cell) => ReportCell::from(&cell.text),
    };
    let row = |row: &HeatRow| {
        let cells = row.cells.iter().map(cell);
        ReportRow::from_cells(std::iter::once(ReportCell::from(&row.name)).chain(cells))
    };
    ReportTable {
        columns: std::iter::once(name).chain(levels).collect(),
        rows: map.rows.iter().map(row).collect(),
        ..ReportTable::default()
    }
}
