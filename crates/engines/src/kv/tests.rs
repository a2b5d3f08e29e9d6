//! Tests of the encodings and of the integrity check, over a store in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex, MutexGuard};

use proptest::prelude::*;

use super::codec::{DecodedCells, encode_row, key_length, push_key, to_successor};
use super::{Visit, list_spaces, open_tables};
use crate::schema::{Column, Table, Type};
use crate::statement::{AccessPath, ReadScope, TableRead, Yield};
use crate::{Action, Result, Rows, Schema, Statement, Value};

/// A cell that owns its text.
#[derive(Clone, Debug)]
enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(int) => Value::Int(*int),
            Self::Real(real) => Value::from(*real),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn int() -> impl Strategy<Value = i64> {
    prop_oneof![-3..3i64, any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
}

/// Texts that are often prefixes of each other, with bytes that the encoding treats apart.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[\0\u{1}a]{0,4}", "[ab\u{7f}é]{0,4}", any::<String>()]
}

fn real() -> impl Strategy<Value = f64> {
    let finite = any::<f64>().prop_filter("finite", |real| real.is_finite());
    prop_oneof![finite, prop::sample::select(vec![0.0, -0.0, 1.5, -1.5, 2.0, 1e19, -1e19])]
}

/// Integers that are no doubles, and halves.
fn decimal() -> BoxedStrategy<Owned> {
    let halves = (-9..9_i64).prop_map(|halves| Owned::Real(halves as f64 / 2.0));
    prop_oneof![int().prop_map(Owned::Int), halves].boxed()
}

fn time(kind: Type) -> impl Strategy<Value = String> {
    (1..10_000, 1..13, 1..29, 0..60, 0..1_000_000).prop_map(
        move |(year, month, day, time, micros)| {
            let date = format!("{year:04}-{month:02}-{day:02}");
            match kind {
                Type::Date => date,
                _ => format!("{date} 23:{time:02}:{time:02}.{micros:06}"),
            }
        },
    )
}

fn column(kind: Type, nullable: bool) -> Column {
    Column { name: "c".into(), kind, nullable }
}

fn cell(column: &Column) -> BoxedStrategy<Owned> {
    let filled = match column.kind {
        Type::Int => int().prop_map(Owned::Int).boxed(),
        Type::Bool => (0..2_i64).prop_map(Owned::Int).boxed(),
        Type::Real => real().prop_map(Owned::Real).boxed(),
        Type::Decimal { .. } => decimal(),
        Type::Date | Type::Timestamp => time(column.kind).prop_map(Owned::Text).boxed(),
        Type::Text { .. } | Type::MediumText => text().prop_map(Owned::Text).boxed(),
        Type::Bytes { .. } => prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..9)
            .prop_map(Owned::Bytes)
            .boxed(),
    };
    if column.nullable { prop_oneof![Just(Owned::Null), filled].boxed() } else { filled }
}

/// Columns, and so many rows of them.
fn table(rows: usize) -> impl Strategy<Value = (Vec<Column>, Vec<Vec<Owned>>)> {
    let kinds = vec![
        Type::Int,
        Type::STRING,
        Type::Bytes { most: 9 },
        Type::Real,
        Type::Decimal { digits: 20, scale: 1 },
        Type::Bool,
        Type::Date,
        Type::Timestamp,
    ];
    let kind = prop::sample::select(kinds);
    let columns = prop::collection::vec((kind, any::<bool>()), 1..12);
    columns.prop_flat_map(move |columns| {
        let columns: Vec<_> = columns.into_iter().map(|(k, n)| column(k, n)).collect();
        let row: Vec<_> = columns.iter().map(cell).collect();
        (Just(columns), prop::collection::vec(row, rows))
    })
}

fn values(row: &[Owned]) -> Vec<Value<'_>> {
    row.iter().map(Owned::value).collect()
}

