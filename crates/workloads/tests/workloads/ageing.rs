//! A table that was aged holds the rows that it held before, under other ids, whatever the engine.

use std::collections::{BTreeMap, HashSet};

use bakeoff_engines::{Access, Database, ENGINES, EngineHome, Result, Rows, Session, Value};
use bakeoff_testkit::{needs, open_to_all};
use bakeoff_workloads::{DeclaredLevels, OperationTally, PreparedWorkload, WorkloadParameters};

use crate::books::whole_tables;
use crate::{load, text};

/// A workload at its smallest scale, at these levels.
fn prepare(workload: &str, levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    let workload = bakeoff_workloads::find(workload).unwrap();
    let levels: DeclaredLevels =
        levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
    let scale = workload.scales()[0].name.clone();
    workload.prepare(&WorkloadParameters { levels, ..WorkloadParameters::new(&scale, 1, text()) })
}

/// The cells of a row beside its id, as text.
fn cells<'a>(row: impl Iterator<Item = Value<'a>>) -> String {
    row.skip(1).map(|cell| format!("{cell:?} ")).collect()
}

/// What the rows hold by their ids, as they are loaded.
fn loaded(prepared: &dyn PreparedWorkload) -> BTreeMap<i64, String> {
    let mut rows = BTreeMap::new();
    let taken = prepared.rows(0, &mut |row| {
        let Value::Int(id) = row[0] else { panic!("{row:?}") };
        rows.insert(id, cells(row.iter().copied()));
        Ok(())
    });
    taken.unwrap();
    rows
}

/// What the rows of a database hold by their ids, read along the key.
fn held(prepared: &dyn PreparedWorkload, database: &dyn Database) -> BTreeMap<i64, String> {
    let mut rows = Rows::new();
    database.session().unwrap().run(prepared.statements().len(), &[], &mut rows).unwrap();
    (0..rows.len()).map(|row| (rows.int(row, 0).unwrap(), cells(rows.row(row)))).collect()
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
        if needs(bakeoff_engines::find(name).unwrap().available()).is_none() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let database = load(name, folder.path(), &*prepared, whole_tables(&*prepared));
        let mut heard = 0;
        prepared.age(&*database, &mut || heard += 1).unwrap();
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
        new.age(&*database, &mut || panic!("nothing is to be done")).unwrap();
        assert!(held(&*new, &*database) == loaded(&*new), "{workload}");
    }
}

/// Notes the integers of each statement, and how many rows it answers with.
struct Notes<'a> {
    inner: Box<dyn Session + 'a>,
    sent: Vec<(usize, Vec<i64>, u64)>,
    firsts: HashSet<String>,
}

impl Session for Notes<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.inner.run(number, values, rows)?;
        let integers = values.iter().filter_map(|value| match value {
            Value::Int(integer) => Some(*integer),
            _ => None,
        });
        self.sent.push((number, integers.collect(), count));
        self.firsts.insert(format!("{:?}", rows.get(0, 0)));
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

/// A statement's number, its integers, and a count.
type Asked = (usize, Vec<i64>, u64);

/// One operation of `deleted_range` on a table of that age.
fn deleted_range(age: &str) -> (Vec<Asked>, HashSet<String>, OperationTally) {
    let prepared = prepare("text-oltp", &[("age", age), ("test", "deleted_range")]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    prepared.age(&*database, &mut || {}).unwrap();
    let inner = database.session().unwrap();
    let mut notes = Notes { inner, sent: Vec::new(), firsts: HashSet::new() };
    let (mut client, mut tally) = (prepared.client(0, 1, 3), OperationTally::default());
    let operation = client.choose();
    client.perform(operation, &mut notes, &mut tally).unwrap();
    (notes.sent, notes.firsts, tally)
}

#[test]
fn a_range_over_deleted_rows_finds_those_after_them() {
    for (age, deleted) in [("0", 0), ("0.5x", 500)] {
        let (sent, firsts, tally) = deleted_range(age);
        assert_eq!((sent.len(), tally.rows), (100, 10_000), "{age}");
        for (number, integers, count) in &sent {
            assert_eq!((*number, *count), (sent[0].0, 100));
            assert!((1..=deleted + 1).contains(&integers[0]), "{age}: {integers:?}");
        }
        // From wherever it begins, it finds the same row first: all before it are gone.
        assert_eq!(firsts.len(), 1, "{age}");
        let begins: HashSet<i64> = sent.iter().map(|(_, integers, _)| integers[0]).collect();
        assert!(begins.len() > if deleted > 0 { 50 } else { 0 }, "{age}: {begins:?}");
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
        prepared.age(&*database, &mut || {}).unwrap();
        let after = held(&*prepared, &*database);
        assert!(after.keys().eq(before.keys()));
        assert_eq!(sorted(&after), sorted(&before));
        let (mut client, mut tally) = (prepared.client(0, 1, 3), OperationTally::default());
        let mut session = database.session().unwrap();
        for _ in 0..20 {
            let operation = client.choose();
            client.perform(operation, &mut *session, &mut tally).unwrap();
        }
        // A row that is missing is an error; of the last rows there are fewer than 100.
        let least = if test.starts_with("point") { 2_000 } else { 190_000 };
        assert!(tally.rows >= least, "{test}: {}", tally.rows);
    }
}
