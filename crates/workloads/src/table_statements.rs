//! Declares statements by the names of columns.

use bakeoff_engines::schema::Table;
use bakeoff_engines::statement::{AccessPath, Filter, ReadOrder, ReadScope, Set, TableRead, Yield};
use bakeoff_engines::{Action, Schema};

/// Begins a statement on a table. Panics if the schema has no such table, and later if there is no
/// such column or index.
pub fn on_table<'a>(schema: &'a Schema, table: &str) -> On<'a> {
    let number = schema.table_number(table);
    On { number, table: &schema.tables[number] }
}

/// A table to declare statements on.
#[derive(Clone, Copy, Debug)]
pub struct On<'a> {
    number: usize,
    table: &'a Table,
}

impl<'a> On<'a> {
    /// Reads the row of a whole key.
    pub fn read_one(self) -> ReadBuilder<'a> {
        self.read_by_key(self.table.key.len())
    }

    /// Reads the rows whose first `equal` key columns equal parameters; 0 for all rows.
    pub fn read_by_key(self, equal: usize) -> ReadBuilder<'a> {
        self.read_range(AccessPath::Key, equal)
    }

    /// Reads the rows whose first `equal` columns of this index equal parameters; 0 for all rows.
    pub fn read_by_index(self, columns: &[&str], equal: usize) -> ReadBuilder<'a> {
        self.read_range(AccessPath::Index(self.table.index_number(columns)), equal)
    }

    /// Adds a row.
    pub fn insert(self) -> Action {
        Action::Insert { table: self.number }
    }

    /// Adds a row, or replaces the row of the same key.
    pub fn upsert(self) -> Action {
        Action::Upsert { table: self.number }
    }

    /// Deletes the row of a key.
    pub fn delete(self) -> Action {
        Action::Delete { table: self.number }
    }

    /// Changes these columns of the row of a key to parameters.
    pub fn update(self, columns: &[&str]) -> Updates<'a> {
        let set = columns.iter().map(|column| Set::To(self.column_number(column))).collect();
        Updates { on: self, set, only_if: Vec::new() }
    }

    fn read_range(self, path: AccessPath, equal: usize) -> ReadBuilder<'a> {
        let columns: Vec<usize> = (0..self.table.columns.len()).collect();
        ReadBuilder { on: self, read: TableRead::by_prefix(self.number, path, equal, &columns) }
    }

    fn column_number(self, column: &str) -> usize {
        self.table.column_number(column)
    }

    fn filter_equal(self, columns: &[&str]) -> impl Iterator<Item = Filter> {
        columns.iter().map(move |column| Filter { column: self.column_number(column), any_of: 1 })
    }
}

/// A read of all columns, without order or limit.
#[derive(Clone, Debug)]
pub struct ReadBuilder<'a> {
    on: On<'a>,
    read: TableRead,
}

impl ReadBuilder<'_> {
    /// The first column of the path is one of `count` parameters.
    pub fn among(mut self, count: usize) -> Self {
        self.read.scope = ReadScope::Among(count);
        self
    }

    /// Keeps rows whose columns equal parameters.
    pub fn filter(mut self, columns: &[&str]) -> Self {
        self.read.filters.extend(self.on.filter_equal(columns));
        self
    }

    /// Keeps rows whose column is one of `count` parameters.
    pub fn any_of(mut self, column: &str, count: usize) -> Self {
        self.read.filters.push(Filter { column: self.on.column_number(column), any_of: count });
        self
    }

    /// Orders the rows.
    pub fn order(mut self, order: ReadOrder) -> Self {
        self.read.order = order;
        self
    }

    /// Limits the rows.
    pub fn limit(mut self, rows: u32) -> Self {
        self.read.limit = Some(rows);
        self
    }

    /// Returns these columns only.
    pub fn columns(mut self, columns: &[&str]) -> Self {
        let numbers = columns.iter().map(|column| self.on.column_number(column)).collect();
        self.read.yields = Yield::Columns(numbers);
        self
    }

    /// Returns the sum of a column.
    pub fn sum(mut self, column: &str) -> Self {
        self.read.yields = Yield::Sum(self.on.column_number(column));
        self
    }

    /// The transaction will write what it reads.
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
    /// Adds a parameter to the column.
    pub fn plus(mut self, column: &str) -> Self {
        self.set.push(Set::Add(self.on.column_number(column)));
        self
    }

    /// Changes the row only if these columns equal parameters.
    pub fn only_if(mut self, columns: &[&str]) -> Self {
        self.only_if.extend(self.on.filter_equal(columns));
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
        let second = on_table(&schema, "second");
        let by_index = TableRead {
            filters: vec![Filter { column: 2, any_of: 1 }, Filter { column: 0, any_of: 5 }],
            order: ReadOrder::Descending,
            limit: Some(9),
            for_update: true,
            ..TableRead::by_prefix(1, AccessPath::Index(1), 1, &[3, 0])
        };
        let reads =
            second.read_by_index(&["state", "size"], 1).filter(&["state"]).any_of("owner", 5);
        let reads = reads.order(ReadOrder::Descending).limit(9).columns(&["size", "owner"]);
        let whole = TableRead::by_prefix(1, AccessPath::Key, 0, &[]);
        let sum = TableRead { scope: ReadScope::Among(3), yields: Yield::Sum(3), ..whole };
        let update = second.update(&["size", "state"]).plus("state").only_if(&["size"]);
        let set = vec![Set::To(3), Set::To(2), Set::Add(2)];
        let only_if = vec![Filter { column: 3, any_of: 1 }];
        for (declared, meant) in [
            (second.read_one().into(), Action::Read(TableRead::by_key(1, 2, &[0, 1, 2, 3]))),
            (reads.for_update().into(), Action::Read(by_index)),
            (second.read_by_key(0).among(3).sum("size").into(), Action::Read(sum)),
            (update.into(), Action::Update { table: 1, set, only_if }),
            (second.insert(), Action::Insert { table: 1 }),
            (second.upsert(), Action::Upsert { table: 1 }),
            (second.delete(), Action::Delete { table: 1 }),
        ] {
            assert_eq!(declared, meant);
        }
    }
}
