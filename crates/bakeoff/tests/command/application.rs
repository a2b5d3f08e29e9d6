//! A user's own application: made, checked, run, resumed without its folder; and folders with mistakes.

use std::fs;
use std::os::unix::fs::symlink;

use bakeoff_testkit::{comes_while, in_time};
use rustix::process::{Pid, Signal, kill_process};

use super::{Done, Place, trials};

const PLANNED: i64 = 6;
const RUN: &str =
    "run shop --engine sqlite,lmdb --factor mix=kv --seconds 0.5 --repetitions 3 --out r";

/// A place with the example of `bakeoff new` in `shop`.
fn shop() -> Place {
    let place = Place::new();
    place.typed("new shop").code(0).says(&["bakeoff check shop"]);
    place
}

#[test]
fn an_application_is_made_checked_run_and_resumed_without_its_folder() {
    let place = shop();
    place.typed("new shop").code(3).says(&["shop"]);
    place.typed("check shop").code(0).says(&["✓ sqlite", "history", "bakeoff run shop"]);
    place.typed("run shop --engine lmdb").code(2).says(&["history.sql:", "mix=kv"]);
    let texts = "run shop --dry-run --engine lmdb,sqlite --factor mix=kv --factor prepared=off";
    place.typed(texts).code(2).says(&["lmdb has no SQL", "it runs --factor prepared=on"]);
    let place = in_time("the run", |_| {
        let place = shop();
        let mut run = place.start(&super::words(RUN));
        let ran = || trials(&place.path("r"));
        let begun = comes_while(&mut run, "the first trial", || ran() >= 1);
        kill_process(Pid::from_child(&run), Signal::INT).unwrap();
        let done = Done(run.wait_with_output().unwrap());
        (begun && ran() < PLANNED).then(|| {
            done.code(130);
            place
        })
    });
    fs::remove_dir_all(place.path("shop")).unwrap();
    let elsewhere = Place::new();
    let folder = place.path("r");
    elsewhere.run(&["run", "--resume", folder.to_str().unwrap()]).code(0);
    let document = place.json("r");
    let all = document["trials"].as_array().unwrap();
    assert_eq!(all.iter().filter(|trial| trial["valid"] == true).count() as i64, PLANNED);
    place.typed("report r").code(0).says(&["shop", "sqlite", "lmdb"]);
}

const SELL: &str = "\\set k random(1, :shows)\nBEGIN;\n\
                    SELECT free FROM shows WHERE id = :k FOR UPDATE \\gset\n\
                    \\if :free < 1\nROLLBACK;\n\
                    \\else\nUPDATE shows SET free = free - 1 WHERE id = :k;\nCOMMIT;\n\\endif\n";

/// When all seats are sold, nobody meets a conflict.
#[test]
fn what_a_script_gives_up_is_in_the_report_and_is_no_retry() {
    let place = Place::new();
    fs::create_dir(place.path("seats")).unwrap();
    let schema = "CREATE TABLE shows (id INTEGER PRIMARY KEY, free INTEGER NOT NULL);\n";
    place.write("seats/schema.sql", schema);
    place.write("seats/workload.toml", "[rows]\nshows = 10\n[columns.shows]\nfree = \"2\"\n");
    place.write("seats/sell.sql", SELL);
    let run = "run seats --engine sqlite --clients 1 --seconds 0.5 --repetitions 1 --out r";
    place.typed(run).code(0);
    let document = place.json("r");
    let warnings = document["warnings"].as_array().unwrap();
    let text = |code: &str| {
        let found = warnings.iter().find(|warning| warning["code"] == code)?;
        found["text"].as_str().map(str::to_owned)
    };
    let paths = text("paths-taken").unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(paths.contains("of sell ") && paths.contains("rolled back by the script"), "{paths}");
    assert_eq!(text("retries"), None);
}

#[test]
fn every_mistake_of_a_folder_is_told_at_once() {
    let place = shop();
    place.write("shop/buy.sql", "SELECT id FROM ordes;\n\\if 1 = 1\n");
    place.write("shop/zero.sql", "");
    let places = ["shop/buy.sql:1:16", "shop/buy.sql:2:1", "shop/zero.sql: is empty"];
    for line in ["check shop", "run shop"] {
        place.typed(line).code(2).says(&places);
    }
    // A file that leads out of the folder is not read.
    fs::remove_file(place.path("shop/zero.sql")).unwrap();
    symlink("/etc/passwd", place.path("shop/zero.sql")).unwrap();
    for line in ["check shop", "run shop"] {
        let told = place.typed(line).code(2).says(&["shop/zero.sql"]);
        assert!(!format!("{}{}", told.out(), told.err()).contains("root:"));
    }
}
