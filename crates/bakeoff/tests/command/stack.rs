//! The pages of `vote` behind a web server, which is staged with its database.

use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use bakeoff_results::Scope;
use bakeoff_results::measure::CPU;
use bakeoff_testkit::{needs, wait_until};

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
    place.run(&[&["run", "vote", "--out", "r"][..], &SHORT, more].concat()).code(0);
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
        let processes = document["cells"][0]["processes"].as_array().unwrap();
        let names: Vec<&str> = processes.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["clients", "database", "web"]);
        let each = processes.iter().map(|it| it["cpu_per_operation_s"].as_f64().unwrap());
        assert!(each.into_iter().all(|seconds| seconds > 0.0), "{processes:?}");
    }
}

/// The processes that work in a place, or whose output is kept there: number and name of each.
fn working_in(place: &Place) -> Vec<(u32, String)> {
    let folder = place.path("").canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let is_there = |link: &str| {
            std::fs::read_link(entry.path().join(link)).is_ok_and(|at| at.starts_with(&folder))
        };
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        (is_there("cwd") || is_there("fd/1")).then(|| (pid, name.trim().to_owned()))
    });
    ours.collect()
}

/// Workers of PHP's in a place: processes of php-fpm whose parent is one, too.
fn php_workers(place: &Place) -> Vec<u32> {
    let all = working_in(place);
    let is_php = |pid: u32| all.iter().any(|(it, name)| *it == pid && name.starts_with("php-fpm"));
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let pids = all.iter().map(|(pid, _)| *pid);
    pids.filter(|pid| is_php(*pid) && parent(*pid).is_some_and(is_php)).collect()
}

/// Whether PHP can serve pages over an engine here.
fn with_php(engine: &str) -> bool {
    let found = bakeoff_engines::find(engine).unwrap();
    installed(&[engine]) && needs(bakeoff_lab::targets::tables::serves_with_php(found)).is_some()
}

/// Starts a run of `vote` on SQLite behind a web server that goes on for so many seconds.
fn started(place: &Place, server: &str, seconds: &str) -> Child {
    let server = format!("server={server}");
    let served = ["run", "vote", "--out", "r", "--engine", "sqlite", "--factor", &server];
    let short = ["--factor", "step=read+write", "--compare", "server", "--repetitions", "1"];
    let time = ["--clients", "20", "--seconds", seconds];
    place.start(&[&served[..], &short, &time].concat())
}

/// However a run ends, what it has staged ends with it.
#[test]
#[ignore = "slow: make test-slow"]
fn nothing_is_left_of_a_stack_whose_run_is_killed() {
    for server in ["built-in", "php"] {
        if server == "php" && !with_php("sqlite") {
            continue;
        }
        let place = Place::new();
        let mut run = started(&place, server, "600");
        wait_until("the stack", || match server {
            "php" => php_workers(&place).len() > 1,
            // The run, the trial, and what serves.
            _ => working_in(&place).len() > 2,
        });
        run.kill().unwrap();
        run.wait().unwrap();
        wait_until("the end of all", || working_in(&place).is_empty());
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn workers_of_php_that_die_are_counted() {
    if !with_php("sqlite") {
        return;
    }
    let place = Place::new();
    let mut run = started(&place, "php", "3");
    // Now and then one is killed, as long as the run goes on: before its clients start and after.
    while run.try_wait().unwrap().is_none() {
        if let Some(worker) = php_workers(&place).first() {
            let _ = Command::new("kill").args(["-9", &worker.to_string()]).status();
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let document = place.json("r");
    let trial = &document["trials"][0];
    let measured = measured(trial);
    let died = measured.counters().find(|(name, _)| *name == "php.workers_died");
    assert!(died.is_some_and(|(_, count)| count > 0), "{trial}");
    assert_eq!(working_in(&place), Vec::new());
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_same_pages_and_leave_nothing() {
    for (engine, groups) in [
        ("sqlite", &["database", "web"][..]),
        ("mariadb:innodb", &["database", "php", "web"][..]),
        ("postgres", &["database", "php", "web"][..]),
        ("tarantool:memtx", &["database", "php", "web"][..]),
    ] {
        if !with_php(engine) {
            continue;
        }
        for (connection, gzip) in [("request", "off"), ("kept", "on")] {
            let place = Place::new();
            let (connection, gzip) = (format!("connection={connection}"), format!("gzip={gzip}"));
            let served = ["--engine", engine, "--factor", "server=php", "--factor", &connection];
            let document = run(&place, &[&served[..], &["--factor", &gzip]].concat());
            assert_served(&document, 1);
            let trial = &document["trials"][0];
            for &group in groups {
                assert!(used(trial, group).unwrap() > 0.0, "{engine}, {group}: {trial}");
            }
            let measures = measured(trial);
            let died = measures.counters().find(|(name, _)| *name == "php.workers_died");
            assert_eq!(died.map(|(_, count)| count), Some(0), "{engine}");
            assert_eq!(working_in(&place), Vec::new(), "{engine}");
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
    let packed = ["--factor", "gzip=on", "--factor", "server=built-in"];
    refused(&packed, &["only nginx compresses pages"]);
    let unread = ["--engine", "lmdb", "--factor", "server=php"];
    refused(&unread, &["PHP reaches SQLite, MariaDB and PostgreSQL"]);
}
