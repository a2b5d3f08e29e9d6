//! Schemas and statements as SQL text.
//!
//! The text is written once, when a database is opened; what the dialects of SQL disagree on is
//! kept in [`Dialect`]. Parameters stand in the text in the order in which [`crate::statement`]
//! lists them, so that a session binds them one by one.

use crate::schema::{Index, Table, Type};
use crate::statement::{Action, Bound, Filter, Order, Path, Read, Scope, Set, Yield};
use crate::{Error, Result, Schema};

/// Whose SQL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite: `?` for a parameter, nulls first, rows stored in their key's order on demand.
    Sqlite,
}

impl Dialect {
    /// A name that is no keyword, whatever it is.
    fn quote(self, name: &str) -> String {
        match self {
            Self::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// The mark of the next parameter.
    fn parameter(self) -> &'static str {
        match self {
            Self::Sqlite => "?",
        }
    }

    fn column_type(self, kind: Type) -> &'static str {
        match (self, kind) {
            (Self::Sqlite, Type::Int) => "INTEGER",
            (Self::Sqlite, Type::Text | Type::LongText) => "TEXT",
        }
    }

    /// What follows the columns of a table: its key, and how it is stored.
    ///
    /// SQLite keeps a row under a number of its own; an integer key takes that number's place,
    /// any other key is given its place by `WITHOUT ROWID`. Only `AUTOINCREMENT` makes numbers
    /// grow for ever: without it the number of a deleted last row is given again.
    fn key(self, table: &Table) -> (String, &'static str) {
        let columns = self.names(table, &table.key);
        match self {
            Self::Sqlite if table.generated => {
                (format!("PRIMARY KEY ({columns} AUTOINCREMENT)"), "")
            }
            Self::Sqlite if is_one_integer(table) => (format!("PRIMARY KEY ({columns})"), ""),
            Self::Sqlite => (format!("PRIMARY KEY ({columns})"), " WITHOUT ROWID"),
        }
    }

    /// What turns an insert into an upsert, given the key's columns and the assignments.
    fn upsert(self, key: &str, columns: &[String]) -> String {
        match self {
            Self::Sqlite => {
                let set: Vec<_> =
                    columns.iter().map(|name| format!("{name} = excluded.{name}")).collect();
                format!(" ON CONFLICT ({key}) DO UPDATE SET {}", set.join(", "))
            }
        }
    }

    fn names(self, table: &Table, columns: &[usize]) -> String {
        let names: Vec<_> = columns.iter().map(|column| self.column(table, *column)).collect();
        names.join(", ")
    }

    fn column(self, table: &Table, column: usize) -> String {
        self.quote(&table.columns[column].name)
    }

