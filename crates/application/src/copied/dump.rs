//! Copies the rows of a dump: of pg_dump, mysqldump, or SQLite's `.dump`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bakeoff_engines::reader::split_copy_line;

use super::copier::CopiedRowsWriter;
use super::dump_text::DumpText;
use super::dump_value::{DumpRow, read_values};
use super::faults::RowPlace;
use super::fields::BytesForm;
use super::{CopiedRows, CopyRequest};
use crate::sql::list_declared_columns;

/// Copies what the request wants of a dump.
pub fn copy_from_dump(
    request: &CopyRequest,
    path: &Path,
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<CopiedRows, String> {
    let dump = DumpText::open(path)?;
    let bytes = path.metadata().map_or(0, |data| data.len());
    tell(&format!("reads {}, {:.1} MB{}", dump.shown, bytes as f64 / 1e6, request.describe_made()));
    let copier = CopiedRowsWriter::new(request, &dump.shown, BytesForm::Raw, folder)?;
    let mut rows = DumpRows { request, copier, columns: BTreeMap::new(), others: BTreeSet::new() };
    read_dump(dump, &mut rows)?;
    rows.finish(tell)
}

/// Takes what a dump has.
pub trait DumpTaker {
    /// The text of a statement that makes or changes a table or an index.
    fn take_statement(&mut self, text: &str) -> Result<(), String>;

    /// Whether rows of a table are wanted.
    fn wants_rows(&mut self, table: &str) -> bool;

    /// A row; its columns as the dump names them, if it does.
    fn take_row(
        &mut self,
        table: &str,
        columns: Option<&[String]>,
        row: &DumpRow,
        form: BytesForm,
    ) -> Result<(), String>;
}

/// What is still to come, by the dump's own head.
#[derive(Clone, Copy, PartialEq)]
enum DumpEnd {
    Any,
    Postgres,
    MySql,
    Sqlite,
}

struct DumpReader<'t> {
    dump: DumpText,
    taker: &'t mut dyn DumpTaker,
    end: DumpEnd,
    form: BytesForm,
    backslashes: bool,
    is_any: bool,
    /// Tables so far, in small letters.
    declared: BTreeSet<String>,
}

/// Gives all that a dump has, in its order.
pub fn read_dump(dump: DumpText, taker: &mut dyn DumpTaker) -> Result<(), String> {
    let (end, form) = (DumpEnd::Any, BytesForm::Raw);
    let declared = BTreeSet::new();
    DumpReader { dump, taker, end, form, backslashes: false, is_any: false, declared }.read_all()
}

