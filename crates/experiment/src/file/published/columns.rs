//! How to read a table of figures: the meaning of its columns, its base, and other names of levels.

use std::collections::BTreeMap;
use std::sync::Arc;

use bakeoff_results::published::{FigureUnit, Quantity, UNITS};
use toml::de::{DeTable, DeValue};

use super::{TABLE_KEYS, is_misspelt};
use crate::entries::{TomlValue as Written, wrong_type};
use crate::file::csv::Field;
use crate::file::{ExperimentReader, in_order};
use crate::message::{ExperimentProblem, SourceSpan, SourceText, one_of};
use crate::{Factor, level};

/// A column that is mapped to the operation.
pub const OPERATION: &str = "operation";
const UNUSED: &str = "unused";

pub type LevelsByFactor = BTreeMap<Factor, String>;

pub enum MappedColumn {
    Factor(Factor),
    Operation,
    Unused,
    Figures { unit: &'static FigureUnit, operation: Option<String>, levels: LevelsByFactor },
}

pub struct TableMapping {
    pub columns: Vec<MappedColumn>,
    pub base: LevelsByFactor,
    /// Levels and operations that have other names in the table, by factor.
    names: BTreeMap<String, BTreeMap<String, String>>,
}

impl ExperimentReader<'_> {
    pub(super) fn read_mapping(
        &mut self,
        table: &DeTable<'_>,
        whole: &Written<'_>,
        source: &Arc<SourceText>,
        head: &[Field],
    ) -> Option<TableMapping> {
        let before = self.problems.len();
        let (Some(columns), Some(base)) = (
            self.find_inner_table(table, "columns", whole),
            self.find_inner_table(table, "base", whole),
        ) else {
            return None;
        };
        let names = match table.get("levels") {
            Some(_) => {
                let levels = self.find_inner_table(table, "levels", whole)?;
                self.read_other_names(levels)
            }
            None => BTreeMap::new(),
        };
        let headings: Vec<&str> = head.iter().map(|field| &*field.text).collect();
        for (key, _) in in_order(columns) {
            if !headings.contains(&key.get_ref().as_ref()) {
                let title = format!("`{}` has no column `{}`", source.name, key.get_ref());
                let problem = ExperimentProblem::new(title).with_choices(key.get_ref(), &headings);
                self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
            }
        }
        let mut read = Vec::new();
        for (at, field) in head.iter().enumerate() {
            let place = SourceSpan { source: Arc::clone(source), span: Some(field.span.clone()) };
            if headings[..at].contains(&&*field.text) {
                let title = format!("two columns have the name `{}`", field.text);
                self.problems
                    .push(ExperimentProblem::new(title).at_place(&place).with_help("rename one"));
            }
            match columns.get(&*field.text) {
                Some(value) => read.extend(self.read_column(value)),
                None if is_misspelt(columns, &field.text, &headings) => {}
                None => self.problems.push(explain_unmapped(&field.text).at_place(&place)),
            }
        }
        let base = self.levels_in(base, &[]);
        let plan = TableMapping { columns: read, base, names };
        if self.problems.len() == before && plan.common_quantity().is_none() {
            let title = "the table's columns have no figures, or figures of several quantities";
            let help = "give each column of figures a `unit`; time, rate and space in a table each";
            return self.note_wrong(whole, ExperimentProblem::new(title).with_help(help));
        }
        (self.problems.len() == before).then_some(plan)
    }

