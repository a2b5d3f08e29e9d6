//! Chooses the generator of each column, and refuses those that could break a key.

use std::borrow::Cow;

use bakeoff_engines::schema::{Table, Type};

use super::{ColumnGenerator, GeneratedTable, ValueSource, WrittenGenerator};
use crate::expression::{Expression, ExpressionNames, parse_expression};
use crate::{Mistake, Mistakes, Slot};

pub(crate) use checks::{MOST_COMPARED, group_digits};

mod checks;

/// Characters of made-up words, and bytes.
const LEAST_WORDS: u32 = 8;
const MOST_WORDS: u32 = 40;
const MOST_LONG_WORDS: u32 = 400;

/// The variables of a generator, and all tables.
struct GeneratorNames<'a>(&'a [GeneratedTable]);

impl ExpressionNames for GeneratorNames<'_> {
    fn find_variable(&self, name: &str) -> Option<Slot> {
        ["row", "rows", "scale"].iter().position(|known| *known == name)
    }

    fn find_table(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|generated| generated.table.name == name)
    }

    fn explain_unknown(&self, name: &str) -> String {
        format!("there is no `:{name}` here; a column's variables are :row, :rows and :scale")
    }
}

/// What is unique: columns that no two rows agree in.
struct UniqueColumns<'a> {
    columns: &'a [usize],
    is_key: bool,
}

/// What the builder makes.
pub struct BuiltGenerators {
    /// By table and column.
    pub generators: Vec<Vec<ColumnGenerator>>,
    /// By table: whether rows ascend.
    pub ascending: Vec<bool>,
    /// What has to be shown by comparing rows.
    pub unproven: Vec<UnprovenColumns>,
}

/// Columns that are to be unique together.
#[derive(Debug)]
pub struct UnprovenColumns {
    pub table: usize,
    pub columns: Vec<usize>,
    /// What is wrong if two rows agree.
    pub mistake: Mistake,
}

pub struct GeneratorBuilder<'a> {
    pub(super) tables: &'a [GeneratedTable],
    mistakes: &'a mut Mistakes,
    /// By table and column; `None` until one is chosen.
    pub(super) sources: Vec<Vec<Option<ValueSource>>>,
    failed: bool,
    unproven: Vec<UnprovenColumns>,
}

impl<'a> GeneratorBuilder<'a> {
    pub fn new(tables: &'a [GeneratedTable], mistakes: &'a mut Mistakes) -> Self {
        let empty =
            |generated: &GeneratedTable| generated.table.columns.iter().map(|_| None).collect();
        let sources = tables.iter().map(empty).collect();
        Self { tables, mistakes, sources, failed: false, unproven: Vec::new() }
    }

    pub fn build(mut self, written: &[WrittenGenerator]) -> Option<BuiltGenerators> {
        self.read_written(written);
        for table in 0..self.tables.len() {
            let unique = list_unique(&self.tables[table].table);
            self.take_copied(table);
            unique.iter().for_each(|unique| self.make_unique(table, unique));
            self.make_rest(table);
        }
        self.check_references();
        self.check_copied();
        if !self.failed {
            self.check_cycles();
        }
        if !self.failed {
            self.check_unique(written);
        }
        if self.failed {
            return None;
        }
        let ascending = (0..self.tables.len()).map(|table| self.is_ascending(table, 0)).collect();
        let to_generator = |source| ColumnGenerator { source };
        let of_table = |sources: Vec<Option<ValueSource>>| {
            sources.into_iter().flatten().map(to_generator).collect()
        };
        let generators = self.sources.into_iter().map(of_table).collect();
        Some(BuiltGenerators { generators, ascending, unproven: self.unproven })
    }

    fn read_written(&mut self, written: &[WrittenGenerator]) {
        for generator in written {
            let names = GeneratorNames(self.tables);
            let parsed = parse_expression(&generator.text, &generator.place, &names, self.mistakes);
            self.failed |= parsed.is_none();
            if let Some(expression) = &parsed {
                self.check_parents(generator, expression);
                self.check_nulls(generator, expression);
            }
            // What is wrong is no reason to make up another, and to refuse that.
            let source = parsed.map_or(ValueSource::RowNumber, ValueSource::Written);
            self.sources[generator.table][generator.column] = Some(source);
        }
    }

