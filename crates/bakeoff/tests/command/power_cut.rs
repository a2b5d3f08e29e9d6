//! Pulling the plug, as a user does it.

use std::collections::BTreeSet;

use bakeoff_testkit::{Tmpfs, comes_while, in_time, wait_until};
use serde_json::Value;

use super::on_disks::{can_mount, mounts_below};
use super::servers::installed;
use super::{Done, Place};

/// Cuts alone: no trial is timed.
const CUTS: [&str; 8] =
    ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "2"];

#[test]
fn an_engine_that_keeps_its_promise_ends_well_and_one_cut_can_be_repeated() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict,none", "--keep", "prefix,torn", "--out", "r"];
    let flags = flags.into_iter().chain(["--cut-recovery"]);
    let arguments: Vec<&str> = CUTS.into_iter().chain(flags).collect();
    let done = place.run(&arguments).code(0);
    let told = done.out().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The promise of sqlite at strict was not broken in 2 power cuts",
        "the power went again in 8",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    place.assert_clean("r");
    let document = place.json("r");
    let cuts = document["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 4);
    assert!(cuts.iter().all(|cut| cut["judged"].as_array().unwrap().len() == 2), "{cuts:?}");
    assert_eq!(document["promises"][0]["kept"], true);
    assert_eq!(document["promises"][1]["kept"], serde_json::Value::Null);

    // The command that the report would print, as a user types it.
    let head = document["run"]["cuts"]["command"].as_str().unwrap().to_owned();
    let tail = " --engine sqlite --durability strict --keep torn --cut-number 1 --out again";
    let again = format!("{head}{tail}");
    let words: Vec<&str> = again.split_whitespace().skip(1).collect();
    place.run(&words).code(0);
    let again = place.json("again");
    let [one] = again["cuts"].as_array().unwrap().as_slice() else { panic!("one cut") };
    let first = cuts.iter().find(|cut| cut["durability"] == "strict" && cut["number"] == 1);
    let first = first.unwrap();
    assert_eq!((&one["seed"], &one["moment"]), (&first["seed"], &first["moment"]));
    let seconds: Vec<_> = of(first, "judged").iter().chain(of(one, "judged")).collect();
    assert!(seconds.iter().all(|it| it["again"]["moment"].is_string()), "{seconds:?}");
    assert_eq!(again["trials"].as_array().unwrap().len(), 0);
}

#[test]
fn cuts_at_steady_are_conditioned_placed_and_recorded_and_one_recovery_is_timed() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict", "--keep", "prefix", "--state", "steady"];
    let arguments = [&CUTS[..], &flags].concat();
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat()).code(0);
    plan.says(&["precondition each engine first"]);
    // A payment that clients have no processor for does not come.
    let (place, done, document) = in_time("the time of a payment", |_| {
        let place = Place::new();
        let done = place.run(&[&arguments[..], &["--out", "r"]].concat()).code(0);
        let document = place.json("r");
        let first = of(&document, "cuts").iter().find(|cut| cut["number"] == 0);
        let came = first.expect("a cut")["placed"]["came"] == true;
        came.then_some((place, done, document))
    });
    done.says(&["operations preconditioned the engine"]);
    place.run(&["report", "r", "--format", "md"]).code(0).says(&["recovery on ssd-sata"]);
    let command = document["run"]["cuts"]["command"].as_str().unwrap();
    assert!(command.contains(" --state steady "), "{command}");
    let cuts = document["cuts"].as_array().unwrap();
    let of = |number| cuts.iter().find(|cut| cut["number"] == number).expect("a cut");
    for cut in cuts {
        assert!(cut["conditioned"]["operations"].as_u64().unwrap() > 0, "{cut}");
    }
    assert_eq!((&of(0)["placed"]["came"], &of(1)["placed"]), (&true.into(), &Value::Null));
    assert!(of(0)["timed"]["answer_s"].as_f64().unwrap() > 0.0, "{cuts:?}");
    assert_eq!(of(1)["timed"], Value::Null);
}

