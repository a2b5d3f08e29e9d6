//! What power cuts have left of each promise, and beside it what the promise costs.

mod cuts;
mod found;

use bakeoff_analysis::{CellView, Document, PromiseView, RuleView};
use bakeoff_results::{PromiseFactors, TimedRecovery};

use crate::block::{
    Charts, ColumnKind, Finding, Folded, ReportBlock, ReportCell, ReportColumn, ReportRow,
    ReportTable, StyledText, SvgChart, TableStyle, Tone,
};
use crate::figures::NONE;
use crate::layout::{self, DocumentLayout};
use crate::promises::{self, PromiseCuts};
use crate::section::Section;
use crate::words;

/// What power cuts left of each promise.
pub struct DurabilitySection;

/// How the table is read.
const EXPLAINED: &str = "The clients of the ledger are at work when the power goes, at a moment that \
     the seed has drawn; each column is a rule for what the disk then holds of what was not synced. \
     *Survived*: no less was there than the level promises. *Intact*: all that was acknowledged, and \
     whole. Recovery: the time to open the engine again, from the median to the longest, on a disk that \
     takes no time. Recovery on a disk, of one cut: until it was open, and until a client had an answer, \
     from cold caches.";

/// The same where files are written without an engine.
const EXPLAINED_OF_FILES: &str = "Clients write blocks of files and sync them when the power goes, at a \
     moment that the seed has drawn; each column is a rule for what the disk then holds of what was not \
     synced. *Survived*: each block that a sync covered before holds what was synced, or what was written \
     later. *Intact*: the same. A block may be *lost*: it holds an earlier write than the synced one; or \
     *torn*: it holds parts of an earlier one. Recovery: the time to open the files again.";

/// What the words of the table mean.
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

/// The same where files are written without an engine.
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

impl Section for DurabilitySection {
    fn name(&self) -> &str {
        promises::SECTION
    }

    fn title(&self) -> &str {
        "What power cuts left of each promise"
    }

    fn link(&self) -> &str {
        "Power cuts"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let document = layout.document;
        let all: Vec<PromiseCuts> = promises::all(document).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let (explained, meanings): (&str, &[(&str, &str)]) = match factors(&all).is_of_engines() {
            true => (EXPLAINED, &MEANINGS),
            false => (EXPLAINED_OF_FILES, &MEANINGS_OF_FILES),
        };
        let meanings = meanings.iter().map(|(word, means)| ((*word).into(), (*means).into()));
        let mut blocks = vec![
            ReportBlock::Note(cuts::how(&all).into()),
            ReportBlock::Lead(StyledText::default().marked(explained)),
            ReportBlock::Folded(Folded {
                summary: "What the words of this table mean".into(),
                blocks: vec![ReportBlock::Facts(meanings.collect())],
                long: false,
            }),
            ReportBlock::Table(table(document, &all)),
        ];
        blocks.extend(cuts::picture(&all).map(|svg| ReportBlock::Charts(picture(&all, svg))));
        blocks.push(ReportBlock::Findings(all.iter().map(finding).collect()));
        blocks
    }
}

fn picture(all: &[PromiseCuts<'_>], svg: String) -> Charts {
    let broken = all.iter().any(|told| told.promise.kept == Some(false));
    let diamond = if broken { "; a diamond breaks the promise" } else { "" };
    let caption = format!(
        "How old the oldest loss was: a dot for each cut that lost something, in a line for each rule, \
         in the table’s order{diamond}"
    );
    let charts = vec![SvgChart { caption, svg }];
    Charts { explained: StyledText::default(), legend: Vec::new(), charts }
}

/// What the promises are held against, and the operation whose mean time stands beside them.
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
        let measured = all.iter().any(|told| cells(document, told).next().is_some());
        let operation = document.run.run.operations.first().filter(|_| measured);
        Self { rules, operation: operation.map(String::as_str) }
    }

    /// What each rule has left of a promise, in the rules' order.
    fn found<'b>(&self, told: &PromiseCuts<'b>) -> Vec<Option<&'b RuleView>> {
        let found = |keep: &&str| told.promise.rules.iter().find(|rule| rule.keep == *keep);
        self.rules.iter().map(found).collect()
    }
}

/// A row an engine and level.
fn table<'a>(document: &'a Document, all: &[PromiseCuts<'a>]) -> ReportTable {
    let heads = PromiseColumns::from_promises(document, all);
    let price = heads.operation.map(|operation| {
        format!(", and its price: the mean time of {operation} in this run’s trials")
    });
    let mut columns = names(all);
    columns.extend(heads.rules.iter().map(|rule| ReportColumn::new(ColumnKind::Finding, *rule)));
    columns.extend(heads.operation.map(|operation| ReportColumn::new(ColumnKind::Main, operation)));
    columns.push(ReportColumn::new(ColumnKind::LongNumber, "recovery"));
    let disk = all.iter().find_map(|told| Some(&*timed(told)?.disk));
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
            ..rule.map_or(NONE.into(), |it| found::left(told, it)).into()
        };
        let rules = heads.found(told).into_iter().map(rule);
        let cost = heads.operation.map(|it| cost(document, told, it).into());
        let cells =
            [name, told.level().into(), state(told.promise).into()].into_iter().chain(rules);
        let on_disk = disk.map(|_| timed(told).map_or(NONE.into(), on_disk).into());
        ReportRow::from_cells(
            cells.chain(cost).chain([recovery(told.promise).into()]).chain(on_disk),
        )
    };
    ReportTable {
        caption: format!("Each promise after power cuts{}", price.unwrap_or_default()).into(),
        look: TableStyle::Promises,
        columns,
        rows: all.iter().map(row).collect(),
        note: None,
        compact: Some(Box::new(compact(document, all, &heads))),
    }
}

