//! Two runs held against each other: `bakeoff compare`, and reports of one beside another of the same levels.

use std::process::Command;

use serde_json::Value;

use super::{Done, Place, SMALL};

/// Each block once, in a folder of that name.
fn run(place: &Place, out: &str, toml: &str) {
    let name = format!("{out}.toml");
    place.write(&name, toml);
    let short = ["--seconds", "0.5", "--repetitions", "1", "--quiet", "--out", out];
    place.run(&[&["run", &*name][..], &short].concat()).code(0);
}

fn copy(place: &Place, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| place.path(name));
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

/// Of a single trial on either side there is no interval, so that nothing can be decided.
#[test]
fn the_exit_code_says_that_nothing_is_decided_and_only_under_a_limit() {
    let place = Place::new();
    run(&place, "one", SMALL);
    copy(&place, "one", "two");
    let compare = ["compare", "one", "two"];
    place.run(&compare).code(0).says(&["two against one", "Nothing that is recorded", "1.00"]);
    let gate = [&compare[..], &["--fail-above", "10%"]].concat();
    let limited = |more: &[&str]| place.run(&[&gate[..], more].concat()).code(3);
    limited(&[]).says(&["Nothing could be decided of 2 comparisons", "--repetitions"]);
    limited(&["--format", "md"]).says(&["# two against one", "| undecided |"]);
    let json: Value = serde_json::from_str(&limited(&["--format", "json"]).out()).unwrap();
    assert_eq!((&json["gate"], &json["limit"]), (&"undecided".into(), &0.1.into()));
    let shared = json["shared"].as_array().unwrap();
    assert!(shared.iter().all(|it| it["ratio"] == 1.0 && it["low"].is_null()), "{shared:?}");
    // That the output is lost is no word on the runs.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&gate).stdout(full).output().unwrap();
    Done(output).code(4).says(&["standard output"]);
}

#[test]
fn what_can_t_be_compared_is_refused_by_one_code_with_what_to_do() {
    let place = Place::new();
    run(&place, "one", SMALL);
    run(&place, "other", &format!("{SMALL}clients = 2\n"));
    run(&place, "ledger", "workload = \"ledger\"\nengine = [\"sqlite\", \"lmdb\"]\n");
    std::fs::create_dir(place.path("empty")).unwrap();
    copy(&place, "one", "old");
    let database = rusqlite::Connection::open(place.path("old").join("run.sqlite")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    drop(database);
    std::os::unix::fs::symlink(place.path("one"), place.path("link")).unwrap();
    for (arguments, texts) in [
        (&["one", "one"][..], &["one is named twice"][..]),
        (&["one", "link"], &["is named twice"]),
        (&["one", "empty"], &["empty"]),
        (&["nowhere", "one"], &["nowhere"]),
        (&["one", "old"], &["old"]),
        (&["one"], &["AFTER"]),
        (&["one", "other"], &["no cell in common", "clients 1", "clients 2", "postgres/path=DIR"]),
        (&["one", "ledger"], &["workload `point`", "one of `ledger`"]),
        (&["one", "other", "--fail-above", "ten"], &["such as 10%"]),
        (&["one", "other", "--fail-above", "10"], &["10%, not 10"]),
        (&["one", "other", "--fail-above", "0.1"], &["0.1%, not 0.1"]),
        (&["one", "other", "--fail-above", "-5%"], &["from 0%"]),
        (&["one", "other", "--fail-above", "nan%"], &["from 0%"]),
        (&["one", "other", "--format", "html"], &["term", "md", "json"]),
    ] {
        place.run(&[&["compare"][..], arguments].concat()).code(2).says(texts);
    }
}

#[test]
fn an_application_stands_beside_the_files_by_the_same_levels() {
    let place = Place::new();
    let clients = "compare = \"clients\"\nclients = [1, 2]\n";
    let files = "workload = \"fileio\"\ndisk = \"host\"\nsize = \"4M\"\ndepth = [1, 4]\n";
    run(&place, "files", &format!("{files}{clients}"));
    let point = format!("workload = \"point\"\nengine = \"sqlite\"\n{clients}");
    run(&place, "application", &point);
    let report = |other: &str, format: &str| {
        place.run(&["report", "files", "--beside", other, "--format", format])
    };
    let text = report("application", "md").code(0);
    let text = text.says(&["What it is worth to an application", "Times as fast as with 1"]).out();
    let row = |workload: &str| {
        let start = format!("| {workload} |");
        text.lines().find(|line| line.starts_with(&start)).expect("a row")
    };
    // What varies of the files alone.
    assert_eq!(["fileio", "point"].map(|it| row(it).contains("depth")), [true, false], "{text}");
    let json = report("application", "json").code(0).out();
    let json: Value = serde_json::from_str(&json).unwrap();
    let other = &json["applications"][0];
    assert_eq!((&other["workload"], &other["folder"]), (&"point".into(), &"application".into()));
    assert_eq!(other["differences"], serde_json::json!([]), "the same machine and program");
    let comparisons = other["comparisons"].as_array().unwrap();
    assert!(!comparisons.is_empty() && comparisons.iter().all(|it| it["level"] == "2"));
    // A report by itself has nothing of it.
    assert!(place.json("files")["applications"].is_null());

    run(&place, "engines", SMALL);
    for (other, code, why) in [
        ("engines", 2, "--compare clients"),
        ("files", 2, "files is named twice"),
        (".", 3, "it has no run.sqlite"),
    ] {
        report(other, "md").code(code).says(&[why]);
    }
}
