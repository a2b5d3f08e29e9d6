//! Statements of a text, and their variants for one dialect.

use std::ops::Range;

use bakeoff_engines::sql::Dialect;

use super::tokens::{SqlToken, TokenKind, split_tokens};

/// All dialects.
pub(super) const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::MySql, Dialect::Postgres];

/// A statement's bytes, without its semicolon and without the blanks around it but for the
/// dialects that its own comment names.
#[derive(Clone, Debug)]
pub(super) struct StatementSpan {
    pub span: Range<usize>,
    pub dialects: Vec<Dialect>,
}

/// Splits a text into statements at semicolons. Statements that are variants of each other, each
/// below a comment like `-- mysql:`, stay together.
///
/// ```text
/// -- sqlite, postgres:
/// SELECT a / 2 FROM t;
/// -- mysql:
/// SELECT a DIV 2 FROM t;
/// ```
pub fn split_statements(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<(Range<usize>, Vec<Dialect>)> = Vec::new();
    for StatementSpan { span, dialects } in find_statements(text) {
        match groups.last_mut() {
            Some((group, known)) if belongs_to(known, &dialects) => {
                group.end = span.end;
                known.extend(dialects);
            }
            _ => groups.push((span, dialects)),
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// Whether a variant goes on with the variants before it.
fn belongs_to(known: &[Dialect], more: &[Dialect]) -> bool {
    let missing = known.len() < DIALECTS.len();
    let new = more.iter().all(|dialect| !known.contains(dialect));
    !known.is_empty() && !more.is_empty() && missing && new
}

/// Each statement of a text by itself. A statement begins with the comment that names its dialects,
/// if it has one.
pub(super) fn find_statements(text: &str) -> Vec<StatementSpan> {
    let tokens = split_tokens(text);
    let parts = tokens.split(|token| token.kind == TokenKind::Semicolon);
    parts.filter_map(|tokens| find_statement(text, tokens)).collect()
}

fn find_statement(text: &str, tokens: &[SqlToken]) -> Option<StatementSpan> {
    let first = tokens.iter().position(|token| !token.kind.is_blank())?;
    let last = tokens.iter().rposition(|token| !token.kind.is_blank())?;
    let marks = tokens[..first].iter().rev().filter(|token| token.kind == TokenKind::Comment);
    let mark = marks.map(|token| (token, read_mark(&text[token.span.clone()]))).next();
    let (start, dialects) = match mark {
        Some((token, Some(dialects))) => (token.span.start, dialects),
        _ => (tokens[first].span.start, Vec::new()),
    };
    Some(StatementSpan { span: start..tokens[last].span.end, dialects })
}

/// The dialects of `-- sqlite, mariadb:`.
fn read_mark(comment: &str) -> Option<Vec<Dialect>> {
    let names = comment.strip_prefix("--")?.trim().strip_suffix(':')?;
    let dialects = names.split(',').map(|name| match name.trim().to_lowercase().as_str() {
        "sqlite" => Some(Dialect::Sqlite),
        "mysql" | "mariadb" => Some(Dialect::MySql),
        "postgres" | "postgresql" => Some(Dialect::Postgres),
        _ => None,
    });
    let mut known: Vec<Dialect> = dialects.collect::<Option<_>>()?;
    known.sort_by_key(|dialect| *dialect as u8);
    known.dedup();
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_texts() {
        for (text, parts) in [
            ("", vec![]),
            (" ; -- a\n;", vec![]),
            (
                "BEGIN; SELECT ';' /* ; */ -- ;\n, 2 ;",
                vec!["BEGIN", "SELECT ';' /* ; */ -- ;\n, 2"],
            ),
            ("-- why\nSELECT 1", vec!["SELECT 1"]),
            (
                "-- mysql:\na; -- sqlite, postgres:\nb; -- mysql:\nc; d",
                vec!["-- mysql:\na; -- sqlite, postgres:\nb", "-- mysql:\nc", "d"],
            ),
            ("a;\n-- postgres:\nb;\n-- mysql: of old\nc", vec!["a", "-- postgres:\nb", "c"]),
        ] {
            let found: Vec<_> =
                split_statements(text).into_iter().map(|span| &text[span]).collect();
            assert_eq!(found, parts, "{text}");
        }
    }
}
