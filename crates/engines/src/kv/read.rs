//! Reads: from a plan and its parameters to the rows of the answer.

use std::ops::ControlFlow;

use super::ReadTransaction;
use super::codec::{DecodedCells, damaged_error, key_length, push_key, to_successor};
use super::keys::{KeyRanges, SortedKeys};
use super::plan::{ReadPlan, TableLayout};
use crate::statement::{Filter, RangeBound, ReadScope, Yield};
use crate::{Error, Result, Rows, Value};

const FEW: usize = 64;
const TOGETHER: usize = 256;

#[derive(Debug, Default)]
pub struct ReadBuffers {
    from: Vec<u8>,
    to: Vec<u8>,
    cells: DecodedCells,
    list: SortedKeys,
    ranges: KeyRanges,
    values: SortedKeys,
}

pub fn run_read<R: ReadTransaction>(
    reader: &R,
    layout: &TableLayout,
    plan: &ReadPlan,
    parameters: &[Value<'_>],
    buffers: &mut ReadBuffers,
    rows: &mut Rows,
) -> Result<u64> {
    rows.reset(plan.answer.len());
    let ReadBuffers { from, to, cells, list, ranges, values } = buffers;
    values.clear();
    let path = RowSource { reader, layout, plan };
    let mut answer = ReadAnswer { layout, plan, parameters, rows, found: 0, total: 0, values };
    match plan.scope {
        _ if plan.limit == Some(0) => {}
        ReadScope::Among(count) => {
            path.list_keys(&parameters[..count], list)?;
            for key in list.iter() {
                path.read_prefix(key, from, to, cells, &mut answer)?;
            }
        }
        ReadScope::Ranges(count) => {
            path.list_ranges(&parameters[..2 * count], (from, to), ranges)?;
            for (from, to) in ranges.disjoint_ranges() {
                path.scan_range(from, to, cells, &mut answer)?;
            }
        }
        ReadScope::Range { equal, from: lower, to: upper } => {
            let bounded = path.write_range(equal, lower, upper, parameters, from, to)?;
            if bounded && plan.point {
                path.read_point(from, cells, &mut answer)?;
            } else if bounded {
                path.scan_range(from, to, cells, &mut answer)?;
            }
        }
    }
    answer.finish(cells)
}

struct RowSource<'p, R> {
    reader: &'p R,
    layout: &'p TableLayout,
    plan: &'p ReadPlan,
}

