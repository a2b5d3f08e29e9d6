//! Run folders that somebody else has made, to do harm: nothing but what bakeoff writes is read,
//! little is read of it, and nothing is written beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bakeoff_results::{DATABASE, EXPERIMENT, Error, RunFolder, Status};
use rusqlite::Connection;

use crate::{TOML, changed, read_everything};

/// Both ways into a folder.
const WAYS: [fn(&Path) -> Option<Error>; 2] =
    [|path| read_everything(path).err(), |path| RunFolder::resume(path).err()];

#[track_caller]
fn refused(path: &Path, words: &str) {
    for way in WAYS {
        let error = way(path).unwrap_or_else(|| panic!("{words}: it is read"));
        let text = error.to_string();
        assert!(text.contains(words), "{words}: {text}");
        assert!(text.contains(DATABASE) || text.contains("run folder"), "{text}");
    }
}

/// A view of the rows looks the same as the table; one without an end never stops.
#[test]
fn only_tables_are_read() {
    let instead = |table: &str, view: &str| {
        format!("ALTER TABLE {table} RENAME TO kept_{table}; CREATE VIEW {table} AS {view};")
    };
    let columns =
        "1 AS id, 0 AS at_s, 0 AS cpu_s, 0 AS memory_s, 0 AS sync_s, 0 AS read_s, '' AS off";
    let endless = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {columns} FROM n"
    );
    for (sql, words) in [
        (instead("trial", "SELECT * FROM kept_trial"), "view trial"),
        (instead("canary", &endless), "view canary"),
        ("DROP TABLE canary; CREATE VIEW canary AS SELECT 1 AS id".to_owned(), "view canary"),
        ("CREATE VIEW more AS SELECT 1".to_owned(), "view more"),
        ("CREATE TABLE more (id)".to_owned(), "table more"),
        // As one is written by a SQLite that has the module.
        (
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET rootpage = 0,
                 sql = 'CREATE VIRTUAL TABLE canary USING fts5(at_s)' WHERE name = 'canary'"
                .to_owned(),
            "canary",
        ),
        (
            "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM trial; END".to_owned(),
            "trigger t",
        ),
        ("CREATE INDEX i ON trial (abs(block))".to_owned(), "index i"),
        ("ALTER TABLE canary ADD COLUMN more TEXT".to_owned(), "table canary"),
        ("ALTER TABLE canary ADD COLUMN n INT AS (1) VIRTUAL".to_owned(), "table canary"),
        (
            "DROP TABLE disturbed; CREATE TABLE disturbed (block TEXT, attempt INTEGER, what TEXT)"
                .to_owned(),
            "table disturbed",
        ),
        ("DROP TABLE owed; CREATE TABLE owed (trial INTEGER)".to_owned(), "table owed"),
        (instead("payment", "SELECT * FROM kept_payment"), "view payment"),
    ] {
        let (_dir, path) = changed(&sql);
        refused(&path, words);
    }
}

/// HdrHistogram takes memory for what the head of a histogram says: five digits of all 64 bits are
/// half a gigabyte of nothing. Compressed ones say it once more.
fn histogram(cookie: &str, digits: u32, low: u64, high: u64) -> String {
    let numbers = format!("{digits:08x}{low:016x}{high:016x}");
    format!("UPDATE operation SET kept = x'{cookie}0000000000000000{numbers}3ff0000000000000'")
}

/// So many rows, of the numbers from 100 on.
fn rows(table: &str, columns: &str, values: &str, count: u32) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT {count})
         INSERT INTO {table} ({columns}) SELECT {values} FROM n"
    )
}

/// Damage: what is of another kind or out of order, text that is not UTF-8, numbers in the place of words.
const DAMAGE: [(&str, &str); 31] = [
    ("UPDATE operation SET kept = x''", ""),
    ("UPDATE operation SET kept = x'1c849313ffffffff'", ""),
    ("UPDATE operation SET kept = zeroblob(300)", ""),
    ("UPDATE operation SET kept = zeroblob(15000000)", "histogram"),
    ("UPDATE operation SET kept = substr(kept, 1, 60)", ""),
    ("UPDATE trial SET reason = CAST(x'ff41' AS TEXT)", ""),
    ("UPDATE operation SET name = CAST(x'c328' AS TEXT)", ""),
    ("UPDATE trial SET levels = '[]'", ""),
    ("UPDATE trial SET levels = '{\"engine\": 1}'", ""),
    ("UPDATE operation SET errors = -1", ""),
    ("UPDATE trial SET block = 1 << 40", ""),
    ("UPDATE operation SET mean_s = 9e999", ""),
    ("UPDATE operation SET mean_s = 0", "mean_s is 0.0"),
    ("UPDATE operation SET mean_s = -1e-3", "mean_s is -0.001"),
    ("UPDATE operation SET mean_s = 5e-324", "mean_s"),
    ("UPDATE operation SET service_mean_s = 1e308", "service_mean_s"),
    ("UPDATE operation SET per_second = 1e-300", "per_second"),
    ("UPDATE trial SET window_end_s = -1.5", "-1.5"),
    ("UPDATE trial SET ran_s = 1e300", "ran_s"),
    ("UPDATE run SET description = json_set(description, '$.seconds', 1e308)", "1e308"),
    ("UPDATE run SET description = json_set(description, '$.load', -1e300)", "-1e300"),
    ("UPDATE run SET ended_s = -1", "ended_s"),
    ("UPDATE run SET description = '{}'", ""),
    ("DELETE FROM run", ""),
    ("UPDATE owed SET points = '[[1.0, 5], [0.5, 6]]'", "0.5"),
    ("UPDATE owed SET points = '[[1e999, 5]]'", "number"),
    ("UPDATE owed SET points = '[[1.0, -5]]'", "u64"),
    ("UPDATE owed SET points = '{}'", "sequence"),
    ("UPDATE owed SET most = -1", "range"),
    ("PRAGMA ignore_check_constraints = 1; UPDATE owed SET unit = 'tables'", "tables"),
    ("UPDATE payment SET ended = '[[2.0, 1], [1.0, 1]]'", "1 s"),
];

