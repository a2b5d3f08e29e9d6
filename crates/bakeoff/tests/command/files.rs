//! The workload `fileio`, a folder in the place of an engine; and where the data of a run lie: below a path, in memory,
//! in the page cache.

use std::path::Path;

use bakeoff_results::measure::{COMMITS, CONCURRENCY, DEVICE_LIMIT, PAYLOAD, RETURNED, SYNCS};
use bakeoff_results::{Measure, Measures, Scope};
use bakeoff_testkit::{NOBODY, Tmpfs, comes_while, in_time, needs_root};
use serde_json::Value;

use super::disk::Disks;
use super::on_disks::can_mount;
use super::{Done, Place, SMALL, measured};

/// A trial that is as short as can be, into the folder `r`.
const SHORT: [&str; 6] = ["--seconds", "0.5", "--repetitions", "1", "--out", "r"];

/// A run of files by these words: flags, and levels of factors.
fn fileio<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_level = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|it| it.is_ascii_lowercase()))
    };
    let flag = |word: &&'a str| if is_level(word) { vec!["--factor", *word] } else { vec![*word] };
    ["run", "fileio"].into_iter().chain(words.iter().flat_map(flag)).collect()
}

/// The trials of a short run, none of which has failed.
fn run(place: &Place, words: &[&str]) -> Value {
    place.run(&[&fileio(words)[..], &SHORT].concat()).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| trial["valid"] == true), "{document}");
    document
}

fn trials_of(document: &Value) -> &[Value] {
    document["trials"].as_array().unwrap()
}

/// Codes of a report's warnings.
fn warnings(document: &Value) -> Vec<&str> {
    let warnings = document["warnings"].as_array().expect("a list");
    warnings.iter().map(|warning| warning["code"].as_str().expect("a code")).collect()
}

fn of_clients(measures: &Measures, measure: &'static Measure) -> f64 {
    measures.get(measure, &Scope::Clients).unwrap()
}

/// Both disks where virtual ones can be had, and else the machine's own.
fn disks() -> &'static str {
    if can_mount() { "host,null" } else { "host" }
}

#[test]
fn a_disk_is_read_and_written_without_an_engine_at_any_depth() {
    let place = Place::new();
    let words = ["--disk", disks(), "pattern=randread,randrw:70", "--clients", "2", "files=3"];
    let levels = ["depth=1,8", "sync=fdatasync:1", "block=16k"];
    let document = run(&place, &[&words[..], &levels].concat());
    let trials = trials_of(&document);
    assert_eq!(trials.len(), 4 * disks().split(',').count());
    for trial in trials {
        let (levels, measures) = (&trial["levels"], measured(trial));
        let depth: f64 = levels["depth"].as_str().unwrap().parse().unwrap();
        assert_eq!(of_clients(&measures, &CONCURRENCY), 2.0 * depth, "{trial}");
        assert!(levels["engine"].is_null() && levels["block"] == "16K");
        let [read, write] = ["read", "write"].map(|name| {
            let mut operations = trial["operations"].as_array().unwrap().iter();
            operations.find(|it| it["name"] == name)
        });
        assert!(
            read.unwrap()["count"].as_u64() > Some(0) && of_clients(&measures, &RETURNED) > 0.0
        );
        let Some(write) = write else { continue };
        // What is synced is durable, by the disk's own count, too.
        let commits = of_clients(&measures, &COMMITS);
        assert!(commits >= write["count"].as_f64().unwrap() && commits > 0.0, "{trial}");
        assert_eq!(commits * 16_384.0, of_clients(&measures, &PAYLOAD), "{trial}");
        let syncs = measures.get(&SYNCS, &Scope::Disk);
        assert!(syncs.is_none_or(|syncs| syncs >= commits), "{trial}");
    }
    assert!(!warnings(&document).contains(&"check-failed"), "{document}");
}

