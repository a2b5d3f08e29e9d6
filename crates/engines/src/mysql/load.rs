//! Bulk loads: one `LOAD DATA` per table, fed from memory, and then the indexes.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use super::rights::LocalFilesPermit;
use super::storage::StorageEngine;
use super::{MariaDbDatabase, SQL, error, tables};
use crate::schema::Table;
use crate::{Error, Loader, Result, Value, decimal};

/// Bytes handed over at once; two more such pieces may wait.
const PIECE: usize = 1 << 20;
const WAITING: usize = 2;

/// Bytes that MyRocks sorts at once for an index. By default they are 64 MB. What a processor's cache holds is
/// sorted sooner: the index of a million numbers took 3.2 s with 64 MiB, 2.4 with 8 and 1.1 with 1 (10.11.19).
const SORTED: usize = 1 << 20;

enum RowsPiece {
    Rows(Vec<u8>),
    End,
}

pub(super) struct MariaDbLoader<'a> {
    database: &'a MariaDbDatabase,
    table: &'a Table,
    rows: Vec<u8>,
    last: Option<i64>,
    running: Option<RunningLoad>,
    /// Goes when the load has ended.
    _permit: LocalFilesPermit<'a>,
}

struct RunningLoad {
    pieces: SyncSender<RowsPiece>,
    thread: JoinHandle<std::result::Result<(), mysql::Error>>,
}

impl<'a> MariaDbLoader<'a> {
    pub(super) fn new(database: &'a MariaDbDatabase, number: usize) -> Result<Self> {
        let table = &database.schema.tables[number];
        let mut connection = database.connect()?;
        tables::recreate_table(&mut connection, table, database.storage.name())?;
        let quick = "SET SESSION unique_checks = 0, foreign_key_checks = 0";
        connection.query_drop(quick).map_err(error::to_error)?;
        let permit = LocalFilesPermit::new(database, &mut connection)?;
        let bulk = database.storage == StorageEngine::RocksDb;
        let name = SQL.quote(&table.name);
        let (pieces, waiting) = sync_channel(WAITING);
        let run = move || run(connection, &name, waiting, bulk);
        let thread = thread::Builder::new().name("load".into()).spawn(run)?;
        let running = Some(RunningLoad { pieces, thread });
        let rows = Vec::with_capacity(PIECE + PIECE / 4);
        Ok(Self { database, table, rows, last: None, running, _permit: permit })
    }

    fn read_answer(&mut self) -> Result<()> {
        let Some(RunningLoad { pieces, thread }) = self.running.take() else { return Ok(()) };
        drop(pieces);
        match thread.join() {
            Ok(answer) => answer.map_err(error::to_error),
            Err(_) => Err(Error::from_engine("the load's thread has panicked")),
        }
    }

    fn send(&mut self, piece: RowsPiece) -> Result<()> {
        let sent = self.running.as_ref().is_some_and(|running| running.pieces.send(piece).is_ok());
        if sent {
            return Ok(());
        }
        self.read_answer()?;
        Err(Error::Usage("a row after the load has failed".into()))
    }
}

impl Loader for MariaDbLoader<'_> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.table.fits(row)?;
        write_row(&mut self.rows, row)?;
        if let (true, Value::Int(key)) = (self.table.generated, row[self.table.key[0]]) {
            self.last = Some(key);
        }
        if self.rows.len() >= PIECE {
            let full = std::mem::replace(&mut self.rows, Vec::with_capacity(PIECE + PIECE / 4));
            self.send(RowsPiece::Rows(full))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let rest = std::mem::take(&mut self.rows);
        self.send(RowsPiece::Rows(rest))?;
        self.send(RowsPiece::End)?;
        self.read_answer()?;
        let mut server = self.database.connect()?;
        if self.database.storage == StorageEngine::RocksDb {
            let small = format!("SET SESSION rocksdb_merge_buf_size = {SORTED}");
            server.query_drop(small).map_err(error::to_error)?;
        }
        tables::complete_table(&mut server, self.table)?;
        match self.last {
            // In MariaDB 10.11 InnoDB's next start may find the counter as it was before the load.
            // MyRocks writes no counter in a bulk load: after a later row with an earlier key, its
            // next start counts on from that row and gives keys that are taken.
            Some(last)
                if matches!(
                    self.database.storage,
                    StorageEngine::InnoDb | StorageEngine::RocksDb
                ) =>
            {
                tables::count_from(&mut server, self.table, last.saturating_add(1))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for MariaDbLoader<'_> {
    fn drop(&mut self) {
        // Without its end the load fails, as it should; the thread must not outlive the database.
        let _ = self.read_answer();
    }
}

/// MyRocks writes sorted rows straight into its last level, without locks or log entries.
fn run(
    mut connection: Conn,
    table: &str,
    pieces: Receiver<RowsPiece>,
    bulk: bool,
) -> std::result::Result<(), mysql::Error> {
    let pieces = Mutex::new(pieces);
    let feed = LocalInfileHandler::new(move |_, file| {
        let pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match pieces.recv() {
                Ok(RowsPiece::Rows(rows)) => file.write_all(&rows)?,
                Ok(RowsPiece::End) => return Ok(()),
                Err(_) => return Err(io::Error::other("the load was given up")),
            }
        }
    });
    connection.set_local_infile_handler(Some(feed));
    if bulk {
        connection.query_drop("SET SESSION rocksdb_bulk_load = 1")?;
    }
    connection.query_drop(format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET binary"
    ))?;
    if bulk {
        connection.query_drop("SET SESSION rocksdb_bulk_load = 0")?;
    }
    Ok(())
}

/// In the default form of `LOAD DATA`: tabs between cells, a line per row, and a backslash before
/// what would be taken for either.
fn write_row(out: &mut Vec<u8>, row: &[Value<'_>]) -> Result<()> {
    for (column, value) in row.iter().enumerate() {
        if column > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            Value::Int(int) => write!(out, "{int}")?,
            Value::Real(real) => write!(out, "{}", decimal::RealText(real.get()))?,
            Value::Text(text) => push_escaped(text.as_bytes(), out),
            Value::Bytes(bytes) => push_escaped(bytes, out),
        }
    }
    out.push(b'\n');
    Ok(())
}

fn push_escaped(mut rest: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = rest.iter().position(|byte| b"\\\t\n\0".contains(byte)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            0 => b"\\0",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
