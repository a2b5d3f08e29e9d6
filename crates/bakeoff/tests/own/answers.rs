//! What engines answer is compared before their first trials, and what trials leave is checked.

use std::path::Path;

use serde_json::Value;

use super::{command, document, place, run_toml, said};

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
    said(&command(place, &["report", "r", "--format", "md"]).output().unwrap())
}

pub fn differ_and_break() {
    let place = place();
    let faulty = "otherwise', 'fails-its-check', 'loses-a-row";
    let done = run_toml(place.path(), &toml(faulty, "repetitions = 2"), &[]);
    let said = said(&done);
    assert!(done.status.success(), "{said}");
    let first = "operation 1 (read), statement `read.sql:2`: ";
    assert!(said.contains(&format!("answers differ: {first}")), "{said}");
    let document = document(place.path());
    for (one, two) in [
        ("sqlite", "otherwise"),
        ("otherwise", "lmdb"),
        ("sqlite", "fails-its-check"),
        ("sqlite", "loses-a-row"),
    ] {
        assert_eq!(verdicts(&document, one, two), ["void"], "{one} {two}");
    }
    assert_ne!(verdicts(&document, "sqlite", "lmdb"), ["void"]);
    let warned = warning(&document, "answers-differ").expect("it is told");
    assert!(
        warned.contains(first)
            && warned.contains("otherwise answered 1 rows, in row 1 column 1 is "),
        "{warned}"
    );
    // Nothing can be read back from the engine that stores nothing.
    let asked = document["run"]["answers"].as_array().unwrap();
    let mut engines: Vec<&str> = asked.iter().map(|it| it["engine"].as_str().unwrap()).collect();
    engines.sort_unstable();
    assert_eq!(engines, ["fails-its-check", "lmdb", "loses-a-row", "otherwise", "sqlite"]);
    assert!(asked.iter().all(|it| it["operations"] == 500 && it["statements"] == 500));
    let method = method(place.path());
    assert!(method.contains("the answers are not the same: see the warnings"), "{method}");
    // What a trial leaves is checked once a cell.
    let [fine, broken] = [0.0, 1.0];
    assert_eq!(
        checked(&document),
        [
            ("fails-its-check", broken),
            ("lmdb", fine),
            ("loses-a-row", broken),
            ("otherwise", fine),
            ("sqlite", fine)
        ]
    );
    let warned = warning(&document, "check-failed").expect("it is told");
    assert!(warned.contains("fails-its-check") || warned.contains("loses-a-row"), "{warned}");
    let found = document.to_string();
    for wanted in ["page 7 is torn", "point/invariants.sql:3:9: "] {
        assert!(found.contains(wanted), "{wanted}");
    }
}

/// What nobody has written to is checked once an image, not once a cell.
pub fn only_read() {
    let place = place();
    std::fs::write(place.path().join("book.txt"), "a tale of words ".repeat(10_000)).unwrap();
    let toml = toml("lmdb@again", "clients = [1, 2]\nrepetitions = 2");
    let done = run_toml(place.path(), &toml, &["--text", "book.txt"]);
    assert!(done.status.success(), "{}", said(&done));
    let document = document(place.path());
    assert_eq!(checked(&document).len(), 2, "of lmdb and of sqlite");
    let text = document["run"]["text"].as_str().unwrap();
    assert!(text.contains("generators (seed 1), their words from "), "{text}");
    assert!(text.contains("book.txt (159999 bytes, fingerprint "), "{text}");
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
