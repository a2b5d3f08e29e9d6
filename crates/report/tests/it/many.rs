//! Runs of many trials: a page lists those that are worth a look, and CSV has them all.

use bakeoff_analysis::Document;

use crate::formats::assert_closed;
use crate::reading::text;
use crate::sample::{Sample, promises, three};

/// A run of 60 cells with so many blocks each.
fn of_blocks(blocks: u32) -> Document {
    let factors = vec![
        ("clients", vec!["1", "2", "4", "8"]),
        ("neighbours", vec!["0", "25%", "x1", "x2", "x4"]),
    ];
    Sample { factors, blocks, ..three() }.document()
}

/// The table of trials on a page.
fn records(page: &str) -> &str {
    let table = page.split("<table class=\"sortable\">").nth(1).expect("a table of trials");
    table.split("</table>").next().expect("its beginning")
}

/// The rows of that table, without its heading.
fn rows(page: &str) -> usize {
    records(page).matches("</tr>").count() - 1
}

#[test]
fn ten_thousand_trials_stay_small() {
    let document = of_blocks(167);
    assert!(document.trials.len() >= 10_000);
    let page = text(&document, "html");
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_closed(&page);
    assert_eq!(rows(&page), 1000);
    let written = text(&document, "csv").lines().count() - 1;
    let operations = document.run.run.operations.len();
    assert_eq!(written, document.trials.len() * operations, "CSV has them all");
}

/// One that does not count and one that is far from its cell are among those that are listed, in the order
/// in which they ran.
#[test]
fn of_many_trials_those_that_are_worth_a_look_are_listed() {
    let mut document = of_blocks(17);
    assert_eq!(document.trials.len(), 1020);
    assert!(!records(&text(&document, "html")).contains(">432<"));
    document.trials[503].valid = false;
    document.trials[503].reason = Some("the machine slept".into());
    document.trials[901].operations[0].mean_s = Some(0.432);
    let page = text(&document, "html");
    assert_eq!(rows(&page), 1000);
    assert!(page.contains("Every trial: --format csv."), "it says where the others are");
    let slept = records(&page).find("does not count: the machine slept");
    let far = records(&page).find(">432<");
    assert!(slept.is_some() && slept < far, "{slept:?} {far:?}");
}

#[test]
fn few_trials_are_all_listed() {
    let document = of_blocks(16);
    let page = text(&document, "html");
    assert_eq!(rows(&page), document.trials.len());
    assert!(!page.contains("--format csv."));
}

#[test]
fn a_page_of_a_thousand_trials_is_no_larger_than_a_megabyte() {
    let sample = Sample {
        engines: vec!["sqlite", "lmdb", "fjall", "postgres"],
        factors: vec![
            ("durability", vec!["strict", "relaxed"]),
            ("clients", vec!["1", "2", "4", "8", "16"]),
        ],
        operations: vec!["create_issue", "process_issues"],
        blocks: 25,
        ..promises()
    };
    let document = sample.document();
    assert_eq!(document.trials.len(), 1000);
    let page = text(&document, "html");
    assert!(page.len() <= 1_000_000, "{} bytes", page.len());
}
