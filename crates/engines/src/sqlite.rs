//! SQLite, in its write-ahead-log mode.
//!
//! A session is a connection with every statement prepared. One transaction writes at a time;
//! another one would poll and sleep, so an application queues its writers itself: here a writing
//! transaction waits at a gate before it begins.

#![allow(missing_docs)]

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, ffi};

use crate::gate::TicketLock;
use crate::options::EngineOptions;
use crate::sql::Dialect;
use crate::sql::session::{SqlSession, SqlStatements};
use crate::statement::Action;
use crate::{
    Database, DatabaseAddress, Debt, Durability, Engine, EngineCache, EngineDescription,
    EngineHome, Error, Least, Loader, OpenTerms, PaymentSignature, Promise, Result, Schema,
    Session, Setting, SettingStanding, Statement, Value, fair,
};

mod client;
mod log;
mod pragmas;
mod prepared;
mod rights;
mod settings;
#[cfg(test)]
mod tests;

use client::SqliteClient;
use log::WriteAheadLog;
use pragmas::SqlitePragmas;
use prepared::{SqliteConnection, prepare_statement, prepare_statements, prepare_texts};
use rights::SqliteRights;

const SQL: Dialect = Dialect::Sqlite;

const FILE: &str = "database.sqlite";

/// The limit for locks that the gate does not guard: a checkpoint's, a recovery's.
const PATIENCE: Duration = Duration::from_secs(5);

/// The limit for the last reader, or for a checkpoint that is under way.
const DRAIN_PATIENCE: Duration = Duration::from_secs(60);

/// What sessions did not find in their caches (`SQLITE_DBSTATUS_CACHE_MISS`,
/// sqlite.org/c3ref/c_dbstatus_options.html).
const MISSES: &str = "pages not in a session's cache";

/// Prepared after the declared statements, in this order.
const CONTROL: [&str; 4] = ["BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"];
const BEGIN_READ: usize = 0;
const BEGIN_WRITE: usize = 1;
const COMMIT: usize = 2;
const ROLLBACK: usize = 3;

pub struct Sqlite {
    name: &'static str,
    /// By the level; those of the terms come before them.
    own: Vec<(String, String)>,
}

pub static SQLITE: Sqlite = Sqlite { name: "sqlite", own: Vec::new() };

impl Sqlite {
    fn merge_settings(&self, settings: &[(String, String)]) -> SqlitePragmas {
        SqlitePragmas::from_settings(settings.iter().chain(&self.own))
    }
}

/// A checkpoint writes the database's file, which commits leave alone; a turn of the log writes its header of 32
/// bytes anew (sqlite.org/fileformat2.html#walformat).
static SIGNATURES: [PaymentSignature; 2] = [
    PaymentSignature::writes("checkpoint", &[FILE]),
    PaymentSignature::headers("turn of the log", 32, &["*-wal"]),
];

impl Engine for Sqlite {
    fn signatures(&self) -> &'static [PaymentSignature] {
        &SIGNATURES
    }

    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "SQLite in the process, with a write-ahead log",
            promises: [
                Promise::new(
                    Durability::None,
                    "journal_mode=WAL, synchronous=OFF",
                    "never syncs: a power cut may lose commits or corrupt the file \
                     (sqlite.org/pragma.html#pragma_synchronous)",
                ),
                Promise::new(
                    Durability::Relaxed,
                    "journal_mode=WAL, synchronous=NORMAL, and wal_checkpoint(PASSIVE) every second",
                    "syncs the log at a checkpoint only, so one a second bounds what a power cut \
                     takes; the file stays consistent (sqlite.org/wal.html)",
                )
                .within(Duration::from_secs(1)),
                Promise::new(
                    Durability::Strict,
                    "journal_mode=WAL, synchronous=FULL",
                    "syncs the log after each commit \
                     (sqlite.org/pragma.html#pragma_synchronous)",
                ),
            ],
            home: EngineHome::Process,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        rusqlite::version().into()
    }

    fn takes_settings(&self) -> bool {
        true
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let own = options.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Box::new(Self { name, own }))
    }

    fn standing(&self, name: &str, _: &str) -> SettingStanding {
        pragmas::find_standing(name)
    }

    fn check_ready(
        &self,
        settings: &[(String, String)],
        _: bool,
    ) -> std::result::Result<(), Vec<String>> {
        self.merge_settings(settings).try_values().map_err(|why| vec![why])
    }

    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        self.check_user_settings(durability, &[])
    }

    fn check_user_settings(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<(), String> {
        self.merge_settings(settings).check_level(durability)
    }

    fn find_kept_level(
        &self,
        asked: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<Durability, String> {
        let pragmas = self.merge_settings(settings);
        let kept = fair::find_kept_level(asked, |level| pragmas.find_promises(level));
        kept.map_or_else(|| pragmas.check_level(asked).map(|()| asked), Ok)
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let own = self.merge_settings(&terms.settings);
        let mut all = settings::list_settings(terms);
        if !own.has_log() {
            all.retain(|setting| setting.name != "wal_checkpoint(PASSIVE)");
            all.push(Setting::for_level("synchronous", own.synchronous_at(terms.durability)));
        }
        fair::with_overrides(all, own.as_pairs())
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        Some(settings::CACHE.to_cache("cache_size", terms))
    }

    fn least_memory(&self, _: u64, _: u64) -> Option<Least> {
        self.own.is_empty().then_some(settings::LEAST)
    }

    fn prepares(&self) -> bool {
        true
    }

    fn is_log(&self, file: &FilePath) -> bool {
        file.to_string_lossy().ends_with("-wal")
    }

    fn open(
        &self,
        directory: &FilePath,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let pragmas = self.merge_settings(&terms.settings);
        pragmas.check_level(terms.durability).map_err(Error::Usage)?;
        Ok(Box::new(SqliteDatabase::new(directory, terms, pragmas, schema, statements)?))
    }
}

/// Plans stay as they are prepared: with the statistics of `ANALYZE`, SQLite would prepare a
/// statement again whenever a parameter changes.
fn open_connection(
    path: &FilePath,
    synchronous: &str,
    pragmas: &SqlitePragmas,
) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    pragmas.set_file(&connection)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // As LIKE is on the others.
    connection.pragma_update(None, "case_sensitive_like", true)?;
    pragmas.set_connection(&connection)?;
    Ok(connection)
}

