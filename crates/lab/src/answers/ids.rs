//! Keys that an engine generates: which numbers it gives is its own choice, as long as they grow. The
//! client gets stand-ins, numbered in the order in which keys come, and the engine gets its own keys back;
//! so the client does the same whatever these are.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::statement::{AccessPath, ReadScope, Set, TableRead, Yield};
use bakeoff_engines::{Action, Schema, Value};

/// The first stand-in: far above the numbers of any table or time in microseconds.
const FIRST: i64 = 1 << 56;

/// A column: its table and its number in it.
pub type TableColumn = (usize, usize);

/// The generated keys of one client, and the stand-ins that it was given for them.
#[derive(Default)]
pub struct Ids {
    /// The table and the engine's own key of each, in the order in which they came.
    generated: Vec<(usize, i64)>,
    /// The place of each in these.
    known: BTreeMap<(usize, i64), usize>,
    /// The tables whose generated keys a column holds: its own, and those whose keys the client has put
    /// there or looked for.
    holds: BTreeSet<(TableColumn, usize)>,
}

impl Ids {
    /// Those of a schema, none given out yet.
    pub fn from_schema(schema: &Schema) -> Self {
        let tables = schema.tables.iter().enumerate().filter(|(_, table)| table.generated);
        Self {
            holds: tables.map(|(at, table)| ((at, table.key[0]), at)).collect(),
            ..Self::default()
        }
    }

    /// Which generated key a number stands for, from 1; `None` for any other number.
    pub fn number(value: i64) -> Option<i64> {
        value.checked_sub(FIRST).filter(|number| *number >= 0).map(|number| number + 1)
    }

    /// How many were given out.
    pub fn count(&self) -> usize {
        self.generated.len()
    }

    /// Forgets those that were given out since there were so many: their transaction was undone, and the
    /// engine may give others to the next.
    pub fn forget_after(&mut self, count: usize) {
        for key in self.generated.drain(count..) {
            self.known.remove(&key);
        }
    }

    /// The stand-in of a key that the engine has just given to a new row.
    pub fn give(&mut self, table: usize, key: i64) -> i64 {
        let place = self.generated.len();
        self.generated.push((table, key));
        self.known.insert((table, key), place);
        FIRST + place as i64
    }

    /// A value as the engine knows it. A stand-in that is put into a column, or looked for there, says
    /// whose keys the column holds.
    pub fn for_engine<'v>(&mut self, value: Value<'v>, column: Option<TableColumn>) -> Value<'v> {
        let Value::Int(number) = value else { return value };
        let place = Self::number(number).and_then(|it| usize::try_from(it - 1).ok());
        let Some(&(table, key)) = place.and_then(|it| self.generated.get(it)) else { return value };
        self.holds.extend(column.map(|column| (column, table)));
        Value::Int(key)
    }

    /// A value of a column as the client knows it.
    pub fn for_client<'v>(&self, value: Value<'v>, column: Option<TableColumn>) -> Value<'v> {
        let (Value::Int(number), Some(column)) = (value, column) else { return value };
        let tables = self.holds.range((column, 0)..=(column, usize::MAX));
        let place = tables.into_iter().find_map(|(_, table)| self.known.get(&(*table, number)));
        place.map_or(value, |place| Value::Int(FIRST + *place as i64))
    }
}

/// The column of each parameter of a statement.
pub fn parameters(schema: &Schema, action: &Action) -> Vec<TableColumn> {
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
    }
}

/// The columns whose values a read is given.
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
            std::iter::repeat_n(path[0], read.scope.parameters()).collect()
        }
    };
    let filters = read.filters.iter().flat_map(|it| std::iter::repeat_n(it.column, it.any_of));
    scope.into_iter().chain(filters).collect()
}

/// The column of each cell of a row that a statement answers with; `None` for what is worked out.
pub fn answered(schema: &Schema, action: &Action) -> Vec<Option<TableColumn>> {
    match action {
        Action::Read(read) => match &read.yields {
            Yield::Columns(columns) => columns.iter().map(|it| Some((read.table, *it))).collect(),
            Yield::Sum(_) | Yield::Count(_) => vec![None],
            Yield::Distinct(column) | Yield::Sorted(column) => vec![Some((read.table, *column))],
        },
        Action::Insert { table } => vec![Some((*table, schema.tables[*table].key[0]))],
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => Vec::new(),
    }
}
