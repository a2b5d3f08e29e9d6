//! The page docs/findings/vote.md says what its run folder says: every row of its tables is made from there.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bakeoff_analysis::{
    CellView, Comparison, Document, Ours, RatioIs, Verdict, changes, counted, shape,
};
use bakeoff_results::measure::{CPU, OPERATIONS};
use bakeoff_results::published::PublishedValue;
use bakeoff_results::{Levels, OperationSummary, Scope, TrialSummary};
use bakeoff_stats::{CONFIDENCE, paired};

use super::kept::{self, digits};

const PAGE: &str = include_str!("../../../../docs/findings/vote.md");
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
const CONNECTIONS: [&str; 5] = ["1", "10", "50", "150", "500"];

static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| kept::read("vote", |folder| bakeoff_analysis::document(folder).unwrap()));

/// What a figure is of: the database, the step and the connections.
type Place<'a> = (&'a str, &'a str, &'a str);

/// The article's page: with the log, with 50 connections.
const BASE: Place<'static> = (LOGGED, WHOLE, "50");

fn is_at(levels: &Levels, (engine, step, clients): Place<'_>) -> bool {
    levels["engine"] == engine && levels["step"] == step && levels["clients"] == clients
}

fn cell(place: Place<'_>) -> &'static CellView {
    DOCUMENT.cells.iter().find(|it| is_at(&it.levels, place)).expect("a cell")
}

fn page(operations: &[OperationSummary]) -> &OperationSummary {
    operations.iter().find(|it| it.name == "page").expect("pages")
}

/// Requests a second, of pages and votes.
fn rate(place: Place<'_>) -> f64 {
    cell(place).total.as_ref().expect("a rate").typical.operations_per_second
}

/// The same of each of its trials.
fn rates(place: Place<'_>) -> Vec<f64> {
    let each = &cell(place).total.as_ref().expect("a rate").each;
    each.iter().map(|total| total.operations_per_second).collect()
}

/// The least and the most.
fn span(values: impl IntoIterator<Item = f64>) -> String {
    let ends = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
    let (least, most) = values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    format!("{} to {}", digits(least), digits(most))
}

/// How many times as much something is, with the ends of the 95 % interval.
#[derive(Clone, Copy)]
struct Times {
    ratio: f64,
    low: f64,
    high: f64,
    pairs: u32,
}

impl Times {
    /// How many times as many requests a second the level has as the baseline.
    fn as_many(it: &Comparison) -> Self {
        assert_eq!(it.ratio_is, Some(RatioIs::Exact));
        let inverse = |end: Option<f64>| 1.0 / end.expect("a ratio with its interval");
        let (low, high) = (inverse(it.high), inverse(it.low));
        Self { ratio: inverse(it.ratio), low, high, pairs: it.blocks }
    }

    /// Of a figure of trials, in pairs of the same repetition.
    fn of(figure: fn(&TrialSummary) -> f64, over: Place<'_>, under: Place<'_>) -> Self {
        let trials = counted(&DOCUMENT.trials);
        let at = |place: Place<'_>| -> BTreeMap<u32, f64> {
            let its = trials.iter().filter(|trial| is_at(&trial.levels, place));
            its.map(|trial| (trial.repetition, figure(trial))).collect()
        };
        let (over, under) = (at(over), at(under));
        let pair = |(repetition, below): (&u32, &f64)| (*below, over[repetition]);
        let pairs: Vec<(f64, f64)> = under.iter().map(pair).collect();
        let found = paired::ratio(&pairs, CONFIDENCE).unwrap();
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        Self { ratio: found.ratio, low, high, pairs: found.pairs as u32 }
    }

    fn interval(self) -> String {
        format!("{} ({}–{})", digits(self.ratio), digits(self.low), digits(self.high))
    }

    fn blocks(self) -> String {
        format!("{}, {} blocks", self.interval(), self.pairs)
    }

    fn pairs(self) -> String {
        format!("{}, {} pairs", self.interval(), self.pairs)
    }

    /// What a published ratio is beside it.
    fn beside(self, theirs: f64) -> String {
        let Self { ratio, low, high, pairs } = self;
        let (low, high) = (Some(low), Some(high));
        let ours = Ours { ratio, ratio_is: RatioIs::Exact, low, high, pairs };
        shape(Ok(PublishedValue::Exactly(theirs)), Ok(ours)).words()
    }
}

