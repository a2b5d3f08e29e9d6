//! What is said of what engines put off, and of what the harness took.

use bakeoff_analysis::Document;
use bakeoff_report::{Options, verdict};

use crate::formats::three;
use crate::sample::{Sample, render};

fn document() -> Document {
    Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() }.document()
}

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { width: 200, ..Options::default() }).unwrap()
}

#[test]
fn the_sentence_says_which_figures_are_of_a_fresh_database() {
    let mut document = document();
    assert!(!verdict(&document).contains("before the first"), "{}", verdict(&document));
    for (number, cell) in document.cells.iter_mut().enumerate() {
        let debt = cell.debt.as_mut().unwrap();
        debt.fresh = match cell.levels["engine"].as_str() {
            "sqlite" => Some(true),
            "lmdb" => Some(number < 3),
            _ => None,
        };
    }
    let told = verdict(&document);
    let clause = "All this is before the first checkpoint or compaction: sqlite and lmdb (in 1 of 2 cells) \
                  have written back nothing of what they deferred";
    assert!(told.contains(clause), "{told}");
    for format in ["html", "md", "term"] {
        let text = text(&document, format);
        assert!(text.contains("nothing") && text.contains("some"), "{format:?}");
    }
}

/// The lead of an engine that has paid nothing is told where the answer says how sure it is; what others owe is not.
#[test]
fn how_sure_an_answer_is_names_who_leads_and_has_not_paid() {
    let said = |engine: &str, durability: &str| {
        let mut document = document();
        for cell in &mut document.cells {
            let is_it = cell.levels["engine"] == engine && cell.levels["durability"] == durability;
            cell.debt.as_mut().unwrap().fresh = is_it.then_some(true);
        }
        let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
        let reasons = json["answer"]["confidence"]["reasons"].as_array().unwrap().clone();
        let page = text(&document, "html");
        let badge = page.split("how sure this is").nth(1).unwrap();
        let badge = badge.split("</aside>").next().unwrap().to_owned();
        let owes = format!("deferred writes not paid for by {engine}");
        assert_eq!(reasons.iter().any(|it| *it == owes.as_str()), badge.contains(&owes), "{badge}");
        badge.contains(&owes)
    };
    // lmdb is fastest under both promises.
    assert!(said("lmdb", "strict") && said("lmdb", "relaxed"));
    assert!(!said("sqlite", "strict"));
}

/// A trial that only reads defers nothing, and writes nothing back.
#[test]
fn who_owed_nothing_paid_nothing() {
    let mut document = document();
    for cell in &mut document.cells {
        let debt = cell.debt.as_mut().unwrap();
        (debt.fresh, debt.bytes) = (None, Some(0.0));
    }
    for format in ["html", "md", "term"] {
        let text = text(&document, format);
        assert!(text.contains("had nothing to"), "{format:?}");
        let row = text.lines().find(|line| line.contains("had nothing to")).unwrap_or_default();
        assert!(!row.contains("some"), "{format:?}: {row}");
    }
}

#[test]
fn a_debt_stands_beside_the_mean_and_a_bound_is_told_as_one() {
    let mut document = document();
    for cell in &mut document.cells {
        let debt = cell.debt.as_mut().unwrap();
        (debt.drain_s, debt.mean_s, debt.mean_with_debt_s) = (9.75, Some(0.0123), Some(0.0456));
        debt.cut_off = u32::from(cell.levels["engine"] == "lmdb");
    }
    for format in ["html", "md", "term"] {
        let text = text(&document, format).replace("&gt;", ">");
        for part in ["9.75 s", "> 9.75 s", "12.3 ms", "45.6 ms", "> 45.6 ms"] {
            assert!(text.contains(part), "{part} is not in {format:?}");
        }
    }
    // A mean of times is another figure of the same trials, and has that name alone.
    let markdown = text(&document, "md");
    let heads = markdown.lines().find(|line| line.contains("time to write it back")).unwrap();
    assert!(heads.contains("clients’ time an operation") && !heads.contains("mean"), "{heads}");
    // An earlier bakeoff did not time the drain.
    document.cells.iter_mut().for_each(|cell| cell.debt = None);
    assert!(!text(&document, "md").contains("write back"));
}

#[test]
fn the_engines_own_ratio_stands_beside_the_measured_one_where_the_harness_is_large() {
    let mut document = document();
    assert!(!text(&document, "md").contains("engine alone"));
    let comparison = &mut document.comparisons[0];
    comparison.engine_only_ratio = Some(7.77);
    let text = text(&document, "md");
    assert!(text.contains("engine alone") && text.contains("7.77"), "{text}");
}