#[test]
fn cuts_that_are_made_are_not_made_again() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict", "--keep", "torn", "--out", "r"];
    let arguments: Vec<&str> = CUTS.into_iter().chain(flags).collect();
    place.run(&arguments).code(0);
    let before = place.json("r")["cuts"].clone();
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(place.json("r")["cuts"], before);
}

#[test]
fn a_cut_on_each_file_system_is_made_recorded_and_resumed() {
    let place = Place::new();
    let wrong = [&CUTS[..], &["--file-system", "ext4,xfs", "--out", "r"]].concat();
    place.run(&wrong).code(2).says(&["unknown file system `xfs`", "valid: ext4, posix"]);
    let uncut = ["run", "redmine", "--engine", "sqlite", "--file-system", "posix", "--dry-run"];
    place.run(&uncut).code(2).says(&["--file-system is for power cuts, and this run makes none"]);
    if !can_mount() {
        return;
    }
    let flags = ["--durability", "strict", "--keep", "torn", "--file-system", "ext4,posix"];
    let run = [&CUTS[..], &flags, &["--out", "r"]].concat();
    place.run(&run).code(0).says(&["No promise was broken in 4 power cuts"]);
    let kept = std::fs::read_to_string(place.path("r/experiment.toml")).unwrap();
    assert!(kept.contains("file_system = [\"ext4\", \"posix\"]"), "{kept}");
    let made = |folder: &str| {
        let document = place.json(folder);
        let cuts = of(&document, "cuts").iter().map(|cut| {
            let [file_system, moment] = ["file_system", "moment"].map(|it| cut[it].as_str());
            (
                cut["number"].as_u64().unwrap(),
                file_system.unwrap().to_owned(),
                moment.unwrap().to_owned(),
            )
        });
        cuts.collect::<BTreeSet<_>>()
    };
    let all = made("r");
    let names: Vec<_> = all.iter().map(|(number, name, _)| (*number, &**name)).collect();
    assert_eq!(names, [(0, "ext4"), (0, "posix"), (1, "ext4"), (1, "posix")]);
    // The same moment on both.
    let moments: BTreeSet<_> = all.iter().map(|(number, _, moment)| (number, moment)).collect();
    assert_eq!(moments.len(), 2, "{all:?}");

    // As if it had been interrupted: what is missing is made, on the file system that it was of.
    let database = rusqlite::Connection::open(place.path("r/run.sqlite")).unwrap();
    database.execute("DELETE FROM cut WHERE file_system = 'posix' AND number = 1", []).unwrap();
    drop(database);
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(made("r"), all);
}

/// How many cuts a run folder holds, whoever writes it.
fn cuts_in(folder: &std::path::Path) -> i64 {
    use rusqlite::{Connection, OpenFlags};
    let database = folder.join("run.sqlite");
    let open = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
    open.and_then(|c| c.query_row("SELECT count(*) FROM cut", [], |row| row.get(0))).unwrap_or(0)
}

fn of<'a>(document: &'a Value, list: &str) -> &'a [Value] {
    document[list].as_array().unwrap()
}

/// Whether anybody was promised anything before the power went: else there was nothing to lose.
pub fn is_any_acknowledged(document: &Value) -> bool {
    of(document, "cuts").iter().any(|cut| cut["acknowledged"].as_u64() > Some(0))
}

/// A system whose syncs do nothing, under whatever is started with it.
const NO_SYNC: &str = "int fsync(int file) { return 0; }\nint fdatasync(int file) { return 0; }\n";

/// A command under that system.
fn unsynced(place: &Place, arguments: &[&str]) -> Done {
    let (source, library) = (place.write("nosync.c", NO_SYNC), place.path("nosync.so"));
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.expect("whoever links Rust has a cc").success());
    Done(place.command(arguments).env("LD_PRELOAD", library).output().unwrap())
}