/// A step against a less bare one, of the same blocks.
fn compared(level: &str, baseline: &str, engine: &str, clients: &str) -> &'static Comparison {
    let is_it = |it: &&Comparison| {
        let is_there = it.levels["engine"] == engine && it.levels["clients"] == clients;
        is_there && it.level == level && it.baseline == baseline
    };
    let mut all = DOCUMENT.comparisons.iter().chain(&DOCUMENT.between);
    all.find(is_it).expect("a comparison")
}

/// Requests a second of a step over those of a less bare one.
fn step_over(level: &str, baseline: &str, engine: &str, clients: &str) -> Times {
    Times::as_many(compared(level, baseline, engine, clients))
}

/// The whole page's requests a second over those of Tarantool with its log, of the same repetitions.
fn over_the_log(engine: &str, clients: &str) -> Times {
    let of = |engine| &cell((engine, WHOLE, clients)).levels;
    let found = changes(&DOCUMENT.run.run, &DOCUMENT.trials, [(of(LOGGED), of(engine))]);
    let [change] = &found[..] else { panic!("{} changes", found.len()) };
    Times::as_many(&change.comparison)
}

fn pages_a_second(trial: &TrialSummary) -> f64 {
    page(&trial.operations).per_second
}

fn requests_a_second(trial: &TrialSummary) -> f64 {
    trial.operations.iter().map(|it| it.per_second).sum()
}

/// Seconds of a processor that the database took for a request.
fn processor_time(trial: &TrialSummary) -> f64 {
    let of = |measure, scope| trial.measures.get(measure, &scope).expect("a measure");
    of(&CPU, Scope::DATABASE) / of(&OPERATIONS, Scope::Clients)
}

/// The part of one processor that nginx, PHP and the database had.
fn used(trial: &TrialSummary) -> f64 {
    let groups = ["web", "php", "database"].map(|name| Scope::Processes(name.into()));
    let had = groups.iter().filter_map(|group| trial.measures.get(&CPU, group));
    had.sum::<f64>() / trial.ran_s.expect("it ran")
}

/// Requests a second that were published.
fn published(row: &str) -> f64 {
    let found = PUBLISHED.lines().find_map(|line| line.strip_prefix(&format!("{row},")));
    found.expect("a row").trim().parse().expect("a number")
}

#[track_caller]
fn assert_page(rows: &str) {
    assert!(PAGE.contains(rows), "docs/findings/vote.md should hold these rows:\n{rows}");
}

/// That the page says so, wherever its lines break.
#[track_caller]
fn assert_says(words: &str) {
    let prose = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains(words), "docs/findings/vote.md should say: {words}");
}

/// The rows of a table that has one for each database and step.
fn rows_of_steps(of: impl Fn(&str, &str) -> String) -> String {
    let places = DATABASES.iter().flat_map(|it| STEPS.map(|step| (it, step)));
    places.map(|((it, name), step)| format!("| {name} | `{step}` |{}\n", of(it, step))).collect()
}

/// The rows of a table that has one for each database.
fn rows(of: impl Fn(&str) -> String) -> String {
    DATABASES.iter().map(|(engine, name)| format!("| {name} |{}\n", of(engine))).collect()
}

#[test]
fn what_was_published_stands_beside_what_the_run_has() {
    let whole = published("everything,on,50");
    let few = published("constants,on,50") / whole;
    let many = published("constants,on,150") / whole;
    let [fewer, more] = ["50", "150"].map(|clients| (LOGGED, "stub", clients));
    let off = published("everything,off,50") / whole;
    let ours = Times::of(pages_a_second, fewer, BASE);
    // What each is called with votes counted, too.
    let with_votes = |theirs: f64, over| {
        let word = Times::of(requests_a_second, over, BASE).beside(theirs);
        let word = if word.starts_with("can’t tell") { "open".into() } else { word };
        format!("; [{word} with votes counted](#what-could-mislead)")
    };
    let (second, third) =
        (Times::of(pages_a_second, more, BASE), Times::of(pages_a_second, more, fewer));
    for (there, theirs, ours, rest) in [
        ("1,150 over 879: ", few, ours, with_votes(few, fewer)),
        ("about 3,000 over 879: ", many, second, with_votes(many, more)),
        ("about 3,000 over 1,150: ", many / few, third, String::new()),
    ] {
        let word = ours.beside(theirs);
        assert_page(&format!("| {there}{} | {} | {word}{rest} |\n", digits(theirs), ours.pairs()));
    }
    let without = Times::of(pages_a_second, (UNLOGGED, WHOLE, "50"), BASE);
    assert_page(&format!(
        "| 963 over 879: {}, close to the error of measurement | {} | {}. Our error is larger",
        digits(off),
        without.pairs(),
        without.beside(off)
    ));
    let Times { ratio, low, high, .. } = without;
    let [ratio, low, high] = [ratio, low, high].map(digits);
    assert_says(&format!("{ratio} times as many, where anything between {low} and {high}"));
    // Votes decide how the first is called.
    for (theirs, over) in [(few, fewer), (many, more)] {
        let all = Times::of(requests_a_second, over, BASE);
        assert_says(&format!("{} ({})", all.pairs(), all.beside(theirs)));
    }
    assert_says(&format!(
        "its interval begins at {}, and 1.25 times the article's ratio is {}",
        digits(ours.low),
        digits(few * 1.25)
    ));
    assert!(many < second.low && many / few > third.high);
    assert_says(&format!(
        "the article's {} lies below our interval, and its {} above",
        digits(many),
        digits(many / few)
    ));
}

