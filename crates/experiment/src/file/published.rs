//! The table `[published]`: what somebody else measured, and which of the experiment's cells it is of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use bakeoff_factor::published::{
    Difference, Figure, Published, Quantity, Table, UNITS, Unit, Value,
};
use toml::de::{DeTable, DeValue};

use super::csv::{self, Field};
use super::{Reader, in_order, read_bytes};
use crate::keys::PUBLISHED;
use crate::message::{Place, Problem, Source, nearest, one_of};
use crate::published::Article;
use crate::written::{Value as Written, items, wrong_type};
use crate::{Factor, layer, level};

const KEYS: &[&str] = &["question", "source", "date", "url", "differs", "table"];
const TABLE_KEYS: &[&str] = &["file", "csv", "name", "base", "columns", "levels"];
/// What a column is mapped to that is no factor.
const OPERATION: &str = "operation";
const UNUSED: &str = "unused";
/// How long a table may be: the run folder keeps it inside the experiment.
const MOST_BYTES: usize = 1 << 18;
/// So much that is wrong with a table is told.
const MOST_PROBLEMS: usize = 10;

/// Levels by their factors.
type Levels = BTreeMap<Factor, String>;

/// What a column of a table holds.
enum Column {
    Factor(Factor),
    Operation,
    Unused,
    Figures { unit: &'static Unit, operation: Option<String>, levels: Levels },
}

/// How a table is read.
struct Plan {
    columns: Vec<Column>,
    base: Levels,
    /// Levels and operations whose names in the table are others.
    names: BTreeMap<String, BTreeMap<String, String>>,
}

impl Reader<'_> {
    /// The table; `None` where something is wrong with it, which is noted.
    pub(super) fn published(&mut self, value: &Written<'_>) -> Option<Article> {
        let before = self.problems.len();
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(value, wrong_type(PUBLISHED, "a table", value));
        };
        self.only(table, KEYS);
        // Read once more, as plain values without their places.
        let plain = self.source.text.parse::<toml::Table>().ok()?;
        let mut toml = plain.get(PUBLISHED)?.as_table()?.clone();
        let [question, source, date] =
            ["question", "source", "date"].map(|key| self.needed_line(table, key, value));
        let url = table.get("url").and_then(|url| self.line("url", url));
        let differs = table.get("differs").map(|it| self.differs(it)).unwrap_or_default();
        let tables = table.get("table").map(items).unwrap_or_default();
        if tables.is_empty() && !is_misspelt(table, "table", KEYS) {
            let problem = Problem::new(format!("`{PUBLISHED}` has no table of figures"));
            self.wrong::<()>(value, problem.help("add `[[published.table]]` with a `file`"));
        }
        let read: Vec<_> = tables.iter().filter_map(|it| self.table(it)).collect();
        if self.problems.len() > before {
            return None;
        }
        let (texts, tables): (Vec<String>, Vec<Table>) = read.into_iter().unzip();
        keep_texts(&mut toml, texts);
        let (question, source, date) = (question?, source?, date?);
        let published = Published { question, source, date, url, differs, tables };
        Some(Article { published, toml })
    }

    /// Notes what is wrong with a value.
    fn wrong<T>(&mut self, value: &Written<'_>, problem: Problem) -> Option<T> {
        self.problems.push(problem.at(&self.place(Some(value.span()))));
        None
    }

    /// Notes keys that are none of the valid ones.
    fn only(&mut self, table: &DeTable<'_>, valid: &[&str]) {
        for (key, _) in in_order(table) {
            if !valid.contains(&key.get_ref().as_ref()) {
                let problem = Problem::unknown("key", key.get_ref(), valid);
                self.problems.push(problem.at(&self.place(Some(key.span()))));
            }
        }
    }

    fn line(&mut self, key: &str, value: &Written<'_>) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            return self.wrong(value, wrong_type(key, "a string", value));
        };
        match layer::one_line(text.to_owned()) {
            Ok(text) => Some(text),
            Err(_) => self.wrong(value, Problem::new(format!("`{key}` is one line of text"))),
        }
    }

    fn needed_line(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        whole: &Written<'_>,
    ) -> Option<String> {
        match table.get(key) {
            Some(value) => self.line(key, value),
            // An unknown key was told, with this one as what was meant.
            None if is_misspelt(table, key, KEYS) => None,
            None => self.wrong(whole, Problem::new(format!("`{PUBLISHED}` has no `{key}`"))),
        }
    }

    fn differs(&mut self, value: &Written<'_>) -> Vec<Difference> {
        let mut all = Vec::new();
        for item in items(value) {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong::<()>(item, wrong_type("differs", "a list of { there, here }", item));
                continue;
            };
            self.only(table, &["there", "here"]);
            let [there, here] = ["there", "here"].map(|key| self.needed_line(table, key, item));
            all.extend(there.zip(here).map(|(there, here)| Difference { there, here }));
        }
        all
    }

    /// A table's text and what it says.
    fn table(&mut self, value: &Written<'_>) -> Option<(String, Table)> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(value, wrong_type("table", "a list of tables", value));
        };
        self.only(table, TABLE_KEYS);
        let source = self.text_of(table, value)?;
        let rows = csv::rows(&source.text).map_err(|(span, wrong)| {
            let place = Place { source: Arc::clone(&source), span: Some(span) };
            self.problems.push(Problem::new(wrong).at(&place));
        });
        let rows = rows.ok()?;
        let [head, rows @ ..] = &rows[..] else {
            let problem = Problem::new(format!("`{}` is empty", source.name));
            let help = "its first line has the names of its columns, each line after that figures";
            return self.wrong(value, problem.help(help));
        };
        if rows.is_empty() {
            let title = format!("`{}` has the names of columns and no figures", source.name);
            let help =
                "each line after the names has figures, or an empty field where there is none";
            return self.wrong(value, Problem::new(title).help(help));
        }
        let plan = self.plan(table, value, &source, head)?;
        let figures = self.figures(&plan, &source, head, rows)?;
        let of = plan.quantity()?;
        self.check_base(&plan, &figures, table, value)?;
        let base = by_name(&plan.base);
        let file = source.name.clone();
        Some((source.text.clone(), Table { file, of, base, figures }))
    }

    /// The text of a table: what `csv` says, or the file of that name beside the experiment's.
    fn text_of(&mut self, table: &DeTable<'_>, whole: &Written<'_>) -> Option<Arc<Source>> {
        if let Some(given) = table.get("csv") {
            if let Some(file) = table.get("file") {
                let problem = Problem::new("the table has both `csv` and `file`");
                return self.wrong(file, problem.help("leave one of them out"));
            }
            let name = match table.get("name") {
                Some(name) => self.line("name", name)?,
                None => "csv".to_owned(),
            };
            let Some(text) = given.get_ref().as_str() else {
                return self.wrong(given, wrong_type("csv", "a string", given));
            };
            return Some(Arc::new(Source { name, text: text.to_owned() }));
        }
        let Some(file) = table.get("file") else {
            if is_misspelt(table, "file", TABLE_KEYS) || is_misspelt(table, "csv", TABLE_KEYS) {
                return None;
            }
            let problem = Problem::new("the table names no file");
            let help = "add a line `file = \"NAME.csv\"`, or its text as `csv`";
            return self.wrong(whole, problem.help(help));
        };
        let name = self.line("file", file)?;
        match self.file_beside(&name) {
            Ok(text) => Some(Arc::new(Source { name, text })),
            Err(problem) => self.wrong(file, problem),
        }
    }

    /// The text of a file beside the experiment's.
    fn file_beside(&self, name: &str) -> Result<String, Problem> {
        let preset = self.vocabulary.presets.iter().find(|it| it.name == self.source.name);
        if let Some(text) = preset.and_then(|preset| preset.file(name)) {
            return Ok(text.to_owned());
        }
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Problem::new(format!("`{name}` is not beside the experiment's file"))
                .help("give its path from the folder of the experiment's file, without `..`"));
        }
        let path = Path::new(&self.source.name).parent().unwrap_or(Path::new("")).join(name);
        let shown = path.display().to_string();
        let bytes = read_bytes(&shown)
            .map_err(|error| Problem::new(format!("can't read `{shown}`: {error}")))?;
        if bytes.len() > MOST_BYTES {
            let title = format!("`{shown}` is over {MOST_BYTES} bytes long");
            return Err(Problem::new(title).help("leave out the figures that are not shown"));
        }
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Problem::new(format!(
                "`{shown}` is not UTF-8 text: byte {byte} (counted from 0) is wrong"
            ))
        })
    }

    /// How the table is read; `None` where that is not known, which is noted.
    fn plan(
        &mut self,
        table: &DeTable<'_>,
        whole: &Written<'_>,
        source: &Arc<Source>,
        head: &[Field],
    ) -> Option<Plan> {
        let before = self.problems.len();
        let (Some(columns), Some(base)) =
            (self.inner(table, "columns", whole), self.inner(table, "base", whole))
        else {
            return None;
        };
        let names = match table.get("levels") {
            Some(_) => {
                let levels = self.inner(table, "levels", whole)?;
                self.names(levels)
            }
            None => BTreeMap::new(),
        };
        let headings: Vec<&str> = head.iter().map(|field| &*field.text).collect();
        for (key, _) in in_order(columns) {
            if !headings.contains(&key.get_ref().as_ref()) {
                let title = format!("`{}` has no column `{}`", source.name, key.get_ref());
                let problem = Problem::new(title).choices(key.get_ref(), &headings);
                self.problems.push(problem.at(&self.place(Some(key.span()))));
            }
        }
        let mut read = Vec::new();
        for (at, field) in head.iter().enumerate() {
            let place = Place { source: Arc::clone(source), span: Some(field.span.clone()) };
            if headings[..at].contains(&&*field.text) {
                let title = format!("two columns have the name `{}`", field.text);
                self.problems.push(Problem::new(title).at(&place).help("rename one"));
            }
            match columns.get(&*field.text) {
                Some(value) => read.extend(self.column(value)),
                None if is_misspelt(columns, &field.text, &headings) => {}
                None => self.problems.push(unmapped(&field.text).at(&place)),
            }
        }
        let base = self.levels_in(base, &[]);
        let plan = Plan { columns: read, base, names };
        if self.problems.len() == before && plan.quantity().is_none() {
            let title = "the table's columns have no figures, or figures of several quantities";
            let help = "give each column of figures a `unit`; time, rate and space in a table each";
            return self.wrong(whole, Problem::new(title).help(help));
        }
        (self.problems.len() == before).then_some(plan)
    }

    /// A table that is needed inside of another.
    fn inner<'t, 'a>(
        &mut self,
        table: &'t DeTable<'a>,
        key: &str,
        whole: &Written<'_>,
    ) -> Option<&'t DeTable<'a>> {
        match table.get(key).map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Table(inner))) => Some(inner),
            Some((value, _)) => self.wrong(value, wrong_type(key, "a table", value)),
            None if is_misspelt(table, key, TABLE_KEYS) => None,
            None => self.wrong(whole, Problem::new(format!("the table has no `{key}`"))),
        }
    }

    fn column(&mut self, value: &Written<'_>) -> Option<Column> {
        match value.get_ref() {
            DeValue::String(name) if name == OPERATION => Some(Column::Operation),
            DeValue::String(name) if name == UNUSED => Some(Column::Unused),
            DeValue::String(name) => match self.vocabulary.factor(self.workload, name) {
                Ok(factor) => Some(Column::Factor(factor)),
                Err(problem) => {
                    let help = format!("or `{OPERATION}`, `{UNUSED}`, or a table with a `unit`");
                    self.wrong(value, problem.help(help))
                }
            },
            DeValue::Table(table) => {
                let Some(unit) = table.get("unit") else {
                    let problem = Problem::new("a column of figures has no `unit`");
                    return self.wrong(value, problem.valid(&unit_names()));
                };
                let name = self.line("unit", unit)?;
                let Some(known) = Unit::named(&name) else {
                    return self.wrong(unit, Problem::unknown("unit", &name, &unit_names()));
                };
                let operation = match table.get(OPERATION) {
                    Some(given) => Some(self.operation_in(given)?),
                    None => None,
                };
                let levels = self.levels_in(table, &["unit", OPERATION]);
                Some(Column::Figures { unit: known, operation, levels })
            }
            _ => self.wrong(value, wrong_type("a column", "a string or a table", value)),
        }
    }

    fn operation_in(&mut self, value: &Written<'_>) -> Option<String> {
        let name = self.line(OPERATION, value)?;
        self.operation(&name).map_err(|problem| self.wrong::<()>(value, problem)).ok()
    }

    /// An operation of the workload.
    fn operation(&self, name: &str) -> Result<String, Problem> {
        match self.workload {
            Some(workload) => one_of(OPERATION, name, &workload.operations),
            None => Ok(name.to_owned()),
        }
    }

    /// The levels that a table gives, but for some keys; what is wrong is noted.
    fn levels_in(&mut self, table: &DeTable<'_>, but: &[&str]) -> Levels {
        let mut levels = Levels::new();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if but.contains(&name) {
                continue;
            }
            let factor = match self.vocabulary.factor(self.workload, name) {
                Ok(factor) => factor,
                Err(problem) => {
                    self.problems.push(problem.at(&self.place(Some(key.span()))));
                    continue;
                }
            };
            let given = self.level(factor, value);
            match given.and_then(|given| self.level_of(factor, &given.value)) {
                Ok(level) => drop(levels.insert(factor, level)),
                Err(problem) => drop(self.wrong::<()>(value, problem)),
            }
        }
        levels
    }

    /// A level in its canonical form.
    fn level_of(&self, factor: Factor, text: &str) -> Result<String, Problem> {
        let level = level::canonical(factor, text, self.vocabulary)?;
        match self.workload.filter(|_| factor == Factor::SCALE) {
            Some(workload) => one_of("scale", level::base(&level), &workload.scales),
            None => Ok(level),
        }
    }

    /// Other names of levels and operations, by the factor's name.
    fn names(&mut self, table: &DeTable<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if name != OPERATION
                && let Err(problem) = self.vocabulary.factor(self.workload, name)
            {
                self.problems.push(problem.at(&self.place(Some(key.span()))));
                continue;
            }
            let Some(inner) = self.inner(table, name, value) else { continue };
            let mut names = BTreeMap::new();
            for (there, value) in in_order(inner) {
                let Some(here) = self.line(there.get_ref(), value) else { continue };
                // Told here, and not at each row of the table that has it.
                let read = match self.vocabulary.factor(self.workload, name) {
                    Ok(factor) if name != OPERATION => self.level_of(factor, &here).map(drop),
                    _ => self.operation(&here).map(drop),
                };
                if let Err(problem) = read {
                    self.wrong::<()>(value, problem);
                }
                names.insert(there.get_ref().to_string(), here);
            }
            all.insert(name.to_owned(), names);
        }
        all
    }

    /// All figures of the table, in its order; `None` where one of them is wrong, which is noted.
    fn figures(
        &mut self,
        plan: &Plan,
        source: &Arc<Source>,
        head: &[Field],
        rows: &[Vec<Field>],
    ) -> Option<Vec<Figure>> {
        let before = self.problems.len();
        let place = |span| Place { source: Arc::clone(source), span: Some(span) };
        let mut figures = Vec::new();
        let mut seen: BTreeMap<(Option<String>, BTreeMap<String, String>), Place> = BTreeMap::new();
        // A text that is wrong in a column is told where it stands first.
        let mut told: BTreeSet<(usize, &str)> = BTreeSet::new();
        for row in rows {
            if self.problems.len() >= before + MOST_PROBLEMS {
                break;
            }
            if row.len() != head.len() {
                let title = format!("{} fields stand under {} names", row.len(), head.len());
                let whole = row[0].span.start..row[row.len() - 1].span.end;
                let help = "leave a field empty where there is no figure";
                self.problems.push(Problem::new(title).at(&place(whole)).help(help));
                continue;
            }
            let of_row = self.row(plan, row);
            for (field, problem) in of_row.wrong {
                let column = row.iter().position(|it| it.span == field.span).unwrap_or_default();
                if !told.insert((column, &field.text)) {
                    continue;
                }
                self.problems.push(problem.at(&place(field.span.clone())));
            }
            for (field, figure) in of_row.figures {
                let key = (figure.operation.clone(), figure.levels.clone());
                match seen.get(&key) {
                    Some(first) => {
                        let problem = Problem::new("a second figure of the same levels");
                        let problem = problem.at(&place(field.span.clone())).and_at(first);
                        self.problems.push(problem.help("leave one out"));
                    }
                    None => drop(seen.insert(key, place(field.span.clone()))),
                }
                figures.push(figure);
            }
        }
        (self.problems.len() == before).then_some(figures)
    }

    /// What a row says: its figures, and what is wrong with it.
    fn row<'f>(&self, plan: &Plan, row: &'f [Field]) -> Row<'f> {
        let mut said = Row { figures: Vec::new(), wrong: Vec::new() };
        let (mut levels, mut operation) = (Levels::new(), None);
        for (field, column) in row.iter().zip(&plan.columns) {
            let read = match column {
                Column::Factor(factor) => self
                    .level_of(*factor, plan.renamed(factor.name(), &field.text))
                    .map(|level| drop(levels.insert(*factor, level))),
                Column::Operation => self
                    .operation(plan.renamed(OPERATION, &field.text))
                    .map(|name| operation = Some(name)),
                Column::Unused | Column::Figures { .. } => Ok(()),
            };
            said.wrong.extend(read.err().map(|problem| (field, problem)));
        }
        for (field, column) in row.iter().zip(&plan.columns) {
            let Column::Figures { unit, operation: own, levels: more } = column else { continue };
            let value = match figure(&field.text, unit) {
                Ok(value) => value,
                Err(problem) => {
                    said.wrong.push((field, problem));
                    continue;
                }
            };
            let operation = own.as_ref().or(operation.as_ref()).cloned();
            let operation = operation.filter(|_| unit.of != Quantity::Space);
            if operation.is_none() && unit.of != Quantity::Space && said.wrong.is_empty() {
                let problem = Problem::new("the figure is of no operation");
                let help = "map a column to `operation`, or add it beside the column's `unit`";
                said.wrong.push((field, problem.help(help)));
                continue;
            }
            let all = levels.iter().chain(more).map(|(factor, level)| (*factor, level.clone()));
            let levels = by_name(&all.collect());
            said.figures.push((field, Figure { operation, levels, unit: unit.name.into(), value }));
        }
        said
    }

    /// Notes where the base is no cell of the table.
    fn check_base(
        &mut self,
        plan: &Plan,
        figures: &[Figure],
        table: &DeTable<'_>,
        whole: &Written<'_>,
    ) -> Option<()> {
        let place = table.get("base").unwrap_or(whole);
        if plan.base.is_empty() {
            let problem = Problem::new("the base names no level");
            return self.wrong(place, problem.help("name what all figures are divided by"));
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
                return self.wrong(place, Problem::new(title).choices(level, &levels));
            }
        }
        Some(())
    }
}

