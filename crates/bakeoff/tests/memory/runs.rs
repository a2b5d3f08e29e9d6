//! Limits in runs of the command.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bakeoff_results::measure::*;
use bakeoff_testkit::{needs, wait_until};
use serde_json::Value;
use tempfile::TempDir;

use super::{BAKEOFF, can, folder};

const SIZES: &str = r#"
name = "sizes"
workload = "point"
engine = "sqlite"
compare = "memory"
memory = ["unlimited", "1M", "64M", "1000%"]
seconds = 0.5
repetitions = 1
"#;

const QUOTAS: &str = r#"
name = "quotas"
workload = "point"
engine = "sqlite"
compare = "cpus"
cpus = ["0.1", "unlimited", 4000]
seconds = 1
repetitions = 1
"#;

fn start(place: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(BAKEOFF);
    command.args(arguments).current_dir(place).env("XDG_RUNTIME_DIR", place);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a command that ends with this code says.
#[track_caller]
fn end(child: Child, code: i32) -> String {
    let output = child.wait_with_output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    format!("{out}{err}")
}

/// Each trial of a run, but for those of blocks that the machine disturbed and that were run again.
fn trials(place: &Path, run: &str) -> Vec<Value> {
    let report = end(start(place, &["report", run, "--format", "json"]), 0);
    let document: Value = serde_json::from_str(&report).unwrap();
    let mut trials = document["trials"].as_array().unwrap().clone();
    trials.retain(|trial| {
        let reason = trial["reason"].as_str().unwrap_or_default();
        !reason.starts_with("the machine was disturbed")
    });
    trials
}

#[test]
fn a_quota_of_processors_is_kept_and_told_and_no_more_than_there_are_is_given() {
    if needs(bakeoff_lab::try_cpu_limit()).is_none() {
        return;
    }
    let place = folder();
    fs::write(place.path().join("quotas.toml"), QUOTAS).unwrap();
    let said = |arguments: &[&str]| end(start(place.path(), arguments), 0);
    let there = std::thread::available_parallelism().unwrap();
    let plan = said(&["run", "quotas.toml", "--dry-run"]);
    let run = said(&["run", "quotas.toml", "--out", "r"]);
    for said in [&plan, &run] {
        assert!(said.contains("not run: cpus 4000"), "{said}");
        assert!(said.contains(&format!("this machine has {there} processor")), "{said}");
        assert!(said.contains("cpus: sqlite works in the clients' process"), "{said}");
    }
    let trials = trials(place.path(), "r");
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert_eq!(trial["valid"], true, "{trial}");
        let measures: Measures = serde_json::from_value(trial["measures"].clone()).unwrap();
        let of = |what| measures.of_database(what);
        if trial["levels"]["cpus"] == "unlimited" {
            assert_eq!((of(&CPU_LIMIT), of(&CPU_THROTTLED)), (None, None), "{trial}");
            continue;
        }
        assert_eq!((of(&CPU_LIMIT), of(&MEMORY_LIMIT)), (Some(0.1), None), "{trial}");
        let (periods, throttled) = (of(&CPU_PERIODS).unwrap(), of(&CPU_THROTTLED).unwrap());
        // All that the process did: the engine's and the clients' together.
        let cpu = of(&CPU).unwrap() + measures.get(&CPU, &Scope::Clients).unwrap();
        assert!(throttled <= periods, "{trial}");
        assert!(throttled < 2.0 || of(&CPU_WAITED).unwrap() > 0.0, "{trial}");
        // Others may leave it less than its quota.
        assert!(throttled > 0.0 || cpu < periods * 0.01, "{trial}");
        assert!(cpu <= (periods + 3.0) * 0.01 + 0.05, "{cpu} s in {periods} periods of 10 ms");
    }
}

/// A place with the experiment `sizes.toml`.
fn place() -> TempDir {
    let place = folder();
    fs::write(place.path().join("sizes.toml"), SIZES).unwrap();
    place
}

#[test]
fn limits_are_kept_and_told_on_the_host_s_disk_and_on_a_virtual_one() {
    for disk in ["host", "hdd-7200"] {
        if !can(disk != "host") {
            return;
        }
        let place = place();
        let run = start(place.path(), &["run", "sizes.toml", "--out", "r", "--disk", disk]);
        let pid = run.id();
        let said = end(run, 0);
        assert!(said.contains("not run: sqlite × memory 1M (1 trial): 1M is 1.0 MB"), "{said}");
        let trials = trials(place.path(), "r");
        assert_eq!(trials.len(), 3);
        for trial in trials {
            let measures: Measures = serde_json::from_value(trial["measures"].clone()).unwrap();
            let limit = measures.of_database(&MEMORY_LIMIT);
            assert_eq!(trial["valid"], true, "{trial}");
            match trial["levels"]["memory"].as_str().unwrap() {
                "unlimited" => assert_eq!(limit, None),
                "64M" => assert_eq!(limit, Some(f64::from(64 << 20))),
                // 10,000 rows of a key and a text, together about 100 bytes, ten times over.
                _ => assert!(limit.is_some_and(|limit| (10e6..11e6).contains(&limit))),
            }
            if let Some(limit) = limit {
                let peak = measures.of_database(&MEMORY_PEAK);
                assert!(peak.is_none_or(|peak| 0.0 < peak && peak <= limit), "{trial}");
                let cached = measures.of_database(&MEMORY_CACHED).unwrap();
                assert!(0.0 < cached && cached <= limit, "{trial}");
            }
        }
        assert!(!place.path().join("r/work").exists());
        assert_eq!(groups_of(pid), "");
    }
}

#[test]
fn a_server_that_does_not_fit_is_told_and_others_are_run() {
    let server = bakeoff_engines::find_level("mariadb:innodb").unwrap();
    if !can(false) || needs(server.available()).is_none() {
        return;
    }
    let place = place();
    let run = ["run", "sizes.toml", "--out", "r", "--compare", "engine", "--memory", "16M"];
    // What a server needs with a setting of one's own isn't known in the plan.
    let engines = ["--engine", "mariadb:innodb/innodb_buffer_pool_size=8M,sqlite"];
    end(start(place.path(), &[&run[..], &engines].concat()), 5);
    for trial in trials(place.path(), "r") {
        let fits = trial["levels"]["engine"] == "sqlite";
        assert_eq!(trial["valid"], fits, "{trial}");
        let reason = trial["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.starts_with("out of memory at the limit of 16.8 MB"), !fits, "{reason}");
    }
    assert!(!place.path().join("r/work").exists());
}

#[test]
fn the_next_run_removes_what_a_killed_one_left() {
    if !can(false) {
        return;
    }
    let place = place();
    let run = |seconds, out| {
        let run = ["run", "sizes.toml", "--memory", "64M", "--seconds", seconds, "--out", out];
        start(place.path(), &run)
    };
    let mut killed = run("60", "killed");
    wait_until("a group", || !groups_of(killed.id()).is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let said = end(run("0.5", "next"), 0);
    assert_eq!(groups_of(killed.id()), "", "{said}");
}

/// The groups that a process has made, a line each.
fn groups_of(pid: u32) -> String {
    let name = format!("bakeoff-*-{pid}-*");
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &name]).output().unwrap();
    String::from_utf8(found.stdout).unwrap()
}
