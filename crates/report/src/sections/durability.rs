//! Shows what power cuts left of each promise, and the price of the promise.

mod cuts;
mod findings;

use bakeoff_analysis::layout::{self, DocumentLayout};
use bakeoff_analysis::{CellView, Document, PromiseView, RuleView};
use bakeoff_results::{PromiseFactors, TimedRecovery};

use crate::block::{
    Charts, ColumnKind, Finding, Folded, ReportBlock, ReportCell, ReportColumn, ReportRow,
    ReportTable, StyledText, SvgChart, TableStyle, Tone,
};
use crate::figures::NONE;
use crate::promises::{self, PromiseCuts};
use crate::words;

const EXPLAINED: &str = "Clients commit when the power goes, at a moment that \
     the seed has drawn; each column is a rule for what the disk then holds of what was not synced. \
     *Survived*: no less was there than the level promises. *Intact*: all that was acknowledged, and \
     whole. Recovery: the time to open the engine again, from the median to the longest, on a disk that \
     takes no time. Recovery on a disk, of one cut: until it was open, and until a client had an answer, \
     from cold caches.";

const EXPLAINED_OF_FILES: &str = "Clients write blocks of files and sync them when the power goes, at a \
     moment that the seed has drawn; each column is a rule for what the disk then holds of what was not \
     synced. *Survived*: each block that a sync covered before holds what was synced, or what was written \
     later. *Intact*: the same. A block may be *lost*: it holds an earlier write than the synced one; or \
     *torn*: it holds parts of an earlier one. Recovery: the time to open the files again.";

const MEANINGS: [(&str, &str); 9] = [
    ("drop-all", "nothing is left of what was not synced"),
    ("prefix", "all up to some moment is left, in the order in which it was written"),
    ("subset", "some of it is left, each write by itself"),
    (
        "torn",
        "as a rule: some is left, and of a write maybe only some sectors; as a finding: a part of a \
         transaction is there",
    ),
    ("lost", "acknowledged, and not there"),
    ("phantoms", "there, and never sent"),
    ("holes", "gone, while a later transaction of the same client is there"),
    ("index broken", "found by key and not by an index, or the other way round"),
    ("corrupt", "the engine’s own check fails, or it does not start"),
];

const MEANINGS_OF_FILES: [(&str, &str); 7] = [
    MEANINGS[0],
    MEANINGS[1],
    MEANINGS[2],
    (
        "torn",
        "as a rule: some is left, and of a write maybe only some sectors; as a finding: a synced block \
         holds parts of an earlier write",
    ),
    ("lost", "synced, and not there"),
    ("phantoms", "blocks that hold what nobody had written there"),
    ("corrupt", "a file is gone or too short"),
];

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let all: Vec<PromiseCuts> = promises::list_promises(document).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let (explained, meanings): (&str, &[(&str, &str)]) = match common_factors(&all).is_of_engines()
    {
        true => (EXPLAINED, &MEANINGS),
        false => (EXPLAINED_OF_FILES, &MEANINGS_OF_FILES),
    };
    let meanings = meanings.iter().map(|(word, means)| ((*word).into(), (*means).into()));
    let mut blocks = vec![
        ReportBlock::Note(cuts::describe_cuts(&all).into()),
        ReportBlock::Lead(StyledText::default().marked(explained)),
        ReportBlock::Folded(Folded {
            summary: "What the words of this table mean".into(),
            blocks: vec![ReportBlock::Facts(meanings.collect())],
            long: false,
        }),
        ReportBlock::Table(build_table(document, &all)),
    ];
    blocks.extend(cuts::draw_losses(&all).map(|svg| ReportBlock::Charts(build_chart(&all, svg))));
    blocks.push(ReportBlock::Findings(all.iter().map(build_finding).collect()));
    blocks
}

