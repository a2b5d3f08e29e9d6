//! The effect of each change from the present choice on operations and promises, and its cost.

use bakeoff_analysis::layout::{DocumentLayout, level_or_empty};
use bakeoff_analysis::{CellView, Contrast};
use bakeoff_results::{CellLevels, OwnFactor};

use crate::block::{
    ReportBlock, ReportCell, Strip, StripGroup, StripHead, StripRow, Strips, StyledText,
};
use crate::cell_tables;
use crate::changes::{self, ChangeStep, ChangeTarget, JudgedChanges};
use crate::chart::find_style;
use crate::durability;
use crate::strip::{self, StripAxis, StripContent};
use crate::words;
use crate::worst_losses::{Loss, Losses};

/// Operations beside each other, and changes below each other.
const OPERATIONS: usize = 3;
const SINGLE: usize = 16;
const DOUBLE: usize = 6;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let changes = JudgedChanges::from_layout(layout);
    // A search has closed loops alone, one of each.
    let is_search = layout.document.run.run.limit.is_some();
    let Some(present) = changes.present.filter(|_| !is_search) else { return Vec::new() };
    // The first chart shows the gain from the compared factor alone.
    let other = |target: &ChangeTarget| target.steps.iter().any(|it| it.factor != layout.compare);
    if !changes.targets.iter().any(other) {
        return Vec::new();
    }
    let Some(strips) = Ladder::from_changes(layout, &changes, present).strips() else {
        return Vec::new();
    };
    vec![
        ReportBlock::Note(explain_changes(&describe_present(layout, present))),
        ReportBlock::Strips(strips),
    ]
}

fn explain_changes(now: &str) -> StyledText {
    StyledText::from("From the present choice, ")
        .stressed(now)
        .plain(": what each change does to the time of an operation, and what it costs.")
}

/// "sqlite, strict durability".
fn describe_present(layout: &DocumentLayout<'_>, present: &CellView) -> String {
    let factors = layout.document.run.run.factors.iter().filter(|(_, levels)| levels.len() > 1);
    let now: Vec<String> = factors
        .map(|(factor, _)| words::phrase_level(factor, level_or_empty(&present.levels, factor)))
        .collect();
    now.join(", ")
}

struct Ladder<'b, 'a> {
    layout: &'b DocumentLayout<'a>,
    present: &'a CellView,
    operations: Vec<&'a str>,
    left_out: usize,
    losses: Losses<'a>,
    rows: Vec<ChangeRung<'b, 'a>>,
}

struct ChangeRung<'b, 'a> {
    target: &'b ChangeTarget<'a>,
    contrasts: Vec<Option<Contrast>>,
}

impl ChangeRung<'_, '_> {
    fn mean_slowdown(&self) -> f64 {
        let logs = || self.contrasts.iter().flatten().map(|it| it.ratio.ln());
        logs().sum::<f64>() / logs().count().max(1) as f64
    }
}

