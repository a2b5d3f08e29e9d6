//! UPDATE and DELETE of the row of a key.

use bakeoff_engines::Action;
use bakeoff_engines::statement::{Filter, Set};

use super::condition::{ColumnCondition, ColumnTest};
use super::{FitResult, FittedStatement, Fitter, FromTable};
use crate::sql::column_type::is_number;
use crate::sql::parameters::{ParameterSource, SqlLiteral};
use crate::sql::token_list::TokenCursor;
use crate::sql::translate::find_now_end;

impl Fitter<'_, '_> {
    pub(super) fn fit_update(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<FittedStatement> {
        cursor.take_word("UPDATE");
        let from = self.read_table(cursor)?;
        if !cursor.take_word("SET") {
            return Err("UPDATE without SET".into());
        }
        let (mut set, mut parameters) = (Vec::new(), Vec::new());
        loop {
            let (change, value) = self.read_change(cursor, &from)?;
            if set.contains(&Set::To(column_of(change)))
                || set.contains(&Set::Add(column_of(change)))
            {
                return Err(format!("{} set twice", from.table.columns[column_of(change)].name));
            }
            set.push(change);
            parameters.push(value);
            if !cursor.take_sign(",") {
                break;
            }
        }
        let conditions = self.read_where(cursor, &from)?;
        let rest = take_key(&from, &conditions, &mut parameters)?;
        let mut only_if = Vec::new();
        for condition in rest {
            let values = match &condition.test {
                ColumnTest::Equal(value) => vec![value.clone()],
                ColumnTest::Among(values) => values.clone(),
                _ => return Err(format!("`{}` is no equality", condition.text)),
            };
            only_if.push(Filter { column: condition.column, any_of: values.len() });
            parameters.extend(values);
        }
        let action = Action::Update { table: from.number, set, only_if };
        Ok(FittedStatement { action, parameters, columns: Vec::new() })
    }

    pub(super) fn fit_delete(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<FittedStatement> {
        if !cursor.take_words(&["DELETE", "FROM"]) {
            return Err("DELETE without FROM".into());
        }
        let from = self.read_table(cursor)?;
        let conditions = self.read_where(cursor, &from)?;
        let mut parameters = Vec::new();
        if let Some(more) = take_key(&from, &conditions, &mut parameters)?.first() {
            return Err(format!("DELETE with `{}` beside the key", more.text));
        }
        let action = Action::Delete { table: from.number };
        Ok(FittedStatement { action, parameters, columns: Vec::new() })
    }

    fn read_where(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<Vec<ColumnCondition>> {
        if (cursor.at..cursor.end).any(|at| cursor.list.is_word(at, "RETURNING")) {
            return Err("RETURNING".into());
        }
        match cursor.take_word("WHERE") {
            true => self.read_conditions(cursor, from),
            false if cursor.is_done() => Err("a change of all rows".into()),
            false => Err(format!("`{}`", cursor.list.join_tokens(cursor.at, cursor.end))),
        }
    }

    /// `c = :x`, `c = c + :x` or `c = c - 1`.
    fn read_change(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<(Set, ParameterSource)> {
        let start = cursor.at;
        let column = self.read_column(cursor, from)?;
        let name = &from.table.columns[column].name;
        if from.table.key.contains(&column) {
            return Err(format!("{name} is in the key, and is changed"));
        }
        if !cursor.take_sign("=") {
            return Err(format!(
                "`{}` is no change of a column",
                cursor.list.join_tokens(start, cursor.at + 1)
            ));
        }
        let computed = || format!("{name} is set to something computed");
        // The present time looks like a name.
        let now = find_now_end(cursor.list, cursor.at).is_some();
        let change = match cursor.list.name(cursor.at).is_some() && !now {
            true => self.read_sum_change(cursor, from, column)?,
            false => Some((Set::To(column), self.read_value(cursor, from, column)?)),
        };
        let ends = ["WHERE", "RETURNING"].iter().any(|word| cursor.sees_word(word));
        let is_whole = ends || cursor.is_done() || cursor.sees_sign(",");
        change.filter(|_| is_whole).ok_or_else(computed)
    }

    /// `c + :x` or `c - 1`; nothing if it is something else.
    fn read_sum_change(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        column: usize,
    ) -> FitResult<Option<(Set, ParameterSource)>> {
        if self.read_column(cursor, from)? != column
            || !is_number(self.column_kind(from.number, column))
        {
            return Ok(None);
        }
        let adds = cursor.take_sign("+");
        if !adds && !cursor.take_sign("-") {
            return Ok(None);
        }
        let value = self.read_value(cursor, from, column)?;
        let value = if adds { value } else { negate_source(value)? };
        Ok(Some((Set::Add(column), value)))
    }
}

fn column_of(set: Set) -> usize {
    match set {
        Set::To(column) | Set::Add(column) => column,
    }
}

fn negate_source(source: ParameterSource) -> FitResult<ParameterSource> {
    Ok(match source {
        ParameterSource::Named { name, place } => ParameterSource::Negated { name, place },
        ParameterSource::Literal(SqlLiteral::Int(int)) => {
            let negative = int.checked_neg().ok_or("a number of more than 64 bits")?;
            ParameterSource::Literal(SqlLiteral::Int(negative))
        }
        ParameterSource::Literal(SqlLiteral::Decimal(written)) => {
            let positive = written.strip_prefix('-').map(str::to_owned);
            let negative = positive.unwrap_or_else(|| format!("-{written}"));
            ParameterSource::Literal(SqlLiteral::Decimal(negative))
        }
        ParameterSource::Literal(SqlLiteral::Null) => ParameterSource::Literal(SqlLiteral::Null),
        _ => return Err("a difference of something else than numbers".into()),
    })
}

/// Adds the key's values to the parameters, and gives the other conditions.
fn take_key<'c>(
    from: &FromTable<'_>,
    conditions: &'c [ColumnCondition],
    parameters: &mut Vec<ParameterSource>,
) -> FitResult<Vec<&'c ColumnCondition>> {
    let mut used = Vec::new();
    for key in &from.table.key {
        let equal =
            conditions.iter().enumerate().find_map(|(number, condition)| match &condition.test {
                ColumnTest::Equal(value) if condition.column == *key => Some((number, value)),
                _ => None,
            });
        let Some((number, value)) = equal else {
            return Err(format!(
                "a change of rows by other columns than the key: {} is not given",
                from.table.columns[*key].name
            ));
        };
        used.push(number);
        parameters.push(value.clone());
    }
    let rest = conditions.iter().enumerate().filter(|(number, _)| !used.contains(number));
    Ok(rest.map(|(_, condition)| condition).collect())
}
