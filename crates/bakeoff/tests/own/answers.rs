//! What engines answer is compared before their first trials, and what trials leave is checked.

use std::path::Path;
use std::process::Output;

use bakeoff::results::RunFolder;
use serde_json::Value;

use super::{command, document};

fn run(place: &Path, toml: &str) -> Output {
    std::fs::write(place.join("mine.toml"), toml).unwrap();
    command(place, &["run", "mine.toml", "--out", "r"]).output().unwrap()
}

fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn toml(engine: &str, more: &str) -> String {
    format!(
        "workload = 'point'\nengine = ['sqlite', '{engine}', 'lmdb', 'null']\nseconds = 0.5\n{more}\n"
    )
}

/// The verdicts between two engines, one a comparison.
fn verdicts<'d>(document: &'d Value, one: &str, two: &str) -> Vec<&'d str> {
    let all =
        ["comparisons", "between"].into_iter().flat_map(|it| document[it].as_array().unwrap());
    let of = all.filter(|it| it["baseline"] == one && it["level"] == two);
    of.map(|it| it["verdict"].as_str().unwrap()).collect()
}

fn warning<'d>(document: &'d Value, code: &str) -> Option<&'d str> {
    let found = document["warnings"].as_array().unwrap().iter().find(|it| it["code"] == code)?;
    found["text"].as_str()
}

fn method(place: &Path) -> String {
    let report = command(place, &["report", "r", "--format", "md"]).output().unwrap();
    String::from_utf8(report.stdout).unwrap()
}

pub fn differ() {
    let place = place();
    let done = run(place.path(), &toml("otherwise", "repetitions = 2"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let first = "operation 1 (read), statement `point by id`: ";
    assert!(said.contains(&format!("answers differ: {first}")), "{said}");
    let document = document(place.path());
    assert_eq!(verdicts(&document, "sqlite", "otherwise"), ["void"]);
    assert_eq!(verdicts(&document, "otherwise", "lmdb"), ["void"]);
    assert_ne!(verdicts(&document, "sqlite", "lmdb"), ["void"]);
    let warned = warning(&document, "answers-differ").expect("it is told");
    assert!(warned.contains(first) && warned.contains("otherwise answered 1 rows: "), "{warned}");
    // Nothing can be read back from the engine that stores nothing.
    let asked = document["run"]["answers"].as_array().unwrap();
    let mut engines: Vec<&str> = asked.iter().map(|it| it["engine"].as_str().unwrap()).collect();
    engines.sort_unstable();
    assert_eq!(engines, ["lmdb", "otherwise", "sqlite"]);
    assert!(asked.iter().all(|it| it["operations"] == 500 && it["statements"] == 500));
    let method = method(place.path());
    assert!(method.contains("the answers are not the same: see the warnings"), "{method}");
}

/// What was noted of an image stands: were it asked again, the note would be another one.
pub fn resumed() {
    let toml = "workload = 'point'\nengine = ['lmdb', 'sqlite']\nseconds = 0.5\nrepetitions = 1\n\
                planner = 'one-more'\n";
    let place = super::planner::cut_short(toml);
    let mut folder = RunFolder::resume(&place.path().join("r")).unwrap();
    let known = folder.run().unwrap().answers;
    let [one, two] = &known[..] else { panic!("{known:?}") };
    assert!(one.digest.is_some() && one.digest == two.digest, "{known:?}");
    for image in &known {
        let noted = bakeoff::results::Answers { digest: Some("as noted".into()), ..image.clone() };
        folder.note_answers(&noted).unwrap();
    }
    drop(folder);
    let resumed = command(place.path(), &["run", "--resume", "r"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let document = document(place.path());
    let answers = document["run"]["answers"].as_array().unwrap();
    assert!(
        answers.len() == 2 && answers.iter().all(|it| it["digest"] == "as noted"),
        "{answers:?}"
    );
    let method = method(place.path());
    assert!(method.contains("the same answers from 2 engines."), "{method}");
    // Each of its cells was checked in the first sitting.
    assert_eq!(checked(&document), [("lmdb", 0.0), ("sqlite", 0.0)]);
}

/// What nobody has written to is checked once an image, not once a cell.
pub fn only_read() {
    let place = place();
    let done = run(place.path(), &toml("lmdb@again", "clients = [1, 2]\nrepetitions = 2"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(checked(&document(place.path())).len(), 2, "of lmdb and of sqlite");
}

/// The trials after which somebody looked, by their engines, with what was found.
fn checked(document: &Value) -> Vec<(&str, f64)> {
    let mut checked = Vec::new();
    for trial in document["trials"].as_array().unwrap() {
        let faults = trial["measures"].as_array().unwrap().iter().find(|it| it["name"] == "faults");
        let engine = trial["levels"]["engine"].as_str().unwrap();
        checked.extend(faults.map(|it| (engine, it["value"].as_f64().unwrap())));
    }
    checked.sort_by_key(|(engine, _)| *engine);
    checked
}

pub fn broken() {
    for (engine, wanted) in [
        ("fails-its-check", "page 7 is torn"),
        ("loses-a-row", "the ids of its rows add up to 50004998 instead of 50005000"),
    ] {
        let place = place();
        let done = run(place.path(), &toml(engine, "repetitions = 2"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let document = document(place.path());
        let mut all = vec![("lmdb", 0.0), ("sqlite", 0.0), (engine, 1.0)];
        all.sort_by_key(|(engine, _)| *engine);
        assert_eq!(checked(&document), all);
        assert_eq!(verdicts(&document, "sqlite", engine), ["void"]);
        assert_ne!(verdicts(&document, "sqlite", "lmdb"), ["void"]);
        let warned = warning(&document, "check-failed").expect("it is told");
        assert!(warned.contains(wanted) && warned.contains(engine), "{warned}");
    }
}
