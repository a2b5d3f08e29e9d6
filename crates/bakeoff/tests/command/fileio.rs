//! The workload `fileio`: a folder in the place of an engine.

use std::path::Path;

use bakeoff_results::Scope;
use bakeoff_results::measure::{
    COMMITS, CONCURRENCY, DEVICE_LIMIT, PAYLOAD, RATE, READ, RETURNED, SYNCS,
};
use bakeoff_testkit::{NOBODY, Tmpfs, comes_while, in_time, needs_root};

use super::on_disks::can_mount;
use super::power_cut::is_any_acknowledged;
use super::{Place, measured};

#[test]
fn a_disk_is_read_without_an_engine_at_any_depth() {
    let place = Place::new();
    let disks = if can_mount() { "host,null" } else { "host" };
    let run = ["run", "fileio", "--disk", disks, "--factor", "depth=1,8", "--clients", "2"];
    let more = ["--factor", "block=16k", "--seconds", "0.5", "--repetitions", "1", "--out", "r"];
    place.run(&[&run[..], &more].concat()).code(0).says(&["16K", "depth"]);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2 * disks.split(',').count());
    for trial in trials {
        let depth: f64 = trial["levels"]["depth"].as_str().unwrap().parse().unwrap();
        let concurrency = measured(trial).get(&CONCURRENCY, &Scope::Clients);
        assert_eq!((&trial["valid"], concurrency), (&true.into(), Some(2.0 * depth)), "{trial}");
        assert!(trial["levels"]["engine"].is_null() && trial["levels"]["block"] == "16K");
        let operation = &trial["operations"][0];
        let (mean, rate) = (operation["mean_s"].as_f64(), operation["per_second"].as_f64());
        let in_flight = mean.unwrap() * rate.unwrap();
        assert!((1.4 * depth..=2.1 * depth).contains(&in_flight), "{in_flight}: {trial}");
    }
}

#[test]
fn what_a_folder_does_not_have_is_refused_with_what_it_has() {
    let place = Place::new();
    let refused = |more: &[&str], texts: &[&str]| {
        place.run(&[&["run", "fileio"], more].concat()).code(2).says(texts);
    };
    refused(&["--engine", "sqlite"], &["`engine`", "fileio", "disk, neighbours, clients"]);
    refused(&["--factor", "dept=4"], &["did you mean `depth`?"]);
    refused(&["--factor", "depth=0"], &["1 to 1024"]);
    refused(&["--factor", "block=5K"], &["a multiple of 4K"]);
    refused(&["--factor", "pattern=read"], &["is not a pattern", "randrw:70", "seqwrite"]);
    refused(&["--factor", "sync=often"], &["is not a rule for syncs", "fdatasync:N", "all:N"]);
    refused(&["--factor", "size=100"], &["1M to 64T"]);
    refused(&["--scale", "small"], &["`scale`", "fileio"]);
    let host = ["--disk", "host", "--cuts", "3"];
    refused(&host, &["the power of the disk `host` can't be cut"]);
    // With trials and without: a plan of trials alone would pass over what was asked for.
    for repetitions in ["0", "1"] {
        let every = ["--disk", "null", "--repetitions", repetitions, "--cuts", "every"];
        refused(&every, &["`fileio` has no engine", "give a number of cuts"]);
    }
    // What trials are refused for, power cuts are, too.
    let large =
        ["--disk", "ebs-gp2:7G", "--factor", "size=8G", "--repetitions", "0", "--cuts", "3"];
    refused(&large, &["the files take 8589 MB, and the disk holds 7516 MB", "power cuts"]);
    let endless = ["--factor", "depth=1024", "--factor", "block=1M", "--clients", "2"];
    let run = ["run", "fileio", "--disk", "host", "--repetitions", "1", "--out", "r"];
    let texts = [
        "clients 2 × depth 1024",
        "2147 MB of buffers; at most 1073 MB",
        "nothing in this experiment",
    ];
    place.run(&[&run[..], &endless].concat()).code(2).says(&texts);
    assert!(!place.path("r").exists(), "nothing was begun");
    // So is what doesn't go together.
    for (levels, texts) in [
        (&["depth=4", "calls=plain"][..], &["calls plain × depth 4", "one request in flight"][..]),
        (&["offsets=once", "pattern=seqread"], &["blocks in order have no random order"]),
        (&["files=1024", "size=1M"], &["each file would have 0 bytes"]),
    ] {
        let levels = levels.iter().flat_map(|level| ["--factor", *level]).collect::<Vec<_>>();
        place.run(&[&run[..], &levels].concat()).code(2).says(texts);
    }
    place.run(&[&run[..], &["--state", "steady"]].concat()).code(2).says(&["no deferred work"]);
    assert!(!place.path("r").exists(), "nothing was begun");
    // The others run.
    let some = ["--factor", "depth=1,1024", "--factor", "block=1M", "--clients", "2"];
    let some = [&run[..], &some, &["--seconds", "0.5"]].concat();
    let text = "not run: block 1M × clients 2 × depth 1024 (1 trial): they would take 2147 MB";
    place.run(&[&some[..], &["--dry-run"]].concat()).code(0).says(&["1 trial in 1 block", text]);
    place.run(&some).code(0).says(&[text]);
    assert_eq!(place.json("r")["trials"].as_array().unwrap().len(), 1);
    place.run(&["run", "redmine", "--factor", "depth=4"]).code(2).says(&["`depth`", "redmine"]);
}

