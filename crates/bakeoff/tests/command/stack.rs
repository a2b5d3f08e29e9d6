//! The pages of `vote` behind a web server, which is staged with its database.

use serde_json::Value;

use bakeoff_results::Scope;
use bakeoff_results::measure::CPU;
use bakeoff_testkit::needs;

use super::servers::installed;
use super::{Place, measured};

/// A trial that is as short as can be, of a page that does all.
const SHORT: [&str; 10] = [
    "--seconds",
    "1",
    "--repetitions",
    "1",
    "--factor",
    "step=read+write",
    "--compare",
    "server",
    "--clients",
    "20",
];

/// Runs `vote` with these flags more, and returns its document.
fn run(place: &Place, more: &[&str]) -> Value {
    place.run(&[&["run", "vote", "--out", "r"], &SHORT[..], more].concat()).code(0);
    place.assert_clean("r");
    place.json("r")
}

/// Every trial has pages and votes without an error, and data without a fault.
fn assert_served(document: &Value, count: usize) {
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), count);
    for trial in trials {
        assert_eq!(trial["valid"], true, "{trial}");
        let operations = trial["operations"].as_array().unwrap();
        let names: Vec<&str> = operations.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["page", "vote"]);
        for operation in operations {
            assert_eq!(operation["errors"], 0, "{trial}");
            assert!(operation["count"].as_u64().unwrap() > 0, "{trial}");
        }
        assert_eq!(trial["warnings"].as_array().map_or(0, Vec::len), 0, "{trial}");
    }
}

/// Processor seconds of a group, where it was counted.
fn used(trial: &Value, group: &'static str) -> Option<f64> {
    measured(trial).get(&CPU, &Scope::Processes(group.into()))
}

#[test]
fn an_embedded_engine_works_in_the_web_servers_process() {
    let place = Place::new();
    for connection in ["request", "kept"] {
        let connection = format!("connection={connection}");
        let both = ["--engine", "sqlite", "--factor", "server=none,built-in"];
        let document = run(&place, &[&both[..], &["--factor", &connection]].concat());
        assert_served(&document, 2);
        for trial in document["trials"].as_array().unwrap() {
            assert!(used(trial, "database").unwrap() > 0.0, "{trial}");
            assert_eq!(used(trial, "web"), None, "one process: one account");
        }
        std::fs::remove_dir_all(place.path("r")).unwrap();
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_web_server_and_its_database_are_accounted_apart() {
    for engine in ["mariadb:innodb", "postgres", "tarantool:memtx"] {
        if !installed(&[engine]) {
            continue;
        }
        let place = Place::new();
        let served = ["--engine", engine, "--factor", "server=built-in"];
        let document = run(&place, &served);
        assert_served(&document, 1);
        let trial = &document["trials"][0];
        let [web, database] = ["web", "database"].map(|group| used(trial, group).unwrap());
        assert!(web > 0.0 && database > 0.0, "{engine}: {trial}");
        let groups = document["cells"][0]["groups"].as_array().unwrap();
        let each = groups.iter().map(|group| &group["cpu_per_operation_s"]);
        assert!(each.into_iter().all(|it| it.as_f64().unwrap() > 0.0), "{groups:?}");
        assert_eq!(groups.len(), 2, "{groups:?}");
    }
}

/// The processes of nginx and php-fpm that have a folder's files.
fn left(folder: &std::path::Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let ours = name.starts_with("nginx") || name.starts_with("php-fpm");
        let output = std::fs::read_link(entry.path().join("fd/1")).ok()?;
        (ours && output.starts_with(folder)).then(|| name.trim().to_owned())
    });
    lines.collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_same_pages_and_leave_nothing() {
    for (engine, groups) in [
        ("sqlite", &["database", "web"][..]),
        ("mariadb:innodb", &["database", "php", "web"][..]),
        ("postgres", &["database", "php", "web"][..]),
    ] {
        let found = bakeoff_engines::find(engine).unwrap();
        if !installed(&[engine])
            || needs(bakeoff_lab::targets::tables::serves_with_php(found)).is_none()
        {
            continue;
        }
        for connection in ["connection=request", "connection=kept"] {
            let place = Place::new();
            let served = ["--engine", engine, "--factor", "server=php", "--factor", connection];
            let document = run(&place, &served);
            assert_served(&document, 1);
            let trial = &document["trials"][0];
            for &group in groups {
                assert!(used(trial, group).unwrap() > 0.0, "{engine}, {group}: {trial}");
            }
            let died = measured(trial).counters().find(|(name, _)| *name == "php.workers_died");
            assert_eq!(died.map(|(_, count)| count), Some(0), "{engine}");
            assert_eq!(left(&place.path("r")), Vec::<String>::new(), "{engine}");
        }
    }
}

#[test]
fn what_can_not_be_served_is_refused_before_anything_begins() {
    let place = Place::new();
    let refused = |more: &[&str], texts: &[&str]| {
        let run = ["run", "vote", "--out", "r"];
        place.run(&[&run[..], more].concat()).code(2).says(texts);
        assert!(!place.path("r").exists(), "nothing was begun");
    };
    let served = ["--factor", "server=built-in"];
    refused(&[&served[..], &["--state", "steady"]].concat(), &["can't be preconditioned"]);
    refused(&["--factor", "server=apache"], &["`apache`", "none, built-in, php"]);
    let unread = ["--engine", "lmdb", "--factor", "server=php"];
    refused(&unread, &["PHP reaches SQLite, MariaDB and PostgreSQL"]);
}
