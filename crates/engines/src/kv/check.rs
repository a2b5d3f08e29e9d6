//! The integrity check: every row has exactly its index entries, every entry has its row, and all
//! can be decoded.

use std::ops::ControlFlow;

use super::codec::DecodedCells;
use super::plan::TableLayout;
use super::{ReadTransaction, SCHEMA_KEY, SCHEMA_SPACE, decode_whole_row, encode_entry};
use crate::{Error, Result};

const MOST_FAULTS: usize = 100;

pub fn check_tables(reader: &impl ReadTransaction, layouts: &[TableLayout]) -> Result<Vec<String>> {
    let mut faults = StoreFaults(Vec::new());
    if reader.get(SCHEMA_SPACE, SCHEMA_KEY)?.is_none() {
        let _ = faults.add("the schema is missing".into());
    }
    for layout in layouts {
        check_rows(reader, layout, &mut faults)?;
        for index in 0..layout.table.indexes.len() {
            check_entries(reader, layout, index, &mut faults)?;
        }
    }
    Ok(faults.0)
}

struct StoreFaults(Vec<String>);

impl StoreFaults {
    fn add(&mut self, fault: String) -> ControlFlow<()> {
        self.0.push(fault);
        if self.0.len() < MOST_FAULTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn take(&mut self, found: Result<Option<String>>, place: &str) -> ControlFlow<()> {
        match found {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(fault)) => self.add(format!("{place}: {fault}")),
            Err(error) => self.add(format!("{place}: {error}")),
        }
    }
}

fn check_rows(
    reader: &impl ReadTransaction,
    layout: &TableLayout,
    faults: &mut StoreFaults,
) -> Result<()> {
    let (mut cells, mut entry) = (DecodedCells::default(), Vec::new());
    let table = &layout.table;
    reader.scan(layout.space, &[], &[], false, &mut |key, row| {
        let mut check = || {
            decode_whole_row(layout, key, row, &mut cells)?;
            for column in 0..table.columns.len() {
                cells.get(column, row)?;
            }
            for (number, index) in table.indexes.iter().enumerate() {
                encode_entry(layout, number, &|column| cells.get(column, row), key, &mut entry)?;
                if reader.get(layout.index_space(number), &entry)?.is_none() {
                    return Ok(Some(format!("no entry in index {}", index.name)));
                }
            }
            Ok(None)
        };
        let found = check();
        Ok(faults.take(found, &format!("table {}, row {}", table.name, format_hex(key))))
    })
}

fn check_entries(
    reader: &impl ReadTransaction,
    layout: &TableLayout,
    number: usize,
    faults: &mut StoreFaults,
) -> Result<()> {
    let table = &layout.table;
    let index = &table.indexes[number];
    let (mut cells, mut wanted) = (DecodedCells::default(), Vec::new());
    let mut last: Option<Vec<u8>> = None;
    reader.scan(layout.index_space(number), &[], &[], false, &mut |entry, _| {
        let mut check = || {
            cells.reset(table.columns.len());
            let own = cells.decode_key(&table.columns, &index.columns, entry)?;
            let key = &entry[own..];
            let Some(row) = reader.get(layout.space, key)? else {
                return Ok(Some("it has no row".to_owned()));
            };
            decode_whole_row(layout, key, &row, &mut cells)?;
            let value = |column| cells.get(column, &row);
            let filled = encode_entry(layout, number, &value, key, &mut wanted)?;
            if wanted != entry {
                return Ok(Some("its row has other cells".to_owned()));
            }
            if index.unique && filled.is_some() && last.as_deref() == Some(&entry[..own]) {
                return Ok(Some("another row has the same cells".to_owned()));
            }
            last = Some(entry[..own].to_vec());
            Ok::<_, Error>(None)
        };
        let found = check();
        Ok(faults.take(found, &format!("index {}, entry {}", index.name, format_hex(entry))))
    })
}

fn format_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
