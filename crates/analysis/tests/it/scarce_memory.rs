//! The page docs/findings/text-oltp.md says what its run folder says: every row of its tables is made from
//! there.

use std::path::PathBuf;
use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Comparison, Document};
use bakeoff_results::{FigureOfMerit, RunFolder};

const PAGE: &str = include_str!("../../../../docs/findings/text-oltp.md");
/// What was published: memory, test, TerarkDB's and InnoDB's rows a second.
const PUBLISHED: &str = include_str!("../../../../experiments/articles/text-oltp-2017.csv");

const TESTS: [&str; 4] = [
    "point_select",
    "point_select90_update10",
    "secondary_random_points100",
    "secondary_random_limit100",
];
/// Levels of memory, and what the article had that is as large a share of its data.
const MEMORY: [(&str, &str); 2] = [("200%", "192G"), ("33%", "32G")];
const BASELINE: &str = "mariadb:innodb";
const ENGINES: [(&str, &str); 3] =
    [(BASELINE, "InnoDB"), ("mariadb:rocksdb", "MyRocks"), ("postgres", "PostgreSQL")];

/// The run.
static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let folder: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../docs/findings/text-oltp"].iter().collect();
    bakeoff_analysis::document(&RunFolder::open(&folder).unwrap()).unwrap()
});

fn cell(engine: &str, test: &str, memory: &str) -> Option<&'static CellView> {
    let is_it = |cell: &&CellView| {
        let is = |factor: &str, level: &str| cell.levels[factor] == level;
        is("engine", engine) && is("test", test) && is("memory", memory)
    };
    DOCUMENT.cells.iter().find(is_it)
}

fn comparison(engine: &str, test: &str, memory: &str) -> Option<&'static Comparison> {
    let is_it = |it: &&Comparison| {
        let is = |factor: &str, level: &str| it.levels[factor] == level;
        it.level == engine && it.baseline == BASELINE && is("test", test) && is("memory", memory)
    };
    DOCUMENT.comparisons.iter().find(is_it)
}

/// Three significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let whole = value.abs().log10().floor().max(-4.0) as i32;
    let step = 10_f64.powi(whole - 2);
    format!("{:.*}", (2 - whole).max(0) as usize, (value / step).round() * step)
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".into(), digits)
}

/// How many rows a second each engine had.
fn rates(test: &str, memory: &str) -> String {
    let rate = |(engine, _): &(&str, &str)| {
        let total = cell(engine, test, memory)?.total.as_ref()?.typical;
        total.rate(FigureOfMerit::Rows)
    };
    ENGINES.iter().map(|engine| format!(" {} |", or_dash(rate(engine)))).collect()
}

/// How many times as many as InnoDB each other one had, with the interval.
fn ratios(test: &str, memory: &str) -> String {
    let ratio = |(engine, _): &(&str, &str)| {
        let it = comparison(engine, test, memory)?;
        let (low, high) = (1.0 / it.high?, 1.0 / it.low?);
        let (ratio, blocks) = (1.0 / it.ratio?, it.blocks);
        Some(format!("{} ({}–{}), {blocks} blocks", digits(ratio), digits(low), digits(high)))
    };
    ENGINES[1..].iter().map(|it| format!(" {} |", ratio(it).unwrap_or("–".into()))).collect()
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

#[test]
fn rows_a_second_are_those_of_the_run() {
    let mut rows = String::new();
    for test in TESTS {
        for (memory, _) in MEMORY {
            rows += &format!("| `{test}` | {memory} |{}\n", rates(test, memory));
        }
    }
    assert_page(&rows);
}

#[test]
fn ratios_are_those_of_the_run_beside_the_published_ones() {
    let mut rows = String::new();
    for test in TESTS {
        for (memory, theirs) in MEMORY {
            let (ours, theirs) = (ratios(test, memory), digits(published(test, theirs)));
            rows += &format!("| `{test}` | {memory} |{ours} {theirs} |\n");
        }
    }
    assert_page(&rows);
}

#[test]
fn what_a_row_took_is_what_the_run_counted() {
    let mut rows = String::new();
    for (engine, name) in ENGINES {
        for test in TESTS {
            for (memory, _) in MEMORY {
                let Some(cell) = cell(engine, test, memory) else { continue };
                let work = cell.work.as_ref().unwrap();
                let kilobytes = work.device_read_bytes.map(|bytes| bytes / 1e3);
                let microseconds = |s: Option<f64>| or_dash(s.map(|s| s * 1e6));
                rows += &format!(
                    "| {name} | `{test}` | {memory} | {} | {} | {} | {} | {} |\n",
                    or_dash(work.cache_misses),
                    or_dash(work.device_reads),
                    or_dash(kilobytes),
                    microseconds(work.engine_cpu_s),
                    or_dash(cell.cost.and_then(|cost| cost.write_amplification)),
                );
            }
        }
    }
    assert_page(&rows);
}

#[test]
fn space_is_what_was_on_the_disk() {
    let mut rows = String::new();
    for (engine, name) in ENGINES {
        let space = cell(engine, "point_select", "200%").and_then(|cell| cell.space).unwrap();
        rows += &format!("| {name} | {} |\n", digits(space.amplification));
    }
    assert_page(&rows);
}
