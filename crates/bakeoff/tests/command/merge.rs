//! Shards of a plan that become one run.

mod refusals;
mod told;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

use bakeoff_testkit::Tmpfs;
use rusqlite::Connection;
use rustix::fs::FlockOperation;
use serde_json::Value;

use super::{Done, Place, SMALL};

/// Four blocks of two trials: two numbers of clients, two repetitions.
fn place() -> Place {
    let place = Place::new();
    let toml = SMALL.replace("seconds = 0.5", "seconds = 0.5\nclients = [1, 2]");
    place.write("four.toml", &toml);
    place
}

/// Runs a shard into a folder of this name.
#[track_caller]
fn shard(place: &Place, shard: &str, out: &str, more: &[&str]) {
    let run = ["run", "four.toml", "--shard", shard, "--same-machine", "--quiet", "--out", out];
    place.run(&[&run[..], more].concat()).code(0);
}

/// The files of a folder, by their names.
type Files = Vec<(OsString, Vec<u8>)>;

/// Puts one of the plan's two halves, the first or the second, into a folder of this name. Each is run once, and
/// every test has a copy.
fn half(place: &Place, number: usize, out: &str) {
    static HALVES: [OnceLock<Files>; 2] = [OnceLock::new(), OnceLock::new()];
    let files = HALVES[number - 1].get_or_init(|| {
        let place = self::place();
        shard(&place, &format!("{number}/2"), "r", &[]);
        let entries = std::fs::read_dir(place.path("r")).unwrap().map(Result::unwrap);
        entries.map(|it| (it.file_name(), std::fs::read(it.path()).unwrap())).collect()
    });
    std::fs::create_dir(place.path(out)).unwrap();
    for (name, bytes) in files {
        std::fs::write(place.path(out).join(name), bytes).unwrap();
    }
}

#[track_caller]
fn refused(place: &Place, arguments: &[&str], said: &[&str]) -> Done {
    let done = place.run(&[&["merge"][..], arguments].concat()).code(3);
    done.says(said)
}

/// When each block's trials that count began: what tells a trial from all others.
fn began(document: &Value) -> BTreeMap<u64, Vec<String>> {
    let mut began: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for trial in document["trials"].as_array().unwrap() {
        if trial["valid"] == true {
            let block = trial["block"].as_u64().unwrap();
            began.entry(block).or_default().push(trial["started_s"].to_string());
        }
    }
    began
}

