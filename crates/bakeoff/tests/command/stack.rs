//! The pages of `vote` behind a web server, which is staged with its database.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use bakeoff_results::Scope;
use bakeoff_results::measure::CPU;
use bakeoff_testkit::{in_time, needs, wait_until};

use super::servers::installed;
use super::{Place, measured};

/// A trial that is as short as can be, of a page that does all.
const SHORT: [&str; 12] = [
    // A level that every engine gives.
    "--durability",
    "none",
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

/// Pages that SQLite's sessions did not have in their caches.
const MISSES: &str = "pages not in a session's cache";
/// Transactions that the built-in web server has run again.
const RUN_AGAIN: &str = "web.transactions_run_again";

/// A counter of a trial's, where it was counted.
fn counter(trial: &Value, wanted: &str) -> Option<u64> {
    let measures = measured(trial);
    let found = measures.counters().find(|(name, _)| *name == wanted);
    found.map(|(_, count)| count)
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
            assert!(used(trial, "database").is_some(), "{trial}");
            assert_eq!(used(trial, "web"), None, "one process: one account");
            // What sessions count when they end is told where they have ended.
            let is_served = trial["levels"]["server"] == "built-in";
            let is_kept = connection == "connection=kept";
            assert_eq!(counter(trial, MISSES).is_some(), !is_served || !is_kept, "{trial}");
            assert_eq!(counter(trial, RUN_AGAIN).is_some(), is_served, "{trial}");
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
        let both = ["web", "database"].map(|group| used(trial, group).is_some());
        assert_eq!(both, [true, true], "{engine}: {trial}");
        let processes = document["cells"][0]["processes"].as_array().unwrap();
        let names: Vec<&str> = processes.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["clients", "database", "web"]);
        let mut each = processes.iter().map(|it| it["cpu_per_operation_s"].as_f64().unwrap());
        assert!(each.all(|seconds| seconds >= 0.0), "{processes:?}");
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

/// Whether the socket of a web server is in a folder, or in one in it.
fn has_socket(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        entry.file_name() == "web.sock" || (is_folder && has_socket(&entry.path()))
    })
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
pub fn with_php(engine: &str) -> bool {
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
        wait_until("the stack", || {
            let are_there = match server {
                "php" => php_workers(&place).len() > 1,
                // The run, the trial, and what serves.
                _ => working_in(&place).len() > 2,
            };
            are_there && has_socket(&place.path(""))
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
    let place = in_time("the visitors' work", |_| {
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
        let died = counter(trial, "php.workers_died") > Some(0);
        // Visitors whose pages they were making have noticed.
        let noticed = ["page.gateway", "page.wrong_status", "page.closed"];
        let noticed = noticed.map(|name| counter(trial, name));
        let is_counted = died && noticed.into_iter().flatten().sum::<u64>() > 0;
        println!("counted: {is_counted}: {trial}");
        is_counted.then_some(place)
    });
    assert_eq!(working_in(&place), Vec::new());
}

/// nginx and PHP serve the pages over an engine, with a new connection for each request and with kept ones, in
/// these groups of processes, and leave nothing behind.
fn serves_with_nginx_and_php(engine: &str, groups: &[&'static str]) {
    if !with_php(engine) {
        return;
    }
    for (connection, gzip) in [("request", "off"), ("kept", "on")] {
        let place = Place::new();
        let (connection, gzip) = (format!("connection={connection}"), format!("gzip={gzip}"));
        let served = ["--engine", engine, "--factor", "server=php", "--factor", &connection];
        let document = run(&place, &[&served[..], &["--factor", &gzip]].concat());
        assert_served(&document, 1);
        let trial = &document["trials"][0];
        for &group in groups {
            assert!(used(trial, group).is_some(), "{engine}, {group}: {trial}");
        }
        assert_eq!(counter(trial, "php.workers_died"), Some(0), "{engine}");
        // PHP's SQLite is another one than bakeoff's, which has counted nothing.
        assert_eq!(counter(trial, MISSES), None, "{engine}");
        assert_eq!(working_in(&place), Vec::new(), "{engine}");
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_pages_of_sqlite_and_leave_nothing() {
    serves_with_nginx_and_php("sqlite", &["database", "web"]);
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_pages_of_innodb_and_leave_nothing() {
    serves_with_nginx_and_php("mariadb:innodb", &["database", "php", "web"]);
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_pages_of_postgres_and_leave_nothing() {
    serves_with_nginx_and_php("postgres", &["database", "php", "web"]);
}

#[test]
#[ignore = "slow: make test-slow"]
fn nginx_and_php_serve_the_pages_of_memtx_and_leave_nothing() {
    serves_with_nginx_and_php("tarantool:memtx", &["database", "php", "web"]);
}

/// The control groups that a process is in, as the kernel writes them.
fn control_groups(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_quota_holds_nginx_php_and_the_database_together_and_no_visitor() {
    if !with_php("postgres") || needs(bakeoff_lab::try_cpu_limit()).is_none() {
        return;
    }
    let place = Place::new();
    let held = ["--engine", "postgres", "--factor", "server=php", "--cpus", "1"];
    let begin = ["run", "vote", "--out", "long", "--compare", "server", "--repetitions", "1"];
    let goes_on = ["--factor", "step=read+write", "--clients", "20", "--seconds", "600"];
    let mut long = place.start(&[&begin[..], &held, &goes_on].concat());
    wait_until("the stack", || has_socket(&place.path("")) && php_workers(&place).len() > 1);
    let own = control_groups(long.id()).unwrap();
    let there = working_in(&place).into_iter();
    let there: Vec<(String, String)> =
        there.filter_map(|(pid, name)| Some((name, control_groups(pid)?))).collect();
    long.kill().unwrap();
    long.wait().unwrap();
    wait_until("the end of all", || working_in(&place).is_empty());
    // The run, the trial with its visitors, and what has started nginx and PHP; then these two.
    let (mut free, mut in_groups) = (0, 0);
    for (name, groups) in &there {
        if name == "bakeoff" || name == "exe" {
            assert_eq!(*groups, own, "{name}: {there:?}");
            free += 1;
        }
        if name == "nginx" || name.starts_with("php-fpm") {
            assert_ne!(*groups, own, "{name}: {there:?}");
            in_groups += 1;
        }
    }
    assert!(free > 2 && in_groups > 3, "{there:?}");

    let document = run(&place, &held);
    assert_served(&document, 1);
    let groups = document["cells"][0]["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["database", "php", "stack", "web"]);
    for group in groups {
        // A group in another one has the quota of that, and no smaller one.
        assert_eq!(group["cpu_limit"], 1.0, "{group}");
        assert!(group["memory_limit_bytes"].is_null(), "{group}");
    }
}

/// Steps over connections, databases at both ends of durability, and the highest rate: nothing is started for a plan.
#[test]
fn every_question_about_a_vote_is_planned_whole() {
    let place = Place::new();
    let plan = |more: &[&str], texts: &[&str]| {
        place.run(&[&["run", "vote", "--dry-run"][..], more].concat()).code(0).says(texts);
    };
    let steps = ["--factor", "step=stub,connect,read,read+write", "--clients", "1,10,50,150,500"];
    plan(&steps, &["240 trials in 60 blocks"]);
    let five = "tarantool:memtx,tarantool:vinyl,sqlite,mariadb:innodb,postgres";
    let databases = ["--engine", five, "--durability", "none,strict"];
    plan(&databases, &["160 trials in 40 blocks"]);
    let searches =
        ["these are what 12 searches begin with", "some 132 trials", "at most 492 trials"];
    plan(&["--find-limit", "p99=50ms"], &searches);
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
    for engine in ["lmdb", "mariadb:aria"] {
        let unread = ["--engine", engine, "--factor", "server=php"];
        refused(&unread, &["PHP reaches SQLite, MariaDB (but for Aria"]);
    }
}
