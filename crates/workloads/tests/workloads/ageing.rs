//! A table that was aged holds the rows that it held before, under other ids, whatever the engine.

use std::collections::{BTreeMap, HashSet};

use bakeoff_engines::{Database, ENGINES, EngineHome, Rows, Value};
use bakeoff_testkit::{needs, open_to_all};
use bakeoff_workloads::PreparedWorkload;

use crate::books::whole_tables;
use crate::recorder::Recorder;
use crate::{each_row, load, prepare_at, work};

/// A workload at its smallest scale, at these levels.
fn prepare(workload: &str, levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    let scales = bakeoff_workloads::find_workload(workload).unwrap().scales();
    prepare_at(workload, &scales[0].name, levels)
}

/// The cells of a row beside its id, as text.
fn cells<'a>(row: impl Iterator<Item = Value<'a>>) -> String {
    row.skip(1).map(|cell| format!("{cell:?} ")).collect()
}

/// What the rows hold by their ids, as they are loaded.
fn loaded(prepared: &dyn PreparedWorkload) -> BTreeMap<i64, String> {
    let mut rows = BTreeMap::new();
    each_row(prepared, 0, |row| {
        let Value::Int(id) = row[0] else { panic!("{row:?}") };
        rows.insert(id, cells(row.iter().copied()));
    });
    rows
}

/// What the rows of a database hold by their ids, read along the key.
fn held(prepared: &dyn PreparedWorkload, database: &dyn Database) -> BTreeMap<i64, String> {
    let mut rows = Rows::new();
    database.session().unwrap().run(prepared.statements().len(), &[], &mut rows).unwrap();
    (0..rows.len()).map(|row| (rows.get_int(row, 0).unwrap(), cells(rows.row(row)))).collect()
}

fn sorted(rows: &BTreeMap<i64, String>) -> Vec<&String> {
    let mut held: Vec<&String> = rows.values().collect();
    held.sort();
    held
}

#[test]
fn every_engine_holds_the_same_rows_afterwards() {
    let prepared = prepare("oltp", &[("age", "1x")]);
    let before = loaded(&*prepared);
    let mut first: Option<BTreeMap<i64, String>> = None;
    let engines = ENGINES.iter().map(|engine| engine.about());
    for about in engines.filter(|about| about.stores && about.home != EngineHome::External) {
        let name = about.name;
        if needs(bakeoff_engines::find_level(name).unwrap().available()).is_none() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let database = load(name, folder.path(), &*prepared, whole_tables(&*prepared));
        let mut heard = 0;
        prepared.age_rows(&*database, &mut || heard += 1).unwrap();
        assert!(heard >= 100, "{name}: {heard} signs of life");
        let after = held(&*prepared, &*database);
        assert!(after.keys().eq(before.keys()), "{name}: other ids");
        assert_eq!(sorted(&after), sorted(&before), "{name}");
        // Of 10,000 draws of a row e^-1 leave one where it was.
        let moved = after.iter().filter(|(id, held)| before[id] != **held).count();
        assert!((6_100..6_550).contains(&moved), "{name}: {moved} of 10,000 rows");
        let first = first.get_or_insert_with(|| after.clone());
        assert!(*first == after, "{name}: other rows");
        assert_eq!(database.check().unwrap(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_is_not_aged_has_no_statement_more_and_stays_as_it_was() {
    for (workload, statements) in [("oltp", 9), ("text-oltp", 5)] {
        let new = prepare(workload, &[("age", "0")]);
        assert_eq!(new.statements().len(), statements, "{workload}");
        let folder = tempfile::tempdir().unwrap();
        let database = load("lmdb", folder.path(), &*new, whole_tables(&*new));
        new.age_rows(&*database, &mut || panic!("nothing is to be done")).unwrap();
        assert!(held(&*new, &*database) == loaded(&*new), "{workload}");
    }
}

#[test]
fn a_range_over_deleted_rows_finds_those_after_them() {
    for (age, deleted) in [("0", 0), ("0.5x", 500)] {
        let prepared = prepare("text-oltp", &[("age", age), ("test", "deleted_range")]);
        let folder = tempfile::tempdir().unwrap();
        let database = load("sqlite", folder.path(), &*prepared, Vec::new());
        prepared.age_rows(&*database, &mut || {}).unwrap();
        let mut recorder = Recorder::new(&*prepared, database.session().unwrap());
        let rows = work(&*prepared, &mut recorder, 1).rows;
        let runs = &recorder.runs;
        assert_eq!((runs.len(), rows), (100, 10_000), "{age}");
        assert!(runs.iter().all(|run| (run.number, run.count) == (runs[0].number, 100)));
        let begins: HashSet<i64> = runs.iter().map(|run| run.integers[0]).collect();
        assert!(begins.iter().all(|begin| (1..=deleted + 1).contains(begin)), "{age}: {begins:?}");
        assert!(begins.len() > if deleted > 0 { 50 } else { 0 }, "{age}: {begins:?}");
        // From wherever it begins, it finds the same row first: all before it are gone.
        let firsts: HashSet<&String> = runs.iter().map(|run| &run.first).collect();
        assert_eq!(firsts.len(), 1, "{age}");
    }
}

#[test]
fn other_tests_read_the_rows_that_are_there() {
    for test in ["point_select90_update10", "secondary_random_limit100"] {
        let prepared = prepare("text-oltp", &[("age", "0.5x"), ("test", test)]);
        let before = loaded(&*prepared);
        assert_eq!((before.len(), *before.keys().next().unwrap()), (10_000, 501));
        let folder = tempfile::tempdir().unwrap();
        let database = load("sqlite", folder.path(), &*prepared, whole_tables(&*prepared));
        prepared.age_rows(&*database, &mut || {}).unwrap();
        let after = held(&*prepared, &*database);
        assert!(after.keys().eq(before.keys()));
        assert_eq!(sorted(&after), sorted(&before));
        let tally = work(&*prepared, &mut *database.session().unwrap(), 20);
        // A row that is missing is an error; of the last rows there are fewer than 100.
        let least = if test.starts_with("point") { 2_000 } else { 190_000 };
        assert!(tally.rows >= least, "{test}: {}", tally.rows);
    }
}
