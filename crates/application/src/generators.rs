//! Rows that are made: each value is a pure function of seed, table, row and column.
//!
//! A column has the expression that `workload.toml` gives it, or a generator by its type, its keys
//! and its references. A value is made whenever it is asked for, and never stored.

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

use bakeoff_engines::schema::{Column, Table, Type};
use bakeoff_engines::{Error, Value};
use bakeoff_workloads::{RowsError, SourceError, Take, TextSource, WorkloadRandom};
use rand::{RngExt, SeedableRng};

use crate::copied::CopiedReader;
use crate::expression::calendar::{parse_date, parse_timestamp, write_date, write_timestamp};
use crate::expression::made_text::round_decimal;
use crate::expression::{
    DrawnBytes, Evaluation, EvaluationError, Expression, OpaqueBytes, Operand, RowKeys,
    RowVariables, TextSpan, mix_bits, read_datum, write_words,
};
use crate::{Datum, Mistakes, Slots, SourcePlace};
use builder::{BuiltGenerators, GeneratorBuilder, UnprovenColumns};

mod builder;
mod copied;
mod counts;
mod order;
mod range;
mod references;
mod spread;
#[cfg(test)]
mod tests;

pub(crate) use builder::group_digits;
pub use counts::count_table_rows;

/// 2020-01-01 and 2025-12-31, in days since 1970.
const FIRST_DAY: i64 = 18_262;
const LAST_DAY: i64 = 20_453;

/// A table whose rows are made.
#[derive(Clone, Debug)]
pub struct GeneratedTable {
    /// Its columns, key and indexes.
    pub table: Table,
    /// Its foreign keys: its own columns, and the number of the table whose key they hold.
    pub references: Vec<(Vec<usize>, usize)>,
    /// Where it is declared.
    pub place: SourcePlace,
    /// How many rows it has.
    pub rows: i64,
    /// The columns that are copied, unless a generator is written.
    pub copied: Vec<usize>,
}

/// An expression that a user gives a column. Its variables are `:row` (from 0), `:rows` and
/// `:scale`.
#[derive(Clone, Debug)]
pub struct WrittenGenerator {
    /// The number of the table.
    pub table: usize,
    /// The number of the column in it.
    pub column: usize,
    /// The expression.
    pub text: String,
    /// Where it begins.
    pub place: SourcePlace,
}

/// What the values of all rows depend on, besides their generators.
#[derive(Clone, Debug)]
pub struct GeneratorParameters {
    /// The seed of all that is random.
    pub seed: u64,
    /// The seed of `hash` and `permute`.
    pub default_seed: i64,
    /// The value of `:scale`.
    pub scale: i64,
    /// The source of words.
    pub text: Arc<TextSource>,
    /// The rows file of tables that are copied.
    pub copied: Option<Arc<CopiedReader>>,
}

/// How the values of a column are made.
#[derive(Debug)]
pub struct ColumnGenerator {
    source: ValueSource,
}

impl ColumnGenerator {
    /// Whether nobody wrote how it is made, and it is not copied.
    pub fn is_made_up(&self) -> bool {
        !matches!(self.source, ValueSource::Written(_) | ValueSource::Copied)
    }
}

#[derive(Debug)]
enum ValueSource {
    Written(Expression),
    /// As the rows file has it; a sample of them, where a row is asked for by its number.
    Copied,
    /// `:row + 1`.
    RowNumber,
    /// A name and the row, in so many digits.
    NumberedName {
        prefix: String,
        digits: usize,
    },
    Words {
        least: i64,
        most: i64,
    },
    Bytes {
        least: i64,
        most: i64,
    },
    Integers,
    /// A number below `units`, divided by ten to the power of `scale`.
    Decimals {
        units: i64,
        scale: u8,
    },
    Bools,
    /// A day of the years 2020 to 2025.
    Days,
    /// A second of these years.
    Moments,
    /// A column of the key of a random row of `parent`; all columns of a reference draw the same
    /// row, by the stream of the first.
    RandomParent {
        parent: usize,
        part: usize,
        stream: usize,
    },
    /// The parent's rows in order, each for `block` rows.
    ParentOfBlock {
        parent: usize,
        part: usize,
        block: i64,
    },
    /// Rows of `parent` in order, spread over all of them, within each block.
    ParentWithinBlock {
        parent: usize,
        part: usize,
        block: i64,
    },
    /// From 1 within each block.
    NumberWithinBlock {
        block: i64,
    },
}

