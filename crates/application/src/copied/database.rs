//! Copies rows of a database by URL.

use std::path::Path;

use bakeoff_engines::reader::{DatabaseReader, TableEstimate, open_reader};

use super::copier::CopiedRowsWriter;
use super::faults::RowPlace;
use super::fields::BytesForm;
use super::{CopiedRows, CopyRequest};
use crate::generators::group_digits;

pub fn copy_from_database(
    request: &CopyRequest,
    url: &str,
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<CopiedRows, String> {
    let mut reader = open_reader(url)?;
    let origin = reader.name().to_owned();
    let tables = try_tables(request, &mut *reader).map_err(|what| format!("{origin}: {what}"))?;
    tell(&describe_tables(request, &tables, &origin, &reader.estimate_tables()?));
    reader.begin_snapshot()?;
    let form = if origin.starts_with("postgres") { BytesForm::Hex } else { BytesForm::Raw };
    let mut copier = CopiedRowsWriter::new(request, &origin, form, folder)?;
    for table in tables {
        copier.begin_table(table)?;
        let name = &request.schema.schema.tables[table].name;
        let columns = request.name_columns(table, &request.tables[table].columns);
        reader.read_rows(name, &columns, &mut |fields| {
            let fields = &fields[..columns.len().min(fields.len())];
            let faults = copier.add_row(table, RowPlace::default(), fields)?;
            for (field, what) in faults {
                let column = columns.get(field).copied().unwrap_or_default();
                let row = copier.describe_row(table, fields);
                copier.faults.add(RowPlace::default(), &format!("{name}.{column}{row}: {what}"));
            }
            Ok(())
        })?;
    }
    copier.finish()
}

/// The tables to copy, all of which can be read.
fn try_tables(
    request: &CopyRequest,
    reader: &mut dyn DatabaseReader,
) -> Result<Vec<usize>, String> {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for (number, wanted) in request.tables.iter().enumerate() {
        let name = &request.schema.schema.tables[number].name;
        match reader.try_columns(name, &request.name_columns(number, &wanted.columns)) {
            Ok(true) => found.push(number),
            Ok(false) if wanted.is_counted => {}
            Ok(false) => problems.push(request.explain_lacking(number)),
            Err(what) => problems.push(what),
        }
    }
    match problems.is_empty() {
        true => Ok(found),
        false => Err(problems.join("\n")),
    }
}

/// What will be read, before anything is.
fn describe_tables(
    request: &CopyRequest,
    tables: &[usize],
    origin: &str,
    estimates: &[TableEstimate],
) -> String {
    let mut text = format!("reads from {origin}, in one snapshot, and changes nothing there:");
    for number in tables {
        let table = &request.schema.schema.tables[*number];
        let estimate = estimates.iter().find(|it| it.name.eq_ignore_ascii_case(&table.name));
        let rows = estimate.and_then(|it| it.rows);
        let rows = rows.map_or("rows not counted".into(), |rows| {
            format!("about {} rows", group_digits(rows.cast_signed()))
        });
        let megabytes = estimate.map_or(0.0, |it| it.bytes as f64 / 1e6);
        let read = &request.tables[*number].columns;
        let made: Vec<usize> = (0..table.columns.len()).filter(|it| !read.contains(it)).collect();
        let made = match made.is_empty() {
            true => String::new(),
            false => format!("; not {}", request.name_columns(*number, &made).join(", ")),
        };
        text += &format!("\n  {}: {rows}, {megabytes:.1} MB{made}", table.name);
    }
    text
}
