//! Every trial.

mod course;
mod listed;

use bakeoff_analysis::{Attempts, OpenLoopView, Steadiness, Total, steadiness};
use bakeoff_results::measure::*;
use bakeoff_results::{FigureOfMerit, OperationSummary, TrialSummary};

use crate::amount::MeritAmount;
use crate::behind::BEHIND;
use crate::block::{
    ColumnKind, Folded, ReportBlock, ReportColumn, ReportRow, ReportTable, TableStyle,
};
use crate::figures;
use crate::layout::{self, DocumentLayout};
use crate::ran_on::RanOn;
use crate::section::Section;
use crate::words;

/// Every trial, in the order in which they ran.
pub struct TrialsSection;

/// From this many trials on, their table is left out on paper.
const PAPER: usize = 500;

impl Section for TrialsSection {
    fn name(&self) -> &str {
        "trials"
    }

    fn title(&self) -> &str {
        "Every trial"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        if !layout::is_timed(layout.document) {
            return Vec::new();
        }
        let trials = layout.document.trials.len();
        let table = table(layout);
        let count = match table.rows.len() {
            listed if listed < trials => {
                format!("{} of {}", words::count(listed as u64), words::many(trials, "trial"))
            }
            _ => words::many(trials, "trial"),
        };
        let folded = ReportBlock::Folded(Folded {
            summary: format!("{count}, in the order in which they ran"),
            blocks: vec![ReportBlock::Table(table)],
            long: trials > PAPER,
        });
        course::charts(layout).map(ReportBlock::Charts).into_iter().chain([folded]).collect()
    }

    fn is_background(&self) -> bool {
        true
    }
}

/// What is said of a table that leaves trials out.
const LEFT_OUT: &str = "Listed are trials with a note, and then those whose mean times are furthest from \
                        the means of their cells. Every trial: --format csv.";

/// A row for each trial that is listed; a column that says nothing in any row is left out.
fn table(layout: &DocumentLayout<'_>) -> ReportTable {
    let trials = &layout.document.trials;
    let attempts = Attempts::from_trials(trials);
    let listed = listed::listed(layout.document, |it| !note(it, &attempts).is_empty());
    let ran_on = RanOn::from_run(&layout.document.run.run);
    let row = |trial: &TrialSummary| {
        let note = note(trial, &attempts);
        let machine = ran_on.fields(trial).join(", ");
        let machine = machine.trim_matches([' ', ',']).to_owned();
        let cells = trial_cells(layout, trial).into_iter().chain([machine, note]);
        ReportRow { bad: !trial.valid, ..ReportRow::from_cells(cells) }
    };
    let left_out = listed.len() < trials.len();
    let table = ReportTable {
        caption: if left_out { "Trials" } else { "Every trial" }.into(),
        look: TableStyle::Records,
        columns: trial_columns(layout),
        note: left_out.then(|| LEFT_OUT.to_owned()),
        rows: listed.into_iter().map(row).collect(),
        ..ReportTable::default()
    };
    table.without_empty_columns(|_| true)
}

fn trial_columns(layout: &DocumentLayout<'_>) -> Vec<ReportColumn> {
    let number = |name: String| ReportColumn::new(ColumnKind::Number, name);
    let mut columns: Vec<ReportColumn> = ["block", "order"].map(str::to_owned).map(number).into();
    let factors = layout.varying.iter().copied().chain([layout.compare]);
    columns.extend(factors.map(|factor| ReportColumn::new(ColumnKind::Text, factor)));
    for operation in &layout.document.run.run.operations {
        let figures = ["mean, ms", "p99, ms", "service, ms", "per s"];
        columns.extend(figures.map(|figure| number(format!("{operation} {figure}"))));
    }
    columns.extend(rate(layout).map(|merit| number(merit.words().into())));
    columns.extend(REST.map(str::to_owned).map(number));
    columns.push(ReportColumn::new(ColumnKind::Text, "machine, shard"));
    columns.push(ReportColumn::new(ColumnKind::Remark, "note"));
    columns
}

