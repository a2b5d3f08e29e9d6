//! Nonsense: a clear message, the right exit code, nothing lost and nothing left behind.

use std::io::Write;

use bakeoff_testkit::{Tmpfs, comes_while, in_time, wait_until};

use super::{Place, SMALL};

#[test]
fn mistakes_on_the_command_line_are_told_with_the_nearest_choice() {
    let place = Place::new();
    place.write("empty.txt", "");
    std::fs::write(place.path("latin.txt"), b"caf\xe9 ".repeat(10_000)).unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["redmin"], &["redmin", "did you mean `redmine`"]),
        (
            &["articel"],
            &["unknown preset `articel`", "did you mean `articles`", "fileio, fileio-sysbench"],
        ),
        (
            &["redmine", "--engine", "mysql"],
            &["--engine mariadb:innodb", "--engine mysql://USER@HOST/DATABASE", "MYSQL_PWD"],
        ),
        (
            &["redmine", "--engine", "postgresql"],
            &["--engine postgres\n", "--engine postgres://USER@HOST/DATABASE"],
        ),
        (&["redmine", "--clients", "four"], &["`four` is no number of clients", "in digits"]),
        (&["redmine", "--engine", "sqlit"], &["sqlit", "did you mean `sqlite`", "fjall"]),
        (&["redmine", "--durability", "strikt"], &["strikt", "none", "relaxed", "`strict`"]),
        (&["redmine", "--scale", "huge"], &["huge", "small", "large", "giant"]),
        (&["redmine", "--neighbours", "x"], &["--neighbours"]),
        (&["redmine", "--clients", "0"], &["--clients", "1024"]),
        (&["redmine", "--clients", "10000000"], &["--clients", "1 to 1000000"]),
        (&["redmine", "--rate", "200"], &["--rate 200", "did you mean `200/s`", "poisson:200/s"]),
        (&["redmine", "--rate", "-1/s"], &["--rate -1/s", "closed"]),
        (&["redmine", "--factor", "colour=red"], &["`colour`", "engine, durability"]),
        (&["redmine", "--factor", "rat=200/s"], &["--factor rat=", "did you mean `rate`"]),
        (&["redmine", "--factor", "clients=0"], &["--factor clients=0", "1024"]),
        (&["redmine", "--factor", "clients"], &["--factor clients", "NAME=LEVEL,LEVEL"]),
        (&["redmine", "--clients", "1", "--factor", "clients=2"], &["`clients`", "by two flags"]),
        (&["redmine", "--memory", "1GiB"], &["did you mean `1G`", "unlimited"]),
        (&["redmine", "--memory", "0%"], &["0%", "1% to 1000%"]),
        (&["redmine", "--disk", "hdd-720"], &["hdd-720", "did you mean `hdd-7200`", "host"]),
        (&["redmine", "--disk", "ebs-gp2"], &["ebs-gp2:100G"]),
        (&["redmine", "--disk", "hdd-7200/rpm=0"], &["rpm"]),
        (&["redmine", "--disk", "hdd-7200/inner_mb_s=500"], &["inner_mb_s", "outer_mb_s"]),
        (&["redmine", "--disk", "raid10:3×hdd-7200"], &["even number of disks"]),
        (&["redmine", "--seconds", "0.01"], &["--seconds"]),
        (&["redmine", "--seconds", "-1"], &["--seconds", "0.5"]),
        (&["redmine", "--seconds", "abc"], &["--seconds", "such as 20"]),
        (&["redmine", "--seed", "-1"], &["--seed", "whole number"]),
        (&["redmine", "--clients", "-3"], &["--clients", "1024"]),
        (&["redmine", "--repetitions", "99999999999999"], &["--repetitions", "1000"]),
        (&["redmine", "--dry-run", "--text", "empty.txt"], &["empty.txt", "empty"]),
        (&["redmine", "--repetitions", "0"], &["--repetitions"]),
        (&["redmine", "--compare", "colour"], &["colour", "engine", "durability"]),
        (&["redmine", "--frobnicate"], &["--frobnicate"]),
        (&["redmine", "--text", "empty.txt"], &["empty.txt", "empty"]),
        (&["redmine", "--text", "latin.txt"], &["latin.txt", "UTF-8"]),
        (&["redmine", "--text", "nowhere.txt"], &["nowhere.txt"]),
        (
            &["text-oltp", "--rows-from", "empty.txt"],
            &["empty.txt", "it is empty", "title TAB text"],
        ),
        (&["text-oltp", "--rows-from", "latin.txt"], &["latin.txt", "no row", "1 not UTF-8"]),
        (&["text-oltp", "--rows-from", "nowhere.txt"], &["nowhere.txt"]),
        (&["text-oltp", "--rows-from", "gcied"], &["no file of rows `gcied`", "`gcide`"]),
        (
            &["text-oltp", "--rows-strict", "--rows-from", "generated"],
            &["`rows_strict` is for rows from a file", "leave `rows_strict` out"],
        ),
        (
            &["redmine", "--rows-from", "latin.txt"],
            &["`redmine` makes its rows itself", "text-oltp"],
        ),
        (&["text-oltp", "--rows-from", "a", "--text", "b"], &["`text` and `rows_from` both"]),
        (&["nowhere.toml"], &["nowhere.toml"]),
        (&["redmine", "--cuts", "-1"], &["--cuts", "0 to 10000"]),
        (&["redmine", "--cuts", "10001"], &["--cuts 10001", "0 to 10000"]),
        (&["redmine", "--cut-number", "99999999999"], &["--cut-number", "0 to 9999"]),
        (&["redmine", "--cut-number", "x"], &["--cut-number", "0 to 9999"]),
        (&["redmine", "--keep", "torn"], &["--keep", "this run makes none", "--cuts N"]),
        (&["redmine", "--dry-run", "--cut-recovery"], &["--cut-recovery", "this run makes none"]),
        (&["power-cut", "--cuts", "0", "--keep-images"], &["--keep-images", "this run makes none"]),
        (&[], &["PRESET|FILE.toml", "bakeoff list presets", "--resume DIR"]),
    ];
    for (arguments, texts) in cases {
        let arguments = [&["run"], *arguments].concat();
        place.run(&arguments).code(2).says(texts);
    }
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 2, "nothing was made");
}

