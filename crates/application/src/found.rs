//! An application of a database that is there already: its tables, and operations on them.

use std::collections::BTreeMap;
use std::path::Path;

use bakeoff_engines::reader::{is_url, open_reader};

use crate::copied::{BytesForm, DumpRow, DumpTaker, DumpText, read_dump};
use crate::sql::{DeclaredTable, FoundSchema, SqlSchema, split_statements, write_name};
use crate::{Application, ApplicationFiles, Mistakes, SourcePlace, files};
use statements::convert_statement;

mod statements;

/// More statements than anybody reads.
const MOST_STATEMENTS: usize = 20;

/// The files of an application that was found, which compile, and what is not in them.
#[derive(Debug)]
pub struct FoundApplication {
    /// The files; their notes are not in them yet.
    pub files: ApplicationFiles,
    schema: FoundSchema,
    /// Operations, each with its text and its weight.
    operations: BTreeMap<String, (String, u64)>,
    /// Generators for keys: table, column, expression.
    generators: Vec<(String, String, String)>,
    /// As the user may see it.
    source: String,
}

impl FoundApplication {
    /// Reads the tables of a database by URL or of a dump, and the statements that a server counted.
    ///
    /// # Errors
    ///
    /// The source can't be read, or has no table that bakeoff can have.
    pub fn find(source: &str, name: &str) -> Result<Self, String> {
        let mut schema = FoundSchema::default();
        let (shown, statements) = match is_url(source) {
            true => {
                let mut reader = open_reader(source)?;
                let text = reader.describe_schema()?;
                split_statements(&text).into_iter().for_each(|it| schema.add_statement(&text[it]));
                let statements = reader.list_statements();
                (reader.name().to_owned(), statements)
            }
            false => {
                read_dump(DumpText::open(Path::new(source))?, &mut schema)?;
                (source.to_owned(), Ok(Vec::new()))
            }
        };
        if schema.tables.is_empty() {
            return Err(format!("{shown} has no tables that this user may see"));
        }
        let mut found = Self {
            files: ApplicationFiles {
                name: name.into(),
                texts: BTreeMap::new(),
                weights: BTreeMap::new(),
                shown: name.into(),
                copied: None,
                program: None,
            },
            schema,
            operations: BTreeMap::new(),
            generators: Vec::new(),
            source: shown,
        };
        found.drop_tables();
        if found.schema.tables.is_empty() {
            return Err(format!(
                "{} has no table that bakeoff can have:\n{}",
                found.source,
                found.schema.notes.join("\n")
            ));
        }
        found.add_operations(statements);
        found.mend()?;
        Ok(found)
    }

    /// Takes out an operation, and notes why.
    pub fn drop_operation(&mut self, name: &str, why: &str) -> Result<(), String> {
        self.leave_out(name, why);
        self.mend()
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        if let Some((text, _)) = self.operations.remove(name) {
            let statement = text.lines().filter(|line| !line.starts_with('\\'));
            let statement = statement.collect::<Vec<_>>().join(" ");
            self.schema
                .notes
                .push(format!("left out: {statement}\n  {}", why.replace('\n', "\n  ")));
        }
        let is_left = self.operations.is_empty() && !name.starts_with("read_");
        if is_left {
            self.add_table_operations();
        }
    }

    /// The names of its operations.
    pub fn list_operations(&self) -> impl Iterator<Item = &str> {
        self.operations.keys().map(String::as_str)
    }

    /// What is not in the files, each with its reason.
    pub fn notes(&self) -> &[String] {
        &self.schema.notes
    }

    /// Tables that have no key, or that `schema.sql` can't say.
    fn drop_tables(&mut self) {
        let without = self.schema.tables.iter().filter(|table| table.key.is_empty());
        let notes =
            without.map(|it| format!("the table {} is left out: it has no primary key", it.name));
        let notes: Vec<String> = notes.collect();
        self.schema.notes.extend(notes);
        self.schema.tables.retain(|table| !table.key.is_empty());
        loop {
            let mut mistakes = Mistakes::default();
            let place = SourcePlace::from_file(files::SCHEMA);
            SqlSchema::from_text(&self.schema.to_schema_file(), &place, &mut mistakes);
            let Some(mistake) = mistakes.iter().next() else { return };
            let table = self.find_at(mistake.place.line);
            self.drop_table(table, &mistake.what.clone());
        }
    }