/// The rows of all tables.
#[derive(Debug)]
pub struct TableRows {
    tables: Vec<GeneratedTable>,
    /// By table and column.
    generators: Vec<Vec<ColumnGenerator>>,
    /// Whether the rows' order is the order of their keys.
    ascending: Vec<bool>,
    /// Columns that are to be unique, which only their values can show.
    unproven: Vec<UnprovenColumns>,
    parameters: GeneratorParameters,
    no_slots: Slots,
}

/// A value as its column holds it.
#[derive(Clone, Copy)]
enum RowPart {
    Null,
    Int(i64),
    Real(f64),
    Text(TextSpan),
    /// A text in a column of bytes.
    TextAsBytes(TextSpan),
    Bytes {
        start: usize,
        end: usize,
    },
}

/// Where the texts and the bytes of values are.
#[derive(Debug, Default)]
pub struct ValueBuffers {
    text: String,
    bytes: Vec<u8>,
}

impl ValueBuffers {
    fn clear(&mut self) {
        self.text.clear();
        self.bytes.clear();
    }
}

impl TableRows {
    /// Reads what is written and makes up the rest. Every mistake is added, and then there are no
    /// rows: keys and UNIQUE columns need generators that can't give a value twice.
    pub fn new(
        tables: Vec<GeneratedTable>,
        written: &[WrittenGenerator],
        parameters: GeneratorParameters,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let BuiltGenerators { generators, ascending, unproven } =
            GeneratorBuilder::new(&tables, mistakes).build(written)?;
        let no_slots = Slots::new(0);
        Some(Self { tables, generators, ascending, unproven, parameters, no_slots })
    }

    /// Tries values of each written generator, compares rows where nothing proves that they differ,
    /// and looks whether references lead to rows. Every mistake is added; whether there is none.
    pub fn check_values(&self, written: &[WrittenGenerator], mistakes: &mut Mistakes) -> bool {
        let wrong: Vec<_> = written
            .iter()
            .filter_map(|generator| Some((generator, self.try_ends(generator)?)))
            .collect();
        for (generator, what) in &wrong {
            mistakes.add(generator.place.clone(), what.clone());
        }
        // Values that can't be made can't be compared.
        let compared = self.unproven.iter().filter(|_| wrong.is_empty());
        let repeats: Vec<_> =
            compared.filter(|it| self.has_repeat(it.table, &it.columns)).collect();
        for UnprovenColumns { mistake, .. } in &repeats {
            mistakes.add(mistake.place.clone(), mistake.what.clone());
        }
        wrong.is_empty() && self.check_references(written, mistakes) && repeats.is_empty()
    }

    /// Whether two rows agree in all of the columns. Nulls don't count.
    fn has_repeat(&self, table: usize, columns: &[usize]) -> bool {
        let (mut seen, mut buffers) = (HashSet::new(), ValueBuffers::default());
        (0..self.tables[table].rows).any(|row| {
            let mut key = String::new();
            let mut has_null = false;
            for column in columns {
                buffers.clear();
                let part = self.make_part(table, *column, row, &mut buffers);
                let value = part.map(|part| Datum::from(read_part(part, &buffers)));
                has_null |= matches!(value, Ok(Datum::Null));
                let _ = value.map(|value| write!(key, "{value}\u{0}"));
            }
            !has_null && !seen.insert(key)
        })
    }

    /// What is wrong with a column's value in the first or the last row.
    fn try_ends(&self, generator: &WrittenGenerator) -> Option<String> {
        let generated = &self.tables[generator.table];
        let column = &generated.table.columns[generator.column];
        let last = generated.rows - 1;
        let mut buffers = ValueBuffers::default();
        [0, last].into_iter().filter(|row| *row <= last).find_map(|row| {
            let part = self.make_part(generator.table, generator.column, row, &mut buffers);
            let fault = match part {
                Ok(part) => explain_misfit(column, read_part(part, &buffers))?,
                Err(error) => error.to_string(),
            };
            Some(format!("{fault}; this is of row {row} (from 0)"))
        })
    }

    /// How a column is made.
    pub fn find_generator(&self, table: usize, column: usize) -> &ColumnGenerator {
        &self.generators[table][column]
    }

