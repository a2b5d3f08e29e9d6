//! Statements as plans: everything that can be known before a statement runs, worked out once.

use crate::schema::{Column, Table, Type};
use crate::statement::{
    AccessPath, Action, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use crate::statement::{Statement, filter_parameters};
use crate::{Error, Result, Schema, SqlText};

#[derive(Debug)]
pub struct TableLayout {
    pub table: Table,
    pub space: usize,
    pub stored: Vec<usize>,
    /// The key under which the largest generated key outlives its row.
    pub largest: Vec<u8>,
}

impl TableLayout {
    pub fn from_schema(schema: &Schema, first: usize) -> Vec<Self> {
        let mut space = first;
        let layout = |table: &Table| {
            let stored = (0..table.columns.len()).filter(|column| !table.key.contains(column));
            let largest = format!("largest.{}", table.name).into_bytes();
            let layout = Self { table: table.clone(), space, stored: stored.collect(), largest };
            space += 1 + table.indexes.len();
            layout
        };
        schema.tables.iter().map(layout).collect()
    }

    pub fn index_space(&self, index: usize) -> usize {
        self.space + 1 + index
    }

    fn stored_until(&self, wanted: &[usize]) -> usize {
        let last = self.stored.iter().rposition(|column| wanted.contains(column));
        last.map_or(0, |last| last + 1)
    }
}

#[derive(Debug)]
pub struct StatementPlan {
    pub table: usize,
    pub parameters: usize,
    pub work: PlannedAction,
}

#[derive(Debug)]
pub enum PlannedAction {
    Read(ReadPlan),
    Insert,
    Upsert,
    Update(UpdatePlan),
    Delete,
}

#[derive(Debug)]
pub struct ReadPlan {
    pub space: usize,
    /// Without the table's key, which follows them in an index entry.
    pub path: Vec<usize>,
    pub index: bool,
    pub point: bool,
    pub scope: ReadScope,
    pub skip_nulls: bool,
    pub filters: Vec<(Filter, usize)>,
    pub reverse: bool,
    pub limit: Option<u32>,
    pub yields: Yield,
    pub answer: Vec<usize>,
    /// Whether cells of the key are needed; an index's key is always decoded.
    pub needs_key: bool,
    /// How many stored columns to decode; 0: the index alone answers.
    pub stored_until: usize,
    pub for_update: bool,
}

impl ReadPlan {
    pub fn finds_one(&self) -> bool {
        self.point && matches!(self.scope, ReadScope::Range { .. })
    }
}

#[derive(Debug)]
pub struct UpdatePlan {
    pub sets: Vec<Option<(Set, usize)>>,
    pub key: usize,
    pub only_if: Vec<(Filter, usize)>,
    pub indexes: Vec<usize>,
}

/// Whether the layer can run a statement; the error says why not.
pub fn check_statement(schema: &Schema, statement: &Statement) -> std::result::Result<(), String> {
    let summed = match &statement.action {
        Action::Sql(SqlText { why, .. }) => {
            return Err(format!("{why}; only engines with SQL run it"));
        }
        Action::Read(TableRead { table, yields: Yield::Sum(column), .. }) => {
            vec![(*table, *column)]
        }
        Action::Update { table, set, .. } => {
            let added = set.iter().filter_map(|set| match set {
                Set::Add(column) => Some((*table, *column)),
                Set::To(_) => None,
            });
            added.collect()
        }
        _ => Vec::new(),
    };
    let column = |(table, column): (usize, usize)| schema.tables.get(table)?.columns.get(column);
    let mut fractional = summed.into_iter().filter_map(column).filter(|it| it.kind.is_fractional());
    match fractional.next() {
        None => Ok(()),
        Some(Column { name, .. }) => {
            Err(format!("{name} holds numbers with fractions, and only engines with SQL add them"))
        }
    }
}

pub fn plan_statement(layouts: &[TableLayout], statement: &Statement) -> Result<StatementPlan> {
    let fault = |what: &str| Error::Usage(format!("statement {}: {what}", statement.name));
    let number = match &statement.action {
        Action::Read(read) => read.table,
        Action::Insert { table }
        | Action::Upsert { table }
        | Action::Update { table, .. }
        | Action::Delete { table } => *table,
        Action::Sql(SqlText { place, why, .. }) => {
            return Err(Error::Usage(format!("{place}: {why}; only engines with SQL run it")));
        }
    };
    let layout = layouts.get(number).ok_or_else(|| fault("there is no such table"))?;
    let table = &layout.table;
    let (parameters, work) = match &statement.action {
        Action::Read(read) => {
            let parameters = read.scope.count_parameters() + filter_parameters(&read.filters);
            (parameters, PlannedAction::Read(plan_read(layout, read).map_err(fault)?))
        }
        Action::Insert { .. } => (table.columns.len(), PlannedAction::Insert),
        Action::Upsert { .. } => (table.columns.len(), PlannedAction::Upsert),
        Action::Update { set, only_if, .. } => {
            let parameters = set.len() + table.key.len() + filter_parameters(only_if);
            (parameters, PlannedAction::Update(plan_update(layout, set, only_if).map_err(fault)?))
        }
        Action::Delete { .. } | Action::Sql(_) => (table.key.len(), PlannedAction::Delete),
    };
    Ok(StatementPlan { table: number, parameters, work })
}

fn plan_read(
    layout: &TableLayout,
    read: &TableRead,
) -> std::result::Result<ReadPlan, &'static str> {
    let table = &layout.table;
    let (space, path, index) = match read.path {
        AccessPath::Key => (layout.space, &table.key, false),
        AccessPath::Index(number) => {
            let index = table.indexes.get(number).ok_or("there is no such index")?;
            (layout.index_space(number), &index.columns, true)
        }
    };
    let (fixed, bounded) = match read.scope {
        ReadScope::Range { equal, from, to } => (equal, from.is_some() || to.is_some()),
        ReadScope::Among(_) => (1, false),
        ReadScope::Ranges(_) => (0, true),
    };
    if fixed + usize::from(bounded) > path.len() {
        return Err("its scope has more columns than its path");
    }
    let answer = match &read.yields {
        Yield::Columns(columns) => columns.clone(),
        Yield::Sum(column)
        | Yield::Count(column)
        | Yield::Distinct(column)
        | Yield::Sorted(column) => vec![*column],
    };
    let mut wanted = answer.clone();
    wanted.extend(read.filters.iter().map(|filter| filter.column));
    check_columns(table, &wanted)?;
    if let Yield::Sum(column) = read.yields
        && table.columns[column].kind != Type::Int
    {
        return Err("only integers have a sum");
    }
    let needs_key = index || wanted.iter().any(|column| table.key.contains(column));
    let elsewhere: Vec<usize> =
        wanted.into_iter().filter(|column| !(index && path.contains(column))).collect();
    Ok(ReadPlan {
        space,
        path: path.clone(),
        index,
        point: !index && !bounded && fixed == path.len(),
        scope: read.scope,
        skip_nulls: skips_nulls(&table.columns, path, read.scope),
        filters: number_filters(&read.filters, read.scope.count_parameters()),
        reverse: read.order == ReadOrder::Descending,
        limit: read.limit,
        yields: read.yields.clone(),
        answer,
        needs_key,
        stored_until: layout.stored_until(&elsewhere),
        for_update: read.for_update,
    })
}