#[test]
fn what_files_can_not_have_is_refused_and_the_rest_is_run() {
    let place = Place::new();
    let endless = ["--disk", "host", "depth=1024", "block=1M", "--clients", "2"];
    let large = ["--disk", "ebs-gp2:7G", "size=8G", "--repetitions", "0", "--cuts", "3"];
    for (words, code, why) in [
        (&["--engine", "sqlite"][..], 2, "disk, neighbours, clients"),
        (&["dept=4"], 2, "did you mean `depth`?"),
        (&["block=5K"], 2, "a multiple of 4K"),
        (&["--scale", "small"], 2, "`scale`"),
        (&["--clients", "0"], 2, "--clients"),
        (&["--disk", "null,null/data=writeback", "data=journal"], 2, "not a level of `data`"),
        // A plan of trials alone would pass over what was asked for.
        (&["--disk", "null", "--repetitions", "1", "--cuts", "every"], 2, "has no engine"),
        // What trials are refused for, power cuts are, too.
        (&large, 2, "the files take 8589 MB, and the disk holds 7516 MB"),
        (&endless, 2, "at most 1073 MB"),
        (&["--disk", "host", "depth=4", "calls=plain"], 2, "one request in flight"),
        (&["--disk", "host", "offsets=once", "pattern=seqread"], 2, "no random order"),
        (&["--disk", "host", "files=1024", "size=1M"], 2, "each file would have 0 bytes"),
        (&["--disk", "host", "--state", "steady"], 2, "no deferred work"),
        (&["--disk", "host", "size=64T"], 4, "is too full"),
    ] {
        place.run(&[&fileio(words)[..], &["--out", "r"]].concat()).code(code).says(&[why]);
        assert!(!place.path("r").exists(), "{words:?}: nothing was begun");
    }
    let some = ["--disk", "host", "depth=1,1024", "block=1M", "--clients", "2"];
    let text = "not run: block 1M × clients 2 × depth 1024 (1 trial): they would take 2147 MB";
    let plan = [&fileio(&some)[..], &SHORT[..4], &["--dry-run"]].concat();
    place.run(&plan).code(0).says(&["1 trial in 1 block", text]);
    assert_eq!(trials_of(&run(&place, &some)).len(), 1);
}

#[test]
fn ranges_patterns_and_arrays_are_planned_whole() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"fileio\"\ncompare = \"clients\"\nclients = \"1..6\"\n");
    let range = ["run", "mine.toml", "--repetitions", "1", "--dry-run"];
    place.run(&range).code(0).says(&["4 trials in 1 block"]);
    let arrays = "ebs-magnetic,raid10:4×ebs-magnetic,raid10:8×ebs-magnetic";
    let far = "raid10:4×hdd-7200,raid10:4×hdd-7200/layout=far";
    let health = ["--disk", far, "array=healthy,degraded,rebuilding", "--compare", "array"];
    // A log whose every commit is synced, beside pages that others use; and a compaction's large blocks.
    for (shape, plan) in
        [("fileio-database", "sync fdatasync:1"), ("fileio-compaction", "block 1M")]
    {
        place.run(&["run", shape, "--dry-run"]).code(0).says(&[plan]);
    }
    let patterns = ["--disk", arrays, "--clients", "1,2,4,8,16", "--compare", "disk"];
    for (words, plan) in [
        (
            &["--disk", "host", "--clients", "1..8", "--repetitions", "1"][..],
            "4 trials in 4 blocks",
        ),
        (&[&patterns[..], &["pattern=randread,randwrite,randrw:70"]].concat(), "75 blocks"),
        (&health, "30 trials in 10 blocks"),
        // `data` of a file is what it holds, and of a file system which data it orders.
        (&["--disk", "null,null/data=writeback", "data=zeros"], "null/data=writeback"),
    ] {
        let words = [words, &["depth=1", "--dry-run"]].concat();
        place.run(&fileio(&words)).code(0).says(&[plan]);
    }
}

