//! The page docs/findings/text-oltp.md says what its run folders say: every row of its tables is made from
//! there.

use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Comparison, Document, RatioShape, Verdict, WorkView};
use bakeoff_results::FigureOfMerit;

use super::kept::{self, digits};

const PAGE: &str = include_str!("../../../../docs/findings/text-oltp.md");
/// What was published: memory, test, TerarkDB's and InnoDB's rows a second.
const PUBLISHED: &str = include_str!("../../../../experiments/articles/text-oltp-2017.csv");
/// What was published of space: what it is of, and GiB.
const SPACE: &str = include_str!("../../../../docs/findings/text-oltp/space-2017.csv");

const TESTS: [&str; 4] = [
    "point_select",
    "point_select90_update10",
    "secondary_random_points100",
    "secondary_random_limit100",
];
/// Levels of memory, and what the article had that is as large a share of its data.
const THEIRS: [(&str, &str); 4] = [("200%", "192G"), ("33%", "32G"), ("25%", "24G"), ("8%", "8G")];
const BASELINE: &str = "mariadb:innodb";
const MYROCKS: &str = "mariadb:rocksdb";

/// One of the runs that the page tells of.
struct Run {
    document: Document,
    /// Its levels of memory, the most first.
    memory: &'static [&'static str],
    /// Its engines, the baseline first: the level, and the name on the page.
    engines: Vec<(&'static str, &'static str)>,
}

impl Run {
    fn read(
        folder: &str,
        memory: &'static [&'static str],
        others: &[(&'static str, &'static str)],
    ) -> Self {
        let document = kept::read(&format!("text-oltp/{folder}"), |folder| {
            bakeoff_analysis::document(folder).unwrap()
        });
        let engines = [&[(BASELINE, "InnoDB")], others].concat();
        Self { document, memory, engines }
    }

    fn cell(&self, engine: &str, test: &str, memory: &str) -> Option<&CellView> {
        let is_it = |cell: &&CellView| {
            let is = |factor: &str, level: &str| cell.levels[factor] == level;
            is("engine", engine) && is("test", test) && is("memory", memory)
        };
        self.document.cells.iter().find(is_it)
    }

    /// What each row took.
    fn work(&self, engine: &str, test: &str, memory: &str) -> &WorkView {
        let cell = self.cell(engine, test, memory);
        cell.and_then(|cell| cell.work.as_ref()).expect("it was counted")
    }

    /// Bytes written to the device for each byte of the rows that were updated.
    fn write_amplification(&self, engine: &str, memory: &str) -> f64 {
        let cell = self.cell(engine, "point_select90_update10", memory);
        let cost = cell.and_then(|cell| cell.cost).expect("it was counted");
        cost.write_amplification.expect("rows were written")
    }

    fn comparison(&self, engine: &str, test: &str, memory: &str) -> Option<&Comparison> {
        let is_it = |it: &&Comparison| {
            let is = |factor: &str, level: &str| it.levels[factor] == level;
            it.level == engine
                && it.baseline == BASELINE
                && is("test", test)
                && is("memory", memory)
        };
        self.document.comparisons.iter().find(is_it)
    }

    /// How many rows a second each engine had.
    fn rates(&self, test: &str, memory: &str) -> String {
        let rate = |(engine, _): &(&str, &str)| {
            let total = self.cell(engine, test, memory)?.total.as_ref()?.typical;
            total.rate(FigureOfMerit::Rows)
        };
        self.engines.iter().map(|engine| format!(" {} |", or_dash(rate(engine)))).collect()
    }

    /// How many times as many as InnoDB each other one had, with the interval.
    fn ratios(&self, test: &str, memory: &str) -> String {
        let ratio = |(engine, _): &(&str, &str)| {
            let it = self.comparison(engine, test, memory)?;
            let (low, high) = (1.0 / it.high?, 1.0 / it.low?);
            let (ratio, blocks) = (1.0 / it.ratio?, it.blocks);
            Some(format!("{} ({}–{}), {blocks} blocks", digits(ratio), digits(low), digits(high)))
        };
        let others = self.engines[1..].iter();
        others.map(|it| format!(" {} |", ratio(it).unwrap_or("–".into()))).collect()
    }
}

/// With memory for all and for a third of the rows; with a third and a twelfth; the article's preset.
static RUNS: LazyLock<[Run; 3]> = LazyLock::new(|| {
    let (myrocks, postgres) = ((MYROCKS, "MyRocks"), ("postgres", "PostgreSQL"));
    [
        Run::read("first", &["200%", "33%"], &[myrocks, postgres]),
        Run::read("second", &["33%", "8%"], &[postgres, ("sqlite", "SQLite")]),
        Run::read("article", &["200%", "33%", "25%", "8%"], &[myrocks]),
    ]
});

fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".into(), digits)
}

/// The same of TerarkDB in the article.
fn published(test: &str, memory: &str) -> f64 {
    let row = PUBLISHED.lines().find_map(|line| line.strip_prefix(&format!("{memory},{test},")));
    let (terarkdb, innodb) = row.expect("a row").split_once(',').expect("two figures");
    terarkdb.parse::<f64>().expect("a number") / innodb.trim().parse::<f64>().expect("a number")
}

#[track_caller]
fn assert_page(rows: &str) {
    assert!(PAGE.contains(rows), "docs/findings/text-oltp.md should hold these rows:\n{rows}");
}

/// That the page says so, wherever its lines break.
#[track_caller]
fn assert_says(words: &str) {
    let prose = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains(words), "docs/findings/text-oltp.md should say: {words}");
}

/// The least and the most of some figures.
fn ends(figures: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let wider = |(least, most): (f64, f64), it: f64| (least.min(it), most.max(it));
    figures.into_iter().fold((f64::INFINITY, 0.0), wider)
}

/// The rows of a table that has one for each test and level of memory.
fn rows(run: &Run, of: impl Fn(&str, &str) -> String) -> String {
    let levels = TESTS.iter().flat_map(|test| run.memory.iter().map(|memory| (*test, *memory)));
    levels.map(|(test, memory)| format!("| `{test}` | {memory} |{}\n", of(test, memory))).collect()
}

#[test]
fn rows_a_second_are_those_of_the_runs() {
    for run in &*RUNS {
        assert_page(&rows(run, |test, memory| run.rates(test, memory)));
    }
}

#[test]
fn how_far_rates_were_off_is_told() {
    let [first, second, third] = &*RUNS;
    let documents = [first, second, third].map(|run| &run.document);
    let off = kept::rates_by_latency(&documents);
    assert_says(&format!("in single trials they were {off}"));
}

#[test]
fn ratios_are_those_of_the_runs_beside_the_published_ones() {
    for run in &*RUNS {
        assert_page(&rows(run, |test, memory| {
            let (_, theirs) = THEIRS.iter().find(|(ours, _)| *ours == memory).expect("a level");
            format!("{} {} |", run.ratios(test, memory), digits(published(test, theirs)))
        }));
    }
}

/// InnoDB with less memory over InnoDB with all of it.
#[test]
fn the_shapes_are_those_of_the_run() {
    let shapes = |run: &'static Run| {
        run.document.published.iter().flat_map(|it| &it.statements).map(|it| &it.shape)
    };
    let is_same = |it: &&RatioShape| {
        matches!(it, RatioShape::Same | RatioShape::SameByWords | RatioShape::Compatible)
    };
    assert_eq!(RUNS.iter().flat_map(shapes).filter(is_same).count(), 0);
    let of = |sign: &str| shapes(&RUNS[2]).filter(|it| it.sign() == sign).count();
    assert!(shapes(&RUNS[2]).all(|it| it.sign() != "≈" || *it == RatioShape::Stronger));
    assert_eq!([shapes(&RUNS[2]).count(), of("≈"), of("?")], [12, 3, 9]);
    assert_says(
        "none of twelve statements of the same shape, three of the same direction and stronger, and \
         can't tell of nine",
    );
}

#[test]
fn what_a_row_took_is_what_the_runs_counted() {
    for run in &*RUNS {
        let mut rows = String::new();
        for (engine, name) in &run.engines {
            for test in TESTS {
                for memory in run.memory {
                    let Some(cell) = run.cell(engine, test, memory) else { continue };
                    rows += &format!("| {name} | `{test}` | {memory} |{}\n", why(cell));
                }
            }
        }
        assert_page(&rows);
    }
}

/// What a row took: cache misses, reads of the device, kB read, processor time in µs, and write amplification.
fn why(cell: &CellView) -> String {
    let work = cell.work.as_ref().unwrap();
    let figures = [
        work.cache_misses,
        work.device_reads,
        work.device_read_bytes.map(|bytes| bytes / 1e3),
        work.engine_cpu_s.map(|s| s * 1e6),
        cell.cost.and_then(|cost| cost.write_amplification),
    ];
    figures.map(|figure| format!(" {} |", or_dash(figure))).concat()
}

#[test]
fn space_is_what_was_on_the_disk() {
    for run in &*RUNS {
        let mut rows = String::new();
        for (engine, name) in &run.engines {
            let cell = run.cell(engine, "point_select", run.memory[0]);
            let space = cell.and_then(|cell| cell.space).unwrap();
            rows += &format!("| {name} | {} |\n", digits(space.amplification));
        }
        assert_page(&rows);
    }
}

