//! Statements, as a workload declares them up front and an engine prepares them once.
//!
//! Statements are data, not SQL: an engine that speaks SQL writes its text once, and a key-value
//! engine makes a plan of it once. They name tables, columns and indexes by their numbers.

use crate::schema::Column;
use crate::{Error, Result, Schema, Value};

/// A bound of a range: whether the value itself belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeBound {
    /// The value itself belongs to the range.
    Inclusive,
    /// It does not.
    Exclusive,
}

/// In which order a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// As the engine likes; for statements whose application does not ask for an order.
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

/// Which part of a path is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// The first `equal` columns of the path equal parameters, and the column after them lies
    /// between two more. No column and no bound: the whole table. A null parameter matches
    /// nothing, and a null cell lies within no bound.
    Range {
        /// How many leading columns are fixed.
        equal: usize,
        /// Whether the next column has a lower bound.
        from: Option<RangeBound>,
        /// Whether the next column has an upper bound.
        to: Option<RangeBound>,
    },
    /// The first column of the path is one of so many parameters; a row is found once even if
    /// its value is given twice. The order is [`ReadOrder::Any`] and there is no limit.
    Among(usize),
    /// The first column of the path lies within one of so many ranges, both bounds of each among them; a
    /// row is found once even if several ranges hold it. A range with a null bound holds nothing. The
    /// order is [`ReadOrder::Any`] and there is no limit.
    Ranges(usize),
}

/// A condition on a column, checked on the rows that a path finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The column, by its number in the table.
    pub column: usize,
    /// The column equals one of so many parameters (one: plain equality).
    pub any_of: usize,
}

/// What a read answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Yield {
    /// These columns of each row.
    Columns(Vec<usize>),
    /// One row with the sum of an integer column, 0 for no rows; nulls count for nothing. A limit
    /// counts the rows that are summed.
    Sum(usize),
    /// One row with the number of values of a column, 0 for no rows; nulls don't count. A limit counts
    /// the rows that are looked at.
    Count(usize),
    /// The distinct values of a column, ascending, one a row; null is one of them, the first. A
    /// limit counts the rows that are looked at.
    Distinct(usize),
    /// The values of a column, ascending, one a row, equal ones each; nulls come first. A limit counts
    /// the rows that are looked at.
    Sorted(usize),
}

/// A read of one table along one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRead {
    /// The table, by its number.
    pub table: usize,
    /// The path.
    pub path: AccessPath,
    /// Which part of the path.
    pub scope: ReadScope,
    /// Conditions on the rows found; all must hold.
    pub filters: Vec<Filter>,
    /// The order of the rows.
    pub order: ReadOrder,
    /// At most so many rows, counted after the filters.
    pub limit: Option<u32>,
    /// What is answered.
    pub yields: Yield,
    /// Whether the transaction means to write what it reads here: nobody else may change these
    /// rows before it ends, or it ends in a conflict. Only in a writing transaction.
    pub for_update: bool,
}

/// How an update sets a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The column becomes the parameter.
    To(usize),
    /// The parameter, an integer, is added to the column; a null stays a null.
    Add(usize),
}

/// A statement and the order of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads rows. Parameters: the equal values (or the list), the lower bound, the upper bound (or
    /// both bounds of each range), then the filters' values in their order.
    Read(TableRead),
    /// Adds a row; answers with one row of one cell, the value of the key's first column.
    /// Parameters: every column in order; null for a generated key.
    Insert {
        /// The table.
        table: usize,
    },
    /// Adds a row, or replaces the row of the same key. A clash with another row in a unique
    /// index is an [`crate::Error::Duplicate`]. Parameters: every column in order; the key
    /// is given, and a generated one was given out before.
    Upsert {
        /// The table.
        table: usize,
    },
    /// Changes the row of a key, if there is one and the filters hold. Never changes key
    /// columns. Parameters: a value a set column, the key, then the filters' values.
    Update {
        /// The table.
        table: usize,
        /// What is set.
        set: Vec<Set>,
        /// Conditions on the row as it was before.
        only_if: Vec<Filter>,
    },
    /// Removes the row of a key, if there is one. Parameters: the key.
    Delete {
        /// The table.
        table: usize,
    },
}

/// The parameters of a statement that columns are to hold, for a session to check before an engine
/// is asked that would take more, or say no in words of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored(Vec<Assignment>);

/// A parameter, by its number, and the column that is to hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Assignment {
    parameter: usize,
    column: Column,
}

impl Stored {
    /// The stored parameters of an insert, an upsert or an update; other statements have none.
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
            Action::Read(_) | Action::Delete { .. } => Vec::new(),
        })
    }

    /// Checks that their columns can hold the parameters of a call, all of which are given.
    ///
    /// # Errors
    /// [`Error::Usage`] for one that its column can't hold, or that is missing.
    pub fn fits(&self, parameters: &[Value<'_>]) -> Result<()> {
        self.0.iter().try_for_each(|Assignment { parameter, column }| {
            match parameters.get(*parameter) {
                Some(value) => column.fits(*value),
                None => Err(Error::Usage(format!("no parameter for column {}", column.name))),
            }
        })
    }
}

/// A named statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What a reader of a trace calls it.
    pub name: String,
    /// What it does.
    pub action: Action,
}

impl TableRead {
    /// Reads the row of one key, given in full.
    pub fn by_key(table: usize, key_columns: usize, columns: &[usize]) -> Self {
        Self::range(table, AccessPath::Key, key_columns, columns)
    }

    /// Reads the rows whose first `equal` columns of the path equal the parameters, in any order.
    pub fn range(table: usize, path: AccessPath, equal: usize, columns: &[usize]) -> Self {
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
    /// The number of parameters that the scope takes.
    pub fn parameters(&self) -> usize {
        match self {
            ReadScope::Range { equal, from, to } => {
                equal + usize::from(from.is_some()) + usize::from(to.is_some())
            }
            ReadScope::Among(count) => *count,
            ReadScope::Ranges(count) => 2 * count,
        }
    }
}

/// The number of parameters of some filters.
pub fn filter_parameters(filters: &[Filter]) -> usize {
    filters.iter().map(|filter| filter.any_of).sum()
}
