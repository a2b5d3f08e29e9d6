//! Nonsense, and disks that are too small: the right exit code, nothing lost and nothing left behind.
//! The messages are tested where they are made.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bakeoff_testkit::{Tmpfs, comes_while, in_time, wait_until};

use super::{Done, Place};

#[test]
fn a_path_that_is_not_utf_8_is_refused_before_anything_is_made() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let experiment = place.path("mine.toml");
    let bad = place.0.path().join(OsStr::from_bytes(b"bad\xff\xfename"));
    std::fs::create_dir(&bad).unwrap();
    let run = |arguments: &[&OsStr], at: &Path| {
        let mut command = place.command(&["run"]);
        command.args(arguments).current_dir(at);
        Done(command.output().unwrap()).code(2).says(&["is not UTF-8", "name"]);
    };
    let (out, file) = (bad.join("r"), experiment.as_os_str());
    let dry = OsStr::new("--dry-run");
    for flag in ["--out", "--path"].map(OsStr::new) {
        run(&[file, flag, out.parent().unwrap().as_os_str()], place.0.path());
        run(&[file, flag, out.as_os_str(), dry], place.0.path());
    }
    run(&["--resume".as_ref(), out.as_os_str()], place.0.path());
    run(&[file], &bad);
    run(&[file, "--out".as_ref(), "r".as_ref(), dry], &bad);
    assert_eq!(std::fs::read_dir(&bad).unwrap().count(), 0);
}

#[test]
fn mistakes_are_told_with_the_flag_or_the_file() {
    let place = Place::new();
    place.write("empty.txt", "");
    place.write("gap.tsv", "1\tText.\n\n");
    std::fs::write(place.path("latin.txt"), b"caf\xe9 ".repeat(10_000)).unwrap();
    place.write("bad.toml", "workload = \"point\"\nengine = [\"sqlite\", \"lmbd\"]\ncleints = 3\n");
    let cases: &[(&[&str], &[&str])] = &[
        (&["redmin"], &["did you mean `redmine`"]),
        (&["nowhere.toml"], &["nowhere.toml"]),
        (&["bad.toml"], &["bad.toml:2:", "did you mean `lmdb`", "bad.toml:3:1", "`cleints`"]),
        (&["redmine", "--engine", "sqlit"], &["did you mean `sqlite`"]),
        (&["redmine", "--engine", "mysql"], &["--engine mysql://USER@HOST/DATABASE"]),
        (&["redmine", "--durability", "strikt"], &["`strict`"]),
        (&["redmine", "--scale", "huge"], &["giant"]),
        (&["redmine", "--neighbours", "x"], &["--neighbours"]),
        (&["redmine", "--clients", "-3"], &["--clients"]),
        (&["redmine", "--rate", "-1/s"], &["--rate -1/s"]),
        (&["redmine", "--factor", "colour=red"], &["`colour`"]),
        (&["redmine", "--factor", "clients"], &["NAME=LEVEL,LEVEL"]),
        (&["redmine", "--clients", "1", "--factor", "clients=2"], &["by two flags"]),
        (&["redmine", "--memory", "1GiB"], &["did you mean `1G`"]),
        (&["redmine", "--disk", "hdd-720"], &["did you mean `hdd-7200`"]),
        (&["redmine", "--disk", "hdd-7200/rpm=0"], &["rpm"]),
        (&["redmine", "--seconds", "-1"], &["--seconds"]),
        (&["redmine", "--seconds", "abc"], &["--seconds"]),
        (&["redmine", "--seed", "-1"], &["whole number"]),
        (&["redmine", "--repetitions", "99999999999999"], &["--repetitions", "1000"]),
        (&["redmine", "--compare", "colour"], &["colour"]),
        (&["redmine", "--text", "empty.txt"], &["empty.txt"]),
        (&["redmine", "--dry-run", "--text", "empty.txt"], &["empty.txt", "empty"]),
        (&["redmine", "--text", "latin.txt"], &["UTF-8"]),
        (&["redmine", "--text", "nowhere.txt"], &["nowhere.txt"]),
        (&["redmine", "--rows-from", "latin.txt"], &["text-oltp"]),
        (&["redmine", "--rows-from", "mysql://me@h/db"], &["names a database", "run FOLDER"]),
        (&["text-oltp", "--rows-from", "empty.txt"], &["empty.txt"]),
        (&["text-oltp", "--rows-from", "nowhere.txt"], &["nowhere.txt"]),
        (&["text-oltp", "--rows-from", "gcied"], &["`gcide`"]),
        (&["text-oltp", "--rows-from", "."], &["it is not a file"]),
        (&["text-oltp", "--rows-strict", "--rows-from", "gap.tsv"], &["gap.tsv, line 2"]),
        (&["redmine", "--cuts", "-1"], &["--cuts", "0 to 10000"]),
        (&["redmine", "--cut-number", "x"], &["--cut-number", "0 to 9999"]),
        (&["redmine", "--keep", "torn"], &["--keep"]),
        (&["redmine", "--dry-run", "--cut-recovery"], &["--cut-recovery"]),
        (&["power-cut", "--cuts", "0", "--keep-images"], &["--keep-images"]),
        (&["redmine", "--frobnicate"], &["--frobnicate"]),
        (&[], &["PRESET|FILE.toml", "bakeoff list presets", "--resume DIR"]),
    ];
    for (arguments, texts) in cases {
        place.run(&[&["run"], *arguments].concat()).code(2).says(texts);
    }
    // A line of 2 GB, which takes no room in the file, and half of a packed one.
    std::fs::File::create(place.path("long.tsv")).unwrap().set_len(2 << 30).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    (0..50_000).for_each(|n| writeln!(packed, "Title {n}\tText {}.", n * 7919).unwrap());
    let packed = packed.finish().unwrap();
    std::fs::write(place.path("short.tsv.gz"), &packed[..packed.len() / 2]).unwrap();
    for (name, why) in [("long.tsv", "NUL"), ("short.tsv.gz", "gzip data are broken")] {
        place.run(&["run", "text-oltp", "--rows-from", name]).code(2).says(&[name, why]);
    }
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 6, "nothing was made");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let place = Place::small();
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/thesis", "years of work");
    for out in ["mine", "/proc/nowhere", "small.toml"] {
        place.run(&["run", "small.toml", "--out", out]).code(3).says(&[out]);
    }
    assert_eq!(std::fs::read_dir(place.path("mine")).unwrap().count(), 1);
    place.run(&["report", "mine"]).code(3).says(&["not a run folder"]);
    place.run(&["run", "--resume", "mine"]).code(3).says(&["not a run folder"]);
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    let place = Place::small();
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
        let done = Done(run.wait_with_output().unwrap());
        let over = done.0.status.code() == Some(0) || ran() >= 12;
        (!over).then_some((folder, full, done))
    });
    done.code(4);
    place.assert_clean(&folder);
    // SQLite asks for room to read a log that the end could not fold in.
    drop(full);
    let kept = super::trials(&place.path(&folder));
    assert!((1..12).contains(&kept), "{kept}");

    place.run(&["run", "--resume", &folder]).code(0);
    let document = place.json(&folder);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.iter().filter(|trial| trial["valid"] == true).count(), 12);
}

