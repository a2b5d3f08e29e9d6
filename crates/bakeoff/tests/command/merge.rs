//! Shards of a plan that become one run, and what is no part of one plan and program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::process::Command;
use std::sync::OnceLock;

use bakeoff_testkit::Tmpfs;
use rusqlite::Connection;
use rustix::fs::FlockOperation;
use serde_json::Value;

use super::{Done, Place, SMALL};

/// A plan of four blocks of two trials, two numbers of clients and two repetitions; and its halves, each run once for
/// all tests, which have copies, in folders of these names.
fn place(halves: &[&str]) -> Place {
    let place = Place::new();
    let toml = SMALL.replace("seconds = 0.5", "seconds = 0.5\nclients = [1, 2]");
    place.write("four.toml", &toml);
    for half in halves {
        add_half(&place, half);
    }
    place
}

/// The files of a folder, by their names.
type Files = Vec<(OsString, Vec<u8>)>;

/// Puts the plan's first half, `one`, or its second, `two`, into a folder of its name.
fn add_half(place: &Place, name: &str) {
    static HALVES: [OnceLock<Files>; 2] = [OnceLock::new(), OnceLock::new()];
    let at = usize::from(name == "two");
    let files = HALVES[at].get_or_init(|| {
        let place = self::place(&[]);
        shard(&place, &format!("{}/2", at + 1), "r", &[]);
        let entries = std::fs::read_dir(place.path("r")).unwrap().map(Result::unwrap);
        entries.map(|it| (it.file_name(), std::fs::read(it.path()).unwrap())).collect()
    });
    std::fs::create_dir(place.path(name)).unwrap();
    for (file, bytes) in files {
        std::fs::write(place.path(name).join(file), bytes).unwrap();
    }
}

/// Runs a shard into a folder of this name.
#[track_caller]
fn shard(place: &Place, shard: &str, out: &str, more: &[&str]) {
    let run = ["run", "four.toml", "--shard", shard, "--same-machine", "--quiet", "--out", out];
    place.run(&[&run[..], more].concat()).code(0);
}

/// Merges folders into the first one.
#[track_caller]
fn merge(place: &Place, folders: &[&str], code: i32, said: &[&str]) -> Done {
    place.run(&[&["merge"][..], folders].concat()).code(code).says(said)
}

/// Fails unless nothing is merged of these folders, all of which stay as they were.
#[track_caller]
fn refused(place: &Place, folders: &[&str], said: &[&str]) -> Done {
    let records = || -> Vec<_> {
        let record = |it: &&str| std::fs::read(place.path(it).join("run.sqlite")).ok();
        folders.iter().map(record).collect()
    };
    let before = records();
    let done = merge(place, folders, 3, said);
    assert!(records() == before, "something was written: {folders:?}");
    assert!(!place.path(folders[0]).join("run.sqlite.new").exists());
    done
}

/// When each block's trials that count began: what tells a trial from all others.
fn began(place: &Place, folders: &[&str]) -> BTreeMap<u64, Vec<String>> {
    let mut began: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for folder in folders {
        for trial in place.json(folder)["trials"].as_array().unwrap() {
            if trial["valid"] == true {
                let block = trial["block"].as_u64().unwrap();
                began.entry(block).or_default().push(trial["started_s"].to_string());
            }
        }
    }
    began
}

/// The merged run in `all` is these halves', and has its end.
#[track_caller]
fn assert_whole(place: &Place) -> Value {
    assert_eq!(began(place, &["all"]), began(place, &["one", "two"]));
    let document = place.json("all");
    assert_eq!(document["run"]["status"], "finished");
    document
}

fn members(document: &Value) -> &[Value] {
    document["run"]["merged"]["members"].as_array().unwrap()
}

/// A copy of a run folder, in whose database something is changed.
fn change(place: &Place, from: &str, to: &str, change: impl FnOnce(&Connection)) {
    std::fs::create_dir(place.path(to)).unwrap();
    for file in ["run.sqlite", "experiment.toml"] {
        std::fs::copy(place.path(from).join(file), place.path(to).join(file)).unwrap();
    }
    change(&Connection::open(place.path(to).join("run.sqlite")).unwrap());
}

/// As if the machine had gone down in the last trial.
pub fn cut_short(run: &Connection) {
    let last = "id = (SELECT max(id) FROM trial)";
    run.execute_batch(&format!("PRAGMA foreign_keys = OFF; DELETE FROM trial WHERE {last}"))
        .unwrap();
    for of_trials in ["operation", "slot", "owed", "payment"] {
        let orphans = "trial NOT IN (SELECT id FROM trial)";
        run.execute(&format!("DELETE FROM {of_trials} WHERE {orphans}"), []).unwrap();
    }
    run.execute("UPDATE run SET status = 'unfinished', ended_s = NULL", []).unwrap();
}

