//! Pages: of `vote` behind a web server, which is staged with its database, and of somebody's own web server.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use bakeoff_results::Scope;
use bakeoff_results::measure::CPU;
use bakeoff_testkit::{ClosedPort, in_time, needs, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::servers::installed;
use super::{Done, Place, measured, trials};

/// A run of a page that does all, as short as can be, at a level of durability that every engine gives.
const VOTE: [&str; 14] = [
    "run",
    "vote",
    "--factor",
    "step=read+write",
    "--compare",
    "server",
    "--clients",
    "20",
    "--durability",
    "none",
    "--repetitions",
    "1",
    "--out",
    "r",
];

/// Runs `vote` for a second with these flags more. Every trial of so many has pages and votes without an error, and
/// data without a fault.
fn run(place: &Place, count: usize, more: &[&str]) -> Value {
    place.run(&[&VOTE[..], &["--seconds", "1"], more].concat()).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), count);
    for trial in trials {
        let warnings = trial["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!((&trial["valid"], warnings), (&true.into(), 0), "{trial}");
        let operations = trial["operations"].as_array().unwrap();
        let names: Vec<&str> = operations.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["page", "vote"]);
        for operation in operations {
            let is_served = operation["errors"] == 0 && operation["count"].as_u64() > Some(0);
            assert!(is_served, "{trial}");
        }
    }
    document
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