fn build_chart(all: &[PromiseCuts<'_>], svg: String) -> Charts {
    let broken = all.iter().any(|told| told.promise.kept == Some(false));
    let diamond = if broken { "; a diamond breaks the promise" } else { "" };
    let caption = format!(
        "How old the oldest loss was: a dot for each cut that lost something, in a line for each rule, \
         in the table’s order{diamond}"
    );
    let charts = vec![SvgChart { caption, svg }];
    Charts { explained: StyledText::default(), legend: Vec::new(), charts }
}

struct PromiseColumns<'a> {
    rules: Vec<&'a str>,
    operation: Option<&'a str>,
}

impl<'a> PromiseColumns<'a> {
    fn from_promises(document: &'a Document, all: &[PromiseCuts<'a>]) -> Self {
        let mut rules: Vec<&str> = Vec::new();
        for rule in all.iter().flat_map(|told| &told.promise.rules) {
            if !rules.contains(&rule.keep.as_str()) {
                rules.push(&rule.keep);
            }
        }
        let measured = all.iter().any(|told| find_cells(document, told).next().is_some());
        let operation = document.run.run.operations.first().filter(|_| measured);
        Self { rules, operation: operation.map(String::as_str) }
    }

    fn find_rules<'b>(&self, told: &PromiseCuts<'b>) -> Vec<Option<&'b RuleView>> {
        let found = |keep: &&str| told.promise.rules.iter().find(|rule| rule.keep == *keep);
        self.rules.iter().map(found).collect()
    }
}

fn build_table<'a>(document: &'a Document, all: &[PromiseCuts<'a>]) -> ReportTable {
    let heads = PromiseColumns::from_promises(document, all);
    let price = heads.operation.map(|operation| {
        format!(", and its price: the mean time of {operation} in this run’s trials")
    });
    let mut columns = name_columns(all);
    columns.extend(heads.rules.iter().map(|rule| ReportColumn::new(ColumnKind::Finding, *rule)));
    columns.extend(heads.operation.map(|operation| ReportColumn::new(ColumnKind::Main, operation)));
    columns.push(ReportColumn::new(ColumnKind::LongNumber, "recovery"));
    let disk = all.iter().find_map(|told| Some(&*find_timed(told)?.disk));
    columns.extend(
        disk.map(|disk| ReportColumn::new(ColumnKind::LongNumber, format!("recovery on {disk}"))),
    );
    let row = |told: &PromiseCuts| {
        let name = ReportCell {
            aside: told.folder.map(str::to_owned),
            ..told.promise.engine.clone().into()
        };
        let rule = |rule: Option<&RuleView>| ReportCell {
            tone: if rule.is_some_and(|it| it.broken > 0) { Tone::Bad } else { Tone::Plain },
            ..rule.map_or(NONE.into(), |it| findings::describe_left(told, it)).into()
        };
        let rules = heads.find_rules(told).into_iter().map(rule);
        let cost = heads.operation.map(|it| format_cost(document, told, it).into());
        let cells =
            [name, told.level().into(), name_state(told.promise).into()].into_iter().chain(rules);
        let on_disk = disk.map(|_| find_timed(told).map_or(NONE.into(), on_disk).into());
        ReportRow::from_cells(
            cells.chain(cost).chain([format_recovery(told.promise).into()]).chain(on_disk),
        )
    };
    ReportTable {
        caption: format!("Each promise after power cuts{}", price.unwrap_or_default()).into(),
        look: TableStyle::Promises,
        columns,
        rows: all.iter().map(row).collect(),
        note: None,
        compact: Some(Box::new(build_compact(document, all, &heads))),
    }
}

