//! Writes a rows file: rows in the order of their source, then an order by key, and samples.

use std::fs::{DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::faults::{RowFaults, RowPlace};
use super::fields::{BytesForm, CopiedValue, read_field};
use super::{CopiedRows, CopiedTable, CopyRequest, name_columns, name_rows, name_sample};

/// Nobody needs a journal of a file that is thrown away if it isn't finished; memory is bounded.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768; \
                        PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = FILE; BEGIN";
/// A sample is in memory while clients run.
const MOST_SAMPLED: i64 = 100_000;
const MOST_SAMPLED_BYTES: u64 = 16 << 20;

/// A field that its column can't hold, and why.
pub type FieldFault = (usize, String);

pub struct CopiedRowsWriter<'r> {
    pub(super) request: &'r CopyRequest,
    pub(super) connection: Connection,
    pub(super) faults: RowFaults,
    pub(super) tables: Vec<CopiedTable>,
    origin: String,
    pub(super) form: BytesForm,
    hash: DefaultHasher,
    /// By the number of the table.
    inserts: Vec<String>,
    place: UnfinishedFile,
}

/// It is removed unless it is finished.
struct UnfinishedFile(PathBuf);

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl ToSql for CopiedValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(int) => ValueRef::Integer(*int),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

pub fn explain_file(error: &dyn std::fmt::Display, path: &Path) -> String {
    format!("the rows file {} can't be written: {error}", path.display())
}

