//! Limits in runs of the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bakeoff_results::measure::*;
use bakeoff_testkit::{needs, wait_until};
use serde_json::Value;

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

/// Each trial of a run, but for those of blocks that the machine disturbed and that were run again.
fn trials(place: &Path, run: &str) -> Vec<Value> {
    let report = start(place, &["report", run, "--format", "json"]).wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
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
    let said = |arguments: &[&str]| {
        let output = start(place.path(), arguments).wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    };
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

fn limits_are_kept_and_told_on(disk: &str) {
    if !can(disk != "host") {
        return;
    }
    let place = folder();
    fs::write(place.path().join("sizes.toml"), SIZES).unwrap();
    let run = start(place.path(), &["run", "sizes.toml", "--out", "r", "--disk", disk]);
    let pid = run.id();
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
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
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
}

#[test]
fn limits_are_kept_and_told_on_the_host_s_disk() {
    limits_are_kept_and_told_on("host");
}

#[test]
fn limits_are_kept_and_told_on_a_virtual_disk() {
    limits_are_kept_and_told_on("hdd-7200");
}

#[test]
fn a_server_that_does_not_fit_is_told_and_others_are_run() {
    if !can(false) {
        return;
    }
    let server = bakeoff_engines::find("mariadb:innodb").unwrap();
    if needs(server.available()).is_none() {
        return;
    }
    let place = folder();
    fs::write(place.path().join("sizes.toml"), SIZES).unwrap();
    let run = ["run", "sizes.toml", "--out", "r", "--compare", "engine", "--memory", "16M"];
    // What a server needs with a setting of one's own isn't known in the plan.
    let pool = "mariadb:innodb/innodb_buffer_pool_size=8M";
    let engines = format!("{pool},sqlite");
    let run = [&run[..], &["--engine", &engines]].concat();
    let output = start(place.path(), &run).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
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
    let place = folder();
    fs::write(place.path().join("sizes.toml"), SIZES).unwrap();
    let run = ["run", "sizes.toml", "--memory", "64M", "--seconds", "60", "--out", "killed"];
    let mut killed = start(place.path(), &run);
    wait_until("a group", || !groups_of(killed.id()).is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let run = ["run", "sizes.toml", "--memory", "64M", "--out", "next"];
    let next = start(place.path(), &run).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(next.status.success(), "{said}");
    assert_eq!(groups_of(killed.id()), Vec::<PathBuf>::new(), "{said}");
}

/// The groups that a process has made.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let name = format!("bakeoff-*-{pid}-*");
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &name]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().lines().map(Into::into).collect()
}