/// By the kernel's account or the virtual disk's, whatever was asked for.
#[test]
fn what_the_page_cache_answers_is_told() {
    let judge = |words: &[&str], share: &str, is_cached: bool| {
        // The machine may take pages back at any time, and has much written at once where it is full of such pages.
        in_time("the page cache", |_| {
            let place = Place::new();
            let document = run(&place, words);
            let share = document["cells"][0][share].as_f64();
            let is_found = share.is_some_and(|share| share < 0.5);
            let all = warnings(&document);
            assert_eq!(all.contains(&"from-cache"), is_found, "{words:?}: {share:?}, {all:?}");
            assert_eq!(all.contains(&"cache-not-known"), share.is_none(), "{words:?}: {all:?}");
            assert!(is_cached || !is_found, "{words:?}: {share:?}");
            // Without a block device under the files nobody counts.
            (is_found == is_cached || share.is_none()).then_some(())
        });
    };
    let place = Place::new();
    for (access, is_cached) in [("access=buffered", true), ("access=direct", false)] {
        let words = ["--disk", "host", "size=16M", access];
        let plan = place.run(&[&fileio(&words)[..], &["--dry-run"]].concat()).code(0).out();
        assert_eq!(plan.contains("all of them fit"), is_cached, "{plan}");
        judge(&words, "from_disk", is_cached);
    }
    if can_mount() {
        // What is never synced stays in memory for longer than this run.
        let writes =
            ["--disk", "hdd-7200", "pattern=randwrite", "size=1M", "access=buffered", "depth=1"];
        for (sync, is_cached) in [("sync=never", true), ("sync=fdatasync:1", false)] {
            judge(&[&writes[..], &[sync]].concat(), "to_disk", is_cached);
        }
        // An empty cache sends the first reads of each block to the disk, a full one none.
        let reads = ["--disk", "hdd-7200", "size=16M", "access=buffered", "depth=1", "--state"];
        for (state, is_cached) in [("cold", false), ("warm", true)] {
            judge(&[&reads[..], &[state]].concat(), "from_disk", is_cached);
        }
    }
}

/// The kernel counts no reads of a block device for those who read files that another process serves.
#[test]
fn reads_of_a_file_system_without_a_block_device_are_not_judged() {
    let Some(disks) = Disks::new() else { return };
    disks.mount("null");
    let words = fileio(&["--path", "m", "size=1M", "depth=1"]);
    disks.0.run(&[&words[..], &SHORT].concat()).code(0);
    let document = disks.0.json("r");
    let all = warnings(&document);
    assert!(all.contains(&"cache-not-known") && !all.contains(&"from-cache"), "{all:?}");
    disks.unmount();
}

/// By the model alone, in its own time, so that no busy machine changes it.
#[test]
fn a_modelled_disk_has_its_limit_beside_what_was_measured() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let document =
        run(&place, &["--disk", "hdd-7200", "--clients", "1,4,16", "depth=1", "size=16M"]);
    place.run(&["report", "r", "--format", "md"]).code(0).says(&["hdd-7200, the device alone"]);
    let points = &document["sweep"]["panels"][0]["series"][0]["points"];
    let limits = [0, 1, 2].map(|at| points[at]["limit"].as_f64().expect("a limit"));
    assert!(limits.is_sorted() && limits[0] > 50.0 && limits[2] < 250.0, "{limits:?}");
    for trial in trials_of(&document) {
        assert!(measured(trial).get(&DEVICE_LIMIT, &Scope::Disk).is_some(), "{trial}");
    }
}

