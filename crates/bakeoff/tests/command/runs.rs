//! Runs that go to their end, and the reports of them.

use std::collections::BTreeMap;
use std::io::Write;

use bakeoff_engines::ENGINES;
use bakeoff_results::measure::*;

use super::{Place, SMALL, measured, trials};

#[test]
fn a_run_leaves_its_results_and_nothing_else() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let arguments = ["run", "small.toml", "--out", "results", "--noise-floor", "--clients", "1,2"];
    place.run(&arguments).code(0).says(&["trial 1 of 12", "read", "results/report.html"]);
    place.assert_clean("results");

    let document = place.json("results");
    assert_eq!(document["run"]["status"], "finished");
    // Without its own folder, which would be in the way.
    assert_eq!(document["run"]["command"], "bakeoff run small.toml --noise-floor --clients 1,2");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 12);
    let (mut all_books, mut windows_s) = (0.0, 0.0);
    for trial in trials {
        assert_eq!(trial["valid"], true, "{trial}");
        let read = &trial["operations"][0];
        let (count, mean_s) = (read["count"].as_f64().unwrap(), read["mean_s"].as_f64().unwrap());
        let clients: f64 = trial["levels"]["clients"].as_str().unwrap().parse().unwrap();
        // A closed loop: the clients are always in an operation, through the window and until the last
        // that counts is over.
        let ran_s = trial["ran_s"].as_f64().unwrap();
        let books = count * mean_s / clients;
        assert!(books > 0.0 && books <= ran_s, "{books} s of {ran_s} s: {trial}");
        // A read of LMDB's takes about as long as what clients do between two operations.
        if trial["levels"]["engine"].as_str().unwrap().starts_with("sqlite") {
            all_books += books;
            windows_s += 0.5;
        }
        let measures = measured(trial);
        for scope in [Scope::Clients, Scope::DATABASE] {
            assert!(measures.get(&CPU, &scope).unwrap() > 0.0, "{scope}: {trial}");
        }
        assert!(measures.get(&SPACE, &Scope::Trial).unwrap() > 1e6, "{trial}");
    }
    // Of all windows together: in one of them a client may wait for a processor between two operations.
    assert!(windows_s > 0.0 && all_books > windows_s * 0.45, "{all_books} s: {trials:?}");
    // The rows are the same for both engines, and take more on disk than they are long.
    let cells = document["cells"].as_array().unwrap();
    for cell in cells {
        assert_eq!(cell["space"]["loaded_bytes"], cells[0]["space"]["loaded_bytes"], "{cell}");
        assert!(cell["space"]["amplification"].as_f64() > Some(1.0), "{cell}");
        assert_eq!(cell["work"]["each"], "row", "{cell}");
    }
    assert_eq!(document["comparisons"].as_array().unwrap().len(), 2, "lmdb, for 1 and 2 clients");
    assert_eq!(document["noise"].as_array().unwrap().len(), 2, "sqlite, for 1 and 2 clients");
    assert_eq!(document["comparisons"][0]["blocks"], 2);
}

#[test]
fn every_form_of_report_can_be_had() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--out", "r", "--quiet", "--repetitions", "1"]).code(0);
    place.run(&["report", "r"]).code(0).says(&["sqlite", "lmdb"]);
    let csv = place.run(&["report", "r", "--format", "csv"]).code(0);
    // Two trials, and those of a block that was run again.
    let trials = trials(&place.path("r"));
    assert!(trials >= 2, "{trials} trials");
    let rows = csv.out().lines().count() as i64;
    assert_eq!(rows, 1 + trials, "a header, and a row a trial and operation");
    place.run(&["report", "r", "--format", "md"]).code(0).says(&["| "]);
    let nowhere = place.run(&["report", "r", "-o", "nowhere/x.html"]).code(1);
    assert!(!nowhere.err().contains(".tmp"), "no name that nobody gave: {}", nowhere.err());
    nowhere.says(&["nowhere/x.html can't be written: No such file or directory"]);
    // Nor is what was recorded written over, by whatever way.
    std::os::unix::fs::symlink("r/run.sqlite", place.path("link")).unwrap();
    for own in ["r/run.sqlite", "r/../r/experiment.toml", "link"] {
        let refused = place.run(&["report", "r", "--format", "csv", "-o", own]).code(2);
        refused.says(&["is the run's own record"]);
    }
    place.run(&["report", "r", "--format", "md"]).code(0);
    // The ending says it, unless something else does.
    place.run(&["report", "r", "-o", "x.html"]).code(0);
    place.run(&["report", "r", "--format", "md", "-o", "y.html"]).code(0);
    assert!(std::fs::read_to_string(place.path("y.html")).unwrap().contains("| "));
    let html = std::fs::read_to_string(place.path("x.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"));
    assert_eq!(html, std::fs::read_to_string(place.path("r/report.html")).unwrap());
}

