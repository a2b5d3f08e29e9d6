//! Whether copied rows keep what the schema says: keys, what is UNIQUE, and references.

use rusqlite::types::Value;

use super::copier::CopiedRowsWriter;
use super::faults::RowPlace;
use super::{name_columns, name_rows};

impl CopiedRowsWriter<'_> {
    fn copies_all(&self, table: usize, columns: &[usize]) -> bool {
        let copied = self.tables.iter().find(|it| it.table == table);
        copied.is_some_and(|it| columns.iter().all(|column| it.columns.contains(column)))
    }

    /// An index over what is unique; where that can't be, its rows are told.
    pub(super) fn check_unique(&mut self) -> Result<(), String> {
        let request = self.request;
        for (table, declared) in request.schema.schema.tables.iter().enumerate() {
            let unique = declared.indexes.iter().filter(|index| index.unique);
            let all = std::iter::once(&declared.key).chain(unique.map(|index| &index.columns));
            for columns in all {
                if columns.is_empty() || !self.copies_all(table, columns) {
                    continue;
                }
                let (rows, list) = (name_rows(table), name_columns(columns));
                let name = format!("unique_{table}_{}", list.replace(", ", "_"));
                let text = format!("CREATE UNIQUE INDEX IF NOT EXISTS {name} ON {rows} ({list})");
                match self.connection.execute_batch(&text) {
                    Ok(()) => {}
                    Err(error)
                        if error.sqlite_error_code()
                            == Some(rusqlite::ErrorCode::ConstraintViolation) =>
                    {
                        self.tell_repeats(table, columns)?;
                    }
                    Err(error) => return Err(self.explain_failure(&error)),
                }
            }
        }
        Ok(())
    }

    fn tell_repeats(&mut self, table: usize, columns: &[usize]) -> Result<(), String> {
        let (rows, list) = (name_rows(table), name_columns(columns));
        let present: Vec<String> = columns.iter().map(|it| format!("c{it} IS NOT NULL")).collect();
        let found = self.list_rows(&format!(
            "SELECT max(place), min(place), count(*), {list} FROM {rows} WHERE {} GROUP BY {list} \
             HAVING count(*) > 1 ORDER BY 1 LIMIT {}",
            present.join(" AND "),
            self.faults.count_room()
        ))?;
        let name = self.describe_columns(table, columns);
        for row in found {
            let ([place, first, count], values) = split_row(&row);
            let what = match RowPlace::unpack(first).line {
                0 => format!(
                    "{name}: {count} rows have {values}, and schema.sql says that it is unique"
                ),
                line => format!("{name}: {values} is there already, in line {line}"),
            };
            self.faults.add(RowPlace::unpack(place), &what);
        }
        Ok(())
    }

    /// Each value of a reference has its row, if both were copied.
    pub(super) fn check_references(&mut self) -> Result<(), String> {
        let request = self.request;
        for reference in &request.schema.references {
            let (table, parent) = (reference.table, reference.parent);
            let is_copied = self.copies_all(table, &reference.columns)
                && self.copies_all(parent, &reference.parent_columns);
            if !is_copied {
                continue;
            }
            let (rows, theirs) = (name_rows(table), name_rows(parent));
            let list = name_columns(&reference.parent_columns);
            let index = format!("parent_{parent}_{}", list.replace(", ", "_"));
            if reference.parent_columns != request.schema.schema.tables[parent].key {
                self.execute(&format!("CREATE INDEX IF NOT EXISTS {index} ON {theirs} ({list})"))?;
            }
            let pairs = reference.columns.iter().zip(&reference.parent_columns);
            let (mut present, mut equal) = (Vec::new(), Vec::new());
            for (column, theirs) in pairs {
                present.push(format!("child.c{column} IS NOT NULL"));
                equal.push(format!("parent.c{theirs} = child.c{column}"));
            }
            let found = self.list_rows(&format!(
                "SELECT place, 0, 0, {} FROM {rows} AS child WHERE {} AND NOT EXISTS \
                 (SELECT 1 FROM {theirs} AS parent WHERE {}) LIMIT {}",
                name_columns(&reference.columns),
                present.join(" AND "),
                equal.join(" AND "),
                self.faults.count_room()
            ))?;
            let name = self.describe_columns(table, &reference.columns);
            let parent = &request.schema.schema.tables[parent].name;
            for row in found {
                let ([place, ..], values) = split_row(&row);
                let what = format!("{name}: {values} refers to no row of {parent}");
                self.faults.add(RowPlace::unpack(place), &what);
            }
        }
        Ok(())
    }

    fn describe_columns(&self, table: usize, columns: &[usize]) -> String {
        let name = &self.request.schema.schema.tables[table].name;
        format!("{name}.{}", self.request.name_columns(table, columns).join(", "))
    }

    fn list_rows(&self, text: &str) -> Result<Vec<Vec<Value>>, String> {
        let read = || {
            let mut select = self.connection.prepare(text)?;
            let width = select.column_count();
            let rows = select.query_map([], |row| (0..width).map(|at| row.get(at)).collect())?;
            rows.collect::<rusqlite::Result<Vec<Vec<Value>>>>()
        };
        read().map_err(|error| self.explain_failure(&error))
    }
}

/// Three numbers, and the values behind them in words.
fn split_row(row: &[Value]) -> ([i64; 3], String) {
    let number = |at: usize| match row.get(at) {
        Some(Value::Integer(int)) => *int,
        _ => 0,
    };
    let values = row.iter().skip(3).map(|value| match value {
        Value::Integer(int) => int.to_string(),
        Value::Real(real) => real.to_string(),
        Value::Text(text) => format!("`{text}`"),
        Value::Null | Value::Blob(_) => "these bytes".into(),
    });
    ([number(0), number(1), number(2)], values.collect::<Vec<_>>().join(", "))
}
