//! Bulk load: rows straight into the store, then each index's entries, sorted.

use std::cmp::Ordering;

use super::codec::encode_row;
use super::{BulkWriter, KeyValueDatabase, KeyValueStore, ReadTransaction, encode_entry, write};
use crate::{Error, Loader, Result, Value};

pub struct KeyValueLoader<'d, S: KeyValueStore + 'd> {
    database: &'d KeyValueDatabase<S>,
    table: usize,
    bulk: S::Bulk<'d>,
    indexes: Vec<IndexEntries>,
    last: Vec<u8>,
    key: Vec<u8>,
    row: Vec<u8>,
    entry: Vec<u8>,
}

impl<'d, S: KeyValueStore> KeyValueLoader<'d, S> {
    pub fn new(database: &'d KeyValueDatabase<S>, table: usize) -> Result<Self> {
        let layout = database.find_layout(table)?;
        let mut empty = true;
        database.store.read()?.scan(layout.space, &[], &[], false, &mut |_, _| {
            empty = false;
            Ok(std::ops::ControlFlow::Break(()))
        })?;
        if !empty {
            let name = &layout.table.name;
            return Err(Error::Usage(format!("{name} is not empty: it can't be loaded")));
        }
        Ok(Self {
            database,
            table,
            bulk: database.store.bulk_load()?,
            indexes: layout.table.indexes.iter().map(|_| IndexEntries::default()).collect(),
            last: Vec::new(),
            key: Vec::new(),
            row: Vec::new(),
            entry: Vec::new(),
        })
    }
}

impl<S: KeyValueStore> Loader for KeyValueLoader<'_, S> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        let layout = self.database.find_layout(self.table)?;
        layout.table.fits(row)?;
        let value = |column: usize| Ok(row[column]);
        write::encode_key(layout, &value, &mut self.key)?;
        if self.key <= self.last {
            return Err(Error::Usage("rows are loaded in ascending order of their keys".into()));
        }
        encode_row(&layout.table.columns, &layout.stored, &value, &mut self.row)?;
        self.bulk.append(layout.space, &self.key, &self.row)?;
        for (index, entries) in self.indexes.iter_mut().enumerate() {
            let cells = encode_entry(layout, index, &value, &self.key, &mut self.entry)?;
            entries.push(&self.entry, cells.unwrap_or(0));
        }
        self.database.note_key(self.table, row);
        std::mem::swap(&mut self.key, &mut self.last);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { database, table, mut bulk, indexes, .. } = *self;
        let layout = database.find_layout(table)?;
        for (number, mut entries) in indexes.into_iter().enumerate() {
            let index = &layout.table.indexes[number];
            entries.sort();
            if index.unique && entries.has_repeats() {
                let what = format!("two rows have the same columns of index {}", index.name);
                return Err(Error::Duplicate(what));
            }
            for entry in entries.iter() {
                bulk.append(layout.index_space(number), entry, &[])?;
            }
        }
        bulk.finish()
    }
}

#[derive(Default)]
struct IndexEntries {
    bytes: Vec<u8>,
    entries: Vec<IndexEntry>,
}

#[derive(Clone, Copy)]
struct IndexEntry {
    start: usize,
    length: u32,
    /// The length of the indexed cells; 0 when one of them is null.
    cells: u32,
}

impl IndexEntries {
    fn push(&mut self, entry: &[u8], cells: usize) {
        let (start, length) = (self.bytes.len(), entry.len() as u32);
        self.bytes.extend_from_slice(entry);
        self.entries.push(IndexEntry { start, length, cells: cells as u32 });
    }

    /// A stable sort is quick here: entries come in sorted runs.
    fn sort(&mut self) {
        let Self { bytes, entries } = self;
        entries.sort_by(|a, b| a.all(bytes).cmp(b.all(bytes)));
    }

    fn has_repeats(&self) -> bool {
        self.entries.windows(2).any(|pair| {
            let (a, b) = (pair[0], pair[1]);
            a.cells > 0 && a.cells(&self.bytes).cmp(b.cells(&self.bytes)) == Ordering::Equal
        })
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| entry.all(&self.bytes))
    }
}

impl IndexEntry {
    fn all(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.length as usize]
    }

    fn cells(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.cells as usize]
    }
}