/// All at once; the file's user version says that it was done.
fn create_schema(connection: &mut Connection, schema: &Schema) -> Result<()> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != 0 {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    for table in &schema.tables {
        transaction.execute_batch(&SQL.create_table(table))?;
        for index in &table.indexes {
            transaction.execute_batch(&SQL.create_index(table, index))?;
        }
    }
    transaction.pragma_update(None, "user_version", 1)?;
    Ok(transaction.commit()?)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let Some(failure) = error.sqlite_error() else { return Self::from_engine(error) };
        match (failure.code, failure.extended_code) {
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                Self::Conflict(error.to_string())
            }
            (
                _,
                ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                | ffi::SQLITE_CONSTRAINT_ROWID
                | ffi::SQLITE_CONSTRAINT_UNIQUE,
            ) => Self::Duplicate(error.to_string()),
            _ => Self::from_engine(error),
        }
    }
}

#[derive(Clone, Copy)]
enum SqlitePlan {
    Read { width: usize },
    Insert { key: usize },
    Change,
    Written { writes: bool },
}

impl SqlitePlan {
    fn writes(self) -> bool {
        match self {
            Self::Read { .. } => false,
            Self::Insert { .. } | Self::Change => true,
            Self::Written { writes } => writes,
        }
    }
}

fn plan_statement(schema: &Schema, action: &Action) -> SqlitePlan {
    match action {
        Action::Read(read) => SqlitePlan::Read { width: read.yields.width() },
        Action::Insert { table } => SqlitePlan::Insert { key: schema.tables[*table].key[0] },
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => SqlitePlan::Change,
        Action::Sql(text) => SqlitePlan::Written { writes: text.writes },
    }
}

struct SqliteDatabase {
    path: PathBuf,
    schema: Schema,
    terms: OpenTerms,
    pragmas: SqlitePragmas,
    /// The texts of [`CONTROL`] follow those of the declared ones.
    statements: SqlStatements<SqlitePlan>,
    gate: TicketLock,
    /// Sessions share the cache's promised bytes.
    sessions: AtomicUsize,
    misses: AtomicU64,
    checkpoints: Option<Checkpoints>,
    /// Keeps the log in place while sessions come and go; drains and checks.
    keeper: Mutex<Connection>,
    /// `None` with a rollback journal.
    log: Option<WriteAheadLog>,
    /// For syncing. Closed last: POSIX drops all of a process's locks on a file with the first of
    /// its descriptors that is closed.
    file: File,
}

impl SqliteDatabase {
    fn new(
        directory: &FilePath,
        terms: &OpenTerms,
        pragmas: SqlitePragmas,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Self> {
        schema.validate()?;
        std::fs::create_dir_all(directory)?;
        let path = directory.join(FILE);
        let mut keeper = open_connection(&path, "FULL", &pragmas)?;
        keeper.busy_timeout(DRAIN_PATIENCE)?;
        create_schema(&mut keeper, schema)?;
        let mut statements = SqlStatements::new(SQL, schema, statements, plan_statement)?;
        if statements.has_written() {
            statements.prepare_each(|text, written| prepare_statement(&keeper, text, written))?;
        }
        statements.texts.extend(CONTROL.map(String::from));
        let checkpoints = match terms.durability {
            Durability::Relaxed if pragmas.has_log() => {
                let connection = open_connection(&path, "NORMAL", &pragmas)?;
                Some(Checkpoints::start_checkpoints(connection)?)
            }
            Durability::None | Durability::Relaxed | Durability::Strict => None,
        };
        Ok(Self {
            statements,
            schema: schema.clone(),
            terms: terms.clone(),
            gate: TicketLock::default(),
            sessions: AtomicUsize::new(0),
            misses: AtomicU64::new(0),
            checkpoints,
            log: match pragmas.has_log() {
                true => Some(WriteAheadLog::from_database(&path, &keeper)?),
                false => None,
            },
            pragmas,
            keeper: Mutex::new(keeper),
            file: File::open(&path)?,
            path,
        })
    }

    fn open_client(&self) -> Result<SqlSession<SqliteClient<'_>>> {
        let mut connection = open_connection(&self.path, self.synchronous_level(), &self.pragmas)?;
        let rights = SqliteRights::restrict(&mut connection)?;
        let statements = prepare_statements(connection, &self.statements, self.terms.preparation)?;
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(SqlSession::new(SqliteClient::new(self, statements, rights)))
    }