/// Whether the run may go on as the plan has it or not.
#[test]
fn a_plan_of_what_is_left_of_a_run_changes_nothing_of_it() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--out", "r", "--quiet", "--repetitions", "1"]).code(0);
    let record = || std::fs::read(place.path("r/run.sqlite")).unwrap();
    let before = record();
    place.run(&["run", "--resume", "r", "--dry-run"]).code(0);
    place.run(&["run", "redmine", "--resume", "r", "--dry-run"]).code(2);
    // Nor is the place free for a new one.
    let taken = ["run", "small.toml", "--out", "r"];
    let plan = place.run(&[&taken[..], &["--dry-run"]].concat()).code(3);
    plan.says(&["it would not begin here: r exists and is not empty", "all else equal"]);
    place.run(&taken).code(3);
    assert_eq!(record(), before);
    // What repeats it names no folder that is taken.
    assert!(!place.json("r")["run"]["command"].as_str().unwrap().contains("--out"));
    let over = place.run(&["run", "--resume", "r", "--quiet"]).code(0);
    over.says(&["nothing is left to run: the run in r had finished"]);
}

#[test]
fn a_report_goes_through_links_and_into_pipes() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--out", "r", "--quiet", "--repetitions", "1"]).code(0);
    place.write("target.csv", "");
    std::os::unix::fs::symlink("target.csv", place.path("link.csv")).unwrap();
    place.run(&["report", "r", "--format", "csv", "--output", "link.csv"]).code(0);
    assert!(std::fs::symlink_metadata(place.path("link.csv")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(place.path("target.csv")).unwrap().contains("sqlite"));
    let said = place.run(&["report", "r", "--format", "csv", "--output", "/dev/stdout"]).code(0);
    said.says(&["sqlite"]);
    place.run(&["report", "r", "--format", "csv", "--output", "/dev/full"]).code(4);
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file(), "a device stays a device");
}

#[test]
fn quiet_says_the_verdict_and_failures_alone() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let done = place.run(&["run", "small.toml", "--out", "r", "--quiet"]).code(0);
    assert_eq!(done.err(), "");
    assert_eq!(done.out().trim().lines().count(), 1, "{}", done.out());

    let nowhere = "sqlite,postgres://me@%2Fnowhere/bench";
    let quiet = ["run", "small.toml", "--out", "s", "--quiet", "--engine", nowhere];
    let done = place.run(&quiet).code(2);
    assert!(done.err().contains("whether it is running"), "why it did not begin: {}", done.err());
    assert_eq!(done.out(), "");
    assert!(!place.path("s").exists());
}

#[test]
fn a_dry_run_shows_the_plan_and_starts_nothing() {
    let place = Place::new();
    let done = place.run(&["run", "redmine", "--quick", "--dry-run"]).code(0);
    // Counted as in the reports, from 0.
    done.says(&[
        "40 trials in 10 blocks, 3 s each, sooner after 100 operations of each kind, about ",
    ]);
    let done = place.run(&["run", "redmine", "--quick", "--dry-run"]).code(0);
    done.says(&["block   0  repetition  0", "block   9", "sqlite@again"]);
    let done = place.run(&["run", "redmine", "--quick", "--dry-run"]).code(0);
    done.says(&["all else equal: ", "clients 1", "neighbours 0", "disk ssd-sata", "scale small"]);
    let long = place.run(&["run", "redmine-sweep", "--dry-run"]).code(0);
    let (out, total) = (long.out(), "600 trials in 150 blocks, 20 s each, about 3 h 30 min");
    assert_eq!(out.matches(total).count(), 2, "at the end of a long plan, too: {out}");
    // Behind it stands how long it is when operations are slow.
    assert!(out.lines().rev().take(2).any(|line| line.starts_with(total)), "{out}");
    let one = ["run", "redmine", "--engine", "sqlite", "--clients", "1", "--neighbours", "0"];
    let more = ["--durability", "none", "--noise-floor", "false", "--repetitions", "1"];
    let one = place.run(&[&one[..], &more, &["--dry-run"]].concat()).code(0);
    one.says(&["1 trial in 1 block, 10 s each, about 11 s with the loading"]);
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 0);
}

