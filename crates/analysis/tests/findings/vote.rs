//! docs/findings/vote.md: what each step of a page costs, on six databases.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Document, RatioBound, compare_changes, select_counted};
use bakeoff_results::measure::{CPU, OPERATIONS};
use bakeoff_results::{Scope, TrialSummary};

use crate::figures::{Times, digits, or_dash};
use crate::kept::{self, has, operation};
use crate::page::{Named, check_page, check_warnings, fill, table};

/// What was published: page, log, connections, requests a second.
const PUBLISHED: &str = include_str!("../../../../experiments/articles/vote-2017.csv");

const LOGGED: &str = "tarantool:memtx/wal_mode=write";
const UNLOGGED: &str = "tarantool:memtx";
/// The databases: the level, and the name on the page.
const DATABASES: [(&str, &str); 6] = [
    (LOGGED, "Tarantool, with its log"),
    (UNLOGGED, "Tarantool, without"),
    ("mariadb:innodb", "InnoDB"),
    ("mariadb:rocksdb", "MyRocks"),
    ("postgres", "PostgreSQL"),
    ("sqlite", "SQLite"),
];
const WHOLE: &str = "read+write";
const STEPS: [&str; 4] = ["stub", "connect", "read", WHOLE];
/// Blocks of each comparison, as the page says.
const BLOCKS: u32 = 4;
const CONNECTIONS: [&str; 5] = ["1", "10", "50", "150", "500"];

static DOCUMENT: LazyLock<Document> = LazyLock::new(|| kept::read("findings/vote"));

/// The database, the step and the connections.
type At<'a> = (&'a str, &'a str, &'a str);

/// The article's page: with the log, with 50 connections.
const BASE: At<'static> = (LOGGED, WHOLE, "50");

fn levels((engine, step, clients): At<'_>) -> [(&'static str, &str); 3] {
    [("engine", engine), ("step", step), ("clients", clients)]
}

fn cell(at: At<'_>) -> &'static CellView {
    kept::cell(&DOCUMENT, &levels(at)).expect("a cell")
}

/// Requests a second, of pages and votes.
fn rate(at: At<'_>) -> String {
    digits(cell(at).total.as_ref().expect("a rate").typical.operations_per_second)
}

/// How a figure of trials compares, in pairs of the same repetition.
fn compare(figure: fn(&TrialSummary) -> f64, over: At<'_>, under: At<'_>) -> Times {
    let figures = |at: At<'_>| -> BTreeMap<u32, f64> {
        let trials = select_counted(&DOCUMENT.trials).into_iter();
        let its = trials.filter(|trial| has(&trial.levels, &levels(at)));
        its.map(|trial| (trial.repetition, figure(trial))).collect()
    };
    let (over, under) = (figures(over), figures(under));
    let pairs = under.iter().map(|(repetition, below)| (*below, over[repetition]));
    Times::from_pairs(&pairs.collect::<Vec<_>>())
}

/// Requests a second of a step over those of another one, in the same blocks.
fn step_over(step: &str, base: &str, engine: &str, clients: &str) -> Times {
    let at = [("engine", engine), ("clients", clients)];
    let found = kept::compared(&DOCUMENT, [step, base], None, &at);
    Times::from_comparison(found.expect("it was compared"))
}

/// The whole page's requests a second over those of Tarantool with its log, of the same repetitions.
fn over_the_log(engine: &str, clients: &str) -> Times {
    let [one, other] = [LOGGED, engine].map(|engine| &cell((engine, WHOLE, clients)).levels);
    let found = compare_changes(&DOCUMENT.run.run, &DOCUMENT.trials, [(one, other)]);
    let [change] = &found[..] else { panic!("{} changes", found.len()) };
    Times::from_comparison(&change.comparison)
}

fn pages(trial: &TrialSummary) -> f64 {
    operation(&trial.operations, "page").per_second
}

fn requests(trial: &TrialSummary) -> f64 {
    trial.operations.iter().map(|it| it.per_second).sum()
}

