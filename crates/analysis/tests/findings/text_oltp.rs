//! docs/findings/text-oltp.md: rows of text on four engines, and memory that runs out.

use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Comparison, Document};
use bakeoff_results::FigureOfMerit;

use crate::figures::{Times, digits, or_dash};
use crate::kept::{self, cell, compared};
use crate::page::{Named, check_file, check_page, csv, table};

/// What was published: memory, test, TerarkDB's and InnoDB's rows a second; and GiB of space.
const PUBLISHED: &str = include_str!("../../../../experiments/articles/text-oltp-2017.csv");
const SPACE: &str = include_str!("../../../../docs/findings/text-oltp/space-2017.csv");

const TESTS: [&str; 4] = [
    "point_select",
    "point_select90_update10",
    "secondary_random_points100",
    "secondary_random_limit100",
];
/// Levels of memory, and what the article had that is as large a share of its data.
const THEIRS: [(&str, &str); 4] = [("200%", "192G"), ("33%", "32G"), ("25%", "24G"), ("8%", "8G")];
const INNODB: &str = "mariadb:innodb";
const MYROCKS: &str = "mariadb:rocksdb";
const NAMES: [(&str, &str); 4] =
    [(INNODB, "InnoDB"), (MYROCKS, "MyRocks"), ("postgres", "PostgreSQL"), ("sqlite", "SQLite")];

/// One of the runs that the page tells of.
struct KeptRun {
    name: &'static str,
    document: Document,
    /// Its levels of memory, the most first.
    memory: &'static [&'static str],
    /// The engines that are held against InnoDB.
    others: &'static [&'static str],
}

/// With memory for all and for a third of the rows; with a third and a twelfth; the article's preset.
static RUNS: LazyLock<[KeptRun; 3]> = LazyLock::new(|| {
    let read = |name: &str| kept::read(&format!("findings/text-oltp/{name}"));
    [
        ("first", &["200%", "33%"][..], &[MYROCKS, "postgres"][..]),
        ("second", &["33%", "8%"], &["postgres", "sqlite"]),
        ("article", &["200%", "33%", "25%", "8%"], &[MYROCKS]),
    ]
    .map(|(name, memory, others)| KeptRun { name, document: read(name), memory, others })
});

fn name_of(engine: &str) -> &'static str {
    NAMES.iter().find(|(level, _)| *level == engine).expect(engine).1
}

impl KeptRun {
    fn engines(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(INNODB).chain(self.others.iter().copied())
    }

    fn cell(&self, engine: &str, test: &str, memory: &str) -> Option<&CellView> {
        cell(&self.document, &[("engine", engine), ("test", test), ("memory", memory)])
    }

    fn against_innodb(&self, engine: &str, test: &str, memory: &str) -> Option<&Comparison> {
        let at = [("test", test), ("memory", memory)];
        compared(&self.document, [engine, INNODB], None, &at)
    }

    fn rate(&self, engine: &str, test: &str, memory: &str) -> Option<f64> {
        let total = self.cell(engine, test, memory)?.total.as_ref()?.typical;
        total.rate(FigureOfMerit::Rows)
    }

    fn has_the_articles_memory(&self) -> bool {
        self.memory.len() == THEIRS.len()
    }

    /// InnoDB's rows a second, how many times as many others serve, and beside the article's preset its ratio.
    fn rates(&self) -> String {
        let row = |test: &str, memory: &str| {
            let ratios = self.others.iter().map(|engine| self.against_innodb(engine, test, memory));
            let ratios: Vec<_> = ratios.collect();
            // The others may not have been there.
            ratios.iter().any(Option::is_some).then(|| {
                let word = |it: Option<&Comparison>| {
                    it.map_or("–".into(), |it| Times::from_comparison(it).plain_of(3))
                };
                let ratios: Vec<String> = ratios.into_iter().map(word).collect();
                let innodb = or_dash(self.rate(INNODB, test, memory));
                format!("`{test}`, {memory} | {innodb} | {}", ratios.join(" | "))
            })
        };
        let places = TESTS.iter().flat_map(|test| self.memory.iter().map(move |it| (test, it)));
        let others = self.others.iter().map(|it| format!("{} over it", name_of(it)));
        let others = others.collect::<Vec<_>>().join(" | ");
        let rows = places.filter_map(|(test, memory)| {
            let theirs = self.has_the_articles_memory().then(|| digits(published(test, memory)));
            Some([row(test, memory)?].into_iter().chain(theirs).collect::<Vec<_>>().join(" | "))
        });
        let theirs = if self.has_the_articles_memory() { " | TerarkDB, 2017" } else { "" };
        table(&format!("test, memory | InnoDB | {others}{theirs}"), rows)
    }

