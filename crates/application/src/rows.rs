//! The rows of an application at each of its scales.

use std::sync::Arc;

use bakeoff_workloads::TextSource;

use crate::configuration::{Configuration, PlacedText};
use crate::copied::CopiedReader;
use crate::expression::RowKeys as _;
use crate::generators::{
    GeneratedTable, GeneratorParameters, TableRows, ValueBuffers, WrittenGenerator,
    count_table_rows,
};
use crate::sql::{SchemaReference, SqlSchema};
use crate::{Datum, Mistakes};

/// Rows of each table where nothing is said of rows.
const ROWS: &str = "10000 * :scale";
/// Rows whose sizes are looked at for an estimate.
const SAMPLED: i64 = 50;

/// How many rows each table has, and how they are made.
#[derive(Clone, Debug)]
pub struct RowPlan {
    /// Without numbers of rows.
    tables: Vec<GeneratedTable>,
    counts: Vec<(String, String, crate::SourcePlace)>,
    written: Vec<WrittenGenerator>,
    /// `:scale` at the smallest scale.
    first_scale: i64,
    copied: Option<Arc<CopiedReader>>,
}

impl RowPlan {
    /// Checks the rows of every scale; every mistake is added.
    pub fn new(
        schema: &SqlSchema,
        configuration: &Configuration,
        copied: Option<Arc<CopiedReader>>,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let tables = list_tables(schema, copied.as_deref());
        let count = |(name, text): &(String, PlacedText)| {
            (name.clone(), text.text.clone(), text.place.clone())
        };
        let count_copied = |(number, it): (usize, &GeneratedTable)| {
            let rows = copied.as_deref()?.count_rows(number)?;
            Some((it.table.name.clone(), rows.to_string(), it.place.clone()))
        };
        let known: Vec<_> = tables.iter().enumerate().filter_map(count_copied).collect();
        let mut counts: Vec<_> = match configuration.rows.is_empty() {
            false => configuration.rows.iter().map(count).collect(),
            true => tables
                .iter()
                .map(|it| (it.table.name.clone(), ROWS.to_owned(), it.place.clone()))
                .collect(),
        };
        counts
            .retain(|(name, ..)| !known.iter().any(|(copied, ..)| copied.to_lowercase() == *name));
        counts.extend(known);
        let written = find_generators(schema, configuration, mistakes);
        let (_, first_scale) = configuration.scales[0];
        let plan = Self { tables, counts, written, first_scale, copied };
        let text = Arc::new(TextSource::generate_short());
        let is_sound = configuration.scales.iter().fold(true, |is_sound, (_, scale)| {
            let rows = plan.make_rows(*scale, 1, text.clone(), mistakes);
            rows.is_some_and(|rows| rows.check_values(&plan.written, mistakes)) && is_sound
        });
        is_sound.then_some(plan)
    }

    fn make_rows(
        &self,
        scale: i64,
        seed: u64,
        text: Arc<TextSource>,
        mistakes: &mut Mistakes,
    ) -> Option<TableRows> {
        let names: Vec<&str> = self.tables.iter().map(|it| &*it.table.name).collect();
        let counts = count_table_rows(&names, &self.counts, scale, mistakes)?;
        let table =
            |(table, rows): (&GeneratedTable, i64)| GeneratedTable { rows, ..table.clone() };
        let tables = self.tables.iter().zip(counts).map(table).collect();
        let default_seed = seed.cast_signed();
        let copied = self.copied.clone();
        let parameters = GeneratorParameters { seed, default_seed, scale, text, copied };
        TableRows::new(tables, &self.written, parameters, mistakes)
    }

    /// The rows at one of the scales that were checked. Values are not checked again: those of another
    /// seed are at their row.
    pub fn at_scale(&self, scale: i64, seed: u64, text: Arc<TextSource>) -> TableRows {
        let mut mistakes = Mistakes::default();
        let rows = self.make_rows(scale, seed, text, &mut mistakes);
        rows.unwrap_or_else(|| panic!("these rows were checked: {mistakes}"))
    }

    /// Columns that nobody said how to make: `orders.note`.
    pub fn list_made_up(&self) -> Vec<String> {
        let text = Arc::new(TextSource::generate_short());
        let rows = self.at_scale(self.first_scale, 1, text);
        let filled = self.tables.iter().enumerate().filter(|(it, _)| rows.count_rows(*it) > 0);
        let names = filled.flat_map(|(number, it)| {
            let columns = it.table.columns.iter().enumerate();
            let made_up = columns
                .filter(|(column, _)| rows.find_generator(number, *column).is_made_up())
                .filter(|(column, _)| !it.table.key.contains(column));
            made_up
                .map(|(_, column)| format!("{}.{}", it.table.name, column.name))
                .collect::<Vec<_>>()
        });
        names.collect()
    }
}

fn list_tables(schema: &SqlSchema, copied: Option<&CopiedReader>) -> Vec<GeneratedTable> {
    let tables = schema.schema.tables.iter().zip(&schema.tables).enumerate();
    let generated = tables.map(|(number, (table, source))| {
        // Values for another column than the key can't be taken from its generator.
        let to_key = |it: &&SchemaReference| {
            it.table == number && it.parent_columns == schema.schema.tables[it.parent].key
        };
        let references = schema.references.iter().filter(to_key);
        GeneratedTable {
            table: table.clone(),
            references: references.map(|it| (it.columns.clone(), it.parent)).collect(),
            place: source.place.clone(),
            rows: 0,
            copied: (0..table.columns.len())
                .filter(|column| copied.is_some_and(|it| it.has_column(number, *column)))
                .collect(),
        }
    });
    generated.collect()
}

/// The generators of `workload.toml`. Every mistake is added.
pub fn find_generators(
    schema: &SqlSchema,
    configuration: &Configuration,
    mistakes: &mut Mistakes,
) -> Vec<WrittenGenerator> {
    let mut written = Vec::new();
    for (table, column, expression) in &configuration.columns {
        let found = schema.find_table(&table.text.to_lowercase());
        let Some(number) = found else {
            mistakes.add(table.place.clone(), format!("there is no table `{}`", table.text));
            continue;
        };
        if schema.tables[number].is_partial {
            continue;
        }
        let columns = &schema.schema.tables[number].columns;
        match columns
            .iter()
            .position(|known| known.name.to_lowercase() == column.text.to_lowercase())
        {
            None => {
                let names: Vec<&str> = columns.iter().map(|it| &*it.name).collect();
                let what = format!(
                    "`{}` has no column `{}`; it has {}",
                    table.text,
                    column.text,
                    names.join(", ")
                );
                mistakes.add(column.place.clone(), what);
            }
            Some(column) => written.push(WrittenGenerator {
                table: number,
                column,
                text: expression.text.clone(),
                place: expression.place.clone(),
            }),
        }
    }
    written
}

/// Bytes of a table's rows, roughly: a few rows of it are made.
pub fn estimate_bytes(rows: &TableRows, table: usize, columns: usize, count: i64) -> u64 {
    if count == 0 {
        return 0;
    }
    let sampled = SAMPLED.min(count);
    let mut buffers = ValueBuffers::default();
    let mut bytes = 0;
    for sample in 0..sampled {
        for column in 0..columns {
            let row = sample * (count / sampled);
            bytes += match rows.write_value(table, column, row, &mut buffers) {
                Ok(Datum::Text(text)) => text.len() as u64,
                Ok(Datum::Bytes(bytes)) => bytes.len() as u64,
                Ok(Datum::Null) | Err(_) => 0,
                Ok(_) => 8,
            };
        }
    }
    (bytes as f64 / sampled as f64 * count as f64) as u64
}