/// Codes of a report's warnings.
pub fn warnings(document: &serde_json::Value) -> Vec<&str> {
    let warnings = document["warnings"].as_array().expect("a list");
    warnings.iter().map(|warning| warning["code"].as_str().expect("a code")).collect()
}

#[test]
fn reads_and_writes_are_told_apart_and_what_is_synced_is_durable() {
    let place = Place::new();
    let disks = if can_mount() { "host,null" } else { "host" };
    let run = ["run", "fileio", "--disk", disks, "--factor", "pattern=randrw:70", "--clients", "2"];
    let more = [
        "--factor",
        "sync=never,fdatasync:1,dsync",
        "--factor",
        "depth=1,4",
        "--factor",
        "files=3",
    ];
    let short = ["--seconds", "0.5", "--repetitions", "1", "--out", "r"];
    place.run(&[&run[..], &more, &short].concat()).code(0).says(&["read", "write"]);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6 * disks.split(',').count());
    for trial in trials {
        assert_eq!(trial["valid"], true, "{trial}");
        let count = |name: &str| {
            let operations = trial["operations"].as_array().unwrap();
            let found = operations.iter().find(|operation| operation["name"] == name);
            found.unwrap()["count"].as_f64().unwrap()
        };
        let both = count("read") + count("write");
        // Five standard deviations: a busy machine does few of them.
        let off = 5.0 * (0.7 * 0.3 * both).sqrt();
        assert!((count("read") - 0.7 * both).abs() <= off, "of {both}: {trial}");
        let measures = measured(trial);
        let of = |measure| measures.get(measure, &Scope::Clients).unwrap();
        assert!(of(&PAYLOAD) >= 4096.0 * count("write") && of(&RETURNED) > 0.0, "{trial}");
        let durable = of(&COMMITS) * 4096.0;
        let expected = if trial["levels"]["sync"] == "never" { 0.0 } else { of(&PAYLOAD) };
        assert_eq!(durable, expected, "{trial}");
        // By the disk's own count, too.
        if trial["levels"]["disk"] == "null" && expected > 0.0 {
            let syncs = measures.get(&SYNCS, &Scope::Disk).unwrap();
            assert!(syncs >= of(&COMMITS), "{syncs}: {trial}");
        }
    }
    assert!(!warnings(&document).contains(&"check-failed"), "{document}");
}

