//! `schema.sql`: tables, indexes and references.

use bakeoff_engines::Schema;
use bakeoff_engines::schema::{Table, Type};

use super::split::find_statements;
use super::token_list::{TokenCursor, TokenList};
use super::tokens::TokenKind;
use crate::{Mistakes, SourcePlace};
use table_draft::TableDraft;

pub(super) use constraint::is_constraint;

mod column;
mod constraint;
mod finish;
mod table_draft;

/// The tables of a folder, and where they are declared.
#[derive(Clone, Debug, Default)]
pub struct SqlSchema {
    /// The tables as they are written, one after the other.
    pub schema: Schema,
    /// What [`Schema`] has no room for, a table each.
    pub tables: Vec<TableSource>,
    /// All foreign keys.
    pub references: Vec<SchemaReference>,
}

/// Where a table is declared, and what else is said of it.
#[derive(Clone, Debug)]
pub struct TableSource {
    /// Of its name.
    pub place: SourcePlace,
    /// One a column.
    pub columns: Vec<ColumnSource>,
    /// The conditions of each CHECK, without its brackets.
    pub checks: Vec<String>,
    /// Whether a part with a mistake was left out: of its columns not all is known.
    pub is_partial: bool,
}

/// Where a column is declared, and what else is said of it.
#[derive(Clone, Debug)]
pub struct ColumnSource {
    /// Of its name.
    pub place: SourcePlace,
    /// Its type.
    pub kind: Type,
    /// The expression behind DEFAULT.
    pub default: Option<String>,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct SchemaReference {
    /// The number of the table that has it.
    pub table: usize,
    /// The numbers of its columns.
    pub columns: Vec<usize>,
    /// The number of the table that it leads to.
    pub parent: usize,
    /// The numbers of that table's columns.
    pub parent_columns: Vec<usize>,
}

/// What is wrong, and the token where.
pub(super) struct SchemaFault {
    at: usize,
    what: String,
}

fn fault<T>(at: usize, what: impl Into<String>) -> Result<T, SchemaFault> {
    Err(SchemaFault { at, what: what.into() })
}

impl SqlSchema {
    /// Reads the text of a file that begins at a place. What is wrong is left out.
    pub fn from_text(text: &str, place: &SourcePlace, mistakes: &mut Mistakes) -> Self {
        let mut drafts = Vec::new();
        for statement in find_statements(text) {
            let place = place.advance(text, statement.span.start);
            let list = TokenList::new(&text[statement.span], &place);
            if let Err(fault) = read_statement(&list, &mut drafts, mistakes) {
                mistakes.add(list.place_of(fault.at), fault.what);
            }
        }
        finish::finish_schema(drafts, mistakes)
    }

    /// The number of a table. A name without quotes may be in another case.
    pub fn find_table(&self, name: &str) -> Option<usize> {
        find_name(self.schema.tables.iter().map(|table| table.name.as_str()), name)
    }
}

/// The number of a column; as [`SqlSchema::find_table`].
pub(super) fn find_column(table: &Table, name: &str) -> Option<usize> {
    find_name(table.columns.iter().map(|column| column.name.as_str()), name)
}

fn find_name<'n>(names: impl Iterator<Item = &'n str> + Clone, wanted: &str) -> Option<usize> {
    let same = names.clone().position(|name| name == wanted);
    same.or_else(|| names.clone().position(|name| name.to_lowercase() == wanted.to_lowercase()))
}

fn read_statement(
    list: &TokenList<'_>,
    drafts: &mut Vec<TableDraft>,
    mistakes: &mut Mistakes,
) -> Result<(), SchemaFault> {
    if let Some(at) = (0..list.len()).find(|at| list.kind(*at) == Some(TokenKind::Unclosed)) {
        return fault(at, "this text, name or comment has no end: close it");
    }
    let mut cursor = TokenCursor::new(list, 0, list.len());
    let creates = cursor.take_word("CREATE");
    match () {
        () if creates && cursor.take_word("TABLE") => read_table(&mut cursor, drafts, mistakes),
        () if creates && cursor.take_word("INDEX") => read_index(&mut cursor, drafts, false),
        () if creates && cursor.take_words(&["UNIQUE", "INDEX"]) => {
            read_index(&mut cursor, drafts, true)
        }
        () => {
            let end = if creates { 2 } else { 1 };
            let words = list.join_tokens(0, end);
            fault(
                0,
                format!(
                    "`{words}` has no place here: schema.sql has CREATE TABLE and CREATE INDEX"
                ),
            )
        }
    }
}

