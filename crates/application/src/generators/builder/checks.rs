//! What has to hold of chosen generators: parents have rows, no key is made of itself, and what is
//! unique can't repeat.

use bakeoff_engines::schema::Type;

use super::{GeneratorBuilder, UniqueColumns, UnprovenColumns, list_unique};
use crate::Mistake;
use crate::expression::Expression;
use crate::generators::spread::{
    DistinctForm, DistinctValues, ValueSpread, find_spread, splits_row,
};
use crate::generators::{ValueSource, WrittenGenerator};

/// Rows whose values are compared where nothing else proves what has to hold of them.
pub(crate) const MOST_COMPARED: i64 = 100_000;

impl GeneratorBuilder<'_> {
    /// What is made up refers to rows that are there, by their whole keys.
    pub(super) fn check_references(&mut self) {
        let tables = self.tables;
        for (number, generated) in tables.iter().enumerate() {
            for (columns, parent) in &generated.references {
                let theirs = &tables[*parent];
                let is_given = |column: &usize| {
                    let source = self.sources[number][*column].as_ref();
                    matches!(source, Some(ValueSource::Written(_) | ValueSource::Copied))
                };
                if columns.iter().all(is_given) || generated.rows == 0 {
                    continue;
                }
                let (names, name) = (self.name_columns(number, columns), &theirs.table.name);
                if theirs.rows == 0 {
                    let what = format!(
                        "{names} refers to {name}, which has no rows; give {name} some in [rows]"
                    );
                    self.refuse_table(number, what);
                }
                if columns.len() != theirs.table.key.len() {
                    let what = format!(
                        "{names} refers to something else than the key of {name}; give it a generator"
                    );
                    self.refuse_table(number, what);
                }
            }
        }
    }

    /// The tables whose keys a column takes.
    fn list_parents(&self, table: usize, column: usize) -> Vec<usize> {
        match &self.sources[table][column] {
            Some(ValueSource::Written(expression)) => expression.list_tables(),
            Some(
                ValueSource::RandomParent { parent, .. }
                | ValueSource::ParentOfBlock { parent, .. }
                | ValueSource::ParentWithinBlock { parent, .. },
            ) => vec![*parent],
            _ => Vec::new(),
        }
    }

    /// No key is made of itself. Columns outside of keys are made of keys alone.
    pub(super) fn check_cycles(&mut self) {
        let count = self.tables.len();
        let mut parents: Vec<Vec<usize>> = Vec::with_capacity(count);
        for table in 0..count {
            let key = &self.tables[table].table.key;
            parents.push(key.iter().flat_map(|column| self.list_parents(table, *column)).collect());
        }
        // Leaves are taken away until none is left.
        let mut left: Vec<usize> = (0..count).collect();
        loop {
            let before = left.len();
            let known = left.clone();
            left.retain(|table| parents[*table].iter().any(|parent| known.contains(parent)));
            if left.len() == before {
                break;
            }
        }
        if let Some(first) = left.first() {
            let names: Vec<&str> =
                left.iter().map(|table| self.tables[*table].table.name.as_str()).collect();
            let what = format!(
                "the keys of these tables are made of each other: {}; give one of them a generator of \
                 :row",
                names.join(", ")
            );
            self.refuse_table(*first, what);
        }
    }

    pub(super) fn check_unique(&mut self, written: &[WrittenGenerator]) {
        let tables = self.tables;
        for (table, generated) in tables.iter().enumerate() {
            for unique in list_unique(&generated.table) {
                if generated.rows < 2 || self.is_proven(table, &unique) {
                    continue;
                }
                let of_unique = |generator: &&WrittenGenerator| {
                    generator.table == table && unique.columns.contains(&generator.column)
                };
                let what = self.explain_repeats(table, &unique, written.iter().find(of_unique));
                let place = written.iter().find(of_unique).map(|generator| &generator.place);
                let place = place.unwrap_or(&generated.place).clone();
                if self.is_comparable(table, &unique) {
                    let (columns, mistake) = (unique.columns.to_vec(), Mistake { place, what });
                    self.unproven.push(UnprovenColumns { table, columns, mistake });
                } else {
                    self.failed = true;
                    self.mistakes.add(place, what);
                }
            }
        }
    }

    /// Whether the rows are few, and their values hang on nothing that is drawn.
    fn is_comparable(&self, table: usize, unique: &UniqueColumns<'_>) -> bool {
        let is_fixed = |column: &usize| match &self.sources[table][*column] {
            Some(ValueSource::Written(expression)) => {
                !expression.is_random() && expression.list_tables().is_empty()
            }
            Some(ValueSource::RowNumber | ValueSource::NumberedName { .. }) => true,
            _ => false,
        };
        self.tables[table].rows <= MOST_COMPARED && unique.columns.iter().all(is_fixed)
    }

    /// Whether no two rows can agree in all of the columns.
    fn is_proven(&self, table: usize, unique: &UniqueColumns<'_>) -> bool {
        let columns = unique.columns;
        // The rows file was checked.
        if self.are_copied(table, columns) {
            return true;
        }
        let is_distinct = |column: &usize| {
            matches!(self.find_column_spread(table, *column, unique), ValueSpread::Distinct(_))
        };
        if columns.iter().any(is_distinct) {
            return true;
        }
        let sources = &self.sources[table];
        let pairs = |first: usize, second: usize| match (&sources[first], &sources[second]) {
            (
                Some(ValueSource::ParentOfBlock { block: one, .. }),
                Some(
                    ValueSource::ParentWithinBlock { block: other, .. }
                    | ValueSource::NumberWithinBlock { block: other },
                ),
            ) => one == other,
            (Some(ValueSource::Written(one)), Some(ValueSource::Written(other))) => {
                splits_row(one.root(), other.root())
            }
            _ => false,
        };
        columns.iter().any(|first| columns.iter().any(|second| pairs(*first, *second)))
    }

    fn find_column_spread(
        &self,
        table: usize,
        column: usize,
        unique: &UniqueColumns<'_>,
    ) -> ValueSpread {
        let distinct = |ascending| {
            ValueSpread::Distinct(DistinctValues { ascending, ..DistinctValues::UNORDERED })
        };
        match &self.sources[table][column] {
            Some(ValueSource::Written(expression)) => {
                find_written_spread(expression, self.tables[table].rows, unique.is_key)
            }
            Some(ValueSource::RowNumber | ValueSource::NumberedName { .. }) => distinct(true),
            Some(ValueSource::ParentOfBlock { parent, block: 1, .. }) => {
                distinct(self.is_ascending(*parent, 1))
            }
            _ => ValueSpread::Unknown,
        }
    }

    fn explain_repeats(
        &self,
        table: usize,
        unique: &UniqueColumns<'_>,
        written: Option<&WrittenGenerator>,
    ) -> String {
        let rows = self.tables[table].rows;
        let what = match unique.is_key {
            true => format!("the key {}", self.name_columns(table, unique.columns)),
            false => format!("the UNIQUE {}", self.name_columns(table, unique.columns)),
        };
        let mend = "use :row, permute(:row, :rows), or text() of one of them";
        let Some(written) = written else {
            return format!("{what} needs a generator that gives no value twice; {mend}");
        };
        let text = written.text.trim();
        if unique.columns.len() > 1 {
            return format!(
                "`{text}` may give {what} the same values in two of its {rows} rows; let one of the \
                 columns be distinct, or two be :row / 5 and :row % 5"
            );
        }
        match self.find_column_spread(table, written.column, unique) {
            ValueSpread::Same => {
                format!("`{text}` gives {what} the same value in all {rows} rows; {mend}")
            }
            ValueSpread::Few(count) if count < rows as f64 => {
                format!(
                    "`{text}` has {} values for {} rows of {what}; {mend}",
                    group_digits(count as i64),
                    group_digits(rows)
                )
            }
            ValueSpread::Few(_) => format!("`{text}` may give {what} a value twice; {mend}"),
            _ => format!("it can't be shown that `{text}` gives {what} no value twice; {mend}"),
        }
    }

    /// Whether the rows of a table are made in ascending order of their keys. `depth` bounds the way
    /// through parents, of which there are no more than tables.
    pub(in crate::generators) fn is_ascending(&self, table: usize, depth: usize) -> bool {
        let key = &self.tables[table].table.key;
        let source =
            |part: usize| key.get(part).and_then(|column| self.sources[table][*column].as_ref());
        let ascends =
            |parent: &usize| depth < self.tables.len() && self.is_ascending(*parent, depth + 1);
        match (source(0), source(1)) {
            // Without a key any order will do.
            (None, _) => true,
            (Some(ValueSource::Copied), _) => self.are_copied(table, key),
            (Some(ValueSource::Written(first)), second) => {
                let second = match second {
                    Some(ValueSource::Written(second)) => Some(second),
                    _ => None,
                };
                self.is_written_ascending(table, first, second)
            }
            (Some(ValueSource::RowNumber | ValueSource::NumberedName { .. }), _) => true,
            (Some(ValueSource::ParentOfBlock { parent, block: 1, .. }), _) => ascends(parent),
            (
                Some(ValueSource::ParentOfBlock { parent, .. }),
                Some(ValueSource::NumberWithinBlock { .. }),
            ) => ascends(parent),
            (
                Some(ValueSource::ParentOfBlock { parent, .. }),
                Some(ValueSource::ParentWithinBlock { parent: other, .. }),
            ) => ascends(parent) && ascends(other),
            _ => false,
        }
    }

    fn is_written_ascending(
        &self,
        table: usize,
        first: &Expression,
        second: Option<&Expression>,
    ) -> bool {
        let generated = &self.tables[table];
        let is_int = |part: usize| {
            let column = generated.table.key.get(part);
            column.is_some_and(|column| generated.table.columns[*column].kind == Type::Int)
        };
        if second.is_some_and(|second| splits_row(first.root(), second.root())) {
            return is_int(0) && is_int(1);
        }
        // As text 10 is before 9, and dates are in order.
        match find_spread(first.root(), generated.rows) {
            ValueSpread::Distinct(distinct) => {
                distinct.ascending && (is_int(0) || distinct.form == DistinctForm::Temporal)
            }
            _ => false,
        }
    }
}

/// Nulls don't count in what is UNIQUE, but for a key.
fn find_written_spread(expression: &Expression, rows: i64, is_key: bool) -> ValueSpread {
    match expression.find_nullable_part().filter(|_| !is_key) {
        Some(part) => find_spread(part, rows),
        None => find_spread(expression.root(), rows),
    }
}

/// As `10,000`.
pub(crate) fn group_digits(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    let mut grouped = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        grouped.extend(comma(at).then_some(','));
        grouped.push(digit);
    }
    grouped
}