#[test]
fn a_broken_promise_is_red_ends_with_code_6_and_leaves_its_images_and_the_command_for_it() {
    if !can_mount() {
        return;
    }
    let flags = ["--cuts", "4", "--durability", "strict", "--keep", "drop-all", "--keep-images"];
    let run = [&CUTS[..6], &flags, &["--out", "r"]].concat();
    let (place, done, document) = in_time("the time before the cuts", |_| {
        let place = Place::new();
        let done = unsynced(&place, &run);
        println!("{}{}", done.out(), done.err());
        let document = place.json("r");
        is_any_acknowledged(&document).then_some((place, done, document))
    });
    let done = done.code(6).says(&["sqlite, strict"]);
    place.assert_clean("r");
    assert_eq!(document["promises"][0]["kept"], false);

    // The images of what is broken, and no others.
    let judged = of(&document, "cuts").iter().flat_map(|cut| of(cut, "judged"));
    let images = judged.filter_map(|judged| judged["image"].as_str()).map(str::to_owned);
    let images: BTreeSet<String> = images.collect();
    let rules = of(&document["promises"][0], "rules").iter();
    let broken: u64 = rules.map(|rule| rule["broken"].as_u64().unwrap()).sum();
    assert_eq!(images.len() as u64, broken);
    let kept =
        std::fs::read_dir(place.path("r/images")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(kept.count() as u64, broken);
    for image in &images {
        assert!(std::fs::read_dir(place.path(image)).unwrap().count() > 0, "{image}");
    }

    // The command, as the report prints it.
    let out = done.out();
    let again = out.lines().find_map(|line| line.trim().strip_prefix("again: bakeoff "));
    let words: Vec<&str> = again.expect("the command").split_whitespace().collect();
    let repeated = unsynced(&place, &[&words[..], &["--out", "again"]].concat());
    let again = place.json("again");
    let [one] = of(&again, "cuts") else { panic!("one cut") };
    // The same moment, at which a busy machine may have answered nobody yet: nothing is lost then.
    let kept = again["promises"][0]["kept"] == true;
    assert!(!kept || one["acknowledged"] == 0, "{one}");
    repeated.code(if kept { 0 } else { 6 });
    let is_same = |cut: &&Value| cut["number"] == one["number"];
    let first = of(&document, "cuts").iter().find(is_same).expect("it was made before");
    assert_eq!((&one["seed"], &one["moment"]), (&first["seed"], &first["moment"]));
    let broke = of(first, "judged").iter().find(|it| it["keep"] == one["judged"][0]["keep"]);
    assert!(broke.unwrap()["image"].is_string(), "it was one that broke the promise: {first}");
}

/// What servers keep is held by the laboratory's own tests: here that the command cuts their power.
#[test]
#[ignore = "slow: make test-slow"]
fn the_power_of_a_private_server_is_cut() {
    if !can_mount() || !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    let flags = ["--engine", "postgres", "--durability", "strict", "--keep", "torn"];
    let arguments = [&CUTS[..2], &flags, &CUTS[4..6], &["--cuts", "1", "--out", "r"]].concat();
    place
        .run(&arguments)
        .code(0)
        .says(&["The promise of postgres at strict was not broken in 1 power cut"]);
    place.assert_clean("r");
    let document = place.json("r");
    let [cut] = of(&document, "cuts") else { panic!("one cut") };
    assert!(cut["acknowledged"].is_u64() && cut["failed"].is_null(), "{cut}");
}

#[test]
#[ignore = "slow: make test-slow"]
fn cuts_that_were_killed_leave_no_mount_and_go_on_with_what_is_missing() {
    if !can_mount() {
        return;
    }
    let flags = ["--engine", "sqlite", "--durability", "strict,none", "--keep", "prefix"];
    let run = ["run", "power-cut", "--repetitions", "0", "--cuts", "4", "--out", "r"];
    let place = in_time("the run", |_| {
        let place = Place::new();
        let mut run = place.start(&[&run[..], &flags].concat());
        let begun = comes_while(&mut run, "a mount after the second cut", || {
            cuts_in(&place.path("r")) >= 2 && mounts_below(&place.path("r"))
        });
        run.kill().unwrap();
        run.wait().unwrap();
        (begun && cuts_in(&place.path("r")) < 8).then_some(place)
    });
    wait_until("the end of the mount", || !mounts_below(&place.path("r")));
    let before = of(&place.json("r"), "cuts").to_vec();
    assert!((2..8).contains(&before.len()), "{}", before.len());

    place.run(&["run", "--resume", "r"]).code(0);
    place.assert_clean("r");
    let after = place.json("r");
    assert_eq!(of(&after, "cuts").len(), 8);
    assert_eq!(of(&after, "cuts")[..before.len()], before, "what was there is not made again");
}

#[test]
#[ignore = "slow: make test-slow"]
fn what_can_not_be_cut_says_so_once_however_often_it_is_tried() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    if !super::servers::installed(&["mariadb:innodb"]) {
        return;
    }
    // A setting that the server knows, with a value that it finds fault with once it has data.
    let toml = "workload = \"ledger\"\nengine = \"mariadb:innodb\"\n\
                durability = [\"strict\", \"relaxed\"]\ndisk = \"null\"\nrepetitions = 0\n\
                cuts = 3\n[settings.\"mariadb:innodb\"]\ninnodb_page_size = 5000\n";
    place.write("mine.toml", toml);
    let run = ["run", "mine.toml", "--out", "r"];
    for arguments in [&run[..], &["run", "--resume", "r"], &["run", "--resume", "r"]] {
        place.run(arguments).code(5).says(&["power cut number 0 failed (mariadb:innodb, strict)"]);
        let document = place.json("r");
        let cuts = of(&document, "cuts");
        let levels: Vec<_> = cuts.iter().map(|cut| cut["durability"].as_str().unwrap()).collect();
        assert_eq!(levels, ["strict", "relaxed"]);
        assert!(cuts.iter().all(|cut| cut["failed"].is_string()), "{cuts:?}");
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_full_work_folder_stops_the_cuts_and_loses_none() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let small = place.path("small-disk");
    let Some(disk) = Tmpfs::mount(&small, "120m") else { return };
    let (folder, full, done) = in_time("the run", |number| {
        let folder = format!("small-disk/r{number}");
        let run =
            ["run", "power-cut", "--engine", "sqlite", "--durability", "strict", "--keep", "torn"];
        let run = [&run[..], &["--repetitions", "0", "--cuts", "10", "--out", &folder]].concat();
        let mut run = place.start(&run);
        comes_while(&mut run, "the first cut", || cuts_in(&place.path(&folder)) >= 1);
        // Somebody else fills the disk, and takes what a cut frees.
        let full = disk.fill();
        let done = Done(run.wait_with_output().unwrap());
        (done.0.status.code() != Some(0)).then_some((folder, full, done))
    });
    done.code(4).says(&["full", &format!("bakeoff run --resume {folder}")]);
    place.assert_clean(&folder);

    drop(full);
    place.run(&["run", "--resume", &folder]).code(0);
    let document = place.json(&folder);
    assert_eq!(of(&document, "cuts").len(), 10);
    assert!(of(&document, "cuts").iter().all(|cut| cut["failed"].is_null()));
}

#[test]
fn the_power_of_this_machines_own_disk_is_not_cut() {
    let place = Place::new();
    let arguments: Vec<&str> = CUTS.into_iter().chain(["--disk", "host", "--out", "r"]).collect();
    place
        .run(&arguments)
        .code(2)
        .says(&["the power of the disk `host` can't be cut", "--disk ssd-sata"]);
    assert!(!place.path("r").exists());
}

#[test]
fn an_engine_that_stores_nothing_is_refused() {
    let place = Place::new();
    let run = ["run", "power-cut", "--engine", "sqlite,null", "--cuts", "1"];
    place.run(&run).code(2).says(&["`null` stores nothing", "leave `null` out"]);
    let alone = ["run", "redmine", "--engine", "null", "--cuts", "2", "--repetitions", "0"];
    let alone = [&alone[..], &["--disk", "ssd-sata"]].concat();
    for more in [&["--out", "r"][..], &["--dry-run"]] {
        let done = place.run(&[&alone[..], more].concat()).code(2);
        assert_eq!(done.out(), "");
        done.says(&["no power can be cut", "`null` stores nothing"]);
    }
    assert!(!place.path("r").exists());
}

#[test]
fn the_power_of_somebody_elses_server_is_not_cut() {
    let place = Place::new();
    let run = |engines, more: &[&str]| {
        let start = ["run", "power-cut", "--engine", engines, "--out", "r"];
        let done = place.run(&[&start[..], more].concat());
        assert!(!done.err().contains("word") && !done.out().contains("word"), "{}", done.err());
        done
    };
    let url = "postgres://me:word@host/db";
    run(url, &[]).code(2).says(&["the power of `postgres://me@host/db` can't be cut", "--cuts 0"]);
    assert!(!place.path("r").exists());
    // Beside one whose power can be cut it is left out, and that is said.
    let both = run(&format!("sqlite,{url}"), &["--dry-run"]).code(0);
    both.says(&["postgres://me@host/db", "can't cut the power of a server that it doesn't run"]);
}

#[test]
fn a_plan_says_which_level_is_less_than_its_name() {
    let place = Place::new();
    let planned = |engine| {
        let run = ["run", "power-cut", "--engine", engine, "--durability", "none,strict"];
        place.run(&[&run[..], &["--dry-run"]].concat()).code(0).out()
    };
    let said = planned("tarantool:vinyl");
    for (level, part) in
        [("none", "vinyl refuses to write without a log"), ("strict", "snapshot_at_start=yes")]
    {
        let start = format!("tarantool:vinyl at durability {level}: ");
        let line = said.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some_and(|line| line.contains(part)), "{level}: {said}");
    }
    assert!(!planned("sqlite").contains(" at durability "));
}