/// Which of these groups have processor seconds of their own.
fn used<const N: usize>(trial: &Value, groups: [&'static str; N]) -> [bool; N] {
    let measures = measured(trial);
    groups.map(|group| measures.get(&CPU, &Scope::Processes(group.into())).is_some())
}

#[test]
fn an_embedded_engine_works_in_the_web_servers_process() {
    let flags = ["--factor", "server=none,built-in", "--factor", "connection=request,kept"];
    let far = ["--engine", "sqlite", "--factor", "rtt=30ms"];
    let document = run(&Place::new(), 4, &[&far[..], &flags].concat());
    for trial in document["trials"].as_array().unwrap() {
        // Visitors are as far from the site as they are said to be, whatever it asks its database.
        assert!(trial["operations"][0]["mean_s"].as_f64() >= Some(0.0299), "{trial}");
        assert_eq!(used(trial, ["database", "web"]), [true, false], "one process: {trial}");
        // What sessions count when they end is told where they have ended.
        let is_served = trial["levels"]["server"] == "built-in";
        let is_kept = trial["levels"]["connection"] == "kept";
        assert_eq!(counter(trial, MISSES).is_some(), !is_served || !is_kept, "{trial}");
        assert_eq!(counter(trial, RUN_AGAIN).is_some(), is_served, "{trial}");
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
    let found = bakeoff_engines::find_level(engine).unwrap();
    let served = || bakeoff_lab::targets::tables::try_php(std::iter::once(found));
    installed(&[engine]) && needs(served()).is_some()
}

/// The built-in web server, and nginx with PHP, serve the pages over an engine, with a new connection for each request
/// and with kept ones, packed where nginx can, each group of processes by its own account; and leave nothing behind.
fn serves(engine: &str) {
    if !with_php(engine) {
        return;
    }
    let place = Place::new();
    let is_server = engine != "sqlite";
    let factors = ["server=built-in,php", "connection=request,kept", "gzip=off,on"];
    let factors = factors.iter().flat_map(|factor| ["--factor", *factor]).collect::<Vec<_>>();
    let document = run(&place, 6, &[&["--engine", engine], &factors[..]].concat());
    for trial in document["trials"].as_array().unwrap() {
        let is_php = trial["levels"]["server"] == "php";
        let groups = used(trial, ["database", "php", "web"]);
        let expected = [true, is_php && is_server, is_php || is_server];
        assert_eq!(groups, expected, "{engine}: {trial}");
        assert_eq!(counter(trial, "php.workers_died"), is_php.then_some(0), "{engine}");
        // PHP's SQLite is another one than bakeoff's, which has counted nothing.
        assert!(!is_php || counter(trial, MISSES).is_none(), "{engine}: {trial}");
    }
    let cells = document["cells"].as_array().unwrap().iter();
    for process in cells.filter_map(|cell| cell["processes"].as_array()).flatten() {
        assert!(process["cpu_per_operation_s"].as_f64() >= Some(0.0), "{process}");
    }
    assert_eq!(working_in(&place), Vec::new(), "{engine}");
}

#[test]
#[ignore = "slow: make test-slow"]
fn pages_of_sqlite_are_served() {
    serves("sqlite");
}

#[test]
#[ignore = "slow: make test-slow"]
fn pages_of_innodb_are_served() {
    serves("mariadb:innodb");
}

#[test]
#[ignore = "slow: make test-slow"]
fn pages_of_postgres_are_served() {
    serves("postgres");
}

#[test]
#[ignore = "slow: make test-slow"]
fn pages_of_memtx_are_served() {
    serves("tarantool:memtx");
}

/// Starts a run of `vote` behind a web server that goes on for so many seconds.
fn start(place: &Place, server: &str, seconds: &str, more: &[&str]) -> Child {
    let server = format!("server={server}");
    let flags = ["--factor", &server, "--seconds", seconds];
    place.start(&[&VOTE[..], &flags, more].concat())
}

/// Waits until visitors come to the stack of a run.
fn wait_for_stack(place: &Place, server: &str) {
    wait_until("the stack", || {
        let are_there = match server {
            "php" => php_workers(place).len() > 1,
            // The run, the trial, and what serves.
            _ => working_in(place).len() > 2,
        };
        are_there && has_socket(&place.path(""))
    });
}

/// Kills a run, and waits until what it has staged has ended with it.
fn kill(place: &Place, mut run: Child) {
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the end of all", || working_in(place).is_empty());
}

#[test]
#[ignore = "slow: make test-slow"]
fn nothing_is_left_of_a_stack_whose_run_is_killed() {
    let place = Place::new();
    let run = start(&place, "built-in", "600", &["--engine", "sqlite"]);
    wait_for_stack(&place, "built-in");
    kill(&place, run);
}

#[test]
#[ignore = "slow: make test-slow"]
fn workers_of_php_that_die_are_counted() {
    if !with_php("sqlite") {
        return;
    }
    let place = in_time("the visitors' work", |_| {
        let place = Place::new();
        let mut run = start(&place, "php", "3", &["--engine", "sqlite"]);
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
    let held = ["--engine", "postgres", "--cpus", "1"];
    let place = Place::new();
    let long = start(&place, "php", "600", &held);
    wait_for_stack(&place, "php");
    let own = control_groups(long.id()).unwrap();
    let there = working_in(&place).into_iter();
    let there: Vec<(String, String)> =
        there.filter_map(|(pid, name)| Some((name, control_groups(pid)?))).collect();
    kill(&place, long);
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

    let document = run(&Place::new(), 1, &[&held[..], &["--factor", "server=php"]].concat());
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
fn every_question_about_a_vote_is_planned_whole_or_refused() {
    let place = Place::new();
    let steps = ["--factor", "step=stub,connect,read,read+write", "--clients", "1,10,50,150,500"];
    let built_in = ["--factor", "server=built-in"];
    for (flags, code, said) in [
        (&steps[..], 0, "240 trials in 60 blocks"),
        (&["--engine", "sqlite,lmdb", "--durability", "none,strict"], 0, "64 trials in 16 blocks"),
        (&["--find-limit", "p99=50ms"], 0, "what 12 searches begin with"),
        (&[&built_in[..], &["--state", "steady"]].concat(), 2, "can't be preconditioned"),
        (&["--factor", "server=apache"], 2, "none, built-in, php"),
        (&[&built_in[..], &["--factor", "gzip=on"]].concat(), 2, "only nginx compresses pages"),
        (&["--engine", "lmdb", "--factor", "server=php"], 2, "PHP reaches SQLite, MariaDB"),
    ] {
        place.run(&[&["run", "vote", "--dry-run"], flags].concat()).code(code).says(&[said]);
    }
}

/// A server that answers every request with the same page, for the rest of the tests' process: its URL.
fn serve_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(&stream);
                let (mut line, mut is_last) = (String::new(), false);
                while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                    is_last |= line.starts_with("Connection: close");
                    if line == "\r\n" {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                        if (&stream).write_all(answer).is_err() || is_last {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

/// On connections that are kept and on new ones; an answer counts as received a round trip after it came.
#[test]
fn a_page_is_asked_for_on_every_connection_at_any_distance() {
    let (place, url) = (Place::new(), serve_page());
    let run = ["run", "page", "--url", &url, "--clients", "20", "--factor", "rtt=0,40ms"];
    let run = [&run[..], &["--repetitions", "1", "--seconds", "1"]].concat();
    let planned = place.run(&[&run[..], &["--dry-run"]].concat()).code(0);
    planned.says(&["the client keeps each answer for 40 ms before it counts as received"]);
    let done = place.run(&[&run[..], &["--out", "r"]].concat()).code(0);
    // Of a page nothing is loaded.
    assert!(!done.says(&["requests_per_connection"]).err().contains("loaded "));
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let (operation, levels) = (&trial["operations"][0], &trial["levels"]);
        assert_eq!((&trial["valid"], &operation["name"]), (&true.into(), &"request".into()));
        assert_eq!((&operation["errors"], &levels["url"]), (&0.into(), &(&*url).into()));
        assert!(operation["count"].as_u64() > Some(0), "{trial}");
        let is_late = operation["mean_s"].as_f64() >= Some(0.0399);
        assert!(is_late || levels["rtt"] == "0", "{trial}");
    }
    let page = place.run(&["report", "r", "--format", "html"]).code(0).out();
    assert!(page.contains("an answer counts as received a round trip"), "{page}");
}

#[test]
fn what_can_not_be_loaded_is_refused_before_anything_begins() {
    let place = Place::new();
    let nobody = ClosedPort::take();
    let nobody = format!("http://{}/", nobody.address());
    for (flags, why) in [
        (["--url", &nobody], "can't be connected to"),
        (["--url", "http://192.0.2.1/"], "--i-run-this-server"),
        (["--url", "https://localhost/"], "needs TLS"),
        (["--factor", "requests_per_connection=0"], "unlimited, or 1 to"),
        (["--clients", "30000"], "at most 20000"),
        (["--engine", "sqlite"], "`engine`"),
    ] {
        let run = ["run", "page", "--out", "r", "--repetitions", "1"];
        place.run(&[&run[..], &flags].concat()).code(2).says(&[why]);
    }
    // A process that may have few files is told how many its connections take.
    let mut shell = Command::new("sh");
    let limits = "ulimit -Sn 128; ulimit -Hn 150; exec \"$0\" \"$@\"";
    shell.args(["-c", limits, env!("CARGO_BIN_EXE_bakeoff"), "run", "page", "--url"]);
    shell.args([&serve_page(), "--clients", "200", "--repetitions", "1", "--out", "few"]);
    shell.current_dir(place.path("")).env("XDG_RUNTIME_DIR", place.path(""));
    Done(shell.output().unwrap()).code(5).says(&["200 clients take", "may have 150"]);
    assert!(!place.path("r").exists(), "nothing was begun");
}

/// No run folder says whose server it loaded: the command that goes on with it does.
#[test]
fn what_is_said_of_the_server_is_in_the_command_that_goes_on() {
    let (place, url) = (Place::new(), serve_page());
    let run = ["run", "page", "--url", &url, "--clients", "1", "--seconds", "2"];
    let more = ["--repetitions", "20", "--out", "r", "--i-run-this-server"];
    let run = place.start(&[&run[..], &more].concat());
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let done = Done(run.wait_with_output().unwrap()).code(130);
    done.says(&["to go on: bakeoff run --resume r --i-run-this-server"]);
}