#[test]
fn what_is_no_file_of_rows_is_told_before_anything_is_made() {
    let place = Place::new();
    let refused = |name: &str, bytes: &[u8], texts: &[&str]| {
        std::fs::write(place.path(name), bytes).unwrap();
        place.run(&["run", "text-oltp", "--rows-from", name]).code(2).says(texts);
    };
    refused("binary.tsv", b"Ape\t\0\x01\x02\n", &["binary.tsv, line 1", "the file is binary"]);
    refused("cut.tsv", b"Ape\tcaf\xc3", &["cut.tsv, line 1", "in the middle of a character"]);
    refused("broken.tsv.gz", b"\x1f\x8b\x08\0\0\0", &["broken.tsv.gz", "gzip data are broken"]);
    let many: String = (0..50_000).map(|n| format!("Title {n}\tText {}.\n", n * 7919)).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(many.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let short = &packed[..packed.len() / 2];
    refused("short.tsv.gz", short, &["short.tsv.gz, line ", "gzip data are broken"]);
    refused("broken.zst", b"\x28\xb5\x2f\xfd\x04", &["broken.zst", "zstd data are broken"]);
    refused("it.dict", b"An ape.", &["it.index", "No such file"]);
    // A line of 2 GB, which takes no room in the file.
    let long = std::fs::File::create(place.path("long.tsv")).unwrap();
    long.set_len(2 << 30).unwrap();
    place
        .run(&["run", "text-oltp", "--rows-from", "long.tsv"])
        .code(2)
        .says(&["long.tsv, line 1", "NUL"]);
    place.run(&["run", "text-oltp", "--rows-from", "."]).code(2).says(&["it is not a file"]);
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 7, "nothing was made");
}

/// A file of rows that was changed after a run began is another one's: nothing is measured with it.
#[test]
fn a_run_does_not_go_on_with_other_rows_than_it_began_with() {
    let place = Place::new();
    let lines = |what: &str| -> String {
        (1..=10_000).map(|n| format!("Title {n}\tThe {what} of article {n}.\n")).collect()
    };
    place.write("mine.tsv", &lines("text"));
    let text = "workload = \"text-oltp\"\nengine = [\"sqlite\", \"lmdb\"]\nscale = \"small\"\n";
    place.write("mine.toml", &format!("rows_from = \"mine.tsv\"\nseconds = 0.5\n{text}"));
    place.run(&["run", "mine.toml", "--out", "r", "--repetitions", "1"]).code(0);
    let before = super::trials(&place.path("r"));
    place.write("mine.tsv", &lines("word"));
    place.run(&["run", "--resume", "r"]).code(3).says(&["the text changed", "mine.tsv"]);
    place.write("mine.tsv", &lines("text"));
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(super::trials(&place.path("r")), before, "it had finished");
}

