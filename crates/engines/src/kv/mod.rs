//! Tables, rows and secondary indexes over an ordered key-value store.
//!
//! Every table has a key space from the primary key to the other columns, and so has every index:
//! an entry's key is the indexed cells and then the primary key, its value is empty. A store
//! implements [`KeyValueStore`]; it must never know what its bytes mean. Statements become plans
//! when the database is opened: nothing is looked up by name later, and a session reuses its
//! buffers.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use crate::schema::Table;
use crate::{DatabaseAddress, Debt, Error, Result, Schema, Statement, Value};

mod check;
mod codec;
mod keys;
mod load;
mod plan;
mod read;
mod session;
#[cfg(test)]
mod tests;
mod write;

use codec::{DecodedCells, damaged_error};
pub use plan::check_statement;
use plan::{StatementPlan, TableLayout};

/// An open ordered key-value store with numbered key spaces.
pub trait KeyValueStore: Send + Sync + Sized + 'static {
    /// A reading transaction: one snapshot.
    type Read<'s>: ReadTransaction
    where
        Self: 's;
    /// A writing transaction, serialisable with all others. Dropping it undoes it.
    type Write<'s>: WriteTransaction
    where
        Self: 's;
    /// A bulk load.
    type Bulk<'s>: BulkWriter
    where
        Self: 's;

    /// Starts a reading transaction. It waits for no writer, and no writer waits for it: see
    /// [`crate::Session`].
    fn read(&self) -> Result<Self::Read<'_>>;

    /// Starts a reading transaction that only gets one key.
    fn read_one(&self) -> Result<Self::Read<'_>> {
        self.read()
    }

    /// Starts a writing transaction. It may fail with [`Error::Conflict`].
    fn write(&self) -> Result<Self::Write<'_>>;

    /// Starts a bulk load into empty key spaces.
    fn bulk_load(&self) -> Result<Self::Bulk<'_>>;

    /// See [`crate::Database::drain`].
    fn drain(&self) -> Result<()>;

    /// See [`crate::Database::counters`].
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// See [`crate::Database::debt`].
    fn debt(&self) -> Result<Option<Debt>> {
        Ok(None)
    }

    /// See [`crate::Database::writes_back`].
    fn writes_back(&self) -> &'static [&'static str] {
        &[]
    }

    /// See [`crate::Database::server`].
    fn server(&self) -> Option<u32> {
        None
    }

    /// Where other programs reach the store, whose files are in `directory`.
    fn address(&self, directory: &Path) -> DatabaseAddress {
        DatabaseAddress::Files(directory.into())
    }
}

/// Called by a scan for every key and value, until it breaks.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'v;

/// A transaction that can read.
pub trait ReadTransaction {
    /// A value, borrowed from the store.
    type Bytes<'t>: std::ops::Deref<Target = [u8]>
    where
        Self: 't;

    /// The value of a key.
    fn get(&self, space: usize, key: &[u8]) -> Result<Option<Self::Bytes<'_>>>;

    /// Visits the keys from `from` (empty: the first) up to and without `to` (empty: the last),
    /// ascending or in reverse. It fails if the visitor fails.
    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()>;

    /// Whether the store is a server, so that values are better asked for together.
    const FAR: bool = false;

    /// The values of keys, in the order of the keys.
    fn get_all(&self, space: usize, keys: &[&[u8]]) -> Result<Vec<Option<Self::Bytes<'_>>>> {
        keys.iter().map(|key| self.get(space, key)).collect()
    }
}

/// A transaction that can write, and sees its own writes.
pub trait WriteTransaction: ReadTransaction {
    /// Sets the value of a key.
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes a key.
    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()>;

    /// Makes all writes visible, as durable as was promised at the opening. After an error, such as
    /// [`Error::Conflict`], there is no effect.
    fn commit(self) -> Result<()>;
}

/// A bulk load; fills one key space after another.
pub trait BulkWriter {
    /// Adds a key greater than all in its space.
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()>;

