//! What is said of trials in an open loop, and of a run that has no engine.

use bakeoff_analysis::Document;

use crate::formats::{parse_csv, text, three};
use crate::sample::{self, files::files};

/// A run in which fjall did not keep up.
fn open() -> Document {
    let mut document = three().document();
    sample::open(&mut document, "fjall");
    document
}

/// A report with its line breaks and its escapes taken out.
fn words(document: &Document, format: &str) -> String {
    let text = text(document, format).replace('\\', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_format_shows_what_was_offered_and_who_kept_up() {
    let document = open();
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        for part in ["mean response", "hat was offered", "not kept up", "kept up", "217", "508"] {
            assert!(
                text.to_lowercase().contains(&part.to_lowercase()),
                "{part}: {format:?}\n{text}"
            );
        }
        assert!(
            text.contains("Response time counts from the moment at which an operation was due")
        );
        let behind = "fjall in 4 of 4 cells";
        assert!(text.contains(behind), "{behind} is not in {format:?}\n{text}");
    }
    let markdown = words(&document, "md");
    // The response time first, the service time after the quantiles.
    let row = "| 1 | 0 | lmdb | 5.00 ms | 0.50 | 0.45 to 0.55 | faster | 200 | 4.50 ms | 10.5 ms | 20.0 ms | 2.50 ms | 10.0 ms | 5 |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("| 1 | 0 | fjall (not kept up) | 12.0 ms |"), "{markdown}");
    let offered = "| 1 | 0 | fjall | 217 | not kept up | 167 | 500 | 23 % | 508 | 2.31 s |";
    assert!(markdown.contains(offered), "{markdown}");
    assert!(words(&document, "term").contains("2.50 ms service"));
    let page = text(&document, "html");
    assert!(page.contains("<a class=\"broken\" href=\"#offered\">✗ not kept up</a>"));
    assert!(page.contains("<td class=\"v kept-up\">kept up</td>"));
    assert!(page.contains("mean response time, left is faster"));
    assert!(page.contains("Its operations are due at a rate"));
}

#[test]
fn a_page_of_both_loops_says_that_their_times_are_not_the_same() {
    let mut document = open();
    document.cells[0].open_loop = None;
    let page = words(&document, "html");
    assert!(page.contains("Where there is a rate, operations are due at it"));
    assert!(page.contains("The two answer different questions"));
    assert!(!page.contains("Its operations are due at a rate"));
}

#[test]
fn rows_of_csv_tell_service_times_and_what_was_offered() {
    let rows = parse_csv(&text(&open(), "csv"));
    let column = |name: &str| rows[0].iter().position(|n| n == name).expect(name);
    let of = |engine: &str| rows.iter().find(|row| row[column("engine")] == engine).expect("a row");
    for (engine, name, value) in [
        ("lmdb", "offered_per_second", "400"),
        ("lmdb", "not_started", "2"),
        ("lmdb", "backlog", "10"),
        ("lmdb", "start_delay_p99_s", "0.005"),
        ("lmdb", "kept_up", "true"),
        ("lmdb", "littles_law", ""),
        ("fjall", "kept_up", "false"),
        ("sqlite", "service_mean_s", "0.005"),
    ] {
        assert_eq!(of(engine)[column(name)], value, "{engine} {name}");
    }
    // A closed loop has none of them, and its books balance.
    let rows = parse_csv(&text(&three().document(), "csv"));
    for name in ["offered_per_second", "not_started", "kept_up", "service_mean_s"] {
        assert_eq!(rows[1][column(name)], "", "{name}");
    }
    assert!(rows[1][column("littles_law")].parse::<f64>().unwrap() > 0.5);
}

#[test]
fn a_closed_loop_says_nothing_of_rates() {
    for format in ["html", "md", "term"] {
        let text = words(&three().document(), format);
        for part in ["hat was offered", "kept up", "response time", "service"] {
            assert!(!text.contains(part), "{part} is in {format:?}:\n{text}");
        }
    }
}

#[test]
fn a_run_without_engines_speaks_of_none() {
    let mut document = files();
    for open in [false, true] {
        if open {
            sample::open(&mut document, "hdd-7200");
        }
        for format in ["html", "md", "term"] {
            let text = words(&document, format);
            let body = text.split("</style>").last().expect("there is always an end");
            for odd in ["engine", "commit", "durability", "sqlite"] {
                let title =
                    "Which embedded engine serves an issue tracker best? (synthetic sample)";
                let command = "bakeoff run redmine --engine sqlite,lmdb --clients 1,4 --seed 42";
                let rest = body.replace(title, "").replace(command, "");
                let rest = rest.replace("<span class=\"whole\">--engine</span> sqlite", "");
                assert!(!rest.contains(odd), "{odd} is in {format:?}:\n{rest}");
            }
            assert!(body.contains("Disk host is fastest in both comparisons"), "{text}");
            assert!(!body.contains("hat it cost"), "{format:?}:\n{body}");
            if format == "term" {
                let rate = document.cells[0].operations[0].per_second;
                let rate = format!(" {rate:.0}/s");
                assert!(body.contains(&rate), "{rate} is not in\n{body}");
            }
        }
    }
}
