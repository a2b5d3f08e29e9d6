//! What a run says that cut every moment.

use bakeoff_analysis::Document;
use bakeoff_report::{Options, verdict};
use bakeoff_results::{EveryByRule, EveryMoment, FirstBroken, Promised};

use crate::sample::{broken::broken, render};

/// What stands between thousands.
const NARROW: char = '\u{202f}';

fn tried(broken_images: u64) -> EveryMoment {
    let first = FirstBroken { moment: 812, during: "inside a sync of db".into(), seed: 7 };
    let rule = |keep: &str, broken| EveryByRule {
        keep: keep.into(),
        distinct: 15_000,
        judged: 9_000,
        lost: 4,
        broken,
        first: (broken > 0).then(|| first.clone()),
    };
    EveryMoment {
        writes: 3000,
        syncs: 1000,
        names: 1,
        moments: 4500,
        drawn: 58_500,
        distinct: 31_234,
        budget: 20_000,
        judged: 20_000,
        broken: broken_images,
        unconfirmed: 2,
        took_s: 90.0,
        rules: vec![rule("prefix", 0), rule("torn", broken_images)],
    }
}

fn text(document: &Document, format: &str) -> String {
    let options = Options { color: false, width: 160, ..Options::default() };
    render(document, format, &options).expect("a report").replace(NARROW, ",")
}

#[test]
fn the_report_says_how_many_images_of_how_many_were_tried_and_where_the_first_was_broken() {
    let mut document = broken("torn", "client 1: 3 is torn");
    document.cuts[0].every = Some(tried(3));
    document.run.run.cuts.as_mut().unwrap().every = true;
    let page = text(&document, "md");
    for said in [
        "3000 writes, 1000 syncs and 1 change of names",
        "4500 moments; 58,500 images drawn, 31,234 of them different; 20,000 of these were judged, \
         evenly among the moments, as the budget of 20,000 has it",
        "2 more images seemed broken",
        "moment 812, inside a sync of db (seed 7)",
        "--keep torn --repetitions 0 --cuts every --keep-images",
        "Broken in 3 of 20,000 crash images",
        "8997 of 9000 images survived",
    ] {
        assert!(page.contains(said), "{said} is not in\n{page}");
    }
    let first = "sqlite broke its promise at strict in 3 of 20,000 crash images";
    assert!(verdict(&document).replace(NARROW, ",").starts_with(first));
    assert!(!page.contains("of 1 survived"), "images are counted, not the run:\n{page}");
    assert!(text(&document, "term").contains("8997 of 9000"));
    for format in ["html", "term"] {
        assert!(text(&document, format).contains("inside a sync of db"), "{format}");
    }
    let json: Document = serde_json::from_str(&text(&document, "json")).unwrap();
    assert_eq!(json.cuts, document.cuts, "none is left out");
}

/// How many commits the images had lost is not kept: that some were lost is told all the same.
#[test]
fn what_images_of_every_moment_lost_within_a_promise_is_not_called_nothing() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    (promise.kept, promise.broken, promise.durability) = (Some(true), 0, "relaxed".into());
    promise.promised = Promised::Whole { window_s: Some(1.0), most_lost: None };
    promise.rules.truncate(1);
    document.cuts[0].durability = "relaxed".into();
    document.cuts[0].every = Some(tried(0));
    let told = "With the last second at risk some commits were lost, as promises allow.";
    assert!(verdict(&document).contains(told), "{}", verdict(&document));
    let every = document.cuts[0].every.as_mut().unwrap();
    every.rules.iter_mut().for_each(|rule| rule.lost = 0);
    let told = "With the last second at risk nothing was lost.";
    assert!(verdict(&document).contains(told), "{}", verdict(&document));
}

#[test]
fn a_run_of_sampled_cuts_has_no_such_section() {
    let page = text(&broken("torn", "x"), "md");
    assert!(!page.contains("every moment"), "{page}");
}
