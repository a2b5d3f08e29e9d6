//! Constraints of a whole table, and the parts that they share with those of a column.

use super::table_draft::{KeyDraft, ReferenceDraft, TableDraft};
use super::{SchemaFault, fault, read_name};
use crate::SourcePlace;
use crate::sql::token_list::TokenCursor;
use crate::sql::tokens::TokenKind;

/// Whether a part of `CREATE TABLE` is a constraint and no column.
pub(in crate::sql) fn is_constraint(part: &TokenCursor<'_, '_>) -> bool {
    let word = part.peek_upper();
    let bracket = |at: usize| part.list.is_sign(at, "(");
    match word.as_str() {
        "CONSTRAINT" | "PRIMARY" | "UNIQUE" | "FOREIGN" | "CHECK" | "EXCLUDE" | "LIKE"
        | "FULLTEXT" | "SPATIAL" => part.list.kind(part.at) == Some(TokenKind::Word),
        // A column may have this name: then a type follows.
        "KEY" | "INDEX" => bracket(part.at + 1) || bracket(part.at + 2) && is_named_index(part),
        _ => false,
    }
}

/// `key varchar(20)` is a column, `KEY name (column)` an index.
fn is_named_index(part: &TokenCursor<'_, '_>) -> bool {
    part.list.kind(part.at + 3) != Some(TokenKind::Number)
}

pub(super) fn read_constraint(
    part: &mut TokenCursor<'_, '_>,
    draft: &mut TableDraft,
) -> Result<(), SchemaFault> {
    let mut name = None;
    if part.take_word("CONSTRAINT") {
        name = Some(read_name(part, "the constraint")?);
    }
    let at = part.at;
    let place = part.list.place_of(at);
    if part.take_words(&["PRIMARY", "KEY"]) {
        if draft.key.is_some() {
            return fault(at, "a table has one PRIMARY KEY: remove the other");
        }
        draft.key = Some(KeyDraft { place, columns: read_index_columns(part)? });
    } else if part.take_words(&["FOREIGN", "KEY"]) {
        let columns = read_columns(part)?;
        let place = part.list.place_of(part.at);
        if !part.take_word("REFERENCES") {
            return fault(
                part.at,
                "REFERENCES is missing: write FOREIGN KEY (column) REFERENCES table",
            );
        }
        draft.references.push(read_parent(part, place, columns)?);
    } else if part.take_word("CHECK") {
        draft.source.checks.push(read_check(part)?);
    } else {
        read_table_index(part, draft, name)?;
    }
    match part.is_done() {
        true => Ok(()),
        false => {
            fault(part.at, format!("leave out `{}`", part.list.join_tokens(part.at, part.end)))
        }
    }
}

/// `UNIQUE (a)`, `KEY name (a, b)`.
fn read_table_index(
    part: &mut TokenCursor<'_, '_>,
    draft: &mut TableDraft,
    constraint: Option<String>,
) -> Result<(), SchemaFault> {
    let at = part.at;
    let unique = part.take_word("UNIQUE");
    let index = part.take_word("KEY") || part.take_word("INDEX");
    if !unique && !index {
        let word = part.peek_upper();
        let valid = "a table has PRIMARY KEY, UNIQUE, FOREIGN KEY and CHECK";
        return fault(at, format!("bakeoff has no {word}: {valid}"));
    }
    let name = match part.sees_sign("(") {
        true => constraint,
        false => Some(read_name(part, "the index")?),
    };
    let columns = read_index_columns(part)?;
    draft.add_index(part.list.place_of(at), name, columns, unique);
    Ok(())
}

/// Columns in brackets.
fn read_columns(part: &mut TokenCursor<'_, '_>) -> Result<Vec<String>, SchemaFault> {
    let at = part.at;
    let names = part.take_brackets().and_then(|mut inner| inner.take_names());
    names.map_or_else(|| fault(at, "columns in brackets are missing: write (a, b)"), Ok)
}

/// Columns of an index, in brackets; each may have ASC.
pub(super) fn read_index_columns(
    part: &mut TokenCursor<'_, '_>,
) -> Result<Vec<String>, SchemaFault> {
    let at = part.at;
    let Some(inner) = part.take_brackets().filter(|inner| !inner.is_done()) else {
        return fault(at, "columns in brackets are missing: write (a, b)");
    };
    let mut names = Vec::new();
    for (from, to) in part.list.split_commas(inner.at, inner.end) {
        let mut item = TokenCursor::new(part.list, from, to);
        names.push(read_name(&mut item, "the column")?);
        item.take_word("ASC");
        item.take_words(&["NULLS", "FIRST"]);
        if !item.is_done() {
            let rest = part.list.join_tokens(item.at, to);
            return fault(
                item.at,
                format!("an index has whole columns in ascending order: leave out `{rest}`"),
            );
        }
        if names[..names.len() - 1].contains(&names[names.len() - 1]) {
            return fault(from, format!("the column {} is here twice", names[names.len() - 1]));
        }
    }
    Ok(names)
}

/// What stands in the brackets of CHECK.
pub(super) fn read_check(part: &mut TokenCursor<'_, '_>) -> Result<String, SchemaFault> {
    let at = part.at;
    match part.take_brackets() {
        Some(inner) => Ok(part.list.join_tokens(inner.at, inner.end)),
        None => fault(at, "a condition in brackets is missing: write CHECK (a > 0)"),
    }
}

/// What stands behind REFERENCES.
pub(super) fn read_parent(
    part: &mut TokenCursor<'_, '_>,
    place: SourcePlace,
    columns: Vec<String>,
) -> Result<ReferenceDraft, SchemaFault> {
    let parent = read_name(part, "the table")?;
    let parent_columns = if part.sees_sign("(") { Some(read_columns(part)?) } else { None };
    while part.take_word("ON") {
        let at = part.at;
        let event = part.take_word("DELETE") || part.take_word("UPDATE");
        let action = part.take_word("CASCADE")
            || part.take_word("RESTRICT")
            || part.take_words(&["NO", "ACTION"])
            || part.take_words(&["SET", "NULL"])
            || part.take_words(&["SET", "DEFAULT"]);
        if !event || !action {
            return fault(
                at,
                "write ON DELETE or ON UPDATE, and CASCADE, RESTRICT, SET NULL or NO ACTION",
            );
        }
    }
    Ok(ReferenceDraft { place, columns, parent, parent_columns })
}
