//! Writes: rows and the index entries that belong to them.

use std::ops::ControlFlow;

use super::codec::{DecodedCells, encode_row, push_key, to_successor};
use super::plan::{TableLayout, UpdatePlan};
use super::{ReadTransaction, WriteTransaction, encode_entry};
use crate::statement::Set;
use crate::{Error, Result, Value};

#[derive(Debug, Default)]
pub struct WriteBuffers {
    key: Vec<u8>,
    old: Vec<u8>,
    new: Vec<u8>,
    cells: DecodedCells,
    entries: EntryBuffers,
}

#[derive(Debug, Default)]
struct EntryBuffers {
    old: Vec<u8>,
    new: Vec<u8>,
    end: Vec<u8>,
}

type CellLookup<'r, 'v> = &'r dyn Fn(usize) -> Result<Value<'v>>;

pub struct WriteTarget<'t, W> {
    pub writer: &'t mut W,
    pub layout: &'t TableLayout,
    pub buffers: &'t mut WriteBuffers,
}

impl<W: WriteTransaction> WriteTarget<'_, W> {
    /// `fresh`: the key was generated, so no row can have it.
    pub fn insert<'v>(&mut self, row: CellLookup<'_, 'v>, fresh: bool) -> Result<()> {
        let Self { writer, layout, buffers } = self;
        let WriteBuffers { key, new, entries, .. } = &mut **buffers;
        encode_key(layout, row, key)?;
        if !fresh && writer.get(layout.space, key)?.is_some() {
            return Err(Error::Duplicate(format!("a row of {} has this key", layout.table.name)));
        }
        encode_row(&layout.table.columns, &layout.stored, row, new)?;
        for index in 0..layout.table.indexes.len() {
            replace_entry(*writer, layout, index, key, None, Some(row), entries)?;
        }
        writer.put(layout.space, key, new)
    }

    pub fn upsert<'v>(&mut self, row: CellLookup<'_, 'v>) -> Result<()> {
        encode_key(self.layout, row, &mut self.buffers.key)?;
        let there = self.fetch()?;
        let Self { writer, layout, buffers } = self;
        let WriteBuffers { key, old, new, cells, entries } = &mut **buffers;
        encode_row(&layout.table.columns, &layout.stored, row, new)?;
        let before = |column| cells.get(column, old);
        let before: Option<CellLookup<'_, '_>> = if there { Some(&before) } else { None };
        for index in 0..layout.table.indexes.len() {
            replace_entry(*writer, layout, index, key, before, Some(row), entries)?;
        }
        writer.put(layout.space, key, new)
    }

    pub fn update(&mut self, plan: &UpdatePlan, parameters: &[Value<'_>]) -> Result<bool> {
        self.push_key(&parameters[plan.key..])?;
        if !self.fetch()? {
            return Ok(false);
        }
        let Self { writer, layout, buffers } = self;
        let WriteBuffers { key, old, new, cells, entries } = &mut **buffers;
        if !super::read::conditions_hold(&plan.only_if, parameters, cells, old)? {
            return Ok(false);
        }
        let before = |column| cells.get(column, old);
        let after = |column: usize| match plan.sets[column] {
            None => cells.get(column, old),
            Some((Set::To(_), parameter)) => Ok(parameters[parameter]),
            Some((Set::Add(_), parameter)) => {
                add_to_cell(cells.get(column, old)?, parameters[parameter])
            }
        };
        encode_row(&layout.table.columns, &layout.stored, &after, new)?;
        for &index in &plan.indexes {
            replace_entry(*writer, layout, index, key, Some(&before), Some(&after), entries)?;
        }
        writer.put(layout.space, key, new)?;
        Ok(true)
    }

    pub fn delete(&mut self, parameters: &[Value<'_>]) -> Result<bool> {
        self.push_key(parameters)?;
        if !self.fetch()? {
            return Ok(false);
        }
        let Self { writer, layout, buffers } = self;
        let WriteBuffers { key, old, cells, entries, .. } = &mut **buffers;
        let before = |column| cells.get(column, old);
        for index in 0..layout.table.indexes.len() {
            replace_entry(*writer, layout, index, key, Some(&before), None, entries)?;
        }
        writer.delete(layout.space, key)?;
        Ok(true)
    }

    fn push_key(&mut self, values: &[Value<'_>]) -> Result<()> {
        let (table, key) = (&self.layout.table, &mut self.buffers.key);
        key.clear();
        for (column, value) in table.key.iter().zip(values) {
            push_key(&table.columns[*column], *value, key)?;
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<bool> {
        let WriteBuffers { key, old, cells, .. } = &mut *self.buffers;
        let Some(row) = self.writer.get(self.layout.space, key)? else { return Ok(false) };
        old.clear();
        old.extend_from_slice(&row);
        super::decode_whole_row(self.layout, key, old, cells)?;
        Ok(true)
    }
}

pub fn encode_key<'v>(
    layout: &TableLayout,
    row: CellLookup<'_, 'v>,
    key: &mut Vec<u8>,
) -> Result<()> {
    key.clear();
    for &column in &layout.table.key {
        let (column, value) = (&layout.table.columns[column], row(column)?);
        column.fits(value)?;
        push_key(column, value, key)?;
    }
    Ok(())
}

fn add_to_cell<'v>(before: Value<'v>, by: Value<'_>) -> Result<Value<'v>> {
    let Value::Int(by) = by else {
        return Err(Error::Usage(format!("{by:?} can't be added to a column")));
    };
    match before {
        Value::Int(before) => match before.checked_add(by) {
            Some(sum) => Ok(Value::Int(sum)),
            None => Err(Error::from_engine("a sum is too large")),
        },
        null => Ok(null),
    }
}

/// Brings an index from one state of a row to another; does nothing if the entry stays the same.
fn replace_entry<W: WriteTransaction>(
    writer: &mut W,
    layout: &TableLayout,
    index: usize,
    key: &[u8],
    before: Option<CellLookup<'_, '_>>,
    after: Option<CellLookup<'_, '_>>,
    entries: &mut EntryBuffers,
) -> Result<()> {
    let space = layout.index_space(index);
    let EntryBuffers { old, new, end } = entries;
    if let Some(before) = before {
        encode_entry(layout, index, before, key, old)?;
    }
    if let Some(after) = after {
        let cells = encode_entry(layout, index, after, key, new)?;
        if before.is_some() && old == new {
            return Ok(());
        }
        if let (true, Some(length)) = (layout.table.indexes[index].unique, cells) {
            check_unique(writer, layout, index, &new[..length], end)?;
        }
    }
    if before.is_some() {
        writer.delete(space, old)?;
    }
    if after.is_some() {
        writer.put(space, new, &[])?;
    }
    Ok(())
}

/// The row's own old entry can't be met here: it is skipped if its cells were the same.
fn check_unique(
    reader: &impl ReadTransaction,
    layout: &TableLayout,
    index: usize,
    cells: &[u8],
    end: &mut Vec<u8>,
) -> Result<()> {
    end.clear();
    end.extend_from_slice(cells);
    to_successor(end);
    let mut taken = false;
    reader.scan(layout.index_space(index), cells, end, false, &mut |_, _| {
        taken = true;
        Ok(ControlFlow::Break(()))
    })?;
    if !taken {
        return Ok(());
    }
    let name = &layout.table.indexes[index].name;
    Err(Error::Duplicate(format!("a row has the same columns of the unique index {name}")))
}
