//! The order of rows by their keys, where it isn't the order in which they are made.

use bakeoff_workloads::{RowsError, SourceError};

use super::{TableRows, ValueBuffers};
use crate::Datum;

/// Row numbers are kept in 32 bits.
const MOST_SORTED: i64 = 1 << 32;

/// A part of a key, in the order of engines: integers, then text by its bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Null,
    Int(i64),
    Text(Box<str>),
}

/// A key and its row.
type SortedKey = (Box<[KeyPart]>, u32);

impl TableRows {
    /// Calls `give` with each row in ascending order of the keys, which are sorted first.
    pub(super) fn visit_in_key_order(
        &self,
        table: usize,
        give: &mut dyn FnMut(i64) -> Result<(), RowsError>,
    ) -> Result<(), RowsError> {
        let generated = &self.tables[table];
        if generated.rows > MOST_SORTED {
            return Err(SourceError::new(format!(
                "table {} has {} rows, and {MOST_SORTED} at most can be sorted by their keys; \
                 make its key of :row",
                generated.table.name, generated.rows
            ))
            .into());
        }
        match self.read_int_keys(table)? {
            Some((least, greatest)) if greatest.abs_diff(least) <= u64::from(u32::MAX) => {
                let pack = |key: i64, row: u32| key.abs_diff(least) << 32 | u64::from(row);
                let packed = self.sort_int_keys(table, &pack)?;
                self.check_neighbours(
                    table,
                    packed.windows(2).map(|two| two[0] >> 32 == two[1] >> 32),
                )?;
                packed.into_iter().try_for_each(|packed| give((packed & 0xffff_ffff) as i64))
            }
            Some(_) => {
                let sorted = self.sort_int_keys(table, &|key, row| (key, row))?;
                self.check_neighbours(table, sorted.windows(2).map(|two| two[0].0 == two[1].0))?;
                sorted.into_iter().try_for_each(|(_, row)| give(i64::from(row)))
            }
            None => {
                let sorted = self.sort_keys(table)?;
                self.check_neighbours(table, sorted.windows(2).map(|two| two[0].0 == two[1].0))?;
                sorted.into_iter().try_for_each(|(_, row)| give(i64::from(row)))
            }
        }
    }

    /// The least and the greatest key, if the key is one integer.
    fn read_int_keys(&self, table: usize) -> Result<Option<(i64, i64)>, SourceError> {
        let [_] = self.tables[table].table.key[..] else { return Ok(None) };
        let mut bounds = (i64::MAX, i64::MIN);
        let mut buffers = ValueBuffers::default();
        for row in 0..self.tables[table].rows {
            match self.read_key_part(table, 0, row, &mut buffers)? {
                Datum::Int(key) => bounds = (bounds.0.min(key), bounds.1.max(key)),
                _ => return Ok(None),
            }
        }
        Ok((bounds.0 <= bounds.1).then_some(bounds))
    }

    fn sort_int_keys<T: Ord>(
        &self,
        table: usize,
        pack: &dyn Fn(i64, u32) -> T,
    ) -> Result<Vec<T>, SourceError> {
        let mut buffers = ValueBuffers::default();
        let mut keys = Vec::with_capacity(self.tables[table].rows as usize);
        for row in 0..self.tables[table].rows {
            if let Datum::Int(key) = self.read_key_part(table, 0, row, &mut buffers)? {
                keys.push(pack(key, row as u32));
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn sort_keys(&self, table: usize) -> Result<Vec<SortedKey>, SourceError> {
        let mut buffers = ValueBuffers::default();
        let parts = self.tables[table].table.key.len();
        let mut keys = Vec::with_capacity(self.tables[table].rows as usize);
        for row in 0..self.tables[table].rows {
            let mut key = Vec::with_capacity(parts);
            for part in 0..parts {
                key.push(match self.read_key_part(table, part, row, &mut buffers)? {
                    Datum::Int(int) => KeyPart::Int(int),
                    Datum::Text(text) => KeyPart::Text(text.into()),
                    // No key is anything else.
                    _ => KeyPart::Null,
                });
            }
            keys.push((key.into_boxed_slice(), row as u32));
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn read_key_part<'t>(
        &self,
        table: usize,
        part: usize,
        row: i64,
        buffers: &'t mut ValueBuffers,
    ) -> Result<Datum<'t>, SourceError> {
        let number = self.tables[table].table.key[part];
        let value = self.write_value(table, number, row, buffers);
        value.map_err(|error| self.blame_row(table, number, row, &error))
    }

    fn check_neighbours(
        &self,
        table: usize,
        mut equal: impl Iterator<Item = bool>,
    ) -> Result<(), SourceError> {
        match equal.any(|equal| equal) {
            false => Ok(()),
            true => Err(SourceError::new(format!(
                "two rows of table {} have the same key; mend the generator of the key",
                self.tables[table].table.name
            ))),
        }
    }
}