#[test]
fn a_plan_of_power_cuts_alone_says_what_is_at_work_and_no_level_that_they_do_not_have() {
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "null,ssd-sata", "--repetitions", "0", "--cuts", "2"];
    let levels = ["--clients", "1,64,2", "--factor", "block=8K,16K", "--factor", "depth=1"];
    let more = ["--factor", "pattern=randread", "--dry-run"];
    let told = ["pattern randwrite instead of randread", "; 64 clients at work, block 8K: about "];
    let out = place.run(&[&run[..], &levels, &more].concat()).code(0).says(&told).out();
    let equal = out.lines().find(|line| line.starts_with("all else equal: "));
    let equal = equal.expect("the levels that all have");
    assert!(equal.contains("depth 1") && !equal.contains("randread"), "{equal}");
}

#[test]
fn a_dry_run_says_roughly_how_long_the_power_cuts_take() {
    let place = Place::new();
    let plan = |flags: &[&str]| place.run(&[&["run", "power-cut", "--dry-run"], flags].concat());
    let some = plan(&["--cuts", "7", "--keep", "torn"]).code(0);
    let told =
        "then 63 power cuts, 7 of each engine at each level on the file system ext4, judged by";
    some.says(&["18 trials", told]);
    let both = plan(&["--cuts", "7", "--file-system", "ext4,posix"]).code(0);
    both.says(&["126 power cuts", "on each of the file systems ext4, posix, judged by drop-all"]);
    let one = plan(&["--cut-number", "60", "--engine", "lmdb", "--durability", "strict"]).code(0);
    assert!(!one.out().contains("0 trials"), "{}", one.out());
    one.says(&["no trials, and 1 power cut, number 60", " at work", ": about 3 s"]);

    // Each rule is another recovery, and so is a second cut; that of a server takes longer.
    let minutes = |flags: &[&str]| {
        let out = plan(&[&["--cuts", "1000"], flags].concat()).code(0).out();
        let cuts = out.lines().find(|line| line.contains("power cuts")).expect("they are told");
        let time = cuts.split("about ").nth(1).expect("a time");
        let (hours, minutes) = time.split_once(" h ").unwrap_or(("0", time));
        let minutes = minutes.strip_suffix(" min").expect("minutes");
        60 * hours.parse::<u32>().unwrap() + minutes.parse::<u32>().unwrap()
    };
    let [one, all] =
        ["torn", "drop-all,prefix,subset,torn"].map(|rules| minutes(&["--keep", rules]));
    let twice = minutes(&["--cut-recovery"]);
    let server = minutes(&["--engine", "postgres"]);
    assert!(one < all && all < twice && minutes(&["--engine", "sqlite"]) < server);
    // Measured: each of 9,000 x 4 embedded recoveries and audits takes more than 70 ms, and the whole
    // less than half a day.
    assert!((42..720).contains(&all), "{all}");
}

#[test]
fn settings_that_nobody_takes_are_named() {
    let place = Place::new();
    let settings = "[settings.\"mariadb:innodb\"]\nsync_binlog = 0\n";
    place.write("small.toml", &format!("{SMALL}{settings}"));
    let unused = "the settings of mariadb:innodb are not used";
    place.run(&["run", "small.toml", "--dry-run"]).code(0).says(&[unused]);
    let engines = ["--engine", "sqlite,mariadb:innodb@mine"];
    let used = place.run(&[&["run", "small.toml", "--dry-run"], &engines[..]].concat()).code(0);
    assert_eq!(used.err(), "");
}

#[test]
fn plain_output_has_no_escapes() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let done = place.run(&["run", "small.toml", "--out", "r", "--repetitions", "1"]).code(0);
    assert!(!done.out().contains('\x1b') && !done.err().contains('\x1b'));
}