/// A log whose every commit is synced, beside pages that others read and write; and a compaction's large blocks.
#[test]
fn the_shapes_of_databases_ask_for_what_they_say() {
    const PAGE: f64 = 4096.0;
    const BLOCK: f64 = 1_048_576.0;
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let short = ["--seconds", "0.5", "--repetitions", "1", "--factor", "size=8M"];
    let log = ["run", "fileio-database", "--disk", "ssd-sata", "--neighbours", "0,x1"];
    place.run(&[&log[..], &short, &["--out", "log"]].concat()).code(0);
    let document = place.json("log");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let measures = measured(trial);
        let of = |measure| measures.get(measure, &Scope::Clients).unwrap();
        assert_eq!(
            (&trial["valid"], &trial["operations"][0]["name"]),
            (&true.into(), &"write".into())
        );
        assert!(of(&COMMITS) > 0.0, "{trial}");
        assert_eq!(of(&COMMITS) * PAGE, of(&PAYLOAD), "each commit waits for its sync: {trial}");
        let pages = measures.get(&RATE, &Scope::Neighbours).unwrap_or(0.0);
        assert_eq!(pages > 0.0, trial["levels"]["neighbours"] == "x1", "{trial}");
    }

    let compaction = ["run", "fileio-compaction", "--disk", "null", "--clients", "2"];
    place.run(&[&compaction[..], &short, &["--out", "compaction"]].concat()).code(0);
    let trial = &place.json("compaction")["trials"][0];
    let measures = measured(trial);
    let of = |measure| measures.get(measure, &Scope::Clients).unwrap();
    assert!(of(&PAYLOAD) > 0.0 && of(&PAYLOAD) % BLOCK == 0.0, "{trial}");
    assert!(of(&RETURNED) > 0.0 && of(&RETURNED) % BLOCK == 0.0, "{trial}");
    assert!(
        of(&COMMITS) * 64.0 * BLOCK <= of(&PAYLOAD),
        "a sync after 64 blocks of a client: {trial}"
    );
}

/// What a sync covered is there after a power cut, by whatever call it was made durable.
#[test]
fn power_cuts_hold_disks_to_what_was_synced() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "null,ssd-sata", "--repetitions", "0", "--cuts", "2"];
    let of = |syncs: &'static str| ["--clients", "2", "--factor", "size=1M", "--factor", syncs];
    let syncs = of("sync=never,fsync:2,dsync");
    let more = ["--factor", "block=8K", "--factor", "depth=1,4"];
    let plan = place.run(&[&run[..], &syncs, &more, &["--dry-run"]].concat()).code(0);
    let instead = "pattern randwrite instead of randread, sync fdatasync:1 instead of never";
    plan.says(&["12 power cuts, 2 of each disk at each level", instead]);
    let done = place.run(&[&run[..], &syncs, &more, &["--out", "r"]].concat()).code(0);
    done.says(&["No promise was broken in 12 power cuts", "fdatasync:1"]);
    place.assert_clean("r");
    let document = place.json("r");
    let cuts = document["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 12);
    let acknowledged = |cut: &serde_json::Value| cut["acknowledged"].as_u64().unwrap();
    assert!(cuts.iter().any(|cut| acknowledged(cut) > 0), "{cuts:?}");
    assert_eq!(document["run"]["cuts"]["promise"]["who"], "disk");

    // One of them alone, by the command that a report has.
    let head = document["run"]["cuts"]["command"].as_str().unwrap().to_owned();
    let tail = " --disk ssd-sata --factor sync=dsync --keep torn --cut-number 1 --out again";
    let again = format!("{head}{tail}");
    let words: Vec<&str> = again.split_whitespace().skip(1).collect();
    place.run(&words).code(0);
    let again = place.json("again");
    let [one] = again["cuts"].as_array().unwrap().as_slice() else { panic!("one cut") };
    let is_it = |cut: &&serde_json::Value| {
        cut["engine"] == "ssd-sata" && cut["durability"] == "dsync" && cut["number"] == 1
    };
    let first = cuts.iter().find(is_it).unwrap();
    assert_eq!((&one["seed"], &one["moment"]), (&first["seed"], &first["moment"]));
    // At depth 4 by a ring.
    let ring = ["--factor", "depth=4", "--keep", "torn", "--out", "ring"];
    let done = place.run(&[&run[..], &of("sync=all:10"), &ring].concat()).code(0);
    done.says(&["No promise was broken in 4 power cuts"]);
}

