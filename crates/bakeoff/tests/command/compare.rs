//! Two runs held against each other: `bakeoff compare`, and reports of one beside another of the same levels.

use std::os::unix::fs::PermissionsExt;
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

/// Under its name stands the last run that ended well, and nothing else is touched.
#[test]
fn a_run_is_kept_as_a_baseline_and_later_ones_are_held_against_it() {
    let place = Place::small();
    let run = |out: &str, more: &[&str]| {
        let all =
            ["run", "small.toml", "--repetitions", "1", "--out", out, "--save-baseline", "main"];
        place.run(&[&all[..], more].concat())
    };
    let kept = || std::fs::read(place.path("bakeoff-baselines/main/run.sqlite")).unwrap();
    let is_of =
        |folder: &str| kept() == std::fs::read(place.path(folder).join("run.sqlite")).unwrap();
    place
        .run(&["compare", "one", "--baseline", "main"])
        .code(2)
        .says(&["there is no baseline `main` in bakeoff-baselines", "--save-baseline main"]);
    run("one", &[]).code(0).says(&["kept as a baseline: bakeoff-baselines/main"]);
    assert!(is_of("one"));
    run("two", &["--fail-if", "rate>0/s"]).code(2);
    run("two", &["--fail-if", "rate<1e9/s"]).code(7).says(&["not kept as a baseline"]);
    assert!(is_of("one"), "a run that fails replaces none");
    let compared = place.run(&["compare", "two", "--baseline", "main", "--fail-above", "10%"]);
    compared.code(3).says(&["two against bakeoff-baselines/main"]);
    run("three", &[]).code(0);
    assert!(is_of("three"));
    let names = std::fs::read_dir(place.path("bakeoff-baselines")).unwrap();
    assert_eq!(names.map(|it| it.unwrap().file_name()).collect::<Vec<_>>(), ["main"]);
    // Before the run a place is refused that holds anything else, or leads elsewhere.
    std::fs::create_dir(place.path("bakeoff-baselines/empty")).unwrap();
    place.write("bakeoff-baselines/main/notes", "important");
    std::os::unix::fs::symlink("../three", place.path("bakeoff-baselines/link")).unwrap();
    for (name, text) in [("main", "holds `notes`"), ("empty", "holds no run"), ("link", "link")] {
        let refused = place.run(&["run", "small.toml", "--out", "four", "--save-baseline", name]);
        refused.code(3).says(&[text]);
        assert!(!place.path("four").exists(), "{name}");
    }
    assert!(is_of("three") && place.path("bakeoff-baselines/main/notes").exists());
    assert!(place.path("three/run.sqlite").exists());
    std::fs::set_permissions(place.path("bakeoff-baselines"), PermissionsExt::from_mode(0o777))
        .unwrap();
    let all = ["run", "small.toml", "--out", "four", "--save-baseline", "other"];
    place.run(&all).code(3).says(&["bakeoff-baselines"]);
    for (arguments, text) in [
        (&["one"][..], "name two runs, BEFORE and AFTER, or one"),
        (&["one", "two", "--baseline", "main"], "with --baseline, name one run"),
        (&["one", "--baseline", "../main"], "a baseline's name has letters"),
    ] {
        place.run(&[&["compare"][..], arguments].concat()).code(2).says(&[text]);
    }
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