    /// The value of a column in a row, from 0, as it is loaded. It takes the place of what `buffers`
    /// had.
    ///
    /// # Errors
    ///
    /// The column's expression fails, or gives a value of another type.
    pub fn write_value<'t>(
        &self,
        table: usize,
        column: usize,
        row: i64,
        buffers: &'t mut ValueBuffers,
    ) -> Result<Datum<'t>, EvaluationError> {
        buffers.clear();
        let part = match self.generators[table][column].source {
            ValueSource::Copied => self.read_sampled([table, column], row, buffers),
            _ => {
                let row = self.find_sampled(table, row).map_or(row, |(_, number, _)| number);
                self.make_part(table, column, row, buffers)?
            }
        };
        Ok(read_part(part, buffers).into())
    }

    /// What it is made of is appended to `buffers`.
    fn make_part(
        &self,
        table: usize,
        column: usize,
        row: i64,
        buffers: &mut ValueBuffers,
    ) -> Result<RowPart, EvaluationError> {
        let operand = self.make_value(table, column, row, &mut buffers.text)?;
        convert_operand(&self.tables[table].table.columns[column], operand, buffers)
    }

    fn make_value(
        &self,
        table: usize,
        column: usize,
        row: i64,
        scratch: &mut String,
    ) -> Result<Operand, EvaluationError> {
        let start = scratch.len();
        match &self.generators[table][column].source {
            ValueSource::Written(expression) => {
                return self.evaluate_written(expression, [table, column], row, scratch);
            }
            ValueSource::Copied => {
                return Ok(self.read_sampled_key([table, column], row, scratch));
            }
            ValueSource::RowNumber => return Ok(Operand::Int(row + 1)),
            ValueSource::NumberWithinBlock { block } => return Ok(Operand::Int(row % block + 1)),
            ValueSource::Bytes { least, most } => {
                let mut random = self.seed_value(table, column, row);
                let drawn = DrawnBytes::draw(&mut random, [*least, *most])?;
                return Ok(Operand::Bytes(OpaqueBytes::Drawn(drawn)));
            }
            ValueSource::Integers => {
                let mut random = self.seed_value(table, column, row);
                return Ok(Operand::Int(random.random_range(0..1_000_000)));
            }
            ValueSource::Decimals { units, scale } => {
                let units = self.seed_value(table, column, row).random_range(0..*units);
                return Ok(Operand::Real(units as f64 / 10_f64.powi(i32::from(*scale))));
            }
            ValueSource::Bools => {
                return Ok(Operand::Bool(self.seed_value(table, column, row).random()));
            }
            ValueSource::Days => {
                return Ok(Operand::Date(self.draw_day(table, column, row)));
            }
            ValueSource::Moments => {
                let second = self.seed_value(table, column, row).random_range(0..86_400);
                let day = self.draw_day(table, column, row);
                return Ok(Operand::Timestamp((day * 86_400 + second) * 1_000_000));
            }
            ValueSource::RandomParent { parent, part, stream } => {
                let mut random = self.seed_value(table, *stream, row);
                let drawn = random.random_range(0..self.tables[*parent].rows.max(1));
                return self.make_key_part(*parent, *part, drawn, scratch);
            }
            ValueSource::ParentOfBlock { parent, part, block } => {
                return self.make_key_part(*parent, *part, row / block, scratch);
            }
            ValueSource::ParentWithinBlock { parent, part, block } => {
                let other = self.find_within_block(table, *parent, *block, row);
                return self.make_key_part(*parent, *part, other, scratch);
            }
            ValueSource::NumberedName { prefix, digits } => {
                let _ = write!(scratch, "{prefix}{row:0digits$}");
            }
            ValueSource::Words { least, most } => {
                let mut random = self.seed_value(table, column, row);
                write_words(&mut random, &self.parameters.text, [*least, *most], scratch)?;
            }
        }
        Ok(Operand::Text(TextSpan { start, end: scratch.len() }))
    }

    fn evaluate_written(
        &self,
        expression: &Expression,
        [table, column]: [usize; 2],
        row: i64,
        scratch: &mut String,
    ) -> Result<Operand, EvaluationError> {
        let mut random = self.seed_value(table, column, row);
        let mut evaluation = Evaluation {
            slots: &self.no_slots,
            random: &mut random,
            default_seed: self.parameters.default_seed,
            text: &self.parameters.text,
            rows: self,
        };
        let variables = RowVariables([row, self.tables[table].rows, self.parameters.scale]);
        expression.evaluate_row(variables, &mut evaluation, scratch)
    }

    /// The stream of a value: neighbours have nothing in common.
    fn seed_value(&self, table: usize, column: usize, row: i64) -> WorkloadRandom {
        let place = mix_bits((table as u64) << 32 | column as u64);
        let of_column = mix_bits(self.parameters.seed ^ place);
        WorkloadRandom::seed_from_u64(mix_bits(of_column ^ row as u64))
    }

    fn draw_day(&self, table: usize, column: usize, row: i64) -> i64 {
        self.seed_value(table, column, row).random_range(FIRST_DAY..=LAST_DAY)
    }

    fn make_key_part(
        &self,
        table: usize,
        part: usize,
        row: i64,
        scratch: &mut String,
    ) -> Result<Operand, EvaluationError> {
        let column = self.tables[table].table.key[part];
        let row = match self.generators[table][column].source {
            ValueSource::Copied => row,
            _ => self.find_sampled(table, row).map_or(row, |(_, number, _)| number),
        };
        self.make_value(table, column, row, scratch)
    }

    /// The parent's row for one of `block` rows: different ones, ascending, from another place in
    /// each block.
    fn find_within_block(&self, table: usize, parent: usize, block: i64, row: i64) -> i64 {
        let (count, block) = (i128::from(self.tables[parent].rows), i128::from(block));
        let place = ((table as u64) << 40) ^ (i128::from(row) / block) as u64;
        let number = mix_bits(self.parameters.seed ^ place);
        let offset = i128::from(number) % count;
        ((i128::from(row) % block * count + offset) / block) as i64
    }

    /// Gives a table's rows one by one in ascending order of their keys, until `row` fails. If that
    /// isn't the order in which they are made, their keys are sorted in memory before: with
    /// integers 8 or 16 bytes a row.
    ///
    /// # Errors
    ///
    /// A generator fails, a value doesn't fit in its column, or `row` fails.
    pub fn for_each_row(&self, table: usize, row: &mut Take<'_>) -> Result<(), RowsError> {
        let copied = self.parameters.copied.as_deref();
        if let Some(reader) = copied.filter(|reader| reader.count_rows(table).is_some()) {
            return self.for_each_copied_row(reader, table, row);
        }
        let buffers = ValueBuffers::default();
        let mut maker = RowMaker { rows: self, table, buffers, parts: Vec::new() };
        let mut values: Vec<Value<'static>> = Vec::new();
        let mut give = |number| {
            let mut filled: Vec<Value<'_>> = std::mem::take(&mut values);
            maker.fill_values(number, &mut filled)?;
            row(&filled)?;
            values = recycle_values(filled);
            Ok(())
        };
        match self.ascending[table] {
            true => (0..self.tables[table].rows).try_for_each(give),
            false => self.visit_in_key_order(table, &mut give),
        }
    }

    /// A failure at a row, as a source of rows says it.
    fn blame_row(
        &self,
        table: usize,
        column: usize,
        row: i64,
        what: &dyn std::fmt::Display,
    ) -> SourceError {
        let table = &self.tables[table].table;
        SourceError::new(format!(
            "table {}, column {}, row {row} (from 0): {what}",
            table.name, table.columns[column].name
        ))
    }
}

