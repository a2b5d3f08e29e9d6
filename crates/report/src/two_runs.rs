//! The comparison of two runs for a terminal, a text or a program.

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::layout::level_or_empty;
use bakeoff_analysis::{
    Contrast, Document, GateVerdict, RatioBound, RunComparison, SetupChange, SharedCell, Verdict,
};
use bakeoff_results::{FigureOfMerit, Levels, Status, in_words};
use serde::Serialize;

use crate::amount::AmountText;
use crate::block::{
    ColumnKind, Headline, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, StyledText,
};
use crate::figures::NONE;
use crate::{Error, Options, Result, render_blocks, verdict, words};

pub const FORMATS: [&str; 4] = ["term", "text", "md", "json"];

const NAMED: usize = 5;

#[derive(Clone, Copy)]
pub struct ComparedRun<'a> {
    pub folder: &'a str,
    pub document: &'a Document,
}

/// The result of the second run against the first. `limit` is the share by which it may be slower:
/// then the report says what is worse.
pub fn two_runs(
    runs: [ComparedRun<'_>; 2],
    found: &RunComparison,
    limit: Option<f64>,
    format: &str,
    options: &Options,
) -> Result<String> {
    let title = format!("{} against {}", runs[1].folder, runs[0].folder);
    match format {
        "json" => write_json(runs, found, limit),
        _ if FORMATS.contains(&format) => {
            render_blocks(&title, build_blocks(runs, found, limit), format, options)
        }
        _ => Err(Error::unknown_format(format, &FORMATS)),
    }
}

fn build_blocks(
    runs: [ComparedRun<'_>; 2],
    found: &RunComparison,
    limit: Option<f64>,
) -> Vec<ReportBlock> {
    let mut blocks = vec![
        ReportBlock::Facts(list_facts(runs)),
        ReportBlock::Heading("What differs in set-up".into()),
    ];
    blocks.push(match found.set_up.is_empty() {
        true => {
            ReportBlock::Note("Nothing that is recorded of program, machine and engines.".into())
        }
        false => ReportBlock::Table(set_up(&found.set_up)),
    });
    if !found.shared.is_empty() {
        blocks.push(ReportBlock::Heading("After against before".into()));
        blocks.push(ReportBlock::Table(build_shared(runs, &found.shared)));
    }
    let lists = [
        ("No longer keeps up with its rate", &found.fell_behind),
        (
            "Did not keep up with its rate in each trial, so that it has no ratio",
            &found.not_compared,
        ),
        ("Does not end an operation that it ended before", &found.hung),
        ("Has figures of an operation in one run alone", &found.without_figures),
        ("Has trials that count before alone", &found.only_before),
        ("Has trials that count after alone", &found.only_after),
    ];
    let told = lists.into_iter().filter(|(_, cells)| !cells.is_empty());
    let told: Vec<(String, String)> =
        told.map(|(what, cells)| (what.to_owned(), name_cells(cells))).collect();
    if !told.is_empty() {
        blocks.push(ReportBlock::Heading("What has no ratio".into()));
        blocks.push(ReportBlock::Facts(told));
    }
    blocks.push(ReportBlock::Headline(build_headline(found, limit)));
    blocks
}

fn list_facts(runs: [ComparedRun<'_>; 2]) -> Vec<(String, String)> {
    let of = |(name, side): (&str, ComparedRun<'_>)| {
        let ComparedRun { folder, document } = side;
        let run = &document.run.run;
        let trials = document.trials.iter().filter(|trial| trial.valid).count();
        let (trials, warnings) = (
            words::count_nouns(trials, "trial"),
            words::count_nouns(document.warnings.len(), "warning"),
        );
        let state = if document.run.status == Status::Finished { "" } else { ", not finished" };
        let (version, started) = (&run.version, words::format_date(run.started_s));
        let fact = format!("{folder}, bakeoff {version}, {started}, {trials}, {warnings}{state}");
        (name.to_owned(), fact)
    };
    ["before", "after"].into_iter().zip(runs).map(of).collect()
}

fn set_up(differences: &[SetupChange]) -> ReportTable {
    let value = |value: &Option<String>| match value.as_deref() {
        None | Some("") => NONE.to_owned(),
        Some(value) => value.to_owned(),
    };
    let row = |it: &SetupChange| {
        ReportRow::from_cells([it.what.clone(), value(&it.before), value(&it.after)])
    };
    ReportTable {
        columns: vec![
            ReportColumn::new(ColumnKind::Name, "what"),
            ReportColumn::new(ColumnKind::Text, "before"),
            ReportColumn::new(ColumnKind::Text, "after"),
        ],
        rows: differences.iter().map(row).collect(),
        ..ReportTable::default()
    }
}

fn find_merit(it: &SharedCell) -> FigureOfMerit {
    FigureOfMerit::of_metric(&it.comparison.metric).unwrap_or(FigureOfMerit::Time)
}

fn build_shared(runs: [ComparedRun<'_>; 2], all: &[SharedCell]) -> ReportTable {
    let factors = varying_factors(runs[0].document, all);
    let named = ReportColumn::from_factors(&factors);
    let columns = [
        ReportColumn::new(ColumnKind::Name, "operation"),
        ReportColumn::new(ColumnKind::Number, "before"),
        ReportColumn::new(ColumnKind::Number, "after"),
        ReportColumn::new(ColumnKind::Main, "ratio"),
        ReportColumn::new(ColumnKind::Number, "95 % interval"),
        ReportColumn::new(ColumnKind::Number, "trials"),
        ReportColumn::new(ColumnKind::Verdict, "verdict"),
    ];
    let row = |it: &SharedCell| {
        let levels = factors
            .iter()
            .map(|factor| ReportCell::from(level_or_empty(&it.comparison.levels, factor)));
        ReportRow::from_cells(levels.chain(format_cells(it)))
    };
    let held_back = all.iter().filter(|it| it.comparison.is_held_back());
    let over = held_back.map(|it| it.comparison.adjusted_over).max();
    ReportTable {
        caption: build_caption(runs, all).into(),
        columns: named.chain(columns).collect(),
        rows: all.iter().map(row).collect(),
        note: over.map(|over| verdict::explain_mark(Some(over))),
        ..ReportTable::default()
    }
}

fn is_on_several(side: &ComparedRun<'_>) -> bool {
    side.document.machines.as_ref().is_some_and(|found| found.machines.len() > 1)
}

fn build_caption(runs: [ComparedRun<'_>; 2], all: &[SharedCell]) -> String {
    let rates = all.iter().filter(|it| find_merit(it).is_rate()).count();
    let reads = match rates {
        0 => "of a time; above 1, it takes longer after",
        _ if rates == all.len() => "of a rate; above 1, it is faster after",
        _ => "of a time, where above 1 is slower, or of a rate, where above 1 is faster",
    };
    let hosts = match runs.iter().any(is_on_several) {
        true => {
            ". Trials of a run on several machines are taken as independent, which those of one machine \
             are not: intervals may be too narrow"
        }
        false => "",
    };
    format!(
        "Ratio, after over before, {reads}. No trial of one run is paired with one of the other: what \
         the machine did in the meantime is in each ratio{hosts}"
    )
}

/// In the plan's order; the compared factor where none differs.
fn varying_factors<'a>(document: &'a Document, all: &[SharedCell]) -> Vec<&'a str> {
    let run = &document.run.run;
    let differs = |factor: &&str| {
        let mut levels = all.iter().map(|it| level_or_empty(&it.comparison.levels, factor));
        let first = levels.next();
        levels.any(|level| Some(level) != first)
    };
    let factors: Vec<&str> =
        run.factors.iter().map(|(factor, _)| factor.as_str()).filter(differs).collect();
    if factors.is_empty() { vec![run.compare.as_str()] } else { factors }
}

fn format_cells(it: &SharedCell) -> [ReportCell; 7] {
    let comparison = &it.comparison;
    let contrast = Contrast::from_shown_comparison(comparison);
    let figure = |value, is_bound| MeritAmount { merit: find_merit(it), value, is_bound }.text();
    // For a ratio without meaning, either figure may be cut off.
    let is = comparison.ratio_is;
    let ratio = contrast.map(|it| words::ratio_or_bound(it.ratio, it.is));
    let interval = contrast.and_then(|it| words::format_ends(it.ends, it.is, it.blocks));
    [
        comparison.operation.clone().into(),
        figure(it.before, matches!(is, Some(RatioBound::AtMost) | None)).into(),
        figure(it.after, matches!(is, Some(RatioBound::AtLeast) | None)).into(),
        ratio.unwrap_or_else(|| NONE.into()).into(),
        interval.unwrap_or_else(|| NONE.into()).into(),
        format!("{}, {}", it.trials[0], it.trials[1]).into(),
        ReportCell::verdict(verdict::format_verdict(comparison)),
    ]
}

fn name_cells(cells: &[Levels]) -> String {
    let mut texts: Vec<String> = cells.iter().take(NAMED).map(in_words).collect();
    if cells.len() > NAMED {
        texts.push(format!("{} more", cells.len() - NAMED));
    }
    texts.join("; ")
}

fn build_headline(found: &RunComparison, limit: Option<f64>) -> Headline {
    let all = words::count_nouns(found.shared.len(), "comparison");
    let count =
        |word: Verdict| found.shared.iter().filter(|it| it.comparison.verdict == word).count();
    let decided = found.shared.iter().filter(|it| it.is_decided()).count();
    let voided = count(Verdict::Void);
    let void = name_void(found);
    let tally = format!(
        "Of {all}: {} slower, {} faster, {} the same, {} not decided.{void}",
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Same),
        found.shared.len() - decided - voided
    );
    let (broken, sentence) = match limit.map(|limit| (limit, found.gate(limit))) {
        None => (String::new(), tally),
        Some((limit, GateVerdict::Worse)) => (name_worse(found, limit), tally),
        Some((limit, GateVerdict::Passed)) => {
            let is_sure = found.shared.iter().all(|it| it.is_within(limit));
            let is = if is_sure { "is" } else { "is shown to be" };
            let limit = format_percent(limit);
            (String::new(), format!("Nothing {is} slower by more than {limit}. {tally}"))
        }
        Some((_, GateVerdict::Undecided)) => {
            let text = format!(
                "Nothing could be decided of {all}: repeat both runs more often, such as with \
                 --repetitions 10.{void}"
            );
            (String::new(), text)
        }
    };
    Headline {
        on: String::new(),
        broken,
        sentences: vec![StyledText::from(sentence)],
        rest: String::new(),
        confidence: None,
    }
}

/// Void comparisons are neither slower nor faster, however far apart.
fn name_void(found: &RunComparison) -> String {
    let is_void = |it: &&SharedCell| it.comparison.verdict == Verdict::Void;
    let void: Vec<&SharedCell> = found.shared.iter().filter(is_void).collect();
    let of = |it: &&SharedCell| {
        format!("{} in {}", it.comparison.operation, in_words(&it.comparison.levels))
    };
    let mut texts: Vec<String> = void.iter().take(NAMED).map(of).collect();
    if void.len() > NAMED {
        texts.push(format!("{} more", void.len() - NAMED));
    }
    match texts.is_empty() {
        true => String::new(),
        false => format!(
            " {} void, since the two did not do the same work or left something broken: {}.",
            void.len(),
            texts.join("; ")
        ),
    }
}

/// `10 %`, `7.5 %`.
fn format_percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

fn name_worse(found: &RunComparison, limit: f64) -> String {
    let slower: Vec<&SharedCell> = found.shared.iter().filter(|it| it.is_worse(limit)).collect();
    let of = |it: &&SharedCell| {
        let SharedCell { comparison, .. } = it;
        let is = comparison.ratio_is.unwrap_or(RatioBound::Exact);
        let ratio =
            comparison.ratio.map(|ratio| words::format_times(ratio, is)).unwrap_or_default();
        let (operation, cell) = (&comparison.operation, in_words(&comparison.levels));
        format!("{operation} in {cell} takes {ratio} times as long")
    };
    let mut texts: Vec<String> = slower.iter().take(NAMED).map(of).collect();
    if slower.len() > NAMED {
        texts.push(format!("{} more", slower.len() - NAMED));
    }
    if !found.fell_behind.is_empty() {
        texts.push(format!("no longer keeps up with its rate: {}", name_cells(&found.fell_behind)));
    }
    if !found.hung.is_empty() {
        texts.push(format!("does not end an operation: {}", name_cells(&found.hung)));
    }
    format!("Worse by more than {}: {}.", format_percent(limit), texts.join("; "))
}

const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct RunComparisonJson<'a> {
    schema: u32,
    before: RunJson<'a>,
    after: RunJson<'a>,
    limit: Option<f64>,
    gate: Option<GateVerdict>,
    #[serde(flatten)]
    found: &'a RunComparison,
}

#[derive(Serialize)]
struct RunJson<'a> {
    folder: &'a str,
    name: &'a str,
    version: &'a str,
    started_s: f64,
}

fn write_json(
    runs: [ComparedRun<'_>; 2],
    found: &RunComparison,
    limit: Option<f64>,
) -> Result<String> {
    let [before, after] = runs.map(|ComparedRun { folder, document }| {
        let run = &document.run.run;
        RunJson { folder, name: &run.name, version: &run.version, started_s: run.started_s }
    });
    let gate = limit.map(|limit| found.gate(limit));
    let written = RunComparisonJson { schema: SCHEMA, before, after, limit, gate, found };
    Ok(serde_json::to_string_pretty(&written)? + "\n")
}
