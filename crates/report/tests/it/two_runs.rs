//! Two runs held against each other, as a reader sees them.

use crate::sample::Sample;
use bakeoff_analysis::Document;
use bakeoff_report::{Error, Options, Side, TWO_RUNS_FORMATS, two_runs};
use serde_json::Value;

/// A run, and one in which LMDB takes twice as long.
fn documents() -> [Document; 2] {
    let before = Sample::default().document();
    let mut after = Sample { mean: |_, _| 0.010, ..Sample::default() }.document();
    after.run.run.machine.kernel = "6.12 | `other`".into();
    [before, after]
}

fn shown(limit: Option<f64>, format: &str) -> String {
    let [before, after] = documents();
    let found = bakeoff_analysis::two_runs(&before, &after);
    let runs = [
        Side { folder: "runs/old", document: &before },
        Side { folder: "runs/new", document: &after },
    ];
    two_runs(runs, &found, limit, format, &Options::default()).unwrap()
}

#[test]
fn set_up_comes_first_then_the_figures_then_what_is_worse() {
    for format in ["term", "md"] {
        let text = shown(Some(0.1), format);
        let place = |wanted: &str| text.find(wanted).unwrap_or_else(|| panic!("{wanted}: {text}"));
        let places = [
            "runs/new against runs/old",
            "What differs in set-up",
            "kernel",
            "After against before",
            "10.6 ms",
            "Worse by more than 10 %",
        ]
        .map(place);
        assert!(places.is_sorted(), "{places:?}: {text}");
        assert!(text.contains("Of 16 comparisons: 8 slower, 0 faster"), "{text}");
        assert_eq!(text.contains("create\\_issue"), format == "md", "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("; 3 more."), "of eight five are named: {text}");
    }
}

#[test]
fn without_a_limit_nothing_is_called_worse() {
    let text = shown(None, "term");
    assert!(!text.contains("Worse") && text.contains("8 slower"), "{text}");
    let text = shown(Some(1.5), "term");
    assert!(text.contains("Nothing is shown to be slower by more than 150 %."), "{text}");
}

#[test]
fn a_program_reads_the_limit_and_what_came_of_it() {
    let json: Value = serde_json::from_str(&shown(Some(0.1), "json")).unwrap();
    assert_eq!((&json["limit"], &json["gate"]), (&Value::from(0.1), &Value::from("worse")));
    assert_eq!(json["before"]["folder"], "runs/old");
    assert_eq!(json["set_up"][0]["what"], "kernel");
    let shared = json["shared"].as_array().unwrap();
    assert_eq!(shared.len(), 16);
    let worse = shared.iter().filter(|it| it["verdict"] == "slower");
    assert!(worse.clone().all(|it| it["levels"]["engine"] == "lmdb" && it["trials"][0] == 5));
    assert_eq!(worse.count(), 8);
    let json: Value = serde_json::from_str(&shown(None, "json")).unwrap();
    assert_eq!((&json["limit"], &json["gate"]), (&Value::Null, &Value::Null));
}

#[test]
fn another_format_is_refused_with_those_that_there_are() {
    let [before, _] = documents();
    let found = bakeoff_analysis::two_runs(&before, &before);
    let runs = ["a", "b"].map(|folder| Side { folder, document: &before });
    let error = two_runs(runs, &found, None, "html", &Options::default()).unwrap_err();
    assert!(matches!(error, Error::UnknownFormat { .. }));
    assert!(TWO_RUNS_FORMATS.iter().all(|format| error.to_string().contains(format)), "{error}");
}