#[test]
fn a_job_file_of_fio_is_run_as_far_as_its_keys_are_known() {
    let place = Place::new();
    let job = "[pages]\ndirect=1\nruntime=1\nrw=randrw\nbs=16k\nsize=2m\nnumjobs=2\n";
    place.write("database.fio", job);
    let run = ["run", "database.fio", "--repetitions", "1", "--out", "r"];
    place.run(&run).code(0).says(&["read", "write"]);
    let levels = &place.json("r")["trials"][0]["levels"];
    let levels = ["pattern", "size", "files", "block", "clients"].map(|it| levels[it].clone());
    assert_eq!(levels, ["randrw:50", "4M", "2", "16K", "2"]);
    // A run folder has the experiment, and needs the job no more.
    std::fs::remove_file(place.path("database.fio")).unwrap();
    place.run(&["run", "--resume", "r"]).code(0);
    place.write("database.fio", &format!("{job}verify=crc32c\n"));
    place.run(&run[..2]).code(2).says(&["database.fio:8:1: `verify` is not a key"]);
    place.run(&["run", "nothing.fio"]).code(2).says(&["can't read `nothing.fio`"]);
    // Files of every kind that are no text are known.
    let utf16: Vec<u8> = job.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for name in ["odd.fio", "odd.toml", "odd.sql"] {
        std::fs::write(place.path(name), &utf16).unwrap();
        let run = ["run", name, "--engine", "sqlite", "--dry-run"];
        let run = if name == "odd.fio" { &run[..2] } else { &run };
        place
            .run(run)
            .code(2)
            .says(&["is text in UTF-16LE; convert it: `iconv -f UTF-16LE -t UTF-8`"]);
    }
}

/// The kernel's error is told, and the other trials go on.
#[test]
fn a_disk_that_fails_half_way_is_told_with_the_kernels_error() {
    if !can_mount() {
        return;
    }
    let errors = |trial: &Value| trial["operations"][0]["errors"].as_u64().unwrap();
    // The fault of a disk of which no more is read strikes nobody.
    let document = in_time("the reading", |_| {
        let document = run_on_a_disk_that_fails();
        (trials_of(&document).iter().map(errors).sum::<u64>() > 0).then_some(document)
    });
    // The trial may be one of a block that was run again.
    let trials = trials_of(&document);
    assert_eq!(trials.iter().map(errors).sum::<u64>(), 1, "the disk fails once");
    let failed = trials.iter().find(|trial| errors(trial) == 1).unwrap();
    let told = failed["warnings"].to_string();
    assert!(told.contains("1 read operation failed: Input/output error"), "{told}");
    assert!(trials.len() >= 2, "the run went on: {document}");
    let count = |trial: &Value| trial["operations"][0]["count"].as_u64();
    assert!(trials.iter().all(|trial| count(trial) > Some(0)), "nothing else is lost: {document}");
}

/// A run of two trials, during which its disk is told to fail once: what became of it.
fn run_on_a_disk_that_fails() -> Value {
    let place = Place::new();
    // Long for whoever waits for a processor; the second trial is there to go on.
    let words = ["--disk", "null", "depth=1", "--state", "cold", "--seconds", "8", "--repetitions"];
    let mut child = place.start(&[&fileio(&words)[..], &["2", "--out", "r"]].concat());
    let mount = place.path("r/work/mount");
    // Its daemon is there a little later than the mount, and not between two trials.
    let fault = ["disk", "fault", mount.to_str().unwrap(), "read:20:EIO:*"];
    let fails = || {
        super::on_disks::mounts_below(&mount)
            && place.command(&fault).output().unwrap().status.success()
    };
    comes_while(&mut child, "the disk's fault", fails);
    child.wait_with_output().unwrap();
    place.whole_json("r")
}

/// `--path` has the data on another disk than the results, and takes them away again.
#[test]
fn files_lie_below_a_path_while_a_run_goes_on_and_not_after_it() {
    let names = |array: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(array).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let (place, said) = in_time("the run", |_| {
        let place = Place::new();
        let array = place.path("array");
        std::fs::create_dir(&array).unwrap();
        std::fs::write(array.join("thesis"), "years").unwrap();
        // The preset's disks are models; a path is the machine's own.
        let words = ["--path", array.to_str().unwrap(), "depth=1", "size=16M"];
        let mut child = place.start(&[&fileio(&words)[..], &SHORT].concat());
        let there = || names(&array).iter().any(|name| name.starts_with("bakeoff-work-"));
        let seen = comes_while(&mut child, "the files", there);
        assert!(!place.path("r/work").exists(), "no data lie in the run folder");
        let done = Done(child.wait_with_output().unwrap()).code(0);
        seen.then_some((place, done.err()))
    });
    let array = place.path("array");
    assert!(said.contains(&format!("the data lie below {} (", array.display())), "{said}");
    assert_eq!(names(&array), ["thesis"]);
    place.assert_clean("r");
    assert_eq!(place.json("r")["trials"][0]["levels"]["disk"], "host");
}

