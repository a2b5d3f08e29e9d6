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
        Some((token, Some(names))) => (token.span.start, list_dialects(&names)),
        _ => (tokens[first].span.start, Vec::new()),
    };
    Some(StatementSpan { span: start..tokens[last].span.end, dialects })
}

/// The names that a mark may have.
const NAMES: [(&str, Dialect); 5] = [
    ("sqlite", Dialect::Sqlite),
    ("mysql", Dialect::MySql),
    ("mariadb", Dialect::MySql),
    ("postgres", Dialect::Postgres),
    ("postgresql", Dialect::Postgres),
];

/// Other names of PostgreSQL, some of which look more like `mysql`.
const MEANT_POSTGRES: [&str; 3] = ["pg", "psql", "pgsql"];

/// A shorter word than this may be near a name by chance.
const LEAST_LETTERS: usize = 5;

/// A name in a mark, and where it stands in the comment.
struct MarkName<'t> {
    text: &'t str,
    byte: usize,
    known: Option<Dialect>,
    /// What was meant by a name that nothing has.
    meant: Option<(&'static str, Dialect)>,
}

impl<'t> MarkName<'t> {
    fn new(text: &'t str, byte: usize) -> Self {
        let lower = text.to_lowercase();
        let known = NAMES.iter().find(|(name, _)| *name == lower).map(|(_, dialect)| *dialect);
        let is_postgres = |name: &&str| *name == "postgres" && MEANT_POSTGRES.contains(&&*lower);
        let near = |name: &&str| {
            lower.len() >= LEAST_LETTERS && strsim::damerau_levenshtein(name, &lower) <= 2
        };
        let named = |is: &dyn Fn(&&str) -> bool| NAMES.into_iter().find(|(name, _)| is(name));
        let meant = named(&is_postgres).or_else(|| named(&near));
        Self { text, byte, known, meant: meant.filter(|_| known.is_none()) }
    }
}

/// The names of `-- sqlite, mariadb:`; nothing of another comment.
fn read_mark(comment: &str) -> Option<Vec<MarkName<'_>>> {
    let list = comment.strip_prefix("--")?.trim_end().strip_suffix(':')?;
    let mut byte = "--".len();
    let names = list.split(',').map(|part| {
        let start = byte + part.len() - part.trim_start().len();
        byte += part.len() + 1;
        MarkName::new(part.trim(), start)
    });
    let names: Vec<MarkName<'_>> = names.collect();
    let is_mark = names.iter().any(|name| name.known.is_some())
        || names.iter().all(|name| name.meant.is_some());
    let is_plain = names.iter().all(|name| !name.text.contains(char::is_whitespace));
    (is_mark && is_plain).then_some(names)
}

/// What a mark stands for. A name with a mistake stands for what was meant, so that nothing else is
/// said of its variant.
fn list_dialects(names: &[MarkName<'_>]) -> Vec<Dialect> {
    let dialects = names.iter().filter_map(|name| name.known.or(name.meant.map(|it| it.1)));
    let mut dialects: Vec<Dialect> = dialects.collect();
    dialects.sort_by_key(|dialect| *dialect as u8);
    dialects.dedup();
    dialects
}

/// Names in the marks of a text that no database has: the byte, and what to write.
pub(super) fn find_wrong_marks(text: &str) -> Vec<(usize, String)> {
    let comments = split_tokens(text).into_iter().filter(|it| it.kind == TokenKind::Comment);
    let marks =
        comments.map(|token| (token.span.start, read_mark(&text[token.span]).unwrap_or_default()));
    let wrong = marks.flat_map(|(start, names)| {
        let wrong = names.into_iter().filter(|name| name.known.is_none());
        wrong.map(move |MarkName { text, byte, meant, .. }| {
            let advice = match meant {
                Some((name, _)) => format!("did you mean {name}?"),
                None => "write sqlite, mysql, mariadb or postgres".into(),
            };
            (start + byte, format!("there is no variant `{text}`; {advice}"))
        })
    });
    wrong.collect()
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
