//! What an ordinary user gets: every engine, virtual disks, and a word where memory can't be limited.

use bakeoff_results::Scope;
use bakeoff_results::measure::*;

use bakeoff_testkit::{AS_NOBODY, NOBODY, is_root, needs_root, skip, wait_until};

use super::stack::with_php;
use super::{Done, Place, measured, words};

/// Trials of an engine, one after the other, and their clients. Of a server whose processes come and
/// go there are more; Aria, which can't roll a conflict back, has one client.
const TRIALS: [(&str, u32, &str); 7] = [
    ("sqlite", 1, "4"),
    ("lmdb", 1, "4"),
    ("fjall", 1, "4"),
    ("mariadb:innodb", 1, "4"),
    ("mariadb:rocksdb", 1, "4"),
    ("mariadb:aria", 1, "1"),
    ("postgres", 4, "4"),
];

/// Trials of each engine in a soak, unless `BAKEOFF_TRIALS` says how many.
const SOAK: u32 = 200;

/// One short trial of SQLite's into `r`, of what is soon loaded and commits; flags of its own follow.
const SHORT: &str = "run oltp --factor test=insert --scale 10k --engine sqlite --out r --quiet \
                     --repetitions 1 --seconds 0.5 --clients 1 --neighbours 0 --noise-floor false";

const LIMITED: &str = "--memory 256M --durability relaxed";

/// A place of an ordinary user's, and who that is: this one, or one that root can be.
fn place() -> (Place, u32) {
    let user = rustix::process::geteuid().as_raw();
    if user == 0 { (Place::of(NOBODY), NOBODY) } else { (Place::new(), user) }
}

#[test]
#[ignore = "slow: make test-slow"]
fn every_trial_of_every_engine_is_measured_without_root() {
    trials_without_root(None);
}

#[test]
#[ignore = "soak: about 60 min"]
fn every_trial_of_every_engine_is_measured_without_root_soak() {
    let wanted = std::env::var("BAKEOFF_TRIALS").map(|text| text.parse().unwrap());
    trials_without_root(Some(wanted.unwrap_or(SOAK)));
}

/// So many trials of each engine, or as many as each has by default; of all engines at once, who wait for different
/// things.
fn trials_without_root(wanted: Option<u32>) {
    let (place, user) = place();
    let out = |engine: &str| engine.replace(':', "-");
    let runs = TRIALS.map(|(engine, count, clients)| {
        let (count, out) = (wanted.unwrap_or(count), out(engine));
        let run = format!(
            "run oltp --factor test=insert --scale 10k --engine {engine} --out {out} --quiet \
             --repetitions {count} --seconds 0.5 --clients {clients} --neighbours 0 \
             --durability relaxed --noise-floor false"
        );
        (engine, count as usize, place.command_as(user, &words(&run)).spawn().unwrap())
    });
    // All of them end before one is judged.
    let ended = runs.map(|(engine, count, run)| (engine, count, run.wait_with_output().unwrap()));
    for (engine, count, done) in ended {
        let done = Done(done);
        if done.err().contains("apt-get install") {
            skip(format_args!("{engine} is not installed: {}", done.err()));
            continue;
        }
        let done = done.code(0);
        let document = place.json(&out(engine));
        let trials = document["trials"].as_array().unwrap();
        assert!(trials.len() >= count, "{engine}: {}", trials.len());
        for trial in trials {
            let bytes = measured(trial).get(&WRITE_CALLS, &Scope::DATABASE);
            assert!(bytes.is_some_and(|bytes| bytes > 0.0), "{engine}: {trial}");
        }
        println!("{engine}: {} trials, none failed{}", trials.len(), done.err());
    }
}

#[test]
fn a_virtual_disk_is_mounted_without_root() {
    let (place, user) = place();
    let run = format!("{SHORT} --disk ssd-sata --durability strict");
    let done = match is_root() {
        true => place.run_as_nobody_where_all_may_open_fuse(&words(&run)),
        false => place.run_as(user, &words(&run)),
    };
    if done.err().contains("can be had") {
        return skip(done.err());
    }
    done.code(0);
    let document = place.json("r");
    let flushes = measured(&document["trials"][0]).get(&FLUSHES, &Scope::Disk);
    assert!(flushes.is_some_and(|flushes| flushes > 0.0), "{document}");
}

/// Where no group of an ordinary user's can be made, the message says what brings one.
#[test]
#[ignore = "slow: make test-slow"]
fn memory_that_can_not_be_limited_is_told_with_what_brings_it() {
    let (place, user) = place();
    let doctor = place.run_as(user, &["doctor"]);
    let word = "systemd-run --user --scope -p Delegate=yes";
    let line = |text: &str| {
        text.lines().find(|line| line.contains("memory limits")).map(ToOwned::to_owned)
    };
    let line = line(&doctor.out()).expect("doctor speaks of it");
    assert!(line.starts_with("ok") || line.contains(word), "{line}");
    let done = place.run_as(user, &words(&format!("{SHORT} {LIMITED}")));
    if line.starts_with("ok") {
        done.code(0);
    } else {
        done.code(1).says(&["memory can't be limited", word]);
    }
}

/// nginx and PHP run as the user who runs bakeoff, whoever that is.
#[test]
#[ignore = "slow: make test-slow"]
fn a_vote_is_served_by_nginx_and_php_without_root() {
    if !with_php("sqlite") {
        return;
    }
    let (place, user) = place();
    let run = "run vote --engine sqlite --factor server=php --factor step=read+write --compare server --durability none \
               --repetitions 1 --seconds 1 --clients 20 --quiet --out r";
    place.run_as(user, &words(run)).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let trial = &document["trials"][0];
    assert_eq!(trial["valid"], true, "{trial}");
    for operation in trial["operations"].as_array().unwrap() {
        assert_eq!(operation["errors"], 0, "{trial}");
        assert!(operation["count"].as_u64() > Some(0), "{trial}");
    }
}

/// A group of control that an administrator gives to a user.
#[test]
#[ignore = "slow: make test-slow"]
fn a_group_that_is_given_to_a_user_limits_memory() {
    use std::os::unix::fs::chown;
    if !needs_root("give a group to a user") {
        return;
    }
    let groups = std::path::Path::new("/sys/fs/cgroup/memory");
    // Version 2 gives one only where the session is divided by its manager.
    if !groups.join("cgroup.procs").exists() {
        return skip("there is no version 1 of groups of control for memory");
    }
    let place = Place::of(NOBODY);
    let group = groups.join(format!("given-{}", std::process::id()));
    std::fs::create_dir(&group).unwrap();
    for path in [group.clone(), group.join("cgroup.procs")] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = std::process::Command::new("sh");
    let script = "echo 0 > \"$0/cgroup.procs\" && exec \"$@\"";
    command.args(["-c", script]).arg(&group).args(AS_NOBODY).arg(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(words(&format!("{SHORT} {LIMITED}"))).current_dir(place.path(""));
    command.env("XDG_RUNTIME_DIR", place.path(""));
    let done = Done(command.output().unwrap());
    // The kernel may need a moment to let go of who was in it.
    wait_until("the end of the group", || std::fs::remove_dir(&group).is_ok());
    done.code(0);
    let document = place.json("r");
    let limit = measured(&document["trials"][0]).get(&MEMORY_LIMIT, &Scope::DATABASE);
    assert_eq!(limit, Some(f64::from(256 << 20)), "{document}");
}
