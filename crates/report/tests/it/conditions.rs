//! What is said of a run that goes on until it is decided.

use bakeoff_analysis::{ConditionState, ConditionView, Document};
use bakeoff_report::{Options, verdict};
use bakeoff_results::{Sequential, Status};

use crate::formats::three;
use crate::sample::{Sample, render};

/// Two conditions, one of which the time kept open.
fn document() -> Document {
    let sample = Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() };
    let mut document = sample.document();
    document.run.run.repetitions = 20;
    document.run.run.planned = 120;
    document.run.run.sequential = Some(Sequential {
        looks: vec![3, 4, 5, 6, 8, 10, 13, 16, 20],
        confidence: 0.9996,
        comparisons: 16,
        max_time_s: Some(3600.0),
        used_s: 3590.0,
    });
    let view = |durability: &str, blocks, judged_at, state| ConditionView {
        levels: [("durability".to_owned(), durability.to_owned())].into(),
        blocks,
        judged_at,
        state,
    };
    document.conditions = vec![
        view("relaxed", 4, 4, ConditionState::Decided),
        view("strict", 9, 8, ConditionState::MaxTime),
    ];
    document
}

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { width: 200, ..Options::default() }).unwrap()
}

/// The words of a text, however they are set and broken into lines.
fn words(text: &str) -> String {
    let plain = text.replace(['|', '│', '┆', '*'], " ").replace("<td", " <td");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_format_says_how_many_blocks_a_condition_took_and_why_it_ended() {
    let document = document();
    for format in ["md", "term"] {
        let text = words(&text(&document, format));
        assert!(text.contains("How long each condition went on"), "{format}: {text}");
        assert!(text.contains("relaxed 4 4 decided"), "{format}: {text}");
        assert!(text.contains("strict 9 8 the time was over"), "{format}: {text}");
        assert!(text.contains("trials: 30, 5 of each (20 at most); each 10 s"), "{format}: {text}");
    }
    assert!(text(&document, "html").contains("the time was over"));
    let method = words(&text(&document, "md"));
    assert!(method.contains("judged at 3, 4, 5, 6, 8, 10, 13, 16 and 20 blocks"), "{method}");
    let rule = "each has 99.96 %, such that those of all 9 interim analyses of 16 comparisons together hold";
    assert!(method.contains(rule) && !method.contains("Holm"), "{method}");
    assert!(
        method.contains("until the comparisons of their condition are decided, 20 times at most")
    );
}

/// How many there are, of how many, and what ends each.
#[test]
fn a_page_begins_with_how_many_trials_there_are_and_how_long_they_last() {
    let mut document = document();
    let says = |document: &Document, wanted: &str| {
        let text = text(document, "md");
        assert!(text.contains(&format!("- trials: {wanted}\n")), "{wanted} is not in {text}");
    };
    document.run.run.operations_each = Some(100);
    document.run.run.seconds = 3.0;
    says(&document, "30, 5 of each (20 at most); each ends after 100 of each operation, or 3 s");
    document.cells[0].trials = 4;
    says(&document, "30 (20 of each at most); each ends after 100 of each operation, or 3 s");
    document.run.run.sequential = None;
    (document.run.run.operations_each, document.run.run.planned) = (None, 30);
    says(&document, "30 (20 of each planned); each 3 s");
    document.run.status = Status::Interrupted;
    document.run.run.planned = 120;
    says(&document, "30 of 120 planned (20 of each); each 3 s");
}

#[test]
fn the_sentence_says_what_was_not_decided() {
    let mut document = document();
    let told = verdict(&document);
    assert!(
        told.contains(
            "ome comparisons are still undecided with every commit kept, because the run’s time was over"
        ),
        "{told}"
    );
    document.conditions[0].state = ConditionState::OutOfReach;
    let told = verdict(&document);
    let both = "with the last second at risk, because no further verdict was likely; with every commit kept, \
                because the run’s time was over";
    assert!(told.contains(both), "{told}");
    document.conditions.iter_mut().for_each(|it| it.state = ConditionState::MaxTime);
    let told = verdict(&document);
    let all = "Some comparisons are still undecided, because the run’s time was over.";
    assert!(told.contains(all), "{told}");
    document.conditions.iter_mut().for_each(|it| it.state = ConditionState::Decided);
    assert!(!verdict(&document).contains("still undecided"));
    document.run.status = Status::Interrupted;
    let told = verdict(&document);
    assert!(
        told.contains("The run was interrupted after") && told.contains("of at most 120"),
        "{told}"
    );
}

#[test]
fn a_run_of_fixed_repetitions_says_nothing_of_it() {
    let document = Sample::default().document();
    for format in ["md", "term", "html"] {
        assert!(!text(&document, format).contains("How long each condition"), "{format}");
    }
    assert!(text(&document, "md").contains("Holm"));
}
