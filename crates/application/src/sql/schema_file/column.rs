//! One column of `CREATE TABLE`.

use bakeoff_engines::schema::{Column, Type};

use super::constraint::{read_check, read_parent};
use super::table_draft::{KeyDraft, TableDraft};
use super::{ColumnSource, SchemaFault, fault, read_name};
use crate::sql::column_type::read_type;
use crate::sql::token_list::TokenCursor;

/// Words that end the expression of a DEFAULT.
const AFTER_DEFAULT: [&str; 13] = [
    "NOT",
    "NULL",
    "PRIMARY",
    "UNIQUE",
    "REFERENCES",
    "CHECK",
    "CONSTRAINT",
    "COLLATE",
    "GENERATED",
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "ON",
    "COMMENT",
];

pub(super) fn read_column(
    part: &mut TokenCursor<'_, '_>,
    draft: &mut TableDraft,
) -> Result<(), SchemaFault> {
    let place = part.list.place_of(part.at);
    let at = part.at;
    let name = read_name(part, "the column")?;
    if draft.table.columns.iter().any(|column| column.name == name) {
        return fault(at, format!("the column {name} is declared twice: remove one"));
    }
    let (type_at, number) = (part.at, draft.table.columns.len());
    let read = read_type(part);
    // A column of a wrong type is kept, so that nobody misses it elsewhere.
    let (kind, numbered) = *read.as_ref().unwrap_or(&(Type::Int, false));
    draft.add_column(
        Column { name, kind, nullable: true },
        ColumnSource { place, kind, default: None },
    );
    if let Err(what) = read {
        return fault(type_at, what);
    }
    if numbered {
        set_numbered(draft, number, type_at)?;
    }
    while !part.is_done() {
        read_column_constraint(part, draft, number)?;
    }
    Ok(())
}

fn set_numbered(draft: &mut TableDraft, number: usize, at: usize) -> Result<(), SchemaFault> {
    if draft.numbered.is_some_and(|known| known != number) {
        return fault(at, "a table has one generated column: make this one an INTEGER");
    }
    draft.numbered = Some(number);
    draft.table.columns[number].nullable = false;
    Ok(())
}

fn read_column_constraint(
    part: &mut TokenCursor<'_, '_>,
    draft: &mut TableDraft,
    number: usize,
) -> Result<(), SchemaFault> {
    let at = part.at;
    let place = part.list.place_of(at);
    let name = draft.table.columns[number].name.clone();
    if part.take_word("CONSTRAINT") {
        read_name(part, "the constraint")?;
    } else if part.take_words(&["NOT", "NULL"]) {
        draft.table.columns[number].nullable = false;
    } else if part.take_word("NULL") {
    } else if part.take_words(&["PRIMARY", "KEY"]) {
        if draft.key.is_some() {
            return fault(
                at,
                "a table has one PRIMARY KEY: write (…, PRIMARY KEY (a, b)) for two columns",
            );
        }
        draft.key = Some(KeyDraft { place, columns: vec![name] });
    } else if part.take_word("UNIQUE") {
        part.take_word("KEY");
        draft.add_index(place, None, vec![name], true);
    } else if part.take_word("REFERENCES") {
        draft.references.push(read_parent(part, place, vec![name])?);
    } else if part.take_word("DEFAULT") {
        draft.source.columns[number].default = Some(read_default(part)?);
    } else if part.take_word("CHECK") {
        draft.source.checks.push(read_check(part)?);
    } else if part.take_word("GENERATED") {
        read_identity(part)?;
        set_numbered(draft, number, at)?;
    } else if part.take_word("AUTO_INCREMENT") || part.take_word("AUTOINCREMENT") {
        set_numbered(draft, number, at)?;
    } else {
        return fault(at, refuse_words(&part.peek_upper(), part));
    }
    Ok(())
}

fn refuse_words(word: &str, part: &TokenCursor<'_, '_>) -> String {
    match word {
        "COLLATE" | "CHARACTER" | "CHARSET" => {
            format!(
                "leave out {word}: bakeoff's texts are UTF-8, and compare by their bytes on \
                 every engine"
            )
        }
        "ON" => "leave out ON UPDATE: give the column its value in each UPDATE".into(),
        "COMMENT" => "leave out COMMENT: write `-- …`".into(),
        "ASC" | "DESC" => format!("leave out {word}: a key can be read both ways"),
        _ => format!(
            "`{}` isn't understood: a column has NOT NULL, PRIMARY KEY, UNIQUE, REFERENCES, \
             DEFAULT, CHECK or GENERATED … AS IDENTITY",
            part.list.token(part.at)
        ),
    }
}

/// The expression up to the next constraint.
fn read_default(part: &mut TokenCursor<'_, '_>) -> Result<String, SchemaFault> {
    let from = part.at;
    if part.is_done() {
        return fault(from, "the value behind DEFAULT is missing");
    }
    let depth = part.list.depth(from);
    part.at += 1;
    let ends =
        |at: usize| part.list.depth(at) == depth && part.list.is_any_word(at, &AFTER_DEFAULT);
    part.at = (part.at..part.end).find(|at| ends(*at)).unwrap_or(part.end);
    Ok(part.list.join_tokens(from, part.at))
}

/// `ALWAYS AS IDENTITY`, `BY DEFAULT AS IDENTITY`, with its options in brackets.
fn read_identity(part: &mut TokenCursor<'_, '_>) -> Result<(), SchemaFault> {
    let at = part.at;
    let begins = part.take_word("ALWAYS") || part.take_words(&["BY", "DEFAULT"]);
    if !begins || !part.take_words(&["AS", "IDENTITY"]) {
        return fault(
            at,
            "bakeoff has no computed columns: write GENERATED BY DEFAULT AS IDENTITY, or give the \
             column its value in each INSERT",
        );
    }
    part.take_brackets();
    Ok(())
}
