use bakeoff_analysis::layout::MeritAmount;
mod course;
mod listed;

use bakeoff_analysis::{Attempts, OpenLoopView, Steadiness, Total, steadiness};
use bakeoff_results::measure::*;
use bakeoff_results::{FigureOfMerit, OperationSummary, TrialSummary};

use crate::amount::AmountText;
use crate::block::{
    ColumnKind, Folded, ReportBlock, ReportColumn, ReportRow, ReportTable, TableStyle,
};
use crate::block_machines::BlockMachines;
use crate::figures;
use crate::offered_rate::BEHIND;
use crate::words;
use bakeoff_analysis::layout::{self, DocumentLayout};

/// From this many trials on, their table is left out on paper.
const PAPER: usize = 500;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    if !layout::is_timed(layout.document) {
        return Vec::new();
    }
    let trials = layout.document.trials.len();
    let table = build_table(layout);
    let count = match table.rows.len() {
        listed if listed < trials => {
            format!(
                "{} of {}",
                words::format_count(listed as u64),
                words::count_nouns(trials, "trial")
            )
        }
        _ => words::count_nouns(trials, "trial"),
    };
    let folded = ReportBlock::Folded(Folded {
        summary: format!("{count}, in the order in which they ran"),
        blocks: vec![ReportBlock::Table(table)],
        long: trials > PAPER,
    });
    course::build_charts(layout).map(ReportBlock::Charts).into_iter().chain([folded]).collect()
}

const LEFT_OUT: &str = "Listed are trials with a note, and then those whose mean times are furthest from \
                        the means of their cells. Every trial: --format csv.";

fn build_table(layout: &DocumentLayout<'_>) -> ReportTable {
    let trials = &layout.document.trials;
    let attempts = Attempts::from_trials(trials);
    let listed =
        listed::select_trials(layout.document, |it| !describe_trial(it, &attempts).is_empty());
    let ran_on = BlockMachines::from_run(&layout.document.run.run);
    let row = |trial: &TrialSummary| {
        let note = describe_trial(trial, &attempts);
        let machine = ran_on.machine_fields(trial).join(", ");
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
    columns.extend(find_rate(layout).map(|merit| number(merit.in_words().into())));
    columns.extend(REST.map(str::to_owned).map(number));
    columns.push(ReportColumn::new(ColumnKind::Text, "machine, shard"));
    columns.push(ReportColumn::new(ColumnKind::Remark, "note"));
    columns
}

fn find_rate(layout: &DocumentLayout<'_>) -> Option<FigureOfMerit> {
    Some(layout.document.run.run.figure_of_merit).filter(|merit| merit.is_rate())
}

const REST: [&str; 12] = [
    "offered, 1/s",
    "not started",
    "errors",
    "retries",
    "rolled back by the script",
    "skipped",
    "unmatched",
    "begun again",
    "space, MB",
    "client CPU, s",
    "engine CPU, s",
    "background I/O, 1/s",
];

fn trial_cells(layout: &DocumentLayout<'_>, trial: &TrialSummary) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or(figures::NONE.into(), words::format_digits);
    let milliseconds = |value: Option<f64>, cut_off: bool| match value {
        Some(seconds) if cut_off => {
            format!("{}{}", words::OVER, words::format_digits(seconds * 1e3))
        }
        value => figure(value.map(|seconds| seconds * 1e3)),
    };
    let mut cells = vec![trial.block.to_string(), trial.order.to_string()];
    for factor in layout.varying.iter().copied().chain([layout.compare]) {
        cells.push(layout::level_or_empty(&trial.levels, factor).into());
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
    cells.extend(find_rate(layout).map(|merit| {
        let total = Total::from_trial(trial);
        let value = total.and_then(|total| total.rate(merit));
        let is_bound = total.is_some_and(|total| total.at_most);
        value.map_or(figures::NONE.into(), |value| {
            MeritAmount { merit, value, is_bound }.in_column()
        })
    }));
    let sum = |of: fn(&OperationSummary) -> u64| {
        let all = trial.operations.iter().map(of);
        words::format_count(all.fold(0, u64::saturating_add))
    };
    let measured = |measure: &Measure, scope| trial.measures.get(measure, &scope);
    let [rolled_back, skipped, unmatched, begun_again] = PATHS.map(|path| {
        let scopes = trial.operations.iter().map(|it| Scope::Operation(it.name.clone().into()));
        let counts: Vec<f64> = scopes.filter_map(|scope| measured(path, scope)).collect();
        (!counts.is_empty()).then(|| counts.iter().sum::<f64>())
    });
    let rest: [String; REST.len()] = [
        figure(measured(&OFFERED, Scope::Clients)),
        figure(measured(&NOT_STARTED, Scope::Clients)),
        sum(|o| o.errors),
        sum(|o| o.retries),
        figure(rolled_back),
        figure(skipped),
        figure(unmatched),
        figure(begun_again),
        figure(measured(&SPACE, Scope::Trial).map(|bytes| bytes / 1e6)),
        figure(measured(&CPU, Scope::Clients)),
        figure(measured(&CPU, Scope::DATABASE)),
        figure(measured(&RATE, Scope::Neighbours)),
    ];
    cells.extend(rest);
    cells
}

fn describe_trial(trial: &TrialSummary, attempts: &Attempts) -> String {
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