/// A disk that acknowledges what is in its cache, and is never flushed, does not keep what was synced.
#[test]
fn power_cuts_find_what_a_disk_without_barriers_has_lost() {
    if !can_mount() {
        return;
    }
    let disks = "ssd-sata,ssd-sata/barrier=0";
    let run = ["run", "fileio", "--disk", disks, "--repetitions", "0", "--cuts", "4"];
    let more = ["--factor", "size=1M", "--keep", "drop-all", "--out", "r"];
    let (document, done) = in_time("the time before the cuts", |_| {
        let place = Place::new();
        let done = place.run(&[&run[..], &more].concat());
        println!("{}{}", done.out(), done.err());
        let document = place.json("r");
        let mut without = document.clone();
        let cuts = without["cuts"].as_array_mut().unwrap();
        cuts.retain(|cut| cut["engine"] == "ssd-sata/barrier=0");
        is_any_acknowledged(&without).then_some((document, done))
    });
    done.code(6).says(&["ssd-sata/barrier=0 broke its promise at fdatasync:1"]);
    let promises = document["promises"].as_array().unwrap();
    let kept = |number: usize| (&promises[number]["engine"], &promises[number]["kept"]);
    assert_eq!(kept(0), (&"ssd-sata".into(), &true.into()));
    assert_eq!(kept(1), (&"ssd-sata/barrier=0".into(), &false.into()));
    assert!(promises[1]["rules"][0]["lost"]["most"].as_u64() > Some(0), "{promises:?}");
    assert_eq!(promises[1]["rules"][0]["torn"]["cuts"], 0, "it is lost, not torn");
}

/// `data` of a file is what it holds, and of a file system which data it orders.
#[test]
fn the_levels_of_a_factor_that_a_disk_has_a_parameter_of_the_same_name_for_mean_the_factor() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "null,null/data=writeback", "--factor"];
    let planned = place.run(&[&run[..], &["data=zeros", "--dry-run"]].concat()).code(0);
    planned.says(&["null/data=writeback"]);
    let other = ["data=journal", "--dry-run"];
    place.run(&[&run[..], &other].concat()).code(2).says(&["`journal` is not a level of `data`"]);
}

#[test]
fn what_the_page_cache_answers_is_told_before_and_after_it_is_measured() {
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "host", "--factor", "size=16M", "--repetitions", "1"];
    let short = ["--seconds", "0.5"];
    for (access, told) in [("buffered", true), ("direct", false)] {
        let access = format!("access={access}");
        let all = [&run[..], &["--factor", &access], &short].concat();
        let plan = place.run(&[&all[..], &["--dry-run"]].concat()).code(0).out();
        assert_eq!(plan.contains("all of them fit"), told, "{plan}");
        // The machine may take pages back at any time.
        in_time("the page cache", |attempt| {
            let out = format!("{access}-{attempt}");
            place.run(&[&all[..], &["--out", &out]].concat()).code(0);
            let document = place.json(&out);
            // Without a block device under the files nobody counts.
            let is_known = measured(&document["trials"][0]).get(&READ, &Scope::Device).is_some();
            let share = document["cells"][0]["from_disk"].as_f64();
            let is_cached = share.is_some_and(|share| share < 0.5);
            let warnings = warnings(&document);
            let has = |code: &str| warnings.contains(&code);
            assert_eq!(has("from-cache"), is_cached, "{share:?}: {}", document["warnings"]);
            assert_eq!(has("cache-not-known"), !is_known, "{}", document["warnings"]);
            assert!(told || !is_cached, "{access}: {share:?}");
            (is_cached == (told && is_known)).then_some(())
        });
    }
}