#[test]
fn redmine_runs_on_every_engine_with_neighbours() {
    let place = Place::new();
    let engines = "sqlite,lmdb,fjall,null";
    let arguments = [
        "run",
        "redmine",
        "--engine",
        engines,
        "--neighbours",
        "0,25%,x1",
        "--clients",
        "2",
        "--durability",
        "none",
        "--seconds",
        "1",
        "--repetitions",
        "1",
        "--noise-floor",
        "false",
        "--out",
        "r",
    ];
    place.run(&arguments).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 12);
    let alone = document["run"]["neighbour_alone_per_second"].as_f64().unwrap();
    let mut achieved: BTreeMap<&str, f64> = BTreeMap::new();
    for trial in trials {
        let names: Vec<&str> = trial["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|operation| operation["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["create_issue", "process_issues"]);
        assert!(trial["operations"][1]["count"].as_u64().unwrap() > 0, "{trial}");
        assert_eq!(trial["operations"][0]["errors"], 0, "{trial}");
        // At which rate requests are due is theirs; how many a second are done is up to who else is on
        // the machine's disk.
        let neighbours = trial["levels"]["neighbours"].as_str().unwrap();
        let [due, done] = [&OFFERED, &RATE].map(|it| measured(trial).get(it, &Scope::Neighbours));
        assert_eq!(due.is_some(), neighbours == "25%", "{trial}");
        assert!(due.is_none_or(|due| (due / alone - 0.25).abs() < 1e-6), "{due:?} of {alone}");
        *achieved.entry(neighbours).or_default() += done.unwrap_or(0.0);
    }
    // Of all engines together.
    let at_work: Vec<bool> = achieved.values().map(|per_second| *per_second > 0.0).collect();
    assert_eq!(at_work, [false, true, true], "{achieved:?}");
}

#[test]
fn lists_and_doctor_know_every_engine() {
    let place = Place::new();
    let engines: Vec<&str> = ENGINES.iter().map(|engine| engine.about().name).collect();
    place.run(&["list", "engines"]).code(0).says(&engines).says(&["strict", "synchronous=FULL"]);
    place.run(&["list"]).code(0).says(&["redmine", "neighbours", "host", "point", "poisson"]);
    place.run(&["list", "workloads"]).code(0).says(&["giant"]);
    place.run(&["doctor"]).code(0).says(&engines).says(&["nginx and php-fpm, for pages"]);
    // The folder of the registry may stay, with nothing in it.
    let left = std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| name == "bakeoff"), "doctor cleans up");
    place.assert_clean(".");
}

#[test]
fn the_users_own_text_is_what_is_stored() {
    let place = Place::new();
    let sentence = "Quizzical xylophones juggle waltzing vexed fjords nightly.\n";
    place.write("mine.txt", &sentence.repeat(2000));
    let arguments = [
        "run",
        "redmine",
        "--text",
        "mine.txt",
        "--engine",
        "sqlite",
        "--seconds",
        "0.5",
        "--repetitions",
        "1",
        "--noise-floor",
        "false",
        "--clients",
        "1",
        "--neighbours",
        "0",
        "--durability",
        "none",
        "--out",
        "r",
    ];
    place.run(&arguments).code(0);
    let text = place.json("r")["run"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("mine.txt"), "{text}");
}

