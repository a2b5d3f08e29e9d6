//! Statements on a table, by the names of its columns instead of their numbers.

use bakeoff_engines::schema::Table;
use bakeoff_engines::statement::{AccessPath, Filter, ReadOrder, ReadScope, Set, TableRead, Yield};
use bakeoff_engines::{Action, Schema};

/// The table of that name, to declare statements on it.
///
/// # Panics
/// When the schema has no such table. What follows panics when the table has no such column or index:
/// statements are written, not read from users.
pub fn on<'a>(schema: &'a Schema, table: &str) -> On<'a> {
    let number = schema.table_number(table);
    On { number, table: &schema.tables[number] }
}

/// A table that statements are declared on.
#[derive(Clone, Copy, Debug)]
pub struct On<'a> {
    number: usize,
    table: &'a Table,
}

impl<'a> On<'a> {
    /// Reads the row of a key, given in full.
    pub fn one(self) -> ReadBuilder<'a> {
        self.key(self.table.key.len())
    }

    /// Reads the rows whose first `equal` columns of the key equal parameters; with 0 all rows.
    pub fn key(self, equal: usize) -> ReadBuilder<'a> {
        self.range(AccessPath::Key, equal)
    }

    /// Reads the rows whose first `equal` columns of the index over these columns equal parameters;
    /// with 0 all rows.
    pub fn index(self, columns: &[&str], equal: usize) -> ReadBuilder<'a> {
        self.range(AccessPath::Index(self.table.index_number(columns)), equal)
    }

    /// Adds a row.
    pub fn insert(self) -> Action {
        Action::Insert { table: self.number }
    }

    /// Adds a row, or replaces the row of the same key.
    pub fn upsert(self) -> Action {
        Action::Upsert { table: self.number }
    }

    /// Removes the row of a key.
    pub fn delete(self) -> Action {
        Action::Delete { table: self.number }
    }

    /// Changes the row of a key: these columns become a parameter each.
    pub fn update(self, columns: &[&str]) -> Updates<'a> {
        let set = columns.iter().map(|column| Set::To(self.number(column))).collect();
        Updates { on: self, set, only_if: Vec::new() }
    }

    fn range(self, path: AccessPath, equal: usize) -> ReadBuilder<'a> {
        let columns: Vec<usize> = (0..self.table.columns.len()).collect();
        ReadBuilder { on: self, read: TableRead::range(self.number, path, equal, &columns) }
    }

    fn number(self, column: &str) -> usize {
        self.table.column_number(column)
    }

    /// Conditions that these columns equal a parameter each.
    fn equal(self, columns: &[&str]) -> impl Iterator<Item = Filter> {
        columns.iter().map(move |column| Filter { column: self.number(column), any_of: 1 })
    }
}

/// A read. It answers with all columns, in any order and without a limit, unless it is said otherwise.
#[derive(Clone, Debug)]
pub struct ReadBuilder<'a> {
    on: On<'a>,
    read: TableRead,
}

impl ReadBuilder<'_> {
    /// The first column of the path is one of so many parameters.
    pub fn among(mut self, count: usize) -> Self {
        self.read.scope = ReadScope::Among(count);
        self
    }

    /// Only rows whose columns equal a parameter each.
    pub fn filter(mut self, columns: &[&str]) -> Self {
        self.read.filters.extend(self.on.equal(columns));
        self
    }

    /// Only rows whose column is one of so many parameters.
    pub fn any_of(mut self, column: &str, count: usize) -> Self {
        self.read.filters.push(Filter { column: self.on.number(column), any_of: count });
        self
    }

    /// In this order.
    pub fn order(mut self, order: ReadOrder) -> Self {
        self.read.order = order;
        self
    }

    /// At most so many rows.
    pub fn limit(mut self, rows: u32) -> Self {
        self.read.limit = Some(rows);
        self
    }

    /// Answers with these columns.
    pub fn columns(mut self, columns: &[&str]) -> Self {
        let numbers = columns.iter().map(|column| self.on.number(column)).collect();
        self.read.yields = Yield::Columns(numbers);
        self
    }

    /// Answers with the sum of a column.
    pub fn sum(mut self, column: &str) -> Self {
        self.read.yields = Yield::Sum(self.on.number(column));
        self
    }

    /// The transaction means to write what it reads.
    pub fn for_update(mut self) -> Self {
        self.read.for_update = true;
        self
    }
}

impl From<ReadBuilder<'_>> for Action {
    fn from(reads: ReadBuilder<'_>) -> Self {
        Self::Read(reads.read)
    }
}

/// An update of the row of a key.
#[derive(Clone, Debug)]
pub struct Updates<'a> {
    on: On<'a>,
    set: Vec<Set>,
    only_if: Vec<Filter>,
}

impl Updates<'_> {
    /// A parameter is added to the column.
    pub fn plus(mut self, column: &str) -> Self {
        self.set.push(Set::Add(self.on.number(column)));
        self
    }

    /// Only if these columns equalled a parameter each before.
    pub fn only_if(mut self, columns: &[&str]) -> Self {
        self.only_if.extend(self.on.equal(columns));
        self
    }
}

impl From<Updates<'_>> for Action {
    fn from(Updates { on, set, only_if }: Updates<'_>) -> Self {
        Self::Update { table: on.number, set, only_if }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::schema::Type;

    use super::*;

    #[test]
    fn names_become_the_numbers_of_their_own_table_and_parameters_keep_their_order() {
        let first = Table::new("first").key_column("id", Type::Int);
        let keys =
            Table::new("second").key_column("owner", Type::Int).key_column("number", Type::Int);
        let columns = keys.column("state", Type::Int).column("size", Type::Int);
        let second = columns.index(&["size"]).index(&["state", "size"]);
        let schema = Schema { tables: vec![first, second] };
        let second = on(&schema, "second");
        let by_index = TableRead {
            filters: vec![Filter { column: 2, any_of: 1 }, Filter { column: 0, any_of: 5 }],
            order: ReadOrder::Descending,
            limit: Some(9),
            for_update: true,
            ..TableRead::range(1, AccessPath::Index(1), 1, &[3, 0])
        };
        let reads = second.index(&["state", "size"], 1).filter(&["state"]).any_of("owner", 5);
        let reads = reads.order(ReadOrder::Descending).limit(9).columns(&["size", "owner"]);
        let whole = TableRead::range(1, AccessPath::Key, 0, &[]);
        let sum = TableRead { scope: ReadScope::Among(3), yields: Yield::Sum(3), ..whole };
        let update = second.update(&["size", "state"]).plus("state").only_if(&["size"]);
        let set = vec![Set::To(3), Set::To(2), Set::Add(2)];
        let only_if = vec![Filter { column: 3, any_of: 1 }];
        for (declared, meant) in [
            (second.one().into(), Action::Read(TableRead::by_key(1, 2, &[0, 1, 2, 3]))),
            (reads.for_update().into(), Action::Read(by_index)),
            (second.key(0).among(3).sum("size").into(), Action::Read(sum)),
            (update.into(), Action::Update { table: 1, set, only_if }),
            (second.insert(), Action::Insert { table: 1 }),
            (second.upsert(), Action::Upsert { table: 1 }),
            (second.delete(), Action::Delete { table: 1 }),
        ] {
            assert_eq!(declared, meant);
        }
    }
}
