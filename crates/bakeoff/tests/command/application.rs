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

const DUMP: &str = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n\
    CREATE TABLE items (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, n INTEGER, UNIQUE (n));\n\
    CREATE TABLE \"no key\" (a INTEGER);\n\
    INSERT INTO items VALUES(7,'secret',70);\nINSERT INTO items VALUES(3,'secret',30);\nCOMMIT;\n";

#[test]
fn a_dump_becomes_a_folder_and_its_rows_are_run_and_outlive_the_plan_alone() {
    let place = Place::new();
    place.write("shop.sql", DUMP);
    let run = |line: &str| {
        let words = super::words(line);
        Done(place.command(&words).env("XDG_CACHE_HOME", place.path("cache")).output().unwrap())
    };
    run("new mine --from shop.sql").code(0).says(&["change_items, read_items", "left out"]);
    run("check mine").code(0).says(&["sqlite"]);
    let configuration = fs::read_to_string(place.path("mine/workload.toml")).unwrap();
    assert!(configuration.contains("# the table no key is left out"), "{configuration}");
    let generator = "\n[columns.items]\nowner = \"text('made', :row)\"\n";
    place.write("mine/workload.toml", &(configuration + generator));
    let kept = || fs::read_dir(place.path("cache/bakeoff")).map_or(0, Iterator::count);
    let flags = "--engine sqlite --seconds 0.5 --repetitions 1 --rows-from shop.sql";
    run(&format!("run mine --dry-run {flags}"))
        .code(0)
        .says(&["reads shop.sql", "not items.owner"]);
    assert_eq!(kept(), 0, "a plan keeps no rows");
    run(&format!("run mine --out r {flags}")).code(0).says(&["left out", "no key", "rm '"]);
    assert_eq!(kept(), 1);
    run("report r -o r.md").code(0);
    let report = fs::read_to_string(place.path("r.md")).unwrap();
    assert!(report.contains("rows copied from shop.sql") && report.contains("rm '"), "{report}");
    let database = read_kept_rows(&place);
    assert!(!database.contains("secret"), "{database}");
    place.write("shop.sql", &DUMP.replace("(3,'secret',30)", "(7,'secret','x')"));
    run(&format!("run mine --out s {flags}")).code(2).says(&["shop.sql:6:37: items.n: `x` is no"]);
    assert_eq!(kept(), 1);
    let nowhere = run("run mine --rows-from mysql://me:qzxk%2F@127.0.0.1:1/db?ssl-mode=DISABLED");
    let nowhere = nowhere.code(2).says(&["no connection"]);
    assert!(!nowhere.err().contains("qzxk"), "{}", nowhere.err());
    run("new more --from nowhere.sql").code(2).says(&["nowhere.sql: can't be read"]);
    assert!(!place.path("s").exists() && !place.path("more").exists());
}

/// All bytes of what a run keeps of its rows.
fn read_kept_rows(place: &Place) -> String {
    let files = fs::read_dir(place.path("cache/bakeoff")).unwrap().map(|it| it.unwrap().path());
    let bytes = files.flat_map(|path| fs::read(path).unwrap()).collect::<Vec<u8>>();
    String::from_utf8_lossy(&bytes).into_owned()
}