    /// The table whose text in `schema.sql` has a line.
    fn find_at(&self, line: u32) -> usize {
        let mut end = 0;
        let ends = self.schema.tables.iter().map(|table| {
            end += self.schema.write_table(table).lines().count() as u32;
            end
        });
        ends.take_while(|end| *end < line).count().min(self.schema.tables.len().saturating_sub(1))
    }

    fn drop_table(&mut self, table: usize, why: &str) {
        let DeclaredTable { name, .. } = self.schema.tables.remove(table);
        self.schema.notes.push(format!("the table {name} is left out: {why}"));
    }

    fn add_operations(&mut self, statements: Result<Vec<(String, u64)>, String>) {
        let statements = statements.unwrap_or_else(|why| {
            self.schema.notes.push(format!("the server's own statements are not here: {why}"));
            Vec::new()
        });
        for (text, calls) in statements {
            match convert_statement(&text, &self.schema) {
                None => {}
                Some(Ok(script)) if self.operations.len() < MOST_STATEMENTS => {
                    let name = format!("statement_{:02}", self.operations.len() + 1);
                    self.operations.insert(name, (script, calls.max(1)));
                }
                Some(Ok(_)) => {}
                Some(Err(why)) => self.schema.notes.push(format!("left out: {text}\n  {why}")),
            }
        }
        if self.operations.is_empty() {
            self.add_table_operations();
        }
    }

    /// A read by key of each table, and an insert or an update.
    fn add_table_operations(&mut self) {
        for table in &self.schema.tables {
            let letters = table.name.chars();
            let name: String =
                letters.map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
            self.operations.insert(format!("read_{name}"), (write_read(table), 9));
            if let Some(text) = write_change(table) {
                self.operations.insert(format!("change_{name}"), (text, 1));
            }
        }
    }

    /// Takes out what does not compile, until all does.
    fn mend(&mut self) -> Result<(), String> {
        loop {
            self.write_files();
            let Err(mistakes) = Application::new(self.files.clone()) else { return Ok(()) };
            let Some(mistake) = mistakes.iter().next() else { return Ok(()) };
            let (place, what) = (mistake.place.clone(), mistake.what.clone());
            let file = place.file.rsplit('/').next().unwrap_or_default();
            match file.strip_suffix(".sql").filter(|name| self.operations.contains_key(*name)) {
                Some(name) => self.leave_out(name, &what),
                None => self.mend_table(file, place.line, &what),
            }
            if self.schema.tables.is_empty() || self.operations.is_empty() {
                return Err(format!(
                    "{} has no table that bakeoff can have:\n{}",
                    self.source,
                    self.schema.notes.join("\n")
                ));
            }
        }
    }

    /// Made-up rows can't have everything that real ones can.
    fn mend_table(&mut self, file: &str, line: u32, what: &str) {
        let number = match file {
            files::SCHEMA => self.find_at(line),
            // A generator of ours did not help.
            _ => {
                let last = self.generators.last().map(|(table, ..)| table.clone());
                let found =
                    self.schema.tables.iter().position(|it| Some(&it.name) == last.as_ref());
                found.unwrap_or(0)
            }
        };
        let table = &mut self.schema.tables[number];
        let name = table.name.clone();
        if !table.unique.is_empty() {
            table.demote_unique();
            let note = format!("what is UNIQUE in {name} is an index: made-up rows may repeat it");
            return self.schema.notes.push(note);
        }
        let is_made = self.generators.iter().any(|(table, ..)| *table == name);
        match table.find_own_key().filter(|_| !is_made) {
            Some((column, expression)) => self.generators.push((name, column, expression)),
            None => {
                self.drop_table(number, what);
                self.generators.retain(|(table, ..)| *table != name);
                let is_of = |operation: &str| {
                    operation.split_once('_').is_some_and(|(_, table)| table == name)
                };
                self.operations.retain(|operation, _| !is_of(operation));
            }
        }
    }