/// A copy of a run folder, in whose database something is changed.
fn changed(place: &Place, from: &str, to: &str, change: impl FnOnce(&Connection)) {
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

fn bytes(place: &Place, folder: &str) -> Vec<u8> {
    std::fs::read(place.path(folder).join("run.sqlite")).unwrap()
}

#[test]
fn two_shards_are_one_run_and_twice_is_as_once() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    let before = ["one", "two"].map(|folder| bytes(&place, folder));
    let merge = ["merge", "all", "one", "two"];
    place.run(&merge).code(0).says(&["report.html"]);
    assert_eq!(["one", "two"].map(|folder| bytes(&place, folder)), before);

    let document = place.json("all");
    let mut both = began(&place.json("one"));
    both.extend(began(&place.json("two")));
    assert_eq!(began(&document), both);
    assert_eq!(both.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let run = &document["run"];
    assert_eq!((&run["status"], &run["planned"]), (&"finished".into(), &8.into()));
    assert!(run["shard"].is_null(), "{run}");
    let members = run["merged"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!((&members[0]["shard"], &members[1]["shard"]), (&1.into(), &2.into()));
    assert!(members.iter().all(|member| member["harness_s"].as_f64().unwrap() > 0.0));
    assert!(!run["command"].as_str().unwrap().contains("--shard"));
    assert_eq!(document["comparisons"][0]["blocks"], 2);

    // In another order, and one of them twice.
    place.run(&["merge", "all", "two", "one", "two"]).code(0);
    let again = place.json("all");
    assert_eq!(again["run"]["merged"], run["merged"]);
    assert_eq!(began(&again), both);
    place.run(&["run", "--resume", "all"]).code(0).says(&["nothing is left to run"]);
}

#[test]
fn what_is_missing_is_listed_and_run_where_the_merged_run_goes_on() {
    let place = place();
    half(&place, 1, "one");
    let missing = ["shard 2 of 2 is missing", "bakeoff run --resume all"];
    place.run(&["merge", "all", "one"]).code(0).says(&missing);
    assert_eq!(place.json("all")["run"]["status"], "unfinished");
    place.run(&["run", "--resume", "all", "--quiet"]).code(0);
    let document = place.json("all");
    assert_eq!(document["run"]["status"], "finished");
    assert_eq!(began(&document).len(), 4);
    let members = document["run"]["merged"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    assert!(members[1]["shard"].is_null(), "{}", members[1]);
    assert_eq!(members[1]["blocks"].as_array().unwrap().len(), 2);

    // What was merged of a shard may be merged again; what was run in its place stays.
    place.run(&["merge", "all", "one"]).code(0);
    assert_eq!(began(&place.json("all")), began(&document));
    half(&place, 2, "two");
    refused(&place, &["all", "two"], &["was run twice", "two"]);
    assert_eq!(began(&place.json("all")), began(&document));
}

#[test]
fn a_shard_that_comes_later_is_merged_into_the_same_folder() {
    let place = place();
    half(&place, 2, "two");
    place.run(&["merge", "all", "two"]).code(0).says(&["shard 1 of 2 is missing"]);
    half(&place, 1, "one");
    place.run(&["merge", "all", "one"]).code(0);
    let document = place.json("all");
    assert_eq!(document["run"]["status"], "finished");
    assert_eq!(began(&document).len(), 4);

    // The same part once more is another one.
    shard(&place, "1/2", "again", &[]);
    refused(&place, &["all", "again"], &["again is shard 1", "other figures"]);
    refused(&place, &["new", "one", "again"], &["shard 1 is given twice", "one", "again"]);
    assert!(!place.path("new").exists());
    assert_eq!(began(&place.json("all")), began(&document));
}

/// A machine claims what is missing before its first trial: what it never began is still a shard's.
#[test]
fn a_shard_is_merged_although_a_machine_went_on_and_came_to_nothing() {
    let place = place();
    shard(&place, "1/2", "one", &[]);
    place.run(&["merge", "all", "one"]).code(0);
    // Where it notes its work folders nobody else may be.
    let notes = |mode| {
        std::fs::set_permissions(place.path("bakeoff"), Permissions::from_mode(mode)).unwrap();
    };
    notes(0o755);
    place.run(&["run", "--resume", "all", "--quiet"]).says(&["chmod 700"]);
    notes(0o700);
    let claimed = place.json("all");
    let members = &claimed["run"]["merged"]["members"];
    assert!(members[1]["shard"].is_null(), "{members}");
    assert_eq!(members[1]["blocks"].as_array().unwrap().len(), 2, "{members}");

    place.run(&["merge", "all", "one"]).code(0).says(&["shard 2 of 2 is missing"]);
    half(&place, 2, "two");
    place.run(&["merge", "all", "two"]).code(0);
    let document = place.json("all");
    let mut both = began(&place.json("one"));
    both.extend(began(&place.json("two")));
    assert_eq!(began(&document), both);
    assert_eq!(both.len(), 4);
    assert_eq!(document["run"]["status"], "finished");
    let members = document["run"]["merged"]["members"].as_array().unwrap();
    assert_eq!((members.len(), &members[1]["shard"]), (2, &2.into()));
}

#[test]
fn of_two_merges_at_once_one_writes() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    let merges = [(); 2].map(|()| place.start(&["merge", "all", "one", "two"]));
    let done = merges.map(|merge| merge.wait_with_output().unwrap());
    // Whoever came second was refused, or has merged the same once more.
    let codes = done.each_ref().map(|done| done.status.code());
    assert!(codes.contains(&Some(0)), "{done:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 3))), "{done:?}");
    for refused in done.into_iter().map(Done).filter(|it| it.0.status.code() == Some(3)) {
        refused.says(&["another bakeoff is writing to all"]);
    }
    let mut both = began(&place.json("one"));
    both.extend(began(&place.json("two")));
    assert_eq!(began(&place.json("all")), both);
    assert!(!place.path("all/run.sqlite.new").exists());
    place.run(&["merge", "all", "one", "two"]).code(0);
    assert_eq!(began(&place.json("all")), both);
}

/// Half of a shard, kept aside while the shard went on.
#[test]
fn an_older_copy_of_a_shard_is_told_from_another_one() {
    let place = place();
    half(&place, 1, "one");
    changed(&place, "one", "old", cut_short);
    place.run(&["merge", "all", "one"]).code(0);
    let before = bytes(&place, "all");
    refused(&place, &["all", "old"], &["old is an older copy of shard 1", "all has all of it"]);
    assert_eq!(bytes(&place, "all"), before);
    // In one command it is as in two, in either order; one that is given twice is no older one.
    let older = ["old is an older copy of shard 1", "one has all of it", "leave old out"];
    for both in [["old", "one"], ["one", "old"]] {
        refused(&place, &[&["new"][..], &both].concat(), &older);
        refused(&place, &[&["all"][..], &both].concat(), &older);
    }
    assert!(!place.path("new").exists());
    assert_eq!(bytes(&place, "all"), before);
    place.run(&["merge", "new", "one", "./one"]).code(0);
}

#[test]
fn a_shard_that_failed_half_way_is_merged_as_far_as_it_went() {
    let place = place();
    shard(&place, "1/2", "one", &[]);
    shard(&place, "2/2", "two", &[]);
    changed(&place, "one", "half", cut_short);
    let before = ["half", "two"].map(|folder| bytes(&place, folder));
    let done = place.run(&["merge", "all", "half", "two"]).code(0);
    let lacks = ["shard 1 lacks block", "run --resume half", "run --resume all"];
    done.says(&lacks);
    assert_eq!(["half", "two"].map(|folder| bytes(&place, folder)), before);
    assert_eq!(place.json("all")["run"]["status"], "unfinished");

    place.run(&["run", "--resume", "half", "--quiet"]).code(0);
    let done = place.run(&["merge", "all", "half"]).code(0);
    assert!(!done.err().contains("lacks") && !done.out().contains("lacks"), "{}", done.err());
    let document = place.json("all");
    assert_eq!(document["run"]["status"], "finished");
    assert_eq!(began(&document).keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// Its writer holds the lock on its folder.
#[test]
fn a_shard_that_is_still_running_is_told_from_one_that_ended_half_way() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    changed(&place, "one", "half", cut_short);
    let writer = File::open(place.path("half")).unwrap();
    rustix::fs::flock(&writer, FlockOperation::LockExclusive).unwrap();
    let done = place.run(&["merge", "all", "half", "two"]).code(0);
    let said = done.says(&["shard 1 is still running, and lacks block"]).err();
    assert!(!said.contains("--resume half"), "nobody can go on with it now: {said}");
    drop(writer);
    let done = place.run(&["merge", "all", "half", "two"]).code(0);
    let said = done.says(&["shard 1 lacks block", "bakeoff run --resume half"]).err();
    assert!(!said.contains("still running"), "{said}");
}

/// A job file has brought it back, and has removed the folder that it began in.
#[test]
fn a_shard_whose_data_lay_on_another_disk_goes_on_with_a_path_on_that() {
    let place = place();
    half(&place, 1, "one");
    changed(&place, "one", "half", |run| {
        cut_short(run);
        describe(run, |it| it["machine"]["device"] = "/dev/md7".into());
    });
    let disk = ["the disk of its data (/dev/md7, ", "bakeoff run --resume half --path DISK"];
    place.run(&["merge", "all", "half"]).code(0).says(&disk);
}

/// A folder has the name of the page.
#[test]
fn a_run_that_is_merged_without_its_page_says_how_that_is_made_elsewhere() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    place.run(&["merge", "all", "one"]).code(0);
    std::fs::remove_file(place.path("all/report.html")).unwrap();
    std::fs::create_dir(place.path("all/report.html")).unwrap();
    let again = "bakeoff report all -o page.html";
    let said = ["the run is merged in all", "all/report.html can't be written", again];
    place.run(&["merge", "all", "two"]).code(1).says(&said);
    assert_eq!(began(&place.json("all")).len(), 4);
    place.run(&["report", "all", "-o", "page.html"]).code(0);
    assert!(place.path("page.html").is_file());
}

#[test]
fn a_full_disk_leaves_nothing_of_a_merge() {
    let place = place();
    half(&place, 1, "one");
    let before = bytes(&place, "one");
    let small = place.path("small");
    let Some(disk) = Tmpfs::mount(&small, "256k") else { return };
    let _full = disk.fill();
    // The system's words begin with a capital.
    refused(&place, &["small/all", "one"], &["o space left", "the shards are as they were"]);
    assert!(!small.join("all").exists());
    assert_eq!(bytes(&place, "one"), before);
}

#[test]
fn a_full_disk_leaves_a_merged_run_as_it_was() {
    let place = place();
    shard(&place, "1/2", "one", &[]);
    shard(&place, "2/2", "two", &[]);
    let small = place.path("small");
    let Some(disk) = Tmpfs::mount(&small, "16m") else { return };
    place.run(&["merge", "small/all", "one"]).code(0);
    let before = ["one", "two", "small/all"].map(|folder| bytes(&place, folder));
    let full = disk.fill();
    let said = ["o space left", "the shards are as they were"];
    refused(&place, &["small/all", "two"], &said);
    assert_eq!(["one", "two", "small/all"].map(|folder| bytes(&place, folder)), before);
    assert!(!small.join("all/run.sqlite.new").exists());

    drop(full);
    assert_eq!(began(&place.json("small/all")), began(&place.json("one")));
    place.run(&["merge", "small/all", "two"]).code(0);
    assert_eq!(began(&place.json("small/all")).len(), 4);
}