#[test]
fn rates_over_connections_are_those_of_the_run_and_bend_where_it_says() {
    assert_page(&rows_of_steps(|engine, step| {
        let each = CONNECTIONS.map(|clients| digits(rate((engine, step, clients))));
        each.map(|rate| format!(" {rate} |")).concat()
    }));
    let knees = &DOCUMENT.sweep.as_ref().unwrap().knees;
    let knee = |engine: &str, step: &str| {
        let mut its = knees.iter().filter(|it| it.levels["engine"] == engine);
        let it = its.find(|it| it.levels["step"] == step).expect("a knee");
        let end = |end: Option<f64>| digits(end.expect("an end of the interval"));
        match it.clients_is {
            RatioIs::Exact => {
                format!(" {} ({}–{}) |", digits(it.clients), end(it.low), end(it.high))
            }
            // The estimate itself bounds nothing.
            RatioIs::AtLeast => format!(" ≥ {} |", end(it.low)),
            RatioIs::AtMost => format!(" ≤ {} |", end(it.high)),
        }
    };
    assert_page(&rows(|engine| STEPS.map(|step| knee(engine, step)).concat()));
}

#[test]
fn what_each_step_costs_is_what_the_run_compared() {
    for clients in ["50", "150"] {
        assert_page(&rows(|engine| {
            let over = ["read", "connect", "stub"]
                .map(|step| step_over(step, WHOLE, engine, clients).blocks());
            let whole = digits(rate((engine, WHOLE, clients)));
            format!(" {whole} | {} |", over.join(" | "))
        }));
    }
    let over = |engine: &str, step: &str| step_over(step, WHOLE, engine, "150");
    let engines = DATABASES.map(|(engine, _)| engine);
    let others = engines.into_iter().filter(|engine| *engine != "postgres");
    assert_says(&format!(
        "a page of constants is served {} times as often as the whole page, and {} times as often as PostgreSQL's",
        span(others.map(|engine| over(engine, "stub").ratio)),
        digits(over("postgres", "stub").ratio)
    ));
    let connects = span(engines.map(|engine| over(engine, "connect").ratio));
    assert_says(&format!("One that only connects is served {connects} times as often"));
    let clear = engines.iter().filter(|engine| over(engine, "read").low > 1.0).count();
    assert_eq!(clear, 2);
    assert_says("the interval of `read` leaves 1 out in two of six rows");
}

/// By how many milliseconds a page takes longer that connects, alone on the server, with the interval and its blocks.
fn connecting_takes_longer(engine: &str) -> ([f64; 3], u32) {
    let Times { ratio, low, high, pairs } = step_over("stub", "connect", engine, "1");
    let bare_ms = page(&cell((engine, "stub", "1")).operations).mean_s.unwrap() * 1e3;
    ([ratio, low, high].map(|it| (it - 1.0) * bare_ms), pairs)
}

#[test]
fn what_connecting_costs_is_what_the_run_has() {
    let longer = |engine: &str| {
        let (times, pairs) = connecting_takes_longer(engine);
        let [more, least, most] = times.map(digits);
        (format!("{more} ms ({least} to {most}), {pairs} blocks"), more)
    };
    let part = |engine: &str, clients: &str| {
        Times::of(processor_time, (engine, "connect", clients), (engine, WHOLE, clients))
    };
    assert_page(&rows(|engine| {
        let [few, many] = ["50", "150"].map(|clients| part(engine, clients).pairs());
        format!(" {} | {few} | {many} |", longer(engine).0)
    }));
    assert_says(&format!("with one visitor a page takes {} ms longer", longer("postgres").1));
    let theirs = 20.0 / 28.0;
    let ours = part(LOGGED, "50");
    assert!(ours.beside(theirs).contains("same direction, stronger"), "it is less of it");
    let theirs = digits(theirs);
    assert_page(&format!("| 20 points of 28: {theirs} | {} | less of it here |\n", ours.pairs()));
}

