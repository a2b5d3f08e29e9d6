//! Two runs held against each other, as a reader sees them.

use crate::sample::Sample;
use crate::sample::rate::rate;
use bakeoff_analysis::{Document, RatioIs, Verdict};
use bakeoff_report::{Error, Options, Side, TWO_RUNS_FORMATS, two_runs};
use bakeoff_results::FigureOfMerit;
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

/// A row that says nothing is none that is not decided yet.
#[test]
fn what_is_void_or_hangs_is_named_at_the_end() {
    let [before, after] = documents();
    let mut found = bakeoff_analysis::two_runs(&before, &after);
    found.shared[0].comparison.verdict = Verdict::Void;
    found.hung = vec![found.shared[1].comparison.levels.clone()];
    let runs = ["a", "b"].map(|folder| Side { folder, document: &before });
    let text = two_runs(runs, &found, Some(0.075), "md", &Options::default()).unwrap();
    assert!(text.contains("Worse by more than 7.5 %"), "{text}");
    assert!(text.contains("does not end an operation: "), "{text}");
    assert!(text.contains("1 void, since"), "{text}");
    assert!(text.contains("Does not end an operation that it ended before"), "{text}");
}

#[test]
fn a_figure_that_was_cut_off_is_shown_as_a_bound() {
    let [before, after] = documents();
    let mut found = bakeoff_analysis::two_runs(&before, &after);
    found.shared.truncate(1);
    let runs = ["a", "b"].map(|folder| Side { folder, document: &before });
    for (is, bounds) in [
        (Some(RatioIs::Exact), [false, false]),
        (Some(RatioIs::AtLeast), [false, true]),
        (Some(RatioIs::AtMost), [true, false]),
        (None, [true, true]),
    ] {
        found.shared[0].comparison.ratio_is = is;
        let text = two_runs(runs, &found, None, "md", &Options::default()).unwrap();
        let row = text.lines().find(|line| line.contains("create")).expect("a row");
        let cells: Vec<&str> = row.split('|').collect();
        // After the level and the operation.
        assert_eq!([cells[3], cells[4]].map(|cell| cell.contains('>')), bounds, "{row}");
    }
}

#[test]
fn a_program_reads_the_limit_and_what_came_of_it() {
    let json: Value = serde_json::from_str(&shown(Some(0.1), "json")).unwrap();
    assert_eq!((&json["limit"], &json["gate"]), (&Value::from(0.1), &Value::from("worse")));
    assert_eq!(
        (&json["schema"], &json["before"]["folder"]),
        (&Value::from(2), &Value::from("runs/old"))
    );
    assert_eq!(json["set_up"][0]["what"], "kernel");
    let shared = json["shared"].as_array().unwrap();
    assert_eq!(shared.len(), 16);
    let worse = shared.iter().filter(|it| it["verdict"] == "slower");
    assert!(worse.clone().all(|it| it["levels"]["engine"] == "lmdb" && it["trials"][0] == 5));
    assert_eq!(worse.count(), 8);
    let json: Value = serde_json::from_str(&shown(None, "json")).unwrap();
    assert_eq!((&json["limit"], &json["gate"]), (&Value::Null, &Value::Null));
}

/// The table and the JSON have one ratio: of a rate below 1 is slower, and the limit finds it all the same.
#[test]
fn a_rate_that_fell_has_the_same_ratio_in_each_format() {
    let [before, after] = documents().map(|it| rate(it, FigureOfMerit::Rows));
    let found = bakeoff_analysis::two_runs(&before, &after);
    let runs =
        || [Side { folder: "old", document: &before }, Side { folder: "new", document: &after }];
    let shown = |format| two_runs(runs(), &found, Some(0.1), format, &Options::default()).unwrap();
    let json: Value = serde_json::from_str(&shown("json")).unwrap();
    let slower = json["shared"].as_array().unwrap().iter().find(|it| it["verdict"] == "slower");
    let slower = slower.expect("lmdb's rate fell by half");
    assert_eq!((&slower["metric"], &json["gate"]), (&"rows_per_second".into(), &"worse".into()));
    let ratio = slower["ratio"].as_f64().unwrap();
    assert!((ratio - 0.5).abs() < 0.02, "{slower}");
    assert!(slower["after"].as_f64() < slower["before"].as_f64(), "{slower}");
    let table = shown("md");
    let row = table.lines().find(|line| line.contains("slower")).expect("a row");
    assert!(row.contains(&format!("| {ratio:.2} |")), "{row}");
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
