//! Words that are no names, where they stand without quotes.

use super::token_list::TokenList;
use super::tokens::TokenKind;

/// Reserved in PostgreSQL or the others, in order.
const RESERVED: [&str; 99] = [
    "ALL",
    "ALTER",
    "ANALYZE",
    "AND",
    "ANY",
    "ARRAY",
    "AS",
    "ASC",
    "BETWEEN",
    "BOTH",
    "BY",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "COLUMN",
    "CONSTRAINT",
    "CREATE",
    "CROSS",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DEFAULT",
    "DEFERRABLE",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DO",
    "DROP",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FETCH",
    "FOR",
    "FOREIGN",
    "FROM",
    "FULL",
    "GRANT",
    "GROUP",
    "HAVING",
    "IGNORE",
    "ILIKE",
    "IN",
    "INDEX",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "LATERAL",
    "LEADING",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NATURAL",
    "NOT",
    "NOTNULL",
    "NULL",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OUTER",
    "OVERLAPS",
    "PRIMARY",
    "REFERENCES",
    "REGEXP",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SESSION_USER",
    "SET",
    "SIMILAR",
    "SOME",
    "TABLE",
    "THEN",
    "TO",
    "TRAILING",
    "TRUE",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "XOR",
];

/// Whether a word is never a name.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word.to_uppercase().as_str()).is_ok()
}

/// Words behind which a word is a part of the grammar, though it may be a column's name elsewhere.
const LEAD_KEYWORDS: [&str; 6] = ["DUPLICATE", "NULLS", "FETCH", "FOR", "NO", "WITHOUT"];

/// Whether a word at a place is a keyword, a function or a type, though a column may have its name.
pub(super) fn is_grammar(list: &TokenList<'_>, at: usize) -> bool {
    if list.kind(at) != Some(TokenKind::Word) {
        return false;
    }
    let before = at.checked_sub(1);
    let follows = |word: &str| before.is_some_and(|before| list.is_word(before, word));
    if before.is_some_and(|before| list.is_sign(before, ".")) {
        return false;
    }
    let literal = list.kind(at + 1) == Some(TokenKind::Text)
        && list.is_any_word(at, &["DATE", "TIME", "TIMESTAMP"]);
    let opens = list.is_sign(at + 1, "(")
        && !["INTO", "REFERENCES", "UPDATE", "AS", "ON"].iter().any(|word| follows(word))
        && !is_with_name(list, at);
    is_reserved(list.token(at))
        || LEAD_KEYWORDS.iter().any(|word| follows(word))
        || before.is_some_and(|before| list.is_sign(before, "::"))
        || (follows("DO") && list.is_word(at, "NOTHING"))
        || (follows("ON") && list.is_any_word(at, &["CONFLICT", "DUPLICATE"]))
        || (list.is_word(at, "PARTITION") && list.is_word(at + 1, "BY"))
        || (at > 1 && list.is_sign(at - 1, "(") && list.is_word(at - 2, "EXTRACT"))
        || literal
        || opens
}

/// `WITH name (columns) AS`.
fn is_with_name(list: &TokenList<'_>, at: usize) -> bool {
    let Some(close) = list.partner(at + 1).filter(|_| list.is_sign(at + 1, "(")) else {
        return false;
    };
    list.is_word(close + 1, "AS") && list.is_sign(close + 2, "(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_in_order() {
        assert!(RESERVED.is_sorted());
        assert!(is_reserved("select") && !is_reserved("name") && !is_reserved("key"));
    }
}
