//! What is said of operations that were still running when their trial was cut off.

use bakeoff_analysis::Document;
use bakeoff_analysis::document::Verdict;
use bakeoff_report::{Options, verdict};

use crate::sample::{Sample, cut_off, render};
use crate::verdict::{single, twice};

fn text(document: &Document, format: &str) -> String {
    let text =
        render(document, format, &Options { color: false, width: 120, ..Options::default() });
    text.expect("a report")
}

/// Sqlite was cut off: it takes twice as long as lmdb, or any time more.
fn cut_off() -> Document {
    let mut document = single(twice, 0.1).document();
    cut_off::cut_off(&mut document, "sqlite");
    document
}

#[test]
fn a_bound_can_lose() {
    assert_eq!(
        verdict(&cut_off()),
        "lmdb is fastest: sqlite takes at least 2.0 times as long (from 1.8)."
    );
}

#[test]
fn a_bound_of_too_few_operations_is_told_without_a_word() {
    let mut document = cut_off();
    document.comparisons[0].verdict = Verdict::TooFew;
    assert_eq!(
        verdict(&document),
        "Nothing is shown to be fastest: it rests on trials with fewer than 20 operations, too few \
         for a verdict. Operations were cut off while they were running: create_issue takes sqlite over \
         10.0 ms, at least 2.00 times as long as lmdb."
    );
}

#[test]
fn the_slowest_of_several_bounds_is_told() {
    let sample = Sample {
        mean: |_, levels| {
            let slow = if levels["clients"] == "4" { 5.0 } else { 2.0 };
            if levels["engine"] == "lmdb" { 0.005 } else { 0.005 * slow }
        },
        ..Sample::default()
    };
    let mut document = sample.document();
    cut_off::cut_off(&mut document, "sqlite");
    document.comparisons.iter_mut().for_each(|it| it.verdict = Verdict::TooFew);
    let sentence = verdict(&document);
    let end = ". Operations of 4 cells were cut off while they were running; the slowest: create_issue \
               takes sqlite over 25.0 ms with 4 clients and no neighbours, at least 5.00 times as long \
               as lmdb.";
    assert!(sentence.ends_with(end), "{sentence}");
}

/// There is no ratio, and there are two times.
#[test]
fn bounds_on_both_sides_are_no_comparison_and_no_gap() {
    let mut document = cut_off();
    cut_off::cut_off(&mut document, "lmdb");
    assert_eq!(
        verdict(&document),
        "Nothing is compared: operations of every level were still running when the trials were cut \
         off. Operations of 2 cells were cut off while they were running; the slowest: create_issue \
         takes sqlite over 10.0 ms."
    );
    for format in ["md", "term", "html"] {
        let text = text(&document, format).replace("&gt;", ">").replace('\\', "");
        assert!(text.contains("> 10.0 ms") && text.contains("> 5.00 ms"), "{text}");
        assert!(!text.contains("no ratio</td>") && !text.contains("no pair</td>"), "{text}");
    }
}

#[test]
fn every_format_shows_the_bound() {
    let document = cut_off();
    let markdown = text(&document, "md").replace('\\', "");
    let rows = [
        "| sqlite | > 10.0 ms | – | – | baseline |",
        "| lmdb | 5.00 ms | ≤ 0.50 | up to 0.55 | faster |",
    ];
    for row in rows {
        assert!(markdown.contains(row), "{row} is not in {markdown}");
    }
    let term = text(&document, "term");
    assert!(term.contains("> 10.0 ms") && term.contains("≤ 0.50 (up to 0.55)"), "{term}");
    let page = text(&document, "html");
    for part in [">&gt; 10.0 ms →</text>", "at least 2.0× as long (from 1.8)"] {
        assert!(page.contains(part), "{part} is not in the page");
    }
    let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
    let comparison = &json["comparisons"][0];
    assert_eq!((&comparison["ratio_is"], comparison["low"].is_null()), (&"at-most".into(), true));
    let csv = text(&document, "csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let unfinished = header.iter().position(|name| *name == "unfinished").expect("a column");
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(row[unfinished], "2");
    // Nothing of the kind where all was followed to its end.
    let plain = text(&single(twice, 0.1).document(), "html");
    assert!(!plain.contains(" →</text>"));
}

#[test]
fn a_level_that_is_alone_has_its_bound() {
    let mut sample = single(twice, 0.1);
    sample.engines = vec!["sqlite"];
    let mut document = sample.document();
    cut_off::cut_off(&mut document, "sqlite");
    let sentence = verdict(&document);
    let told =
        "Nothing is compared: only sqlite was run; create_issue takes over 10.0 ms on average.";
    assert_eq!(sentence, told);
}