#[test]
fn mistakes_in_a_file_are_shown_in_their_place() {
    let place = Place::new();
    place.write("bad.toml", "workload = \"point\"\nengine = [\"sqlite\", \"lmbd\"]\ncleints = 3\n");
    let done = place.run(&["run", "bad.toml"]).code(2);
    done.says(&["bad.toml:2:", "`lmbd`", "did you mean `lmdb`", "bad.toml:3:1", "`cleints`"]);
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/thesis", "years of work");
    place.run(&["run", "small.toml", "--out", "mine"]).code(3).says(&["mine", "--out"]);
    assert_eq!(std::fs::read_dir(place.path("mine")).unwrap().count(), 1);
    place.run(&["run", "small.toml", "--out", "/proc/nowhere"]).code(3).says(&["/proc/nowhere"]);
    place.run(&["run", "small.toml", "--out", "small.toml"]).code(3).says(&["small.toml"]);
    place.run(&["report", "mine"]).code(3).says(&["not a run folder"]);
    place.run(&["run", "--resume", "mine"]).code(3).says(&["not a run folder"]);
}

#[test]
fn an_edited_experiment_and_a_damaged_database_are_refused() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--out", "r", "--repetitions", "1"]).code(0);
    let flags = ["run", "--resume", "r", "--seconds", "9"];
    place.run(&flags).code(2).says(&["leave out --seconds"]);
    for another in ["redmine", "nowhere.toml", "small.toml"] {
        let named = ["run", another, "--resume", "r"];
        place.run(&named).code(2).says(&[&format!("leave out `{another}`")]);
    }

    let toml = std::fs::read_to_string(place.path("r/experiment.toml")).unwrap();
    place.write("r/experiment.toml", &toml.replace("repetitions = 1", "repetitions = 2"));
    let edited = ["was edited", "r/experiment.toml", "is `repetitions = 2`"];
    place.run(&["run", "--resume", "r"]).code(3).says(&edited);
    place.run(&["run", "--resume", "r", "--dry-run"]).code(3).says(&edited);
    place.write("r/experiment.toml", &toml);

    let whole = std::fs::read(place.path("r/run.sqlite")).unwrap();
    for broken in [&whole[..whole.len() / 2], &[0; 4096], b"garbage", b""] {
        std::fs::write(place.path("r/run.sqlite"), broken).unwrap();
        place.run(&["run", "--resume", "r"]).code(3).says(&["run.sqlite"]);
        assert_eq!(std::fs::read(place.path("r/run.sqlite")).unwrap(), broken, "left as it was");
    }
    std::fs::write(place.path("r/run.sqlite"), &whole).unwrap();
    place.run(&["run", "--resume", "r"]).code(0);
}

#[test]
fn a_run_goes_on_only_under_the_terms_that_it_began_with() {
    let place = Place::new();
    let text = "Quizzical xylophones juggle waltzing vexed fjords nightly.\n".repeat(2000);
    place.write("mine.txt", &text);
    place.write("small.toml", &format!("text = \"mine.txt\"\n{SMALL}"));
    place.run(&["run", "small.toml", "--out", "r", "--repetitions", "1"]).code(0);
    place.write("mine.txt", &text.replace("vexed", "calm!"));
    place.run(&["run", "--resume", "r"]).code(3).says(&["the text", "mine.txt"]);
    std::fs::remove_file(place.path("mine.txt")).unwrap();
    place.run(&["run", "--resume", "r"]).code(2).says(&["mine.txt"]);
    place.write("mine.txt", &text);
    place.run(&["run", "--resume", "r"]).code(0);
    // As of a bakeoff that orders blocks otherwise.
    let database = rusqlite::Connection::open(place.path("r/run.sqlite")).unwrap();
    let swapped = "UPDATE trial SET levels = replace(levels, 'sqlite', 'lmdb')";
    assert!(database.execute(swapped, []).unwrap() >= 2);
    drop(database);
    place.run(&["run", "--resume", "r"]).code(3).says(&["another order", "--out"]);
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let small = place.path("small-disk");
    let Some(disk) = Tmpfs::mount(&small, "120m") else { return };
    let (folder, full, done) = in_time("the run", |number| {
        let folder = format!("small-disk/r{number}");
        // So many trials that the disk is full before the last.
        let run = ["run", "small.toml", "--repetitions", "6", "--out", &folder];
        let mut run = place.start(&run);
        let ran = || super::trials(&place.path(&folder));
        comes_while(&mut run, "the first trial", || ran() >= 1);
        // Somebody else fills the disk, and takes what a trial frees.
        let full = disk.fill();
        let done = super::Done(run.wait_with_output().unwrap());
        let over = done.0.status.code() == Some(0) || ran() >= 12;
        (!over).then_some((folder, full, done))
    });
    done.code(4);
    place.assert_clean(&folder);
    let kept = super::trials(&place.path(&folder));
    assert!((1..12).contains(&kept), "{kept}");

    drop(full);
    place.run(&["run", "--resume", &folder]).code(0);
    let document = place.json(&folder);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.iter().filter(|trial| trial["valid"] == true).count(), 12);
}

