//! Runs on virtual disks.

use std::path::Path;

use bakeoff_disk::mount::Launcher;
use bakeoff_results::measure::*;
use bakeoff_testkit::{comes_while, in_time, needs, needs_root, wait_until};
use serde_json::Value;

use super::{Place, measured, trials};

/// Strict commits on a disk whose time is modelled, beside one that takes none.
const DISKS: &str = r#"
name = "disks"
workload = "redmine"
engine = "sqlite"
compare = "disk"
disk = ["null", "hdd-7200", "mine"]
neighbours = "0"
seconds = 2
repetitions = 2

[disks.mine]
model = "raid10:4×hdd-7200"
cache = "16M"
"#;

/// Whether virtual disks can be had.
pub fn can_mount() -> bool {
    let place = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_bakeoff").into();
    let launcher = Launcher { program, arguments: vec!["disk-daemon".into()] };
    needs(bakeoff_lab::try_virtual_disk(&launcher, place.path())).is_some()
}

/// Whether anything is mounted below a folder.
pub fn mounts_below(folder: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.contains(folder.to_str().unwrap())
}

#[test]
fn a_slow_disk_is_slow_and_says_what_it_did() {
    if !can_mount() {
        return;
    }
    // Its clients may wait for a processor, and not for the disk.
    in_time("the time of the slow disk", |_| {
        let place = Place::new();
        place.write("disks.toml", DISKS);
        place.run(&["run", "disks.toml", "--out", "r"]).code(0);
        place.assert_clean("r");
        assert!(!mounts_below(&place.path("r")));
        let busiest = busiest_of_slow(&place.json("r"));
        (busiest > 0.5).then_some(())
    });
}

/// Fails unless each disk of [`DISKS`] did what it says. The largest utilisation in a trial of the slow one.
fn busiest_of_slow(document: &Value) -> f64 {
    let is_slow = |it: &&Value| it["levels"]["disk"] == "hdd-7200";
    let cell = document["cells"].as_array().unwrap().iter().find(is_slow).unwrap();
    // An operation is 11 commits, and each waits for a turn of the platters, 120 a second.
    let rate = cell["operations"][0]["per_second"].as_f64().unwrap();
    assert!(rate <= 120.0 / 11.0, "{rate} operations a second");
    let mut busiest = 0.0_f64;
    for trial in document["trials"].as_array().unwrap() {
        let (measures, level) = (measured(trial), trial["levels"]["disk"].as_str().unwrap());
        let of_disk = |measure| measures.get(measure, &Scope::Disk);
        for counted in [&HOST_WRITES, &WRITES, &FLUSHES] {
            assert!(of_disk(counted).unwrap() > 0.0, "{}: {trial}", counted.name);
        }
        let utilisation = of_disk(&UTILISATION).unwrap();
        let most = match level {
            "null" => 0.0,
            "hdd-7200" => 1.0,
            _ => 0.5,
        };
        assert!(utilisation <= most, "{trial}");
        busiest = busiest.max(utilisation);
        assert_eq!(of_disk(&MODELLED_LATENCY).is_none(), level == "null", "{trial}");
        assert!(measures.get(&SPACE, &Scope::Trial).unwrap() > 100e3, "{trial}");
    }
    busiest
}