/// Seconds of a processor that the database took for a request.
fn processor_time(trial: &TrialSummary) -> f64 {
    let of = |measure, scope| trial.measures.get(measure, &scope).expect("a measure");
    of(&CPU, Scope::DATABASE) / of(&OPERATIONS, Scope::Clients)
}

/// The processor time of connecting, over that of the whole page.
fn connecting(engine: &str, clients: &str) -> Times {
    compare(processor_time, (engine, "connect", clients), (engine, WHOLE, clients))
}

/// By how many milliseconds a page takes longer that connects, alone on the server, with the interval.
fn longer_ms(engine: &str) -> [f64; 3] {
    let Times { ratio, low, high, pairs } = step_over("stub", "connect", engine, "1");
    let bare_ms = operation(&cell((engine, "stub", "1")).operations, "page").mean_s.unwrap() * 1e3;
    assert_eq!(pairs, BLOCKS);
    [ratio, low, high].map(|it| (it - 1.0) * bare_ms)
}

/// Requests a second that were published.
fn published(row: &str) -> f64 {
    let found = PUBLISHED.lines().find_map(|line| line.strip_prefix(&format!("{row},")));
    found.expect("a row").trim().parse().expect("a number")
}

/// A row for each database.
fn rows(row: impl Fn(&str) -> String) -> impl Iterator<Item = String> {
    DATABASES.iter().map(move |(engine, name)| format!("{name} | {}", row(engine)))
}

