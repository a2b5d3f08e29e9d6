//! Two runs held against each other, as a reader sees them.

use bakeoff_analysis::{Document, RatioBound, RunComparison, Verdict};
use bakeoff_report::{ComparedRun, Error, Options, TWO_RUNS_FORMATS, two_runs};
use bakeoff_results::{FigureOfMerit, Status};
use serde_json::Value;

use crate::sample::machines::merged;
use crate::sample::rate::rate;
use crate::sample::{Sample, changed};
use crate::snapshots::Piece;

/// A run, and one in which LMDB takes twice as long.
fn documents() -> [Document; 2] {
    let before = Sample::default().document();
    let mut after = Sample { mean: |_, _| 0.010, ..Sample::default() }.document();
    after.run.run.machine.kernel = "6.12 | `other`".into();
    [before, after]
}

fn shown(runs: &[Document; 2], found: &RunComparison, limit: Option<f64>, format: &str) -> String {
    let [before, after] = runs;
    let runs = [
        ComparedRun { folder: "runs/old", document: before },
        ComparedRun { folder: "runs/new", document: after },
    ];
    two_runs(runs, found, limit, format, &Options::default()).expect("a report")
}

pub fn pieces() -> Vec<Piece> {
    let runs = documents();
    let compare = |[before, after]: &[Document; 2]| bakeoff_analysis::two_runs(before, after);
    let found = compare(&runs);
    let piece = |name: &str, found, limit, format| {
        Piece::new(format!("{name}: {format}"), shown(&runs, found, limit, format))
    };
    let [before, _] = &runs;
    let alike = [before.clone(), changed(before.clone(), |it| it.run.status = Status::Interrupted)];
    let nothing = Piece::new(
        "alike, and not ended: term",
        shown(&alike, &compare(&alike), Some(0.1), "term"),
    );
    // A row that says nothing is none that is not decided yet.
    let mut others = found.clone();
    others.shared[0].comparison.verdict = Verdict::Void;
    let levels = |at: usize| found.shared[at].comparison.levels.clone();
    others.hung = vec![levels(1)];
    others.fell_behind = vec![levels(2), levels(3)];
    others.not_compared = vec![levels(4)];
    others.without_figures = vec![levels(5)];
    (others.only_before, others.only_after) = (vec![levels(6)], vec![levels(7)]);
    let held = &mut others.shared[2].comparison;
    (held.verdict, held.p_adjusted) = (Verdict::Undecided, Some(0.07));
    let base = piece("", &found, Some(0.1), "term");
    let rows = documents().map(|it| rate(it, FigureOfMerit::Rows));
    let rows = Piece::new("of a rate: md", shown(&rows, &compare(&rows), Some(0.1), "md"));
    let merged = [merged(), Sample::default().document()];
    let merged =
        Piece::new("of several machines: md", shown(&merged, &compare(&merged), None, "md"));
    vec![
        merged,
        base.clone(),
        piece("", &found, Some(0.1), "md"),
        base.clone().to(piece("without a limit", &found, None, "term")),
        base.clone().to(piece("a limit that is kept", &found, Some(1.5), "term")),
        base.to(piece("what has no ratio", &others, Some(0.075), "term")),
        rows,
        nothing,
    ]
}

#[test]
fn a_figure_that_was_cut_off_is_shown_as_a_bound() {
    let runs = documents();
    let mut found = bakeoff_analysis::two_runs(&runs[0], &runs[1]);
    found.shared.truncate(1);
    for (is, bounds) in [
        (Some(RatioBound::Exact), [false, false]),
        (Some(RatioBound::AtLeast), [false, true]),
        (Some(RatioBound::AtMost), [true, false]),
        (None, [true, true]),
    ] {
        found.shared[0].comparison.ratio_is = is;
        let text = shown(&runs, &found, None, "md");
        let row = text.lines().find(|line| line.contains("create")).expect("a row");
        let cells: Vec<&str> = row.split('|').collect();
        // After the level and the operation.
        assert_eq!([cells[3], cells[4]].map(|cell| cell.contains('>')), bounds, "{row}");
    }
}

#[test]
fn a_program_reads_the_limit_and_what_came_of_it() {
    let runs = documents();
    let found = bakeoff_analysis::two_runs(&runs[0], &runs[1]);
    let read = |limit| -> Value {
        serde_json::from_str(&shown(&runs, &found, limit, "json")).expect("JSON")
    };
    let json = read(Some(0.1));
    assert_eq!((&json["limit"], &json["gate"]), (&Value::from(0.1), &Value::from("worse")));
    assert_eq!((&json["schema"], &json["before"]["folder"]), (&2.into(), &"runs/old".into()));
    assert_eq!(json["set_up"][0]["what"], "kernel");
    let shared = json["shared"].as_array().unwrap();
    assert_eq!(shared.len(), 16);
    let worse = shared.iter().filter(|it| it["verdict"] == "slower");
    assert!(worse.clone().all(|it| it["levels"]["engine"] == "lmdb" && it["trials"][0] == 5));
    assert_eq!(worse.count(), 8);
    let json = read(None);
    assert_eq!((&json["limit"], &json["gate"]), (&Value::Null, &Value::Null));
}

/// The table and the JSON have one ratio: of a rate below 1 is slower, and the limit finds it all the same.
#[test]
fn a_rate_that_fell_has_the_same_ratio_in_each_format() {
    let runs = documents().map(|it| rate(it, FigureOfMerit::Rows));
    let found = bakeoff_analysis::two_runs(&runs[0], &runs[1]);
    let json: Value = serde_json::from_str(&shown(&runs, &found, Some(0.1), "json")).unwrap();
    let slower = json["shared"].as_array().unwrap().iter().find(|it| it["verdict"] == "slower");
    let slower = slower.expect("lmdb's rate fell by half");
    assert_eq!((&slower["metric"], &json["gate"]), (&"rows_per_second".into(), &"worse".into()));
    let ratio = slower["ratio"].as_f64().unwrap();
    assert!((ratio - 0.5).abs() < 0.02, "{slower}");
    assert!(slower["after"].as_f64() < slower["before"].as_f64(), "{slower}");
    let table = shown(&runs, &found, Some(0.1), "md");
    let row = table.lines().find(|line| line.contains("slower")).expect("a row");
    assert!(row.contains(&format!("| {ratio:.2} |")), "{row}");
}

#[test]
fn another_format_is_refused_with_those_that_there_are() {
    let [before, _] = documents();
    let found = bakeoff_analysis::two_runs(&before, &before);
    let runs = ["a", "b"].map(|folder| ComparedRun { folder, document: &before });
    let error = two_runs(runs, &found, None, "html", &Options::default()).unwrap_err();
    assert!(matches!(error, Error::UnknownFormat { .. }));
    assert!(TWO_RUNS_FORMATS.iter().all(|format| error.to_string().contains(format)), "{error}");
}
