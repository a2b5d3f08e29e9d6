//! Runs and engines on virtual disks.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use bakeoff_disk::mount::Launcher;
use bakeoff_engines::{ENGINES, Engine, EngineHome};
use bakeoff_results::measure::*;
use bakeoff_testkit::conformance::{
    self, ALONE, Of, STORING, TRANSACTIONAL, concurrency, sequences, survival,
};
use bakeoff_testkit::{in_time, needs, needs_root, open_to_all};
use serde_json::Value;

use super::disk::Disks;
use super::{Done, Place, measured};

/// Strict commits on a disk whose time is modelled, beside one that takes none.
const DISKS: &str = r#"
name = "disks"
workload = "oltp"
test = "insert"
scale = "10k"
engine = "sqlite"
compare = "disk"
disk = ["null", "hdd-7200", "mine"]
neighbours = "0"
seconds = 2
repetitions = 1

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
        place.typed("run disks.toml --out r").code(0);
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
    // A commit is two dependent writes, and each waits for a turn of the platters, 120 a second.
    assert!(cell["operations"][0]["per_second"].as_f64() <= Some(120.0 / 2.0), "{cell}");
    let mut busiest = 0.0_f64;
    for trial in document["trials"].as_array().unwrap() {
        let (measures, level) = (measured(trial), trial["levels"]["disk"].as_str().unwrap());
        let of_disk = |measure| measures.get(measure, &Scope::Disk);
        for counted in [&HOST_WRITES, &WRITES, &FLUSHES] {
            assert!(of_disk(counted).unwrap() > 0.0, "{}: {trial}", counted.name);
        }
        let most = match level {
            "null" => 0.0,
            "hdd-7200" => 1.0,
            _ => 0.5,
        };
        let busy = of_disk(&UTILISATION).unwrap();
        assert!(busy <= most, "{trial}");
        busiest = busiest.max(busy);
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
    let run = ["run", "disks.toml", "--out", "r", "--seconds", "4"];
    place.run(&[&run[..], &flags].concat()).code(0);
    let document = place.json("r");
    assert!(document["run"]["neighbour_alone_per_second"].is_null(), "the host's were not hired");
    for trial in document["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let achieved = measures.get(&RATE, &Scope::Neighbours).unwrap_or(0.0);
        let expected = match trial["levels"]["neighbours"].as_str().unwrap() {
            "0" => 0.0..=0.0,
            // Of about 78 a second; which arrivals a seed gives is known.
            "25%" => 14.0..=26.0,
            _ => 40.0..=100.0,
        };
        assert!(expected.contains(&achieved), "{trial}");
        let intends = trial["levels"]["neighbours"] == "25%";
        let intended = measures.get(&OFFERED, &Scope::Neighbours);
        assert_eq!(intended.is_some(), intends, "{trial}");
    }
    // A device without a queue has no place for them: the cell is not run, and the plan says why.
    let flags = ["--disk", "null,hdd-7200", "--neighbours", "0,x1", "--repetitions", "3"];
    let planned = place.run(&[&["run", "disks.toml", "--dry-run"], &flags[..]].concat());
    let line = "disk null × neighbours x1 (3 trials): the disk `null` has no queue";
    planned.code(0).says(&["9 trials in 6 blocks", line]);
}

/// Set in the processes whose temporary folder is a virtual disk.
const ON_DISK: &str = "BAKEOFF_TEST_CONFORMS";

/// What asks most of a file system, of every engine, of servers, too: files that are mapped, or written directly, when
/// their process is killed, readers beside writers, and of embedded engines all kinds of statements. A process has one
/// temporary folder, so that this test starts itself again with the disk's: for all engines at once, who wait for
/// different things.
#[test]
#[ignore = "slow: make test-slow"]
fn every_engine_keeps_its_contract_on_a_virtual_disk() {
    const TEST: &str = "on_disks::every_engine_keeps_its_contract_on_a_virtual_disk";
    if std::env::var_os(ON_DISK).is_some() {
        // First: it starts this once more, as the process that is killed.
        conformance::on(ENGINES, STORING, |engine| survival::survive_a_kill(engine, TEST));
        let embedded: Of = |about| TRANSACTIONAL(about) && about.home == EngineHome::Process;
        conformance::on(ENGINES, embedded, sequences::answers_like_the_model);
        let transfers = concurrency::transfers_keep_the_sum_in_every_snapshot;
        return conformance::on(ENGINES, STORING, transfers);
    }
    let Some(disks) = Disks::new() else { return };
    // The servers' users have to get there.
    open_to_all(disks.0.0.path());
    open_to_all(&disks.0.path("b"));
    disks.mount("null");
    let start = |engine: &&dyn Engine| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", TEST, "--include-ignored", "--nocapture"]);
        again.env(ON_DISK, "1").env(ALONE, engine.about().name).env("TMPDIR", disks.0.path("m"));
        again.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let tried: Vec<Child> = ENGINES.iter().map(start).collect();
    // All of them end before one is judged.
    let ended = tried.into_iter().map(|it| Done(it.wait_with_output().unwrap()));
    for done in ended.collect::<Vec<_>>() {
        done.code(0).says(&["1 passed"]);
    }
    assert!(disks.stat()["files"]["all"]["full_syncs"].as_u64() > Some(1000));
    disks.unmount();
}

/// A command in a world of its own where /dev/fuse is none.
fn without_fuse(place: &Place, arguments: &[&str]) -> Option<Done> {
    let script = "mount --bind /dev/null /dev/fuse && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(arguments).current_dir(place.path(".")).env("XDG_RUNTIME_DIR", place.path("."));
    if !needs_root("cover /dev/fuse") {
        return None;
    }
    Some(Done(command.output().unwrap()))
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
    let run = |arguments: &[&str], code: i32, said: &[&str]| {
        let done = without_fuse(&place, &[&["run"], arguments].concat()).unwrap();
        done.code(code).says(said)
    };
    // Who names a disk gets that one, or none.
    place.write("disks.toml", DISKS);
    let named = [&["redmine", "--out", "named", "--disk", "hdd-7200"], &short[..]].concat();
    run(&[&named[..], &["--dry-run"]].concat(), 1, &["would not begin here", "modprobe"]);
    for arguments in [&named[..], &["disks.toml", "--out", "named"]] {
        let why = ["/dev/fuse is something else", "--disk host", "fusermount3", "modprobe"];
        assert!(run(arguments, 1, &why).err().lines().count() <= 2);
        assert!(!place.path("named").exists());
    }
    // A preset whose question is another one goes without its power cuts, unless they were asked for.
    let demo = ["demo", "--quick", "--engine", "sqlite,lmdb", "--dry-run"];
    let without = "on the disk host instead of ssd-sata, ssd-nvme-plp and without power cuts";
    let out = run(&demo, 0, &[without]).out();
    assert!(out.contains("disk host") && !out.contains("power cut"), "{out}");
    run(&[&demo[..], &["--cuts", "2"]].concat(), 1, &["4 power cuts", "would not begin here: "]);
    // No other disk would do for a power cut.
    let cuts = ["power-cut", "--engine", "sqlite", "--out", "c"];
    let said = run(&cuts, 1, &["no power can be cut", "modprobe"]).err();
    assert!(!said.contains("--disk"), "{said}");
}