/// The promises of engines, if runs differ.
fn common_factors(all: &[PromiseCuts<'_>]) -> PromiseFactors {
    let mut known = all.iter().map(PromiseCuts::factors);
    let first = known.next().unwrap_or_default();
    if known.all(|other| other == first) { first } else { PromiseFactors::default() }
}

fn name_columns(all: &[PromiseCuts<'_>]) -> Vec<ReportColumn> {
    let PromiseFactors { who, what } = common_factors(all);
    vec![
        ReportColumn::new(ColumnKind::Name, who),
        ReportColumn::new(ColumnKind::Level, what),
        ReportColumn::new(ColumnKind::State, "promise"),
    ]
}

fn build_compact(
    document: &Document,
    all: &[PromiseCuts<'_>],
    heads: &PromiseColumns<'_>,
) -> ReportTable {
    let mut columns = name_columns(all);
    columns.extend(heads.rules.iter().map(|rule| ReportColumn::new(ColumnKind::Number, *rule)));
    columns.extend(heads.operation.map(|operation| ReportColumn::new(ColumnKind::Main, operation)));
    let row = |told: &PromiseCuts| {
        let promise = told.promise;
        let survived = |rule: &RuleView| {
            let (number, all, _) = findings::count_survived(told, rule);
            format!("{number} of {all}")
        };
        let rules = heads.find_rules(told).into_iter().map(|it| it.map_or(NONE.into(), survived));
        let cost = heads.operation.map(|operation| format_cost(document, told, operation));
        let folder = told.folder.map_or(String::new(), |folder| format!(" ({folder})"));
        let names =
            [format!("{}{folder}", promise.engine), told.level(), name_state(promise).to_owned()];
        ReportRow {
            bad: promise.kept == Some(false),
            ..ReportRow::from_cells(names.into_iter().chain(rules).chain(cost))
        }
    };
    ReportTable { columns, rows: all.iter().map(row).collect(), ..ReportTable::default() }
}

fn name_state(promise: &PromiseView) -> &'static str {
    match promise.kept {
        _ if promise.cuts == 0 => "not tried",
        Some(true) => "kept",
        Some(false) => "broken",
        None => "not promised",
    }
}

fn format_recovery(promise: &PromiseView) -> String {
    let times = promise.recovery_median_s.zip(promise.recovery_max_s);
    times.map_or(NONE.into(), |(median, most)| {
        format!("{} to {}", findings::format_tied(median), findings::format_tied(most))
    })
}

fn find_timed<'a>(told: &PromiseCuts<'a>) -> Option<&'a TimedRecovery> {
    told.cuts.iter().find_map(|cut| cut.timed.as_ref())
}

fn on_disk(timed: &TimedRecovery) -> String {
    match (timed.open_s, timed.answer_s) {
        (Some(open), Some(answer)) => {
            format!(
                "{}, an answer after {}",
                findings::format_tied(open),
                findings::format_tied(answer)
            )
        }
        _ => "failed".into(),
    }
}

/// With the command that repeats the first cut that broke it.
fn build_finding(told: &PromiseCuts<'_>) -> Finding {
    let promise = told.promise;
    let first = promise.rules.iter().find(|rule| rule.broken > 0);
    let again = first.zip(told.plan).and_then(|(rule, plan)| {
        let PromiseView { engine, durability, file_system, .. } = promise;
        Some(plan.repeat_command(engine, durability, *file_system, &rule.keep, rule.repeat?))
    });
    Finding {
        of: format!("{}, {}", promise.engine, told.level()),
        text: findings::explain_verdict(told, first),
        bad: promise.kept == Some(false),
        log: findings::find_reason(told, first).and_then(|text| words::sentence_and_log(text).1),
        again,
    }
}

fn find_cells<'a>(
    document: &'a Document,
    told: &PromiseCuts<'a>,
) -> impl Iterator<Item = &'a CellView> + use<'a> {
    let (promise, factors) = (told.promise, told.factors());
    document.cells.iter().filter(move |cell| {
        let is = |factor: &str, level: &str| layout::level_or_empty(&cell.levels, factor) == level;
        is(&factors.who, &promise.engine) && is(&factors.what, &promise.durability)
    })
}

fn format_cost(document: &Document, told: &PromiseCuts<'_>, operation: &str) -> String {
    let mut means: Vec<(f64, bool)> = find_cells(document, told)
        .filter_map(|cell| {
            let found = cell.operations.iter().find(|o| o.name == operation)?;
            Some((found.mean_s?, found.unfinished > 0))
        })
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text = |(mean, cut_off): (f64, bool)| words::seconds_or_more(mean, cut_off);
    match means.as_slice() {
        [] => NONE.into(),
        [only] => text(*only),
        [least, .., most] if least == most => text(*least),
        [least, .., most] => format!("{} to {}", text(*least), text(*most)),
    }
}