    /// ref() takes rows that are there, by keys of one column.
    fn check_parents(&mut self, generator: &WrittenGenerator, expression: &Expression) {
        for parent in expression.list_tables() {
            let (theirs, own) = (&self.tables[parent], &self.tables[generator.table]);
            let name = &theirs.table.name;
            let what = if theirs.table.key.len() != 1 {
                format!("ref({name}) needs a table whose key is one column; use references instead")
            } else if theirs.rows == 0 && own.rows > 0 {
                format!("{name} has no rows to refer to; give it some in [rows]")
            } else {
                continue;
            };
            self.failed = true;
            self.mistakes.add(generator.place.clone(), what);
        }
    }

    fn check_nulls(&mut self, generator: &WrittenGenerator, expression: &Expression) {
        let column = &self.tables[generator.table].table.columns[generator.column];
        if expression.find_nullable_part().is_some() && !column.nullable {
            let name = self.name_columns(generator.table, &[generator.column]);
            self.failed = true;
            let what =
                format!("{name} can't be null; declare it without NOT NULL, or leave null() out");
            self.mistakes.add(generator.place.clone(), what);
        }
    }

    pub(super) fn refuse_table(&mut self, table: usize, what: impl Into<String>) {
        self.failed = true;
        self.mistakes.add(self.tables[table].place.clone(), what);
    }

    pub(super) fn name_columns(&self, table: usize, columns: &[usize]) -> String {
        let table = &self.tables[table].table;
        let names: Vec<&str> =
            columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
        format!("{}.{}", table.name, names.join(", "))
    }

    /// The parent that a column refers to alone.
    fn find_parent(&self, table: usize, column: usize) -> Option<usize> {
        let references = &self.tables[table].references;
        references.iter().find(|(columns, _)| columns[..] == [column]).map(|(_, parent)| *parent)
    }

    /// Chooses generators for columns that are unique together, where none is chosen.
    fn make_unique(&mut self, table: usize, unique: &UniqueColumns<'_>) {
        match *unique.columns {
            [column] if self.sources[table][column].is_none() => {
                self.make_unique_column(table, column);
            }
            [first, second]
                if self.sources[table][first].is_none()
                    && self.sources[table][second].is_none() =>
            {
                self.make_unique_pair(table, [first, second]);
            }
            _ => {}
        }
    }

    fn make_unique_column(&mut self, table: usize, column: usize) {
        let generated = &self.tables[table];
        let declared = &generated.table.columns[column];
        let source = match (self.find_parent(table, column), declared.kind) {
            (Some(parent), _) => {
                let (own, theirs) = (generated.rows, self.tables[parent].rows);
                if own > theirs {
                    let what = format!(
                        "{} is unique and refers to {}, which has {theirs} rows for its {own}; \
                         give it at most as many",
                        self.name_columns(table, &[column]),
                        self.tables[parent].table.name
                    );
                    return self.refuse_table(table, what);
                }
                ValueSource::ParentOfBlock { parent, part: 0, block: 1 }
            }
            (None, Type::Int) => ValueSource::RowNumber,
            (None, Type::Text { most }) => {
                match number_name(&declared.name, most as usize, generated.rows) {
                    Some(source) => source,
                    None => {
                        let what = format!(
                            "{} is unique, and too short for {} different names; give it a generator",
                            self.name_columns(table, &[column]),
                            generated.rows
                        );
                        return self.refuse_table(table, what);
                    }
                }
            }
            // The check of what is unique says what to write.
            (None, _) => return,
        };
        self.sources[table][column] = Some(source);
    }

