//! Runs that have little to show, or what nobody expects: each has a page that says so, and shows what there
//! is.

use bakeoff_analysis::Document;
use bakeoff_report::verdict;
use serde_json::Value;

use crate::first_screen::{SENTENCES, promises, words};
use crate::formats::text;
use crate::sample::{self, Sample, cut_off};

/// Every format says that, and draws nothing that is no number.
fn is_whole(document: &Document, said: &str) {
    for format in ["html", "md", "term"] {
        let text = words(document, format);
        assert!(text.contains(said), "{said} is not in {format}: {text}");
    }
    let page = text(document, "html");
    let page = page.split("<script>").next().expect("all but the script");
    for none in ["NaN", "inf%", "infms"] {
        assert!(!page.contains(none), "{none} is in the page");
    }
}

#[test]
fn one_block_alone() {
    let document = Sample { blocks: 1, ..promises() }.document();
    is_whole(&document, "one block alone");
    is_whole(&document, "Low confidence");
    is_whole(&document, "10.0 ms (1 trial)");
}

#[test]
fn no_block() {
    let mut document = promises().document();
    (document.trials, document.cells) = (Vec::new(), Vec::new());
    (document.comparisons, document.between) = (Vec::new(), Vec::new());
    is_whole(&document, "Nothing was measured: no trial has ended.");
}

#[test]
fn all_have_failed() {
    let mut document = promises().document();
    for engine in ["sqlite", "lmdb"] {
        sample::fail(&mut document, engine, "it crashed");
    }
    is_whole(&document, "Nothing was measured: no trial counts.");
    assert!(words(&document, "html").contains("does not count: it crashed"), "why is told");
}

#[test]
fn one_engine() {
    let document = Sample { engines: vec!["sqlite"], ..promises() }.document();
    is_whole(&document, "Nothing is compared: only sqlite was run");
    is_whole(&document, "10.0 ms");
}

/// What has one level is told as what all have in common.
#[test]
fn a_factor_of_one_level() {
    let factors = vec![("durability", vec!["strict"]), ("clients", vec!["4"])];
    let document = Sample { factors, ..promises() }.document();
    is_whole(&document, "strict durability, 4 clients");
    is_whole(&document, SENTENCES[0]);
}

#[test]
fn a_thousand_cells() {
    let levels = |prefix: &str, number: usize| -> Vec<&'static str> {
        (0..number).map(|it| &*Box::leak(format!("{prefix}{it}").into_boxed_str())).collect()
    };
    let sample = Sample {
        factors: vec![("memory", levels("m", 20)), ("disk", levels("d", 25))],
        operations: vec!["create_issue"],
        blocks: 2,
        mean: |_, levels| if levels["engine"] == "lmdb" { 0.005 } else { 0.010 },
        ..Sample::default()
    };
    let document = sample.document();
    assert_eq!(document.cells.len(), 1000);
    is_whole(&document, "12 of 500 conditions are in this chart");
    let said = verdict(&document);
    assert!(said.contains(". lmdb is fastest in all 500 comparisons"), "{said}");
}

/// As many engines and operations as anybody compares, by two factors, one of which is a number.
#[test]
fn seven_engines_and_ten_operations() {
    let sample = Sample {
        engines: vec!["sqlite", "lmdb", "fjall", "postgres", "innodb", "myrocks", "memtx"],
        factors: vec![("durability", vec!["strict", "relaxed"]), ("clients", vec!["1", "4", "16"])],
        operations: vec![
            "op_one", "op_two", "op_three", "op_four", "op_five", "op_six", "op_seven", "op_eight",
            "op_nine", "op_ten",
        ],
        mean: |_, levels| if levels["engine"] == "lmdb" { 0.005 } else { 0.010 },
        ..Sample::default()
    };
    let document = sample.document();
    for format in ["html", "md"] {
        let text = words(&document, format);
        for name in sample.engines.iter().chain(&sample.operations) {
            assert!(text.contains(*name), "{name} is not in {format}: {text}");
        }
    }
    is_whole(&document, "memtx");
}