impl<'b, 'a> Ladder<'b, 'a> {
    fn from_changes(
        layout: &'b DocumentLayout<'a>,
        changes: &'b JudgedChanges<'a>,
        present: &'a CellView,
    ) -> Self {
        let has = |operation: &&'a str| {
            let mut cells = changes.targets.iter().map(|target| target.cell);
            cells.any(|cell| changes.find_contrast(present, cell, operation).is_some())
        };
        let mut operations: Vec<&str> = layout.operations().filter(has).collect();
        let left_out = operations.len().saturating_sub(OPERATIONS);
        operations.truncate(OPERATIONS);
        let rung = |target: &'b ChangeTarget<'a>| {
            let of = |operation: &&str| changes.find_contrast(present, target.cell, operation);
            ChangeRung { target, contrasts: operations.iter().map(of).collect() }
        };
        let rows = changes.targets.iter().map(rung);
        let mut rows: Vec<ChangeRung> =
            rows.filter(|it| it.contrasts.iter().any(Option::is_some)).collect();
        rows.sort_by(|one, other| one.mean_slowdown().total_cmp(&other.mean_slowdown()));
        let losses = Losses::from_document(layout.document);
        Self { layout, present, operations, left_out, losses, rows }
    }

    /// Changes of two steps, or of one; the same run again is among the latter.
    fn select_rungs(&self, double: bool) -> Vec<&ChangeRung<'b, 'a>> {
        let all = self.rows.iter().filter(|it| (it.target.steps.len() > 1) == double);
        all.take(if double { DOUBLE } else { SINGLE }).collect()
    }

    fn strips(&self) -> Option<Strips> {
        let shown = [self.select_rungs(false), self.select_rungs(true)];
        let contrasts = || shown.iter().flatten().flat_map(|it| it.contrasts.iter().flatten());
        let values: Vec<f64> = contrasts().map(|it| it.ratio).collect();
        if values.is_empty() {
            return None;
        }
        let ends = contrasts().flat_map(|it| [it.ends.0, it.ends.1]).flatten();
        let axis = StripAxis::of_ratios(&values, &ends.collect::<Vec<_>>(), self.find_band());
        let now = describe_present(self.layout, self.present);
        let head = |name: &&str| StripHead {
            name: (*name).to_owned(),
            unit: format!("against the present choice: {now}; left is faster, log scale"),
            axis: axis.svg(),
        };
        let left_out = self.rows.len() - shown.iter().map(Vec::len).sum::<usize>();
        let titles = ["One change", "Two changes at once"];
        let groups = titles.into_iter().zip(&shown).filter(|(_, rungs)| !rungs.is_empty());
        let groups = groups.map(|(title, rungs)| StripGroup {
            id: None,
            title: title.into(),
            tool: String::new(),
            rows: rungs.iter().map(|rung| self.row(rung, &axis)).collect(),
        });
        let groups: Vec<StripGroup> = groups.collect();
        Some(Strips {
            more: None,
            caption: "What each change does, and what it costs".into(),
            names: "change".into(),
            heads: self.operations.iter().map(head).collect(),
            columns: COLUMNS.map(str::to_owned).into(),
            legend: strip::legend_of_ratios(groups.iter().any(StripGroup::goes_beyond)),
            groups,
            terms: Vec::new(),
            notes: build_notes(left_out, self.left_out),
        })
    }

    /// Range of ratios of the same cell run again.
    fn find_band(&self) -> Option<(f64, f64)> {
        let again = self.rows.iter().find(|it| it.target.steps.is_empty())?;
        let ends = || again.contrasts.iter().flatten().map(|it| it.ends);
        let low = ends().filter_map(|(low, _)| low).reduce(f64::min)?;
        let high = ends().filter_map(|(_, high)| high).reduce(f64::max)?;
        Some((low.min(1.0 / high), high.max(1.0 / low)))
    }

    fn row(&self, rung: &ChangeRung<'_, 'a>, axis: &StripAxis) -> StripRow {
        let cell = rung.target.cell;
        let level = level_or_empty(&cell.levels, self.layout.compare);
        let level =
            self.layout.document.run.run.resolve_alias(self.layout.compare, level).unwrap_or(level);
        let style = find_style(self.layout, level);
        let contrasts = rung.contrasts.iter().zip(&self.operations);
        let name = name_change(&rung.target.steps, ", ");
        let strip = |(contrast, operation): (&Option<Contrast>, &&str)| {
            let drawn = match contrast {
                None => StripContent { style, label: "no pair".into(), ..StripContent::default() },
                Some(it) => StripContent {
                    style,
                    at: Some(axis.place(it.ratio)),
                    interval: it.ends.0.zip(it.ends.1).map(|ends| axis.interval(ends)),
                    label: changes::describe_change(*it),
                    ..StripContent::default()
                },
            };
            let said = format!("{name}, {operation}: {}", drawn.label);
            Strip::from_content(StripContent { said, ..drawn }, axis, 26.0)
        };
        let strips = contrasts.map(strip).collect();
        let cells = vec![
            self.describe_promise(cell),
            compare_figure(
                cell,
                self.present,
                |it| it.space_bytes.map(|it| it as f64),
                words::mean_bytes,
            ),
            compare_figure(cell, self.present, written_bytes, words::mean_bytes),
            compare_figure(cell, self.present, processor_seconds, words::format_seconds),
        ];
        // With little room, a line for each step.
        let name = self::name_change(&rung.target.steps, ",\n");
        let marks = cell_tables::mark_cached(
            self.layout,
            &[cell.levels.clone(), self.present.levels.clone()],
        );
        let name = ReportCell { style: Some(style), marks, ..name.into() };
        StripRow { name, strips, cells, against: Vec::new() }
    }

    fn describe_promise(&self, cell: &CellView) -> ReportCell {
        let level = level_or_empty(&cell.levels, OwnFactor::Durability.as_str());
        if level.is_empty() || self.present.levels.is_at(OwnFactor::Durability, level) {
            return "the same".into();
        }
        let engine = level_or_empty(&cell.levels, OwnFactor::Engine.as_str());
        let loss = self.losses.find_loss(self.layout.document, engine, level);
        let load = |it: &Loss| it.per_second().map(|it| format!(", of {it} a second"));
        let lost =
            |it: &Loss| format!("lost at worst: {}{}", it.text(), load(it).unwrap_or_default());
        let aside = loss.map(lost);
        ReportCell { aside, ..durability::title_level(level).to_lowercase().into() }
    }
}

const COLUMNS: [&str; 4] =
    ["promise", "disk space", "written, an operation", "processor, an operation"];

/// "engine: sqlite → fjall, durability: strict → relaxed".
fn name_change(steps: &[ChangeStep<'_>], between: &str) -> String {
    if steps.is_empty() {
        return "nothing (the same, run again)".into();
    }
    let step = |it: &ChangeStep<'_>| format!("{}: {} → {}", it.factor, it.from, it.to);
    steps.iter().map(step).collect::<Vec<_>>().join(between)
}

fn written_bytes(cell: &CellView) -> Option<f64> {
    let sums = cell.cost.as_ref()?.sums;
    (sums.operations > 0).then_some(sums.device_bytes? as f64 / sums.operations as f64)
}

/// Seconds of the engine's processor time for each operation.
fn processor_seconds(cell: &CellView) -> Option<f64> {
    cell.cost.as_ref()?.engine_cpu_per_operation_s
}

fn compare_figure(
    cell: &CellView,
    present: &CellView,
    of: impl Fn(&CellView) -> Option<f64>,
    text: impl Fn(f64) -> String,
) -> ReportCell {
    let Some(value) = of(cell) else { return crate::figures::NONE.into() };
    let aside = of(present).and_then(|old| changes::format_delta(value, old));
    ReportCell { aside, ..text(value).into() }
}

fn build_notes(changes: usize, operations: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if changes > 0 {
        let number = words::count_nouns(changes, "more change");
        notes.push(format!("{number} of one or two steps: in the tables below."));
    }
    if operations > 0 {
        let number = words::count_nouns(operations, "more operation");
        notes.push(format!("{number}: in the tables below."));
    }
    notes
}