    fn find_inner_table<'t, 'a>(
        &mut self,
        table: &'t DeTable<'a>,
        key: &str,
        whole: &Written<'_>,
    ) -> Option<&'t DeTable<'a>> {
        match table.get(key).map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Table(inner))) => Some(inner),
            Some((value, _)) => self.note_wrong(value, wrong_type(key, "a table", value)),
            None if is_misspelt(table, key, TABLE_KEYS) => None,
            None => {
                self.note_wrong(whole, ExperimentProblem::new(format!("the table has no `{key}`")))
            }
        }
    }

    fn read_column(&mut self, value: &Written<'_>) -> Option<MappedColumn> {
        match value.get_ref() {
            DeValue::String(name) if name == OPERATION => Some(MappedColumn::Operation),
            DeValue::String(name) if name == UNUSED => Some(MappedColumn::Unused),
            DeValue::String(name) => match self.vocabulary.find_factor(self.workload, name) {
                Ok(factor) => Some(MappedColumn::Factor(factor)),
                Err(problem) => {
                    let help = format!("or `{OPERATION}`, `{UNUSED}`, or a table with a `unit`");
                    self.note_wrong(value, problem.with_help(help))
                }
            },
            DeValue::Table(table) => {
                let Some(unit) = table.get("unit") else {
                    let problem = ExperimentProblem::new("a column of figures has no `unit`");
                    return self.note_wrong(value, problem.with_valid(&unit_names()));
                };
                let name = self.read_line("unit", unit)?;
                let Some(known) = FigureUnit::find(&name) else {
                    return self.note_wrong(
                        unit,
                        ExperimentProblem::unknown("unit", &name, &unit_names()),
                    );
                };
                let operation = match table.get(OPERATION) {
                    Some(given) => Some(self.operation_in(given)?),
                    None => None,
                };
                let levels = self.levels_in(table, &["unit", OPERATION]);
                Some(MappedColumn::Figures { unit: known, operation, levels })
            }
            _ => self.note_wrong(value, wrong_type("a column", "a string or a table", value)),
        }
    }

    fn operation_in(&mut self, value: &Written<'_>) -> Option<String> {
        let name = self.read_line(OPERATION, value)?;
        self.check_operation(&name).map_err(|problem| self.note_wrong::<()>(value, problem)).ok()
    }

    pub(super) fn check_operation(&self, name: &str) -> Result<String, ExperimentProblem> {
        match self.workload {
            Some(workload) => one_of(OPERATION, name, &workload.operations),
            None => Ok(name.to_owned()),
        }
    }

    fn levels_in(&mut self, table: &DeTable<'_>, but: &[&str]) -> LevelsByFactor {
        let mut levels = LevelsByFactor::new();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if but.contains(&name) {
                continue;
            }
            let factor = match self.vocabulary.find_factor(self.workload, name) {
                Ok(factor) => factor,
                Err(problem) => {
                    self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
                    continue;
                }
            };
            let given = self.read_level(factor, value);
            match given.and_then(|given| self.level_of(factor, &given.value)) {
                Ok(level) => drop(levels.insert(factor, level)),
                Err(problem) => drop(self.note_wrong::<()>(value, problem)),
            }
        }
        levels
    }

    pub(super) fn level_of(&self, factor: Factor, text: &str) -> Result<String, ExperimentProblem> {
        let level = level::canonical_level(factor, text, self.vocabulary)?;
        match self.workload.filter(|_| factor == Factor::SCALE) {
            Some(workload) => one_of("scale", level::without_alias(&level), &workload.scales),
            None => Ok(level),
        }
    }

    fn read_other_names(
        &mut self,
        table: &DeTable<'_>,
    ) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if name != OPERATION
                && let Err(problem) = self.vocabulary.find_factor(self.workload, name)
            {
                self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
                continue;
            }
            let Some(inner) = self.find_inner_table(table, name, value) else { continue };
            let mut names = BTreeMap::new();
            for (there, value) in in_order(inner) {
                let Some(here) = self.read_line(there.get_ref(), value) else { continue };
                // Here, and not at each row that has it.
                let read = match self.vocabulary.find_factor(self.workload, name) {
                    Ok(factor) if name != OPERATION => self.level_of(factor, &here).map(drop),
                    _ => self.check_operation(&here).map(drop),
                };
                if let Err(problem) = read {
                    self.note_wrong::<()>(value, problem);
                }
                names.insert(there.get_ref().to_string(), here);
            }
            all.insert(name.to_owned(), names);
        }
        all
    }
}

impl TableMapping {
    /// `None` if there are none, or several.
    pub fn common_quantity(&self) -> Option<Quantity> {
        let mut units = self.columns.iter().filter_map(|column| match column {
            MappedColumn::Figures { unit, .. } => Some(*unit),
            _ => None,
        });
        let first = units.next()?;
        // Rows and requests a second differ; milliseconds and seconds don't.
        let same = |unit: &FigureUnit| {
            unit.of == first.of
                && unit.divided == first.divided
                && (unit.of != Quantity::Rate || unit.name == first.name)
        };
        units.all(same).then_some(first.of)
    }

    pub fn canonical_name<'t>(&'t self, of: &str, text: &'t str) -> &'t str {
        self.names.get(of).and_then(|names| names.get(text)).map_or(text, String::as_str)
    }
}

fn explain_unmapped(name: &str) -> ExperimentProblem {
    ExperimentProblem::new(format!("nothing says what the column `{name}` is")).with_help(format!(
        "add it to `columns`: a factor's name, `{OPERATION}`, a table with a `unit`, or `{UNUSED}`"
    ))
}

fn unit_names() -> Vec<&'static str> {
    UNITS.iter().map(|unit| unit.name).collect()
}

pub fn by_name(levels: &LevelsByFactor) -> BTreeMap<String, String> {
    levels.iter().map(|(factor, level)| (factor.name().to_owned(), level.clone())).collect()
}
