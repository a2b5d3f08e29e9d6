//! docs/findings/vote.md: what each step of a page costs, on six databases.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Document, RatioBound, compare_changes, select_counted};
use bakeoff_results::measure::{CPU, OPERATIONS};
use bakeoff_results::{Scope, TrialSummary};

use crate::figures::{Times, digits, or_dash};
use crate::kept::{self, has, operation};
use crate::page::{Named, check_file, check_page, check_warnings, csv, fill, table};

/// What was published: page, log, connections, requests a second.
const PUBLISHED: &str = include_str!("../../../../experiments/articles/vote-2017.csv");

const LOGGED: &str = "tarantool:memtx/wal_mode=write";
const UNLOGGED: &str = "tarantool:memtx";
/// The databases: the level, and the name on the page.
const DATABASES: [(&str, &str); 6] = [
    (LOGGED, "Tarantool with its log"),
    (UNLOGGED, "Tarantool without"),
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
fn rows_of_steps(row: impl Fn((&str, &str)) -> String + Copy) -> impl Iterator<Item = String> {
    let row = move |(engine, name), step| format!("{name} | `{step}` | {}", row((engine, step)));
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

const STEP_COLUMNS: &str = "`read+write` | `read` | `connect` | `stub`";

fn row_of_steps(engine: &str, clients: &str) -> String {
    let over = |step| step_over(step, WHOLE, engine, clients).plain_of(BLOCKS);
    let over = ["read", "connect", "stub"].map(over).join(" | ");
    format!("{} | {over}", rate((engine, WHOLE, clients)))
}

const CONNECTING: [&str; 3] = [
    "longer by ms with 1 connection",
    "processor time with 50 connections",
    "processor time with 150 connections",
];

fn row_of_connecting(engine: &str) -> [String; 3] {
    let [more, least, most] = longer_ms(engine).map(digits);
    let [few, many] = ["50", "150"].map(|clients| connecting(engine, clients).plain_of(BLOCKS));
    [format!("{more} ({least} to {most})"), few, many]
}

/// Milliseconds of processor time of a request of the whole page.
fn row_of_processor(at: At<'_>) -> String {
    let processes = &cell(at).processes;
    let milliseconds = |whose| {
        let found = processes.iter().find(|it| it.name == whose);
        or_dash(found.map(|it| it.cpu_per_operation_s * 1e3))
    };
    ["web", "php", "database"].map(milliseconds).join(" | ")
}

const LOG_COLUMNS: &str =
    "with the log | without | requests without over with | processor time without over with";

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

const DATABASE_COLUMNS: &str =
    "requests/s | mean ms of a page | p99 ms | over Tarantool with its log";

fn row_of_database(engine: &str, clients: &str) -> String {
    let milliseconds = |seconds: Option<f64>| or_dash(seconds.map(|it| it * 1e3));
    let at = (engine, WHOLE, clients);
    let page = operation(&cell(at).operations, "page");
    let over = match engine {
        LOGGED => "–".into(),
        _ => over_the_log(engine, clients).plain_of(BLOCKS),
    };
    let [mean, p99] = [page.mean_s, page.p99_s].map(milliseconds);
    format!("{} | {mean} | {p99} | {over}", rate(at))
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
        ("vote: first", first.plain()),
        ("vote: first word", first.beside(few)),
        ("vote: first, votes", with_votes(few, fewer)),
        ("vote: many", digits(many)),
        ("vote: second", second.plain()),
        ("vote: second word", second.beside(many)),
        ("vote: second, votes", with_votes(many, more)),
        ("vote: rise there", digits(many / few)),
        ("vote: rise", rises.plain()),
        ("vote: rise word", rises.beside(many / few)),
        ("vote: off", digits(off)),
        ("vote: log", log.plain()),
        ("vote: log word", log.beside(off)),
        ("vote: points", digits(20.0 / 28.0)),
        ("vote: connecting", connecting(LOGGED, "50").plain()),
        ("vote: sqlite", over("sqlite")),
        ("vote: innodb", over("mariadb:innodb")),
        ("vote: myrocks", over("mariadb:rocksdb")),
        ("vote: postgres", over("postgres")),
    ]
}

/// What the page has no room for: rates and knees of each step, and its tables at both numbers of connections.
fn check_files() {
    let rates = rows_of_steps(|(engine, step)| {
        let rates = CONNECTIONS.map(|clients| rate((engine, step, clients))).join(" | ");
        format!("{rates} | {}", knee(engine, step))
    });
    let both = |row: fn(&str, &str) -> String| {
        let at = |clients| rows(move |engine| format!("{clients} | {}", row(engine, clients)));
        at("50").chain(at("150")).collect::<Vec<_>>()
    };
    for (name, columns, rows) in [
        ("rates", "database | step | 1 | 10 | 50 | 150 | 500 | N*", rates.collect()),
        ("steps", &format!("database | connections | {STEP_COLUMNS}"), both(row_of_steps)),
        (
            "databases",
            &format!("database | connections | {DATABASE_COLUMNS}"),
            both(row_of_database),
        ),
        (
            "connecting",
            &format!("database | {}", CONNECTING.join(" | ")),
            rows(|engine| row_of_connecting(engine).join(" | ")).collect(),
        ),
        (
            "processor",
            "database | web | php | the database",
            rows(|engine| row_of_processor((engine, WHOLE, "150"))).collect(),
        ),
        ("log", &format!("connections | {LOG_COLUMNS}"), CONNECTIONS.map(row_of_log).into()),
    ] {
        check_file(&format!("docs/findings/vote/{name}.csv"), &csv(columns, rows));
    }
}

#[test]
fn the_page_is_of_the_run() {
    check_warnings("docs/findings/vote.md", &DOCUMENT);
    check_files();
    let knees = DATABASES.map(|(engine, name)| format!("{name} {}", knee(engine, WHOLE)));
    let connecting = rows(|engine| row_of_connecting(engine)[..2].join(" | "));
    let at_150 = |row: fn(&str, &str) -> String| rows(move |engine| row(engine, "150"));
    check_page(
        "docs/findings/vote.md",
        &[
            fill("vote: claims", &figures()),
            ("knees", format!("{}.", knees.join("; "))),
            ("steps", table(&format!("database | {STEP_COLUMNS}"), at_150(row_of_steps))),
            (
                "connecting",
                table(&format!("database | {}", CONNECTING[..2].join(" | ")), connecting),
            ),
            (
                "databases",
                table(&format!("database | {DATABASE_COLUMNS}"), at_150(row_of_database)),
            ),
        ],
    );
}
