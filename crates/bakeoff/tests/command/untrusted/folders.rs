//! Changes of run folders: as values of SQL, as JSON in it, as bytes.

use std::fs;
use std::path::Path;

use bakeoff_report::{CsvRows, FORMATS, Options, render};
use bakeoff_results::{DATABASE, Error, RunFolder, escape_unseen};
use rand::RngExt;
use rusqlite::Connection;
use serde_json::Value;

use super::fuzz::{self, Extent, NUMBERS, Random, TEXTS, one};
use super::samples;

#[test]
#[ignore = "slow: make test-slow"]
fn no_change_of_a_run_folder_is_too_much() {
    changed("untrusted::folders::no_change_of_a_run_folder_is_too_much", Extent::Seeds(SEEDS));
}

#[test]
#[ignore = "soak: about 10 min"]
fn no_change_of_a_run_folder_is_too_much_soak() {
    changed("untrusted::folders::no_change_of_a_run_folder_is_too_much_soak", Extent::Soak);
}

/// Folders that are tried, but for those that are kept.
const SEEDS: u64 = 100;

/// Changes folders in the test of that name.
fn changed(test: &str, extent: Extent) {
    let below = tempfile::tempdir().unwrap();
    let samples = samples::folders(below.path());
    fuzz::run(test, extent, |random, folder| {
        let dir = folder.join("run");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        for entry in fs::read_dir(one(random, &samples)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
        }
        for _ in 0..random.random_range(1..4) {
            change(random, &dir);
        }
        let read = look_at(&dir);
        // Going on with it is refused, or what is then in it can be shown.
        let resumed = RunFolder::resume(&dir).and_then(|folder| {
            folder.read_calibration(samples::CALIBRATED)?;
            bakeoff_analysis::read_document(&folder)
        });
        match resumed {
            Ok(document) => show(&document),
            Err(error) => check(&error, &dir),
        }
        read
    });
}

/// Reads and shows a folder.
fn look_at(dir: &Path) -> &'static str {
    let read = |folder: RunFolder| Ok((bakeoff_analysis::read_document(&folder)?, folder));
    match RunFolder::open(dir).and_then(read) {
        Ok((mut document, folder)) => {
            match document.take_series(&folder) {
                Ok(()) => assert_eq!(document.series.len(), document.trials.len()),
                Err(error) => check(&error, dir),
            }
            show(&document);
            "shown"
        }
        Err(error) => {
            check(&error, dir);
            match error {
                Error::Damaged { .. } => "damaged",
                Error::Refused { .. } => "refused",
                _ => "no run",
            }
        }
    }
}