    /// What a row took in each cell.
    fn work(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for engine in self.engines() {
            for test in TESTS {
                for memory in self.memory {
                    let Some(cell) = self.cell(engine, test, memory) else { continue };
                    if *memory == "200%" {
                        let reads = cell.work.as_ref().and_then(|work| work.device_reads);
                        assert!(reads.expect("they were counted") < 0.0005, "the page says so");
                    }
                    let rate = or_dash(self.rate(engine, test, memory));
                    let (run, engine) = (self.name, name_of(engine));
                    let figures = figures_of_work(cell);
                    rows.push(format!("{run} | {engine} | {test} | {memory} | {rate} | {figures}"));
                }
            }
        }
        rows
    }

    fn space(&self) -> String {
        let amplification = |engine: &str| {
            let cell = self.cell(engine, TESTS[0], self.memory[0])?;
            Some(cell.space.expect("it was counted").amplification)
        };
        let all = NAMES.map(|(engine, _)| or_dash(amplification(engine)));
        format!("{} | {}", self.name, all.join(" | "))
    }
}

fn figures_of_work(cell: &CellView) -> String {
    let work = cell.work.as_ref().expect("it was counted");
    let figures = [
        work.cache_misses,
        work.device_reads,
        work.device_read_bytes.map(|bytes| bytes / 1e3),
        work.engine_cpu_s.map(|s| s * 1e6),
        cell.cost.and_then(|cost| cost.write_amplification),
    ];
    figures.map(or_dash).join(" | ")
}

/// TerarkDB over InnoDB in the article.
fn published(test: &str, memory: &str) -> f64 {
    let (_, theirs) = THEIRS.iter().find(|(ours, _)| *ours == memory).expect("a level");
    let row = PUBLISHED.lines().find_map(|line| line.strip_prefix(&format!("{theirs},{test},")));
    let (terarkdb, innodb) = row.expect("a row").split_once(',').expect("two figures");
    terarkdb.parse::<f64>().expect("a number") / innodb.trim().parse::<f64>().expect("a number")
}

/// Bytes on disk for each byte of the rows.
fn space() -> String {
    let names = NAMES.map(|(_, name)| name).join(" | ");
    table(&format!("run | {names}"), RUNS.iter().map(KeptRun::space))
}

fn published_space() -> String {
    let gib = |what: &str| -> f64 {
        let found = SPACE.lines().find_map(|line| line.strip_prefix(&format!("{what},")));
        found.expect("a row").parse().expect("a number")
    };
    let [compressed, terarkdb] =
        ["InnoDB compressed", "TerarkDB"].map(|it| digits(gib(it) / gib("data and index")));
    let data = gib("data and index");
    format!(
        "In the article, of {data} GiB of data and index: InnoDB, compressed, {compressed}; TerarkDB {terarkdb}."
    )
}

#[test]
fn the_page_is_of_the_runs() {
    let [first, second, article] = &*RUNS;
    let blocks: [Named; 5] = [
        ("rates-1", first.rates()),
        ("rates-2", second.rates()),
        ("rates-3", article.rates()),
        ("space", space()),
        ("space-2017", published_space()),
    ];
    check_page("docs/findings/text-oltp.md", &blocks);
    let figures = "rows a second | cache misses a row | device reads a row | kB read a row | CPU µs a row | write amplification";
    let work = csv(
        &format!("run | engine | test | memory | {figures}"),
        RUNS.iter().flat_map(KeptRun::work),
    );
    check_file("docs/findings/text-oltp/work.csv", &work);
}
