//! The figures of a table, row by row, and whether its base is among them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bakeoff_results::published::{FigureUnit, PublishedFigure, PublishedValue, Quantity};
use toml::de::DeTable;

use super::columns::{LevelsByFactor, MappedColumn, OPERATION, TableMapping, by_name};
use crate::entries::TomlValue as Written;
use crate::file::ExperimentReader;
use crate::file::csv::Field;
use crate::message::{ExperimentProblem, SourceSpan, SourceText};

const MOST_PROBLEMS: usize = 10;

impl ExperimentReader<'_> {
    pub(super) fn read_figures(
        &mut self,
        plan: &TableMapping,
        source: &Arc<SourceText>,
        head: &[Field],
        rows: &[Vec<Field>],
    ) -> Option<Vec<PublishedFigure>> {
        let before = self.problems.len();
        let place = |span| SourceSpan { source: Arc::clone(source), span: Some(span) };
        let mut figures = Vec::new();
        let mut seen: BTreeMap<(Option<String>, BTreeMap<String, String>), SourceSpan> =
            BTreeMap::new();
        // Each wrong text of a column is reported once.
        let mut told: BTreeSet<(usize, &str)> = BTreeSet::new();
        for row in rows {
            if self.problems.len() >= before + MOST_PROBLEMS {
                break;
            }
            if row.len() != head.len() {
                let title = format!("{} fields stand under {} names", row.len(), head.len());
                let whole = row[0].span.start..row[row.len() - 1].span.end;
                let help = "leave a field empty where there is no figure";
                self.problems
                    .push(ExperimentProblem::new(title).at_place(&place(whole)).with_help(help));
                continue;
            }
            let of_row = self.read_row(plan, row);
            for (field, problem) in of_row.wrong {
                let column = row.iter().position(|it| it.span == field.span).unwrap_or_default();
                if !told.insert((column, &field.text)) {
                    continue;
                }
                self.problems.push(problem.at_place(&place(field.span.clone())));
            }
            for (field, figure) in of_row.figures {
                let key = (figure.operation.clone(), figure.levels.clone());
                match seen.get(&key) {
                    Some(first) => {
                        let problem = ExperimentProblem::new("a second figure of the same levels");
                        let problem = problem.at_place(&place(field.span.clone())).and_at(first);
                        self.problems.push(problem.with_help("leave one out"));
                    }
                    None => drop(seen.insert(key, place(field.span.clone()))),
                }
                figures.push(figure);
            }
        }
        (self.problems.len() == before).then_some(figures)
    }

    fn read_row<'f>(&self, plan: &TableMapping, row: &'f [Field]) -> FigureRow<'f> {
        let mut said = FigureRow { figures: Vec::new(), wrong: Vec::new() };
        let (mut levels, mut operation) = (LevelsByFactor::new(), None);
        for (field, column) in row.iter().zip(&plan.columns) {
            let read = match column {
                MappedColumn::Factor(factor) => self
                    .level_of(*factor, plan.canonical_name(factor.name(), &field.text))
                    .map(|level| drop(levels.insert(*factor, level))),
                MappedColumn::Operation => self
                    .check_operation(plan.canonical_name(OPERATION, &field.text))
                    .map(|name| operation = Some(name)),
                MappedColumn::Unused | MappedColumn::Figures { .. } => Ok(()),
            };
            said.wrong.extend(read.err().map(|problem| (field, problem)));
        }
        for (field, column) in row.iter().zip(&plan.columns) {
            let MappedColumn::Figures { unit, operation: own, levels: more } = column else {
                continue;
            };
            let value = match read_figure(&field.text, unit) {
                Ok(value) => value,
                Err(problem) => {
                    said.wrong.push((field, problem));
                    continue;
                }
            };
            let operation = own.as_ref().or(operation.as_ref()).cloned();
            let operation = operation.filter(|_| unit.of != Quantity::Space);
            if operation.is_none() && unit.of != Quantity::Space && said.wrong.is_empty() {
                let problem = ExperimentProblem::new("the figure is of no operation");
                let help = "map a column to `operation`, or add it beside the column's `unit`";
                said.wrong.push((field, problem.with_help(help)));
                continue;
            }
            let all = levels.iter().chain(more).map(|(factor, level)| (*factor, level.clone()));
            let levels = by_name(&all.collect());
            said.figures.push((
                field,
                PublishedFigure { operation, levels, unit: unit.name.into(), value },
            ));
        }
        said
    }

    pub(super) fn check_base(
        &mut self,
        plan: &TableMapping,
        figures: &[PublishedFigure],
        table: &DeTable<'_>,
        whole: &Written<'_>,
    ) -> Option<()> {
        let place = table.get("base").unwrap_or(whole);
        if plan.base.is_empty() {
            let problem = ExperimentProblem::new("the base names no level");
            return self
                .note_wrong(place, problem.with_help("name what all figures are divided by"));
        }
        for (factor, level) in &plan.base {
            let levels = figures.iter().filter_map(|it| it.levels.get(factor.name()));
            let mut levels: Vec<&str> = levels.map(String::as_str).collect();
            levels.dedup();
            if !levels.contains(&&**level) {
                let mut seen = Vec::new();
                levels.retain(|level| {
                    !seen.contains(level) && {
                        seen.push(*level);
                        true
                    }
                });
                let title = format!("no figure is at the base's level `{level}` of `{factor}`");
                return self
                    .note_wrong(place, ExperimentProblem::new(title).with_choices(level, &levels));
            }
        }
        Some(())
    }
}

struct FigureRow<'f> {
    figures: Vec<(&'f Field, PublishedFigure)>,
    wrong: Vec<(&'f Field, ExperimentProblem)>,
}

fn read_figure(text: &str, unit: &FigureUnit) -> Result<Option<PublishedValue>, ExperimentProblem> {
    let help = "valid: a number above 0, `>10`, `<10`, or an empty field for a gap; with a unit that \
                begins with `times`, `6-7` for what is said in words";
    match PublishedValue::parse(text) {
        Ok(Some(PublishedValue::Between(..))) if !unit.divided => Err(ExperimentProblem::new(
            format!("`{text}` is a range, and a range in {} has no base", unit.name),
        )
        .with_help(help)),
        Ok(value) => Ok(value),
        Err(wrong) => Err(ExperimentProblem::new(wrong).with_help(help)),
    }
}