    /// `CREATE TABLE` for a table, without its indexes.
    pub fn create_table(self, table: &Table) -> String {
        let (key, storage) = self.key(table);
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "" } else { " NOT NULL" };
                format!("{} {}{null}", self.quote(&column.name), self.column_type(column.kind))
            })
            .collect();
        let name = self.quote(&table.name);
        format!("CREATE TABLE {name} ({}, {key}){storage}", columns.join(", "))
    }

    /// `CREATE INDEX` for an index of a table.
    pub fn create_index(self, table: &Table, index: &Index) -> String {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let (name, on) = (self.quote(&index.name), self.quote(&table.name));
        format!("CREATE {unique}INDEX {name} ON {on} ({})", self.names(table, &index.columns))
    }

    /// `DROP INDEX` for an index.
    pub fn drop_index(self, index: &Index) -> String {
        format!("DROP INDEX {}", self.quote(&index.name))
    }

    /// Has the planner's statistics of a table collected.
    pub fn analyze(self, table: &Table) -> String {
        format!("ANALYZE {}", self.quote(&table.name))
    }

    /// `INSERT` of a whole row.
    pub fn insert(self, table: &Table) -> String {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let (name, columns) = (self.quote(&table.name), self.names(table, &all));
        format!("INSERT INTO {name} ({columns}) VALUES ({})", self.parameters(all.len()))
    }

    /// The text of a statement.
    ///
    /// # Errors
    /// [`Error::Usage`] for a statement that means nothing.
    pub fn statement(self, schema: &Schema, action: &Action) -> Result<String> {
        Ok(match action {
            Action::Read(read) => self.read(&schema.tables[read.table], read)?,
            Action::Insert { table } => self.insert(&schema.tables[*table]),
            Action::Upsert { table } => self.insert_or_replace(&schema.tables[*table]),
            Action::Update { table, set, only_if } => {
                self.update(&schema.tables[*table], set, only_if)?
            }
            Action::Delete { table } => {
                let table = &schema.tables[*table];
                format!("DELETE FROM {}{}", self.quote(&table.name), self.of_key(table, &[]))
            }
        })
    }

    fn insert_or_replace(self, table: &Table) -> String {
        let rest = (0..table.columns.len()).filter(|column| !table.key.contains(column));
        let mut columns: Vec<String> = rest.map(|column| self.column(table, column)).collect();
        if columns.is_empty() {
            // A row that is all key is replaced by itself: it still counts as one.
            columns.push(self.column(table, table.key[0]));
        }
        self.insert(table) + &self.upsert(&self.names(table, &table.key), &columns)
    }

    fn update(self, table: &Table, set: &[Set], only_if: &[Filter]) -> Result<String> {
        if set.is_empty() {
            return Err(Error::Usage(format!("an update of {} that sets nothing", table.name)));
        }
        let mark = self.parameter();
        let set: Vec<_> = set
            .iter()
            .map(|set| match set {
                Set::To(column) => format!("{} = {mark}", self.column(table, *column)),
                Set::Add(column) => {
                    let name = self.column(table, *column);
                    format!("{name} = {name} + {mark}")
                }
            })
            .collect();
        let (name, only) = (self.quote(&table.name), self.of_key(table, only_if));
        Ok(format!("UPDATE {name} SET {}{only}", set.join(", ")))
    }

    /// `WHERE` the key is given in full and the filters hold.
    fn of_key(self, table: &Table, filters: &[Filter]) -> String {
        let scope = Scope::Range { equal: table.key.len(), from: None, to: None };
        self.condition(table, &table.key, &scope, filters)
    }

    fn read(self, table: &Table, read: &Read) -> Result<String> {
        let path = match read.path {
            Path::Key => table.key.clone(),
            Path::Index(index) => table.indexes[index].columns.clone(),
        };
        if let Scope::Range { equal, from, to } = read.scope
            && path.len() < equal + usize::from(from.is_some() || to.is_some())
        {
            return Err(Error::Usage(format!("a range of {} beyond its path", table.name)));
        }
        let columns = match &read.yields {
            Yield::Columns(columns) => self.names(table, columns),
            Yield::Sum(column) | Yield::Distinct(column) => self.column(table, *column),
        };
        let rows = format!(
            "FROM {}{}",
            self.quote(&table.name),
            self.condition(table, &path, &read.scope, &read.filters)
        );
        let ordered = self.order(table, &path, read.order);
        let limit = read.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        // What is computed from limited rows is computed around them.
        let source = match read.limit {
            Some(_) => format!("FROM (SELECT {columns} {rows}{ordered}{limit}) AS limited"),
            None => rows.clone(),
        };
        Ok(match &read.yields {
            Yield::Columns(_) => format!("SELECT {columns} {rows}{ordered}{limit}"),
            Yield::Sum(_) => format!("SELECT COALESCE(SUM({columns}), 0) {source}"),
            Yield::Distinct(_) => format!("SELECT DISTINCT {columns} {source} ORDER BY {columns}"),
        })
    }

    /// `ORDER BY` the path and then the key, each column once.
    fn order(self, table: &Table, path: &[usize], order: Order) -> String {
        let direction = match order {
            Order::Any => return String::new(),
            Order::Ascending => "",
            Order::Descending => " DESC",
        };
        let rest = table.key.iter().filter(|column| !path.contains(column));
        let columns: Vec<_> = path
            .iter()
            .chain(rest)
            .map(|column| format!("{}{direction}", self.column(table, *column)))
            .collect();
        format!(" ORDER BY {}", columns.join(", "))
    }

    fn condition(self, table: &Table, path: &[usize], scope: &Scope, filters: &[Filter]) -> String {
        let mark = self.parameter();
        let mut all = Vec::new();
        match *scope {
            Scope::Range { equal, from, to } => {
                for column in &path[..equal] {
                    all.push(format!("{} = {mark}", self.column(table, *column)));
                }
                for (bound, above) in [(from, true), (to, false)] {
                    if let Some(bound) = bound {
                        let name = self.column(table, path[equal]);
                        all.push(format!("{name} {} {mark}", comparison(bound, above)));
                    }
                }
            }
            Scope::Among(count) => all.push(self.any_of(table, path[0], count)),
        }
        for filter in filters {
            all.push(self.any_of(table, filter.column, filter.any_of));
        }
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }

    fn any_of(self, table: &Table, column: usize, count: usize) -> String {
        let name = self.column(table, column);
        match count {
            1 => format!("{name} = {}", self.parameter()),
            _ => format!("{name} IN ({})", self.parameters(count)),
        }
    }

    fn parameters(self, count: usize) -> String {
        vec![self.parameter(); count].join(", ")
    }
}