/// The rate that levels are compared by, if they are.
fn rate(layout: &DocumentLayout<'_>) -> Option<FigureOfMerit> {
    Some(layout.document.run.run.figure_of_merit).filter(|merit| merit.is_rate())
}

/// The columns after those of the operations.
const REST: [&str; 8] = [
    "offered, 1/s",
    "not started",
    "errors",
    "retries",
    "space, MB",
    "client CPU, s",
    "engine CPU, s",
    "background I/O, 1/s",
];

/// A text for each of [`trial_columns`] but the last two.
fn trial_cells(layout: &DocumentLayout<'_>, trial: &TrialSummary) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or(figures::NONE.into(), words::digits);
    let milliseconds = |value: Option<f64>, cut_off: bool| match value {
        Some(seconds) if cut_off => format!("{}{}", words::OVER, words::digits(seconds * 1e3)),
        value => figure(value.map(|seconds| seconds * 1e3)),
    };
    let mut cells = vec![trial.block.to_string(), trial.order.to_string()];
    for factor in layout.varying.iter().copied().chain([layout.compare]) {
        cells.push(layout::get(&trial.levels, factor).into());
    }
    for name in &layout.document.run.run.operations {
        let operation = trial.operations.iter().find(|o| o.name == *name);
        let cut_off = operation.is_some_and(|o| o.unfinished > 0);
        for of in [
            |o: &OperationSummary| o.mean_s,
            |o: &OperationSummary| o.p99_s,
            |o: &OperationSummary| o.service_mean_s,
        ] {
            cells.push(milliseconds(operation.and_then(of), cut_off));
        }
        cells.push(figure(operation.map(|o| o.per_second)));
    }
    cells.extend(rate(layout).map(|merit| {
        let total = Total::from_trial(trial);
        let value = total.and_then(|total| total.rate(merit));
        let is_bound = total.is_some_and(|total| total.at_most);
        value.map_or(figures::NONE.into(), |value| {
            MeritAmount { merit, value, is_bound }.in_column()
        })
    }));
    let sum = |of: fn(&OperationSummary) -> u64| {
        let all = trial.operations.iter().map(of);
        words::count(all.fold(0, u64::saturating_add))
    };
    let measured = |measure: &Measure, scope| trial.measures.get(measure, &scope);
    let rest: [String; REST.len()] = [
        figure(measured(&OFFERED, Scope::Clients)),
        figure(measured(&NOT_STARTED, Scope::Clients)),
        sum(|o| o.errors),
        sum(|o| o.retries),
        figure(measured(&SPACE, Scope::Trial).map(|bytes| bytes / 1e6)),
        figure(measured(&CPU, Scope::Clients)),
        figure(measured(&CPU, Scope::DATABASE)),
        figure(measured(&RATE, Scope::Neighbours)),
    ];
    cells.extend(rest);
    cells
}

/// Why a trial doesn't count, or what a reader of it should know.
fn note(trial: &TrialSummary, attempts: &Attempts) -> String {
    let mut notes: Vec<&str> = trial.reason.iter().map(String::as_str).collect();
    notes.extend(trial.warnings.iter().map(String::as_str));
    match steadiness(trial) {
        Some(Steadiness::NotSteady) => notes.push("not steady"),
        Some(Steadiness::CannotTell) => notes.push("cannot tell whether it was steady"),
        Some(Steadiness::Steady) | None => {}
    }
    if OpenLoopView::from_trial(trial).is_some_and(|open| !open.kept_up) {
        notes.push(BEHIND);
    }
    let notes = notes.join("; ");
    match (trial.valid, attempts.set_aside(trial)) {
        (true, _) => notes,
        (false, true) => format!("set aside: {notes}"),
        (false, false) => format!("does not count: {notes}"),
    }
}
