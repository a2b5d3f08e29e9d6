//! What is put off, what never ends, and a machine that tells little of itself.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Command;

use bakeoff_results::measure::*;
use bakeoff_testkit::{AS_NOBODY, Tmpfs, in_time, skip};
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Place, measured};

/// Nothing is synced while clients work: what SQLite owes then is hard to pay on a disk of one turn a
/// second.
const SLOW: &str = r#"
name = "slow"
workload = "redmine"
engine = ["sqlite", "null"]
durability = "none"
disk = "mine"
neighbours = "0"
seconds = 1
repetitions = 1

[disks.mine]
model = "hdd-7200"
rpm = 60
"#;

fn cell<'a>(document: &'a Value, engine: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["levels"]["engine"] == engine).unwrap()
}

fn trial<'a>(document: &'a Value, engine: &str) -> &'a Value {
    let trials = document["trials"].as_array().unwrap();
    trials.iter().find(|trial| trial["levels"]["engine"] == engine).unwrap()
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_drain_takes_the_disks_time_and_is_cut_off_when_it_takes_longer_than_the_clients_ran() {
    if !can_mount() {
        return;
    }
    let of = |document: &Value, disk: &str| {
        let mut trials = document["trials"].as_array().unwrap().iter();
        let levels = |trial: &&Value| {
            trial["levels"]["disk"] == disk && trial["levels"]["engine"] == "sqlite"
        };
        let trial = trials.rfind(levels).unwrap();
        let of = |measure| measured(trial).get(measure, &Scope::Trial);
        (of(&DRAIN).unwrap(), of(&DRAIN_CUT_OFF).is_some(), trial["ran_s"].as_f64().unwrap())
    };
    // What is cut off depends on how long the clients ran: so long that a machine may stall.
    let run = ["run", "slow.toml", "--out", "r", "--disk", "null,mine,ssd-sata", "--seconds", "3"];
    let (place, document) = in_time("the time of a drain", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        place.run(&[&run[..], &["--engine", "sqlite"]].concat()).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let drained = ["null", "ssd-sata"].map(|disk| {
            let (drain, cut_off, ran) = of(&document, disk);
            println!("{disk}: {drain} s of {ran} s");
            !cut_off && drain < ran
        });
        (drained == [true, true]).then_some((place, document))
    });
    let (mine, cut_off, ran) = of(&document, "mine");
    assert!(cut_off && mine >= ran, "{mine} s of {ran} s");
    let report = place.run(&["report", "r"]).code(0);
    report.says(&["What was left to write back", "the drain took longer than the clients had run"]);

    let is_slow =
        |cell: &&Value| cell["levels"]["disk"] == "mine" && cell["levels"]["engine"] == "sqlite";
    let slow = document["cells"].as_array().unwrap().iter().rfind(is_slow).unwrap();
    let debt = |name: &str| slow["debt"][name].as_f64().unwrap();
    assert_eq!(debt("cut_off"), 1.0);
    assert!(debt("bytes") > 4096.0 && debt("cpu_s") > 0.0);
    let factor = debt("mean_with_debt_s") / debt("mean_s");
    assert!((factor - (ran + mine) / ran).abs() < 0.01, "{factor}");
}

/// The easy, wrong window has nothing to say of what takes longer than itself.
#[test]
#[ignore = "slow: make test-slow"]
fn what_never_ends_within_the_cap_is_a_bound_and_no_gap() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("slow.toml", SLOW);
    let short = ["--seconds", "0.5", "--durability", "strict"];
    place.run(&[&["run", "slow.toml", "--out", "r"], &short[..]].concat()).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let slow = trial(&document, "sqlite");
    let unfinished: Vec<f64> = slow["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|operation| operation["unfinished"] != 0)
        .map(|operation| operation["mean_s"].as_f64().unwrap())
        .collect();
    assert_eq!(unfinished.len(), 1, "one client is in one operation: {slow}");
    assert!((0.5..=5.01).contains(&unfinished[0]), "{unfinished:?}");
    assert_eq!(slow["window_s"][1], 5.0, "the cap is ten times the seconds");
    let end_s = trial(&document, "null")["window_s"][1].as_f64().unwrap();
    assert!((0.5..5.0).contains(&end_s), "the cap is not what ended it: {end_s} s");
    let told = place.run(&["report", "r"]).code(0);
    told.says(&["cut off while operations were still running"]);
}