/// What a killed process had begun to copy.
fn sweep_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let writer = name.strip_suffix(".part").and_then(|it| it.rsplit_once('-')).map(|it| it.1);
        let is_gone =
            |pid: &str| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists();
        if writer.is_some_and(is_gone) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl<'r> CopiedRowsWriter<'r> {
    pub fn new(
        request: &'r CopyRequest,
        origin: &str,
        form: BytesForm,
        folder: &Path,
    ) -> Result<Self, String> {
        let path = folder.join(format!("{}-{}.part", request.name, std::process::id()));
        let failed = |error: &dyn std::fmt::Display| explain_file(error, &path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(&error))?;
        let _ = std::fs::remove_file(&path);
        sweep_unfinished(folder);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.map_err(|error| failed(&error))?;
        let place = UnfinishedFile(path.clone());
        let connection = Connection::open(&path).map_err(|error| failed(&error))?;
        connection.execute_batch(SETTINGS).map_err(|error| failed(&error))?;
        let insert = |number: usize| {
            let columns = &request.tables[number].columns;
            let marks = ", ?".repeat(columns.len());
            let list = columns.iter().map(|it| format!(", c{it}")).collect::<String>();
            format!("INSERT INTO {} (place{list}) VALUES (?{marks})", name_rows(number))
        };
        Ok(Self {
            request,
            connection,
            faults: RowFaults::new(origin),
            tables: Vec::new(),
            origin: origin.to_owned(),
            form,
            hash: DefaultHasher::new(),
            inserts: (0..request.tables.len()).map(insert).collect(),
            place,
        })
    }

    pub(super) fn explain_failure(&self, error: &rusqlite::Error) -> String {
        explain_file(error, &self.place.0)
    }

    /// An error at a place of the source.
    pub(super) fn explain_at(&self, place: RowPlace, what: &str) -> String {
        let mut fault = RowFaults::new(&self.origin);
        fault.add(place, what);
        fault.to_string()
    }

    pub(super) fn execute(&self, text: &str) -> Result<(), String> {
        self.connection.execute_batch(text).map_err(|error| self.explain_failure(&error))
    }

    /// Makes room for a table's rows.
    pub fn begin_table(&mut self, table: usize) -> Result<(), String> {
        if self.tables.iter().any(|it| it.table == table) {
            return Ok(());
        }
        let columns = self.request.tables[table].columns.clone();
        let list = columns.iter().map(|it| format!(", c{it}")).collect::<String>();
        self.execute(&format!("CREATE TABLE {} (place INTEGER{list})", name_rows(table)))?;
        self.tables.push(CopiedTable { table, columns, rows: 0, sampled: 0, bytes: 0 });
        Ok(())
    }

    /// Adds a row of a table that was begun, unless a column can't hold its value.
    pub fn add_row(
        &mut self,
        table: usize,
        place: RowPlace,
        fields: &[Option<&[u8]>],
    ) -> Result<Vec<FieldFault>, String> {
        let columns = &self.request.tables[table].columns;
        let declared = &self.request.schema.schema.tables[table].columns;
        let (mut values, mut faults) = (Vec::with_capacity(columns.len() + 1), Vec::new());
        values.push(CopiedValue::Int(place.pack()));
        let mut bytes = 0;
        for (number, (column, field)) in columns.iter().zip(fields).enumerate() {
            match read_field(&declared[*column], *field, self.form) {
                Ok(value) => {
                    bytes += self.measure_value(&value);
                    values.push(value);
                }
                Err(what) => faults.push((number, what)),
            }
        }
        if !faults.is_empty() {
            return Ok(faults);
        }
        let insert = self.connection.prepare_cached(&self.inserts[table]);
        let done = insert.and_then(|mut insert| insert.execute(params_from_iter(&values)));
        done.map_err(|error| self.explain_failure(&error))?;
        let counted = self.tables.iter_mut().find(|it| it.table == table);
        let counted = counted.expect("a table that was begun");
        counted.rows += 1;
        counted.bytes += bytes;
        Ok(faults)
    }

    /// Its bytes, which it adds to the fingerprint.
    fn measure_value(&mut self, value: &CopiedValue<'_>) -> u64 {
        let (kind, bytes): (u8, &[u8]) = match value {
            CopiedValue::Null => (0, &[]),
            CopiedValue::Int(int) => (1, &int.to_le_bytes()),
            CopiedValue::Real(real) => (2, &real.to_le_bytes()),
            CopiedValue::Text(text) => (3, text.as_bytes()),
            CopiedValue::Bytes(bytes) => (4, bytes),
        };
        self.hash.write_u8(kind);
        self.hash.write(bytes);
        bytes.len() as u64
    }

    /// ` of the row with id 17`, by its key.
    pub fn describe_row(&self, table: usize, fields: &[Option<&[u8]>]) -> String {
        let key = &self.request.schema.schema.tables[table].key;
        let columns = &self.request.tables[table].columns;
        let names = self.request.name_columns(table, columns);
        let parts = columns.iter().zip(names).zip(fields).filter(|((it, _), _)| key.contains(it));
        let parts: Vec<String> = parts
            .map(|((_, name), field)| {
                format!("{name} {}", String::from_utf8_lossy(field.unwrap_or(b"NULL")))
            })
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" of the row with {}", parts.join(", ")),
        }
    }

    /// Checks keys and references, and gives the file its name.
    pub fn finish(mut self) -> Result<CopiedRows, String> {
        let had_faults = !self.faults.is_empty();
        self.check_unique()?;
        // References to rows that were left out would be missed.
        if !had_faults {
            self.check_references()?;
        }
        if !self.faults.is_empty() {
            return Err(self.faults.to_string());
        }
        for number in 0..self.tables.len() {
            self.take_sample(number)?;
        }
        for table in &self.tables {
            self.hash.write_usize(table.table);
            self.hash.write_i64(table.rows);
        }
        let fingerprint = format!("{:016x}", self.hash.finish());
        self.execute(&format!(
            "CREATE TABLE about AS SELECT '{fingerprint}' AS fingerprint; COMMIT"
        ))?;
        let Self { request, connection, tables, origin, place, .. } = self;
        drop(connection);
        let path = place.0.with_file_name(format!("{}-{fingerprint}.sqlite", request.name));
        std::fs::rename(&place.0, &path).map_err(|error| explain_file(&error, &path))?;
        Ok(CopiedRows { path, origin, fingerprint, tables, is_new: false })
    }

    /// Rows for `\pick` and `ref`, spread over all of them, each with its number in order.
    fn take_sample(&mut self, number: usize) -> Result<(), String> {
        let CopiedTable { table, ref columns, rows, bytes, .. } = self.tables[number];
        let by_bytes = MOST_SAMPLED_BYTES * rows.max(1).cast_unsigned() / bytes.max(1);
        let sampled = rows.min(MOST_SAMPLED).min(by_bytes.max(1).cast_signed());
        let list = columns.iter().map(|it| format!(", c{it}")).collect::<String>();
        let (from, to) = (name_rows(table), name_sample(table));
        let order = name_order(&self.request.schema.schema.tables[table].key, columns);
        self.execute(&format!("CREATE TABLE {to} (number INTEGER{list})"))?;
        let copy = || {
            let select = format!("SELECT rowid FROM {from} ORDER BY {order}");
            let insert = format!("INSERT INTO {to} SELECT ?{list} FROM {from} WHERE rowid = ?");
            let mut insert = self.connection.prepare(&insert)?;
            let mut select = self.connection.prepare(&select)?;
            let mut found = select.query([])?;
            let (mut at, mut taken) = (0, 0);
            while let Some(row) = found.next()? {
                // Whole numbers of so many rows stay below 2^63.
                if taken < sampled && at == taken * rows / sampled {
                    insert.execute([at, row.get(0)?])?;
                    taken += 1;
                }
                at += 1;
            }
            Ok(())
        };
        copy().map_err(|error| self.explain_failure(&error))?;
        self.tables[number].sampled = sampled;
        Ok(())
    }
}

/// The order of rows: by their key, or that of the source if the key is made.
pub fn name_order(key: &[usize], copied: &[usize]) -> String {
    match !key.is_empty() && key.iter().all(|column| copied.contains(column)) {
        true => name_columns(key),
        false => "rowid".into(),
    }
}
