//! docs/findings/text-oltp.md: rows of text on four engines, and memory that runs out.

use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Comparison, Document};
use bakeoff_results::FigureOfMerit;

use crate::figures::{Times, digits, or_dash};
use crate::kept::{self, cell, compared};
use crate::page::{Named, check_page, table};

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
    .map(|(name, memory, others)| KeptRun { document: read(name), memory, others })
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

    /// A table that has a row for each test and level of memory, with a column for each engine.
    fn table(&self, columns: &str, row: impl Fn(&str, &str) -> Vec<String>) -> String {
        let rows = TESTS.iter().flat_map(|test| self.memory.iter().map(move |it| (test, it)));
        let rows =
            rows.map(|(test, it)| format!("`{test}` | {it} | {}", row(test, it).join(" | ")));
        table(&format!("test | memory | {columns}"), rows)
    }

    /// Rows a second, how many times as many as InnoDB, and the article's.
    fn rates(&self) -> String {
        let rate = |engine: &str, test: &str, memory: &str| {
            let total = self.cell(engine, test, memory)?.total.as_ref()?.typical;
            total.rate(FigureOfMerit::Rows)
        };
        let ratio = |engine: &&str, test: &str, memory: &str| {
            let found = self.against_innodb(engine, test, memory);
            found.map_or("–".into(), |it| Times::from_comparison(it).plain_of(3))
        };
        let names = self.engines().map(|it| name_of(it).to_owned());
        let over = self.others.iter().map(|it| format!("{} over InnoDB", name_of(it)));
        let names: Vec<String> = names.chain(over).collect();
        self.table(&format!("{} | TerarkDB, 2017", names.join(" | ")), |test, memory| {
            let rates = self.engines().map(|engine| or_dash(rate(engine, test, memory)));
            let ratios = self.others.iter().map(|engine| ratio(engine, test, memory));
            rates.chain(ratios).chain([digits(published(test, memory))]).collect()
        })
    }

    /// What a row took where memory was scarce: where it is not, next to nothing is read.
    fn work(&self) -> String {
        let mut rows = Vec::new();
        for engine in self.engines() {
            for test in TESTS {
                for memory in self.memory {
                    let Some(cell) = self.cell(engine, test, memory) else { continue };
                    if *memory == "200%" {
                        let reads = cell.work.as_ref().and_then(|work| work.device_reads);
                        assert!(reads.expect("they were counted") < 0.0005, "the page says so");
                        continue;
                    }
                    let figures = figures_of_work(cell);
                    rows.push(format!("{} | `{test}` | {memory} | {figures}", name_of(engine)));
                }
            }
        }
        let figures = "cache misses | device reads | kB read | CPU, µs | write amplification";
        table(&format!("engine | test | memory | {figures}"), rows)
    }

    fn space(&self) -> String {
        let row = |engine: &str| {
            let cell = self.cell(engine, TESTS[0], self.memory[0]).expect("a cell");
            let space = cell.space.expect("it was counted");
            format!("{} | {}", name_of(engine), digits(space.amplification))
        };
        table("engine | space", self.engines().map(row))
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

fn published_space() -> String {
    let gib = |what: &str| -> f64 {
        let found = SPACE.lines().find_map(|line| line.strip_prefix(&format!("{what},")));
        found.expect("a row").parse().expect("a number")
    };
    let row = |(name, what)| format!("{name} | {}", digits(gib(what) / gib("data and index")));
    let rows = [("InnoDB, compressed", "InnoDB compressed"), ("TerarkDB", "TerarkDB")].map(row);
    table("engine, 2017 | space", rows)
}

#[test]
fn the_page_is_of_the_runs() {
    let [first, second, article] = &*RUNS;
    let blocks: [Named; 10] = [
        ("rates-1", first.rates()),
        ("rates-2", second.rates()),
        ("rates-3", article.rates()),
        ("work-1", first.work()),
        ("work-2", second.work()),
        ("work-3", article.work()),
        ("space-1", first.space()),
        ("space-2", second.space()),
        ("space-3", article.space()),
        ("space-2017", published_space()),
    ];
    check_page("docs/findings/text-oltp.md", &blocks);
}