impl RowKeys for TableRows {
    fn count_rows(&self, table: usize) -> i64 {
        self.tables[table].rows
    }

    fn write_key<'t>(
        &self,
        table: usize,
        row: i64,
        scratch: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError> {
        let operand = self.make_key_part(table, 0, row, scratch)?;
        Ok(read_datum(operand, scratch))
    }
}

/// Makes rows one after the other.
struct RowMaker<'r> {
    rows: &'r TableRows,
    table: usize,
    buffers: ValueBuffers,
    parts: Vec<RowPart>,
}

impl RowMaker<'_> {
    /// The values of a row, as they go into the table.
    fn fill_values<'s>(
        &'s mut self,
        row: i64,
        values: &mut Vec<Value<'s>>,
    ) -> Result<(), SourceError> {
        let columns = &self.rows.tables[self.table].table.columns;
        self.buffers.clear();
        self.parts.clear();
        for number in 0..columns.len() {
            let part = self.rows.make_part(self.table, number, row, &mut self.buffers);
            let blame = |error| self.rows.blame_row(self.table, number, row, &error);
            self.parts.push(part.map_err(blame)?);
        }
        for (number, (column, part)) in columns.iter().zip(&self.parts).enumerate() {
            let value = read_part(*part, &self.buffers);
            let blame = |error| self.rows.blame_row(self.table, number, row, &error);
            explain_misfit(column, value).map_or(Ok(()), |what| Err(blame(what)))?;
            values.push(value);
        }
        Ok(())
    }
}

/// Why a column can't hold a value.
fn explain_misfit(column: &Column, value: Value<'_>) -> Option<String> {
    match column.fits(value).err()? {
        Error::Usage(what) => Some(what),
        other => Some(other.to_string()),
    }
}