/// Through the page cache: an empty one sends the first reads of each block to the disk, a full one none.
#[test]
fn a_cold_cache_has_nothing_of_the_files_and_a_warm_one_all() {
    if !can_mount() {
        return;
    }
    let run = ["run", "fileio", "--disk", "hdd-7200", "--compare", "state", "--state", "cold,warm"];
    let files = ["--factor", "size=16M", "--factor", "access=buffered", "--factor", "depth=1"];
    let short = ["--seconds", "1", "--repetitions", "1", "--out", "r"];
    // The machine may take pages back at any time.
    in_time("the warm cache", |_| {
        let place = Place::new();
        place.run(&[&run[..], &files, &short].concat()).code(0);
        let document = place.json("r");
        let trials = document["trials"].as_array().unwrap();
        let of = |state: &str| {
            let trial = trials.iter().find(|trial| trial["levels"]["state"] == state).unwrap();
            let measures = measured(trial);
            let returned = measures.get(&RETURNED, &Scope::Clients).unwrap();
            let read = measures.get(&READ, &Scope::Disk).unwrap();
            println!("{state}: {read} of {returned} bytes");
            (read, returned)
        };
        assert_eq!(trials.len(), 2);
        let (read, returned) = of("cold");
        assert!(returned > 0.0 && read >= 0.5 * returned, "{read} of {returned} bytes: {trials:?}");
        let (read, returned) = of("warm");
        (returned > 0.0 && read < 0.5 * returned).then_some(())
    });
}

/// By the model alone, in its own time, so that no busy machine changes it.
#[test]
fn a_modelled_disk_has_its_limit_beside_what_was_measured() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "hdd-7200", "--clients", "1,4,16", "--factor", "depth=1"];
    let short = ["--factor", "size=16M", "--seconds", "0.5", "--repetitions", "1", "--out", "r"];
    place.run(&[&run[..], &short].concat());
    place.run(&["report", "r", "--format", "md"]).code(0).says(&["hdd-7200, the device alone"]);
    let document = place.json("r");
    let series = &document["sweep"]["panels"][0]["series"][0];
    let limit = |at: usize| series["points"][at]["limit"].as_f64().expect("a limit");
    let limits = [limit(0), limit(1), limit(2)];
    assert!(limits.is_sorted() && limits[0] > 50.0 && limits[2] < 250.0, "{limits:?}");
    for trial in document["trials"].as_array().unwrap() {
        assert!(measured(trial).get(&DEVICE_LIMIT, &Scope::Disk).is_some(), "{trial}");
    }
}

#[test]
fn a_range_of_clients_doubles_on_the_command_line_and_in_a_file() {
    let place = Place::new();
    let flag = ["run", "fileio", "--disk", "host", "--clients", "1..8", "--factor", "depth=1"];
    let once = ["--repetitions", "1", "--dry-run"];
    place.run(&[&flag[..], &once].concat()).code(0).says(&["4 trials in 4 blocks", "clients 8"]);
    place.write("mine.toml", "workload = \"fileio\"\ncompare = \"clients\"\nclients = \"1..6\"\n");
    place.run(&[&["run", "mine.toml"][..], &once].concat()).code(0).says(&["4 trials in 1 block"]);
}

/// One volume and arrays of it, by threads and patterns; and an array as it is, with a disk lost, and while it is
/// filled again.
#[test]
fn layouts_are_compared_by_threads_patterns_and_health() {
    let place = Place::new();
    let plan = |disks: &str, more: &[&str], texts: &[&str]| {
        let run = ["run", "fileio", "--dry-run", "--disk", disks];
        place.run(&[&run[..], more].concat()).code(0).says(texts);
    };
    let patterns = ["--clients", "1,2,4,8,16", "--factor", "pattern=randread,randwrite,randrw:70"];
    plan(
        "ebs-magnetic,raid10:4×ebs-magnetic,raid10:8×ebs-magnetic",
        &[&patterns[..], &["--factor", "depth=1", "--compare", "disk"]].concat(),
        &["225 trials in 75 blocks", "raid10:8×ebs-magnetic"],
    );
    let health = ["--factor", "array=healthy,degraded,rebuilding", "--compare", "array"];
    plan(
        "raid10:4×hdd-7200,raid10:4×hdd-7200/layout=far",
        &[&health[..], &["--factor", "depth=1"]].concat(),
        &["30 trials in 10 blocks", "rebuilding", "layout=far"],
    );
}