#[test]
#[ignore = "slow: make test-slow"]
fn neighbours_are_in_the_disk_s_own_queue() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("disks.toml", DISKS);
    let flags = ["--disk", "hdd-7200", "--compare", "neighbours", "--neighbours", "0,25%,x4"];
    // Behind four neighbours an operation takes one to two seconds; each kind must end once.
    let run = ["run", "disks.toml", "--out", "r", "--repetitions", "1", "--seconds", "10"];
    place.run(&[&run[..], &flags].concat()).code(0);
    let document = place.json("r");
    assert!(document["run"]["neighbour_alone_per_second"].is_null(), "the host's were not hired");
    for trial in document["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let achieved = measures.get(&RATE, &Scope::Neighbours).unwrap_or(0.0);
        let expected = match trial["levels"]["neighbours"].as_str().unwrap() {
            "0" => 0.0..=0.0,
            // Of about 78 a second; 200 requests have a standard error of 7 %.
            "25%" => 14.0..=26.0,
            _ => 40.0..=100.0,
        };
        assert!(expected.contains(&achieved), "{trial}");
        let intends = trial["levels"]["neighbours"] == "25%";
        let intended = measures.get(&OFFERED, &Scope::Neighbours);
        assert_eq!(intended.is_some(), intends, "{trial}");
    }
    // A device without a queue has no place for them: the cell is not run, and says why; the plan
    // does so before.
    let flags = ["--disk", "null,hdd-7200", "--neighbours", "0,x1", "--repetitions", "3"];
    let planned = place.run(&[&["run", "disks.toml", "--dry-run"], &flags[..]].concat());
    let line = "disk null × neighbours x1 (3 trials): the disk `null` has no queue";
    planned.code(0).says(&["9 trials in 6 blocks", line]);
    let flags = ["--disk", "null", "--neighbours", "x1", "--out", "null", "--repetitions", "1"];
    let done = place.run(&[&["run", "disks.toml"], &flags[..]].concat());
    done.code(2).says(&["nothing in this experiment can be run", "no queue"]);
    assert!(!place.path("null").exists(), "nothing was begun");
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_that_is_stopped_or_killed_leaves_no_mount() {
    use rustix::process::{Pid, Signal, kill_process};
    if !can_mount() {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let place = in_time("the run", |_| {
            let place = Place::new();
            place.write("disks.toml", DISKS);
            let run = ["run", "disks.toml", "--out", "r", "--disk", "null,hdd-7200"];
            let mut run = place.start(&[&run[..], &["--seconds", "1"]].concat());
            let begun = comes_while(&mut run, "a mount after the first trial", || {
                trials(&place.path("r")) >= 1 && mounts_below(&place.path("r"))
            });
            if begun {
                kill_process(Pid::from_child(&run), signal).unwrap();
            }
            // One that is over when it is told to end has nothing mounted.
            (run.wait().unwrap().code() != Some(0)).then_some(place)
        });
        // Its daemon hears of its end.
        wait_until("the end of the mount", || !mounts_below(&place.path("r")));
        if signal == Signal::KILL {
            place.run(&["run", "--resume", "r"]).code(0);
        }
        place.assert_clean("r");
    }
}

/// A command in a world of its own where /dev/fuse is none.
fn without_fuse(place: &Place, arguments: &[&str]) -> Option<super::Done> {
    let script = "mount --bind /dev/null /dev/fuse && exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(arguments).current_dir(place.path(".")).env("XDG_RUNTIME_DIR", place.path("."));
    if !needs_root("cover /dev/fuse") {
        return None;
    }
    Some(super::Done(command.output().unwrap()))
}

#[test]
fn where_no_disk_can_be_had_a_preset_takes_the_host_s_and_says_so() {
    let place = Place::new();
    let short = ["--engine", "null", "--noise-floor", "false", "--durability", "none"];
    let short = [&short[..], &["--neighbours", "0", "--clients", "1"]].concat();
    let length = ["--seconds", "0.5", "--repetitions", "1"];
    let quick = [&["run", "redmine", "--quick", "--out", "r"], &short[..], &length].concat();
    let Some(done) = without_fuse(&place, &quick) else { return };
    done.code(0).says(&["on the disk host instead of ssd-sata", "/dev/fuse"]);
    assert_eq!(place.json("r")["trials"][0]["levels"]["disk"], "host");
    // Who names a disk gets that one, or none.
    place.write("disks.toml", DISKS);
    let named = [&quick[..4], &["named", "--disk", "hdd-7200"], &short, &length].concat();
    let dry = without_fuse(&place, &[&named[..], &["--dry-run"]].concat()).unwrap();
    dry.code(1).says(&["would not begin here: the disk hdd-7200 can't be had", "modprobe"]);
    for arguments in [&named[..], &["run", "disks.toml", "--out", "named"]] {
        let done = without_fuse(&place, arguments).unwrap();
        let done = done.code(1).says(&["hdd-7200", "/dev/fuse is something else", "--disk host"]);
        assert!(done.says(&["fusermount3", "modprobe"]).err().lines().count() <= 2);
        assert!(!place.path("named").exists());
    }
    // A preset whose question is another one goes without its power cuts, unless they were asked for.
    let demo = ["run", "demo", "--quick", "--engine", "sqlite,lmdb", "--dry-run"];
    let done = without_fuse(&place, &demo).unwrap().code(0);
    let out = done.says(&["on the disk host instead of ssd-sata and without power cuts"]).out();
    assert!(out.contains("disk host") && !out.contains("power cut"), "{out}");
    let done = without_fuse(&place, &[&demo[..], &["--cuts", "2"]].concat()).unwrap().code(1);
    done.says(&["8 power cuts", "would not begin here: "]);
    // No other disk would do for a power cut.
    let cuts = without_fuse(&place, &["run", "power-cut", "--engine", "sqlite", "--out", "c"]);
    let said = cuts.unwrap().code(1).says(&["no power can be cut", "modprobe"]).err();
    assert!(!said.contains("--disk"), "{said}");
}
