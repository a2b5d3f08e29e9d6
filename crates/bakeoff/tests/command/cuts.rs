//! Pulling the plug, as a user does it, and reports of it.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_testkit::{Tmpfs, comes_while, in_time};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::on_disks::can_mount;
use super::servers::installed;
use super::{Done, Place};

/// Cuts alone: no trial is timed.
const CUTS: [&str; 8] =
    ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "2"];

fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document[name].as_array().unwrap()
}

/// Whether anybody was promised anything before the power went: else there was nothing to lose.
fn is_any_acknowledged(cuts: &[Value]) -> bool {
    cuts.iter().any(|cut| cut["acknowledged"].as_u64() > Some(0))
}

/// How many cuts a run folder holds, whoever writes it.
fn cuts_in(folder: &Path) -> i64 {
    let database = folder.join("run.sqlite");
    let open = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
    open.and_then(|c| c.query_row("SELECT count(*) FROM cut", [], |row| row.get(0))).unwrap_or(0)
}

/// Makes one cut of a run again, by the command that a report prints and these flags, and fails unless it comes at the
/// same moment: the cut.
fn make_again(
    place: &Place,
    document: &Value,
    flags: &str,
    is_it: impl Fn(&Value) -> bool,
) -> Value {
    let command = document["run"]["cuts"]["command"].as_str().unwrap();
    let again = format!("{command} {flags} --out again");
    place.run(&again.split_whitespace().skip(1).collect::<Vec<_>>()).code(0);
    let again = place.json("again");
    let ([one], trials) = (list(&again, "cuts"), list(&again, "trials")) else {
        panic!("one cut: {again}")
    };
    assert_eq!(trials.len(), 0);
    let first = list(document, "cuts").iter().find(|cut| is_it(cut)).expect("it was made");
    assert_eq!((&one["seed"], &one["moment"]), (&first["seed"], &first["moment"]));
    one.clone()
}

#[test]
fn a_promise_that_is_kept_ends_well_and_one_cut_can_be_repeated() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict,none", "--keep", "prefix,torn", "--cut-recovery"];
    let done = place.run(&[&CUTS[..], &flags, &["--full", "--out", "r"]].concat()).code(0);
    let told = done.out().split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = "The promise of sqlite at strict was not broken in 2 power cuts";
    assert!(told.contains(kept) && told.contains("the power went again in 8"), "{told}");
    place.assert_clean("r");
    let document = place.json("r");
    let cuts = list(&document, "cuts");
    assert_eq!(cuts.len(), 4);
    assert!(cuts.iter().all(|cut| list(cut, "judged").len() == 2), "{cuts:?}");
    let promises = [0, 1].map(|at| document["promises"][at]["kept"].clone());
    assert_eq!(promises, [true.into(), Value::Null]);
    // What is made is not made again, unless it is asked for.
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(list(&place.json("r"), "cuts"), cuts);
    let flags = "--engine sqlite --durability strict --keep torn --cut-number 1";
    let is_it = |cut: &Value| cut["durability"] == "strict" && cut["number"] == 1;
    let one = make_again(&place, &document, flags, is_it);
    let judged = cuts.iter().chain([&one]).flat_map(|cut| list(cut, "judged"));
    assert!(judged.into_iter().all(|it| it["again"]["moment"].is_string()), "{cuts:?}, {one}");
}

#[test]
fn cuts_at_steady_are_conditioned_and_placed_and_one_recovery_is_timed() {
    if !can_mount() {
        return;
    }
    let flags = ["--durability", "strict", "--keep", "prefix", "--state", "steady"];
    let arguments = [&CUTS[..], &flags].concat();
    let plan = Place::new().run(&[&arguments[..], &["--dry-run"]].concat()).code(0);
    plan.says(&["precondition each engine first"]);
    // A payment that clients have no processor for does not come.
    let (place, done, document) = in_time("the time of a payment", |_| {
        let place = Place::new();
        let done = place.run(&[&arguments[..], &["--out", "r"]].concat()).code(0);
        let document = place.json("r");
        let first = list(&document, "cuts").iter().find(|cut| cut["number"] == 0);
        let came = first.expect("a cut")["placed"]["came"] == true;
        came.then_some((place, done, document))
    });
    done.says(&["The promise of sqlite at strict was not broken in 2 power cuts"]);
    place
        .run(&["report", "r", "--format", "md"])
        .code(0)
        .says(&["operations preconditioned the engine", "recovery on ssd-sata"]);
    let command = document["run"]["cuts"]["command"].as_str().unwrap();
    assert!(command.contains(" --state steady "), "{command}");
    for cut in list(&document, "cuts") {
        assert!(cut["conditioned"]["operations"].as_u64().unwrap() > 0, "{cut}");
        // The first alone.
        let is_first = cut["number"] == 0;
        assert_eq!(cut["placed"].is_object(), is_first, "{cut}");
        assert_eq!(cut["timed"]["answer_s"].as_f64() > Some(0.0), is_first, "{cut}");
    }
}

