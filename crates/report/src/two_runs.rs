//! Two runs held against each other, for a terminal, a text or a program.

use bakeoff_analysis::{
    Contrast, Document, GateVerdict, RatioIs, SetUp, SharedCell, TwoRuns, Verdict,
};
use bakeoff_results::{FigureOfMerit, Levels, Status, in_words};
use serde::Serialize;

use crate::amount::MeritAmount;
use crate::block::{
    ColumnKind, Headline, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, StyledText,
};
use crate::figures::NONE;
use crate::layout::get;
use crate::{Error, Options, Result, markdown, term, verdict, words};

/// The formats that two runs are shown in.
pub const FORMATS: [&str; 4] = ["term", "text", "md", "json"];

/// So many cells are named in a sentence.
const NAMED: usize = 5;

/// One of the two runs.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Its folder, as it was named.
    pub folder: &'a str,
    /// What it found.
    pub document: &'a Document,
}

/// What the second of two runs says of the first, in one of the [`FORMATS`]. With a limit, a share by
/// which the second may be slower, it says what is worse.
///
/// # Errors
/// [`Error::UnknownFormat`]; [`Error::Json`].
pub fn two_runs(
    runs: [Side<'_>; 2],
    found: &TwoRuns,
    limit: Option<f64>,
    format: &str,
    options: &Options,
) -> Result<String> {
    let title = format!("{} against {}", runs[1].folder, runs[0].folder);
    match format {
        "term" => Ok(term::of_blocks(&title, blocks(runs, found, limit), options)),
        "text" => Ok(term::of_blocks(&title, blocks(runs, found, limit), &term::plain(options))),
        "md" => Ok(markdown::of_blocks(&title, &blocks(runs, found, limit))),
        "json" => json(runs, found, limit),
        _ => Err(Error::UnknownFormat { format: format.to_owned(), known: FORMATS.join(", ") }),
    }
}

/// The set-up first, then the figures, then what follows.
fn blocks(runs: [Side<'_>; 2], found: &TwoRuns, limit: Option<f64>) -> Vec<ReportBlock> {
    let mut blocks = vec![
        ReportBlock::Facts(facts(runs)),
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
        blocks.push(ReportBlock::Table(shared(runs, &found.shared)));
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
        told.map(|(what, cells)| (what.to_owned(), named(cells))).collect();
    if !told.is_empty() {
        blocks.push(ReportBlock::Heading("What has no ratio".into()));
        blocks.push(ReportBlock::Facts(told));
    }
    blocks.push(ReportBlock::Headline(headline(found, limit)));
    blocks
}

/// What either run is.
fn facts(runs: [Side<'_>; 2]) -> Vec<(String, String)> {
    let of = |(name, side): (&str, Side<'_>)| {
        let Side { folder, document } = side;
        let run = &document.run.run;
        let trials = document.trials.iter().filter(|trial| trial.valid).count();
        let (trials, warnings) =
            (words::many(trials, "trial"), words::many(document.warnings.len(), "warning"));
        let state = if document.run.status == Status::Finished { "" } else { ", not finished" };
        let (version, started) = (&run.version, words::date(run.started_s));
        let fact = format!("{folder}, bakeoff {version}, {started}, {trials}, {warnings}{state}");
        (name.to_owned(), fact)
    };
    ["before", "after"].into_iter().zip(runs).map(of).collect()
}

fn set_up(differences: &[SetUp]) -> ReportTable {
    let value = |value: &Option<String>| match value.as_deref() {
        None | Some("") => NONE.to_owned(),
        Some(value) => value.to_owned(),
    };
    let row =
        |it: &SetUp| ReportRow::from_cells([it.what.clone(), value(&it.before), value(&it.after)]);
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

/// The figure of merit of a comparison.
fn merit(it: &SharedCell) -> FigureOfMerit {
    FigureOfMerit::of_metric(&it.comparison.metric).unwrap_or(FigureOfMerit::Time)
}

/// A row for each cell and operation that both runs have.
fn shared(runs: [Side<'_>; 2], all: &[SharedCell]) -> ReportTable {
    let factors = varying(runs[0].document, all);
    let named = factors.iter().map(|factor| ReportColumn::new(ColumnKind::Condition, *factor));
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
        let levels =
            factors.iter().map(|factor| ReportCell::from(get(&it.comparison.levels, factor)));
        ReportRow::from_cells(levels.chain(cells(it)))
    };
    let held_back = all.iter().filter(|it| it.comparison.is_held_back());
    let over = held_back.map(|it| it.comparison.adjusted_over).max();
    ReportTable {
        caption: caption(runs, all).into(),
        columns: named.chain(columns).collect(),
        rows: all.iter().map(row).collect(),
        note: over.map(|over| verdict::explained(Some(over))),
        ..ReportTable::default()
    }
}

/// Whether trials of a run are of several machines.
fn is_on_several(side: &Side<'_>) -> bool {
    side.document.machines.as_ref().is_some_and(|found| found.machines.len() > 1)
}

fn caption(runs: [Side<'_>; 2], all: &[SharedCell]) -> String {
    let rates = all.iter().filter(|it| merit(it).is_rate()).count();
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

/// The factors whose levels differ among the cells, in the plan's order; else the compared one.
fn varying<'a>(document: &'a Document, all: &[SharedCell]) -> Vec<&'a str> {
    let run = &document.run.run;
    let differs = |factor: &&str| {
        let mut levels = all.iter().map(|it| get(&it.comparison.levels, factor));
        let first = levels.next();
        levels.any(|level| Some(level) != first)
    };
    let factors: Vec<&str> =
        run.factors.iter().map(|(factor, _)| factor.as_str()).filter(differs).collect();
    if factors.is_empty() { vec![run.compare.as_str()] } else { factors }
}

/// What a row says after its levels.
fn cells(it: &SharedCell) -> [ReportCell; 7] {
    let comparison = &it.comparison;
    let contrast = Contrast::shown(comparison);
    let figure = |value, is_bound| MeritAmount { merit: merit(it), value, is_bound }.text();
    // Of a ratio that says nothing either figure may be cut off.
    let is = comparison.ratio_is;
    let ratio = contrast.map(|it| words::ratio_or_bound(it.ratio, it.is));
    let interval = contrast.and_then(|it| words::ends(it.ends, it.is, it.blocks));
    let verdict = match comparison.is_held_back() {
        true => verdict::marked(comparison.verdict),
        false => comparison.verdict.word().to_owned(),
    };
    [
        comparison.operation.clone().into(),
        figure(it.before, matches!(is, Some(RatioIs::AtMost) | None)).into(),
        figure(it.after, matches!(is, Some(RatioIs::AtLeast) | None)).into(),
        ratio.unwrap_or_else(|| NONE.into()).into(),
        interval.unwrap_or_else(|| NONE.into()).into(),
        format!("{}, {}", it.trials[0], it.trials[1]).into(),
        ReportCell::verdict(verdict),
    ]
}

/// Some cells in words, and how many more there are.
fn named(cells: &[Levels]) -> String {
    let mut texts: Vec<String> = cells.iter().take(NAMED).map(in_words).collect();
    if cells.len() > NAMED {
        texts.push(format!("{} more", cells.len() - NAMED));
    }
    texts.join("; ")
}

/// What follows, in a sentence.
fn headline(found: &TwoRuns, limit: Option<f64>) -> Headline {
    let all = words::many(found.shared.len(), "comparison");
    let count =
        |word: Verdict| found.shared.iter().filter(|it| it.comparison.verdict == word).count();
    let decided = found.shared.iter().filter(|it| it.is_decided()).count();
    let voided = count(Verdict::Void);
    let void = void(found);
    let tally = format!(
        "Of {all}: {} slower, {} faster, {} the same, {} not decided.{void}",
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Same),
        found.shared.len() - decided - voided
    );
    let (broken, sentence) = match limit.map(|limit| (limit, found.gate(limit))) {
        None => (String::new(), tally),
        Some((limit, GateVerdict::Worse)) => (worse(found, limit), tally),
        Some((limit, GateVerdict::Passed)) => {
            let limit = percent(limit);
            (String::new(), format!("Nothing is shown to be slower by more than {limit}. {tally}"))
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

/// What is void, by name: it is neither slower nor faster, however far apart it is.
fn void(found: &TwoRuns) -> String {
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

/// A limit as it was given: `10 %`, `7.5 %`.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

/// What is worse than a limit, by name.
fn worse(found: &TwoRuns, limit: f64) -> String {
    let slower: Vec<&SharedCell> = found.shared.iter().filter(|it| it.is_worse(limit)).collect();
    let of = |it: &&SharedCell| {
        let SharedCell { comparison, .. } = it;
        let is = comparison.ratio_is.unwrap_or(RatioIs::Exact);
        let ratio = comparison.ratio.map(|ratio| words::times(ratio, is)).unwrap_or_default();
        let (operation, cell) = (&comparison.operation, in_words(&comparison.levels));
        format!("{operation} in {cell} takes {ratio} times as long")
    };
    let mut texts: Vec<String> = slower.iter().take(NAMED).map(of).collect();
    if slower.len() > NAMED {
        texts.push(format!("{} more", slower.len() - NAMED));
    }
    if !found.fell_behind.is_empty() {
        texts.push(format!("no longer keeps up with its rate: {}", named(&found.fell_behind)));
    }
    if !found.hung.is_empty() {
        texts.push(format!("does not end an operation: {}", named(&found.hung)));
    }
    format!("Worse by more than {}: {}.", percent(limit), texts.join("; "))
}

/// The version of the JSON's form.
const SCHEMA: u32 = 2;

/// What JSON says of two runs.
#[derive(Serialize)]
struct TwoRunsJson<'a> {
    schema: u32,
    before: RunJson<'a>,
    after: RunJson<'a>,
    limit: Option<f64>,
    gate: Option<GateVerdict>,
    #[serde(flatten)]
    found: &'a TwoRuns,
}

/// What JSON says of either run.
#[derive(Serialize)]
struct RunJson<'a> {
    folder: &'a str,
    name: &'a str,
    version: &'a str,
    started_s: f64,
}

fn json(runs: [Side<'_>; 2], found: &TwoRuns, limit: Option<f64>) -> Result<String> {
    let [before, after] = runs.map(|Side { folder, document }| {
        let run = &document.run.run;
        RunJson { folder, name: &run.name, version: &run.version, started_s: run.started_s }
    });
    let gate = limit.map(|limit| found.gate(limit));
    let written = TwoRunsJson { schema: SCHEMA, before, after, limit, gate, found };
    Ok(serde_json::to_string_pretty(&written)? + "\n")
}
