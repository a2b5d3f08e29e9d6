//! A lab of somebody's own: engines that misbehave, whose trials fail and say why, or tell a lower bound,
//! while the run goes on; and workloads whose rows can't be had.
//!
//! This program is also the command of a lab that has these engines, so it is its own harness:
//! `cargo test -p bakeoff --test own [NAME]` runs the tests whose names contain that.

mod answers;
mod articles;
mod compare;
mod engines;
mod rows;

use std::path::Path;
use std::process::{Command, ExitCode, Output};

use bakeoff::Lab;
use bakeoff_testkit::Test;
use serde_json::Value;

/// What the lab's own command begins with: it is this program that bakeoff starts again.
const COMMANDS: [&str; 4] = ["run", "report", "compare", "trial"];

/// Two whole runs.
const REGRESSION: &str = "a_regression_is_caught_by_the_script_on_the_page";

const TESTS: &[Test] = &[
    ("an_engine_that_panics_fails_its_trial_with_its_words", panics),
    ("an_engine_that_hangs_gives_a_lower_bound", hangs),
    ("an_engine_that_loses_rows_fails_its_trial", loses_rows),
    ("an_engine_that_leaves_a_thread_behind_fails_its_trial", leaves_a_thread),
    (
        "engines_that_do_not_answer_alike_or_leave_something_broken_get_no_verdict",
        answers::differ_and_break,
    ),
    ("what_nobody_has_written_to_is_checked_once_an_image", answers::only_read),
    ("rows_that_cannot_be_had_are_no_fault_of_an_engine", rows_that_cannot_be_had),
    ("all_articles_are_one_page", articles::one_page),
    ("articles_are_planned_one_after_the_other", articles::plans),
    ("what_is_wrong_with_articles_leaves_nothing_behind", articles::refused),
    (REGRESSION, compare::catches_a_regression),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| COMMANDS.contains(&&**first)) {
        let lab = articles::ALL.iter().fold(Lab::standard(), |lab, preset| lab.preset(*preset));
        let lab = rows::ALL.iter().fold(lab, |lab, workload| lab.workload(workload));
        return engines::ALL.iter().fold(lab, |lab, engine| lab.engine(engine)).main();
    }
    // They mostly wait, one of them for half a minute.
    bakeoff_testkit::run(TESTS, &[REGRESSION], 4, &arguments)
}

/// The lab's command, in a folder.
fn command(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).current_dir(place).env("XDG_RUNTIME_DIR", place);
    command
}

fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn said(done: &Output) -> String {
    [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

/// Runs an experiment of this text into `r`.
fn run_toml(place: &Path, toml: &str, more: &[&str]) -> Output {
    std::fs::write(place.join("mine.toml"), toml).unwrap();
    let run = ["run", "mine.toml", "--out", "r"];
    command(place, &[&run[..], more].concat()).output().unwrap()
}

/// The document of the run in `r`.
fn document(place: &Path) -> Value {
    let report = command(place, &["report", "r", "--format", "json"]).output().unwrap();
    serde_json::from_slice(&report.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(&report)))
}

/// What came of a run of one bad engine beside SQLite: how it ended, and its document. A fault shows after some calls,
/// for which a machine that stalls may leave no time.
fn run(engine: &str) -> (Output, Value) {
    bakeoff_testkit::in_time("the time for a fault", |_| {
        let place = place();
        let toml = format!("workload = 'point'\nengine = ['{engine}', 'sqlite']\nseconds = 0.5\n");
        let done = run_toml(place.path(), &toml, &["--repetitions", "1"]);
        let document = document(place.path());
        let is_bad = |it: &&Value| it["valid"] != true || it["operations"][0]["unfinished"] != 0;
        let shows = trials(&document, engine).iter().all(is_bad);
        shows.then_some((done, document))
    })
}

/// The trials of an engine: more than one where the machine was disturbed.
fn trials<'d>(document: &'d Value, engine: &str) -> Vec<&'d Value> {
    let trials = document["trials"].as_array().unwrap();
    trials.iter().filter(|trial| trial["levels"]["engine"] == engine).collect()
}

/// SQLite's trial counts, whatever befell the other engine's.
#[track_caller]
fn went_on(document: &Value) {
    let other = trials(document, "sqlite");
    assert!(other.iter().any(|trial| trial["valid"] == true), "{other:?}");
}

/// The trial of a bad engine failed for a reason with these words, and the other one counts.
#[track_caller]
fn fails(engine: &str, words: &[&str]) {
    let (done, document) = run(engine);
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    let bad = trials(&document, engine);
    assert!(bad.iter().all(|trial| trial["valid"] == false), "{bad:?}");
    let reasons = bad.iter().filter_map(|trial| trial["reason"].as_str());
    let reasons: Vec<&str> = reasons.collect();
    let says = |reason: &&str| words.iter().all(|word| reason.contains(word));
    assert!(reasons.iter().any(says), "{words:?} are not in {reasons:?}");
    went_on(&document);
}

fn panics() {
    fails("panics", &["its process ended with exit code 101", "this engine panics"]);
}

/// An operation that does not end is a lower bound of how long it takes, not a failure: that of an engine
/// on a slow disk may be as long.
fn hangs() {
    let (done, document) = run("hangs");
    assert!(done.status.success(), "{}", said(&done));
    let bad = trials(&document, "hangs");
    assert!(bad.iter().all(|it| it["operations"][0]["unfinished"] == 1), "{bad:?}");
    let warned = document["warnings"].as_array().unwrap();
    assert!(warned.iter().any(|warning| warning["code"] == "cut-off"), "{warned:?}");
    went_on(&document);
}

fn leaves_a_thread() {
    fails("leaks", &["1 thread", "left-behind"]);
}

fn loses_rows() {
    fails("loses-rows", &["too many operations failed", "point/read.sql:3:9: "]);
}

/// Every engine's trial says the same of them: where, and what.
fn rows_that_cannot_be_had() {
    for (workload, wanted) in [
        ("fails", "table notes, after row 1: notes.csv, line 2: the file ends here"),
        ("empty", "its workload gives no row of any table"),
        ("too-long", "table notes, row 2: column title holds at most 5 characters, not 6"),
    ] {
        let place = place();
        let toml = format!("workload = '{workload}'\nseconds = 0.5\nrepetitions = 1\n");
        let done = run_toml(place.path(), &toml, &["--engine", "sqlite,lmdb,null"]);
        assert_eq!(done.status.code(), Some(5), "{}", said(&done));
        assert!(said(&done).contains(wanted), "{}", said(&done));
        let document = document(place.path());
        for engine in ["sqlite", "lmdb", "null"] {
            let reasons = trials(&document, engine);
            let reasons: Vec<_> = reasons.iter().map(|it| it["reason"].as_str().unwrap()).collect();
            let reason = format!("its data can't be loaded: {wanted}");
            assert!(!reasons.is_empty() && reasons.iter().all(|it| *it == reason), "{reasons:?}");
        }
    }
}