/// A row for each database and step.
fn rows_of_steps(row: impl Fn(At<'_>) -> String + Copy) -> impl Iterator<Item = String> {
    let row =
        move |(engine, name), step| format!("{name} | `{step}` | {}", row((engine, step, "150")));
    DATABASES.into_iter().flat_map(move |it| STEPS.map(move |step| row(it, step)))
}

fn knee(engine: &str, step: &str) -> String {
    let sweep = DOCUMENT.sweep.as_ref().expect("connections are numeric");
    let mut knees = sweep.knees.iter();
    let at = [("engine", engine), ("step", step)];
    let it = knees.find(|it| has(&it.levels, &at)).expect("a knee");
    let end = |end: Option<f64>| digits(end.expect("an end of the interval"));
    match it.clients_is {
        RatioBound::Exact => format!("{} ({}–{})", digits(it.clients), end(it.low), end(it.high)),
        // The estimate itself bounds nothing.
        RatioBound::AtLeast => format!("≥ {}", end(it.low)),
        RatioBound::AtMost => format!("≤ {}", end(it.high)),
    }
}

fn steps(clients: &str) -> String {
    let row = |engine: &str| {
        let over = |step| step_over(step, WHOLE, engine, clients).plain_of(BLOCKS);
        let over = ["read", "connect", "stub"].map(over).join(" | ");
        format!("{} | {over}", rate((engine, WHOLE, clients)))
    };
    table("database | `read+write` | `read` | `connect` | `stub`", rows(row))
}

fn row_of_connecting(engine: &str) -> String {
    let [more, least, most] = longer_ms(engine).map(digits);
    let [few, many] = ["50", "150"].map(|clients| connecting(engine, clients).plain_of(BLOCKS));
    format!("{more} ({least} to {most}) | {few} | {many}")
}

/// Milliseconds of processor time of a request of the whole page.
fn row_of_processor(at: At<'_>) -> String {
    let processes = &cell(at).processes;
    let milliseconds = |whose| {
        let found = processes.iter().find(|it| it.name == whose);
        or_dash(found.map(|it| it.cpu_per_operation_s * 1e3))
    };
    ["web", "php", "database", "clients"].map(milliseconds).join(" | ")
}

fn row_of_log(clients: &str) -> String {
    let [logged, unlogged] = [LOGGED, UNLOGGED].map(|engine| (engine, WHOLE, clients));
    // Of a hundred requests ticks of 10 ms say too little.
    let time = match clients {
        "1" | "10" => "–".into(),
        _ => compare(processor_time, unlogged, logged).plain_of(BLOCKS),
    };
    let over = over_the_log(UNLOGGED, clients).plain_of(BLOCKS);
    format!("{clients} | {} | {} | {over} | {time}", rate(logged), rate(unlogged))
}

fn databases(clients: &str) -> String {
    let milliseconds = |seconds: Option<f64>| {
        seconds.map_or("–".into(), |it| format!("{} ms", digits(it * 1e3)))
    };
    let row = |engine: &str| {
        let at = (engine, WHOLE, clients);
        let page = operation(&cell(at).operations, "page");
        let over = match engine {
            LOGGED => "–".into(),
            _ => over_the_log(engine, clients).plain_of(BLOCKS),
        };
        let [mean, p99] = [page.mean_s, page.p99_s].map(milliseconds);
        format!("{} | {mean} | {p99} | {over}", rate(at))
    };
    let columns = "database | requests/s | mean of a page | p99 | over Tarantool with its log";
    table(columns, rows(row))
}

/// What the page's claims say, by the names of places.
fn figures() -> Vec<Named> {
    let whole = published("everything,on,50");
    let [few, many] = ["50", "150"].map(|it| published(&format!("constants,on,{it}")) / whole);
    let off = published("everything,off,50") / whole;
    let [fewer, more] = ["50", "150"].map(|clients| (LOGGED, "stub", clients));
    let [first, second] = [fewer, more].map(|over| compare(pages, over, BASE));
    let rises = compare(pages, more, fewer);
    let log = compare(pages, (UNLOGGED, WHOLE, "50"), BASE);
    // Votes may decide how a ratio is called.
    let with_votes = |theirs: f64, over| {
        let word = compare(requests, over, BASE).beside(theirs);
        if word.starts_with("can’t tell") { "open".into() } else { word }
    };
    let over = |engine| over_the_log(engine, "150").plain();
    vec![
        ("vote: few", digits(few)),
        ("vote: first", first.pairs()),
        ("vote: first word", first.beside(few)),
        ("vote: first, votes", with_votes(few, fewer)),
        ("vote: many", digits(many)),
        ("vote: second", second.pairs()),
        ("vote: second word", second.beside(many)),
        ("vote: second, votes", with_votes(many, more)),
        ("vote: rise there", digits(many / few)),
        ("vote: rise", rises.pairs()),
        ("vote: rise word", rises.beside(many / few)),
        ("vote: off", digits(off)),
        ("vote: log", log.pairs()),
        ("vote: log word", log.beside(off)),
        ("vote: points", digits(20.0 / 28.0)),
        ("vote: connecting", connecting(LOGGED, "50").pairs()),
        ("vote: sqlite", over("sqlite")),
        ("vote: innodb", over("mariadb:innodb")),
        ("vote: myrocks", over("mariadb:rocksdb")),
        ("vote: postgres", over("postgres")),
    ]
}

#[test]
fn the_page_is_of_the_run() {
    check_warnings("docs/findings/vote.md", &DOCUMENT);
    let rates = |(engine, step, _): At<'_>| {
        CONNECTIONS.map(|clients| rate((engine, step, clients))).join(" | ")
    };
    let knees = rows(|engine| STEPS.map(|step| knee(engine, step)).join(" | "));
    let connecting = rows(row_of_connecting);
    let log = CONNECTIONS.map(row_of_log);
    check_page(
        "docs/findings/vote.md",
        &[
            fill("vote: claims", &figures()),
            ("rates", table("database | step | 1 | 10 | 50 | 150 | 500", rows_of_steps(rates))),
            ("knees", table("database | `stub` | `connect` | `read` | `read+write`", knees)),
            ("steps-50", steps("50")),
            ("steps-150", steps("150")),
            (
                "connecting",
                table(
                    "database | longer by ms, 1 connection | processor time, 50 connections | 150 connections",
                    connecting,
                ),
            ),
            (
                "processor",
                table(
                    "database | web | php | the database | clients",
                    rows(|engine| row_of_processor((engine, WHOLE, "150"))),
                ),
            ),
            (
                "log",
                table(
                    "connections | with the log | without | requests, without over with | processor time, without over with",
                    log,
                ),
            ),
            ("databases-50", databases("50")),
            ("databases-150", databases("150")),
        ],
    );
}
