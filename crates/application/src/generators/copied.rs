//! Rows that are copied: their columns without a generator come from the rows file.

use bakeoff_engines::Value;
use bakeoff_workloads::{RowsError, Take};

use super::builder::GeneratorBuilder;
use super::{RowPart, TableRows, ValueBuffers, ValueSource, explain_misfit, read_part};
use crate::copied::{CopiedReader, SampledValue};
use crate::expression::{Operand, TextSpan};

impl TableRows {
    /// The rows file and the row that stands for one in samples: its number, and its place there.
    pub(super) fn find_sampled(
        &self,
        table: usize,
        row: i64,
    ) -> Option<(&CopiedReader, i64, usize)> {
        let reader = self.parameters.copied.as_deref()?;
        reader.count_rows(table)?;
        let (number, place) = reader.find_sampled(table, row);
        Some((reader, number, place))
    }

    /// A value of the sample.
    pub(super) fn read_sampled(
        &self,
        [table, column]: [usize; 2],
        row: i64,
        buffers: &mut ValueBuffers,
    ) -> RowPart {
        let Some((reader, _, place)) = self.find_sampled(table, row) else { return RowPart::Null };
        match reader.sampled_value(table, column, place) {
            SampledValue::Null => RowPart::Null,
            SampledValue::Int(int) => RowPart::Int(*int),
            SampledValue::Real(real) => RowPart::Real(*real),
            SampledValue::Text(text) => {
                let start = buffers.text.len();
                buffers.text.push_str(text);
                RowPart::Text(TextSpan { start, end: buffers.text.len() })
            }
            SampledValue::Bytes(bytes) => {
                let start = buffers.bytes.len();
                buffers.bytes.extend_from_slice(bytes);
                RowPart::Bytes { start, end: buffers.bytes.len() }
            }
        }
    }

    /// A value of the sample that is a part of a key, and therefore no bytes.
    pub(super) fn read_sampled_key(
        &self,
        place: [usize; 2],
        row: i64,
        scratch: &mut String,
    ) -> Operand {
        let mut buffers = ValueBuffers { text: std::mem::take(scratch), bytes: Vec::new() };
        let part = self.read_sampled(place, row, &mut buffers);
        *scratch = buffers.text;
        match part {
            RowPart::Int(int) => Operand::Int(int),
            RowPart::Real(real) => Operand::Real(real),
            RowPart::Text(span) | RowPart::TextAsBytes(span) => Operand::Text(span),
            RowPart::Null | RowPart::Bytes { .. } => Operand::Null,
        }
    }

    /// Gives the rows of a table that was copied, in the order of their keys. Other columns are made.
    pub(super) fn for_each_copied_row(
        &self,
        reader: &CopiedReader,
        table: usize,
        take: &mut Take<'_>,
    ) -> Result<(), RowsError> {
        let columns = &self.tables[table].table.columns;
        let is_made = |column: &usize| !reader.has_column(table, *column);
        let made: Vec<usize> = (0..columns.len()).filter(is_made).collect();
        let (mut buffers, mut number, mut fault) = (ValueBuffers::default(), 0, None);
        let read = reader.for_each_row(table, &mut |values| {
            buffers.clear();
            let mut parts = Vec::with_capacity(made.len());
            for column in &made {
                match self.make_part(table, *column, number, &mut buffers) {
                    Ok(part) => parts.push((*column, part)),
                    Err(error) => {
                        let error = self.blame_row(table, *column, number, &error);
                        return Err(stop_at(&mut fault, error));
                    }
                }
            }
            let mut row: Vec<Value<'_>> = values.to_vec();
            for (column, part) in parts {
                row[column] = read_part(part, &buffers);
                if let Some(what) = explain_misfit(&columns[column], row[column]) {
                    let error = self.blame_row(table, column, number, &what);
                    return Err(stop_at(&mut fault, error));
                }
            }
            number += 1;
            take(&row)
        });
        fault.map_or(read, |fault| Err(RowsError::Source(fault)))
    }
}

/// Keeps a fault of a generator, which is no engine's.
fn stop_at(
    fault: &mut Option<bakeoff_workloads::SourceError>,
    error: bakeoff_workloads::SourceError,
) -> bakeoff_engines::Error {
    *fault = Some(error);
    bakeoff_engines::Error::Usage(String::new())
}

impl GeneratorBuilder<'_> {
    /// Columns without a generator are copied, if the table is.
    pub(super) fn take_copied(&mut self, table: usize) {
        for column in &self.tables[table].copied {
            self.sources[table][*column].get_or_insert(ValueSource::Copied);
        }
    }

    /// Whether all of these columns are copied.
    pub(super) fn are_copied(&self, table: usize, columns: &[usize]) -> bool {
        let is_copied =
            |column: &usize| matches!(self.sources[table][*column], Some(ValueSource::Copied));
        columns.iter().all(is_copied)
    }

    /// References that are copied lead to keys that are, and copied rows can be put in order.
    pub(super) fn check_copied(&mut self) {
        let tables = self.tables;
        for (table, generated) in tables.iter().enumerate() {
            for (columns, parent) in &generated.references {
                let theirs = &tables[*parent];
                if !self.are_copied(table, columns) || self.are_copied(*parent, &theirs.table.key) {
                    continue;
                }
                let (names, name) = (self.name_columns(table, columns), &theirs.table.name);
                let what = format!(
                    "{names} is copied, and the key of {name} is not: give {names} a generator, too, such \
                     as ref({name})"
                );
                self.refuse_table(table, what);
            }
            if !generated.copied.is_empty() && !self.is_ascending(table, 0) {
                let name = &generated.table.name;
                let what = format!(
                    "the rows of {name} are copied, and its key has a generator that does not ascend: \
                     write :row + 1, or copy the key"
                );
                self.refuse_table(table, what);
            }
        }
    }
}