#[test]
fn every_moment_is_cut_within_the_budget_that_the_plan_shows() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let cuts = ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "every"];
    let flags = ["--max-images", "40", "--durability", "strict", "--keep", "drop-all"];
    let arguments: Vec<&str> = cuts.into_iter().chain(flags).collect();
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat()).code(0);
    plan.says(&["1 power cut at every moment", "up to 40 different images", "drawn by drop-all"]);
    // A short run turns no debt over.
    let steady = place.run(&[&arguments[..], &["--dry-run", "--state", "steady"]].concat());
    steady.says(&["owes nothing yet", "--state warm"]);
    // As many writes as are wanted, or all that a busy machine does in the five seconds that it has for them, which end
    // with the last one: they may be too few for so many images.
    let (place, done, document) = in_time("the time of the writes", |_| {
        let place = Place::new();
        let done = place.run(&[&arguments[..], &["--out", "r"]].concat()).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let [cut] = of(&document, "cuts") else { panic!("one cut") };
        assert_eq!(cut["every"]["broken"], 0, "{cut}");
        let [writes, distinct] = ["writes", "distinct"].map(|it| cut["every"][it].as_u64());
        let is_whole = writes.unwrap() >= 3000;
        let is_enough = distinct.unwrap() > 40 && cut["ran_s"].as_f64() >= Some(1.0);
        (is_whole || is_enough).then_some((place, done, document))
    });
    done.says(&[
        "The promise of sqlite at strict was not broken in 40 crash images",
        "budget of 40 has it",
    ])
    .says(&["sqlite, strict: ", " images drawn, "]);
    let [cut] = of(&document, "cuts") else { panic!("one cut") };
    let every = &cut["every"];
    let count = |name: &str| every[name].as_u64().unwrap();
    assert_eq!((count("budget"), count("judged"), count("broken")), (40, 40, 0));
    assert!(count("distinct") > 40 && count("drawn") == count("moments"), "{every}");
    // What is done is not done again.
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(of(&place.json("r"), "cuts"), std::slice::from_ref(cut));
}
