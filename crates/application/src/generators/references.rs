//! Whether references lead to rows that are there, where somebody wrote what the columns hold.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::builder::MOST_COMPARED;
use super::range::{ValueRange, find_range};
use super::spread::{ValueSpread, find_spread};
use super::{TableRows, ValueBuffers, ValueSource, WrittenGenerator, group_digits};
use crate::expression::{Expression, ExpressionNode};
use crate::{Datum, Mistake, Mistakes};

impl TableRows {
    /// Adds a mistake for each reference whose values can lie outside of the keys that it refers to;
    /// whether there is none. Bounds tell it, or the values of up to 100,000 rows.
    pub(super) fn check_references(
        &self,
        written: &[WrittenGenerator],
        mistakes: &mut Mistakes,
    ) -> bool {
        let mut dangling = Vec::new();
        for (table, generated) in self.tables.iter().enumerate() {
            for (columns, parent) in &generated.references {
                let of_reference =
                    |it: &&WrittenGenerator| it.table == table && columns.contains(&it.column);
                // What is made up takes keys that are there.
                let Some(generator) = written.iter().find(of_reference) else { continue };
                let what = self.explain_dangling(table, columns, *parent);
                dangling.extend(what.map(|what| Mistake { place: generator.place.clone(), what }));
            }
        }
        dangling.iter().for_each(|it| mistakes.add(it.place.clone(), it.what.clone()));
        dangling.is_empty()
    }

    /// What is wrong with a reference, if anything is.
    fn explain_dangling(&self, table: usize, columns: &[usize], parent: usize) -> Option<String> {
        if self.tables[table].rows == 0 {
            return None;
        }
        let found = match self.find_bounds(table, columns, parent) {
            Some((values, keys)) if values.lies_in(keys) => return None,
            Some((values, keys)) => {
                format!("is {values}, but {}, with the keys {keys}", self.describe_parent(parent))
            }
            None => {
                let (row, key) = self.find_dangling_row(table, columns, parent)?;
                let parent = self.describe_parent(parent);
                format!("is {key} in row {row} (from 0), but {parent}, none with this key")
            }
        };
        let own = &self.tables[table].table;
        let names: Vec<&str> = columns.iter().map(|it| &*own.columns[*it].name).collect();
        let name = &self.tables[parent].table.name;
        Some(format!(
            "{}.{} {found}: ref({name}) takes keys that are there",
            own.name,
            names.join(", ")
        ))
    }

    /// As `customers has 10,000 rows at scale 1`.
    fn describe_parent(&self, parent: usize) -> String {
        let (rows, scale) = (group_digits(self.tables[parent].rows), self.parameters.scale);
        format!("{} has {rows} rows at scale {scale}", self.tables[parent].table.name)
    }

    /// The bounds of a column's values and of the keys that it refers to, if both are known.
    fn find_bounds(
        &self,
        table: usize,
        columns: &[usize],
        parent: usize,
    ) -> Option<(ValueRange, ValueRange)> {
        let ([column], [key]) = (columns, &self.tables[parent].table.key[..]) else { return None };
        let rows = Some(self.tables[parent].rows).filter(|rows| *rows > 0)?;
        let keys = match &self.generators[parent][*key].source {
            ValueSource::RowNumber => ValueRange { low: 1, high: rows, is_whole: true },
            ValueSource::Written(expression) => {
                let is_distinct =
                    matches!(find_spread(expression.root(), rows), ValueSpread::Distinct(_));
                let range = self.find_written_range(parent, expression.root());
                range.filter(|range| is_distinct && range.is_whole)?
            }
            _ => return None,
        };
        let ValueSource::Written(expression) = &self.generators[table][*column].source else {
            return None;
        };
        match find_value(expression) {
            ExpressionNode::Reference(reference) if reference.table == parent => Some((keys, keys)),
            value => Some((self.find_written_range(table, value)?, keys)),
        }
    }

    fn find_written_range(&self, table: usize, node: &ExpressionNode) -> Option<ValueRange> {
        find_range(node, [self.tables[table].rows, self.parameters.scale])
    }

    /// The first row whose values are no key of the parent, with the values.
    fn find_dangling_row(
        &self,
        table: usize,
        columns: &[usize],
        parent: usize,
    ) -> Option<(i64, String)> {
        let theirs = &self.tables[parent];
        let copied = self.parameters.copied.as_deref();
        let is_sampled = copied
            .is_some_and(|it| it.count_rows(parent).is_some() && !it.has_whole_sample(parent));
        if theirs.rows > MOST_COMPARED || is_sampled {
            return None;
        }
        let keys: HashSet<Option<String>> =
            (0..theirs.rows).map(|row| self.write_values(parent, &theirs.table.key, row)).collect();
        (0..self.tables[table].rows.min(MOST_COMPARED)).find_map(|row| {
            let values = self.write_values(table, columns, row);
            (values.is_some() && !keys.contains(&values)).then_some((row, values?))
        })
    }

    /// The values of some columns in a row; nothing if one is null.
    fn write_values(&self, table: usize, columns: &[usize], row: i64) -> Option<String> {
        let (mut text, mut buffers) = (String::new(), ValueBuffers::default());
        for (number, column) in columns.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            match self.write_value(table, *column, row, &mut buffers) {
                Ok(Datum::Null) | Err(_) => return None,
                Ok(Datum::Text(value)) => write!(text, "{comma}'{value}'").ok()?,
                Ok(value) => write!(text, "{comma}{value}").ok()?,
            }
        }
        Some(text)
    }
}

/// What an expression gives besides nulls.
fn find_value(expression: &Expression) -> &ExpressionNode {
    expression.find_nullable_part().unwrap_or(expression.root())
}