impl DumpReader<'_> {
    fn read_all(mut self) -> Result<(), String> {
        while self.read_statement()? {}
        let missing = match self.end {
            DumpEnd::Any if !self.is_any => {
                return Err(format!(
                    "{}: has no table: give a dump as text of pg_dump, mysqldump or SQLite's .dump, plain, \
                     gzip or zstd",
                    self.dump.shown
                ));
            }
            DumpEnd::Any => return Ok(()),
            DumpEnd::Postgres => "-- PostgreSQL database dump complete",
            DumpEnd::MySql => "-- Dump completed",
            DumpEnd::Sqlite => "COMMIT;",
        };
        let what =
            format!("the dump has no end, which is `{missing}`: it was cut off; make it again");
        Err(self.dump.explain_at(self.dump.place, &what))
    }

    /// Reads a comment or a statement; whether there was one.
    fn read_statement(&mut self) -> Result<bool, String> {
        self.dump.skip_blanks()?;
        if let Some(comment) = self.dump.take_comment()? {
            self.note_comment(&comment);
            return Ok(true);
        }
        match self.dump.peek()? {
            None => return Ok(false),
            // psql's own commands.
            Some(b'\\') => return self.dump.read_line(&mut Vec::new()),
            Some(b';') => return self.dump.next().map(|_| true),
            Some(_) => {}
        }
        let word = self.dump.read_word()?.to_ascii_uppercase();
        match &*word {
            "INSERT" | "REPLACE" => self.read_insert()?,
            "COPY" => self.read_copy()?,
            "DELIMITER" => self.skip_delimited()?,
            "CREATE" | "ALTER" => self.read_definition(word)?,
            _ => {
                let mut text = word.clone().into_bytes();
                self.dump.skip_statement(&mut text, self.backslashes)?;
                match &*word {
                    "PRAGMA" if self.end == DumpEnd::Any => self.end = DumpEnd::Sqlite,
                    "COMMIT" if self.end == DumpEnd::Sqlite => self.end = DumpEnd::Any,
                    _ => {}
                }
            }
        }
        Ok(true)
    }

    fn note_comment(&mut self, comment: &str) {
        let words = comment.trim_start_matches(['-', ' ']);
        match words {
            _ if words.starts_with("PostgreSQL database dump complete") => self.end = DumpEnd::Any,
            _ if words.starts_with("PostgreSQL database dump") => {
                (self.end, self.form) = (DumpEnd::Postgres, BytesForm::Hex);
            }
            _ if words.starts_with("MySQL dump") || words.starts_with("MariaDB dump") => {
                (self.end, self.backslashes) = (DumpEnd::MySql, true);
            }
            _ if words.starts_with("Dump completed") => self.end = DumpEnd::Any,
            _ => {}
        }
    }

    /// Rows of several tables that would be taken for one's, or the reverse.
    fn refuse_mixture(&mut self, text: &str) -> Result<(), String> {
        let words = text.split_whitespace().map(str::to_ascii_uppercase);
        let words: Vec<String> = words.take(12).collect();
        let has = |pair: [&str; 2]| words.windows(2).any(|two| two == pair);
        if has(["PARTITION", "OF"]) || has(["ATTACH", "PARTITION"]) {
            let what = "a table in partitions is read from a database alone, not from its dump";
            return Err(self.dump.explain_at(self.dump.place, what));
        }
        let Some((name, _)) = list_declared_columns(text) else { return Ok(()) };
        if self.declared.insert(name.to_lowercase()) {
            return Ok(());
        }
        let what = format!("here is a second table {name}: dump one schema or database alone");
        Err(self.dump.explain_at(self.dump.place, &what))
    }

    /// A trigger's body has statements of its own.
    fn read_definition(&mut self, word: String) -> Result<(), String> {
        let mut text = word.into_bytes();
        self.dump.skip_statement(&mut text, self.backslashes)?;
        let mut text = String::from_utf8_lossy(&text).into_owned();
        let words: Vec<String> =
            text.split_whitespace().take(3).map(str::to_ascii_uppercase).collect();
        let has_body = self.end == DumpEnd::Sqlite && words.iter().any(|word| word == "TRIGGER");
        while has_body && !text.trim_end().to_ascii_uppercase().ends_with("END") {
            let mut more = Vec::new();
            self.dump.skip_statement(&mut more, false)?;
            text = String::from_utf8_lossy(&more).into_owned();
        }
        self.is_any |= words.iter().any(|word| word == "TABLE");
        if has_body {
            return Ok(());
        }
        self.refuse_mixture(&text)?;
        self.taker.take_statement(&text)
    }

    /// Functions and triggers between `DELIMITER ;;` and `DELIMITER ;`.
    fn skip_delimited(&mut self) -> Result<(), String> {
        let mut line = Vec::new();
        while self.dump.read_line(&mut line)? {
            if String::from_utf8_lossy(&line).trim_end().ends_with("DELIMITER ;") {
                return Ok(());
            }
        }
        Err(self.dump.explain_end("a function"))
    }

    /// A name, quoted or not, behind the schema's, which is left out.
    fn read_name(&mut self) -> Result<String, String> {
        loop {
            self.dump.skip_blanks()?;
            let name = match self.dump.peek()? {
                Some(quote @ (b'"' | b'`')) => {
                    self.dump.next()?;
                    // Only MySQL writes names so, and texts with backslashes.
                    self.backslashes |= quote == b'`';
                    let mut name = Vec::new();
                    self.dump.read_quoted(quote, false, &mut name)?;
                    String::from_utf8_lossy(&name).into_owned()
                }
                _ => self.dump.read_word()?,
            };
            if !self.dump.take(b'.')? {
                return Ok(name);
            }
        }
    }

    /// Names in brackets, if there are any.
    fn read_names(&mut self) -> Result<Option<Vec<String>>, String> {
        self.dump.skip_blanks()?;
        if !self.dump.take(b'(')? {
            return Ok(None);
        }
        let mut names = Vec::new();
        loop {
            names.push(self.read_name()?);
            self.dump.skip_blanks()?;
            let place = self.dump.place;
            match self.dump.need("the names of columns")? {
                b',' => {}
                b')' => return Ok(Some(names)),
                _ => return Err(self.dump.explain_at(place, "is no name of a column")),
            }
        }
    }

    fn read_insert(&mut self) -> Result<(), String> {
        loop {
            self.dump.skip_blanks()?;
            match &*self.dump.read_word()?.to_ascii_uppercase() {
                "INTO" => break,
                "IGNORE" | "OR" | "REPLACE" => {}
                _ => return Err(self.dump.explain_at(self.dump.place, "here INTO is missing")),
            }
        }
        let table = self.read_name()?;
        self.is_any = true;
        if !self.taker.wants_rows(&table) {
            return self.dump.skip_statement(&mut Vec::new(), self.backslashes);
        }
        let columns = self.read_names()?;
        loop {
            self.dump.skip_blanks()?;
            let place = self.dump.place;
            match &*self.dump.read_word()?.to_ascii_uppercase() {
                "VALUES" => break,
                "OVERRIDING" | "SYSTEM" | "USER" | "VALUE" => {}
                _ => return Err(self.dump.explain_at(place, "here VALUES is missing")),
            }
        }
        let mut row = DumpRow::default();
        loop {
            self.dump.skip_blanks()?;
            let place = self.dump.place;
            if !self.dump.take(b'(')? {
                return Err(match self.dump.peek()? {
                    None => self.dump.explain_end("a statement"),
                    Some(_) => self.dump.explain_at(place, "here a row is missing"),
                });
            }
            row.clear(place);
            read_values(&mut self.dump, self.backslashes, &mut row)?;
            self.taker.take_row(&table, columns.as_deref(), &row, self.form)?;
            self.dump.skip_blanks()?;
            if !self.dump.take(b',')? {
                return self.dump.skip_statement(&mut Vec::new(), self.backslashes);
            }
        }
    }

    fn read_copy(&mut self) -> Result<(), String> {
        let table = self.read_name()?;
        let columns = self.read_names()?;
        self.dump.skip_statement(&mut Vec::new(), false)?;
        self.is_any = true;
        let (mut line, mut row) = (Vec::new(), DumpRow::default());
        self.dump.read_line(&mut line)?;
        let is_wanted = self.taker.wants_rows(&table);
        loop {
            let place = self.dump.place;
            if !self.dump.read_line(&mut line)? {
                return Err(self.dump.explain_end(&format!("the rows of {table}")));
            }
            if line == b"\\." {
                return Ok(());
            }
            if !is_wanted {
                continue;
            }
            row.clear(place);
            split_copy_line(&line, &mut row.text, &mut row.fields);
            let mut column = 1;
            for field in line.split(|byte| *byte == b'\t') {
                row.places.push(RowPlace { column, ..place });
                let characters = field.iter().filter(|byte| !(0x80..=0xbf).contains(*byte));
                column += 1 + characters.count() as u32;
            }
            self.taker.take_row(&table, columns.as_deref(), &row, BytesForm::Hex)?;
        }
    }
}