/// Nulls sort first, and are inside no bounds.
fn skips_nulls(columns: &[Column], path: &[usize], scope: ReadScope) -> bool {
    let ReadScope::Range {
        equal,
        from: None,
        to: Some(RangeBound::Inclusive | RangeBound::Exclusive),
    } = scope
    else {
        return false;
    };
    columns[path[equal]].nullable
}

fn plan_update(
    layout: &TableLayout,
    set: &[Set],
    only_if: &[Filter],
) -> std::result::Result<UpdatePlan, &'static str> {
    let table = &layout.table;
    let mut sets = vec![None; table.columns.len()];
    for (parameter, set) in set.iter().enumerate() {
        let (Set::To(column) | Set::Add(column)) = *set;
        check_columns(table, &[column])?;
        if table.key.contains(&column) {
            return Err("an update can't change the key");
        }
        if matches!(set, Set::Add(_)) && table.columns[column].kind != Type::Int {
            return Err("only to an integer can be added");
        }
        if sets[column].replace((*set, parameter)).is_some() {
            return Err("it sets a column twice");
        }
    }
    for filter in only_if {
        check_columns(table, &[filter.column])?;
    }
    let touched =
        |index: &usize| table.indexes[*index].columns.iter().any(|column| sets[*column].is_some());
    Ok(UpdatePlan {
        key: set.len(),
        only_if: number_filters(only_if, set.len() + table.key.len()),
        indexes: (0..table.indexes.len()).filter(touched).collect(),
        sets,
    })
}

fn check_columns(table: &Table, columns: &[usize]) -> std::result::Result<(), &'static str> {
    if columns.iter().all(|column| *column < table.columns.len()) {
        return Ok(());
    }
    Err("there is no such column")
}

fn number_filters(filters: &[Filter], first: usize) -> Vec<(Filter, usize)> {
    let mut next = first;
    let number = |filter: &Filter| {
        let numbered = (*filter, next);
        next += filter.any_of;
        numbered
    };
    filters.iter().map(number).collect()
}