#[test]
fn a_cut_on_each_file_system_is_made_and_resumed() {
    let place = Place::new();
    let wrong = [&CUTS[..], &["--file-system", "ext4,xfs", "--out", "r"]].concat();
    place.run(&wrong).code(2).says(&["unknown file system `xfs`"]);
    if !can_mount() {
        return;
    }
    let flags = ["--durability", "strict", "--keep", "torn", "--file-system", "ext4,posix"];
    let run = [&CUTS[..], &flags, &["--out", "r"]].concat();
    place.run(&run).code(0).says(&["No promise was broken in 4 power cuts"]);
    let made = || {
        let document = place.json("r");
        let cuts = list(&document, "cuts").iter();
        cuts.map(|cut| ["number", "moment", "file_system"].map(|it| cut[it].to_string()))
            .collect::<BTreeSet<_>>()
    };
    let all = made();
    let of = |at: usize| all.iter().map(|cut| &*cut[at]).collect::<BTreeSet<_>>();
    assert_eq!((all.len(), of(0).len(), of(2)), (4, 2, BTreeSet::from(["\"ext4\"", "\"posix\""])));
    let moments: BTreeSet<_> = all.iter().map(|cut| &cut[..2]).collect();
    assert_eq!(moments.len(), 2, "the same moment on both: {all:?}");
    // As if it had been interrupted: what is missing is made, on the file system that it was of.
    let database = Connection::open(place.path("r/run.sqlite")).unwrap();
    database.execute("DELETE FROM cut WHERE file_system = 'posix' AND number = 1", []).unwrap();
    drop(database);
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(made(), all);
}

/// A system whose syncs do nothing, under whatever is started with it.
const NO_SYNC: &str = "int fsync(int file) { return 0; }\nint fdatasync(int file) { return 0; }\n";

/// A command under that system.
fn run_unsynced(place: &Place, arguments: &[&str]) -> Done {
    let (source, library) = (place.write("nosync.c", NO_SYNC), place.path("nosync.so"));
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.expect("whoever links Rust has a cc").success());
    Done(place.command(arguments).env("LD_PRELOAD", library).output().unwrap())
}

#[test]
fn a_broken_promise_ends_with_code_6_and_leaves_its_images_and_the_command_for_it() {
    if !can_mount() {
        return;
    }
    let flags = ["--cuts", "4", "--durability", "strict", "--keep", "drop-all", "--keep-images"];
    let run = [&CUTS[..6], &flags, &["--out", "r"]].concat();
    let (place, done, document) = in_time("the time before the cuts", |_| {
        let place = Place::new();
        let done = run_unsynced(&place, &run);
        println!("{}{}", done.out(), done.err());
        let document = place.json("r");
        is_any_acknowledged(list(&document, "cuts")).then_some((place, done, document))
    });
    done.code(6).says(&["sqlite, strict"]);
    place.assert_clean("r");
    assert_eq!(document["promises"][0]["kept"], false);

    // The images of what is broken, and no others.
    let judged = list(&document, "cuts").iter().flat_map(|cut| list(cut, "judged"));
    let images: BTreeSet<&str> = judged.filter_map(|judged| judged["image"].as_str()).collect();
    let rules = list(&document["promises"][0], "rules").iter();
    let broken: u64 = rules.map(|rule| rule["broken"].as_u64().unwrap()).sum();
    let kept = std::fs::read_dir(place.path("r/images")).unwrap().count();
    assert_eq!([images.len() as u64, kept as u64], [broken; 2]);
    for image in &images {
        assert!(std::fs::read_dir(place.path(image)).unwrap().count() > 0, "{image}");
    }

    // The command, as the report prints it.
    let out = place.run(&["report", "r", "--full"]).code(0).out();
    let again = out.lines().find_map(|line| line.trim().strip_prefix("again: bakeoff "));
    let words: Vec<&str> = again.expect("the command").split_whitespace().collect();
    let repeated = run_unsynced(&place, &[&words[..], &["--out", "again"]].concat());
    let again = place.json("again");
    let [one] = list(&again, "cuts") else { panic!("one cut") };
    // The same moment, at which a busy machine may have answered nobody yet: nothing is lost then.
    let kept = again["promises"][0]["kept"] == true;
    assert!(!kept || one["acknowledged"] == 0, "{one}");
    repeated.code(if kept { 0 } else { 6 });
    let is_same = |cut: &&Value| cut["number"] == one["number"] && cut["moment"] == one["moment"];
    let first = list(&document, "cuts").iter().find(is_same).expect("it was made before");
    assert!(first.to_string().contains("\"image\":\""), "it was one that broke: {first}");
}