fn key(columns: &[Column], row: &[Owned]) -> Vec<u8> {
    let mut key = Vec::new();
    for (column, cell) in columns.iter().zip(row) {
        push_key(column, cell.value(), &mut key).unwrap();
    }
    key
}

proptest! {
    #[test]
    fn keys_sort_as_their_cells((columns, rows) in table(2)) {
        let order = values(&rows[0]).cmp(&values(&rows[1]));
        prop_assert_eq!(key(&columns, &rows[0]).cmp(&key(&columns, &rows[1])), order);
    }

    #[test]
    fn keys_decode_to_their_cells((columns, rows) in table(1)) {
        let key = key(&columns, &rows[0]);
        let all: Vec<_> = (0..columns.len()).collect();
        let mut cells = DecodedCells::default();
        cells.reset(columns.len());
        prop_assert_eq!(cells.decode_key(&columns, &all, &key).unwrap(), key.len());
        prop_assert_eq!(key_length(&columns, &all, &key).unwrap(), key.len());
        prop_assert!(key_length(&columns, &all, &key[..key.len() - 1]).is_err());
        for (number, cell) in rows[0].iter().enumerate() {
            prop_assert_eq!(cells.get(number, &[]).unwrap(), cell.value());
        }
    }

    #[test]
    fn a_prefix_ends_before_its_successor((columns, rows) in table(2), length in 0..12usize) {
        let length = length.min(columns.len());
        let prefix = key(&columns[..length], &rows[0][..length]);
        let mut end = prefix.clone();
        to_successor(&mut end);
        let agree = values(&rows[0])[..length] == values(&rows[1])[..length];
        let other = key(&columns, &rows[1]);
        prop_assert_eq!(other >= prefix && (end.is_empty() || other < end), agree);
    }

    #[test]
    fn rows_decode_to_their_cells((columns, rows) in table(1), until in 0..12usize) {
        let all: Vec<_> = (0..columns.len()).collect();
        let until = until.min(columns.len());
        let (mut row, mut cells) = (Vec::new(), DecodedCells::default());
        encode_row(&columns, &all, &|number| Ok(rows[0][number].value()), &mut row).unwrap();
        cells.reset(columns.len());
        let read = cells.decode_row(&columns, &all, &all[..until], &row).unwrap();
        prop_assert!(read <= row.len() && (until < all.len() || read == row.len()));
        for (number, cell) in rows[0][..until].iter().enumerate() {
            prop_assert_eq!(cells.get(number, &row).unwrap(), cell.value());
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_cells(
        (columns, _) in table(0),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let all: Vec<_> = (0..columns.len()).collect();
        let mut cells = DecodedCells::default();
        cells.reset(columns.len());
        let _ = cells.decode_key(&columns, &all, &bytes);
        cells.reset(columns.len());
        if cells.decode_row(&columns, &all, &all, &bytes).is_ok() {
            all.iter().for_each(|number| drop(cells.get(*number, &bytes)));
        }
    }
}

#[test]
fn values_that_a_column_cannot_hold_are_refused() {
    let mut key = Vec::new();
    assert!(push_key(&column(Type::Int, true), Value::Text("1"), &mut key).is_err());
    assert!(push_key(&column(Type::STRING, true), Value::Int(1), &mut key).is_err());
    assert!(push_key(&column(Type::Int, false), Value::Null, &mut key).is_err());
}

/// A store in memory: one transaction at a time, which is all these tests need.
#[derive(Clone)]
struct Memory(Arc<Mutex<Spaces>>);

type Spaces = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

impl Memory {
    fn new(schema: &Schema) -> Self {
        Self(Arc::new(Mutex::new(vec![BTreeMap::new(); list_spaces(schema).len()])))
    }
}

/// What a transaction sees; it takes effect when it is committed.
struct Transaction<'s>(MutexGuard<'s, Spaces>, Spaces);

impl super::KeyValueStore for Memory {
    type Read<'s> = Transaction<'s>;
    type Write<'s> = Transaction<'s>;
    type Bulk<'s> = Transaction<'s>;

    fn read(&self) -> Result<Transaction<'_>> {
        let spaces = self.0.lock().unwrap();
        let copy = spaces.clone();
        Ok(Transaction(spaces, copy))
    }

    fn write(&self) -> Result<Transaction<'_>> {
        self.read()
    }

    fn bulk_load(&self) -> Result<Transaction<'_>> {
        self.read()
    }

    fn drain(&self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl super::ReadTransaction for Transaction<'_> {
    type Bytes<'t>
        = &'t [u8]
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.1[space].get(key).map(Vec::as_slice))
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let to = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
        let mut pairs = self.1[space].range::<[u8], _>((Bound::Included(from), to));
        while let Some((key, value)) = if reverse { pairs.next_back() } else { pairs.next() } {
            if visit(key, value)? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

impl super::WriteTransaction for Transaction<'_> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.1[space].insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.1[space].remove(key);
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        *self.0 = self.1;
        Ok(())
    }
}

