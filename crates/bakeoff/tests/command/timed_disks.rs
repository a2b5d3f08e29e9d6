//! Models of real disks: timed, run on, and nothing of it left behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use bakeoff_devices::models::Models;
use bakeoff_lab::disk_likeness::DiskLikeness;
use bakeoff_lab::disk_timing::{TimingError, TimingPlan, time_disk, time_flush};
use bakeoff_testkit::{PATIENCE, Tmpfs, ended_within, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::Place;
use super::disk::Disks;

/// So many times shorter, each part has its least number of requests.
const TIMES: u32 = 200;

const MINE: &str = r#"
name = "mine"
workload = "point"
engine = ["sqlite", "null"]
seconds = 0.5
repetitions = 1
disk = "like:."
"#;

#[test]
fn a_virtual_disk_is_timed_as_any_other_and_nothing_is_left_on_it() {
    let Some(disks) = Disks::new() else { return };
    disks.mount("ssd-sata");
    let (disk, flushes) =
        (disks.0.path("m"), || disks.stat()["files"]["flushes"].as_u64().unwrap());
    let before = flushes();
    let timing = time_disk(&disk, &TimingPlan::WHOLE.shorten(TIMES)).unwrap();
    // Each of the synced writes, clean syncs, and syncs of large writes and appends.
    let after = flushes();
    assert!(after - before >= 4 * 4, "{before} {after}");
    let is_served = |doubt: &String| doubt.contains("FUSE");
    assert!(timing.doubts.iter().any(is_served), "{timing:?}");
    assert_eq!(timing.appends.len(), 3);
    let likeness = DiskLikeness::find(&Models::standard(), &timing).unwrap();
    let number = |name| likeness.model.read_number(name);
    assert!(number("flush_us").is_some() || number("latency_ms").is_some(), "{likeness:?}");
    assert!(number("flush_floor_us") <= number("flush_us"), "{likeness:?}");
    time_flush(&disk, &TimingPlan::FLUSH.shorten(TIMES)).unwrap();
    assert!(flushes() > after);
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn what_is_no_disk_is_not_timed() {
    let place = Place::new();
    let timed = |path: &Path| time_disk(path, &TimingPlan::WHOLE.shorten(TIMES));
    let error = timed(&place.path("missing")).unwrap_err();
    assert!(matches!(error, TimingError::Io { .. }) && error.to_string().contains("missing"));
    let tmpfs = place.path("memory");
    if let Some(_memory) = Tmpfs::mount(&tmpfs, "90m") {
        assert!(matches!(timed(&tmpfs), Err(TimingError::InMemory(_))));
    }
}

#[test]
fn a_plan_times_no_disk_and_refuses_what_a_run_would() {
    let place = Place::new();
    place.write("mine.toml", MINE);
    place.typed("run mine.toml --dry-run").code(0).says(&["it is timed before the run", "20 s"]);
    place.typed("run mine.toml --shard 1/2").code(2).says(&["bakeoff doctor", "another model"]);
    place.typed("cluster slurm mine.toml --shards 2").code(2).says(&["bakeoff doctor"]);
    // At its line, before anything is loaded or timed.
    place.write("wrong.toml", &MINE.replace("like:.", "like:./none"));
    place.typed("run wrong.toml --out r").code(2).says(&["like:./none", "wrong.toml:7:"]);
    if let Some(_memory) = Tmpfs::mount(&place.path("memory"), "90m") {
        for more in ["--dry-run", "--out r"] {
            let line = format!("run mine.toml --disk like:memory {more}");
            place.typed(&line).code(3).says(&["is in memory"]);
        }
    }
    assert!(!place.path("r").exists());
}

#[test]
fn nothing_is_left_of_a_timing_that_is_interrupted() {
    let place = Place::new();
    place.write("mine.toml", MINE);
    let disk = place.path("disk");
    fs::create_dir(&disk).unwrap();
    let mut run = place.command(&["run", "mine.toml", "--disk", "like:disk", "--out", "r"]);
    let mut run = run.spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("it is timed")));
    let files = format!("/proc/{}/fd", run.id());
    wait_until("an open file", || {
        let files = fs::read_dir(&files).unwrap().flatten();
        let mut leads = files.filter_map(|file| fs::read_link(file.path()).ok());
        leads.any(|path| path.starts_with(disk.canonicalize().unwrap()))
    });
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert!(!ended_within(PATIENCE, &mut run).expect("it ends").success());
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    assert!(!place.path("r").exists());
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_on_a_model_of_a_disk_records_what_the_disk_took_before_it_and_after_it() {
    if Disks::new().is_none() {
        return;
    }
    let place = Place::new();
    place.write("mine.toml", MINE);
    place.typed("run mine.toml --out r").code(0).says(&["it is timed", "it is modelled as"]);
    place.assert_clean("r");
    let document = place.whole_json("r");
    let disk = &document["run"]["disks"][0];
    assert_eq!(disk["level"], format!("like:{}", place.path("").canonicalize().unwrap().display()));
    let model = disk["timed"]["model"].as_str().expect("its model");
    assert!(!disk["timed"]["after"].is_null(), "{disk}");
    let kept = fs::read_to_string(place.path("r/experiment.toml")).unwrap();
    assert!(kept.contains(&format!("model = \"{model}\"")), "{kept}");
    // Its model is in its record.
    let resumed = place.typed("run --resume r").code(0).says(&["nothing is left to run"]);
    assert!(!resumed.err().contains("it is timed"), "{}", resumed.err());
    place.typed("report r --format md").code(0).says(&["of a disk that flushed in"]);
    let left = fs::read_dir(place.path("")).unwrap().flatten().map(|it| it.file_name());
    let left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
}