fn read_part(part: RowPart, buffers: &ValueBuffers) -> Value<'_> {
    let read_text = |span: TextSpan| &buffers.text[span.start..span.end];
    match part {
        RowPart::Null => Value::Null,
        RowPart::Int(int) => Value::Int(int),
        RowPart::Real(real) => Value::from(real),
        RowPart::Text(span) => Value::Text(read_text(span)),
        RowPart::TextAsBytes(span) => Value::Bytes(read_text(span).as_bytes()),
        RowPart::Bytes { start, end } => Value::Bytes(&buffers.bytes[start..end]),
    }
}

/// Empties it, and keeps its memory.
fn recycle_values(mut values: Vec<Value<'_>>) -> Vec<Value<'static>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

/// A value as a column of its type holds it: this alone knows the types.
fn convert_operand(
    column: &Column,
    operand: Operand,
    buffers: &mut ValueBuffers,
) -> Result<RowPart, EvaluationError> {
    let scratch = &mut buffers.text;
    let start = scratch.len();
    match (column.kind, operand) {
        (_, Operand::Null) => return Ok(RowPart::Null),
        (Type::Int | Type::Bool, Operand::Bool(bool)) => {
            return Ok(RowPart::Int(i64::from(bool)));
        }
        (Type::Int | Type::Bool, number) => return convert_int(number, scratch),
        (Type::Real, number) => return convert_real(number.read_number(scratch)),
        (Type::Decimal { scale, .. }, number) => {
            let rounded = round_decimal(number.read_number(scratch), i64::from(scale))?;
            return convert_real(rounded);
        }
        (Type::Text { .. } | Type::MediumText, Operand::Text(span)) => {
            return Ok(RowPart::Text(span));
        }
        (Type::Bytes { .. }, bytes) => return convert_bytes(bytes, &mut buffers.bytes),
        (Type::Text { .. } | Type::MediumText, Operand::Bytes(_)) => {
            return Err(operand.refuse_as("text"));
        }
        (Type::Text { .. } | Type::MediumText, other) => {
            let _ = write!(scratch, "{}", read_datum(other, ""));
        }
        (Type::Date, moment) => {
            let micros = read_moment(moment, scratch)?;
            write_date(micros.div_euclid(86_400_000_000), scratch);
        }
        (Type::Timestamp, moment) => write_timestamp(read_moment(moment, scratch)?, scratch),
    }
    Ok(RowPart::Text(TextSpan { start, end: scratch.len() }))
}

/// A text becomes its own bytes.
fn convert_bytes(made: Operand, bytes: &mut Vec<u8>) -> Result<RowPart, EvaluationError> {
    match made {
        Operand::Text(span) => Ok(RowPart::TextAsBytes(span)),
        Operand::Bytes(OpaqueBytes::Drawn(drawn)) => {
            let start = bytes.len();
            drawn.write_to(bytes);
            Ok(RowPart::Bytes { start, end: bytes.len() })
        }
        other => Err(EvaluationError::new(format!(
            "the column holds bytes, and the generator gives {}: write bytes(16, 64), or a text",
            other.name_kind()
        ))),
    }
}

/// A number is rounded; a text has to be a whole one.
fn convert_int(number: Operand, scratch: &str) -> Result<RowPart, EvaluationError> {
    match (number, number.read_number(scratch)) {
        (Operand::Int(_) | Operand::Real(_), number) => number.to_int().map(RowPart::Int),
        (_, Operand::Int(int)) => Ok(RowPart::Int(int)),
        _ => Err(EvaluationError::new(format!(
            "the column holds integers, and the generator gives {}",
            number.name_kind()
        ))),
    }
}

fn convert_real(number: Operand) -> Result<RowPart, EvaluationError> {
    match number {
        Operand::Int(int) => Ok(RowPart::Int(int)),
        Operand::Real(real) if real.fract() == 0.0 && real.abs() < 1e15 => {
            Ok(RowPart::Int(real as i64))
        }
        other => other.to_real().map(RowPart::Real),
    }
}

/// Microseconds since 1970.
fn read_moment(moment: Operand, scratch: &str) -> Result<i64, EvaluationError> {
    match moment {
        Operand::Date(day) => Ok(day * 86_400_000_000),
        Operand::Timestamp(micros) => Ok(micros),
        Operand::Text(span) => {
            let text = &scratch[span.start..span.end];
            match parse_date(text) {
                Ok(day) => Ok(day * 86_400_000_000),
                Err(_) => parse_timestamp(text),
            }
        }
        other => {
            let what = format!(
                "the column holds times, and the generator gives {}: write date('2020-01-01') + …",
                other.name_kind()
            );
            Err(EvaluationError::new(what))
        }
    }
}