#[test]
fn a_path_that_is_none_or_is_not_ones_own_is_refused_before_anything_is_written() {
    let place = Place::new();
    place.write("file", "x");
    std::fs::create_dir(place.path("array")).unwrap();
    let run = |path: &str, more: &[&str]| {
        place.run(&[&fileio(&["--path", path, "--out", "r"])[..], more].concat())
    };
    run("nowhere", &[]).code(2).says(&["--path nowhere", "name a folder"]);
    run("file", &[]).code(2).says(&["--path file is no folder"]);
    run("array", &["--factor", "size=64T"]).code(4).says(&["is too full", "MB needed"]);
    if needs_root("own a folder that is another's") {
        std::os::unix::fs::chown(place.path("array"), Some(NOBODY), Some(NOBODY)).unwrap();
        run("array", &[]).code(3).says(&["belongs to", "take another folder"]);
    }
    assert!(!place.path("r").exists(), "nothing was begun");
    assert_eq!(std::fs::read_dir(place.path("array")).unwrap().count(), 0);
    // The results need room, too, wherever the data lie.
    let small = place.path("small");
    let Some(_mounted) = Tmpfs::mount(&small, "1m") else { return };
    std::fs::create_dir(place.path("own")).unwrap();
    let plan = |out| {
        let words = ["--path", "own", "size=1M", "--repetitions", "1", "--dry-run", "--out", out];
        place.run(&fileio(&words))
    };
    plan("small/r").code(4).says(&["the disk under small is too full"]);
    assert!(!plan("r").code(0).err().contains("is too full"));
}

/// A file system in memory is no disk, whichever way requests go; nor does a commit outlive a power cut there, but
/// on a virtual disk, which says by itself what is durable.
#[test]
fn what_lies_in_memory_measures_no_disk_and_keeps_no_commit() {
    const SAID: &str = "no commit outlives a power cut there";
    let place = Place::new();
    place.write("small.toml", SMALL);
    let memory = place.path("memory");
    let Some(_mounted) = Tmpfs::mount(&memory, "400m") else { return };
    for access in ["access=direct", "access=buffered"] {
        let words = fileio(&["--path", "memory", "size=1M", access]);
        for more in [&["--dry-run"][..], &SHORT] {
            place.run(&[&words[..], more].concat()).code(2).says(&["in memory", "another one"]);
        }
        assert!(!place.path("r").exists(), "nothing was begun");
    }
    assert_eq!(std::fs::read_dir(&memory).unwrap().count(), 0, "nothing is left there");

    let mut cases = vec![
        (&["--path", "memory", "--out", "strict"][..], "strict", true),
        (&["--path", "memory", "--durability", "none", "--out", "none"], "none", false),
    ];
    if can_mount() {
        cases.push((&["--disk", "null", "--out", "memory/r"], "memory/r", false));
    }
    for (flags, out, is_told) in cases {
        let run = [&["run", "small.toml", "--repetitions", "1"][..], flags].concat();
        for more in [&["--dry-run"][..], &[]] {
            let done = place.run(&[&run[..], more].concat()).code(0);
            let said = format!("{}{}", done.out(), done.err());
            assert_eq!(said.contains(SAID), is_told, "{out}: {said}");
        }
        let document = place.json(out);
        assert_eq!(warnings(&document).contains(&"data-in-memory"), is_told, "{out}: {document}");
        let reasons = document["answer"]["confidence"]["reasons"].to_string();
        assert_eq!(reasons.contains("data in memory"), is_told, "{reasons}");
    }
}