/// What a row says.
struct Row<'f> {
    figures: Vec<(&'f Field, Figure)>,
    wrong: Vec<(&'f Field, Problem)>,
}

impl Plan {
    /// What the table's figures are of; `None` where there are none, or of several quantities.
    fn quantity(&self) -> Option<Quantity> {
        let mut units = self.columns.iter().filter_map(|column| match column {
            Column::Figures { unit, .. } => Some(*unit),
            _ => None,
        });
        let first = units.next()?;
        // Rows and requests a second are not the same thing; milliseconds and seconds are.
        let same = |unit: &Unit| {
            unit.of == first.of
                && unit.divided == first.divided
                && (unit.of != Quantity::Rate || unit.name == first.name)
        };
        units.all(same).then_some(first.of)
    }

    /// The level or operation that a text of the table stands for.
    fn renamed<'t>(&'t self, of: &str, text: &'t str) -> &'t str {
        self.names.get(of).and_then(|names| names.get(text)).map_or(text, String::as_str)
    }
}

/// A figure in its unit.
fn figure(text: &str, unit: &Unit) -> Result<Option<Value>, Problem> {
    let help = "valid: a number above 0, `>10`, `<10`, or an empty field for a gap; with a unit that \
                begins with `times`, `6-7` for what is said in words";
    match Value::read(text) {
        Ok(Some(Value::Between(..))) if !unit.divided => Err(Problem::new(format!(
            "`{text}` is a range, and a range in {} has no base",
            unit.name
        ))
        .help(help)),
        Ok(value) => Ok(value),
        Err(wrong) => Err(Problem::new(wrong).help(help)),
    }
}

/// Whether a table lacks a key and has another that is none of the valid ones and most likely means it.
fn is_misspelt(table: &DeTable<'_>, key: &str, valid: &[&str]) -> bool {
    let mut unknown =
        table.iter().map(|(key, _)| &**key.get_ref()).filter(|it| !valid.contains(it));
    !table.contains_key(key) && unknown.any(|it| nearest(it, valid) == Some(key))
}

fn unmapped(name: &str) -> Problem {
    Problem::new(format!("nothing says what the column `{name}` is")).help(format!(
        "add it to `columns`: a factor's name, `{OPERATION}`, a table with a `unit`, or `{UNUSED}`"
    ))
}

fn unit_names() -> Vec<&'static str> {
    UNITS.iter().map(|unit| unit.name).collect()
}

fn by_name(levels: &Levels) -> BTreeMap<String, String> {
    levels.iter().map(|(factor, level)| (factor.name().to_owned(), level.clone())).collect()
}

/// Puts the texts of tables into the tables that name their files, in the place of the files' names: of
/// these stays what a table is called.
fn keep_texts(toml: &mut toml::Table, texts: Vec<String>) {
    let tables: Vec<&mut toml::Table> = match toml.get_mut("table") {
        Some(toml::Value::Array(all)) => {
            all.iter_mut().filter_map(|table| table.as_table_mut()).collect()
        }
        Some(toml::Value::Table(table)) => vec![table],
        _ => Vec::new(),
    };
    for (table, text) in tables.into_iter().zip(texts) {
        if let Some(name) = table.remove("file") {
            table.entry("name").or_insert(name);
        }
        table.insert("csv".to_owned(), toml::Value::String(text));
    }
}
