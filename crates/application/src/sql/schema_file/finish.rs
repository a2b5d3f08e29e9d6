//! The schema of all drafts: names become numbers, and what engines take for granted is checked.

use bakeoff_engines::Schema;
use bakeoff_engines::schema::{Index, Table, Type};

use super::table_draft::{IndexDraft, TableDraft};
use super::{SchemaReference, SqlSchema, find_column};
use crate::{Mistakes, SourcePlace};

pub(super) fn finish_schema(mut drafts: Vec<TableDraft>, mistakes: &mut Mistakes) -> SqlSchema {
    let mut known = Vec::new();
    for draft in &mut drafts {
        finish_key(draft, mistakes);
        finish_indexes(draft, &mut known, mistakes);
        if let Err(error) = (Schema { tables: vec![draft.table.clone()] }).validate()
            && !draft.table.key.is_empty()
            && !mistakes.iter().any(|mistake| mistake.place.file == draft.source.place.file)
        {
            mistakes.add(draft.source.place.clone(), error.to_string());
        }
    }
    let mut references = Vec::new();
    for number in 0..drafts.len() {
        finish_references(&drafts, number, &mut references, mistakes);
    }
    let (mut tables, mut sources) = (Vec::new(), Vec::new());
    for draft in drafts {
        tables.push(draft.table);
        sources.push(draft.source);
    }
    SqlSchema { schema: Schema { tables }, tables: sources, references }
}

/// The numbers of columns; a mistake at the place if one is unknown.
fn find_columns(
    table: &Table,
    names: &[String],
    place: &SourcePlace,
    mistakes: &mut Mistakes,
) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for name in names {
        match find_column(table, name) {
            Some(number) => numbers.push(number),
            None => {
                let known: Vec<_> =
                    table.columns.iter().map(|column| column.name.as_str()).collect();
                let known = known.join(", ");
                mistakes.add(
                    place.clone(),
                    format!("the table {} has no column {name}; it has {known}", table.name),
                );
            }
        }
    }
    (numbers.len() == names.len()).then_some(numbers)
}

fn finish_key(draft: &mut TableDraft, mistakes: &mut Mistakes) {
    let name = draft.table.name.clone();
    let Some(key) = &draft.key else {
        if !draft.source.is_partial {
            let what = format!("the table {name} has no key: add a PRIMARY KEY");
            mistakes.add(draft.source.place.clone(), what);
        }
        return;
    };
    let Some(columns) = find_columns(&draft.table, &key.columns, &key.place, mistakes) else {
        return;
    };
    for column in &columns {
        draft.table.columns[*column].nullable = false;
        refuse_bytes_key(draft.source.columns[*column].kind, &key.columns, &key.place, mistakes);
        refuse_unindexed(draft.source.columns[*column].kind, &key.columns, &key.place, mistakes);
    }
    if let Some(numbered) = draft.numbered {
        draft.table.generated =
            columns == [numbered] && draft.source.columns[numbered].kind == Type::Int;
        if !draft.table.generated {
            let column = &draft.table.columns[numbered].name;
            let place = draft.source.columns[numbered].place.clone();
            let what = "only a PRIMARY KEY of one integer can be generated";
            mistakes.add(place, format!("{what}: make {column} that, or a plain INTEGER"));
        }
    }
    draft.table.key = columns;
}

/// Expressions of references would have to take them.
fn refuse_bytes_key(kind: Type, columns: &[String], place: &SourcePlace, mistakes: &mut Mistakes) {
    if kind.is_bytes() {
        let columns = columns.join(", ");
        let what = format!(
            "bytes can't be in a PRIMARY KEY ({columns}): write VARCHAR(255), with the bytes as \
             hexadecimal digits"
        );
        mistakes.add(place.clone(), what);
    }
}

fn refuse_unindexed(kind: Type, columns: &[String], place: &SourcePlace, mistakes: &mut Mistakes) {
    let columns = columns.join(", ");
    match kind {
        Type::MediumText => mistakes.add(
            place.clone(),
            format!("TEXT can't be in a key or an index ({columns}): write VARCHAR(255)"),
        ),
        Type::Real | Type::Decimal { .. } => mistakes.add(
            place.clone(),
            format!(
                "a number with a fraction can't be in a key or an index ({columns}): write INTEGER"
            ),
        ),
        Type::Text { most } if most > Type::MOST_INDEXED => mistakes.add(
            place.clone(),
            format!(
                "VARCHAR({most}) can't be in a key or an index ({columns}): write VARCHAR(255)"
            ),
        ),
        Type::Bytes { most } if most > Type::MOST_INDEXED => mistakes.add(
            place.clone(),
            format!(
                "bytes in an index ({columns}) have at most {most}: write VARBINARY({most})",
                most = Type::MOST_INDEXED
            ),
        ),
        _ => {}
    }
}

fn finish_indexes(draft: &mut TableDraft, known: &mut Vec<String>, mistakes: &mut Mistakes) {
    for IndexDraft { place, name, columns: names, unique } in &draft.indexes {
        let Some(columns) = find_columns(&draft.table, names, place, mistakes) else { continue };
        for column in &columns {
            refuse_unindexed(draft.source.columns[*column].kind, names, place, mistakes);
        }
        // The key is an index of itself.
        if *unique && columns == draft.table.key {
            continue;
        }
        let made = || format!("{}_{}", draft.table.name, names.join("_"));
        let index = name.clone().unwrap_or_else(made);
        if known.contains(&index) {
            let what = format!(
                "there is an index {index} already: remove it, or give this one another name"
            );
            mistakes.add(place.clone(), what);
            continue;
        }
        known.push(index.clone());
        draft.table.indexes.push(Index { name: index, columns, unique: *unique });
    }
}

fn finish_references(
    drafts: &[TableDraft],
    number: usize,
    references: &mut Vec<SchemaReference>,
    mistakes: &mut Mistakes,
) {
    for reference in &drafts[number].references {
        let place = &reference.place;
        let child = &drafts[number].table;
        let Some(columns) = find_columns(child, &reference.columns, place, mistakes) else {
            continue;
        };
        let Some(parent) = drafts.iter().position(|draft| draft.table.name == reference.parent)
        else {
            let what = format!("there is no table {}: create it in schema.sql", reference.parent);
            mistakes.add(place.clone(), what);
            continue;
        };
        let table = &drafts[parent].table;
        let parent_columns = match &reference.parent_columns {
            None => Some(table.key.clone()),
            Some(names) => find_columns(table, names, place, mistakes),
        };
        let parent_columns = parent_columns.filter(|_| !drafts[parent].source.is_partial);
        let Some(parent_columns) = parent_columns else { continue };
        let (from, to, name) = (columns.len(), parent_columns.len(), &table.name);
        if from != to {
            let what = format!("{from} columns refer to {to} of {name}: give as many");
            mistakes.add(place.clone(), what);
            continue;
        }
        references.push(SchemaReference { table: number, columns, parent, parent_columns });
    }
}
