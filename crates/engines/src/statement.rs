//! Statements, declared by a workload and prepared once by an engine.
//!
//! Statements are data, not SQL: an SQL engine writes its text once, a key-value engine plans it
//! once. They name tables, columns and indexes by number.

use std::borrow::Cow;

use crate::schema::Column;
use crate::{Error, Result, Schema, Value};

/// A bound of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeBound {
    /// The value belongs to the range.
    Inclusive,
    /// It does not.
    Exclusive,
}

/// The order of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// As the engine likes; for applications that ask for no order.
    Any,
    /// By the path's columns, then by the table's key; nulls first.
    Ascending,
    /// The exact reverse.
    Descending,
}

/// The order in which a read finds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPath {
    /// The primary key.
    Key,
    /// A secondary index, by its number in the table.
    Index(usize),
}

/// The part of a path that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// The first `equal` columns of the path equal parameters, and the next column lies between two
    /// more. No column and no bound: the whole table. A null parameter matches nothing, and a null
    /// cell lies within no bound.
    Range {
        /// The number of fixed leading columns.
        equal: usize,
        /// The next column's lower bound.
        from: Option<RangeBound>,
        /// The next column's upper bound.
        to: Option<RangeBound>,
    },
    /// The first column is one of this many parameters; a row is found once even if its value is
    /// given twice. The order is [`ReadOrder::Any`], without a limit.
    Among(usize),
    /// The first column lies within one of this many ranges, each with both bounds included; a row
    /// is found once. A range with a null bound is empty. The order is [`ReadOrder::Any`], without
    /// a limit.
    Ranges(usize),
}

/// A condition on the rows that a path finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The column's number in the table.
    pub column: usize,
    /// The column equals one of this many parameters.
    pub any_of: usize,
}

/// The answer of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Yield {
    /// These columns of each row.
    Columns(Vec<usize>),
    /// The sum of a column of numbers; nulls don't count, no rows give 0. A limit counts the rows
    /// summed. Only engines with SQL add fractions.
    Sum(usize),
    /// The number of non-null values of a column. A limit counts the rows looked at.
    Count(usize),
    /// The distinct values of a column, ascending, null first. A limit counts the rows looked at.
    Distinct(usize),
    /// All values of a column, ascending, nulls first. A limit counts the rows looked at.
    Sorted(usize),
}

impl Yield {
    /// The number of columns of the answer.
    pub fn width(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.len(),
            Self::Sum(_) | Self::Count(_) | Self::Distinct(_) | Self::Sorted(_) => 1,
        }
    }
}

/// A read of one table along one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRead {
    /// The table's number.
    pub table: usize,
    /// The path.
    pub path: AccessPath,
    /// The part of the path.
    pub scope: ReadScope,
    /// Conditions on the rows found; all must hold.
    pub filters: Vec<Filter>,
    /// The order of the rows.
    pub order: ReadOrder,
    /// The most rows, after the filters.
    pub limit: Option<u32>,
    /// The answer.
    pub yields: Yield,
    /// Whether the transaction will write these rows: nobody else may change them before it ends,
    /// or it ends in a conflict. Only in a writing transaction.
    pub for_update: bool,
}

/// How an update sets a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The column becomes the parameter.
    To(usize),
    /// Adds a parameter to a number; a null stays null. Only engines with SQL add to fractions.
    Add(usize),
}

/// A statement and the order of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads rows. Parameters: the equal values (or the list), lower bound, upper bound (or both
    /// bounds of each range), then the filters' values.
    Read(TableRead),
    /// Adds a row; answers with one cell: the key's first column. Parameters: every column in
    /// order; null for a generated key.
    Insert {
        /// The table.
        table: usize,
    },
    /// Adds a row, or replaces the row of the same key. A clash with another row in a unique index
    /// is an [`crate::Error::Duplicate`]. Parameters: every column in order; a generated key was
    /// given out before.
    Upsert {
        /// The table.
        table: usize,
    },
    /// Changes the row of a key, if there is one and the filters hold; never key columns.
    /// Parameters: a value per set column, the key, then the filters' values.
    Update {
        /// The table.
        table: usize,
        /// The changes of columns.
        set: Vec<Set>,
        /// Conditions on the row before the change.
        only_if: Vec<Filter>,
    },
    /// Removes the row of a key, if there is one. Parameters: the key.
    Delete {
        /// The table.
        table: usize,
    },
    /// What no other action says, for engines with SQL. It answers with rows of as many columns as
    /// the engine says when it prepares it, and the session returns their number; a statement
    /// without columns changes rows, and the session returns how many the engine counts.
    Sql(SqlText),
}

impl Action {
    /// Whether it may change rows.
    pub fn writes(&self) -> bool {
        match self {
            Self::Read(_) => false,
            Self::Sql(text) => text.writes,
            Self::Insert { .. }
            | Self::Upsert { .. }
            | Self::Update { .. }
            | Self::Delete { .. } => true,
        }
    }
}

