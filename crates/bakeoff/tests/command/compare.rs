//! `bakeoff compare`.

use std::process::Command;

use serde_json::Value;

use super::{Done, Place, SMALL};

/// A run of each block once, in a folder of that name.
fn run(place: &Place, out: &str, more: &[&str]) {
    place.write("small.toml", SMALL);
    let arguments = ["run", "small.toml", "--repetitions", "1", "--quiet", "--out", out];
    place.run(&[&arguments[..], more].concat()).code(0);
}

fn copy(place: &Place, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| place.path(name));
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

/// Of a single trial on either side there is no interval, so that nothing can be decided.
#[test]
fn the_exit_code_says_that_nothing_is_decided_and_only_under_a_limit() {
    let place = Place::new();
    run(&place, "one", &[]);
    copy(&place, "one", "two");
    let compare = ["compare", "one", "two"];
    let done = place.run(&compare).code(0);
    done.says(&["two against one", "What differs in set-up", "Nothing that is recorded", "1.00"]);
    let limited =
        |more: &[&str]| place.run(&[&compare[..], &["--fail-above", "10%"], more].concat()).code(3);
    limited(&[]).says(&["Nothing could be decided of 2 comparisons", "--repetitions"]);
    limited(&["--format", "md"]).says(&["# two against one", "| undecided |"]);
    let json = limited(&["--format", "json"]).out();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["gate"], &json["limit"]), (&Value::from("undecided"), &Value::from(0.1)));
    let shared = json["shared"].as_array().unwrap();
    assert!(shared.iter().all(|it| it["ratio"] == 1.0 && it["low"].is_null()), "{shared:?}");
}

#[test]
fn what_can_t_be_compared_is_refused_by_one_code_with_what_to_do() {
    let place = Place::new();
    run(&place, "one", &[]);
    run(&place, "other", &["--clients", "2"]);
    place.write("ledger.toml", "workload = \"ledger\"\nengine = [\"sqlite\", \"lmdb\"]\n");
    let short = ["--seconds", "0.5", "--repetitions", "1", "--quiet", "--out", "ledger"];
    place.run(&[&["run", "ledger.toml"][..], &short].concat()).code(0);
    std::fs::create_dir(place.path("empty")).unwrap();
    copy(&place, "one", "old");
    let database = rusqlite::Connection::open(place.path("old").join("run.sqlite")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    drop(database);
    std::os::unix::fs::symlink(place.path("one"), place.path("link")).unwrap();
    for (arguments, texts) in [
        (&["one", "one"][..], &["one is named twice; name two runs"][..]),
        (&["one", "link"], &["is named twice"]),
        (&["one", "empty"], &["empty"]),
        (&["nowhere", "one"], &["nowhere"]),
        (&["one", "old"], &["old"]),
        (&["one"], &["AFTER"]),
        (&["one", "other"], &["no cell in common", "clients 1", "clients 2", "postgres/path=DIR"]),
        (&["one", "ledger"], &["workload `point`", "one of `ledger`", "runs of one workload"]),
        (&["one", "other", "--fail-above", "ten"], &["--fail-above", "such as 10%"]),
        (&["one", "other", "--fail-above", "10"], &["10%, not 10"]),
        (&["one", "other", "--fail-above", "0.1"], &["0.1%, not 0.1"]),
        (&["one", "other", "--fail-above", "nan"], &["from 0%"]),
        (&["one", "other", "--fail-above", "-5%"], &["from 0%"]),
        (&["one", "other", "--fail-above", "nan%"], &["from 0%"]),
        (&["one", "other", "--format", "html"], &["term", "md", "json"]),
    ] {
        place.run(&[&["compare"][..], arguments].concat()).code(2).says(texts);
    }
}

/// That the output is lost is no word on the runs.
#[test]
fn a_full_output_is_neither_worse_nor_undecided() {
    let place = Place::new();
    run(&place, "one", &[]);
    copy(&place, "one", "two");
    let mut compare = place.command(&["compare", "one", "two", "--fail-above", "10%"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    Done(compare.stdout(full).output().unwrap()).code(4).says(&["standard output"]);
}