#[test]
fn what_bakeoff_would_not_have_written_is_damage() {
    let heads = [
        (histogram("1c849313", 5, 1, u64::MAX), "digits"),
        (histogram("1c849313", 4, 1, 1000), "digits"),
        (histogram("1c849313", 0, 1, 1000), "digits"),
        (histogram("1c849313", 3, 2, 1000), "from 2"),
        (histogram("1c849314", 3, 1, 1000), "histogram"),
    ];
    let heads = heads.iter().map(|(sql, words)| (sql.as_str(), *words));
    for (sql, words) in DAMAGE.into_iter().chain(heads) {
        let (_dir, path) = changed(sql);
        let error = read_everything(&path).expect_err(sql);
        assert!(matches!(error, Error::Damaged { .. }), "{sql}: {error:?}");
        assert!(error.to_string().contains(words), "{sql}: {error}");
        // Who reads one trial meets it, too, in its parts or in its course.
        let is_debt = sql.contains("owed") || sql.contains("payment");
        if is_debt || sql.contains("kept") {
            let trial = RunFolder::open(&path).unwrap().read_trial(0, 0, 0);
            assert!(matches!(trial, Err(Error::Damaged { .. })), "{sql}");
        }
        if is_debt {
            let folder = RunFolder::open(&path).unwrap();
            let trial = &folder.read_trials().unwrap()[0];
            assert!(folder.open_courses().read_course(trial).is_err(), "{sql}");
        }
    }
}

/// Points that would take gigabytes, and minutes to read.
const DEBTS: &str = "DELETE FROM payment;
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 3)
    INSERT INTO payment (trial, position, name, ended)
    SELECT trial.id, n.i, 'flush', '[' || replace(hex(zeroblob(7500000)), '0', ' ') || ']' FROM trial, n";