#[test]
fn a_job_file_of_fio_is_run_as_far_as_its_keys_are_known() {
    let place = Place::new();
    let job = "[global]\ndirect=1\nruntime=1\n\n[pages]\nrw=randrw\nbs=16k\nsize=2m\nnumjobs=2\n";
    place.write("database.fio", job);
    let run = ["run", "database.fio", "--repetitions", "1"];
    let plan = place.run(&[&run[..], &["--dry-run"]].concat()).code(0);
    plan.says(&["1 trial in 1 block", "pattern randrw:50", "size 4M", "files 2", "block 16K"]);
    place.run(&[&run[..], &["--out", "r"]].concat()).code(0).says(&["read", "write"]);
    let trial = &place.json("r")["trials"][0];
    assert_eq!((&trial["valid"], &trial["levels"]["clients"]), (&true.into(), &"2".into()));
    // A run folder has the experiment, and needs the job no more.
    std::fs::remove_file(place.path("database.fio")).unwrap();
    place.run(&["run", "--resume", "r"]).code(0);
    place.write("database.fio", &format!("{job}verify=crc32c\nfilename=/dev/sdz\n"));
    let texts =
        ["database.fio:10:1: `verify` is not a key", "database.fio:11:1: bakeoff makes the files"];
    place.run(&run).code(2).says(&texts);
    place.run(&["run", "nothing.fio"]).code(2).says(&["can't read `nothing.fio`"]);
}

/// The kernel's error is told, and the other trials go on.
#[test]
fn a_disk_that_fails_half_way_is_told_with_the_kernels_error() {
    if !can_mount() {
        return;
    }
    let errors = |trial: &serde_json::Value| trial["operations"][0]["errors"].as_u64().unwrap();
    // The fault of a disk of which no more is read strikes nobody.
    let document = in_time("the reading", |_| {
        let document = run_on_a_disk_that_fails();
        let all: u64 = document["trials"].as_array().unwrap().iter().map(errors).sum();
        (all > 0).then_some(document)
    });
    // The trial may be one of a block that was run again.
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.iter().map(errors).sum::<u64>(), 1, "the disk fails once");
    let failed = trials.iter().find(|trial| errors(trial) == 1).unwrap();
    let told = failed["warnings"].to_string();
    assert!(told.contains("1 read operation failed: Input/output error"), "{told}");
    assert!(trials.len() >= 2, "the run went on: {document}");
    let count = |trial: &serde_json::Value| trial["operations"][0]["count"].as_u64();
    assert!(trials.iter().all(|trial| count(trial) > Some(0)), "nothing else is lost: {document}");
}

/// A run of two trials, during which its disk is told to fail once: what became of it.
fn run_on_a_disk_that_fails() -> serde_json::Value {
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "null", "--factor", "depth=1", "--state", "cold"];
    // Long for whoever waits for a processor; the second trial is there to go on.
    let short = ["--seconds", "8", "--repetitions", "2", "--out", "r"];
    let mut child = place.start(&[&run[..], &short].concat());
    let mount = place.path("r/work/mount");
    let mounted = || {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.contains(mount.to_str().unwrap())
    };
    // Its daemon is there a little later, and not between two trials.
    let fault = ["disk", "fault", mount.to_str().unwrap(), "read:20:EIO:*"];
    let fails = || mounted() && place.command(&fault).output().unwrap().status.success();
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
        let path = array.to_str().unwrap();
        let run = ["run", "fileio", "--path", path, "--clients", "1..2", "--factor", "depth=1"];
        let short = ["--seconds", "1", "--repetitions", "1", "--factor", "size=16M", "--out", "r"];
        let mut child = place.start(&[&run[..], &short].concat());
        let there = || names(&array).iter().any(|name| name.starts_with("bakeoff-work-"));
        let seen = comes_while(&mut child, "the files", there);
        assert!(!place.path("r/work").exists(), "no data lie in the run folder");
        let done = super::Done(child.wait_with_output().unwrap()).code(0);
        seen.then_some((place, done.err()))
    });
    let array = place.path("array");
    assert!(said.contains(&format!("the data lie below {} (", array.display())), "{said}");
    assert_eq!(names(&array), ["thesis"]);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "one for each number of clients");
    assert!(trials.iter().all(|trial| trial["levels"]["disk"] == "host" && trial["valid"] == true));
}

