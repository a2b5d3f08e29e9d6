//! The text of one statement, part by part, in the order of its parameters.

use super::{Dialect, join};
use crate::schema::Table;
use crate::statement::{
    AccessPath, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use crate::{Error, Result};

/// A statement on one table that is being written; it numbers the parameters.
pub(super) struct StatementText<'a> {
    dialect: Dialect,
    table: &'a Table,
    /// The parameters marked so far.
    parameters: usize,
}

impl<'a> StatementText<'a> {
    pub(super) fn new(dialect: Dialect, table: &'a Table) -> Self {
        Self { dialect, table, parameters: 0 }
    }

    fn name(&self) -> String {
        self.dialect.quote(&self.table.name)
    }

    fn column(&self, column: usize) -> String {
        self.dialect.column(self.table, column)
    }

    fn names(&self, columns: &[usize]) -> String {
        self.dialect.names(self.table, columns)
    }

    /// Marks the next parameter.
    fn parameter(&mut self) -> String {
        self.parameters += 1;
        self.dialect.parameter(self.parameters)
    }

    fn parameters(&mut self, count: usize) -> String {
        join((0..count).map(|_| self.parameter()))
    }

    /// `INSERT` of these values.
    fn values(&self, values: &str) -> String {
        let all: Vec<usize> = (0..self.table.columns.len()).collect();
        format!("INSERT INTO {} ({}) VALUES ({values})", self.name(), self.names(&all))
    }

    pub(super) fn insert(mut self) -> String {
        let columns = 0..self.table.columns.len();
        let values = join(columns.map(|column| {
            let parameter = self.parameter();
            match self.table.generated && self.table.key == [column] {
                true => self.dialect.number(self.table, parameter),
                false => parameter,
            }
        }));
        self.values(&values) + &self.dialect.returning(self.table)
    }

    pub(super) fn insert_or_replace(mut self) -> String {
        let values = self.parameters(self.table.columns.len());
        self.values(&values) + &self.dialect.upsert(self.table)
    }

    pub(super) fn update(mut self, set: &[Set], only_if: &[Filter]) -> Result<String> {
        if set.is_empty() {
            let name = &self.table.name;
            return Err(Error::Usage(format!("an update of {name} that sets nothing")));
        }
        let set = join(set.iter().map(|set| match set {
            Set::To(column) => format!("{} = {}", self.column(*column), self.parameter()),
            Set::Add(column) => {
                let name = self.column(*column);
                format!("{name} = {name} + {}", self.parameter())
            }
        }));
        Ok(format!("UPDATE {} SET {set}{}", self.name(), self.of_key(only_if)))
    }

    pub(super) fn delete(mut self) -> String {
        format!("DELETE FROM {}{}", self.name(), self.of_key(&[]))
    }

    /// `WHERE` the key is given in full and the filters hold.
    fn of_key(&mut self, filters: &[Filter]) -> String {
        let scope = ReadScope::Range { equal: self.table.key.len(), from: None, to: None };
        self.condition(&self.table.key, &scope, filters)
    }

    pub(super) fn read(mut self, read: &TableRead) -> Result<String> {
        let path = match read.path {
            AccessPath::Key => &self.table.key,
            AccessPath::Index(index) => &self.table.indexes[index].columns,
        };
        if let ReadScope::Range { equal, from, to } = read.scope
            && path.len() < equal + usize::from(from.is_some() || to.is_some())
        {
            return Err(Error::Usage(format!("a range of {} beyond its path", self.table.name)));
        }
        let columns = match &read.yields {
            Yield::Columns(columns) => self.names(columns),
            Yield::Sum(column)
            | Yield::Count(column)
            | Yield::Distinct(column)
            | Yield::Sorted(column) => self.column(*column),
        };
        let rows =
            format!("FROM {}{}", self.name(), self.condition(path, &read.scope, &read.filters));
        let ordered = self.order(path, read.order);
        let limit = read.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let lock = if read.for_update { self.dialect.lock() } else { "" };
        let all = format!("SELECT {columns} {rows}{ordered}{limit}{lock}");
        // What is computed from limited rows is computed around them; and what is computed can't
        // be locked, for PostgreSQL.
        let source = match read.limit.is_some() || !lock.is_empty() {
            true => format!("FROM ({all}) AS found"),
            false => rows,
        };
        Ok(match read.yields {
            Yield::Columns(_) => all,
            Yield::Sum(_) => format!("SELECT {} {source}", self.dialect.sum(&columns)),
            Yield::Count(_) => format!("SELECT COUNT({columns}) {source}"),
            Yield::Distinct(column) => {
                let nulls = self.dialect.nulls(self.table, column, false);
                format!("SELECT DISTINCT {columns} {source} ORDER BY {columns}{nulls}")
            }
            Yield::Sorted(column) => {
                let nulls = self.dialect.nulls(self.table, column, false);
                format!("SELECT {columns} {source} ORDER BY {columns}{nulls}")
            }
        })
    }

    /// `ORDER BY` the path and then the key, each column once.
    fn order(&self, path: &[usize], order: ReadOrder) -> String {
        let (reverse, direction) = match order {
            ReadOrder::Any => return String::new(),
            ReadOrder::Ascending => (false, ""),
            ReadOrder::Descending => (true, " DESC"),
        };
        let rest = self.table.key.iter().filter(|column| !path.contains(column));
        let columns = join(path.iter().chain(rest).map(|column| {
            let nulls = self.dialect.nulls(self.table, *column, reverse);
            format!("{}{direction}{nulls}", self.column(*column))
        }));
        format!(" ORDER BY {columns}")
    }

    fn condition(&mut self, path: &[usize], scope: &ReadScope, filters: &[Filter]) -> String {
        let mut all = Vec::new();
        match *scope {
            ReadScope::Range { equal, from, to } => {
                for column in &path[..equal] {
                    all.push(format!("{} = {}", self.column(*column), self.parameter()));
                }
                for (bound, above) in [(from, true), (to, false)] {
                    if let Some(bound) = bound {
                        let (name, sign) = (self.column(path[equal]), comparison(bound, above));
                        all.push(format!("{name} {sign} {}", self.parameter()));
                    }
                }
            }
            ReadScope::Among(count) => all.push(self.any_of(path[0], count)),
            ReadScope::Ranges(count) => {
                let ranges = self.within_any_of(path[0], count);
                // AND binds tighter than OR.
                let alone = count == 1 || filters.is_empty();
                all.push(if alone { ranges } else { format!("({ranges})") });
            }
        }
        for filter in filters {
            all.push(self.any_of(filter.column, filter.any_of));
        }
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }

    fn within_any_of(&mut self, column: usize, count: usize) -> String {
        let name = self.column(column);
        let mut range = || {
            let (from, to) = (self.parameter(), self.parameter());
            format!("{name} BETWEEN {from} AND {to}")
        };
        (0..count).map(|_| range()).collect::<Vec<_>>().join(" OR ")
    }

    fn any_of(&mut self, column: usize, count: usize) -> String {
        let name = self.column(column);
        match count {
            1 => format!("{name} = {}", self.parameter()),
            _ => format!("{name} IN ({})", self.parameters(count)),
        }
    }
}

fn comparison(bound: RangeBound, above: bool) -> &'static str {
    match (bound, above) {
        (RangeBound::Inclusive, true) => ">=",
        (RangeBound::Exclusive, true) => ">",
        (RangeBound::Inclusive, false) => "<=",
        (RangeBound::Exclusive, false) => "<",
    }
}