#[test]
fn figures_of_a_fresh_database_are_told_as_such() {
    let host = ["--disk", "host", "--engine", "sqlite,fjall", "--durability", "relaxed"];
    // What checkpoints every second waits for a processor, too: the next time it has longer, up to what may fill a
    // memtable.
    let (place, document) = in_time("the time of sqlite's checkpoint", |attempt| {
        let place = Place::new();
        place.write("fresh.toml", SLOW);
        let seconds = (2_u32 << (attempt % 4)).to_string();
        let run = ["run", "fresh.toml", "--out", "r", "--seconds", &seconds];
        place.run(&[&run[..], &host].concat()).code(0);
        let document = place.json("r");
        let fresh = |engine| cell(&document, engine)["debt"]["fresh"].as_bool();
        let differ = (fresh("sqlite"), fresh("fjall")) == (Some(false), Some(true));
        differ.then_some((place, document))
    });
    assert_eq!(cell(&document, "fjall")["debt"]["fresh"], true, "no memtable was full yet");
    assert_eq!(document["comparisons"][0]["fresh"], serde_json::json!(["fjall"]));
    place
        .run(&["report", "r"])
        .code(0)
        .says(&["before the first checkpoint or compaction", "fjall has written back"]);
}

/// A run of SQLite's into a folder.
fn on_small_disk(folder: &str) -> [&str; 6] {
    ["run", "slow.toml", "--out", folder, "--engine", "sqlite"]
}

/// The disk has room for the trial and not for what the drain writes.
#[test]
#[ignore = "slow: make test-slow"]
fn a_disk_that_fills_while_draining_stops_the_run_and_loses_nothing() {
    let place = Place::new();
    place.write("slow.toml", SLOW);
    let small = place.path("small-disk");
    let Some(disk) = Tmpfs::mount(&small, "140m") else { return };
    if !can_mount() {
        return;
    }
    // What fills the disk is somebody else's file, written while it drains: for as long as the clients
    // ran, when it is cut off.
    let (folder, full, said, code) = in_time("the drain", |number| {
        let folder = format!("small-disk/r{number}");
        let more = ["--seconds", "4", "--log", "debug"];
        let mut run = place.start(&[&on_small_disk(&folder)[..], &more].concat());
        let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.any(|line| line.contains("the clients have stopped")), "it does not drain");
        let full = disk.fill();
        let said: Vec<String> = said.collect();
        let code = run.wait().unwrap().code();
        (code != Some(0)).then_some((folder, full, said, code))
    });
    assert_eq!(code, Some(4), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("full")), "{said:#?}");
    place.assert_clean(&folder);
    assert!(!super::on_disks::mounts_below(&place.path(&folder)));
    drop(full);
    // A run in which nothing was measured leaves nothing to go on with.
    match place.path(&folder).exists() {
        true => place.run(&["run", "--resume", &folder]).code(0),
        false => place.run(&on_small_disk(&folder)).code(0),
    };
    let document = place.json(&folder);
    assert_eq!(
        document["trials"].as_array().unwrap().iter().filter(|it| it["valid"] == true).count(),
        1
    );
}

/// Without pressure files, and with `/proc` as `hidepid=invisible` shows it to an ordinary user.
#[test]
fn a_machine_that_tells_little_of_itself_is_measured_all_the_same() {
    let place = Place::new();
    place.write("host.toml", &SLOW.replace("disk = \"mine\"", "disk = \"host\""));
    let script = "mount -t tmpfs none /proc/pressure && mount -o remount,hidepid=2 /proc && \
                  chown -R 65534:65534 . && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).args(AS_NOBODY);
    command.arg(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(["run", "host.toml", "--out", "r", "--seconds", "0.5"]);
    command.current_dir(place.path("")).env("XDG_RUNTIME_DIR", place.path("")).process_group(0);
    let probe = Command::new("unshare").args(["--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip("/proc can't be mounted anew without root");
    }
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let document = place.json("r");
    let trial = measured(trial(&document, "sqlite"));
    for pressure in [&PRESSURE_CPU, &PRESSURE_IO, &PRESSURE_MEMORY] {
        assert_eq!(trial.get(pressure, &Scope::Machine), None, "{}", pressure.name);
    }
    assert!(trial.get(&FOREIGN_CPU, &Scope::Machine).is_some());
    assert!(trial.get(&CPU, &Scope::DATABASE).is_some_and(|seconds| seconds > 0.0));
}