#[test]
fn a_path_that_is_none_or_is_not_ones_own_is_refused_before_anything_is_written() {
    let place = Place::new();
    place.write("file", "x");
    std::fs::create_dir(place.path("array")).unwrap();
    let run = |path: &str, more: &[&str]| {
        let run = ["run", "fileio", "--repetitions", "1", "--out", "r", "--path", path];
        place.run(&[&run[..], more].concat())
    };
    run("nowhere", &[]).code(2).says(&["--path nowhere", "name a folder"]);
    run("file", &[]).code(2).says(&["--path file is no folder"]);
    run("/dev/null", &["--dry-run"]).code(2).says(&["is no folder"]);
    run("array", &["--factor", "size=64T"]).code(4).says(&["is too full", "MB needed"]);
    run("array", &["--factor", "block=6K"]).code(2).says(&["a multiple of 4K"]);
    run("array", &["--clients", "0"]).code(2).says(&["--clients"]);
    if needs_root("own a folder that is another's") {
        std::os::unix::fs::chown(place.path("array"), Some(NOBODY), Some(NOBODY)).unwrap();
        run("array", &[]).code(3).says(&["belongs to", "take another folder"]);
    }
    assert!(!place.path("r").exists(), "nothing was begun");
    assert_eq!(std::fs::read_dir(place.path("array")).unwrap().count(), 0);
}

/// The results need room, too, wherever the data lie.
#[test]
fn a_disk_that_is_too_full_for_the_results_is_told_beside_a_path() {
    let place = Place::new();
    std::fs::create_dir(place.path("array")).unwrap();
    let small = place.path("small");
    let Some(_mounted) = Tmpfs::mount(&small, "1m") else { return };
    let run = ["run", "fileio", "--path", "array", "--factor", "size=1M", "--repetitions", "1"];
    let plan = |out: &str| place.run(&[&run[..], &["--dry-run", "--out", out]].concat());
    let full = plan("small/r").code(4);
    full.says(&["it would not begin here", "the disk under small is too full"]);
    let elsewhere = plan("r").code(0).err();
    assert!(!elsewhere.contains("is too full"), "{elsewhere}");
}

/// A file system in memory is no disk, whichever way requests go: that is told before anything is written.
#[test]
fn a_path_in_memory_measures_no_disk() {
    let place = Place::new();
    let memory = place.path("memory");
    let Some(_mounted) = Tmpfs::mount(&memory, "300m") else { return };
    let run = ["run", "fileio", "--path", memory.to_str().unwrap(), "--factor", "size=1M"];
    for access in ["direct", "buffered"] {
        let level = format!("access={access}");
        let short = ["--factor", &level, "--seconds", "0.5", "--repetitions", "1", "--out", access];
        let all = [&run[..], &short].concat();
        let told = ["in memory", "use --path or --out on another one"];
        let plan = place.run(&[&all[..], &["--dry-run"]].concat()).code(2);
        plan.says(&["it would not begin here"]).says(&told);
        place.run(&all).code(2).says(&told);
        assert!(!place.path(access).exists(), "nothing was begun");
    }
    assert_eq!(std::fs::read_dir(&memory).unwrap().count(), 0, "nothing is left there");
}

#[test]
fn files_larger_than_the_disk_are_refused_before_anything_is_written() {
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "host", "--factor", "size=64T", "--repetitions", "1"];
    place.run(&[&run[..], &["--out", "r"]].concat()).code(4).says(&["is too full", "MB needed"]);
    assert!(!place.path("r").exists(), "nothing was begun");
}