/// What README says of this run.
pub fn in_short() -> Vec<String> {
    let at_150 = |step| ("postgres", step, "150");
    let part = Times::of(processor_time, at_150("connect"), at_150(WHOLE));
    assert!(part.low > 0.5, "most of it");
    assert_eq!(kept::confidence(&DOCUMENT), "low confidence", "as what stands before it");
    vec![format!("connecting took {} of PostgreSQL's processor time", digits(part.ratio))]
}

/// What the index of the findings says of it.
pub fn in_index() -> Vec<String> {
    let all = || DOCUMENT.comparisons.iter().chain(&DOCUMENT.between);
    let decided = all().filter(|it| it.verdict.is_decided()).count();
    let constants = |engine| kept::judged("as often", compared("stub", WHOLE, engine, "150"));
    let times = |as_what, it: Times| kept::times(as_what, [it.ratio, it.low, it.high]);
    let rises = Times::of(pages_a_second, (LOGGED, "stub", "150"), (LOGGED, "stub", "50"));
    let theirs = published("constants,on,150") / published("constants,on,50");
    let longer_ms = |engine: &str| connecting_takes_longer(engine).0;
    let others = DATABASES.iter().filter(|(engine, _)| *engine != "postgres");
    let [ratio, low, high] = longer_ms("postgres").map(digits);
    let log = Times::of(pages_a_second, (UNLOGGED, WHOLE, "50"), BASE);
    vec![
        format!(
            "{decided} of {} comparisons are decided, {}",
            all().count(),
            kept::confidence(&DOCUMENT)
        ),
        format!(
            "With 150 connections a page of constants is served {} as the whole page of Tarantool with its log",
            constants(LOGGED)
        ),
        format!("and {} as PostgreSQL's", constants("postgres")),
        format!(
            "With 150 instead of 50 connections it is served {}, in the article {} times: {}",
            times("as often", rises),
            digits(theirs),
            rises.beside(theirs)
        ),
        format!(
            "takes {} ms longer, and PostgreSQL's {ratio} ms ({low} to {high})",
            span(others.map(|(engine, _)| longer_ms(engine)[0]))
        ),
        format!(
            "SQLite serves {} as Tarantool with its log",
            times("as many requests", over_the_log("sqlite", "150"))
        ),
        format!("PostgreSQL {}", times("as many", over_the_log("postgres", "150"))),
        format!("without it {} with 50 connections", times("as many pages", log)),
        format!(
            "The article had {}",
            digits(published("everything,off,50") / published("everything,on,50"))
        ),
    ]
}

#[test]
fn where_the_processor_went_is_what_the_run_counted() {
    let milliseconds = |engine: &str, step: &str, whose: &str| {
        let mut all = cell((engine, step, "150")).processes.iter();
        all.find(|it| it.name == whose).map(|it| it.cpu_per_operation_s * 1e3)
    };
    assert_page(&rows_of_steps(|engine, step| {
        let each = ["web", "php", "database", "clients"];
        let each = each.map(|whose| milliseconds(engine, step, whose).map_or("–".into(), digits));
        each.map(|it: String| format!(" {it} |")).concat()
    }));
    let part = |engine: &str, whose: &str| {
        let had = |whose| milliseconds(engine, WHOLE, whose).expect("it worked");
        had(whose) / ["web", "php", "database"].map(had).iter().sum::<f64>()
    };
    let names = ["Tarantool with its log", "without", "InnoDB", "MyRocks", "PostgreSQL"];
    let php = DATABASES.iter().zip(names);
    let php = php.map(|((engine, _), name)| format!("{} ({name})", digits(part(engine, "php"))));
    assert_says(&format!("PHP's part is {};", php.collect::<Vec<_>>().join(", ")));
    let [logged, postgres] = [LOGGED, "postgres"].map(|engine| part(engine, "database"));
    assert!((0.3..0.37).contains(&logged), "about a third of Tarantool's: {logged}");
    assert!((0.88..0.92).contains(&postgres), "nine tenths of PostgreSQL's: {postgres}");
    // Where a rate says what a page costs the server: the quota is used up.
    for trial in counted(&DOCUMENT.trials) {
        match (&*trial.levels["clients"], &*trial.levels["step"]) {
            ("150" | "500", _) => assert!(used(trial) >= 0.93, "{:?}", trial.levels),
            ("50", "stub") => assert!((0.5..0.7).contains(&used(trial)), "{:?}", trial.levels),
            _ => {}
        }
    }
}