    fn write_files(&mut self) {
        let mut texts: BTreeMap<String, String> = self
            .operations
            .iter()
            .map(|(name, (text, _))| (format!("{name}.sql"), text.clone()))
            .collect();
        texts.insert(files::SCHEMA.into(), self.schema.to_schema_file());
        texts.insert(files::CONFIGURATION.into(), self.write_configuration());
        self.files.texts = texts;
    }

    fn write_configuration(&self) -> String {
        let mut text = format!(
            "summary = \"tables of {}\"\n\n# Made-up rows. Real ones: bakeoff run {} --rows-from URL, or a dump.\n\
             # What has a generator under [columns] is then made, and never read.\n[rows]\n",
            self.source.replace(['\\', '"'], "?"),
            self.files.name
        );
        for table in &self.schema.tables {
            text += &format!("{} = \"1000 * :scale\"\n", write_key(&table.name));
        }
        for (table, column, expression) in &self.generators {
            text += &format!(
                "\n# The key of made-up rows; take it out to copy it.\n[columns.{}]\n{} = \"{expression}\"\n",
                write_key(table),
                write_key(column)
            );
        }
        text += "\n[mix.found]\n";
        for (name, (_, weight)) in &self.operations {
            text += &format!("{name} = {weight}\n");
        }
        text += "\n[scales]\nsmall = 1\nmedium = 10\nlarge = 100\n";
        for note in &self.schema.notes {
            text += &format!("\n# {}\n", note.replace('\n', "\n# "));
        }
        text
    }
}

/// A key of TOML.
fn write_key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// `id = :r_id AND n = :r_n`.
fn write_condition(table: &DeclaredTable) -> String {
    let parts = table.key.iter().map(|column| format!("{} = :r_{column}", write_name(column)));
    parts.collect::<Vec<_>>().join(" AND ")
}

fn write_read(table: &DeclaredTable) -> String {
    let columns: Vec<String> = table.columns.iter().map(|it| write_name(&it.name)).collect();
    let name = write_name(&table.name);
    format!(
        "\\pick r FROM {}\nSELECT {} FROM {name} WHERE {};\n",
        table.name,
        columns.join(", "),
        write_condition(table)
    )
}

/// An insert, if the database numbers the rows and nothing else is unique; else an update, if there is
/// a column for it.
fn write_change(table: &DeclaredTable) -> Option<String> {
    let name = write_name(&table.name);
    let is_key = |column: &&str| table.key.iter().any(|it| it == *column);
    let others: Vec<&str> =
        table.columns.iter().map(|it| &*it.name).filter(|column| !is_key(column)).collect();
    let is_numbered =
        table.columns.iter().any(|it| it.is_numbered && table.key == [it.name.clone()]);
    if is_numbered && table.unique.is_empty() && !others.is_empty() {
        let columns: Vec<String> = others.iter().map(|column| write_name(column)).collect();
        let values: Vec<String> = others.iter().map(|column| format!(":r_{column}")).collect();
        return Some(format!(
            "\\pick r FROM {}\nINSERT INTO {name} ({}) VALUES ({});\n",
            table.name,
            columns.join(", "),
            values.join(", ")
        ));
    }
    let column = others.into_iter().find(|column| !table.is_indexed(column))?;
    Some(format!(
        "\\pick r FROM {table}\n\\pick other FROM {table}\n\
         UPDATE {name} SET {} = :other_{column} WHERE {};\n",
        write_name(column),
        write_condition(table),
        table = table.name
    ))
}

/// A dump's tables, without its rows.
impl DumpTaker for FoundSchema {
    fn take_statement(&mut self, text: &str) -> Result<(), String> {
        self.add_statement(text);
        Ok(())
    }

    fn wants_rows(&mut self, _: &str) -> bool {
        false
    }

    fn take_row(
        &mut self,
        _: &str,
        _: Option<&[String]>,
        _: &DumpRow,
        _: BytesForm,
    ) -> Result<(), String> {
        Ok(())
    }
}