/// A name of at most 63 bytes, which is what PostgreSQL has room for; without a schema's name.
fn read_name(cursor: &mut TokenCursor<'_, '_>, what: &str) -> Result<String, SchemaFault> {
    let at = cursor.at;
    let seen = cursor.peek_upper();
    let Some(name) = cursor.take_name() else {
        return fault(
            at,
            match seen.as_str() {
                "" => format!("the name of {what} is missing"),
                _ => format!(
                    "`{seen}` is no name of {what}: write another, or \"{}\" with quotes",
                    seen.to_lowercase()
                ),
            },
        );
    };
    if cursor.sees_sign(".") {
        return fault(
            at,
            format!("write {what} without `{name}.`: bakeoff makes a database of its own"),
        );
    }
    match name.len() {
        0 => fault(at, format!("the name of {what} is empty")),
        1..=63 => Ok(name),
        _ => {
            fault(at, format!("the name of {what} has more than 63 bytes: PostgreSQL would cut it"))
        }
    }
}

fn read_table(
    cursor: &mut TokenCursor<'_, '_>,
    drafts: &mut Vec<TableDraft>,
    mistakes: &mut Mistakes,
) -> Result<(), SchemaFault> {
    cursor.take_words(&["IF", "NOT", "EXISTS"]);
    let (list, at) = (cursor.list, cursor.at);
    let name = read_name(cursor, "the table")?;
    if drafts.iter().any(|draft| draft.table.name == name) {
        return fault(at, format!("the table {name} is declared twice: remove one"));
    }
    let Some(inner) = cursor.take_brackets() else {
        return fault(cursor.at, format!("the columns of {name} are missing: write ({name}_id …)"));
    };
    let mut draft = TableDraft::new(&name, list.place_of(at));
    for (from, to) in list.split_commas(inner.at, inner.end) {
        let mut part = TokenCursor::new(list, from, to);
        if let Err(fault) = read_part(&mut part, &mut draft) {
            draft.source.is_partial = true;
            mistakes.add(list.place_of(fault.at), fault.what);
        }
    }
    drafts.push(draft);
    read_options(cursor)
}

fn read_part(part: &mut TokenCursor<'_, '_>, draft: &mut TableDraft) -> Result<(), SchemaFault> {
    match constraint::is_constraint(part) {
        true => constraint::read_constraint(part, draft),
        false => column::read_column(part, draft),
    }
}

/// What stands behind a table's columns.
fn read_options(cursor: &mut TokenCursor<'_, '_>) -> Result<(), SchemaFault> {
    while cursor.take_words(&["WITHOUT", "ROWID"])
        || cursor.take_word("STRICT")
        || cursor.take_sign(",")
    {}
    match cursor.is_done() {
        true => Ok(()),
        false => {
            let rest = cursor.list.join_tokens(cursor.at, cursor.end);
            fault(cursor.at, format!("leave out `{rest}`: the engine says how a table is stored"))
        }
    }
}

fn read_index(
    cursor: &mut TokenCursor<'_, '_>,
    drafts: &mut [TableDraft],
    unique: bool,
) -> Result<(), SchemaFault> {
    cursor.take_words(&["IF", "NOT", "EXISTS"]);
    let start = cursor.at;
    let name = match cursor.sees_word("ON") {
        true => None,
        false => Some(read_name(cursor, "the index")?),
    };
    if !cursor.take_word("ON") {
        return fault(
            cursor.at,
            "ON and a table are missing: write CREATE INDEX … ON table (columns)",
        );
    }
    let at = cursor.at;
    let table = read_name(cursor, "the table")?;
    let Some(draft) = drafts.iter_mut().find(|draft| draft.table.name == table) else {
        return fault(at, format!("there is no table {table} above: create it before its index"));
    };
    if cursor.take_word("USING") && !cursor.take_word("BTREE") {
        return fault(cursor.at, "bakeoff has ordered indexes alone: leave out USING");
    }
    let columns = constraint::read_index_columns(cursor)?;
    if !cursor.is_done() {
        let rest = cursor.list.join_tokens(cursor.at, cursor.end);
        return fault(
            cursor.at,
            format!("bakeoff's indexes have all rows and their columns alone: leave out `{rest}`"),
        );
    }
    draft.add_index(cursor.list.place_of(start), name, columns, unique);
    Ok(())
}

#[cfg(test)]
mod tests;
