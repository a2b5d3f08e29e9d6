//! docs/findings/flush.md: who is fastest at which flush time, and where the order turns.

use std::sync::LazyLock;

use bakeoff_analysis::{Contrast, Document};
use bakeoff_results::OperationSummary;

use crate::figures::digits;
use crate::kept::{self, Place, cell, compared, levels_of};
use crate::page::{check_file, check_page, csv, table};

static EMBEDDED: LazyLock<Document> = LazyLock::new(|| kept::read("findings/flush/embedded"));
static SERVERS: LazyLock<Document> = LazyLock::new(|| kept::read("findings/flush/servers"));

static CLOUD: LazyLock<Document> = LazyLock::new(|| kept::read("findings/flush/cloud"));

const OPERATIONS: [&str; 2] = ["create_issue", "process_issues"];

/// How many times as long a level takes, with its interval and its word.
fn times(document: &Document, levels: [&str; 2], operation: &str, at: &Place<'_>) -> String {
    let found = compared(document, levels, Some(operation), at);
    let Some((it, contrast)) = found.and_then(|it| Some((it, Contrast::from_comparison(it)?)))
    else {
        return "–".into();
    };
    let ends = match contrast.ends {
        (Some(low), Some(high)) => format!(" ({}–{})", digits(low), digits(high)),
        _ => String::new(),
    };
    format!("{}{ends}, {}", digits(contrast.ratio), it.verdict.word())
}

fn milliseconds(flush_us: &str) -> String {
    let us: f64 = flush_us.parse().expect("a number");
    format!("{}", us / 1000.0)
}

fn rows(document: &Document, levels: [&str; 2], durability: &str, clients: &str) -> Vec<String> {
    let row = |flush_us: &String| {
        let at =
            [("flush_us", flush_us.as_str()), ("durability", durability), ("clients", clients)];
        let of = |operation: &&str| times(document, levels, operation, &at);
        let cells: Vec<String> = OPERATIONS.iter().map(of).collect();
        format!("{} | {} | {}", clients, milliseconds(flush_us), cells.join(" | "))
    };
    levels_of(document, "flush_us").iter().map(row).collect()
}

/// A table of one pair of engines at one level of durability.
fn pair(document: &Document, levels: [&str; 2], durability: &str) -> String {
    let columns = format!("clients | flush, ms | {} | {}", OPERATIONS[0], OPERATIONS[1]);
    let all = ["1", "8"].iter().flat_map(|clients| rows(document, levels, durability, clients));
    table(&columns, all)
}

/// fjall beside SQLite, by clients and durability.
fn on_cloud(document: &Document) -> String {
    let columns = format!("clients | durability | {} | {}", OPERATIONS[0], OPERATIONS[1]);
    let mut rows = Vec::new();
    for durability in ["strict", "relaxed"] {
        for clients in ["1", "8"] {
            let at = [("durability", durability), ("clients", clients)];
            let cells = OPERATIONS.map(|it| times(document, ["fjall", "sqlite"], it, &at));
            rows.push(format!("{clients} | {durability} | {}", cells.join(" | ")));
        }
    }
    table(&columns, rows)
}

/// Where a ratio passes 1, between two neighbouring flush times; straight in its logarithm.
fn crossings(document: &Document, levels: [&str; 2]) -> String {
    let columns = "clients | durability | create_issue | process_issues";
    let place = |durability: &str, clients: &str, operation: &str| {
        let points: Vec<(f64, f64)> = levels_of(document, "flush_us")
            .iter()
            .filter_map(|flush_us| {
                let at = [
                    ("flush_us", flush_us.as_str()),
                    ("durability", durability),
                    ("clients", clients),
                ];
                let ratio = compared(document, levels, Some(operation), &at)?.ratio?;
                Some((flush_us.parse::<f64>().expect("a number") / 1000.0, ratio.ln()))
            })
            .collect();
        let crossing = points.windows(2).find_map(|pair| {
            let [(from, one), (to, other)] = [pair[0], pair[1]];
            (one.signum() != other.signum())
                .then(|| format!("{} ms", digits(from + (to - from) * one / (one - other))))
        });
        let side = |log: f64| if log < 0.0 { levels[0] } else { levels[1] };
        crossing.unwrap_or_else(|| match points.first() {
            Some((_, log)) => format!("none: {} first at all", side(*log)),
            None => "–".into(),
        })
    };
    let mut rows = Vec::new();
    for durability in ["strict", "relaxed"] {
        for clients in ["1", "8"] {
            let of = |operation: &&str| place(durability, clients, operation);
            let cells: Vec<String> = OPERATIONS.iter().map(of).collect();
            rows.push(format!("{clients} | {durability} | {}", cells.join(" | ")));
        }
    }
    table(columns, rows)
}

/// Created issues a second of eight clients, over those of one.
fn gains(document: &Document) -> String {
    let engines = levels_of(document, "engine");
    let columns = format!("flush, ms | {}", engines.join(" | "));
    let row = |flush_us: &String| {
        let gain = |engine: &String| {
            let rate = |clients: &str| {
                let at = [
                    ("engine", engine.as_str()),
                    ("flush_us", flush_us.as_str()),
                    ("clients", clients),
                ];
                let operations: &[OperationSummary] = &cell(document, &at)?.operations;
                Some(operations.iter().map(|it| it.per_second).sum::<f64>())
            };
            let gain = rate("8").zip(rate("1")).map(|(many, one)| many / one);
            gain.map_or("–".to_owned(), |gain| format!("{} ×", digits(gain)))
        };
        let gains: Vec<String> = engines.iter().map(gain).collect();
        format!("{} | {}", milliseconds(flush_us), gains.join(" | "))
    };
    table(&columns, levels_of(document, "flush_us").iter().map(row))
}

/// The pairs of engines: which run, the two, and the level of durability.
const PAIRS: [(&LazyLock<Document>, [&str; 2], &str); 5] = [
    (&EMBEDDED, ["fjall", "sqlite"], "strict"),
    (&EMBEDDED, ["fjall", "sqlite"], "relaxed"),
    (&EMBEDDED, ["lmdb", "sqlite"], "strict"),
    (&SERVERS, ["postgres", "mariadb:innodb"], "strict"),
    (&SERVERS, ["mariadb:rocksdb", "mariadb:innodb"], "strict"),
];

#[test]
fn the_page_is_of_the_runs() {
    let [strict, ..] =
        PAIRS.map(|(document, levels, durability)| pair(document, levels, durability));
    check_page(
        "docs/findings/flush.md",
        &[
            ("crossings", crossings(&EMBEDDED, PAIRS[0].1)),
            ("fjall strict", strict),
            ("gains", gains(&SERVERS)),
            ("cloud", on_cloud(&CLOUD)),
        ],
    );
    let all = PAIRS.iter().flat_map(|(document, levels, durability)| {
        let rows = ["1", "8"].iter().flat_map(|it| rows(document, *levels, durability, it));
        let [level, baseline] = levels;
        rows.map(move |row| {
            format!("{level} | {baseline} | {durability} | {}", row.replace(", ", " "))
        })
    });
    let columns =
        format!("engine | over | durability | clients | flush ms | {}", OPERATIONS.join(" | "));
    check_file("docs/findings/flush/pairs.csv", &csv(&columns, all));
}