    /// Ends the load, as durable as was promised at the opening.
    fn finish(self) -> Result<()>;
}

/// Bytes that a read of memory brings from a file at once.
const PAGE: usize = 4096;

/// The key space of the schema that the others follow, under this key, and of the largest generated
/// keys.
const SCHEMA_SPACE: usize = 0;
const SCHEMA_KEY: &[u8] = b"schema";

/// The names of a schema's key spaces, in order.
pub fn list_spaces(schema: &Schema) -> Vec<String> {
    let mut names = vec!["schema".to_owned()];
    for table in &schema.tables {
        names.push(format!("table.{}", table.name));
        names.extend(table.indexes.iter().map(|index| format!("index.{}", index.name)));
    }
    names
}

/// Opens a schema's tables in a store whose files are in `directory`, with the key spaces of
/// [`list_spaces`]. [`Error::Usage`] if statements don't fit the schema, or the store was filled under
/// another one.
pub fn open_tables<S: KeyValueStore>(
    directory: &Path,
    store: S,
    schema: &Schema,
    statements: &[Statement],
) -> Result<Box<dyn crate::Database>> {
    schema.validate()?;
    let layouts = TableLayout::from_schema(schema, SCHEMA_SPACE + 1);
    let plans = statements.iter().map(|statement| plan::plan_statement(&layouts, statement));
    let plans = plans.collect::<Result<_>>()?;
    settle_schema(&store, schema)?;
    let snapshot = store.read()?;
    let largest = layouts.iter().map(|layout| largest_key(&snapshot, layout).map(AtomicI64::new));
    let largest = largest.collect::<Result<_>>()?;
    drop(snapshot);
    Ok(Box::new(KeyValueDatabase { directory: directory.into(), store, layouts, plans, largest }))
}

/// Writes the schema into a new store; else compares it with the one that the store was filled
/// under.
fn settle_schema<S: KeyValueStore>(store: &S, schema: &Schema) -> Result<()> {
    let wanted = format!("{schema:?}");
    let empty = format!("{:?}", Schema { tables: Vec::new() });
    let mut transaction = store.write()?;
    let found = transaction.get(SCHEMA_SPACE, SCHEMA_KEY)?.map(|found| found.to_vec());
    match found {
        Some(found) if found == wanted.as_bytes() => Ok(()),
        Some(found) if found != empty.as_bytes() => {
            Err(Error::Usage("the database was created with another schema".into()))
        }
        _ => {
            transaction.put(SCHEMA_SPACE, SCHEMA_KEY, wanted.as_bytes())?;
            transaction.commit()
        }
    }
}

/// The largest key that rows have now, or 0.
fn largest_key(snapshot: &impl ReadTransaction, layout: &TableLayout) -> Result<i64> {
    let mut largest = kept_key(snapshot, layout)?;
    if layout.table.generated {
        let columns = &layout.table.columns;
        snapshot.scan(layout.space, &[], &[], true, &mut |key, _| {
            let mut cells = DecodedCells::default();
            cells.reset(columns.len());
            cells.decode_key(columns, &layout.table.key, key)?;
            if let Value::Int(key) = cells.get(layout.table.key[0], &[])? {
                largest = largest.max(key);
            }
            Ok(ControlFlow::Break(()))
        })?;
    }
    Ok(largest)
}

/// The largest key that was kept when a row was deleted, or 0.
fn kept_key(reader: &impl ReadTransaction, layout: &TableLayout) -> Result<i64> {
    let Some(kept) = reader.get(SCHEMA_SPACE, &layout.largest)? else { return Ok(0) };
    let kept = (*kept).try_into().map_err(|_| damaged_error("a largest key is cut short"))?;
    Ok(i64::from_be_bytes(kept))
}

struct KeyValueDatabase<S> {
    directory: PathBuf,
    store: S,
    layouts: Vec<TableLayout>,
    plans: Vec<StatementPlan>,
    /// The largest key that each table has given or was given; 0 to begin with.
    largest: Vec<AtomicI64>,
}