#[test]
fn a_disk_without_inodes_is_told_and_left_as_it_was() {
    let place = Place::small();
    // The first stop at the folder and its files, the next at the work folder, the last at an image.
    for inodes in [1, 2, 3, 5, 7, 10, 16] {
        let small = place.path(&format!("disk{inodes}"));
        let Some(_disk) = Tmpfs::mount(&small, &format!("400m,nr_inodes={inodes}")) else { return };
        let out = format!("disk{inodes}/r");
        place.run(&["run", "small.toml", "--out", &out]).code(4).says(&["no inodes", &out[..5]]);
        assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0, "{inodes}");
        place.run(&["run", "small.toml", "--out", &out, "--dry-run"]).code(4).says(&["no inodes"]);
    }
}

/// SQLite maps the index of the log into memory.
#[test]
fn a_run_whose_map_is_cut_off_below_it_ends_with_words_and_goes_on() {
    let place = Place::small();
    let (folder, done) = in_time("the run", |number| {
        let folder = format!("r{number}");
        let run = ["run", "small.toml", "--repetitions", "6", "--out", &folder];
        let mut run = place.start(&run);
        let ran = || super::trials(&place.path(&folder));
        comes_while(&mut run, "the first trial", || ran() >= 1);
        let index = place.path(&folder).join("run.sqlite-shm");
        let cut = std::fs::File::options().write(true).open(index).and_then(|it| it.set_len(0));
        let done = Done(run.wait_with_output().unwrap());
        (cut.is_ok() && done.0.status.code() != Some(0)).then_some((folder, done))
    });
    done.code(3).says(&["cut short", "--resume"]);
    place.run(&["run", "--resume", &folder]).code(0);
    place.assert_clean(&folder);
}

#[test]
fn a_disk_too_small_for_the_table_or_the_debt_ends_the_run_and_leaves_its_place_free() {
    let place = Place::small();
    let [large, small] = ["large", "small"].map(|name| place.path(name));
    let Some(_large) = Tmpfs::mount(&large, "400m") else { return };
    let toml =
        "workload = \"oltp\"\nengine = [\"sqlite\", \"lmdb\"]\nscale = \"1M\"\nseconds = 1\n";
    place.write("table.toml", toml);
    let figures = [" is too full: ", "MB needed: about 583 MB for oltp 1M", "--scale"];
    // The plan says so, too.
    let run = ["run", "table.toml", "--out", "large/r"];
    for more in [&[][..], &["--dry-run"]] {
        place.run(&[&run[..], more].concat()).code(4).says(&figures);
    }
    // A disk in memory can have no neighbours either.
    let neighbours = ["run", "small.toml", "--out", "large/r", "--neighbours", "x1"];
    place.run(&neighbours).code(2).says(&["--neighbours 0", "--out"]);
    assert!(!large.join("r").exists(), "the mended command finds its place free");

    let Some(disk) = Tmpfs::mount(&small, "120m") else { return };
    // The journal has no more room than it takes itself: it is written on until it is large enough.
    let owes = "workload = \"ledger\"\nengine = \"fjall\"\nstate = \"steady\"\nclients = 1\n\
                durability = \"relaxed\"\nneighbours = \"0\"\n";
    place.write("owes.toml", owes);
    let run = place.start(&["run", "owes.toml", "--out", "small/r"]);
    wait_until("the calibration", || small.join("r/work/trial").exists());
    let _full = disk.fill();
    let done = Done(run.wait_with_output().unwrap()).code(4);
    done.says(&["small", "is too full", "--out on another disk"]);
    assert!(!small.join("r").exists(), "the mended command finds its place free");
}
