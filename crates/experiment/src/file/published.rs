//! The table `[published]`: published figures, and their cells in the experiment.

mod columns;
mod figures;

use std::path::{Component, Path};
use std::sync::Arc;

use bakeoff_results::published::{Publication, PublishedTable, SetupDifference};
use toml::de::{DeTable, DeValue};

use self::columns::by_name;
use super::{ExperimentReader, csv, decode_text, in_order, read_bytes};
use crate::entries::{TomlValue as Written, list_items, wrong_type};
use crate::keys::PUBLISHED;
use crate::layer;
use crate::message::{ExperimentProblem, SourceSpan, SourceText, find_nearest};
use crate::published::PublishedArticle;

const KEYS: &[&str] = &["question", "source", "date", "url", "differs", "table"];
const TABLE_KEYS: &[&str] = &["file", "csv", "name", "base", "columns", "levels"];
/// The run folder keeps it inside the experiment.
const MOST_BYTES: usize = 1 << 18;

impl ExperimentReader<'_> {
    pub(super) fn read_published(&mut self, value: &Written<'_>) -> Option<PublishedArticle> {
        let before = self.problems.len();
        let DeValue::Table(table) = value.get_ref() else {
            return self.note_wrong(value, wrong_type(PUBLISHED, "a table", value));
        };
        self.refuse_unknown_keys(table, KEYS);
        // Once more, as plain values without their places.
        let plain = self.source.text.parse::<toml::Table>().ok()?;
        let mut toml = plain.get(PUBLISHED)?.as_table()?.clone();
        let [question, source, date] =
            ["question", "source", "date"].map(|key| self.needed_line(table, key, value));
        let url = table.get("url").and_then(|url| self.read_line("url", url));
        let differs = table.get("differs").map(|it| self.read_differences(it)).unwrap_or_default();
        let tables = table.get("table").map(list_items).unwrap_or_default();
        if tables.is_empty() && !is_misspelt(table, "table", KEYS) {
            let problem = ExperimentProblem::new(format!("`{PUBLISHED}` has no table of figures"));
            self.note_wrong::<()>(
                value,
                problem.with_help("add `[[published.table]]` with a `file`"),
            );
        }
        let read: Vec<_> = tables.iter().filter_map(|it| self.read_table(it)).collect();
        if self.problems.len() > before {
            return None;
        }
        let (texts, tables): (Vec<String>, Vec<PublishedTable>) = read.into_iter().unzip();
        keep_texts(&mut toml, texts);
        let (question, source, date) = (question?, source?, date?);
        let published = Publication { question, source, date, url, differs, tables };
        Some(PublishedArticle { published, toml })
    }

    fn note_wrong<T>(&mut self, value: &Written<'_>, problem: ExperimentProblem) -> Option<T> {
        self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
        None
    }

    fn refuse_unknown_keys(&mut self, table: &DeTable<'_>, valid: &[&str]) {
        for (key, _) in in_order(table) {
            if !valid.contains(&key.get_ref().as_ref()) {
                let problem = ExperimentProblem::unknown("key", key.get_ref(), valid);
                self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
            }
        }
    }

    fn read_line(&mut self, key: &str, value: &Written<'_>) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            return self.note_wrong(value, wrong_type(key, "a string", value));
        };
        match layer::one_line(text.to_owned()) {
            Ok(text) => Some(text),
            Err(_) => self
                .note_wrong(value, ExperimentProblem::new(format!("`{key}` is one line of text"))),
        }
    }

    fn needed_line(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        whole: &Written<'_>,
    ) -> Option<String> {
        match table.get(key) {
            Some(value) => self.read_line(key, value),
            // The unknown key was reported already, with this one as its correction.
            None if is_misspelt(table, key, KEYS) => None,
            None => self
                .note_wrong(whole, ExperimentProblem::new(format!("`{PUBLISHED}` has no `{key}`"))),
        }
    }

    fn read_differences(&mut self, value: &Written<'_>) -> Vec<SetupDifference> {
        let mut all = Vec::new();
        for item in list_items(value) {
            let DeValue::Table(table) = item.get_ref() else {
                self.note_wrong::<()>(
                    item,
                    wrong_type("differs", "a list of { there, here }", item),
                );
                continue;
            };
            self.refuse_unknown_keys(table, &["there", "here"]);
            let [there, here] = ["there", "here"].map(|key| self.needed_line(table, key, item));
            all.extend(there.zip(here).map(|(there, here)| SetupDifference { there, here }));
        }
        all
    }

    fn read_table(&mut self, value: &Written<'_>) -> Option<(String, PublishedTable)> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.note_wrong(value, wrong_type("table", "a list of tables", value));
        };
        self.refuse_unknown_keys(table, TABLE_KEYS);
        let source = self.text_of(table, value)?;
        let rows = csv::parse_rows(&source.text).map_err(|(span, wrong)| {
            let place = SourceSpan { source: Arc::clone(&source), span: Some(span) };
            self.problems.push(ExperimentProblem::new(wrong).at_place(&place));
        });
        let rows = rows.ok()?;
        let [head, rows @ ..] = &rows[..] else {
            let problem = ExperimentProblem::new(format!("`{}` is empty", source.name));
            let help = "its first line has the names of its columns, each line after that figures";
            return self.note_wrong(value, problem.with_help(help));
        };
        if rows.is_empty() {
            let title = format!("`{}` has the names of columns and no figures", source.name);
            let help =
                "each line after the names has figures, or an empty field where there is none";
            return self.note_wrong(value, ExperimentProblem::new(title).with_help(help));
        }
        let plan = self.read_mapping(table, value, &source, head)?;
        let figures = self.read_figures(&plan, &source, head, rows)?;
        let of = plan.common_quantity()?;
        self.check_base(&plan, &figures, table, value)?;
        let base = by_name(&plan.base);
        let file = source.name.clone();
        Some((source.text.clone(), PublishedTable { file, of, base, figures }))
    }

    fn text_of(&mut self, table: &DeTable<'_>, whole: &Written<'_>) -> Option<Arc<SourceText>> {
        if let Some(given) = table.get("csv") {
            if let Some(file) = table.get("file") {
                let problem = ExperimentProblem::new("the table has both `csv` and `file`");
                return self.note_wrong(file, problem.with_help("leave one of them out"));
            }
            let name = match table.get("name") {
                Some(name) => self.read_line("name", name)?,
                None => "csv".to_owned(),
            };
            let Some(text) = given.get_ref().as_str() else {
                return self.note_wrong(given, wrong_type("csv", "a string", given));
            };
            return Some(Arc::new(SourceText { name, text: text.to_owned() }));
        }
        let Some(file) = table.get("file") else {
            if is_misspelt(table, "file", TABLE_KEYS) || is_misspelt(table, "csv", TABLE_KEYS) {
                return None;
            }
            let problem = ExperimentProblem::new("the table names no file");
            let help = "add a line `file = \"NAME.csv\"`, or its text as `csv`";
            return self.note_wrong(whole, problem.with_help(help));
        };
        let name = self.read_line("file", file)?;
        match self.file_beside(&name) {
            Ok(text) => Some(Arc::new(SourceText { name, text })),
            Err(problem) => self.note_wrong(file, problem),
        }
    }

    /// No link leads out of the experiment's folder, and nothing but a file is read.
    fn check_plain(&self, name: &str) -> Result<(), ExperimentProblem> {
        let mut path = Path::new(&self.source.name).parent().unwrap_or(Path::new("")).to_owned();
        for part in Path::new(name).components() {
            path.push(part);
            // What is not there is told when it is read.
            let Ok(found) = path.symlink_metadata() else { return Ok(()) };
            let what = match found.file_type() {
                kind if kind.is_symlink() => "is a link, which is not followed",
                kind if kind.is_file() || kind.is_dir() => continue,
                _ => "is no file",
            };
            let title = format!("`{}` {what}", path.display());
            return Err(ExperimentProblem::new(title).with_help("put the file itself there"));
        }
        Ok(())
    }

    fn file_beside(&self, name: &str) -> Result<String, ExperimentProblem> {
        let preset = self.vocabulary.presets.iter().find(|it| it.name == self.source.name);
        if let Some(text) = preset.and_then(|preset| preset.find_file(name)) {
            return Ok(text.to_owned());
        }
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(ExperimentProblem::new(format!(
                "`{name}` is not beside the experiment's file"
            ))
            .with_help("give its path from the folder of the experiment's file, without `..`"));
        }
        let path = Path::new(&self.source.name).parent().unwrap_or(Path::new("")).join(name);
        let shown = path.display().to_string();
        self.check_plain(name)?;
        let bytes = read_bytes(&shown)
            .map_err(|error| ExperimentProblem::new(format!("can't read `{shown}`: {error}")))?;
        if bytes.len() > MOST_BYTES {
            let title = format!("`{shown}` is over {MOST_BYTES} bytes long");
            return Err(
                ExperimentProblem::new(title).with_help("leave out the figures that are not shown")
            );
        }
        decode_text(&shown, bytes)
    }
}

/// Whether an unknown key most likely means this missing one.
fn is_misspelt(table: &DeTable<'_>, key: &str, valid: &[&str]) -> bool {
    let mut unknown =
        table.iter().map(|(key, _)| &**key.get_ref()).filter(|it| !valid.contains(it));
    !table.contains_key(key) && unknown.any(|it| find_nearest(it, valid) == Some(key))
}

/// Replaces the names of files by the tables' texts.
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