/// Every format, in which nothing is that can't be seen.
fn show(document: &bakeoff_analysis::Document) {
    for format in FORMATS.iter().map(|format| format.name) {
        for rows in [None, Some(CsvRows::Trials), Some(CsvRows::Cuts), Some(CsvRows::Series)] {
            if rows.is_some() && format != "csv" {
                continue;
            }
            let options = Options { rows, ..Options::default() };
            let text = render(document, format, &options).unwrap();
            let text = text.replace("\r\n", "\n");
            assert!(matches!(escape_unseen(&text), std::borrow::Cow::Borrowed(_)), "{format:?}");
            if format == "json" {
                serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    }
    let colours = Options { color: true, width: 40, ..Options::default() };
    render(document, "term", &colours).unwrap();
    bakeoff_report::verdict(document);
}

/// An error names the folder, and is one of those that say what to do.
fn check(error: &Error, dir: &Path) {
    assert!(error.to_string().contains(&dir.display().to_string()), "{error}");
    assert!(!matches!(error, Error::Other { .. }), "{error:?}");
}

fn change(random: &mut Random, dir: &Path) {
    let path = dir.join(DATABASE);
    match random.random_range(0..10) {
        0..3 => with(&path, |database| set_values(random, database)),
        3..7 => with(&path, |database| set_json(random, database)),
        7 => with(&path, |database| alter(random, database)),
        8 => change_bytes(random, &path),
        _ => beside(random, dir),
    }
}

/// Works on the database, as far as it still is one.
fn with(path: &Path, change: impl FnOnce(&Connection) -> rusqlite::Result<()>) {
    let Ok(database) = Connection::open(path) else { return };
    let quick = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA foreign_keys = OFF;
                 PRAGMA ignore_check_constraints = ON;";
    // What can't be done to it is no case.
    let _ = database.execute_batch(quick).and_then(|()| change(&database));
}

/// A table and a column of it.
fn column(random: &mut Random, database: &Connection) -> rusqlite::Result<(String, String)> {
    let mut statement = database.prepare(
        "SELECT it.name, of.name FROM sqlite_schema AS it JOIN pragma_table_info(it.name) AS of
         WHERE it.type = 'table'",
    )?;
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let columns: Vec<(String, String)> = columns.collect::<rusqlite::Result<_>>()?;
    if columns.is_empty() {
        Err(rusqlite::Error::QueryReturnedNoRows)
    } else {
        Ok(one(random, &columns))
    }
}

fn quoted(text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("CAST(x'{bytes}' AS TEXT)")
}

/// Other values in the rows of a column, in the place of numbers, of texts, of nothing.
fn set_values(random: &mut Random, database: &Connection) -> rusqlite::Result<()> {
    if random.random_bool(0.5) {
        // Without the kinds of columns any value goes into each.
        database.execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(replace(sql, ') STRICT', ')'), 'NOT NULL', '');
             PRAGMA writable_schema = RESET;",
        )?;
    }
    for _ in 0..random.random_range(1..4) {
        let (table, column) = column(random, database)?;
        let value = match random.random_range(0..6) {
            0 => "NULL".to_owned(),
            1 | 2 => one(random, NUMBERS).to_owned(),
            3 => quoted(one(random, TEXTS)),
            4 => format!("randomblob({})", random.random_range(0..100)),
            _ => format!("\"{column}\" * {}", one(random, NUMBERS)),
        };
        let rows = match random.random_range(0..3) {
            0 => String::new(),
            every => format!("WHERE rowid % {} = 0", every + 1),
        };
        let _ =
            database.execute_batch(&format!("UPDATE {table} SET \"{column}\" = {value} {rows}"));
    }
    Ok(())
}

/// Another value somewhere in the JSON of a row.
fn set_json(random: &mut Random, database: &Connection) -> rusqlite::Result<()> {
    let columns = [
        ("run", "description"),
        ("run", "description"),
        ("trial", "levels"),
        ("trial", "measures"),
        ("trial", "facts"),
        ("trial", "warnings"),
        ("cut", "facts"),
        ("cut", "facts"),
        ("owed", "points"),
        ("payment", "ended"),
    ];
    let (table, column) = one(random, &columns);
    let sql = format!("SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL");
    let mut statement = database.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    if rows.is_empty() {
        return Ok(());
    }
    let (id, json) = one(random, &rows);
    let Ok(mut value) = serde_json::from_str::<Value>(&json) else { return Ok(()) };
    for _ in 0..random.random_range(1..4) {
        change_json(random, &mut value);
    }
    let all = if random.random_bool(0.3) { "1".to_owned() } else { format!("rowid = {id}") };
    let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {all}");
    database.execute(&sql, [value.to_string()]).map(drop)
}

fn change_json(random: &mut Random, value: &mut Value) {
    // Most of what there is stands below.
    if random.random_bool(0.85) {
        match value {
            Value::Array(all) if !all.is_empty() => {
                let at = random.random_range(0..all.len());
                return change_json(random, &mut all[at]);
            }
            Value::Object(all) if !all.is_empty() => {
                let at = random.random_range(0..all.len());
                return change_json(random, all.values_mut().nth(at).unwrap());
            }
            _ => {}
        }
    }
    match (random.random_range(0..7), &mut *value) {
        (0, Value::Array(all)) if !all.is_empty() => {
            let again = all[random.random_range(0..all.len())].clone();
            let times = one(random, &[1, 2, 70, 3000]);
            all.extend(std::iter::repeat_n(again, times));
        }
        (1, Value::Array(all)) => drop(all.pop()),
        (1, Value::Object(all)) => {
            let name = all.keys().next().cloned();
            name.map(|name| all.remove(&name));
        }
        (2, Value::Object(all)) => {
            let name = one(random, TEXTS).to_owned();
            let copied = all.values().next().cloned().unwrap_or_default();
            all.insert(name, copied);
        }
        (3 | 4, Value::String(text)) => text.push_str(one(random, TEXTS)),
        (2..5, _) => {
            *value = serde_json::from_str(one(random, NUMBERS)).unwrap_or(Value::Null);
        }
        (5, _) => *value = one(random, &[Value::Null, Value::Bool(true), Value::from(vec![0; 3])]),
        _ => *value = Value::from(one(random, TEXTS).repeat(one(random, &[1, 1, 1, 500]))),
    }
}

/// Rows more or less, and tables that are others.
fn alter(random: &mut Random, database: &Connection) -> rusqlite::Result<()> {
    let (table, column) = column(random, database)?;
    let version = random.random_range(0..5);
    let keep = random.random_range(1..4);
    let sql = match random.random_range(0..11) {
        0 => format!("DELETE FROM {table} WHERE rowid % {keep} = 0"),
        1 => format!("DELETE FROM {table}"),
        2 => format!("ALTER TABLE {table} DROP COLUMN \"{column}\""),
        3 => format!("ALTER TABLE {table} ADD COLUMN more AS (\"{column}\")"),
        4 => format!("ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} AS SELECT * FROM old"),
        5 => format!("CREATE INDEX more ON {table} (abs(\"{column}\"))"),
        6 => format!("PRAGMA user_version = {version}"),
        7 => format!("DROP TABLE {table}"),
        8 => "UPDATE trial SET attempt = attempt + 7 WHERE rowid % 2; UPDATE operation SET position = 9 - position".to_owned(),
        9 => "INSERT INTO operation SELECT * FROM (SELECT * FROM operation) WHERE 0;
              UPDATE operation SET kept = (SELECT histogram FROM slot LIMIT 1), service = kept"
            .to_owned(),
        _ => "UPDATE trial SET valid = 1, ran_s = NULL".to_owned(),
    };
    database.execute_batch(&sql)
}

/// The file as bytes.
fn change_bytes(random: &mut Random, path: &Path) {
    let Ok(mut bytes) = fs::read(path) else { return };
    if bytes.len() < 8192 {
        return;
    }
    let pages = bytes.len() / 4096;
    let page = |random: &mut Random| random.random_range(0..pages) * 4096;
    match random.random_range(0..6) {
        0 => {
            for _ in 0..random.random_range(1..30) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
        }
        // The heads of pages, where SQLite has what it goes by.
        1 => {
            for _ in 0..random.random_range(1..6) {
                let at = page(random) + random.random_range(0..24);
                bytes[at] = one(random, &[0, 1, 2, 5, 10, 13, 127, 255]);
            }
        }
        2 => {
            let (from, to) = (page(random), page(random));
            bytes.copy_within(from..from + 4096, to);
        }
        3 => bytes.truncate(random.random_range(0..8192.max(pages * 4096))),
        4 => {
            let at = random.random_range(0..100);
            bytes[at] = random.random();
        }
        // Inside of histograms.
        _ => {
            let head = [0x1c, 0x84, 0x93, 0x13];
            let found: Vec<usize> = bytes
                .windows(4)
                .enumerate()
                .filter(|(_, it)| *it == head)
                .map(|(at, _)| at)
                .collect();
            for _ in 0..found.len().min(40) {
                let at = one(random, &found) + random.random_range(0..60);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = one(random, &[0, 1, 3, 0x7f, 0x80, 0xff]);
                }
            }
        }
    }
    fs::write(path, bytes).unwrap();
}

/// What lies beside the database.
fn beside(random: &mut Random, dir: &Path) {
    let end = one(random, &["-wal", "-journal", "-shm"]);
    let path = dir.join(format!("{DATABASE}{end}"));
    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    let mut noise = vec![0; random.random_range(0..10_000)];
    random.fill(&mut noise[..]);
    if noise.len() > 8 && random.random_bool(0.7) {
        let head: &[u8] = match end {
            "-wal" => &[0x37, 0x7f, 0x06, 0x82, 0, 0x2d, 0xe2, 0x18],
            _ => &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7],
        };
        noise[..8].copy_from_slice(head);
    }
    match random.random_range(0..8) {
        0 => fs::create_dir(&path).unwrap(),
        1 => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
        _ => fs::write(&path, noise).unwrap(),
    }
}
