//! Values: parameters and literals.

use bakeoff_engines::schema::Type;

use super::{FitResult, Fitter, FromTable};
use crate::sql::parameters::{ParameterSource, SqlLiteral};
use crate::sql::rights::read_list_length;
use crate::sql::token_list::TokenCursor;
use crate::sql::tokens::{TokenKind, decode_text};
use crate::sql::translate::find_now_end;

impl Fitter<'_, '_> {
    /// One value for a column.
    pub(super) fn read_value(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        column: usize,
    ) -> FitResult<ParameterSource> {
        let start = cursor.at;
        let source = self.read_source(cursor)?;
        let ParameterSource::Literal(literal) = &source else { return Ok(source) };
        let kind = self.column_kind(from.number, column);
        // Days and times have one form.
        let is_time = matches!(kind, Type::Date | Type::Timestamp)
            && matches!(literal, SqlLiteral::Text(text)
                if from.table.columns[column].fits(text.as_str().into()).is_ok());
        if is_time || fits_kind(literal, kind) {
            return Ok(source);
        }
        let written = self.list.join_tokens(start, cursor.at);
        if kind.is_bytes() {
            let name = &from.table.columns[column].name;
            let what = format!("{name} holds bytes, and `{written}` is none: write X'00ff'");
            self.faults.push((start, what));
        }
        Err(format!("`{written}` has another type than {}", from.table.columns[column].name))
    }

    /// A parameter or a literal of any type.
    pub(super) fn read_source(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<ParameterSource> {
        let (list, at) = (cursor.list, cursor.at);
        if cursor.is_done() {
            return Err("a value is missing".into());
        }
        if let Some(end) = find_now_end(list, at).filter(|end| *end <= cursor.end) {
            cursor.at = end;
            return Ok(ParameterSource::from_name("now", &list.place_of(at)));
        }
        let negative = cursor.take_sign("-");
        let token = if cursor.is_done() { "" } else { list.token(cursor.at) };
        let kind = list.kind(cursor.at).filter(|_| !cursor.is_done());
        let source = match kind {
            Some(TokenKind::Parameter) if !negative => {
                ParameterSource::from_name(&token[1..], &list.place_of(at))
            }
            Some(TokenKind::Number) => ParameterSource::Literal(read_number(token, negative)?),
            Some(TokenKind::Text) if !negative => ParameterSource::Literal(SqlLiteral::Text(
                decode_text(token).ok_or_else(|| format!("`{token}` is no text"))?,
            )),
            Some(TokenKind::Word) if !negative => ParameterSource::Literal(read_word(token)?),
            _ => {
                let written = list.join_tokens(at, at + 2);
                return Err(format!("`{written}` is no parameter or plain value"));
            }
        };
        cursor.at += 1;
        Ok(source)
    }

    /// Values in the brackets of IN.
    pub(super) fn read_values(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        column: usize,
    ) -> FitResult<Vec<ParameterSource>> {
        let mut inner = cursor.take_brackets().ok_or("IN without brackets")?;
        if inner.sees_word("SELECT") {
            return Err("a subquery".into());
        }
        let mut values = Vec::new();
        loop {
            match read_list_length(inner.list, inner.at).filter(|_| !inner.is_done()) {
                Some(length) => {
                    let place = inner.list.place_of(inner.at);
                    let name =
                        inner.list.token(inner.at)[1..].split('[').next().unwrap_or_default();
                    let elements = (0..length)
                        .map(|number| ParameterSource::from_element(name, number, &place));
                    values.extend(elements);
                    inner.at += 1;
                }
                None => values.push(self.read_value(&mut inner, from, column)?),
            }
            if !inner.take_sign(",") {
                break;
            }
        }
        self.expect_end(&inner)?;
        Ok(values)
    }
}

fn read_word(token: &str) -> FitResult<SqlLiteral> {
    match token.to_uppercase().as_str() {
        "NULL" => Ok(SqlLiteral::Null),
        "TRUE" => Ok(SqlLiteral::Bool(true)),
        "FALSE" => Ok(SqlLiteral::Bool(false)),
        _ => Err(format!("`{token}` is no parameter or plain value")),
    }
}

fn read_number(token: &str, negative: bool) -> FitResult<SqlLiteral> {
    let sign = if negative { "-" } else { "" };
    let written = format!("{sign}{token}");
    if token.bytes().all(|byte| byte.is_ascii_digit()) {
        let int = written.parse().map_err(|_| format!("{written} has more than 64 bits"))?;
        return Ok(SqlLiteral::Int(int));
    }
    match written.parse::<f64>() {
        Ok(real) if real.is_finite() => Ok(SqlLiteral::Decimal(written)),
        _ => Err(format!("{written} is no plain number")),
    }
}

/// Whether a column holds such a value as it is. Databases would convert others, each its own way.
fn fits_kind(literal: &SqlLiteral, kind: Type) -> bool {
    match (literal, kind) {
        (SqlLiteral::Null, _) => true,
        (SqlLiteral::Bool(_), kind) => kind == Type::Bool,
        (SqlLiteral::Int(_), kind) => {
            matches!(kind, Type::Int | Type::Real | Type::Decimal { .. })
        }
        (SqlLiteral::Decimal(_), kind) => matches!(kind, Type::Real | Type::Decimal { .. }),
        (SqlLiteral::Text(_), kind) => matches!(kind, Type::Text { .. } | Type::MediumText),
    }
}