/// Has the record say something else of the run.
pub fn describe(run: &Connection, change: impl FnOnce(&mut Value)) {
    let text = run.query_row("SELECT description FROM run", [], |row| row.get::<_, String>(0));
    let mut description: Value = serde_json::from_str(&text.unwrap()).unwrap();
    change(&mut description);
    run.execute("UPDATE run SET description = ?1", [description.to_string()]).unwrap();
}

/// Has all of it begun so many seconds later.
fn shift(run: &Connection, by_s: f64) {
    let later = "UPDATE trial SET started_s = started_s + ?1";
    run.execute(later, [by_s]).unwrap();
    run.execute("UPDATE run SET ended_s = ended_s + ?1", [by_s]).unwrap();
    describe(run, |it| it["started_s"] = (it["started_s"].as_f64().unwrap() + by_s).into());
}

#[test]
fn two_shards_are_one_run_and_twice_is_as_once() {
    let place = place(&["one", "two"]);
    merge(&place, &["all", "one", "two"], 0, &["report.html"]);
    let document = assert_whole(&place);
    let run = &document["run"];
    assert_eq!((&run["planned"], &run["shard"]), (&8.into(), &Value::Null));
    let numbers: Vec<_> = members(&document).iter().map(|it| &it["shard"]).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(members(&document).iter().all(|it| it["harness_s"].as_f64() > Some(0.0)));
    assert!(!run["command"].as_str().unwrap().contains("--shard"));
    assert_eq!(document["comparisons"][0]["blocks"], 2);
    // In another order, and one of them twice.
    merge(&place, &["all", "two", "one", "./two"], 0, &[]);
    assert_eq!(assert_whole(&place)["run"]["merged"], run["merged"]);
    place.run(&["run", "--resume", "all"]).code(0).says(&["nothing is left to run"]);
}

#[test]
fn a_shard_that_comes_later_is_merged_into_the_same_folder() {
    let place = place(&["two"]);
    merge(&place, &["all", "two"], 0, &["shard 1 of 2 is missing"]);
    add_half(&place, "one");
    // A folder has the name of the page: that is all that is missing.
    std::fs::remove_file(place.path("all/report.html")).unwrap();
    std::fs::create_dir(place.path("all/report.html")).unwrap();
    merge(
        &place,
        &["all", "one"],
        1,
        &["the run is merged in all", "bakeoff report all -o page.html"],
    );
    std::fs::remove_dir(place.path("all/report.html")).unwrap();
    assert_whole(&place);
    // The same part once more is another one.
    change(&place, "one", "again", |run| shift(run, 1.0));
    refused(&place, &["all", "again"], &["again is shard 1", "other figures"]);
    refused(&place, &["new", "one", "again"], &["shard 1 is given twice", "one", "again"]);
    // An older copy is told from another one; in one command as in two, in either order.
    change(&place, "one", "old", cut_short);
    refused(&place, &["all", "old"], &["old is an older copy of shard 1", "all has all of it"]);
    for both in [["old", "one"], ["one", "old"]] {
        let older = ["old is an older copy of shard 1", "leave old out"];
        refused(&place, &["new", both[0], both[1]], &older);
    }
    assert!(!place.path("new").exists());
}

#[test]
fn what_is_missing_is_run_where_the_merged_run_goes_on() {
    let place = place(&["one"]);
    let missing = ["shard 2 of 2 is missing", "bakeoff run --resume all"];
    merge(&place, &["all", "one"], 0, &missing);
    assert_eq!(place.json("all")["run"]["status"], "unfinished");
    place.run(&["run", "--resume", "all", "--quiet"]).code(0);
    let document = place.json("all");
    assert_eq!(
        (&document["run"]["status"], document["trials"].as_array().unwrap().len()),
        (&"finished".into(), 8)
    );
    let [_, here] = members(&document) else { panic!("two parts: {document}") };
    assert_eq!((&here["shard"], here["blocks"].as_array().unwrap().len()), (&Value::Null, 2));
    // What was merged of a shard may be merged again; what was run in its place stays.
    let all = began(&place, &["all"]);
    merge(&place, &["all", "one"], 0, &[]);
    assert_eq!(began(&place, &["all"]), all);
    add_half(&place, "two");
    refused(&place, &["all", "two"], &["was run twice", "two"]);
}