impl super::BulkWriter for Transaction<'_> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        super::WriteTransaction::put(self, space, key, value)
    }

    fn finish(self) -> Result<()> {
        super::WriteTransaction::commit(self)
    }
}

fn people() -> Schema {
    let people = Table::new("people")
        .generated_key("id")
        .nullable("town", Type::STRING)
        .column("email", Type::STRING)
        .index(&["town"])
        .unique(&["email"]);
    Schema { tables: vec![people] }
}

/// The key spaces of [`people`]: its rows and its first index.
const ROWS: usize = 1;
const TOWNS: usize = 2;

/// Loads two rows, lets `damage` loose on the key spaces, and checks them.
fn faults_after(damage: impl FnOnce(&mut Spaces)) -> Vec<String> {
    let schema = people();
    let insert = Statement { name: "insert".into(), action: Action::Insert { table: 0 } };
    let memory = Memory::new(&schema);
    let database = open_tables("".as_ref(), memory.clone(), &schema, &[insert]).unwrap();
    let mut session = database.session().unwrap();
    let mut rows = Rows::new();
    for (town, email) in [("Kyiv", "a@x"), ("Lviv", "b@x")] {
        let row = [Value::Null, Value::Text(town), Value::Text(email)];
        session.run(0, &row, &mut rows).unwrap();
    }
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    damage(&mut memory.0.lock().unwrap());
    database.check().unwrap()
}

fn first_key(space: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    space.keys().next().unwrap().clone()
}

#[test]
fn a_check_finds_every_damage() {
    type Damage = fn(&mut Spaces);
    let damages: [(Damage, usize, &str); 4] = [
        (|spaces| drop(spaces[TOWNS].pop_first()), 1, "no entry in index people_town"),
        (
            |spaces| {
                let mut extra = first_key(&spaces[TOWNS]);
                *extra.last_mut().unwrap() = 77;
                spaces[TOWNS].insert(extra, Vec::new());
            },
            1,
            "it has no row",
        ),
        (
            |spaces| {
                let mut extra = first_key(&spaces[TOWNS]);
                extra[1] = b'X';
                spaces[TOWNS].insert(extra, Vec::new());
            },
            1,
            "its row has other cells",
        ),
        // The row itself, and both entries that lead to it.
        (
            |spaces| {
                spaces[ROWS].first_entry().unwrap().get_mut().pop();
            },
            3,
            "a row is cut short",
        ),
    ];
    for (damage, count, said) in damages {
        let faults = faults_after(damage);
        assert!(faults.len() == count && faults[0].contains(said), "{said}: {faults:?}");
    }
}