    fn synchronous_level(&self) -> &str {
        self.pragmas.synchronous_at(self.terms.durability)
    }
}

impl Database for SqliteDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self.open_client()?))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        let connection = open_connection(&self.path, "OFF", &self.pragmas)?;
        set_cache(&connection, settings::CACHE.cache_bytes(&self.terms))?;
        let table = &self.schema.tables[table];
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for index in &table.indexes {
            connection.execute_batch(&SQL.drop_index(table, index))?;
        }
        Ok(Box::new(SqliteLoader {
            insert: prepare_texts(connection, &[SQL.insert_text(table)])?,
            table,
        }))
    }

    fn drain(&self) -> Result<()> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let _pass = self.gate.wait_in_line();
        let failure = self.checkpoints.as_ref().and_then(|every| every.failure.get());
        if let Some(failure) = failure {
            return Err(Error::from_engine(format!("a checkpoint failed: {failure}")));
        }
        let start = Instant::now();
        let busy = || keeper.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        // SQLite does not wait for a checkpoint that is under way, which takes long on a slow disk.
        while busy()? {
            if start.elapsed() > DRAIN_PATIENCE {
                return Err(Error::Conflict("a reader keeps the log from being drained".into()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        // A checkpoint under synchronous=OFF, such as a load's, may have left pages unsynced.
        self.file.sync_all()?;
        File::open(self.path.parent().expect("a file in a directory"))?.sync_all()?;
        Ok(())
    }

    fn address(&self) -> Option<DatabaseAddress> {
        Some(DatabaseAddress::Files(self.path.clone()))
    }

    /// A session hands its misses in when it ends.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let log = self.log.as_ref();
        let mut counters = log.map(WriteAheadLog::read_counters).unwrap_or_default();
        counters.push((MISSES, self.misses.load(Ordering::Relaxed)));
        counters
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.log.as_ref().map(WriteAheadLog::measure_debt).transpose()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        if self.log.is_some() { &log::COUNTERS } else { &[] }
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        &[MISSES]
    }

    fn warm(&self) -> Result<()> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        for text in self.schema.tables.iter().flat_map(|table| SQL.read_all(table)) {
            keeper.query_row(&text, [], |_| Ok(()))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = keeper.prepare("PRAGMA integrity_check")?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        let found = lines.filter(|line| line.as_ref().map_or(true, |line| line != "ok"));
        found.map(|line| Ok(line?)).collect()
    }
}

/// One checkpoint a second bounds what `relaxed` may lose: with `synchronous=NORMAL` only a
/// checkpoint syncs the log. A reader that stays in its snapshot holds up later commits.
struct Checkpoints {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Why a checkpoint failed: from then on, more may be lost than promised.
    failure: Arc<OnceLock<String>>,
}

impl Checkpoints {
    fn start_checkpoints(connection: Connection) -> Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let failure = Arc::new(OnceLock::new());
        let failed = Arc::clone(&failure);
        let run = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                // A busy database is no error; it is tried again in a second.
                let done = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                if let Err(error) = done {
                    let _ = failed.set(error.to_string());
                }
            }
        };
        let thread = thread::Builder::new().name("sqlite-checkpoints".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), failure })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only panics if SQLite's bindings do, which the panic has already reported.
            let _ = thread.join();
        }
    }
}

fn set_cache(connection: &Connection, bytes: u64) -> Result<()> {
    // A negative size is in KiB; a positive one would be in pages.
    let kib = i64::try_from(bytes / 1024).unwrap_or(i64::MAX).max(1);
    Ok(connection.pragma_update(None, "cache_size", -kib)?)
}

struct SqliteLoader<'a> {
    insert: SqliteConnection,
    table: &'a crate::schema::Table,
}

impl Loader for SqliteLoader<'_> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.table.fits(row)?;
        self.insert.execute(0, &self.table.round_row(row)).map(|_| ())
    }

    /// Sorting builds indexes faster than adding rows one by one.
    fn finish(self: Box<Self>) -> Result<()> {
        let connection = self.insert.borrow_owner();
        for index in &self.table.indexes {
            connection.execute_batch(&SQL.create_index(self.table, index))?;
        }
        connection.execute_batch("COMMIT")?;
        // Without statistics the planner takes all indexes for equally good.
        Ok(connection.execute_batch(&SQL.analyze_text(self.table))?)
    }
}
