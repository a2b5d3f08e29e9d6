//! A panel as a table for a terminal and Markdown: a row for each line, a column for each level.

use bakeoff_analysis::RatioBound;

use super::list_figures;
use crate::block::sweep::{LeaderLabel, LinePanel, LinePoint, LineSource, SweepLine, SweepUnit};
use crate::block::{ColumnKind, ReportColumn, ReportRow, ReportTable};
use crate::figures::NONE;
use crate::verdict::{self, HELD_BACK};
use crate::words;

/// Explained only where they occur.
const SIGNS: [(&str, &str); 4] =
    [("*", "fastest"), ("~", "undecided"), ("×", "set aside"), (words::OVER, "at least")];

impl LinePanel {
    pub(crate) fn table(&self) -> ReportTable {
        let all: Vec<usize> = (0..self.ticks.len()).collect();
        self.table_of(&all)
    }

    pub(crate) fn table_of(&self, levels: &[usize]) -> ReportTable {
        let unit = self.unit();
        let row = |(number, line): (usize, &SweepLine)| {
            let figures = levels.iter().map(|at| self.cell(number, *at, unit));
            let against = (!self.against.is_empty()).then(|| line.against.clone());
            ReportRow::from_cells(std::iter::once(self.name(line)).chain(figures).chain(against))
        };
        let shown = self.lines.iter().enumerate().filter(|(_, line)| !line.pale);
        let rows: Vec<ReportRow> = shown.map(row).collect();
        let name = ReportColumn::new(ColumnKind::Name, words::name_axis(&self.factor));
        let figures = levels
            .iter()
            .map(|at| ReportColumn::new(ColumnKind::Number, self.ticks[*at].name.clone()));
        let against = Some(&self.against).filter(|against| !against.is_empty());
        let against = against.map(|against| ReportColumn::new(ColumnKind::Text, against.clone()));
        let note = self.note(&rows, levels);
        ReportTable {
            caption: self.heading().into(),
            columns: std::iter::once(name).chain(figures).chain(against).collect(),
            rows,
            note: Some(note).filter(|note| !note.is_empty()),
            ..ReportTable::default()
        }
    }

    /// By importance: the ends, levels where another becomes fastest, then the others.
    pub(crate) fn by_weight(&self) -> Vec<usize> {
        let all = 0..self.ticks.len();
        let turns = |at: &usize| self.fastest.iter().any(|row| has_turned(&row.signs[..=*at]));
        let ends = [0, self.ticks.len().saturating_sub(1)];
        let mut levels = Vec::new();
        for at in ends.into_iter().chain(all.clone().filter(turns)).chain(all) {
            if !levels.contains(&at) {
                levels.push(at);
            }
        }
        levels
    }

    fn heading(&self) -> String {
        let unit = match (&self.amount, self.unit()) {
            (SweepUnit::Seconds, Some((_, unit))) => format!("{unit}, "),
            _ => String::new(),
        };
        let caption =
            if self.caption.is_empty() { String::new() } else { format!("{}: ", self.caption) };
        format!("{caption}{unit}{}", self.title)
    }

    /// `None` where each figure has its own unit.
    fn unit(&self) -> Option<(f64, &'static str)> {
        let most = list_figures(self).fold(0.0, f64::max);
        let least = list_figures(self).fold(f64::INFINITY, f64::min);
        (self.amount == SweepUnit::Seconds && most > 0.0 && most / least < 1e4)
            .then(|| words::second_unit(most))
    }

    fn name(&self, line: &SweepLine) -> String {
        let both = self.lines.iter().any(|it| it.source == LineSource::Published);
        match (both, line.source) {
            (false, _) | (true, LineSource::Modelled) => line.name.clone(),
            (true, LineSource::Ours) => format!("{}, ours", line.name),
            (true, LineSource::Published) => format!("{}, published", line.name),
        }
    }

    fn cell(&self, number: usize, at: usize, unit: Option<(f64, &'static str)>) -> String {
        let line = &self.lines[number];
        let text = |value: f64| match unit {
            Some((scale, _)) => words::format_digits(value * scale),
            None => self.amount.text(value),
        };
        match &line.points[at] {
            LinePoint::NotRun => NONE.into(),
            LinePoint::SetAside(Some(value), _) => format!("×{}", text(*value)),
            LinePoint::SetAside(None, _) => "×".into(),
            LinePoint::Known(value) if line.source == LineSource::Published => {
                line.format_value(&self.amount, value)
            }
            LinePoint::Known(value) => {
                let bound = match value.is {
                    RatioBound::Exact => "",
                    RatioBound::AtLeast => words::OVER,
                    RatioBound::AtMost => "< ",
                };
                format!("{}{bound}{}", self.sign(number, at), text(value.value))
            }
        }
    }

    fn sign(&self, number: usize, at: usize) -> &'static str {
        let SweepLine { name, source, .. } = &self.lines[number];
        if *source != LineSource::Ours {
            return "";
        }
        let alone = self.fastest.len() > 1;
        let row = if alone { self.fastest.get(number) } else { self.fastest.first() };
        match row.and_then(|row| row.signs.get(at)) {
            Some(LeaderLabel::Known(fastest, _)) if alone || fastest == name => "*",
            Some(LeaderLabel::TooClose(names)) if alone || names.contains(name) => "~",
            _ => "",
        }
    }

    /// Explains signs that occur, levels without a known fastest, and how many levels are left out.
    fn note(&self, rows: &[ReportRow], levels: &[usize]) -> String {
        let texts = || rows.iter().flat_map(|row| &row.cells[1..]);
        let occurs = |sign: &str| texts().any(|cell| cell.text.starts_with(sign.trim()));
        let bound =
            |sign: &str| sign == words::OVER && texts().any(|cell| cell.text.contains(sign));
        let signs = SIGNS.iter().filter(|(sign, _)| occurs(sign) || bound(sign));
        let mut parts: Vec<String> =
            signs.map(|(sign, word)| format!("{} {word}", sign.trim())).collect();
        if levels.len() < self.ticks.len() {
            parts.push(format!("{} of {} levels", levels.len(), self.ticks.len()));
        }
        let told = Some(parts.join(", ")).filter(|told| !told.is_empty());
        let is_marked = texts().any(|cell| cell.text.ends_with(HELD_BACK));
        let marks = is_marked.then(|| verdict::explain_mark(None));
        told.into_iter()
            .chain(self.unknown_levels(levels))
            .chain(marks)
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn unknown_levels<'p>(&'p self, levels: &'p [usize]) -> impl Iterator<Item = String> + 'p {
        self.fastest.iter().filter_map(|row| {
            let open = levels
                .iter()
                .filter(|at| matches!(row.signs.get(**at), Some(LeaderLabel::Unknown)));
            let open = open.map(|at| words::phrase_level(&self.factor, &self.ticks[*at].name));
            let open: Vec<String> = open.collect();
            let whose =
                if self.fastest.len() > 1 { format!("{}: ", row.name) } else { String::new() };
            let with = words::join_list(&open);
            (!open.is_empty()).then(|| format!("{whose}can’t tell which is fastest with {with}"))
        })
    }
}

/// Whether the last level has another fastest than the last known one before.
fn has_turned(signs: &[LeaderLabel]) -> bool {
    let known = |sign: &LeaderLabel| match sign {
        LeaderLabel::Known(name, _) => Some(name.clone()),
        _ => None,
    };
    let Some((last, before)) = signs.split_last() else { return false };
    let before = before.iter().rev().find_map(known);
    before.is_some() && known(last).is_some() && known(last) != before
}
