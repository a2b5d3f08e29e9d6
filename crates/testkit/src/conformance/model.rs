//! A simple model of a database: rows in a map, every read a full scan.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::schema::Table;
use bakeoff_engines::statement::{
    AccessPath, Action, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use bakeoff_engines::{RealValue, Rows, Schema, Value};

/// A value that owns its text or bytes. The order is that of [`Value`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Int(i64),
    Real(RealValue),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(int) => Value::Int(*int),
            Self::Real(real) => Value::Real(*real),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    fn plus(&self, more: &Self) -> Self {
        match (self, more) {
            (Self::Int(this), Self::Int(more)) => Self::Int(this + more),
            _ => Self::Null,
        }
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value().cmp(&other.value())
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(int) => Self::Int(int),
            Value::Real(real) => Self::Real(real),
            Value::Text(text) => Self::Text(text.into()),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

pub type Row = Vec<Cell>;

pub fn cells(rows: &Rows) -> Vec<Row> {
    (0..rows.len()).map(|row| rows.row(row).map(Cell::from).collect()).collect()
}

/// The answer to a statement: its rows, and the number that it returns.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub rows: Vec<Row>,
    pub count: u64,
}

impl Answer {
    fn changed(count: usize) -> Self {
        Self { rows: Vec::new(), count: count as u64 }
    }
}

/// A key or the columns of a unique index are taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Duplicate;

#[derive(Clone, Debug)]
pub struct Model {
    schema: Schema,
    tables: Vec<BTreeMap<Row, Row>>,
    /// The highest number that each table has ever had, for generated keys.
    highest: Vec<i64>,
}

impl Model {
    pub fn new(schema: &Schema) -> Self {
        let count = schema.tables.len();
        Self {
            schema: schema.clone(),
            tables: vec![BTreeMap::new(); count],
            highest: vec![0; count],
        }
    }

    pub fn highest(&self, table: usize) -> i64 {
        self.highest[table]
    }

    /// The rows of a table in the order of their keys.
    pub fn rows(&self, table: usize) -> impl Iterator<Item = &Row> {
        self.tables[table].values()
    }

    /// Runs a statement. A generated key is given among the parameters, and `null` becomes the
    /// next one.
    pub fn run(&mut self, action: &Action, parameters: &[Cell]) -> Result<Answer, Duplicate> {
        match action {
            Action::Read(read) => Ok(self.read(read, parameters)),
            Action::Insert { table } => self.insert(*table, parameters),
            Action::Upsert { table } => self.upsert(*table, parameters),
            Action::Update { table, set, only_if } => self.update(*table, set, only_if, parameters),
            Action::Delete { table } => {
                Ok(Answer::changed(usize::from(self.tables[*table].remove(parameters).is_some())))
            }
            Action::Sql(text) => panic!("{}: the model has no SQL", text.place),
        }
    }

    fn insert(&mut self, number: usize, parameters: &[Cell]) -> Result<Answer, Duplicate> {
        let mut row = parameters.to_vec();
        let table = &self.schema.tables[number];
        if table.generated && row[table.key[0]] == Cell::Null {
            row[table.key[0]] = Cell::Int(self.highest[number] + 1);
        }
        let key = pick(&row, &table.key);
        if self.tables[number].contains_key(&key) {
            return Err(Duplicate);
        }
        let answer = vec![vec![key[0].clone()]];
        self.put(number, row)?;
        Ok(Answer { rows: answer, count: 1 })
    }

    fn upsert(&mut self, number: usize, parameters: &[Cell]) -> Result<Answer, Duplicate> {
        self.put(number, parameters.to_vec())?;
        Ok(Answer::changed(1))
    }

    fn update(
        &mut self,
        number: usize,
        set: &[Set],
        only_if: &[Filter],
        parameters: &[Cell],
    ) -> Result<Answer, Duplicate> {
        let key_columns = self.schema.tables[number].key.len();
        let (values, rest) = parameters.split_at(set.len());
        let (key, conditions) = rest.split_at(key_columns);
        let Some(row) = self.tables[number].get(key) else { return Ok(Answer::changed(0)) };
        if !holds(row, only_if, conditions) {
            return Ok(Answer::changed(0));
        }
        let mut row = row.clone();
        for (set, value) in set.iter().zip(values) {
            match *set {
                Set::To(column) => row[column] = value.clone(),
                Set::Add(column) => row[column] = row[column].plus(value),
            }
        }
        self.put(number, row)?;
        Ok(Answer::changed(1))
    }

    /// Puts a row in the place of its key, unless it clashes with another row.
    fn put(&mut self, number: usize, row: Row) -> Result<(), Duplicate> {
        let table = &self.schema.tables[number];
        let key = pick(&row, &table.key);
        for index in table.indexes.iter().filter(|index| index.unique) {
            let values = pick(&row, &index.columns);
            let others = self.tables[number].iter().filter(|(other, _)| **other != key);
            let mut others = others.map(|(_, other)| pick(other, &index.columns));
            if !values.contains(&Cell::Null) && others.any(|other| other == values) {
                return Err(Duplicate);
            }
        }
        if let (true, Cell::Int(given)) = (table.generated, &key[0]) {
            self.highest[number] = self.highest[number].max(*given);
        }
        self.tables[number].insert(key, row);
        Ok(())
    }

    fn read(&self, read: &TableRead, parameters: &[Cell]) -> Answer {
        let table = &self.schema.tables[read.table];
        let path = path(table, read.path);
        let (scope, filters) = parameters.split_at(read.scope.count_parameters());
        let mut found: Vec<&Row> = self.tables[read.table]
            .values()
            .filter(|row| inside(&pick(row, path), &read.scope, scope))
            .filter(|row| holds(row, &read.filters, filters))
            .collect();
        found.sort_by_key(|row| (pick(row, path), pick(row, &table.key)));
        if read.order == ReadOrder::Descending {
            found.reverse();
        }
        found.truncate(read.limit.map_or(usize::MAX, |limit| limit as usize));
        let rows: Vec<Row> = match &read.yields {
            Yield::Columns(columns) => found.iter().map(|row| pick(row, columns)).collect(),
            Yield::Sum(column) => {
                let zero = Cell::Int(0);
                let given = found.iter().map(|row| &row[*column]).filter(|c| **c != Cell::Null);
                vec![vec![given.fold(zero, |sum, cell| sum.plus(cell))]]
            }
            Yield::Count(column) => {
                let values = found.iter().filter(|row| row[*column] != Cell::Null);
                vec![vec![Cell::Int(values.count() as i64)]]
            }
            Yield::Distinct(column) => {
                let values: BTreeSet<&Cell> = found.iter().map(|row| &row[*column]).collect();
                values.into_iter().map(|cell| vec![cell.clone()]).collect()
            }
            Yield::Sorted(column) => {
                let mut values: Vec<&Cell> = found.iter().map(|row| &row[*column]).collect();
                values.sort();
                values.into_iter().map(|cell| vec![cell.clone()]).collect()
            }
        };
        Answer { count: rows.len() as u64, rows }
    }
}

fn path(table: &Table, path: AccessPath) -> &[usize] {
    match path {
        AccessPath::Key => &table.key,
        AccessPath::Index(index) => &table.indexes[index].columns,
    }
}

fn pick(row: &[Cell], columns: &[usize]) -> Row {
    columns.iter().map(|column| row[*column].clone()).collect()
}

/// Whether a path's columns lie in its scope. A null equals nothing and is on no side of a bound.
fn inside(path: &[Cell], scope: &ReadScope, parameters: &[Cell]) -> bool {
    let (equal, from, to) = match *scope {
        ReadScope::Range { equal, from, to } => (equal, from, to),
        ReadScope::Among(_) => return path[0] != Cell::Null && parameters.contains(&path[0]),
        ReadScope::Ranges(_) => {
            let within = |bounds: &[Cell]| {
                !bounds.contains(&Cell::Null) && bounds[0] <= path[0] && path[0] <= bounds[1]
            };
            return path[0] != Cell::Null && parameters.chunks(2).any(within);
        }
    };
    let (fixed, mut bounds) = (&parameters[..equal], parameters[equal..].iter());
    let mut holds = fixed.iter().zip(path).all(|(wanted, cell)| equals(cell, wanted));
    for (bound, above) in [(from, true), (to, false)] {
        let Some(bound) = bound else { continue };
        let (cell, limit) = (&path[equal], bounds.next().expect("a value for each bound"));
        let beyond = if above { cell > limit } else { cell < limit };
        let within = beyond || (bound == RangeBound::Inclusive && cell == limit);
        holds &= within && *cell != Cell::Null && *limit != Cell::Null;
    }
    holds
}

fn equals(cell: &Cell, wanted: &Cell) -> bool {
    cell == wanted && *cell != Cell::Null
}

fn holds(row: &[Cell], filters: &[Filter], mut parameters: &[Cell]) -> bool {
    filters.iter().all(|filter| {
        let (wanted, rest) = parameters.split_at(filter.any_of);
        parameters = rest;
        wanted.iter().any(|wanted| equals(&row[filter.column], wanted))
    })
}