    /// Two references, or a reference and a number: each parent has a block of rows.
    fn make_unique_pair(&mut self, table: usize, [first, second]: [usize; 2]) {
        let parents = [self.find_parent(table, first), self.find_parent(table, second)];
        let is_int = |column: usize| self.tables[table].table.columns[column].kind == Type::Int;
        let (parent, column, other, other_parent) = match parents {
            [Some(parent), Some(other)] => (parent, first, second, Some(other)),
            [Some(parent), None] if is_int(second) => (parent, first, second, None),
            [None, Some(parent)] if is_int(first) => (parent, second, first, None),
            _ => return,
        };
        let (own, theirs) = (self.tables[table].rows, self.tables[parent].rows);
        let most = other_parent.map_or(i64::MAX, |other| self.tables[other].rows);
        if i128::from(theirs) * i128::from(most) < i128::from(own) {
            let names = self.name_columns(table, &[first, second]);
            let parents =
                other_parent.map_or(theirs.to_string(), |_| format!("{theirs} and {most}"));
            let what = format!(
                "{names} are unique together, and their parents' {parents} rows don't make {own} pairs; \
                 lower the rows of {}",
                self.tables[table].table.name
            );
            return self.refuse_table(table, what);
        }
        let theirs = theirs.max(1);
        let block = (own / theirs + i64::from(own % theirs > 0)).max(1);
        self.sources[table][column] = Some(ValueSource::ParentOfBlock { parent, part: 0, block });
        self.sources[table][other] = Some(match other_parent {
            Some(parent) => ValueSource::ParentWithinBlock { parent, part: 0, block },
            None => ValueSource::NumberWithinBlock { block },
        });
    }

    /// Chooses generators for columns that may repeat: by reference, else by type.
    fn make_rest(&mut self, table: usize) {
        let tables = self.tables;
        for (columns, parent) in &tables[table].references {
            for (part, column) in columns.iter().enumerate() {
                let stream = columns[0];
                self.sources[table][*column].get_or_insert(ValueSource::RandomParent {
                    parent: *parent,
                    part,
                    stream,
                });
            }
        }
        for (source, column) in self.sources[table].iter_mut().zip(&tables[table].table.columns) {
            source.get_or_insert_with(|| make_up_by_type(column.kind));
        }
    }
}

fn list_unique(table: &Table) -> Vec<UniqueColumns<'_>> {
    let key = UniqueColumns { columns: &table.key, is_key: true };
    let unique = table.indexes.iter().filter(|index| index.unique);
    let indexes = unique.map(|index| UniqueColumns { columns: &index.columns, is_key: false });
    std::iter::once(key).chain(indexes).filter(|unique| !unique.columns.is_empty()).collect()
}

/// As `email-00042`; without the name if that is too long.
fn number_name(name: &str, most: usize, rows: i64) -> Option<ValueSource> {
    let digits = (rows - 1).max(0).to_string().len();
    let prefix: Cow<'_, str> = match name.chars().count() + 1 + digits <= most {
        true => format!("{name}-").into(),
        false => "".into(),
    };
    (digits <= most).then(|| ValueSource::NumberedName { prefix: prefix.into(), digits })
}

/// What a column holds that nothing else says anything of: this alone knows the types.
fn make_up_by_type(kind: Type) -> ValueSource {
    let words = |most: u32| ValueSource::Words {
        least: i64::from(LEAST_WORDS.min(most)),
        most: i64::from(most),
    };
    match kind {
        Type::Int => ValueSource::Integers,
        Type::Text { most } => words(most.min(MOST_WORDS)),
        Type::MediumText => words(MOST_LONG_WORDS),
        Type::Bytes { most } => ValueSource::Bytes {
            least: i64::from(LEAST_WORDS.min(most)),
            most: i64::from(MOST_LONG_WORDS.min(most)),
        },
        Type::Real => ValueSource::Decimals { units: 100_000, scale: 2 },
        Type::Decimal { digits, scale } => {
            // Below a thousand, if there is room.
            let units = 10_i64.checked_pow(u32::from(digits.min(scale + 3)).min(15));
            ValueSource::Decimals { units: units.unwrap_or(i64::MAX), scale }
        }
        Type::Bool => ValueSource::Bools,
        Type::Date => ValueSource::Days,
        Type::Timestamp => ValueSource::Moments,
    }
}
