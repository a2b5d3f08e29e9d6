//! The table `[published]`: what somebody else measured, and which of the experiment's cells it is of.

mod columns;
mod figures;

use std::path::{Component, Path};
use std::sync::Arc;

use bakeoff_factor::published::{Publication, PublishedTable, SetupDifference};
use toml::de::{DeTable, DeValue};

use self::columns::by_name;
use super::{ExperimentReader, csv, in_order, read_bytes};
use crate::keys::PUBLISHED;
use crate::layer;
use crate::message::{ExperimentProblem, SourceSpan, SourceText, nearest};
use crate::published::PublishedArticle;
use crate::written::{TomlValue as Written, items, wrong_type};

const KEYS: &[&str] = &["question", "source", "date", "url", "differs", "table"];
const TABLE_KEYS: &[&str] = &["file", "csv", "name", "base", "columns", "levels"];
/// How long a table may be: the run folder keeps it inside the experiment.
const MOST_BYTES: usize = 1 << 18;

impl ExperimentReader<'_> {
    /// The table; `None` where something is wrong with it, which is noted.
    pub(super) fn published(&mut self, value: &Written<'_>) -> Option<PublishedArticle> {
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
            let problem = ExperimentProblem::new(format!("`{PUBLISHED}` has no table of figures"));
            self.wrong::<()>(value, problem.help("add `[[published.table]]` with a `file`"));
        }
        let read: Vec<_> = tables.iter().filter_map(|it| self.table(it)).collect();
        if self.problems.len() > before {
            return None;
        }
        let (texts, tables): (Vec<String>, Vec<PublishedTable>) = read.into_iter().unzip();
        keep_texts(&mut toml, texts);
        let (question, source, date) = (question?, source?, date?);
        let published = Publication { question, source, date, url, differs, tables };
        Some(PublishedArticle { published, toml })
    }

    /// Notes what is wrong with a value.
    fn wrong<T>(&mut self, value: &Written<'_>, problem: ExperimentProblem) -> Option<T> {
        self.problems.push(problem.at(&self.place(Some(value.span()))));
        None
    }

    /// Notes keys that are none of the valid ones.
    fn only(&mut self, table: &DeTable<'_>, valid: &[&str]) {
        for (key, _) in in_order(table) {
            if !valid.contains(&key.get_ref().as_ref()) {
                let problem = ExperimentProblem::unknown("key", key.get_ref(), valid);
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
            Err(_) => {
                self.wrong(value, ExperimentProblem::new(format!("`{key}` is one line of text")))
            }
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
            None => {
                self.wrong(whole, ExperimentProblem::new(format!("`{PUBLISHED}` has no `{key}`")))
            }
        }
    }

    fn differs(&mut self, value: &Written<'_>) -> Vec<SetupDifference> {
        let mut all = Vec::new();
        for item in items(value) {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong::<()>(item, wrong_type("differs", "a list of { there, here }", item));
                continue;
            };
            self.only(table, &["there", "here"]);
            let [there, here] = ["there", "here"].map(|key| self.needed_line(table, key, item));
            all.extend(there.zip(here).map(|(there, here)| SetupDifference { there, here }));
        }
        all
    }

    /// A table's text and what it says.
    fn table(&mut self, value: &Written<'_>) -> Option<(String, PublishedTable)> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(value, wrong_type("table", "a list of tables", value));
        };
        self.only(table, TABLE_KEYS);
        let source = self.text_of(table, value)?;
        let rows = csv::rows(&source.text).map_err(|(span, wrong)| {
            let place = SourceSpan { source: Arc::clone(&source), span: Some(span) };
            self.problems.push(ExperimentProblem::new(wrong).at(&place));
        });
        let rows = rows.ok()?;
        let [head, rows @ ..] = &rows[..] else {
            let problem = ExperimentProblem::new(format!("`{}` is empty", source.name));
            let help = "its first line has the names of its columns, each line after that figures";
            return self.wrong(value, problem.help(help));
        };
        if rows.is_empty() {
            let title = format!("`{}` has the names of columns and no figures", source.name);
            let help =
                "each line after the names has figures, or an empty field where there is none";
            return self.wrong(value, ExperimentProblem::new(title).help(help));
        }
        let plan = self.plan(table, value, &source, head)?;
        let figures = self.figures(&plan, &source, head, rows)?;
        let of = plan.quantity()?;
        self.check_base(&plan, &figures, table, value)?;
        let base = by_name(&plan.base);
        let file = source.name.clone();
        Some((source.text.clone(), PublishedTable { file, of, base, figures }))
    }

    /// The text of a table: what `csv` says, or the file of that name beside the experiment's.
    fn text_of(&mut self, table: &DeTable<'_>, whole: &Written<'_>) -> Option<Arc<SourceText>> {
        if let Some(given) = table.get("csv") {
            if let Some(file) = table.get("file") {
                let problem = ExperimentProblem::new("the table has both `csv` and `file`");
                return self.wrong(file, problem.help("leave one of them out"));
            }
            let name = match table.get("name") {
                Some(name) => self.line("name", name)?,
                None => "csv".to_owned(),
            };
            let Some(text) = given.get_ref().as_str() else {
                return self.wrong(given, wrong_type("csv", "a string", given));
            };
            return Some(Arc::new(SourceText { name, text: text.to_owned() }));
        }
        let Some(file) = table.get("file") else {
            if is_misspelt(table, "file", TABLE_KEYS) || is_misspelt(table, "csv", TABLE_KEYS) {
                return None;
            }
            let problem = ExperimentProblem::new("the table names no file");
            let help = "add a line `file = \"NAME.csv\"`, or its text as `csv`";
            return self.wrong(whole, problem.help(help));
        };
        let name = self.line("file", file)?;
        match self.file_beside(&name) {
            Ok(text) => Some(Arc::new(SourceText { name, text })),
            Err(problem) => self.wrong(file, problem),
        }
    }

    /// The text of a file beside the experiment's.
    fn file_beside(&self, name: &str) -> Result<String, ExperimentProblem> {
        let preset = self.vocabulary.presets.iter().find(|it| it.name == self.source.name);
        if let Some(text) = preset.and_then(|preset| preset.file(name)) {
            return Ok(text.to_owned());
        }
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(ExperimentProblem::new(format!(
                "`{name}` is not beside the experiment's file"
            ))
            .help("give its path from the folder of the experiment's file, without `..`"));
        }
        let path = Path::new(&self.source.name).parent().unwrap_or(Path::new("")).join(name);
        let shown = path.display().to_string();
        let bytes = read_bytes(&shown)
            .map_err(|error| ExperimentProblem::new(format!("can't read `{shown}`: {error}")))?;
        if bytes.len() > MOST_BYTES {
            let title = format!("`{shown}` is over {MOST_BYTES} bytes long");
            return Err(
                ExperimentProblem::new(title).help("leave out the figures that are not shown")
            );
        }
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            ExperimentProblem::new(format!(
                "`{shown}` is not UTF-8 text: byte {byte} (counted from 0) is wrong"
            ))
        })
    }
}

/// Whether a table lacks a key and has another that is none of the valid ones and most likely means it.
fn is_misspelt(table: &DeTable<'_>, key: &str, valid: &[&str]) -> bool {
    let mut unknown =
        table.iter().map(|(key, _)| &**key.get_ref()).filter(|it| !valid.contains(it));
    !table.contains_key(key) && unknown.any(|it| nearest(it, valid) == Some(key))
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
