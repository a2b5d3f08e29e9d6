//! INSERT of one whole row, and its upserts.

use bakeoff_engines::Action;
use bakeoff_engines::schema::Table;

use super::{FitResult, FittedStatement, Fitter, FromTable};
use crate::sql::parameters::{ParameterSource, SqlLiteral};
use crate::sql::schema_file::find_column;
use crate::sql::token_list::TokenCursor;

impl<'t> Fitter<'t, '_> {
    pub(super) fn fit_insert(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<FittedStatement> {
        if !cursor.take_words(&["INSERT", "INTO"]) {
            return Err(format!("INSERT {}", cursor.list.token(cursor.at + 1)));
        }
        let into = cursor.at;
        let from = self.read_table(cursor)?;
        let columns = self.read_insert_columns(cursor, &from)?;
        if !cursor.take_word("VALUES") {
            return Err("INSERT without VALUES".into());
        }
        let given = self.read_row(cursor, &from, &columns)?;
        if cursor.sees_sign(",") {
            return Err("several rows in one INSERT".into());
        }
        let parameters = self.complete_row(&from, into, given)?;
        if cursor.sees_word("ON") {
            self.read_upsert(cursor, &from)?;
            self.expect_end(cursor)?;
            let numbered = from.table.key.iter().any(|key| {
                from.table.generated
                    && parameters[*key] == ParameterSource::Literal(SqlLiteral::Null)
            });
            if numbered {
                return Err("an upsert without its key".into());
            }
            let action = Action::Upsert { table: from.number };
            return Ok(FittedStatement { action, parameters, columns: Vec::new() });
        }
        let names = self.read_returning(cursor, &from)?;
        self.expect_end(cursor)?;
        let action = Action::Insert { table: from.number };
        Ok(FittedStatement { action, parameters, columns: names })
    }

    fn read_insert_columns(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Vec<usize>> {
        let Some(mut inner) = cursor.take_brackets() else {
            return Ok((0..from.table.columns.len()).collect());
        };
        let mut columns = Vec::new();
        loop {
            let column = self.read_column(&mut inner, from)?;
            if columns.contains(&column) {
                return Err(format!("the column {} twice", from.table.columns[column].name));
            }
            columns.push(column);
            if !inner.take_sign(",") {
                break;
            }
        }
        self.expect_end(&inner)?;
        Ok(columns)
    }

    /// The values of a row, a column each.
    fn read_row(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        columns: &[usize],
    ) -> FitResult<Vec<Option<ParameterSource>>> {
        let open = cursor.at;
        let inner = cursor.take_brackets().ok_or("VALUES without brackets")?;
        let parts = cursor.list.split_commas(inner.at, inner.end);
        let lists = (inner.at..inner.end)
            .any(|at| cursor.list.kind(at) == Some(crate::sql::tokens::TokenKind::ParameterList));
        if parts.len() != columns.len() && !lists {
            let what =
                format!("{} values for {} columns: give as many", parts.len(), columns.len());
            self.faults.push((open, what.clone()));
            return Err(what);
        }
        let mut row = vec![None; from.table.columns.len()];
        for ((start, end), column) in parts.into_iter().zip(columns) {
            let mut part = TokenCursor::new(cursor.list, start, end);
            row[*column] = Some(self.read_value(&mut part, from, *column)?);
            self.expect_end(&part).map_err(|rest| format!("{rest} in a value"))?;
        }
        Ok(row)
    }

    /// Columns that are left out become null; a column with a default has to be given.
    fn complete_row(
        &mut self,
        from: &FromTable<'_>,
        into: usize,
        given: Vec<Option<ParameterSource>>,
    ) -> FitResult<Vec<ParameterSource>> {
        let mut row = Vec::new();
        for (number, value) in given.into_iter().enumerate() {
            let (column, table) = (&from.table.columns[number], from.table);
            let numbered = table.generated && table.key == [number];
            let source = &self.schema.tables[from.number].columns[number];
            match value {
                Some(value) => row.push(value),
                None if source.default.is_some() => {
                    let what = format!(
                        "the column {} gets its DEFAULT, which bakeoff's tables don't have: give it a value",
                        column.name
                    );
                    self.faults.push((into, what.clone()));
                    return Err(what);
                }
                None if column.nullable || numbered => {
                    row.push(ParameterSource::Literal(SqlLiteral::Null));
                }
                None => {
                    let what = format!(
                        "the column {} is NOT NULL and has no value: give it one",
                        column.name
                    );
                    self.faults.push((into, what.clone()));
                    return Err(what);
                }
            }
        }
        Ok(row)
    }

    /// `RETURNING key`: that is what an insert answers with anyway.
    fn read_returning(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Vec<Option<String>>> {
        if !cursor.take_word("RETURNING") {
            return Ok(Vec::new());
        }
        if cursor.sees_sign("*") {
            return Err("RETURNING *".into());
        }
        let column = self.read_column(cursor, from)?;
        if from.table.key.first() != Some(&column) {
            return Err(format!(
                "RETURNING {}, which is not the key",
                from.table.columns[column].name
            ));
        }
        let marked = cursor.take_word("AS");
        let alias = if marked { cursor.take_name() } else { None };
        Ok(vec![alias.or_else(|| Some(from.table.columns[column].name.clone()))])
    }

    /// All columns beside the key take the new values.
    fn read_upsert(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<()> {
        let duplicate = cursor.take_words(&["ON", "DUPLICATE", "KEY", "UPDATE"]);
        if duplicate && from.table.indexes.iter().any(|index| index.unique) {
            return Err("ON DUPLICATE KEY UPDATE of several unique keys".into());
        }
        if (cursor.at..cursor.end).any(|at| cursor.list.is_word(at, "NOTHING")) {
            return Err("ON CONFLICT DO NOTHING".into());
        }
        let clashes =
            duplicate || cursor.take_words(&["ON", "CONFLICT"]) && self.take_key(cursor, from);
        if !clashes {
            return Err("ON CONFLICT of other columns than the key".into());
        }
        if !duplicate && !cursor.take_words(&["DO", "UPDATE", "SET"]) {
            return Err("an ON CONFLICT without DO UPDATE SET".into());
        }
        let mut set = self.read_proposed(cursor, from)?;
        let mut rest: Vec<usize> = (0..from.table.columns.len()).collect();
        rest.retain(|column| !from.table.key.contains(column));
        set.sort_unstable();
        let only_key = rest.is_empty() && set.iter().all(|column| from.table.key.contains(column));
        match set == rest || only_key {
            true => Ok(()),
            false => Err("an upsert that doesn't set each column beside the key".into()),
        }
    }

    /// The columns that are set to their new values, to the end.
    fn read_proposed(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Vec<usize>> {
        let mut set = Vec::new();
        loop {
            let column = self.read_column(cursor, from)?;
            if !cursor.take_sign("=") || !self.take_proposed(cursor, from.table, column) {
                let name = &from.table.columns[column].name;
                return Err(format!(
                    "an upsert that sets {name} to another value than the new one"
                ));
            }
            set.push(column);
            if !cursor.take_sign(",") {
                return Ok(set);
            }
        }
    }

    fn take_key(&self, cursor: &mut TokenCursor<'_, '_>, from: &FromTable<'_>) -> bool {
        let names = cursor.take_brackets().and_then(|mut inner| inner.take_names());
        let columns = names.unwrap_or_default();
        let columns: Option<Vec<usize>> =
            columns.iter().map(|name| find_column(from.table, name)).collect();
        let mut columns = columns.unwrap_or_default();
        let mut key = from.table.key.clone();
        columns.sort_unstable();
        key.sort_unstable();
        columns == key
    }

    /// `excluded.c` or `VALUES(c)`.
    fn take_proposed(
        &self,
        cursor: &mut TokenCursor<'_, '_>,
        table: &Table,
        column: usize,
    ) -> bool {
        let same = |name: Option<String>| {
            name.is_some_and(|name| find_column(table, &name) == Some(column))
        };
        if cursor.take_word("VALUES") {
            let inner = cursor.take_brackets();
            return inner.is_some_and(|mut inner| same(inner.take_name()) && inner.is_done());
        }
        cursor.take_word("excluded") && cursor.take_sign(".") && same(cursor.take_name())
    }
}