/// What servers keep is held by the laboratory's own tests: here that the command cuts the power of one, and says of
/// another once that it can't, however often it is tried.
#[test]
#[ignore = "slow: make test-slow"]
fn the_power_of_private_servers_is_cut_or_it_is_said_why_not() {
    if !can_mount() || !installed(&["postgres", "mariadb:innodb"]) {
        return;
    }
    let place = Place::new();
    // A setting that the server knows, with a value that it finds fault with once it has data.
    let toml = "workload = \"ledger\"\nengine = [\"mariadb:innodb\", \"postgres\"]\n\
                durability = \"strict\"\ndisk = \"null\"\nrepetitions = 0\ncuts = 2\n\
                keep = \"torn\"\n[settings.\"mariadb:innodb\"]\ninnodb_page_size = 5000\n";
    place.write("mine.toml", toml);
    let run = ["run", "mine.toml", "--out", "r"];
    let mut made = None;
    for arguments in [&run[..], &["run", "--resume", "r"], &["run", "--resume", "r"]] {
        let why = "power cut number 0 failed (mariadb:innodb, strict)";
        place.run(arguments).code(5).says(&[why]);
        let document = place.json("r");
        let of = |engine| list(&document, "cuts").iter().filter(move |it| it["engine"] == engine);
        let failed: Vec<_> = of("mariadb:innodb").map(|cut| cut["failed"].is_string()).collect();
        assert_eq!(failed, [true], "{document}");
        let whole: Vec<Value> = of("postgres").cloned().collect();
        assert!(whole.len() == 2 && is_any_acknowledged(&whole), "{whole:?}");
        assert!(whole.iter().all(|cut| cut["failed"].is_null()), "{whole:?}");
        assert_eq!(made.get_or_insert(whole.clone()), &whole, "it is not made again");
        place.assert_clean("r");
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
    let flags = ["--durability", "strict", "--keep", "torn", "--cuts", "10", "--out"];
    let (folder, full, done) = in_time("the run", |number| {
        let folder = format!("small-disk/r{number}");
        let mut run = place.start(&[&CUTS[..6], &flags, &[&*folder]].concat());
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
    let failed = list(&document, "cuts").iter().filter(|cut| !cut["failed"].is_null()).count();
    assert_eq!((list(&document, "cuts").len(), failed), (10, 0));
}

#[test]
fn what_has_no_power_to_cut_is_refused_before_anything_is_made() {
    let place = Place::new();
    let url = "postgres://me:word@host/db";
    let both = format!("sqlite,{url}");
    let own = ["redmine", "--engine", "null", "--cuts", "2", "--disk", "ssd-sata"];
    let alone = [&own[..], &["--repetitions", "0"]].concat();
    for (arguments, code, why) in [
        (&["power-cut", "--engine", "sqlite", "--disk", "host"][..], 2, "--disk ssd-sata"),
        (&["power-cut", "--engine", "sqlite,null", "--cuts", "1"], 2, "leave `null` out"),
        (&alone, 2, "no power can be cut"),
        (&[&alone[..], &["--dry-run"]].concat(), 2, "no power can be cut"),
        (&["power-cut", "--engine", url], 2, "--cuts 0"),
        // Beside one whose power can be cut it is left out, and that is said.
        (&["power-cut", "--engine", &both, "--dry-run"], 0, "can't cut the power of a server"),
    ] {
        let done = place.run(&[&["run"], arguments, &["--out", "r"]].concat()).code(code);
        let done = done.says(&[why]);
        assert!(!done.err().contains("word") && !done.out().contains("word"), "{}", done.err());
        assert!(!place.path("r").exists(), "{arguments:?}");
    }
}

#[test]
fn a_plan_says_which_level_is_less_than_its_name() {
    let run = ["run", "power-cut", "--engine", "tarantool:vinyl,sqlite", "--dry-run"];
    let run = [&run[..], &["--durability", "none,strict"]].concat();
    let said = Place::new().run(&run).out();
    let remarks = said.lines().filter(|line| line.contains(" at durability "));
    let [none, strict] = remarks.collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(none.starts_with("tarantool:vinyl at durability none: "), "{none}");
    assert!(none.contains("without a log") && strict.contains("snapshot_at_start=yes"), "{said}");
}

#[test]
fn every_moment_is_cut_within_the_budget_that_the_plan_shows() {
    if !can_mount() {
        return;
    }
    let flags = ["--max-images", "40", "--durability", "strict", "--keep", "drop-all"];
    let arguments = [&CUTS[..7], &["every"], &flags].concat();
    let place = Place::new();
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat()).code(0);
    plan.says(&["1 power cut at every moment", "up to 40 different images", "drawn by drop-all"]);
    // As many writes as are wanted, or all that a busy machine does in the five seconds that it has for them, which end
    // with the last one: they may be too few for so many images.
    let (place, done, document) = in_time("the time of the writes", |_| {
        let place = Place::new();
        let done = place.run(&[&arguments[..], &["--out", "r"]].concat()).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let [cut] = list(&document, "cuts") else { panic!("one cut") };
        assert_eq!(cut["every"]["broken"], 0, "{cut}");
        let [writes, distinct] = ["writes", "distinct"].map(|it| cut["every"][it].as_u64());
        let is_whole = writes.unwrap() >= 3000;
        let is_enough = distinct.unwrap() > 40 && cut["ran_s"].as_f64() >= Some(1.0);
        (is_whole || is_enough).then_some((place, done, document))
    });
    done.says(&["not broken in 40 crash images", "sqlite, strict: ", " images drawn, "]);
    let every = &document["cuts"][0]["every"];
    let count = |name: &str| every[name].as_u64().unwrap();
    assert_eq!(["budget", "judged", "broken"].map(count), [40, 40, 0]);
    assert!(count("distinct") > 40 && count("drawn") == count("moments"), "{every}");
    // What is done is not done again.
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(place.json("r")["cuts"], document["cuts"]);
}

/// Power cuts of files, and no trial.
const FILES: [&str; 6] = ["run", "fileio", "--repetitions", "0", "--factor", "size=1M"];

/// What a sync covered is there after a power cut, by whatever call it was made durable; but of a disk that acknowledges
/// what is in its cache, and is never flushed.
#[test]
fn power_cuts_hold_disks_to_what_was_synced() {
    const WITHOUT: &str = "ssd-sata/barrier=0";
    if !can_mount() {
        return;
    }
    let disks = format!("ssd-sata,{WITHOUT}");
    let run = [&FILES[..], &["--disk", &disks, "--cuts", "3", "--clients", "2"]].concat();
    let syncs = ["--factor", "sync=never,fsync:2,dsync", "--keep", "drop-all"];
    let run = [&run[..], &syncs].concat();
    let plan = Place::new().run(&[&run[..], &["--dry-run"]].concat()).code(0);
    let instead = "pattern randwrite instead of randread, sync fdatasync:1 instead of never";
    plan.says(&["18 power cuts, 3 of each disk at each level", instead]);
    let (place, document, done) = in_time("the time before the cuts", |_| {
        let place = Place::new();
        let done = place.run(&[&run[..], &["--out", "r"]].concat());
        println!("{}{}", done.out(), done.err());
        let document = place.json("r");
        let is_lost = list(&document, "promises").iter().any(|it| it["kept"] == false);
        is_lost.then_some((place, document, done))
    });
    done.code(6).says(&["ssd-sata/barrier=0 broke its promise at ", "fdatasync:1"]);
    place.assert_clean("r");
    assert_eq!(document["run"]["cuts"]["promise"]["who"], "disk");
    let of = |disk: &'static str| {
        list(&document, "promises").iter().filter(move |it| it["engine"] == disk)
    };
    assert!(of("ssd-sata").all(|it| it["kept"] == true), "{document}");
    let rules: Vec<_> = of(WITHOUT).map(|it| &it["rules"][0]).collect();
    assert!(rules.iter().any(|rule| rule["lost"]["most"].as_u64() > Some(0)), "{rules:?}");
    assert!(rules.iter().all(|rule| rule["torn"]["cuts"] == 0), "lost, not torn: {rules:?}");
    make_again(
        &place,
        &document,
        "--disk ssd-sata --factor sync=dsync --keep drop-all --cut-number 1",
        |cut| [&cut["engine"], &cut["durability"]] == ["ssd-sata", "dsync"] && cut["number"] == 1,
    );
    // At depth 4 by a ring.
    let ring = ["--disk", "null", "--cuts", "2", "--factor", "sync=all:10", "--factor", "depth=4"];
    let done = place.run(&[&FILES[..], &ring, &["--keep", "torn", "--out", "ring"]].concat());
    done.code(0).says(&["The promise of null at all:10 was not broken in 2 power cuts"]);
}

/// Latencies of the same engines, and no power cut.
const TIMED: &str = r#"
name = "timed"
workload = "point"
engine = ["sqlite", "lmdb"]
durability = ["strict"]
seconds = 0.5
repetitions = 1
"#;

fn run_timed() -> Place {
    let place = Place::new();
    place.write("timed.toml", TIMED);
    place.run(&["run", "timed.toml", "--quiet", "--out", "timed"]).code(0);
    place
}

#[test]
#[ignore = "slow: make test-slow"]
fn what_power_cuts_found_stands_beside_the_latencies_of_another_run() {
    if !can_mount() {
        return;
    }
    let place = run_timed();
    let run = ["run", "power-cut", "--engine", "sqlite,lmdb", "--durability", "strict", "--quiet"];
    let more = ["--keep", "prefix", "--repetitions", "0", "--cuts", "2", "--out", "cuts"];
    let done = place.run(&[&run[..], &more].concat()).code(0);
    done.says(&["No promise was broken in 4 power cuts (2 of each"]);
    let document = place.json("cuts");
    let applied = list(&document["run"], "applied").iter();
    let applied = applied.map(|it| [&it["engine"], &it["durability"]]).collect::<Vec<_>>();
    assert_eq!(applied, [["sqlite", "strict"], ["lmdb", "strict"]]);

    let rows = place.run(&["report", "cuts", "--format", "csv"]).code(0).out();
    assert_eq!(rows.lines().count(), 5, "a header, and a row a cut and rule: {rows}");
    let asked = place.run(&["report", "cuts", "--format", "csv", "--rows", "cuts"]).code(0).out();
    assert_eq!(asked, rows);
    place.run(&["report", "cuts", "--rows", "cuts"]).code(2).says(&["--format csv"]);

    // Markdown does not break a sentence into lines.
    let both = ["report", "timed", "--cuts", "cuts", "--format"];
    let report = |format: &str| place.run(&[&both[..], &[format]].concat()).code(0);
    report("md").says(&["No promise was broken in 4 power cuts", "| kept |", "in cuts"]);
    // As if a cut had lost something.
    let database = Connection::open(place.path("cuts/run.sqlite")).unwrap();
    let changed = database.execute(
        "UPDATE cut SET facts = json_set(facts, '$.judged[0].verdict.lost', 5), broken = 1
         WHERE engine = 'sqlite' AND number = 0",
        (),
    );
    assert_eq!(changed.unwrap(), 1);
    drop(database);
    // A report that is written has done what was asked for, whatever it says.
    let broke = "sqlite broke its promise at strict in 1 of 2 power cuts";
    report("md").says(&[broke, "promise broken", "--durability strict --keep prefix"]);
    report("html").says(&["✗ promise broken", "<p class=\"verdict broken\">sqlite broke"]);
    place.run(&["report", "cuts"]).code(0).says(&["sqlite broke its promise at strict"]);
}

#[test]
fn cuts_that_say_nothing_of_the_run_are_refused() {
    let place = run_timed();
    place.write("run.sqlite.gz", "packed");
    std::fs::create_dir(place.path("copy")).unwrap();
    for file in ["run.sqlite", "experiment.toml"] {
        std::fs::copy(place.path("timed").join(file), place.path("copy").join(file)).unwrap();
    }
    for (cuts, code, why) in [
        ("timed", 2, "timed is named twice"),
        (".", 3, "gunzip --keep ./run.sqlite.gz unpacks it"),
        ("copy", 2, "copy has no power cuts"),
    ] {
        place.run(&["report", "timed", "--cuts", cuts]).code(code).says(&[why]);
    }
}