#[test]
fn latencies_of_hours_and_of_nothing() {
    let far = Sample {
        mean: |_, levels| if levels["engine"] == "lmdb" { 1e-6 } else { 14_400.0 },
        ..promises()
    };
    let mut document = far.document();
    is_whole(&document, "14 400 s");
    is_whole(&document, "1.00 µs");
    document.cells[0].operations[0].mean_s = Some(0.0);
    is_whole(&document, "no figure");
}

/// Nothing ended in time: there are no figures but lower bounds, and no ratio of two of them.
#[test]
fn bounds_alone() {
    let mut document = promises().document();
    for engine in ["sqlite", "lmdb"] {
        cut_off::cut_off(&mut document, engine);
    }
    is_whole(&document, "Nothing is compared: operations of every level were still running");
    for format in ["html", "md", "term"] {
        let text = text(&document, format).replace("&gt;", ">").replace('\\', "");
        assert!(text.contains("> 10.0 ms") && text.contains("> 14.0 ms"), "{format}: {text}");
    }
}

#[test]
fn two_engines_with_nothing_in_common() {
    let mut apart = promises().document();
    apart.comparisons.clear();
    is_whole(&apart, "Nothing is compared: no two levels have trials in the same block.");
    let sample = Sample { operations: vec!["read", "write"], factors: Vec::new(), ..promises() };
    let mut document = Sample { mean: |_, _| 0.010, ..sample }.document();
    for cell in &mut document.cells {
        let own = if cell.levels["engine"] == "lmdb" { "read" } else { "write" };
        cell.operations.retain(|it| it.name == own);
    }
    document.comparisons.clear();
    document.between.clear();
    is_whole(&document, "Nothing is compared: no two levels have an operation in common.");
    is_whole(&document, "not done here");
}

#[test]
fn a_name_of_sixty_letters() {
    let long = "an_engine_with_a_name_of_sixty_letters_that_no_column_can_hold";
    let document = Sample { engines: vec!["sqlite", long], ..promises() }.document();
    is_whole(&document, long);
}

#[test]
fn text_from_right_to_left() {
    let mut document = promises().document();
    document.run.run.title = "איזה מנוע הכי מהיר".into();
    is_whole(&document, "איזה מנוע הכי מהיר");
    assert!(text(&document, "html").contains("<h1 dir=\"auto\">איזה"));
}

/// Takes keys away from the objects of a list.
fn without(list: &mut Value, keys: &[&str]) {
    let list = list.as_array_mut().expect("a list");
    assert!(!list.is_empty());
    for object in list {
        take(object, keys);
    }
}

/// Takes keys away from an object, all of which it has.
fn take(object: &mut Value, keys: &[&str]) {
    let object = object.as_object_mut().expect("an object");
    for key in keys {
        assert!(object.remove(*key).is_some(), "{key}");
    }
}

/// Its JSON has no key for what an earlier version did not write: its figures are shown, and whose they are.
#[test]
fn a_run_of_an_earlier_version() {
    let mut document = promises().document();
    document.run.run.version = "0.0.1".into();
    let mut json = serde_json::to_value(&document).expect("JSON");
    take(&mut json, &["between", "conditions", "cuts", "promises", "other_cuts"]);
    let of_cells = ["total", "cost", "harness_share", "debt", "restart", "steady", "over_time"];
    without(&mut json["cells"], &of_cells);
    for cell in json["cells"].as_array_mut().expect("cells") {
        without(&mut cell["operations"], &["max_s"]);
    }
    let of_comparisons =
        ["ratio_is", "fewest_operations", "p_adjusted", "adjusted_over", "fresh", "noise_floor"];
    without(&mut json["comparisons"], &of_comparisons);
    let document: Document = serde_json::from_value(json).expect("a document");
    is_whole(&document, "bakeoff 0.0.1");
    is_whole(&document, SENTENCES[0]);
}
