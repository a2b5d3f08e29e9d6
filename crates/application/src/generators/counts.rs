//! How many rows each table has: expressions over `:scale` and the counts of other tables.

use bakeoff_workloads::{TextSource, seed_stream};

use crate::expression::{
    Evaluation, EvaluationError, Expression, ExpressionNames, RowKeys, parse_expression,
};
use crate::{Datum, Mistakes, Slot, Slots, SourcePlace};

/// With more, their numbers and sizes would overflow somewhere.
const MOST_ROWS: i64 = 1 << 40;

/// The slot of `:scale`; the tables' are behind it.
const SCALE: Slot = 0;

/// `:scale`, and each table's rows by its name.
struct CountNames<'a>(&'a [&'a str]);

impl ExpressionNames for CountNames<'_> {
    fn find_variable(&self, name: &str) -> Option<Slot> {
        if name == "scale" {
            return Some(SCALE);
        }
        self.0.iter().position(|table| *table == name).map(|table| table + 1)
    }

    fn find_table(&self, _: &str) -> Option<usize> {
        None
    }

    fn explain_unknown(&self, name: &str) -> String {
        let tables: String = self.0.iter().map(|table| format!(", :{table}")).collect();
        format!("there is no `:{name}` here; numbers of rows are made of :scale{tables}")
    }
}

/// The rows of each of `tables`, by what is written for some of them: name, expression and place.
/// A table without an expression is empty. Every mistake is added, and then there are no counts.
pub fn count_table_rows(
    tables: &[&str],
    written: &[(String, String, SourcePlace)],
    scale: i64,
    mistakes: &mut Mistakes,
) -> Option<Vec<i64>> {
    let names = CountNames(tables);
    let mut counter = RowCounter {
        tables,
        written: (0..tables.len()).map(|_| None).collect(),
        states: vec![CountState::Open; tables.len()],
        slots: Slots::new(tables.len() + 1),
        mistakes,
        failed: false,
    };
    counter.slots.set(SCALE, Datum::Int(scale));
    for (name, text, place) in written {
        // A name in quotes may have capitals.
        match tables.iter().position(|table| table == name || table.to_lowercase() == *name) {
            None => counter.refuse_count(place, explain_unknown(name, tables)),
            Some(table) => match parse_expression(text, place, &names, counter.mistakes) {
                Some(expression) => counter.written[table] = Some((expression, place)),
                None => counter.failed = true,
            },
        }
    }
    let mut counts = Vec::new();
    for table in 0..tables.len() {
        counts.push(counter.count_table(table, &mut Vec::new())?);
    }
    (!counter.failed).then_some(counts)
}

fn explain_unknown(name: &str, tables: &[&str]) -> String {
    let near = tables.iter().map(|table| (strsim::osa_distance(name, table), table)).min();
    match near.filter(|(distance, table)| *distance <= table.len().max(3) / 3) {
        Some((_, table)) => format!("there is no table `{name}`; did you mean `{table}`?"),
        None => format!("there is no table `{name}`; the schema has: {}", tables.join(", ")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum CountState {
    Open,
    Entered,
    Known(i64),
}

struct RowCounter<'a> {
    tables: &'a [&'a str],
    written: Vec<Option<(Expression, &'a SourcePlace)>>,
    states: Vec<CountState>,
    slots: Slots,
    mistakes: &'a mut Mistakes,
    failed: bool,
}

impl RowCounter<'_> {
    fn refuse_count(&mut self, place: &SourcePlace, what: String) {
        self.failed = true;
        self.mistakes.add(place.clone(), what);
    }

    /// The rows of a table, after those that it depends on; `path` leads to it. `None` in a cycle.
    fn count_table(&mut self, table: usize, path: &mut Vec<usize>) -> Option<i64> {
        if let CountState::Known(count) = self.states[table] {
            return Some(count);
        }
        let (expression, place) = match self.written[table].clone() {
            Some(written) => written,
            None => return Some(self.keep_count(table, 0)),
        };
        path.push(table);
        if self.states[table] == CountState::Entered {
            let names: Vec<&str> = path.iter().map(|table| self.tables[*table]).collect();
            let what = format!(
                "the rows of these tables depend on each other: {}; give one of them a number",
                names.join(" -> ")
            );
            self.refuse_count(place, what);
            return None;
        }
        self.states[table] = CountState::Entered;
        for slot in expression.list_slots().into_iter().filter(|slot| *slot != SCALE) {
            self.count_table(slot - 1, path)?;
        }
        path.pop();
        let count = match self.evaluate_count(&expression) {
            Ok(count) => count,
            Err(what) => {
                self.refuse_count(place, what);
                0
            }
        };
        Some(self.keep_count(table, count))
    }

    fn keep_count(&mut self, table: usize, count: i64) -> i64 {
        self.states[table] = CountState::Known(count);
        self.slots.set(table + 1, Datum::Int(count));
        count
    }

    fn evaluate_count(&self, expression: &Expression) -> Result<i64, String> {
        if expression.is_random() {
            return Err("a number of rows can't be random; use :scale and other tables".into());
        }
        let (mut random, mut scratch) = (seed_stream(0, 0), String::new());
        let mut evaluation = Evaluation {
            slots: &self.slots,
            random: &mut random,
            default_seed: 0,
            text: &TextSource::generate_short(),
            rows: &NoTables,
        };
        let value = expression.evaluate(&mut evaluation, &mut scratch);
        let count = match value.map_err(|error| error.to_string())? {
            Datum::Int(count) => count,
            Datum::Real(real) if real.abs() < MOST_ROWS as f64 * 2.0 => real.round() as i64,
            other => return Err(format!("`{other}` is no number of rows")),
        };
        match (0..=MOST_ROWS).contains(&count) {
            true => Ok(count),
            false => {
                Err(format!("{count} is no number of rows; it has to be from 0 to {MOST_ROWS}"))
            }
        }
    }
}

/// Counts take no keys.
struct NoTables;

impl RowKeys for NoTables {
    fn count_rows(&self, _: usize) -> i64 {
        0
    }

    fn write_key<'t>(
        &self,
        _: usize,
        _: i64,
        _: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError> {
        Ok(Datum::Null)
    }
}