#[test]
fn the_articles_space_stands_beside_it() {
    let gib = |what: &str| -> f64 {
        let found = SPACE.lines().find_map(|line| line.strip_prefix(&format!("{what},")));
        found.expect("a row").parse().expect("a number")
    };
    let all = gib("data and index");
    let row = |name: &str, what: &str| format!("| {name} | {} |\n", digits(gib(what) / all));
    let rows = row("InnoDB, compressed", "InnoDB compressed") + &row("TerarkDB", "TerarkDB");
    assert_page(&rows);
}

#[test]
fn the_paragraph_on_myrocks_follows_from_the_table() {
    let run = &RUNS[0];
    let (least, most) = ends(TESTS.map(|test| {
        let it = run.work(MYROCKS, test, "33%");
        it.device_read_bytes.unwrap() / it.device_reads.unwrap() / 1e3
    }));
    assert_says(&format!("less each time, {least:.1} to {most:.1} kB"));
    let cpu = |engine: &str, test: &str| run.work(engine, test, "33%").engine_cpu_s.unwrap();
    let (least, most) = ends(TESTS.map(|test| cpu(MYROCKS, test) / cpu(BASELINE, test)));
    assert_says(&format!("decompressing, {least:.1} to {most:.1} times InnoDB's time a row"));
}

#[test]
fn the_lead_of_myrocks_at_a_million_rows_is_that_of_the_run() {
    let run = &RUNS[2];
    assert!(run.document.trials.iter().all(|trial| trial.valid));
    assert_says(&format!("all {} of its trials count", run.document.trials.len()));
    let lead = |test, memory| 1.0 / run.comparison(MYROCKS, test, memory).unwrap().ratio.unwrap();
    let single = ["point_select", "point_select90_update10"];
    let (least, most) =
        ends(single.into_iter().flat_map(|test| ["33%", "25%"].map(|memory| lead(test, memory))));
    assert_says(&format!("{least:.2} to {most:.2} times as many single rows as InnoDB"));
    // Each interval by itself lies above 1, and no other does.
    for test in TESTS {
        for memory in ["33%", "25%"] {
            let above = run.comparison(MYROCKS, test, memory).unwrap().high.unwrap() < 1.0;
            assert_eq!(above, single.contains(&test), "{test} {memory}");
        }
    }
}

/// The comparisons of an engine with InnoDB in a run, in these tests and at these levels of memory.
fn against_innodb(
    run: &'static Run,
    engine: &str,
    tests: &[&str],
    memory: &[&str],
) -> Vec<&'static Comparison> {
    let levels = tests.iter().flat_map(|test| memory.iter().map(|memory| (*test, *memory)));
    levels.filter_map(|(test, memory)| run.comparison(engine, test, memory)).collect()
}

/// How many of some comparisons have such a verdict.
fn count(all: &[&Comparison], is: fn(Verdict) -> bool) -> usize {
    all.iter().filter(|it| is(it.verdict)).count()
}

/// Those of MyRocks, in both runs that have it; and those of the others with memory for a twelfth.
fn of_myrocks_and_at_a_twelfth() -> [Vec<&'static Comparison>; 2] {
    let [first, second, article] = &*RUNS;
    let myrocks = [first, article].map(|run| against_innodb(run, MYROCKS, &TESTS, run.memory));
    let others =
        ["postgres", "sqlite"].map(|engine| against_innodb(second, engine, &TESTS, &["8%"]));
    [myrocks.concat(), others.concat()]
}

/// SQLite's lead with single rows and memory for a twelfth.
fn lead_of_sqlite() -> String {
    let it = RUNS[1].comparison("sqlite", "point_select", "8%").expect("it was compared");
    kept::judged("as many single rows", it)
}

/// The confidence of all three runs.
fn confidence() -> String {
    let [first, second, article] = &*RUNS;
    let each = [first, second, article].map(|run| kept::confidence(&run.document));
    assert!(each.iter().all(|it| *it == each[0]), "{each:?}");
    each[0].clone()
}

/// What README says of these runs.
pub fn in_short() -> Vec<String> {
    let [myrocks, twelfth] = of_myrocks_and_at_a_twelfth();
    assert_eq!(count(&myrocks, Verdict::is_decided), 0);
    let decided = count(&twelfth, Verdict::is_decided);
    let few = count(&twelfth, |it| it == Verdict::TooFew);
    vec![format!(
        "Text and scarce memory, {}: none of {} comparisons of MyRocks with InnoDB is decided; where a twelfth \
         fits, {decided} of {} of SQLite and PostgreSQL with InnoDB is, {few} too few: SQLite had {}",
        confidence(),
        myrocks.len(),
        twelfth.len(),
        lead_of_sqlite()
    )]
}