#[test]
fn rows_come_from_a_file_in_its_order() {
    let place = Place::new();
    let lines: String =
        (1..=10_002).map(|n| format!("Title {n}\tThe text of article {n}.\n")).collect();
    let file = std::fs::File::create(place.path("mine.tsv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    packed.write_all(format!("\n{lines}").as_bytes()).unwrap();
    packed.finish().unwrap();
    let arguments = |scale, out| {
        let from =
            ["run", "text-oltp", "--quick", "--rows-from", "mine.tsv.gz", "--engine", "sqlite"];
        let short = ["--seconds", "0.5", "--repetitions", "1", "--noise-floor", "false"];
        let one =
            ["--clients", "1", "--memory", "unlimited", "--durability", "none", "--state", "warm"];
        let test = ["--factor", "test=point_select", "--scale", scale, "--out", out];
        [&from[..], &short, &one, &test].concat()
    };
    place.run(&arguments("small", "r")).code(0).says(&["10002 rows, 1 line skipped (1 empty)"]);
    let run = &place.json("r")["run"];
    let text = run["text"].as_str().unwrap();
    assert!(text.contains("mine.tsv.gz") && text.contains("fingerprint"), "{text}");
    // The rows that are made up come to 24 MB, those of the file to half of one.
    for trial in place.json("r")["trials"].as_array().unwrap() {
        assert!(measured(trial).get(&SPACE, &Scope::Trial).unwrap() < 4e6, "{trial}");
    }
    let failed = place.run(&arguments("large", "none"));
    failed.says(&["it holds 10002 rows", "100000 are needed"]);
    assert!(!place.path("none").exists(), "nothing was begun");
}

#[test]
fn a_file_of_rows_may_have_to_be_whole() {
    let place = Place::new();
    place.write("mine.tsv", &(0..10_000).map(|n| format!("{n}\tText {n}.\n")).collect::<String>());
    let arguments = [
        "run",
        "text-oltp",
        "--quick",
        "--rows-strict",
        "--rows-from",
        "mine.tsv",
        "--engine",
        "lmdb",
        "--dry-run",
    ];
    place.run(&arguments).code(0).says(&["mine.tsv", "small: the first 10000 of them"]);
    place.write("mine.tsv", "1\tText.\n\n");
    place.run(&arguments).code(2).says(&["mine.tsv, line 2: it is empty", "--rows-strict"]);
}

#[test]
fn rows_are_real_text_where_there_is_some_unless_generated_ones_are_asked_for() {
    let place = Place::new();
    let told = |more: &[&str]| {
        let plan = ["run", "text-oltp", "--quick", "--engine", "lmdb", "--dry-run"];
        place.run(&[&plan[..], more].concat()).code(0)
    };
    told(&["--rows-from", "generated"])
        .says(&["made-up text, from the built-in generator (seed 1)"]);
    let gcide = bakeoff_workloads::Collection::find("gcide").unwrap();
    let there = gcide.is_installed().then_some(()).ok_or_else(|| gcide.install());
    let Some(()) = bakeoff_testkit::needs(there) else {
        told(&[]).says(&["made-up text"]);
        return;
    };
    told(&[]).says(&["rows from gcide", "dict-gcide", "small: the first 10000 of them"]);
    told(&["--scale", "large"]).says(&["large: all ", "generated from their words"]);
}

#[test]
fn a_share_of_the_data_is_told_in_bytes_before_anything_is_loaded() {
    let place = Place::new();
    place.write(
        "mine.toml",
        "workload = \"point\"\nscale = \"large\"\nengine = [\"sqlite\", \"lmdb\"]\n",
    );
    let told = |memory: &str| {
        let plan = place.run(&["run", "mine.toml", "--memory", memory, "--dry-run"]).out();
        let lines = plan.lines().filter(|line| line.starts_with("memory "));
        (plan.contains("can't be limited"), lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let (impossible, lines) = told("200%,50%,64M,unlimited");
    if impossible {
        bakeoff_testkit::skip("memory can't be limited here");
        return;
    }
    let half = "memory 50%: about 52.5 MB, for 105.0 MB of rows";
    assert_eq!(lines, ["memory 200%: about 210.0 MB, for 105.0 MB of rows", half]);
    assert_eq!(told("unlimited").1, [""; 0]);
}

#[test]
fn a_limit_that_no_server_starts_in_is_refused_with_the_least_and_caches_are_told() {
    let place = Place::new();
    let plan = |memory: &str| {
        let run =
            ["run", "text-oltp", "--engine", "mariadb:innodb,lmdb,sqlite", "--scale", "large"];
        let more = ["--rows-from", "generated", "--memory", memory, "--dry-run"];
        place.run(&[&run[..], &more].concat()).out()
    };
    let told = plan("8%");
    if told.contains("can't be limited") {
        bakeoff_testkit::skip("memory can't be limited here");
        return;
    }
    let refused =
        "not run: mariadb:innodb × memory 8% (12 trials): 8% of 244.0 MB of rows is 19.5 MB";
    assert!(told.contains(refused), "{told}");
    let least = told.lines().find_map(|line| line.split_once("the least that works is "));
    let (_, least) = least.expect("it is told");
    let (share, _) = least.split_once(" of the rows, or ").expect("a share and bytes");
    let told = plan(share);
    assert!(!told.contains("not run: mariadb:innodb"), "{share}: {told}");
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("cache at ")).collect();
    let innodb = format!("cache at memory {share}: mariadb:innodb has innodb_buffer_pool_size = ");
    let quarter = format!("cache at memory {share}: sqlite has cache_size = ");
    assert!(lines.len() == 2 && lines[0].starts_with(&innodb), "{lines:?}");
    assert!(lines[1].starts_with(&quarter) && lines[1].contains(" bytes: 25 % of"), "{lines:?}");
}
