//! Generated keys. An engine may choose any numbers that grow. The client gets stand-ins, numbered
//! in order of arrival, and the engine gets its own keys back, so the client does the same on every
//! engine.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::statement::{AccessPath, ReadScope, Set, TableRead, Yield};
use bakeoff_engines::{Action, Schema, Value};

/// The first stand-in: far above all row numbers and times in microseconds.
const FIRST: i64 = 1 << 56;

pub type TableColumn = (usize, usize);

#[derive(Default)]
pub struct Ids {
    generated: Vec<(usize, i64)>,
    known: BTreeMap<(usize, i64), usize>,
    /// The tables whose generated keys a column holds: its own, and those that the client wrote
    /// there or looked up.
    holds: BTreeSet<(TableColumn, usize)>,
}

impl Ids {
    pub fn from_schema(schema: &Schema) -> Self {
        let tables = schema.tables.iter().enumerate().filter(|(_, table)| table.generated);
        Self {
            holds: tables.map(|(at, table)| ((at, table.key[0]), at)).collect(),
            ..Self::default()
        }
    }

    /// The generated key that a stand-in stands for, counted from 1.
    pub fn key_number(value: i64) -> Option<i64> {
        value.checked_sub(FIRST).filter(|number| *number >= 0).map(|number| number + 1)
    }

    pub fn count(&self) -> usize {
        self.generated.len()
    }

    /// Their transaction was undone: the engine may give other keys to the next.
    pub fn forget_after(&mut self, count: usize) {
        for key in self.generated.drain(count..) {
            self.known.remove(&key);
        }
    }

    pub fn add_key(&mut self, table: usize, key: i64) -> i64 {
        let place = self.generated.len();
        self.generated.push((table, key));
        self.known.insert((table, key), place);
        FIRST + place as i64
    }

    /// Writing or looking up a stand-in in a column tells whose keys the column holds.
    pub fn for_engine<'v>(&mut self, value: Value<'v>, column: Option<TableColumn>) -> Value<'v> {
        let Value::Int(number) = value else { return value };
        let place = Self::key_number(number).and_then(|it| usize::try_from(it - 1).ok());
        let Some(&(table, key)) = place.and_then(|it| self.generated.get(it)) else { return value };
        self.holds.extend(column.map(|column| (column, table)));
        Value::Int(key)
    }

    pub fn for_client<'v>(&self, value: Value<'v>, column: Option<TableColumn>) -> Value<'v> {
        let (Value::Int(number), Some(column)) = (value, column) else { return value };
        let tables = self.holds.range((column, 0)..=(column, usize::MAX));
        let place = tables.into_iter().find_map(|(_, table)| self.known.get(&(*table, number)));
        place.map_or(value, |place| Value::Int(FIRST + *place as i64))
    }
}

pub fn parameter_columns(schema: &Schema, action: &Action) -> Vec<TableColumn> {
    let of = |table: usize, columns: &[usize]| {
        columns.iter().map(|column| (table, *column)).collect::<Vec<TableColumn>>()
    };
    match action {
        Action::Read(read) => of(read.table, &looked_for(schema, read)),
        Action::Insert { table } | Action::Upsert { table } => {
            (0..schema.tables[*table].columns.len()).map(|column| (*table, column)).collect()
        }
        Action::Update { table, set, only_if } => {
            let set = set.iter().map(|set| match set {
                Set::To(column) | Set::Add(column) => *column,
            });
            let key = schema.tables[*table].key.iter().copied();
            let filters = only_if.iter().flat_map(|it| std::iter::repeat_n(it.column, it.any_of));
            of(*table, &set.chain(key).chain(filters).collect::<Vec<_>>())
        }
        Action::Delete { table } => of(*table, &schema.tables[*table].key),
        Action::Sql(_) => Vec::new(),
    }
}

fn looked_for(schema: &Schema, read: &TableRead) -> Vec<usize> {
    let table = &schema.tables[read.table];
    let path = match read.path {
        AccessPath::Key => table.key.clone(),
        AccessPath::Index(index) => [&table.indexes[index].columns[..], &table.key].concat(),
    };
    let scope: Vec<usize> = match read.scope {
        ReadScope::Range { equal, from, to } => {
            let bounds = usize::from(from.is_some()) + usize::from(to.is_some());
            let bounded = path.get(equal).copied().into_iter().cycle().take(bounds);
            path.iter().copied().take(equal).chain(bounded).collect()
        }
        ReadScope::Among(_) | ReadScope::Ranges(_) => {
            std::iter::repeat_n(path[0], read.scope.count_parameters()).collect()
        }
    };
    let filters = read.filters.iter().flat_map(|it| std::iter::repeat_n(it.column, it.any_of));
    scope.into_iter().chain(filters).collect()
}

/// `None` stands for a computed cell.
pub fn answered_columns(schema: &Schema, action: &Action) -> Vec<Option<TableColumn>> {
    match action {
        Action::Read(read) => match &read.yields {
            Yield::Columns(columns) => columns.iter().map(|it| Some((read.table, *it))).collect(),
            Yield::Sum(_) | Yield::Count(_) => vec![None],
            Yield::Distinct(column) | Yield::Sorted(column) => vec![Some((read.table, *column))],
        },
        Action::Insert { table } => vec![Some((*table, schema.tables[*table].key[0]))],
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } | Action::Sql(_) => {
            Vec::new()
        }
    }
}