/// The factors by which the promises differ; those of engines where runs differ in that.
fn factors(all: &[PromiseCuts<'_>]) -> PromiseFactors {
    let mut known = all.iter().map(PromiseCuts::factors);
    let first = known.next().unwrap_or_default();
    if known.all(|other| other == first) { first } else { PromiseFactors::default() }
}

fn names(all: &[PromiseCuts<'_>]) -> Vec<ReportColumn> {
    let PromiseFactors { who, what } = factors(all);
    vec![
        ReportColumn::new(ColumnKind::Name, who),
        ReportColumn::new(ColumnKind::Level, what),
        ReportColumn::new(ColumnKind::State, "promise"),
    ]
}

/// The same in a few characters a cell.
fn compact(
    document: &Document,
    all: &[PromiseCuts<'_>],
    heads: &PromiseColumns<'_>,
) -> ReportTable {
    let mut columns = names(all);
    columns.extend(heads.rules.iter().map(|rule| ReportColumn::new(ColumnKind::Number, *rule)));
    columns.extend(heads.operation.map(|operation| ReportColumn::new(ColumnKind::Main, operation)));
    let row = |told: &PromiseCuts| {
        let promise = told.promise;
        let survived = |rule: &RuleView| {
            let (number, all, _) = found::survived(told, rule);
            format!("{number} of {all}")
        };
        let rules = heads.found(told).into_iter().map(|it| it.map_or(NONE.into(), survived));
        let cost = heads.operation.map(|operation| cost(document, told, operation));
        let folder = told.folder.map_or(String::new(), |folder| format!(" ({folder})"));
        let names =
            [format!("{}{folder}", promise.engine), told.level(), state(promise).to_owned()];
        ReportRow {
            bad: promise.kept == Some(false),
            ..ReportRow::from_cells(names.into_iter().chain(rules).chain(cost))
        }
    };
    ReportTable { columns, rows: all.iter().map(row).collect(), ..ReportTable::default() }
}

/// How a promise stands.
fn state(promise: &PromiseView) -> &'static str {
    match promise.kept {
        _ if promise.cuts == 0 => "not tried",
        Some(true) => "kept",
        Some(false) => "broken",
        None => "not promised",
    }
}

/// The time to recover: from the median to the longest.
fn recovery(promise: &PromiseView) -> String {
    let times = promise.recovery_median_s.zip(promise.recovery_max_s);
    times.map_or(NONE.into(), |(median, most)| {
        format!("{} to {}", found::tied(median), found::tied(most))
    })
}

/// The recovery that was timed on the disk.
fn timed<'a>(told: &PromiseCuts<'a>) -> Option<&'a TimedRecovery> {
    told.cuts.iter().find_map(|cut| cut.timed.as_ref())
}

/// How long it took to open the engine, and to a first answer.
fn on_disk(timed: &TimedRecovery) -> String {
    match (timed.open_s, timed.answer_s) {
        (Some(open), Some(answer)) => {
            format!("{}, an answer after {}", found::tied(open), found::tied(answer))
        }
        _ => "failed".into(),
    }
}

/// The verdict on a promise, with the command that repeats the first cut that broke it.
fn finding(told: &PromiseCuts<'_>) -> Finding {
    let promise = told.promise;
    let first = promise.rules.iter().find(|rule| rule.broken > 0);
    let again = first.zip(told.plan).and_then(|(rule, plan)| {
        let PromiseView { engine, durability, file_system, .. } = promise;
        Some(plan.repeat(engine, durability, *file_system, &rule.keep, rule.repeat?))
    });
    Finding {
        of: format!("{}, {}", promise.engine, told.level()),
        text: found::explained(told, first),
        bad: promise.kept == Some(false),
        log: found::said(told, first).and_then(|text| found::sentence_and_log(text).1),
        again,
    }
}

/// The cells that were timed under a promise.
fn cells<'a>(
    document: &'a Document,
    told: &PromiseCuts<'a>,
) -> impl Iterator<Item = &'a CellView> + use<'a> {
    let (promise, factors) = (told.promise, told.factors());
    document.cells.iter().filter(move |cell| {
        let is = |factor: &str, level: &str| layout::get(&cell.levels, factor) == level;
        is(&factors.who, &promise.engine) && is(&factors.what, &promise.durability)
    })
}

/// What the operation takes in the cells of a promise: a time, or from one to another.
fn cost(document: &Document, told: &PromiseCuts<'_>, operation: &str) -> String {
    let mut means: Vec<(f64, bool)> = cells(document, told)
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