/// What the index of the findings says of them.
pub fn in_index() -> Vec<String> {
    let [first, second, article] = &*RUNS;
    let (single, whole) = TESTS.split_at(2);
    let times = |all: &[&Comparison]| {
        let (least, most) = ends(all.iter().map(|it| 1.0 / it.ratio.expect("a ratio")));
        format!("{} to {} times", digits(least), digits(most))
    };
    let all_fits =
        [first, article].map(|run| against_innodb(run, MYROCKS, whole, &["200%"])).concat();
    assert!(all_fits.iter().all(|it| it.low > Some(1.0)));
    let (least, most) = ends(all_fits.iter().map(|it| it.ratio.expect("a ratio")));
    let leads = against_innodb(article, MYROCKS, single, &["33%", "25%"]);
    let twelfth = |engine| times(&against_innodb(second, engine, &TESTS, &["8%"]));
    let of_half_as_many = against_innodb(first, MYROCKS, &TESTS, &["33%"]);
    assert!(of_half_as_many.iter().all(|it| it.high > Some(1.0)), "ahead in no test");
    let [myrocks, others] = of_myrocks_and_at_a_twelfth();
    vec![
        format!(
            "none of {} comparisons of MyRocks with InnoDB is decided, {}",
            myrocks.len(),
            confidence()
        ),
        format!("whole rows and ranges {} to {} times as fast", digits(least), digits(most)),
        format!("MyRocks served {} as many single rows", times(&leads)),
        format!(
            "of {} comparisons with InnoDB {} is decided and {} have too few operations",
            others.len(),
            count(&others, Verdict::is_decided),
            count(&others, |it| it == Verdict::TooFew)
        ),
        format!("SQLite had {}", lead_of_sqlite()),
        format!("SQLite is {} and PostgreSQL {} as fast", twelfth("sqlite"), twelfth("postgres")),
    ]
}

/// Of what is held against InnoDB in all three runs.
#[test]
fn one_lead_alone_is_decided() {
    let all = RUNS.iter().flat_map(|run| &run.document.comparisons);
    let decided: Vec<&Comparison> =
        all.filter(|it| it.baseline == BASELINE && it.verdict.is_decided()).collect();
    let [it] = decided[..] else { panic!("{decided:?}") };
    assert_eq!(
        (&*it.level, &*it.levels["test"], &*it.levels["memory"]),
        ("sqlite", "point_select", "8%")
    );
    assert_says(
        "Held against InnoDB as a family, only SQLite's lead with single rows and the least memory is decided",
    );
}

/// A fifth to a seventh of what InnoDB and PostgreSQL write, and half of what SQLite does.
#[test]
fn the_paragraph_on_updates_follows_from_the_table() {
    let [first, second, _] = &*RUNS;
    let ours = |memory: &str| first.write_amplification(MYROCKS, memory);
    let times = first.memory.iter().flat_map(|memory| {
        let of = |engine: &str| first.write_amplification(engine, memory) / ours(memory);
        [of(BASELINE), of("postgres")]
    });
    let (least, most) = ends(times);
    assert_eq!(format!("{least:.0} to {most:.0}"), "5 to 7", "{least} {most}");
    assert_says("a fifth to a seventh as many bytes as InnoDB and PostgreSQL");
    let sqlite = second.write_amplification("sqlite", "33%") / ours("33%");
    assert_eq!(format!("{sqlite:.0}"), "2", "{sqlite}");
    assert_says("about twice as many as MyRocks");
}

/// A trial that the kernel ended counts nowhere, and has to be told all the same.
#[test]
fn the_server_that_ran_out_of_memory_is_told() {
    let ended = |why: &str| why.starts_with("out of memory");
    let all = RUNS.iter().flat_map(|run| &run.document.trials);
    let found: Vec<_> = all.filter(|it| it.reason.as_deref().is_some_and(ended)).collect();
    let [trial] = &found[..] else { panic!("{} trials ran out of memory", found.len()) };
    assert!(RUNS[0].document.trials.contains(trial), "it is of the first run");
    assert_eq!(trial.levels["engine"], MYROCKS);
    assert_eq!(trial.levels["memory"], "33%");
    let (test, block) = (&trial.levels["test"], trial.block);
    assert_says(&format!("in block {block} of the first run, `{test}` at 33 %, the kernel ended"));
    assert_says(trial.reason.as_deref().expect("it has one"));
}
