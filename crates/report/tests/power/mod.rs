//! What a run with power cuts says, in each format.

use bakeoff_report::{Format, Options, render, verdict};
use bakeoff_results::{
    Cut, CutPlan, Document, Found, Judged, PromiseView, Promised, RuleView, Verdict,
};

use crate::sample::Sample;

/// A cut of sqlite at strict that found less than was promised by one of two rules.
fn cut(keep: &str, example: &str) -> Cut {
    let torn = Verdict {
        lost: 2,
        oldest_lost_s: Some(0.25),
        torn: 1,
        recovery_s: Some(0.004),
        examples: vec![example.into()],
        ..Verdict::default()
    };
    let judged = [("prefix", Verdict::default()), (keep, torn)];
    Cut {
        engine: "sqlite".into(),
        durability: "strict".into(),
        promised: Promised::Everything,
        clients: 4,
        number: 3,
        seed: 1,
        moment: "within sync 2".into(),
        ran_s: 0.5,
        acknowledged: 9,
        judged: judged
            .map(|(keep, verdict)| Judged { keep: keep.into(), verdict, image: None })
            .into(),
        failed: None,
    }
}

/// The sample run, its engines compared at strict, and one of them with a broken promise.
pub fn broken(keep: &str, example: &str) -> Document {
    let factors = vec![("durability", vec!["strict", "none"]), ("clients", vec!["1"])];
    let mut document = Sample { factors, ..Sample::default() }.document();
    document.cuts = vec![cut(keep, example)];
    let rule = |keep: &str| RuleView { keep: keep.into(), cuts: 1, ..RuleView::default() };
    let torn = RuleView {
        broken: 1,
        lost: Found { cuts: 1, most: 2 },
        oldest_lost_s: Some(0.25),
        torn: Found { cuts: 1, most: 1 },
        example: Some(example.into()),
        repeat: Some(3),
        ..rule(keep)
    };
    document.promises = vec![PromiseView {
        engine: "sqlite".into(),
        durability: "strict".into(),
        promised: Promised::Everything,
        kept: Some(false),
        cuts: 1,
        failed: 0,
        recovery_median_s: Some(0.004),
        recovery_max_s: Some(0.004),
        rules: vec![RuleView { intact: 1, ..rule("prefix") }, torn],
    }];
    document.run.run.cuts = Some(CutPlan {
        planned: 1,
        disk: "ssd-sata".into(),
        clients: 4,
        command: "bakeoff run power-cut --seed 1".into(),
    });
    document
}

fn text(document: &Document, format: Format) -> String {
    render(document, format, &Options { color: true, width: 120 }).expect("a report")
}

#[test]
fn a_broken_promise_stands_in_every_report_with_the_command_that_repeats_it() {
    let document = broken("torn", "client 1: 3 is torn");
    let command = "bakeoff run power-cut --seed 1 --engine sqlite --durability strict --keep torn \
                   --cut-number 3";
    for format in [Format::Html, Format::Markdown, Format::Term] {
        let text = text(&document, format).replace("&#x2f;", "/");
        for said in ["promise broken", "client 1: 3 is torn", command, "0 of 1"] {
            assert!(text.contains(said), "{said} is not in {format:?}:\n{text}");
        }
    }
    let first = "sqlite broke its promise at strict in 1 of 1 power cut. ";
    assert!(verdict(&document).starts_with(first), "{}", verdict(&document));
}

#[test]
fn only_the_cells_of_the_broken_promise_are_marked() {
    let page = text(&broken("torn", "x"), Format::Markdown);
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("(promise broken)")).collect();
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row.contains("strict") && row.contains("sqlite")), "{rows:?}");
}

#[test]
fn a_kept_promise_is_told_and_nothing_is_marked() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    promise.kept = Some(true);
    promise.rules.truncate(1);
    assert!(
        verdict(&document).contains("the only promise stood 1 power cut"),
        "{}",
        verdict(&document)
    );
    for format in [Format::Html, Format::Markdown, Format::Term] {
        assert!(!text(&document, format).contains("promise broken"), "{format:?}");
    }
}

#[test]
fn a_run_of_cuts_alone_has_every_report() {
    let mut document = broken("torn", "x");
    document.trials.clear();
    document.cells.clear();
    document.comparisons.clear();
    document.run.run.planned = 0;
    for format in Format::ALL {
        assert!(!text(&document, format).is_empty());
    }
    let sentence = "sqlite broke its promise at strict in 1 of 1 power cut.";
    assert_eq!(verdict(&document), sentence);
}

#[test]
fn what_engines_say_is_escaped() {
    let page = text(&broken("<script>1", "<script>2"), Format::Html);
    assert!(!page.contains("<script>1") && !page.contains("<script>2"));
}
