//! What a SELECT answers with.

use bakeoff_engines::schema::Type;
use bakeoff_engines::statement::Yield;

use super::{FitResult, Fitter, FromTable};
use crate::sql::column_type::is_number;
use crate::sql::token_list::TokenCursor;

/// The answer of a SELECT.
#[derive(Clone, Debug)]
pub(super) struct SelectList {
    pub yields: SelectYield,
    /// The names of the answer's columns.
    pub names: Vec<Option<String>>,
}

/// Numbers of columns.
#[derive(Clone, Debug)]
pub(super) enum SelectYield {
    Columns(Vec<usize>),
    Distinct(usize),
    Sum(usize),
    Count(usize),
}

impl SelectYield {
    pub fn to_yield(&self) -> Yield {
        match self {
            Self::Columns(columns) => Yield::Columns(columns.clone()),
            Self::Distinct(column) => Yield::Distinct(*column),
            Self::Sum(column) => Yield::Sum(*column),
            Self::Count(column) => Yield::Count(*column),
        }
    }
}

impl Fitter<'_, '_> {
    /// Reads the list of a SELECT, to the end.
    pub(super) fn read_select_list(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        distinct: bool,
    ) -> FitResult<SelectList> {
        if !distinct && let Some(yields) = self.read_aggregate(cursor, from)? {
            let name = self.read_alias(cursor);
            self.expect_end(cursor)?;
            return Ok(SelectList { yields, names: vec![name] });
        }
        let (mut columns, mut names) = (Vec::new(), Vec::new());
        loop {
            let all = cursor.take_sign("*") || self.take_table_star(cursor, from);
            if all {
                columns.extend(0..from.table.columns.len());
                names.extend(from.table.columns.iter().map(|column| Some(column.name.clone())));
            } else {
                let column = self.read_column(cursor, from)?;
                let name = from.table.columns[column].name.clone();
                columns.push(column);
                names.push(self.read_alias(cursor).or(Some(name)));
            }
            if !cursor.take_sign(",") {
                break;
            }
        }
        self.expect_end(cursor).map_err(|rest| format!("{rest} in the list of columns"))?;
        let yields = match (distinct, &columns[..]) {
            (true, [column]) => SelectYield::Distinct(*column),
            (true, _) => return Err("DISTINCT of several columns".into()),
            (false, _) => SelectYield::Columns(columns),
        };
        Ok(SelectList { yields, names })
    }

    fn take_table_star(&self, cursor: &mut TokenCursor<'_, '_>, from: &FromTable<'_>) -> bool {
        let mut ahead = *cursor;
        let found = ahead.take_name().is_some_and(|name| name == from.alias.to_lowercase())
            && ahead.take_sign(".")
            && ahead.take_sign("*");
        *cursor = if found { ahead } else { *cursor };
        found
    }

    fn read_alias(&self, cursor: &mut TokenCursor<'_, '_>) -> Option<String> {
        cursor.take_word("AS");
        cursor.take_name()
    }

    /// `COUNT(c)`, `COUNT(*)`, or a sum that is 0 for no rows.
    fn read_aggregate(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Option<SelectYield>> {
        if !cursor.list.is_sign(cursor.at + 1, "(") {
            return Ok(None);
        }
        let mut ahead = *cursor;
        ahead.at += 1;
        let Some(mut inner) = ahead.take_brackets() else { return Ok(None) };
        let yields = match cursor.peek_upper().as_str() {
            "COUNT" => self.read_count(&mut inner, from)?,
            "COALESCE" => self.read_sum(&mut inner, from)?,
            "CAST" => self.read_cast_sum(&mut inner, from)?,
            "SUM" => {
                return Err("SUM, which is null for no rows: write COALESCE(SUM(column), 0)".into());
            }
            name => return Err(format!("{name}() is computed")),
        };
        self.expect_end(&inner)?;
        *cursor = ahead;
        Ok(Some(yields))
    }

    fn read_count(
        &mut self,
        inner: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<SelectYield> {
        if inner.sees_word("DISTINCT") {
            return Err("COUNT(DISTINCT …)".into());
        }
        if !inner.take_sign("*") {
            return Ok(SelectYield::Count(self.read_column(inner, from)?));
        }
        // A key is never null.
        let key = from.table.key.first().copied();
        Ok(SelectYield::Count(key.ok_or("a table without a key")?))
    }

    fn read_sum(
        &mut self,
        inner: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<SelectYield> {
        if !inner.take_word("SUM") {
            return Err("COALESCE".into());
        }
        let mut summed = inner.take_brackets().ok_or("SUM without brackets")?;
        let column = self.read_column(&mut summed, from)?;
        self.expect_end(&summed)?;
        let zero = inner.take_sign(",") && !inner.is_done() && inner.list.token(inner.at) == "0";
        inner.at += usize::from(zero);
        match zero && is_number(self.column_kind(from.number, column)) {
            true => Ok(SelectYield::Sum(column)),
            false => Err("a sum of something else than a column of numbers".into()),
        }
    }

    fn read_cast_sum(
        &mut self,
        inner: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<SelectYield> {
        if !inner.take_word("COALESCE") {
            return Err("CAST".into());
        }
        let mut summed = inner.take_brackets().ok_or("COALESCE without brackets")?;
        let yields = self.read_sum(&mut summed, from)?;
        self.expect_end(&summed)?;
        let integer = ["BIGINT", "INTEGER", "SIGNED"];
        let is_cast = inner.take_word("AS") && integer.iter().any(|kind| inner.take_word(kind));
        match yields {
            SelectYield::Sum(column) if self.column_kind(from.number, column) != Type::Int => {
                Err("CAST".into())
            }
            yields if is_cast => Ok(yields),
            _ => Err("CAST".into()),
        }
    }
}