#[test]
fn what_the_log_costs_is_what_the_run_has() {
    let rows = CONNECTIONS.map(|clients| {
        let [logged, unlogged] = [LOGGED, UNLOGGED].map(|engine| (engine, WHOLE, clients));
        // Of a hundred requests ticks of 10 ms say too little.
        let is_told = !["1", "10"].contains(&clients);
        let time = is_told.then(|| Times::of(processor_time, unlogged, logged).pairs());
        let requests = over_the_log(UNLOGGED, clients);
        assert!(requests.low <= 1.0, "no interval lies above 1");
        format!(
            "| {clients} | {} | {} | {} | {} |\n",
            digits(rate(logged)),
            digits(rate(unlogged)),
            requests.pairs(),
            time.unwrap_or("–".into())
        )
    });
    assert_page(&rows.concat());
}

#[test]
fn databases_stand_beside_each_other_as_the_run_has_them() {
    let milliseconds = |seconds: Option<f64>| {
        seconds.map_or("–".into(), |seconds| format!("{} ms", digits(seconds * 1e3)))
    };
    for clients in ["50", "150"] {
        assert_page(&rows(|engine| {
            let whole = page(&cell((engine, WHOLE, clients)).operations);
            let over = (engine != LOGGED).then(|| over_the_log(engine, clients).pairs());
            format!(
                " {} | {} | {} | {} |",
                digits(rate((engine, WHOLE, clients))),
                milliseconds(whole.mean_s),
                milliseconds(whole.p99_s),
                over.unwrap_or("–".into())
            )
        }));
    }
    let [_, _, innodb, myrocks, postgres, sqlite] = DATABASES;
    let over =
        |(engine, name): (&str, &str)| format!("{name} {}", over_the_log(engine, "150").interval());
    let others = [sqlite, innodb, myrocks, postgres].map(over).join("; ");
    assert_page(&format!("| – | {others} | one run"));
}

#[test]
fn the_whole_page_and_constants_are_told_as_the_run_has_them() {
    let whole = page(&cell(BASE).operations);
    let times = [whole.mean_s, whole.p99_s, whole.max_s].map(|it| digits(it.unwrap() * 1e3));
    let [mean, p99, longest] = times;
    assert_says(&format!(
        "{} pages a second, {mean} ms on average, {p99} ms for the slowest of a hundred, {longest} ms at most",
        digits(whole.per_second)
    ));
    // As the table of connections has them; nobody votes there.
    let [fewer, more] = ["50", "150"].map(|clients| digits(rate((LOGGED, "stub", clients))));
    assert_says(&format!("here {fewer} and {more}."));
}

#[test]
fn how_far_rates_were_off_is_told() {
    let off = kept::rates_by_latency(&[&DOCUMENT]);
    assert_says(&format!("in single trials they were {off}"));
}

#[test]
fn what_could_mislead_is_named() {
    assert!(!DOCUMENT.warnings.is_empty());
    for warning in &DOCUMENT.warnings {
        assert_says(&format!("(`{}`)", warning.kind.code()));
    }
    let operations = || counted(&DOCUMENT.trials).into_iter().flat_map(|it| &it.operations);
    assert_eq!(operations().map(|it| it.errors).sum::<u64>(), 0);
    let answers = operations().map(|it| it.count).sum::<u64>() as f64 / 1e6;
    assert_says(&format!("Of {} million answers", digits(answers)));
    let all: Vec<&Comparison> = DOCUMENT.comparisons.iter().chain(&DOCUMENT.between).collect();
    let is_decided =
        |it: &&&Comparison| matches!(it.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same);
    let decided = all.iter().filter(is_decided).count();
    assert_says(&format!("of the {} of the steps {decided} are decided", all.len()));
    assert_says(&format!("had {} requests a second", span(rates(BASE))));
    // No database has a part in constants.
    let constants = DATABASES.map(|(engine, _)| (engine, "stub", "150"));
    assert_says(&format!(
        "they have {} requests a second, and single trials {}",
        span(constants.map(rate)),
        span(constants.into_iter().flat_map(rates))
    ));
    let slowest = page(&cell(("postgres", WHOLE, "500")).operations).mean_s.unwrap();
    assert!(slowest > DOCUMENT.run.run.seconds);
    assert_says(&format!("takes {} s for a page, longer than a trial of 4 s", digits(slowest)));
}
