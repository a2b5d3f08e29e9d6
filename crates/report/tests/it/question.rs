//! A page's first screen draws what the run varies, ends with what to do next, and has all else folded below.

use bakeoff_analysis::Document;
use serde_json::json;

use crate::reading::text;
use crate::sample::{Sample, plausible, promises, sweep, three, with};

const FOLDS: [&str; 3] = ["why", "misleading", "everything"];

fn split(page: &str) -> (&str, &str) {
    page.split_once("</header>").expect("a first screen")
}

fn of_factors(factors: Vec<(&'static str, Vec<&'static str>)>) -> Document {
    Sample { factors, ..three() }.document()
}

#[test]
fn one_condition_has_strips() {
    let page = text(&of_factors(vec![]), "html");
    let (first, _) = split(&page);
    assert!(first.contains("<table class=\"strips\""), "{first}");
    assert!(!first.contains("heat ratio") && !first.contains("svg class=\"sweep"));
}

#[test]
fn a_number_that_varies_has_lines_and_no_list_of_conditions() {
    let page = text(&sweep::crossing(), "html");
    let (first, rest) = split(&page);
    assert!(first.contains("class=\"charts sweeps\""), "{first}");
    assert!(!first.contains("<table class=\"strips") && !first.contains("heat ratio"));
    assert!(!rest.contains("class=\"charts sweeps\"><figure"), "no panel is there twice");
}

#[test]
fn many_conditions_have_a_matrix_and_each_row_opens_its_own() {
    let of = |factors| text(&of_factors(factors), "html");
    let page = of(vec![
        ("durability", vec!["strict", "relaxed"]),
        ("state", vec!["cold", "warm", "steady"]),
    ]);
    let (first, _) = split(&page);
    assert!(first.contains("<table class=\"heat ratio\">"));
    assert!(first.contains("<div class=\"of-chosen\">"), "{first}");
    for number in 0..6 {
        assert!(first.contains(&format!("<a href=\"#condition{number}\">")), "{number}");
        assert_eq!(page.matches(&format!("id=\"condition{number}\"")).count(), 1, "{number}");
    }
    // Two engines are slower than the fastest, which has no ratio.
    assert_eq!(first.matches(" ringed").count(), 2 * 6, "of two operations");
    let few = of(vec![("durability", vec!["strict", "relaxed"])]);
    assert!(!split(&few).0.contains("heat ratio"));
}

#[test]
fn a_broken_promise_and_an_open_verdict_are_not_ringed() {
    let factors =
        vec![("durability", vec!["strict", "relaxed"]), ("state", vec!["cold", "warm", "steady"])];
    let open = Sample { factors: factors.clone(), half_width: 9.0, ..three() }.document();
    let page = text(&open, "html");
    let (first, _) = split(&page);
    assert_eq!(first.matches(" ringed").count(), 0);
    assert!(first.matches(" open\"").count() >= 12, "{first}");
    let broken = with(
        Sample { factors, ..three() }.document(),
        json!({"cells/0/broken_promise": "not-synced"}),
    );
    let broken_page = text(&broken, "html");
    assert!(split(&broken_page).0.contains("promise broken"));
}

#[test]
fn all_else_is_folded_into_three_parts_which_hold_every_section() {
    let warning = json!([{"code": "retries", "weight": "notes", "text": "Some ran again."}]);
    let page = text(&with(promises().document(), json!({ "warnings": warning })), "html");
    let (first, rest) = split(&page);
    let folds: Vec<&str> =
        rest.match_indices("<details class=\"fold").map(|(at, _)| &rest[at..]).collect();
    let named = |fold: &&str| FOLDS.iter().position(|it| fold.contains(&format!("id=\"{it}\"")));
    let places: Vec<Option<usize>> =
        folds.iter().map(|fold| named(&fold.split('>').next().unwrap_or_default())).collect();
    assert_eq!(places, [Some(0), Some(1), Some(2)]);
    assert!(!rest.split("<details").next().is_some_and(|it| it.contains("<section")));
    assert!(!first.contains("<section"));
}

#[test]
fn it_ends_with_what_to_do_next() {
    let next = |document: &Document| {
        let page = text(document, "html");
        let (first, _) = split(&page);
        let next = first.rsplit("<div class=\"next\">").next().expect("a line");
        next.split("</div>").next().unwrap_or_default().to_owned()
    };
    let won = next(&of_factors(vec![]));
    assert!(won.contains("Choose lmdb."), "{won}");
    let open = next(&Sample { half_width: 0.9, ..plausible() }.document());
    assert!(
        open.contains("More repetitions may decide it") && open.contains("bakeoff run"),
        "{open}"
    );
    let broken = next(&with(of_factors(vec![]), json!({"cells/0/broken_promise": "not-synced"})));
    assert!(broken.contains("Do not choose"), "{broken}");
    let cut_off = next(&with(plausible().document(), json!({"run/status": "interrupted"})));
    assert!(cut_off.contains("Go on with the run"), "{cut_off}");
}