#[test]
fn a_table_too_large_for_the_disk_is_refused_before_it_is_loaded_with_the_figures() {
    let place = Place::new();
    let small = place.path("small-disk");
    let Some(_disk) = Tmpfs::mount(&small, "400m") else { return };
    place.write(
        "large.toml",
        "workload = \"oltp\"\nengine = [\"sqlite\", \"lmdb\"]\nscale = \"1M\"\nseconds = 1\n",
    );
    let figures = [
        " is too full: ",
        "MB needed: about 583 MB for oltp 1M",
        "into sqlite",
        "into lmdb",
        "1166 MB for copies",
        "name a smaller --scale or fewer engines",
    ];
    let run = ["run", "large.toml", "--out", "small-disk/r"];
    place.run(&run).code(4).says(&figures);
    assert!(!small.join("r").exists(), "the mended command finds its place free");
    // The plan says so, too.
    place.run(&[&run[..], &["--dry-run"]].concat()).code(4).says(&figures);
}

#[test]
fn keys_that_no_distribution_has_are_refused_in_the_plan() {
    let place = Place::new();
    for (keys, why) in [
        ("zipf:11", "EXPONENT is a number above 0, up to 10"),
        ("special:100:1", "SHARE is a whole number from 0 to 99"),
        ("special:20:0", "PART one from 1 to 100"),
        ("pareto:1", "SHAPE is a number above 0 and below 1"),
        ("gaussian:3", "`gaussian` has no parameters"),
        ("normal", "`normal` is no distribution of keys"),
    ] {
        for workload in ["oltp", "text-oltp"] {
            let text = format!("workload = \"{workload}\"\nengine = [\"sqlite\", \"lmdb\"]\n");
            place.write("keys.toml", &text);
            let factor = format!("keys={keys}");
            let run = ["run", "keys.toml", "--dry-run", "--factor", &factor];
            place.run(&run).code(2).says(&[why, "valid: "]);
        }
    }
}

#[test]
fn a_disk_too_small_for_the_debt_stops_the_run_and_says_what_to_do() {
    let place = Place::new();
    let small = place.path("small-disk");
    let Some(disk) = Tmpfs::mount(&small, "120m") else { return };
    // The journal has no more room than it takes itself: it is written on until it is large enough.
    let owes = "workload = \"ledger\"\nengine = \"fjall\"\nstate = \"steady\"\nclients = 1\n\
                durability = \"relaxed\"\nneighbours = \"0\"\n";
    place.write("owes.toml", owes);
    let run = place.start(&["run", "owes.toml", "--out", "small-disk/r"]);
    wait_until("the calibration", || small.join("r/work/trial").exists());
    let _full = disk.fill();
    let done = super::Done(run.wait_with_output().unwrap()).code(4);
    done.says(&["small-disk", "is too full", "--out on another disk"]);
    assert!(!small.join("r").exists(), "the mended command finds its place free");
}

#[test]
fn a_disk_in_memory_can_have_no_neighbours_and_says_so() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let memory = place.path("memory");
    let Some(_disk) = Tmpfs::mount(&memory, "400m") else { return };
    let arguments = ["run", "small.toml", "--out", "memory/r", "--neighbours", "x1"];
    place.run(&arguments).code(2).says(&["--neighbours 0", "--out"]);
    assert!(!memory.join("r").exists(), "the mended command finds its place free");
}

#[test]
fn doctor_asks_for_no_more_than_the_quick_run_needs_and_says_what_blocks_it() {
    let place = Place::new();
    let [large, small] = ["large", "small"].map(|name| place.path(name));
    let disks = (Tmpfs::mount(&large, "3g"), Tmpfs::mount(&small, "50m"));
    let (Some(_large), Some(_small)) = disks else { return };
    let done = place.run(&["doctor", "large"]).code(0);
    done.says(&[
        "missing  neighbours: ",
        "redmine --quick` can run here without what is missing",
        "Which engines can be compared?\nok       engine sqlite: ",
        "They don't say which engine is faster",
        "What to run first: bakeoff run demo",
    ]);
    let done = place.run(&["doctor", "small"]).code(1);
    assert!(!done.out().contains("--out on another disk"), "{}", done.out());
    done.says(&[
        "redmine --quick` can't run here, since this is missing: room",
        "bakeoff doctor DIR",
    ]);
}