/// A statement in SQL that no other action can say. Its parameters are positional: each occurrence
/// has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlText {
    /// For SQLite, with `?`.
    pub sqlite: String,
    /// For MySQL and MariaDB, with `?`.
    pub mysql: String,
    /// For PostgreSQL, with `$1`, `$2` and so on.
    pub postgres: String,
    /// Where it was written, as file:line; refusals begin with it.
    pub place: String,
    /// Why it is no other action: "a join".
    pub why: String,
    /// Whether it may change rows.
    pub writes: bool,
    /// How many parameters it takes.
    pub parameters: usize,
}

/// The parameters that columns are to hold. A session checks them before it asks an engine that
/// would take more, or refuse in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnAssignments(Vec<Assignment>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Assignment {
    parameter: usize,
    column: Column,
}

impl ColumnAssignments {
    /// For an insert, an upsert or an update; empty for other statements.
    pub fn from_action(schema: &Schema, action: &Action) -> Self {
        let place = |table: usize, parameter, column: usize| Assignment {
            parameter,
            column: schema.tables[table].columns[column].clone(),
        };
        let row = |table: usize| {
            let columns = 0..schema.tables[table].columns.len();
            columns.map(|number| place(table, number, number)).collect()
        };
        Self(match action {
            Action::Insert { table } => {
                let (mut places, about): (Vec<Assignment>, _) =
                    (row(*table), &schema.tables[*table]);
                // Null asks for a number.
                about.key.iter().for_each(|key| places[*key].column.nullable |= about.generated);
                places
            }
            Action::Upsert { table } => row(*table),
            Action::Update { table, set, .. } => {
                let to = set.iter().enumerate().filter_map(|(parameter, set)| match set {
                    Set::To(column) => Some(place(*table, parameter, *column)),
                    Set::Add(_) => None,
                });
                to.collect()
            }
            Action::Read(_) | Action::Delete { .. } | Action::Sql(_) => Vec::new(),
        })
    }

    /// The parameters as their columns hold them, for an engine that doesn't round decimals by itself.
    pub(crate) fn round_parameters<'p, 'v>(
        &self,
        parameters: &'p [Value<'v>],
    ) -> Cow<'p, [Value<'v>]> {
        if !self.0.iter().any(|it| it.column.kind.is_fractional()) {
            return parameters.into();
        }
        let mut rounded = parameters.to_vec();
        for Assignment { parameter, column } in &self.0 {
            rounded[*parameter] = column.kind.round_value(rounded[*parameter]);
        }
        rounded.into()
    }

    /// Checks the parameters of a call.
    pub fn fits(&self, parameters: &[Value<'_>]) -> Result<()> {
        self.check_each(parameters, |_, value| value)
    }

    /// As [`Self::fits`], for an engine whose answers don't tell bytes from text: what it answered as
    /// a text may go into a column of bytes.
    pub(crate) fn fits_text_as_bytes(&self, parameters: &[Value<'_>]) -> Result<()> {
        self.check_each(parameters, |column, value| match value {
            Value::Text(text) if column.kind.is_bytes() => Value::Bytes(text.as_bytes()),
            other => other,
        })
    }

    fn check_each<'v>(
        &self,
        parameters: &[Value<'v>],
        read: impl Fn(&Column, Value<'v>) -> Value<'v>,
    ) -> Result<()> {
        self.0.iter().try_for_each(|Assignment { parameter, column }| {
            match parameters.get(*parameter) {
                Some(value) => column.fits(read(column, *value)),
                None => Err(Error::Usage(format!("no parameter for column {}", column.name))),
            }
        })
    }
}

/// A named statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its name in traces.
    pub name: String,
    /// What it does.
    pub action: Action,
}

impl TableRead {
    /// Reads the row of one whole key.
    pub fn by_key(table: usize, key_columns: usize, columns: &[usize]) -> Self {
        Self::by_prefix(table, AccessPath::Key, key_columns, columns)
    }

    /// Reads rows whose first `equal` columns of the path equal the parameters, in any order.
    pub fn by_prefix(table: usize, path: AccessPath, equal: usize, columns: &[usize]) -> Self {
        Self {
            table,
            path,
            scope: ReadScope::Range { equal, from: None, to: None },
            filters: Vec::new(),
            order: ReadOrder::Any,
            limit: None,
            yields: Yield::Columns(columns.to_vec()),
            for_update: false,
        }
    }
}

impl ReadScope {
    /// The number of parameters.
    pub fn count_parameters(&self) -> usize {
        match self {
            ReadScope::Range { equal, from, to } => {
                equal + usize::from(from.is_some()) + usize::from(to.is_some())
            }
            ReadScope::Among(count) => *count,
            ReadScope::Ranges(count) => 2 * count,
        }
    }
}

/// The number of parameters of filters.
pub fn filter_parameters(filters: &[Filter]) -> usize {
    filters.iter().map(|filter| filter.any_of).sum()
}