fn is_one_integer(table: &Table) -> bool {
    matches!(table.key[..], [column] if table.columns[column].kind == Type::Int)
}

fn comparison(bound: Bound, above: bool) -> &'static str {
    match (bound, above) {
        (Bound::Inclusive, true) => ">=",
        (Bound::Exclusive, true) => ">",
        (Bound::Inclusive, false) => "<=",
        (Bound::Exclusive, false) => "<",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let members = Table::new("members")
            .generated_key("id")
            .column("user", Type::Int)
            .nullable("project", Type::Int)
            .unique(&["user", "project"]);
        let flags =
            Table::new("a \"flag\"").key_column("name", Type::Text).key_column("day", Type::Int);
        Schema { tables: vec![members, flags] }
    }

    fn text(action: &Action) -> String {
        Dialect::Sqlite.statement(&schema(), action).expect("a text")
    }

    #[test]
    fn tables_are_kept_in_the_order_of_their_keys() {
        let schema = schema();
        let create = |table: usize| Dialect::Sqlite.create_table(&schema.tables[table]);
        assert_eq!(
            create(0),
            "CREATE TABLE \"members\" (\"id\" INTEGER NOT NULL, \"user\" INTEGER NOT NULL, \
             \"project\" INTEGER, PRIMARY KEY (\"id\" AUTOINCREMENT))"
        );
        assert_eq!(
            create(1),
            "CREATE TABLE \"a \"\"flag\"\"\" (\"name\" TEXT NOT NULL, \"day\" INTEGER NOT NULL, \
             PRIMARY KEY (\"name\", \"day\")) WITHOUT ROWID"
        );
    }

    #[test]
    fn a_read_names_its_parameters_in_the_order_of_the_contract() {
        let read = Read {
            scope: Scope::Range { equal: 1, from: Some(Bound::Exclusive), to: None },
            filters: vec![Filter { column: 0, any_of: 2 }],
            order: Order::Descending,
            limit: Some(3),
            ..Read::range(0, Path::Index(0), 1, &[0])
        };
        let rows = "FROM \"members\" WHERE \"user\" = ? AND \"project\" > ? AND \"id\" IN (?, ?) \
                    ORDER BY \"user\" DESC, \"project\" DESC, \"id\" DESC LIMIT 3";
        assert_eq!(text(&Action::Read(read.clone())), format!("SELECT \"id\" {rows}"));
        let sum = Read { yields: Yield::Sum(2), ..read };
        assert_eq!(
            text(&Action::Read(sum)),
            format!(
                "SELECT COALESCE(SUM(\"project\"), 0) FROM (SELECT \"project\" {rows}) AS limited"
            )
        );
    }

    #[test]
    fn an_upsert_replaces_the_row_of_its_key_alone() {
        let upsert = text(&Action::Upsert { table: 0 });
        let set = "SET \"user\" = excluded.\"user\", \"project\" = excluded.\"project\"";
        assert!(upsert.ends_with(&format!("ON CONFLICT (\"id\") DO UPDATE {set}")), "{upsert}");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let sets_nothing = Action::Update { table: 0, set: Vec::new(), only_if: Vec::new() };
        let too_far = Action::Read(Read::range(0, Path::Key, 2, &[0]));
        for action in [sets_nothing, too_far] {
            let answer = Dialect::Sqlite.statement(&schema(), &action);
            assert!(matches!(answer, Err(Error::Usage(_))), "{answer:?}");
        }
    }
}
