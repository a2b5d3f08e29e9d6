//! Restarts, fresh databases, and those whose debts have come due.

use bakeoff_results::measure::*;
use bakeoff_testkit::in_time;
use serde_json::Value;

use super::on_disks::can_mount;
use super::servers::installed;
use super::{Place, measured};

const STATES: &str = r#"
name = "states"
workload = "redmine"
state = ["cold", "warm", "steady"]
engine = ["sqlite", "lmdb"]
durability = "relaxed"
clients = 2
disk = "ssd-sata"
seconds = 2
repetitions = 1
"#;

fn trials(document: &Value, state: &str) -> Vec<Measures> {
    let trials = document["trials"].as_array().unwrap().iter();
    let counts = |trial: &&Value| trial["levels"]["state"] == state && trial["valid"] == true;
    trials.filter(counts).map(measured).collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn each_state_is_what_it_says() {
    if !can_mount() {
        return;
    }
    let of = |it: &Measures, measure, scope| it.get(measure, &scope);
    let reads = |it: &Measures| of(it, &READS, Scope::Disk).unwrap();
    // The machine may take pages back from a warm trial at any time.
    let (place, run, document) = in_time("the warm cache", |_| {
        let place = Place::new();
        place.write("states.toml", STATES);
        let run = place.run(&["run", "states.toml", "--out", "r"]).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let [cold, warm] = ["cold", "warm"].map(|state| trials(&document, state));
        let pairs: Vec<_> = cold.iter().map(reads).zip(warm.iter().map(reads)).collect();
        println!("reads after a restart, and else: {pairs:?}");
        assert!(pairs.iter().all(|(cold, _)| *cold > 10.0), "{pairs:?}");
        let is_warm = pairs.iter().all(|(cold, warm)| *cold > 10.0 + 2.0 * warm);
        is_warm.then_some((place, run, document))
    });
    run.says(&["redmine small into sqlite:", "are one cycle of its deferred work"]);
    let [cold, warm, steady] = ["cold", "warm", "steady"].map(|state| trials(&document, state));
    assert_eq!([&cold, &warm, &steady].map(Vec::len), [2; 3]);
    for (cold, warm) in cold.iter().zip(&warm) {
        // What a fresh process finds in no cache, it reads.
        let opening = of(cold, &OPENING, Scope::Trial).expect("the time to open");
        assert!(opening > 0.0 && of(warm, &OPENING, Scope::Trial).is_none());
        assert!(of(cold, &FIRST_10, Scope::Clients).is_some_and(|first| first > 0.0));
    }
    // By the same work, whoever needs it.
    let work: Vec<Option<f64>> =
        steady.iter().map(|it| of(it, &CONDITIONED, Scope::Clients)).collect();
    assert!(warm.iter().chain(&cold).all(|it| of(it, &CONDITIONED, Scope::Clients).is_none()));
    let least = calibrated(&place).into_iter().max().expect("calibrations");
    assert_eq!(work[0], work[1]);
    assert!(work[0].is_some_and(|work| work >= least as f64), "{work:?} of {least}");
    // When LMDB's file stops growing differs from time to time.
    let turned = |it: &Measures| of(it, &TURNED_OVER, Scope::Trial) == Some(1.0);
    assert!(steady.iter().any(turned));
    for trial in &steady {
        assert!(of(trial, &SPACE_AT_START, Scope::Trial).is_some());
        assert!(of(trial, &ROUNDS_RANGE, Scope::Trial).is_some_and(|range| range >= 0.0));
    }
    let report = place.run(&["report", "r"]).code(0);
    report.says(&["Restarts, and steady trials", "opening", "first 10"]);
}

/// The operations of each calibration.
fn calibrated(place: &Place) -> Vec<u64> {
    let at = place.path("r").join(bakeoff_results::DATABASE);
    let run = rusqlite::Connection::open(at).unwrap();
    let mut sql = run.prepare("SELECT operations FROM calibration WHERE turned_over").unwrap();
    let rows = sql.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn what_only_reads_owes_nothing() {
    let place = Place::new();
    let point = ["run", "point", "--out", "r", "--engine", "sqlite", "--state", "steady"];
    let short = ["--seconds", "0.5", "--repetitions", "1", "--noise-floor", "false"];
    place.write("point.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let point = [&["run", "point.toml"], &point[2..], &short].concat();
    place.run(&point).code(0).says(&["are one cycle of its deferred work"]);
}

#[test]
fn a_state_that_cannot_be_had_is_told_in_the_plan() {
    let place = Place::new();
    let url = "mysql://me@localhost/bench,sqlite";
    let dry = ["run", "redmine", "--quick", "--dry-run", "--disk", "host", "--neighbours", "0"];
    let dry = [&dry[..], &["--engine", url, "--state", "warm,steady"]].concat();
    // There is a plan, though nobody answers there.
    let plan = place.run(&dry).code(2);
    plan.says(&["can't restart it or know what it owes", "--state warm"]);
    // What nobody knows before is told as such.
    let steady = place.run(&["run", "redmine-steady", "--quick", "--dry-run"]).code(0);
    steady.says(&["6 trials are preconditioned first", "up to 12 min in all"]);
    let all =
        place.run(&["run", "redmine-steady", "--engine", "sqlite,fjall", "--dry-run"]).code(0);
    all.says(&["20 trials are preconditioned first (10 preconditionings:", "up to 20 min in all"]);
    // Three servers take hours, and it says so.
    if installed(&["mariadb:innodb", "mariadb:rocksdb", "postgres"]) {
        let servers = place.run(&["run", "redmine-steady", "--dry-run"]).code(0);
        servers.says(&["(15 preconditionings:", "up to 10 h 0 min in all"]);
    }
    let wrong = place.run(&["run", "redmine", "--state", "hot", "--dry-run"]).code(2);
    assert!(wrong.err().contains("valid: cold, warm, steady"), "{}", wrong.err());
    let files = place.run(&["run", "fileio", "--state", "steady", "--dry-run"]);
    files.code(2).says(&["files have no deferred work with a lasting level"]);
}
