//! `x::type` and `CAST(x AS type)`.

use bakeoff_engines::sql::Dialect;

use super::{TokenEdit, Translator};
use crate::sql::differences::OR_VARIANTS;
use crate::sql::tokens::TokenKind;

impl Translator<'_, '_> {
    pub(super) fn edit_casts(&mut self) {
        // The tokens behind types, and where their operands begin.
        let mut casts: Vec<(usize, usize)> = Vec::new();
        for at in 0..self.list.len() {
            if self.list.is_sign(at, "::") && self.dialect != Dialect::Postgres {
                let known = casts.iter().find(|(end, _)| *end == at).map(|(_, start)| *start);
                let Some(start) = known.or_else(|| self.find_operand(at)) else {
                    self.fail(
                        at,
                        format!(
                            "this `::` has no simple operand: write CAST(… AS type), {OR_VARIANTS}"
                        ),
                    );
                    continue;
                };
                casts.extend(self.edit_double_colon(at, start).map(|end| (end, start)));
            } else if self.list.is_word(at, "CAST") {
                self.edit_cast(at);
            }
        }
    }

    /// The first token of the operand before `::`.
    fn find_operand(&self, at: usize) -> Option<usize> {
        let last = at.checked_sub(1)?;
        if self.list.is_sign(last, ")") {
            let open = self.list.partner(last)?;
            let function = open.checked_sub(1).filter(|name| self.list.name(*name).is_some());
            return Some(function.unwrap_or(open));
        }
        let simple = matches!(
            self.list.kind(last)?,
            TokenKind::Parameter | TokenKind::Number | TokenKind::Text
        );
        if !simple && self.list.name(last).is_none() && !self.list.is_word(last, "NULL") {
            return None;
        }
        let qualified = last > 1 && self.list.is_sign(last - 1, ".");
        Some(if qualified { last - 2 } else { last })
    }

    /// Gives the token behind the type.
    fn edit_double_colon(&mut self, at: usize, start: usize) -> Option<usize> {
        let end = self.find_type_end(at + 1);
        let Some(kind) = self.translate_type(at + 1, end) else {
            let name = self.list.join_tokens(at + 1, end);
            self.fail(at, format!("`::{name}` can't be translated: leave it out, {OR_VARIANTS}"));
            return None;
        };
        self.before[start].insert_str(0, "CAST(");
        self.edits[at] = TokenEdit::Write(format!(" AS {kind})"));
        self.drop_tokens(at + 1, end);
        Some(end)
    }

    fn find_type_end(&self, from: usize) -> usize {
        let mut end = from + 1;
        end += usize::from(self.list.is_any_word(end, &["PRECISION", "VARYING"]));
        if self.list.is_sign(end, "(") {
            end = self.list.partner(end).map_or(end, |close| close + 1);
        }
        if ["WITH", "WITHOUT"].iter().any(|word| self.list.is_word(end, word))
            && self.list.is_word(end + 1, "TIME")
        {
            end += 3;
        }
        end.min(self.list.len())
    }

    /// MySQL casts to types that it has no columns of.
    fn edit_cast(&mut self, at: usize) {
        let Some(close) = self.list.partner(at + 1).filter(|_| self.list.is_sign(at + 1, "("))
        else {
            return;
        };
        let depth = self.list.depth(at + 1) + 1;
        let Some(word) = self.list.find_word(at + 2, close, depth, "AS") else { return };
        if word + 1 >= close {
            return;
        }
        if let Some(kind) = self.translate_type(word + 1, close) {
            self.drop_tokens(word + 1, close);
            self.edits[word + 1] = TokenEdit::Write(kind);
        }
    }

    /// A type to cast to, in this dialect.
    fn translate_type(&self, from: usize, to: usize) -> Option<String> {
        let lengths = (from..to).find(|at| self.list.is_sign(*at, "("));
        let name = self.list.join_tokens(from, lengths.unwrap_or(to)).to_uppercase();
        let lengths = lengths.map_or(String::new(), |open| self.list.join_tokens(open, to));
        let (sqlite, mysql, postgres) = match name.as_str() {
            "SMALLINT" | "INT" | "INTEGER" | "BIGINT" | "INT2" | "INT4" | "INT8" | "SIGNED"
            | "SIGNED INTEGER" => ("INTEGER", "SIGNED", "BIGINT"),
            "TEXT" | "VARCHAR" | "CHAR" | "CHARACTER VARYING" if lengths.is_empty() => {
                ("TEXT", "CHAR", "TEXT")
            }
            "BYTEA" | "BLOB" | "BINARY" | "VARBINARY" if lengths.is_empty() => {
                ("BLOB", "BINARY", "BYTEA")
            }
            "REAL" | "FLOAT" | "FLOAT8" | "DOUBLE" | "DOUBLE PRECISION" => {
                ("REAL", "DOUBLE", "DOUBLE PRECISION")
            }
            "NUMERIC" | "DECIMAL" if !lengths.is_empty() => {
                return Some(match self.dialect {
                    Dialect::Sqlite => "NUMERIC".into(),
                    Dialect::MySql => format!("DECIMAL{lengths}"),
                    Dialect::Postgres => format!("NUMERIC{lengths}"),
                });
            }
            _ => return None,
        };
        Some(match self.dialect {
            Dialect::Sqlite => sqlite.into(),
            Dialect::MySql => mysql.into(),
            Dialect::Postgres => postgres.into(),
        })
    }
}