impl<R: ReadTransaction> RowSource<'_, R> {
    fn push_key_cell(&self, column: usize, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
        push_key(&self.layout.table.columns[self.plan.path[column]], value, key)
    }

    fn list_keys(&self, parameters: &[Value<'_>], list: &mut SortedKeys) -> Result<()> {
        list.clear();
        for value in parameters.iter().filter(|value| **value != Value::Null) {
            list.add(|bytes| self.push_key_cell(0, *value, bytes))?;
        }
        list.sort();
        list.dedup();
        Ok(())
    }

    fn list_ranges(
        &self,
        parameters: &[Value<'_>],
        (from, to): (&mut Vec<u8>, &mut Vec<u8>),
        ranges: &mut KeyRanges,
    ) -> Result<()> {
        const INCLUSIVE: Option<RangeBound> = Some(RangeBound::Inclusive);
        ranges.clear();
        for bounds in parameters.chunks_exact(2) {
            if self.write_range(0, INCLUSIVE, INCLUSIVE, bounds, from, to)? {
                ranges.add(from, to);
            }
        }
        ranges.sort();
        Ok(())
    }

    fn write_range(
        &self,
        equal: usize,
        lower: Option<RangeBound>,
        upper: Option<RangeBound>,
        parameters: &[Value<'_>],
        from: &mut Vec<u8>,
        to: &mut Vec<u8>,
    ) -> Result<bool> {
        let bounds = usize::from(lower.is_some()) + usize::from(upper.is_some());
        if parameters[..equal + bounds].contains(&Value::Null) {
            return Ok(false);
        }
        from.clear();
        for (column, value) in parameters[..equal].iter().enumerate() {
            self.push_key_cell(column, *value, from)?;
        }
        to.clear();
        to.extend_from_slice(from);
        match upper {
            None => to_successor(to),
            Some(bound) => {
                self.push_key_cell(equal, parameters[equal + bounds - 1], to)?;
                if bound == RangeBound::Inclusive {
                    to_successor(to);
                }
            }
        }
        if let Some(bound) = lower {
            self.push_key_cell(equal, parameters[equal], from)?;
            if bound == RangeBound::Exclusive {
                to_successor(from);
                if from.is_empty() {
                    return Ok(false);
                }
            }
        } else if self.plan.skip_nulls {
            from.push(1);
        }
        Ok(to.is_empty() || from < to)
    }

    fn read_prefix(
        &self,
        key: &[u8],
        from: &mut Vec<u8>,
        to: &mut Vec<u8>,
        cells: &mut DecodedCells,
        answer: &mut ReadAnswer<'_>,
    ) -> Result<()> {
        from.clear();
        from.extend_from_slice(key);
        if self.plan.point {
            return self.read_point(from, cells, answer);
        }
        to.clear();
        to.extend_from_slice(key);
        to_successor(to);
        self.scan_range(from, to, cells, answer)
    }

    fn read_point(
        &self,
        key: &[u8],
        cells: &mut DecodedCells,
        answer: &mut ReadAnswer<'_>,
    ) -> Result<()> {
        if let Some(row) = self.reader.get(self.layout.space, key)? {
            self.decode_row(key, &row, cells)?;
            let _ = answer.add(cells, &row)?;
        }
        Ok(())
    }

    fn scan_range(
        &self,
        from: &[u8],
        to: &[u8],
        cells: &mut DecodedCells,
        answer: &mut ReadAnswer<'_>,
    ) -> Result<()> {
        if R::FAR && self.plan.index && self.plan.stored_until > 0 {
            return self.scan_far(from.to_vec(), to.to_vec(), cells, answer);
        }
        self.reader.scan(self.plan.space, from, to, self.plan.reverse, &mut |key, row| {
            if self.plan.index {
                return self.add_entry(key, cells, answer);
            }
            self.decode_row(key, row, cells)?;
            answer.add(cells, row)
        })
    }

    fn scan_far(
        &self,
        mut from: Vec<u8>,
        mut to: Vec<u8>,
        cells: &mut DecodedCells,
        answer: &mut ReadAnswer<'_>,
    ) -> Result<()> {
        let Self { plan, layout, .. } = *self;
        let exact = plan.limit.filter(|_| plan.filters.is_empty());
        let most = plan.limit.map_or(usize::MAX, |_| exact.map_or(FEW, |it| it as usize));
        loop {
            let mut entries: Vec<Vec<u8>> = Vec::new();
            self.reader.scan(plan.space, &from, &to, plan.reverse, &mut |entry, _| {
                entries.push(entry.to_vec());
                let full = entries.len() >= most;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            for entries in entries.chunks(TOGETHER) {
                let key = |entry: &'_ Vec<u8>| key_length(&layout.table.columns, &plan.path, entry);
                let own = entries.iter().map(key).collect::<Result<Vec<_>>>()?;
                let keys: Vec<&[u8]> =
                    entries.iter().zip(&own).map(|(entry, own)| &entry[*own..]).collect();
                let rows = self.reader.get_all(layout.space, &keys)?;
                for (entry, row) in entries.iter().zip(rows) {
                    let row = row.ok_or_else(|| damaged_error("an index entry has no row"))?;
                    self.decode_entry(entry, cells)?;
                    self.decode_stored(&row, cells)?;
                    if answer.add(cells, &row)?.is_break() {
                        return Ok(());
                    }
                }
            }
            let Some(last) = entries.pop().filter(|_| entries.len() + 1 >= most) else {
                return Ok(());
            };
            if plan.reverse {
                to = last;
            } else {
                from = last;
                from.push(0);
            }
        }
    }

    /// Returns where the row's key begins.
    fn decode_entry(&self, entry: &[u8], cells: &mut DecodedCells) -> Result<usize> {
        let table = &self.layout.table;
        cells.reset(table.columns.len());
        let own = cells.decode_key(&table.columns, &self.plan.path, entry)?;
        cells.decode_key(&table.columns, &table.key, &entry[own..])?;
        Ok(own)
    }

    /// Fetches the row only if the entry lacks a column.
    fn add_entry(
        &self,
        entry: &[u8],
        cells: &mut DecodedCells,
        answer: &mut ReadAnswer<'_>,
    ) -> Result<ControlFlow<()>> {
        let own = self.decode_entry(entry, cells)?;
        if self.plan.stored_until == 0 {
            return answer.add(cells, &[]);
        }
        let row = self.reader.get(self.layout.space, &entry[own..])?;
        let row = row.ok_or_else(|| damaged_error("an index entry has no row"))?;
        self.decode_stored(&row, cells)?;
        answer.add(cells, &row)
    }

    fn decode_row(&self, key: &[u8], row: &[u8], cells: &mut DecodedCells) -> Result<()> {
        let table = &self.layout.table;
        cells.reset(table.columns.len());
        if self.plan.needs_key {
            cells.decode_key(&table.columns, &table.key, key)?;
        }
        self.decode_stored(row, cells)
    }

    fn decode_stored(&self, row: &[u8], cells: &mut DecodedCells) -> Result<()> {
        let (columns, all) = (&self.layout.table.columns, &self.layout.stored);
        cells.decode_row(columns, all, &all[..self.plan.stored_until], row).map(drop)
    }
}

struct ReadAnswer<'a> {
    layout: &'a TableLayout,
    plan: &'a ReadPlan,
    parameters: &'a [Value<'a>],
    rows: &'a mut Rows,
    found: u64,
    total: i64,
    values: &'a mut SortedKeys,
}

impl ReadAnswer<'_> {
    fn add(&mut self, cells: &DecodedCells, row: &[u8]) -> Result<ControlFlow<()>> {
        if !conditions_hold(&self.plan.filters, self.parameters, cells, row)? {
            return Ok(ControlFlow::Continue(()));
        }
        match self.plan.yields {
            Yield::Columns(ref columns) => {
                for &column in columns {
                    self.rows.push(cells.get(column, row)?);
                }
            }
            Yield::Sum(column) => {
                if let Value::Int(int) = cells.get(column, row)? {
                    let sum = self.total.checked_add(int);
                    self.total = sum.ok_or_else(|| Error::from_engine("a sum is too large"))?;
                }
            }
            Yield::Count(column) => {
                self.total += i64::from(cells.get(column, row)? != Value::Null);
            }
            Yield::Distinct(number) => {
                let column = &self.layout.table.columns[number];
                let value = cells.get(number, row)?;
                self.values.add(|bytes| push_key(column, value, bytes))?;
            }
            Yield::Sorted(number) => {
                let column = &self.layout.table.columns[number];
                let value = cells.get(number, row)?;
                self.values.add_again(|bytes| push_key(column, value, bytes))?;
            }
        }
        self.found += 1;
        Ok(match self.plan.limit {
            Some(limit) if self.found >= u64::from(limit) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    }

    fn finish(self, cells: &mut DecodedCells) -> Result<u64> {
        match self.plan.yields {
            Yield::Columns(_) => return Ok(self.found),
            Yield::Sum(_) | Yield::Count(_) => self.rows.push(Value::Int(self.total)),
            Yield::Distinct(column) | Yield::Sorted(column) => {
                self.values.sort();
                if matches!(self.plan.yields, Yield::Distinct(_)) {
                    self.values.dedup();
                }
                for key in self.values.iter() {
                    cells.reset(self.layout.table.columns.len());
                    cells.decode_key(&self.layout.table.columns, &[column], key)?;
                    self.rows.push(cells.get(column, &[])?);
                }
            }
        }
        Ok(self.rows.len() as u64)
    }
}

pub fn conditions_hold(
    filters: &[(Filter, usize)],
    parameters: &[Value<'_>],
    cells: &DecodedCells,
    row: &[u8],
) -> Result<bool> {
    for (filter, first) in filters {
        let value = cells.get(filter.column, row)?;
        let mut wanted = parameters[*first..*first + filter.any_of].iter();
        if value == Value::Null || !wanted.any(|wanted| wanted.normalise_number() == value) {
            return Ok(false);
        }
    }
    Ok(true)
}
