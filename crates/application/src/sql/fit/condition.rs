//! Conditions of WHERE.

use bakeoff_engines::statement::RangeBound;

use super::{FitResult, Fitter, FromTable};
use crate::sql::parameters::ParameterSource;
use crate::sql::token_list::TokenCursor;

/// A condition on one column.
#[derive(Clone, Debug)]
pub(super) struct ColumnCondition {
    pub column: usize,
    pub test: ColumnTest,
    /// As it is written.
    pub text: String,
}

/// What a column is compared with.
#[derive(Clone, Debug)]
pub(super) enum ColumnTest {
    Equal(ParameterSource),
    Among(Vec<ParameterSource>),
    From(RangeBound, ParameterSource),
    To(RangeBound, ParameterSource),
    /// One range or another.
    Ranges(Vec<(ParameterSource, ParameterSource)>),
}

/// Brackets in brackets that are looked into.
const MOST_BRACKETS: u32 = 8;

impl Fitter<'_, '_> {
    /// Conditions that all have to hold, to the end.
    pub(super) fn read_conditions(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Vec<ColumnCondition>> {
        let mut conditions = Vec::new();
        self.add_conditions(cursor, from, 0, &mut conditions)?;
        Ok(conditions)
    }

    fn add_conditions(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        brackets: u32,
        conditions: &mut Vec<ColumnCondition>,
    ) -> FitResult<()> {
        let depth = cursor.list.depth(cursor.at);
        if cursor.list.find_word(cursor.at, cursor.end, depth, "OR").is_some() {
            conditions.push(self.read_ranges(cursor, from)?);
            return Ok(());
        }
        loop {
            match cursor.take_brackets() {
                Some(_) if brackets == MOST_BRACKETS => return Err("many brackets".into()),
                Some(inner) if inner.sees_word("SELECT") => return Err("a subquery".into()),
                Some(mut inner) => {
                    self.add_conditions(&mut inner, from, brackets + 1, conditions)?
                }
                None => self.add_condition(cursor, from, conditions)?,
            }
            if cursor.is_done() {
                return Ok(());
            }
            if !cursor.take_word("AND") {
                return Err(format!("`{}` in a condition", cursor.list.token(cursor.at)));
            }
        }
    }

    /// `a BETWEEN 1 AND 2 OR a BETWEEN 5 AND 6`.
    fn read_ranges(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<ColumnCondition> {
        let text = cursor.list.join_tokens(cursor.at, cursor.end);
        let mut ranges = Vec::new();
        let mut column = None;
        loop {
            let this = self.read_column(cursor, from)?;
            if *column.get_or_insert(this) != this || !cursor.take_word("BETWEEN") {
                return Err("OR".into());
            }
            ranges.push(self.read_between(cursor, from, this)?);
            if cursor.is_done() {
                break;
            }
            if !cursor.take_word("OR") {
                return Err("OR".into());
            }
        }
        Ok(ColumnCondition { column: column.unwrap_or(0), test: ColumnTest::Ranges(ranges), text })
    }

    fn read_between(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        column: usize,
    ) -> FitResult<(ParameterSource, ParameterSource)> {
        let lower = self.read_value(cursor, from, column)?;
        if !cursor.take_word("AND") {
            return Err("BETWEEN without two plain values".into());
        }
        Ok((lower, self.read_value(cursor, from, column)?))
    }

    fn add_condition(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        conditions: &mut Vec<ColumnCondition>,
    ) -> FitResult<()> {
        let start = cursor.at;
        let column = self.read_column(cursor, from)?;
        let tests = self.read_tests(cursor, from, column, start)?;
        if !cursor.is_done() && !cursor.sees_word("AND") {
            let written = cursor.list.join_tokens(start, cursor.at + 1);
            return Err(format!("`{written} …` is computed"));
        }
        let text = cursor.list.join_tokens(start, cursor.at);
        conditions.extend(tests.into_iter().map(|test| ColumnCondition {
            column,
            test,
            text: text.clone(),
        }));
        Ok(())
    }

    /// What stands behind the column of a condition; BETWEEN is two tests.
    fn read_tests(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        column: usize,
        start: usize,
    ) -> FitResult<Vec<ColumnTest>> {
        let sign = cursor.peek_upper();
        cursor.at += usize::from(!cursor.is_done());
        let bound = if sign.len() == 1 { RangeBound::Exclusive } else { RangeBound::Inclusive };
        Ok(match sign.as_str() {
            "IN" => match &self.read_values(cursor, from, column)?[..] {
                [value] => vec![ColumnTest::Equal(value.clone())],
                values => vec![ColumnTest::Among(values.to_vec())],
            },
            "BETWEEN" => {
                let (lower, upper) = self.read_between(cursor, from, column)?;
                vec![
                    ColumnTest::From(RangeBound::Inclusive, lower),
                    ColumnTest::To(RangeBound::Inclusive, upper),
                ]
            }
            "=" => vec![ColumnTest::Equal(self.read_value(cursor, from, column)?)],
            ">" | ">=" => vec![ColumnTest::From(bound, self.read_value(cursor, from, column)?)],
            "<" | "<=" => vec![ColumnTest::To(bound, self.read_value(cursor, from, column)?)],
            _ => {
                let written = cursor.list.join_tokens(start, cursor.at + 1);
                return Err(format!("`{written}` is no equality or range"));
            }
        })
    }
}
