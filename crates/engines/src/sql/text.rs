//! The text of one statement, part by part, in the order of its parameters.

use super::{Dialect, join_parts};
use crate::schema::Table;
use crate::statement::{
    AccessPath, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use crate::{Error, Result};

pub(super) struct StatementText<'a> {
    dialect: Dialect,
    table: &'a Table,
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
        self.dialect.quote_column(self.table, column)
    }

    fn names(&self, columns: &[usize]) -> String {
        self.dialect.quote_columns(self.table, columns)
    }

    fn mark_parameter(&mut self) -> String {
        self.parameters += 1;
        self.dialect.parameter_mark(self.parameters)
    }

    fn mark_parameters(&mut self, count: usize) -> String {
        join_parts((0..count).map(|_| self.mark_parameter()))
    }

    fn insert_values(&self, values: &str) -> String {
        let all: Vec<usize> = (0..self.table.columns.len()).collect();
        format!("INSERT INTO {} ({}) VALUES ({values})", self.name(), self.names(&all))
    }

    pub(super) fn insert(mut self) -> String {
        let columns = 0..self.table.columns.len();
        let values = join_parts(columns.map(|column| {
            let parameter = self.mark_parameter();
            match self.table.generated && self.table.key == [column] {
                true => self.dialect.number_value(self.table, parameter),
                false => parameter,
            }
        }));
        self.insert_values(&values) + &self.dialect.returning_clause(self.table)
    }

    pub(super) fn insert_or_replace(mut self) -> String {
        let values = self.mark_parameters(self.table.columns.len());
        self.insert_values(&values) + &self.dialect.upsert_clause(self.table)
    }

    pub(super) fn update(mut self, set: &[Set], only_if: &[Filter]) -> Result<String> {
        if set.is_empty() {
            let name = &self.table.name;
            return Err(Error::Usage(format!("an update of {name} that sets nothing")));
        }
        let set = join_parts(set.iter().map(|set| match set {
            Set::To(column) => format!("{} = {}", self.column(*column), self.mark_parameter()),
            Set::Add(column) => {
                let (name, kind) = (self.column(*column), self.table.columns[*column].kind);
                let parameter = self.mark_parameter();
                format!("{name} = {}", self.dialect.add_expression(&name, &parameter, kind))
            }
        }));
        Ok(format!("UPDATE {} SET {set}{}", self.name(), self.of_key(only_if)))
    }

    pub(super) fn delete(mut self) -> String {
        format!("DELETE FROM {}{}", self.name(), self.of_key(&[]))
    }

    fn of_key(&mut self, filters: &[Filter]) -> String {
        let scope = ReadScope::Range { equal: self.table.key.len(), from: None, to: None };
        self.write_condition(&self.table.key, &scope, filters)
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
        let rows = format!(
            "FROM {}{}",
            self.name(),
            self.write_condition(path, &read.scope, &read.filters)
        );
        let ordered = self.order_clause(path, read.order);
        let limit = read.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let lock = if read.for_update { self.dialect.lock_clause() } else { "" };
        let all = format!("SELECT {columns} {rows}{ordered}{limit}{lock}");
        // A sum or the like is computed around limited rows; and PostgreSQL can't lock what is
        // computed.
        let source = match read.limit.is_some() || !lock.is_empty() {
            true => format!("FROM ({all}) AS found"),
            false => rows,
        };
        Ok(match read.yields {
            Yield::Columns(_) => all,
            Yield::Sum(column) => {
                let kind = self.table.columns[column].kind;
                format!("SELECT {} {source}", self.dialect.sum_expression(&columns, kind))
            }
            Yield::Count(_) => format!("SELECT COUNT({columns}) {source}"),
            Yield::Distinct(column) => {
                let nulls = self.dialect.nulls_clause(self.table, column, false);
                format!("SELECT DISTINCT {columns} {source} ORDER BY {columns}{nulls}")
            }
            Yield::Sorted(column) => {
                let nulls = self.dialect.nulls_clause(self.table, column, false);
                format!("SELECT {columns} {source} ORDER BY {columns}{nulls}")
            }
        })
    }

    fn order_clause(&self, path: &[usize], order: ReadOrder) -> String {
        let (reverse, direction) = match order {
            ReadOrder::Any => return String::new(),
            ReadOrder::Ascending => (false, ""),
            ReadOrder::Descending => (true, " DESC"),
        };
        let rest = self.table.key.iter().filter(|column| !path.contains(column));
        let columns = join_parts(path.iter().chain(rest).map(|column| {
            let nulls = self.dialect.nulls_clause(self.table, *column, reverse);
            format!("{}{direction}{nulls}", self.column(*column))
        }));
        format!(" ORDER BY {columns}")
    }

    fn write_condition(&mut self, path: &[usize], scope: &ReadScope, filters: &[Filter]) -> String {
        let mut all = Vec::new();
        match *scope {
            ReadScope::Range { equal, from, to } => {
                for column in &path[..equal] {
                    all.push(format!("{} = {}", self.column(*column), self.mark_parameter()));
                }
                for (bound, above) in [(from, true), (to, false)] {
                    if let Some(bound) = bound {
                        let (name, sign) =
                            (self.column(path[equal]), comparison_sign(bound, above));
                        all.push(format!("{name} {sign} {}", self.mark_parameter()));
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
            let (from, to) = (self.mark_parameter(), self.mark_parameter());
            format!("{name} BETWEEN {from} AND {to}")
        };
        (0..count).map(|_| range()).collect::<Vec<_>>().join(" OR ")
    }

    fn any_of(&mut self, column: usize, count: usize) -> String {
        let name = self.column(column);
        match count {
            1 => format!("{name} = {}", self.mark_parameter()),
            _ => format!("{name} IN ({})", self.mark_parameters(count)),
        }
    }
}

fn comparison_sign(bound: RangeBound, above: bool) -> &'static str {
    match (bound, above) {
        (RangeBound::Inclusive, true) => ">=",
        (RangeBound::Exclusive, true) => ">",
        (RangeBound::Inclusive, false) => "<=",
        (RangeBound::Exclusive, false) => "<",
    }
}