/// More rows, longer texts than any run has.
#[test]
fn there_is_an_end_to_what_is_read() {
    let long = "0, 0, 0, 0, CAST(zeroblob(20000000) AS TEXT)";
    for (sql, words) in [
        (rows("canary", "at_s, cpu_s, memory_s, sync_s", "0, 0, 0, 0", 1_100_000), "rows"),
        (rows("canary", "at_s, cpu_s, memory_s, sync_s, off", long, 1), "longer"),
        (rows("disturbed", "block, attempt, what", "i, 0, hex(zeroblob(1000000))", 100), "bytes"),
        ("UPDATE owed SET points = '[' || hex(zeroblob(9000000)) || ']'".to_owned(), "longer"),
        (rows("payment", "trial, position, name, ended", "1, i, '', '[]'", 100), "kinds of debt"),
        // Of four trials 180 MB of texts.
        (DEBTS.to_owned(), "bytes"),
    ] {
        let (_dir, path) = changed(&sql);
        let error = read_everything(&path).expect_err(&sql);
        assert!(matches!(error, Error::Refused { .. } | Error::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{sql}: {error}");
    }
}

/// What stands in the place of the database, or of its log, or of its journal.
#[test]
fn only_plain_files_of_a_sane_length_are_opened() {
    type Make = fn(&Path);
    let kinds: [(&str, Make); 5] = [
        ("a link", |path| symlink("/dev/zero", path).unwrap()),
        ("a link", |path| symlink("kept", path).unwrap()),
        ("a FIFO", |path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("too long", |path| {
            fs::File::create(path).unwrap().set_len(100_000_000_000).unwrap();
        }),
    ];
    for end in ["", "-wal", "-journal", "-shm"] {
        for (words, make) in &kinds {
            let (_dir, path) = changed("");
            fs::copy(path.join(DATABASE), path.join("kept")).unwrap();
            let file = path.join(format!("{DATABASE}{end}"));
            let _ = fs::remove_file(&file);
            make(&file);
            refused(&path, &format!("{DATABASE}{end} is {words}"));
        }
    }
}

/// An experiment is read whole where a run goes on.
#[test]
fn the_experiment_of_a_run_that_goes_on_is_a_plain_file() {
    let (_dir, path) = changed("");
    let file = path.join(EXPERIMENT);
    for target in ["/dev/zero", "kept"] {
        fs::write(path.join("kept"), TOML).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(target, &file).unwrap();
        let error = RunFolder::resume(&path).unwrap_err();
        assert!(matches!(error, Error::Untrusted(_)), "{error:?}");
        let error = RunFolder::open(&path).unwrap().check_experiment().unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    }
    fs::remove_file(&file).unwrap();
    fs::write(&file, vec![b'#'; 5 << 20]).unwrap();
    let error = RunFolder::open(&path).unwrap().check_experiment().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let error = RunFolder::resume(&path).unwrap_err();
    assert!(matches!(error, Error::ExperimentChanged { .. }), "{error:?}");
}

/// Names, lengths, times and bytes of all that a folder holds.
fn state(path: &Path) -> Vec<(PathBuf, std::time::SystemTime, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.path(), changed, fs::read(entry.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// A run that was killed has left its log: reading it makes nothing, and takes nothing away.
#[test]
fn reading_writes_nothing() {
    let (_dir, path) = changed("");
    // What a killed run leaves: a database that says that it has a log, with and without one.
    let live = Connection::open(path.join(DATABASE)).unwrap();
    live.execute_batch(
        "PRAGMA journal_mode = WAL; UPDATE run SET status = 'interrupted'; PRAGMA wal_autocheckpoint = 0",
    )
    .unwrap();
    for files in [&["", "-wal"][..], &["", "-wal", "-shm"], &[""]] {
        let copy = tempfile::tempdir().unwrap();
        for end in files {
            let name = format!("{DATABASE}{end}");
            fs::copy(path.join(&name), copy.path().join(&name)).unwrap();
        }
        let before = state(copy.path());
        read_everything(copy.path()).unwrap();
        let status = RunFolder::open(copy.path()).unwrap().read_state().unwrap().status;
        let expected = match files.len() {
            1 => Status::Unfinished,
            _ => Status::Interrupted,
        };
        assert_eq!(status, expected, "{files:?}: what is in the log counts");
        assert!(state(copy.path()) == before, "{files:?}: reading has changed the folder");
    }
}

/// A journal can name another file, which SQLite then removes: `run --resume` of such a folder would
/// remove whatever its maker likes.
#[test]
fn a_journal_that_names_another_file_is_refused() {
    let (dir, path) = changed("");
    let precious = dir.path().join("precious");
    fs::write(&precious, "years of work").unwrap();
    fs::write(path.join(format!("{DATABASE}-journal")), hot_journal(&path, &precious)).unwrap();
    for way in WAYS {
        let error = way(&path).expect("it is refused");
        assert!(error.to_string().contains("journal"), "{error}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
}

/// A journal of no pages that is to be rolled back, with the name of the file above it.
fn hot_journal(path: &Path, above: &Path) -> Vec<u8> {
    let pages = (fs::metadata(path.join(DATABASE)).unwrap().len() / 4096) as u32;
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut journal = magic.to_vec();
    for number in [0, 0, pages, 512, 4096_u32] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    let name = above.to_str().unwrap().as_bytes();
    let sum = name.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    // The page that SQLite locks by stands before the name.
    journal.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    journal.extend(name);
    journal.extend((name.len() as u32).to_be_bytes());
    journal.extend(sum.to_be_bytes());
    journal.extend(magic);
    journal
}

/// A tree of pages whose branches all lead to the same page has more rows than can be counted.
#[test]
fn a_tree_that_leads_to_itself_has_an_end() {
    let (_dir, path) = changed(
        "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 200000)
         INSERT INTO disturbed (block, attempt, what) SELECT i, 0, 'x' FROM n",
    );
    let connection = Connection::open(path.join(DATABASE)).unwrap();
    let root: usize = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'disturbed'", [], |row| {
            row.get(0)
        })
        .unwrap();
    drop(connection);
    let mut bytes = fs::read(path.join(DATABASE)).unwrap();
    let page = |number: usize| (number - 1) * 4096;
    let u16_at =
        |bytes: &[u8], at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    // Every child of the root is its first child, and so is every child below.
    let first_child = |bytes: &[u8], number: usize| {
        let cell = page(number) + u16_at(bytes, page(number) + 12);
        u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap())
    };
    assert_eq!(bytes[page(root)], 5, "the root has children");
    let child = first_child(&bytes, root);
    for at in 0..u16_at(&bytes, page(root) + 3) {
        let cell = page(root) + u16_at(&bytes, page(root) + 12 + 2 * at);
        bytes[cell..cell + 4].copy_from_slice(&child.to_be_bytes());
    }
    fs::write(path.join(DATABASE), bytes).unwrap();
    // Whether it is noticed is SQLite's affair; that it ends is ours, and that what is read is bounded.
    for error in WAYS.iter().filter_map(|way| way(&path)) {
        assert!(matches!(error, Error::Damaged { .. } | Error::Refused { .. }), "{error:?}");
    }
    let read = RunFolder::open(&path).and_then(|folder| folder.read_disturbed());
    assert!(read.is_err() || read.is_ok_and(|rows| rows.len() <= 1_000_000));
}