#[test]
fn a_store_filled_under_another_schema_is_refused() {
    let schema = people();
    let memory = Memory::new(&schema);
    drop(open_tables("".as_ref(), memory.clone(), &schema, &[]).unwrap());
    drop(open_tables("".as_ref(), memory.clone(), &schema, &[]).unwrap());
    let mut other = people();
    other.tables[0].columns[1].nullable = false;
    let refused = open_tables("".as_ref(), memory, &other, &[]).err().unwrap();
    assert!(refused.to_string().contains("another schema"), "{refused}");
}

/// Ranges that overlap, hold one another, meet, or hold nothing.
#[test]
fn a_row_that_several_ranges_hold_counts_once() {
    let table = Table::new("numbers").key_column("n", Type::Int);
    let schema = Schema { tables: vec![table] };
    let read = |yields| Statement {
        name: "in ranges".into(),
        action: Action::Read(TableRead {
            scope: ReadScope::Ranges(4),
            yields,
            ..TableRead::by_prefix(0, AccessPath::Key, 0, &[])
        }),
    };
    let statements = [read(Yield::Count(0)), read(Yield::Columns(vec![0]))];
    let database = open_tables("".as_ref(), Memory::new(&schema), &schema, &statements).unwrap();
    let mut load = database.load(0).unwrap();
    (1..=50).for_each(|n| load.row(&[Value::Int(n)]).unwrap());
    load.finish().unwrap();
    let (mut session, mut rows) = (database.session().unwrap(), Rows::new());
    let largest = i64::MAX;
    for (bounds, found) in [
        ([30, 35, 10, 20, 15, 25, 12, 13], (10..=25).chain(30..=35).collect::<Vec<i64>>()),
        ([1, 5, 6, 7, 7, 7, 1, 5], (1..=7).collect()),
        ([9, 8, 3, 3, 60, 70, -5, 0], vec![3]),
        (
            [40, largest, 45, largest, 2, 2, largest, largest],
            [2].into_iter().chain(40..=50).collect(),
        ),
    ] {
        let bounds = bounds.map(Value::Int);
        assert_eq!(session.run(0, &bounds, &mut rows).unwrap(), 1);
        assert_eq!(rows.get_int(0, 0), Some(found.len() as i64), "{bounds:?}");
        session.run(1, &bounds, &mut rows).unwrap();
        let numbers: Vec<i64> = (0..rows.len()).map(|row| rows.get_int(row, 0).unwrap()).collect();
        assert_eq!(numbers, found, "{bounds:?}");
    }
    let bounds = [1, 5, 1, 5, 8, 9, 1, 5].map(Value::Int);
    let nulls = [&[Value::Null][..], &bounds[1..]].concat();
    session.run(0, &nulls, &mut rows).unwrap();
    assert_eq!(rows.get_int(0, 0), Some(7), "a range with a null holds nothing, the others theirs");
}

#[test]
fn an_index_that_holds_all_that_is_wanted_answers_without_the_rows() {
    let schema = people();
    let read = |columns: &[usize]| Statement {
        name: "by town".into(),
        action: Action::Read(TableRead::by_prefix(0, AccessPath::Index(0), 1, columns)),
    };
    let memory = Memory::new(&schema);
    let statements = [read(&[0, 1]), read(&[0, 2])];
    let database = open_tables("".as_ref(), memory.clone(), &schema, &statements).unwrap();
    let mut load = database.load(0).unwrap();
    load.row(&[Value::Int(7), Value::Text("Lviv"), Value::Text("b@x")]).unwrap();
    load.finish().unwrap();
    memory.0.lock().unwrap()[ROWS].clear();

    let (mut session, mut rows) = (database.session().unwrap(), Rows::new());
    assert_eq!(session.run(0, &[Value::Text("Lviv")], &mut rows).unwrap(), 1);
    assert_eq!(rows.row(0).collect::<Vec<_>>(), [Value::Int(7), Value::Text("Lviv")]);
    assert!(session.run(1, &[Value::Text("Lviv")], &mut rows).is_err(), "the row is gone");
}