/// Gives the rows that are wanted to the rows file.
struct DumpRows<'r> {
    request: &'r CopyRequest,
    copier: CopiedRowsWriter<'r>,
    /// By the number of the table: its columns, as the dump declares them.
    columns: BTreeMap<usize, Vec<String>>,
    /// Tables that schema.sql lacks.
    others: BTreeSet<String>,
}

impl DumpTaker for DumpRows<'_> {
    fn take_statement(&mut self, text: &str) -> Result<(), String> {
        let Some((name, columns)) = list_declared_columns(text) else { return Ok(()) };
        match self.request.schema.find_table(&name) {
            Some(table) => {
                self.columns.insert(table, columns);
                self.copier.begin_table(table)
            }
            None => {
                self.others.insert(name);
                Ok(())
            }
        }
    }

    fn wants_rows(&mut self, table: &str) -> bool {
        let is_known = self.request.schema.find_table(table).is_some();
        if !is_known && !table.starts_with("sqlite_") {
            self.others.insert(table.to_owned());
        }
        is_known
    }

    fn take_row(
        &mut self,
        table: &str,
        columns: Option<&[String]>,
        row: &DumpRow,
        form: BytesForm,
    ) -> Result<(), String> {
        let Some(number) = self.request.schema.find_table(table) else { return Ok(()) };
        self.copier.begin_table(number)?;
        self.copier.form = form;
        let declared = self.columns.get(&number).map(Vec::as_slice);
        let own = self.request.name_all_columns(number);
        let names = columns.or(declared).unwrap_or(&own);
        let wanted = &self.request.tables[number].columns;
        if row.fields.len() != names.len() {
            let what = format!("{table}: {} values, and {} columns", row.fields.len(), names.len());
            self.copier.faults.add(row.place, &what);
            return Ok(());
        }
        let mut fields = Vec::with_capacity(wanted.len());
        let mut places = Vec::with_capacity(wanted.len());
        for name in self.request.name_columns(number, wanted) {
            let Some(at) = names.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                let what = format!(
                    "{table} has no column {name} there, which schema.sql has: give it a generator in \
                     workload.toml, or take it out of schema.sql"
                );
                return Err(self.copier.explain_at(row.place, &what));
            };
            fields.push(row.field(at));
            places.push(row.places.get(at).copied().unwrap_or(row.place));
        }
        for (field, what) in self.copier.add_row(number, row.place, &fields)? {
            let name = self.request.name_columns(number, &wanted[field..=field]).join("");
            self.copier.faults.add(places[field], &format!("{table}.{name}: {what}"));
        }
        Ok(())
    }
}

impl DumpRows<'_> {
    fn finish(self, tell: &mut dyn FnMut(&str)) -> Result<CopiedRows, String> {
        if !self.others.is_empty() {
            let others: Vec<&str> = self.others.iter().map(String::as_str).collect();
            tell(&format!("left out, since schema.sql has no such table: {}", others.join(", ")));
        }
        let lacking = self.request.tables.iter().enumerate().filter(|(number, wanted)| {
            !wanted.is_counted && !self.copier.tables.iter().any(|it| it.table == *number)
        });
        let lacking: Vec<String> =
            lacking.map(|(number, _)| self.request.explain_lacking(number)).collect();
        match lacking.is_empty() {
            true => self.copier.finish(),
            false => Err(lacking.join("\n")),
        }
    }
}
