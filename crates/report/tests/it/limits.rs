//! What is said of the search for the highest rate that keeps a limit.

use bakeoff_analysis::{Document, LimitOutcome, LimitView, ProbeVerdict, ProbeView};
use bakeoff_report::{Options, verdict};
use bakeoff_results::limit::ResponseTimeLimit;

use crate::formats::three;
use crate::sample::{Sample, render};

fn probe(per_second: f64, said: ProbeVerdict, response_ms: f64) -> ProbeView {
    ProbeView {
        per_second,
        said,
        operation: Some("create_issue".to_owned()),
        response_s: Some(response_ms / 1e3),
        service_p99_s: Some(0.004),
        backlog: Some(7),
        kept_up: Some(said == ProbeVerdict::Keeps),
        failed: None,
    }
}

/// Of two promises, one of which was searched to its end, while the server died under the other.
fn document() -> Document {
    let sample = Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() };
    let mut document = sample.document();
    document.run.run.limit = Some(ResponseTimeLimit::read("p99=50ms").unwrap());
    let view = |durability: &str, probes, outcome| LimitView {
        levels: [("durability".to_owned(), durability.to_owned())].into(),
        closed_per_second: Some(1_234.0),
        closed_failed: None,
        probes,
        next_per_second: None,
        keeps_per_second: None,
        breaks_per_second: Some(600.0),
        confirmed: 0,
        outcome,
    };
    let kept =
        vec![probe(600.0, ProbeVerdict::Breaks, 90.0), probe(580.0, ProbeVerdict::Keeps, 31.0)];
    let dead = ProbeView {
        failed: Some("the server ended".to_owned()),
        operation: None,
        response_s: None,
        service_p99_s: None,
        backlog: None,
        kept_up: None,
        ..probe(610.0, ProbeVerdict::Breaks, 0.0)
    };
    document.limits = vec![
        LimitView {
            keeps_per_second: Some(580.0),
            confirmed: 3,
            ..view("relaxed", kept, LimitOutcome::Found)
        },
        view("strict", vec![dead], LimitOutcome::NoRate),
    ];
    document
}

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { width: 200, ..Options::default() }).unwrap()
}

/// The words of a text, however they are set and broken into lines.
fn words(text: &str) -> String {
    let plain = text.replace(['|', '│', '┆', '*'], " ").replace("\\_", "_");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_format_says_what_was_found_and_what_was_tried() {
    let document = document();
    for format in ["md", "term"] {
        let said = words(&text(&document, format));
        for piece in [
            "The highest rate that keeps the limit",
            "580/s keeps p99=50ms, 3 of 3 times when it was tried again; 600/s breaks it.",
            "A closed loop reached 1230 a second",
            "no rate keeps p99=50ms: 600/s breaks it, too.",
            "relaxed 600 broken 90.0 ms create_issue 4.00 ms 7 not kept up",
            "580 kept 31.0 ms create_issue 4.00 ms 7 kept up",
        ] {
            assert!(said.contains(piece), "{format}: {piece}\n{said}");
        }
    }
    let page = text(&document, "html");
    assert!(page.contains("the server ended") && page.contains("not kept up"), "{page}");
}

#[test]
fn the_answer_of_a_search_is_the_rate_that_was_found() {
    let mut document = document();
    let told = verdict(&document);
    for piece in [
        "p99=50ms is kept up to 580 operations a second (",
        "1 of 2 searches found no rate or is not over.",
    ] {
        assert!(told.contains(piece), "{piece}\n{told}");
    }
    assert!(!told.contains("faster") && !told.contains("compared"), "{told}");
    let found = document.limits[0].clone();
    let rates = [3_000.0, 20.0, 700.0, 150.0, 41.0];
    let each = |rate| LimitView { keeps_per_second: Some(rate), ..found.clone() };
    document.limits = rates.map(each).into();
    let told = verdict(&document);
    assert!(told.contains("is kept up to 20.0 operations a second ("), "{told}");
    assert!(told.contains(" at the least and 3000 (") && told.contains(" at the most."), "{told}");
    document.limits.iter_mut().for_each(|it| it.outcome = LimitOutcome::NoRate);
    assert!(verdict(&document).starts_with("No rate is known that keeps p99=50ms."));
}

/// Of a search the cells are rates, and a terminal would have a row of each in every table.
#[test]
fn the_first_screen_of_a_search_has_its_rates_and_a_terminal_no_other_table_of_them() {
    let mut document = document();
    let cells = ["The slowest operations", "What it cost"];
    let page = text(&document, "html");
    for piece in
        ["The highest rate of each search that keeps p99=50ms", "580/s", "no rate is known"]
    {
        assert!(page.contains(piece), "{piece}");
    }
    assert!(!page.contains(cells[0]) && page.contains(cells[1]), "the page has its tables");
    let terminal = text(&document, "term");
    assert!(terminal.contains("580/s") && !terminal.contains(cells[1]), "{terminal}");
    document.run.run.limit = None;
    document.limits.clear();
    let terminal = text(&document, "term");
    assert!(cells.iter().all(|it| terminal.contains(it)), "{terminal}");
}

#[test]
fn a_run_without_a_limit_has_no_such_section() {
    let mut document = document();
    document.run.run.limit = None;
    assert!(!text(&document, "html").contains("The highest rate that keeps the limit"));
}