/// A machine claims what is missing before its first trial: what it never began is still a shard's.
#[test]
fn a_shard_is_merged_although_a_machine_went_on_and_came_to_nothing() {
    let place = place(&["one", "two"]);
    merge(&place, &["all", "one"], 0, &[]);
    // Where it notes its work folders nobody else may be.
    DirBuilder::new().mode(0o755).create(place.path("bakeoff")).unwrap();
    std::fs::set_permissions(place.path("bakeoff"), Permissions::from_mode(0o755)).unwrap();
    place.run(&["run", "--resume", "all", "--quiet"]).says(&["chmod 700"]);
    let claimed = place.json("all");
    let [_, here] = members(&claimed) else { panic!("two parts: {claimed}") };
    assert_eq!((&here["shard"], here["blocks"].as_array().unwrap().len()), (&Value::Null, 2));
    merge(&place, &["all", "one"], 0, &["shard 2 of 2 is missing"]);
    merge(&place, &["all", "two"], 0, &[]);
    let numbers = assert_whole(&place);
    assert_eq!(members(&numbers).iter().map(|it| &it["shard"]).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn of_two_merges_at_once_one_writes() {
    let place = place(&["one", "two"]);
    let merges = [(); 2].map(|()| place.start(&["merge", "all", "one", "two"]));
    let done = merges.map(|merge| Done(merge.wait_with_output().unwrap()));
    // Whoever came second was refused, or has merged the same once more.
    let codes = done.each_ref().map(|done| done.0.status.code());
    assert!(codes.contains(&Some(0)) && codes.iter().all(|it| matches!(it, Some(0 | 3))));
    for refused in done.into_iter().filter(|it| it.0.status.code() == Some(3)) {
        refused.says(&["another bakeoff is writing to all"]);
    }
    assert_whole(&place);
    assert!(!place.path("all/run.sqlite.new").exists());
}

#[test]
fn a_shard_that_failed_half_way_is_merged_as_far_as_it_went() {
    let place = place(&["one", "two"]);
    change(&place, "one", "half", cut_short);
    // Its writer holds the lock on its folder.
    let writer = File::open(place.path("half")).unwrap();
    rustix::fs::flock(&writer, FlockOperation::LockExclusive).unwrap();
    let running = ["shard 1 is still running, and lacks block", "run --resume all"];
    let said = merge(&place, &["all", "half", "two"], 0, &running).err();
    assert!(!said.contains("--resume half"), "nobody can go on with it now: {said}");
    drop(writer);
    let lacks = ["shard 1 lacks block", "bakeoff run --resume half"];
    let said = merge(&place, &["all", "half", "two"], 0, &lacks).err();
    assert!(!said.contains("still running"), "{said}");
    assert_eq!(place.json("all")["run"]["status"], "unfinished");
    // A job file has brought one back, and has removed the folder that it began in.
    change(&place, "half", "moved", |run| {
        describe(run, |it| it["machine"]["device"] = "/dev/md7".into());
    });
    let disk = ["the disk of its data (/dev/md7, ", "bakeoff run --resume moved --path DISK"];
    merge(&place, &["other", "moved"], 0, &disk);

    place.run(&["run", "--resume", "half", "--quiet"]).code(0);
    let done = merge(&place, &["all", "half"], 0, &[]);
    assert!(!format!("{}{}", done.out(), done.err()).contains("lacks"), "{}", done.err());
    assert_eq!(began(&place, &["all"]), began(&place, &["half", "two"]));
    assert_eq!(place.json("all")["run"]["status"], "finished");
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let place = place(&["one", "two"]);
    let small = place.path("small");
    let Some(disk) = Tmpfs::mount(&small, "16m") else { return };
    merge(&place, &["small/all", "one"], 0, &[]);
    let full = disk.fill();
    // The system's words begin with a capital.
    let said = ["o space left", "the shards are as they were"];
    refused(&place, &["small/all", "two"], &said);
    refused(&place, &["small/new", "one"], &said);
    assert!(!small.join("new").exists());
    drop(full);
    assert_eq!(began(&place, &["small/all"]), began(&place, &["one"]));
    merge(&place, &["small/all", "two"], 0, &[]);
    assert_eq!(began(&place, &["small/all"]).len(), 4);
}

/// What one record says of itself, and what a refusal names of it.
#[test]
fn a_shard_of_another_bakeoff_engine_or_plan_is_refused_by_what_differs() {
    let place = place(&["one", "two"]);
    let differ = |name: &str, what: fn(&mut Value)| {
        change(&place, "two", name, |run| describe(run, what));
    };
    differ("version", |it| it["version"] = "0.0.9 (another)".into());
    differ("build", |it| it["debug_build"] = (it["debug_build"] != true).into());
    differ("engine", |it| it["engines"][0]["version"] = "0.0".into());
    differ("program", |it| it["shard"]["program_sha256"] = "0123abcd".into());
    differ("plan", |it| it["shard"]["plan"] = "0123456789abcdef".into());
    differ("count", |it| it["shard"]["count"] = 4.into());
    for (other, said) in [
        ("version", ["bakeoff is", "0.0.9 (another) in version"]),
        ("build", ["bakeoff's build is", "a debug build"]),
        ("program", ["the SHA-256 of bakeoff's program is", "0123abcd in program"]),
        ("engine", [" is ", "0.0 in engine"]),
        ("plan", ["the plan is", "0123456789abcdef in plan"]),
        ("count", ["the number of shards is 2 in one", "4 in count"]),
    ] {
        refused(&place, &["all", "one", other], &said);
    }
    // All of several, each with what it is there.
    let said = ["0.0.9 (another) in version\n", "0123abcd in program\n", "0.0 in engine\n"];
    let done = refused(&place, &["all", "one", "version", "program", "engine"], &said);
    let lines = done.err().lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(lines, 3, "{}", done.err());
    assert!(!place.path("all").exists());
    // Nor is it added to a run that is merged already.
    merge(&place, &["all", "one"], 0, &[]);
    refused(&place, &["all", "version"], &["bakeoff is", "0.0.9 (another) in version"]);
    refused(&place, &["all", "program"], &["the SHA-256", "0123abcd in program"]);
}

#[test]
fn a_block_that_two_shards_claim_or_no_plan_has_is_told_with_its_shards() {
    let place = place(&["one", "two"]);
    let claim = |name: &str, block: Value| {
        change(&place, "two", name, |run| {
            describe(run, |it| it["shard"]["blocks"].as_array_mut().unwrap().push(block));
        });
    };
    let of_one = place.json("one")["run"]["shard"]["blocks"][0].clone();
    claim("twice", of_one);
    claim("beyond", serde_json::json!([u32::MAX, 2]));
    refused(&place, &["all", "one", "twice"], &["shard 1 in one and shard 2 in twice both claim"]);
    refused(&place, &["all", "one", "beyond"], &["shard 2 in beyond claims block 4294967295"]);
    // Twice by one shard.
    let own = place.json("two")["run"]["shard"]["blocks"][0].clone();
    claim("again", own);
    refused(&place, &["all", "again"], &["both claim block"]);
    assert!(!place.path("all").exists());
}

/// The same bakeoff by its version, and another file.
#[test]
fn another_program_file_does_not_go_on_with_a_shard() {
    let place = place(&["one"]);
    // Written by another process: one that this one starts meanwhile would hold the file open for writing.
    let copy = "cp -- \"$0\" other && printf x >>other && exec ./other run --resume one";
    let mut shell = Command::new("sh");
    shell.args(["-c", copy, env!("CARGO_BIN_EXE_bakeoff")]).current_dir(place.path(""));
    let done = Done(shell.env("XDG_RUNTIME_DIR", place.path("")).output().unwrap());
    let own = place.json("one")["run"]["shard"]["program_sha256"].clone();
    done.code(3).says(&["the SHA-256", own.as_str().unwrap()]);
}

#[test]
fn what_is_not_of_one_plan_is_refused_with_what_differs() {
    let place = place(&["one"]);
    // One refusal says all that differs: whoever mends the first thing alone would be refused again.
    shard(&place, "2/4", "many", &["--seed", "77", "--seconds", "0.6"]);
    let values = ["77 in many\n", "0.6 in many\n", "is 2 in one, 4 in many\n"];
    let done = refused(&place, &["all", "one", "many"], &values).err();
    let told = done.lines().filter(|line| line.contains(" in one, "));
    let told: BTreeSet<&str> = told.map(|line| line.trim().split(" is ").next().unwrap()).collect();
    let differ = ["`seconds`", "`seed`", "the number of shards", "the plan", "the text"];
    assert_eq!(told, BTreeSet::from(differ), "{done}");

    place.run(&["run", "four.toml", "--quiet", "--out", "whole"]).code(0);
    for folder in ["empty", "mine"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    place.write("mine/thesis", "years");
    place.write("file", "a shard of wood");
    for (folders, why) in [
        (["all", "one", "whole"], "whole is no shard"),
        (["all", "one", "empty"], "empty is not a run folder"),
        (["all", "one", "nowhere"], "it does not exist"),
        (["all", "one", "file"], "file is not a run folder"),
        // What is there already is not written over.
        (["file", "one", "one"], "file is a file, and no run folder"),
        (["whole", "one", "one"], "no merged run"),
        (["mine", "one", "one"], "no merged run"),
    ] {
        let done = refused(&place, &folders, &[why]);
        assert!(!done.err().contains("--resume"), "{}", done.err());
    }
    assert!(!place.path("all").exists());
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"a shard of wood");
    assert_eq!(std::fs::read_dir(place.path("mine")).unwrap().count(), 1);
}

/// Whoever reads the file would take the figures for those of another experiment.
#[test]
fn a_folder_whose_experiment_was_edited_is_refused_by_what_differs() {
    let place = place(&["one", "two"]);
    let toml = std::fs::read_to_string(place.path("two/experiment.toml")).unwrap();
    let edited = toml.replace("seconds = 0.5", "seconds = 0.6");
    let differs = "was `seconds = 0.5` and is `seconds = 0.6`";
    place.write("two/experiment.toml", &edited);
    refused(&place, &["all", "one", "two"], &["two/experiment.toml was edited", differs]);
    assert!(!place.path("all").exists());
    merge(&place, &["all", "one"], 0, &[]);
    // Nor is anything merged into a folder whose own was edited.
    place.write("two/experiment.toml", &toml);
    place.write("all/experiment.toml", &edited);
    refused(&place, &["all", "two"], &["all/experiment.toml was edited", differs]);
    place.write("all/experiment.toml", &toml);
    // Without the file nothing contradicts the record.
    std::fs::remove_file(place.path("two/experiment.toml")).unwrap();
    merge(&place, &["all", "two"], 0, &[]);
    assert_eq!(place.json("all")["run"]["status"], "finished");
}

/// The texts of a document's warnings of this code.
fn warning(document: &Value, code: &str) -> String {
    let warnings = document["warnings"].as_array().unwrap().iter();
    warnings.filter(|it| it["code"] == code).filter_map(|it| it["text"].as_str()).collect()
}

/// A machine whose clock is months ahead, and one whose clock was set back while it ran.
#[test]
fn times_that_can_not_be_are_told_and_change_no_ratio() {
    let place = place(&["one", "two"]);
    change(&place, "two", "ahead", |run| shift(run, 1e7));
    change(&place, "two", "back", |run| {
        run.execute("UPDATE run SET ended_s = ended_s - 1e7", []).unwrap();
    });
    let mut ratios = None;
    for (other, said) in
        [("two", ""), ("ahead", "116 days after it was merged"), ("back", "before its own start")]
    {
        merge(&place, &[&format!("all-{other}"), "one", other], 0, &[]);
        let document = place.json(&format!("all-{other}"));
        let told = warning(&document, "clocks-differ");
        assert!(told.contains(said) && told.is_empty() == said.is_empty(), "{told}");
        let comparisons = document["comparisons"].clone();
        assert_eq!(ratios.get_or_insert(comparisons.clone()), &comparisons);
    }
}

/// In memory, and then on the shards' own disk again: a part for each.
#[test]
fn a_merged_run_that_goes_on_on_another_disk_says_so() {
    let place = place(&["one"]);
    let memory = place.path("memory");
    let Some(_disk) = Tmpfs::mount(&memory, "400m") else { return };
    merge(&place, &["all", "one"], 0, &[]);
    let told = |folder: &str| {
        let document = place.json(folder);
        let disks = members(&document).iter().map(|it| it["machine"]["file_system"].to_string());
        (warning(&document, "disks-differ"), disks.collect::<Vec<_>>())
    };
    let (said, disks) = told("all");
    assert_eq!((&*said, disks.len()), ("", 1));
    let (own, memory) = (&*disks[0], "\"tmpfs\"");
    place.run(&["run", "--resume", "all", "--quiet", "--path", "memory"]).code(0);
    let (said, disks) = told("all");
    assert!(said.contains("4 of 8 trials stand on another disk"), "{said}");
    assert_eq!(disks, [own, memory]);
    place.run(&["report", "all", "--format", "md"]).code(0).says(&["tmpfs (2 blocks)"]);

    change(&place, "all", "again", cut_short);
    place.run(&["run", "--resume", "again", "--quiet"]).code(0);
    let (said, disks) = told("again");
    assert!(said.contains("2 of 8 trials stand on another disk"), "{said}");
    assert_eq!(disks, [own, memory, own]);
}