impl<S: KeyValueStore> KeyValueDatabase<S> {
    fn next_key(&self, table: usize) -> Result<i64> {
        let next = |largest: i64| largest.checked_add(1);
        let largest = &self.largest[table];
        match largest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(before) => Ok(before + 1),
            Err(_) => Err(Error::from_engine("the table has given its last number")),
        }
    }

    /// Prevents that the key of a given row is generated again.
    fn note_key(&self, table: usize, row: &[Value<'_>]) {
        let Table { generated, key, .. } = &self.layouts[table].table;
        if let (true, Value::Int(key)) = (*generated, row[key[0]]) {
            self.largest[table].fetch_max(key, Ordering::Relaxed);
        }
    }

    /// Keeps the largest key when rows are deleted, so that keys still grow after the next opening.
    fn keep_largest(&self, table: usize, writer: &mut impl WriteTransaction) -> Result<()> {
        let layout = &self.layouts[table];
        let largest = self.largest[table].load(Ordering::Relaxed);
        if !layout.table.generated || kept_key(writer, layout)? >= largest {
            return Ok(());
        }
        writer.put(SCHEMA_SPACE, &layout.largest, &largest.to_be_bytes())
    }

    fn find_layout(&self, table: usize) -> Result<&TableLayout> {
        self.layouts.get(table).ok_or_else(|| Error::Usage(format!("there is no table {table}")))
    }
}

impl<S: KeyValueStore> crate::Database for KeyValueDatabase<S> {
    fn session(&self) -> Result<Box<dyn crate::Session + '_>> {
        Ok(Box::new(session::KeyValueSession::new(self)))
    }

    fn load(&self, table: usize) -> Result<Box<dyn crate::Loader + '_>> {
        Ok(Box::new(load::KeyValueLoader::new(self, table)?))
    }

    fn address(&self) -> Option<DatabaseAddress> {
        Some(self.store.address(&self.directory))
    }

    fn warm(&self) -> Result<()> {
        let reader = self.store.read()?;
        for layout in &self.layouts {
            let indexes = (0..layout.table.indexes.len()).map(|index| layout.index_space(index));
            for space in indexes.chain([layout.space]) {
                reader.scan(space, &[], &[], false, &mut |_, row| {
                    // A mapped value is read only when its pages are touched.
                    let looked = row.iter().step_by(PAGE).fold(0, |all, byte| all ^ byte);
                    std::hint::black_box(looked);
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
        Ok(())
    }

    fn drain(&self) -> Result<()> {
        self.store.drain()
    }

    fn check(&self) -> Result<Vec<String>> {
        check::check_tables(&self.store.read()?, &self.layouts)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.store.counters()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.store.debt()
    }

    fn server(&self) -> Option<u32> {
        self.store.server()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        self.store.writes_back()
    }
}

/// Writes an index entry: the indexed cells, then the row's key. Returns the length of the cells,
/// or `None` if one of them is null.
fn encode_entry<'v>(
    layout: &TableLayout,
    index: usize,
    value: &dyn Fn(usize) -> Result<Value<'v>>,
    key: &[u8],
    entry: &mut Vec<u8>,
) -> Result<Option<usize>> {
    let mut null = false;
    entry.clear();
    for &column in &layout.table.indexes[index].columns {
        let value = value(column)?;
        null |= value == Value::Null;
        codec::push_key(&layout.table.columns[column], value, entry)?;
    }
    let length = entry.len();
    entry.extend_from_slice(key);
    Ok((!null).then_some(length))
}

fn decode_whole_row(
    layout: &TableLayout,
    key: &[u8],
    row: &[u8],
    cells: &mut DecodedCells,
) -> Result<()> {
    let columns = &layout.table.columns;
    cells.reset(columns.len());
    let key_length = cells.decode_key(columns, &layout.table.key, key)?;
    let row_length = cells.decode_row(columns, &layout.stored, &layout.stored, row)?;
    if key_length != key.len() || row_length != row.len() {
        return Err(damaged_error("a row is too long"));
    }
    Ok(())
}
