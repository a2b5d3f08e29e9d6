//! What a reader is told of what engines answered before their first trials.

use bakeoff_analysis::document::Verdict;
use bakeoff_report::Options;
use bakeoff_results::Answers;

use crate::sample::{Sample, render};

fn answers(engine: &str, digest: &str) -> Answers {
    Answers {
        image: format!("redmine small {engine}"),
        engine: engine.into(),
        levels: [("engine".to_owned(), engine.to_owned())].into(),
        work: "redmine small".into(),
        operations: 19,
        statements: 5_228,
        digest: Some(digest.into()),
        failed: None,
        difference: None,
    }
}

/// The report of a run of SQLite and LMDB, of which some were asked.
fn said(all: &[Answers]) -> String {
    let mut document = Sample::default().document();
    document.run.run.answers = all.to_vec();
    render(&document, "md", &Options::default()).unwrap()
}

#[test]
fn the_method_says_whether_engines_answered_alike() {
    let of = |sqlite: &str, lmdb: &str| [answers("sqlite", sqlite), answers("lmdb", lmdb)];
    for (all, wanted) in [
        (&of("1", "1")[..], "statements: the same answers from 2 engines."),
        (&of("1", "2")[..], "statements: the answers are not the same: see the warnings."),
        (
            &of("1", "1")[..1],
            "statements: the answers of sqlite alone, with nothing to hold them against; lmdb was not \
             asked.",
        ),
    ] {
        let report = said(all);
        assert!(report.contains(wanted), "{wanted}: {report}");
        assert!(report.contains("one client’s 19 operations ask in "), "{report}");
    }
    assert!(!said(&[]).contains("were asked"));
}

#[test]
fn a_summary_of_void_comparisons_names_no_winner() {
    let mut document = Sample::default().document();
    document.comparisons.iter_mut().for_each(|it| it.verdict = Verdict::Void);
    let report = render(&document, "md", &Options::default()).unwrap();
    assert!(!report.contains("is fastest"), "{report}");
    let wanted = "levels did not answer alike, left something broken or broke their promise, so that \
                  what was timed is not the same work";
    assert!(report.contains(wanted), "{report}");
}
