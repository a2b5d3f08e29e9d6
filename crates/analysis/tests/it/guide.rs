//! docs/results.md against what is really there.

use bakeoff_results::{Canary, DATABASE};
use bakeoff_testkit::synthetic::{ENGINES, TrialGenerator, run, sample_cuts};
use rusqlite::Connection;

use crate::known::{look, write};

const GUIDE: &str = include_str!("../../../../docs/results.md");

/// What is taken out of the database of a run of two blocks, one of them set aside.
fn ask<T>(take: impl FnOnce(&Connection) -> T) -> T {
    let mut generator = TrialGenerator::new(9, 10);
    let blocks = [(0, "16"), (1, "1"), (2, "1")];
    let block = |(block, clients)| generator.generate_block(0, block, [clients, "0"]);
    let trials: Vec<_> = blocks.into_iter().flat_map(block).collect();
    let canary = Canary { at_s: 1.7e9, memory_s: 0.5, sync_s: 0.125, ..look(0.25) };
    write(&run(&["1", "16"], &["0"], 16), &trials, |folder| {
        folder.commit_canary(&canary).unwrap();
        folder.invalidate_block(2, 0, "the canary was off").unwrap();
        sample_cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
        take(&Connection::open(folder.dir().join(DATABASE)).unwrap())
    })
}

/// The rows that a query of the guide brings, each cell as text.
fn rows(connection: &Connection, sql: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let cell = |row: &rusqlite::Row, at| {
        use rusqlite::types::ValueRef::{Blob, Integer, Null, Real, Text};
        match row.get_ref_unwrap(at) {
            Null => String::new(),
            Integer(number) => number.to_string(),
            Real(number) => number.to_string(),
            Text(text) => String::from_utf8_lossy(text).into_owned(),
            Blob(_) => "blob".to_owned(),
        }
    };
    let rows = statement.query_map([], |row| Ok((0..columns).map(|at| cell(row, at)).collect()));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_query_of_the_guide_answers_its_question() {
    let queries: Vec<&str> =
        GUIDE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let answers: Vec<_> =
        ask(|connection| queries.iter().map(|sql| rows(connection, sql)).collect());
    let [progress, speed, written, owed, aside, broken, machine] = answers.as_slice() else {
        panic!("{} queries", answers.len());
    };
    assert_eq!(*progress, [["16", "12", "8"]]);
    // Two operations at two numbers of clients; the fastest engine first.
    assert_eq!(speed.len(), 2 * 2 * ENGINES.len());
    assert_eq!(speed[0][..4], ["create_issue", "1", "gamma", "1"]);
    assert_eq!(speed[4][..3], ["create_issue", "16", "gamma"]);
    let mean: f64 = speed[3][4].parse().unwrap();
    assert!((0.006..0.011).contains(&mean), "beta takes 8 ms: {mean}");
    // Each trial wrote 1 GiB for 2 operations, 10 a second each over 20 seconds, the window or not.
    assert_eq!(written.len(), ENGINES.len());
    assert_eq!(written[0][1], (f64::from(1 << 30) / 400.0).to_string());
    // Twelve trials of 20 seconds, and two debts each.
    assert_eq!(owed.len(), 12 * 20 * 2);
    assert_eq!(owed[0][1..4], ["alpha", "log since the checkpoint", "0.75"]);
    assert_eq!(owed[0][5], "8000000");
    assert_eq!(owed[39], ["1", "alpha", "dead rows", "20", "800", ""]);
    assert_eq!(aside.len(), 4);
    assert_eq!((aside[0][0].as_str(), aside[0][3].as_str()), ("2", "the canary was off"));
    assert_eq!(broken.len(), 2);
    assert_eq!(broken[0][..5], ["alpha", "relaxed", "ext4", "1", "drop-all"]);
    assert_eq!(*machine, [["2023-11-14 22:13:20", "0.25", "0.5", "0.125", "", ""]]);
}

#[test]
fn the_guide_names_every_table_and_column() {
    let sql = "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
               WHERE m.type = 'table'";
    let (columns, pragmas) = ask(|connection| {
        let pragma =
            |name| -> i64 { connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
        (rows(connection, sql), ["application_id", "user_version"].map(pragma))
    });
    assert_eq!(pragmas, [1_650_551_653, 3]);
    assert!(columns.len() > 40, "{}", columns.len());
    for column in columns {
        let [table, column] = column.as_slice() else { panic!("two columns were asked for") };
        // The last: the JSON has a part of that name too.
        let line = GUIDE.lines().rev().find(|line| line.starts_with(&format!("| `{table}` |")));
        let line = line.unwrap_or_else(|| panic!("{table} is not in the guide"));
        let internal = table == "run" && column == "id";
        assert!(internal || line.contains(&format!("`{column}`")), "{table}.{column}");
    }
}
