//! The contract between what is measured and what measures it, then one file or folder an engine.
//!
//! An engine stores tables and runs declared statements in transactions. It must never know what
//! the rows mean, who sends the statements, how they are timed, or what stands above or beside it:
//! no workload, no disk model, no report. [`null`] shows the whole contract on one page.
//!
//! # Calls that have a default
//!
//! Of `Engine`, of `Database` or `kv::Store`; without it:
//!
//! - `settings`: reports and `bakeoff list settings` don't show what your levels set
//! - `available`: it counts as installed everywhere: where it isn't, tests fail instead of being skipped, and nobody is
//!   told what brings it
//! - `standing`: users can't give your server settings of their own
//! - `address`: the suite fails: an engine that stores something has files or a server that others reach. Over `kv` it is
//!   the folder of the database, and only a server has to say more
//! - `server`: no memory and no processor time of your server is measured or limited
//! - `statement_check`: your engine runs every statement, SQL that a user wrote among them. Over `kv` it is
//!   `Some(kv::check_statement)`
//! - `is_log`: `--priced` takes what commits write for deferred work. `is_log` is asked
//!   for the name under which a file was first written
//! - `prepares`: your engine has no texts of SQL to prepare: the plan leaves it out at
//!   `prepared=off`. If it has, a session obeys `OpenTerms::preparation`
//! - `signatures`: no cut is placed in deferred work
//! - `cache`: the plan doesn't say how large the engine's cache is
//! - `least_memory`: the plan accepts every memory limit. Where the engine needs more, the kernel ends it
//! - `survives_kill`: the suite expects every commit after `kill -9`: say `false` at levels whose commits stay in your
//!   process
//! - `loads_at`: the weakest level loads
//! - `debt`: trials and cuts at `steady` fail. An engine that puts nothing off answers `Debt::default()`
//! - `writes_back`: reports don't say where figures are *before the first checkpoint or compaction*. It names those of
//!   `counters` that grow when deferred work is done
//! - `cache_misses` (`Database` alone): a report has a dash in the place of the misses

#![warn(missing_docs)]

use std::path::{Path as FilePath, PathBuf};

use serde::{Deserialize, Serialize};

mod address;
pub mod calendar;
pub mod configuration;
mod debt;
mod decimal;
mod declared;
mod durability;
mod error;
mod external;
pub mod fair;
mod files;
pub mod fjall;
mod free_memory;
mod gate;
pub mod kv;
pub mod lmdb;
mod lookup;
pub mod mysql;
pub mod null;
pub mod options;
pub mod own_server;
pub mod postgres;
pub mod reader;
pub mod schema;
mod served;
pub mod servers;
mod socket;
pub mod sql;
pub mod sqlite;
pub mod statement;
mod survey;
pub mod tarantool;
pub mod urls;
pub mod usual_change;
mod value;

pub use address::{DatabaseAddress, ListenAddress, ServerAddress};
pub use debt::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, PaymentCall, PaymentSignature};
pub use declared::{DEFAULT, Declared, DeclaredLevels, LevelForm};
pub use durability::{AS_IS, Durability, Promise};
pub use error::{Error, Result};
pub use fair::{EngineCache, Least, Setting};
pub use lookup::{find_among, find_level, find_with};
pub use options::{EngineLevel, EngineOption, EngineOptions};
pub use schema::Schema;
pub use servers::{SettingStanding, servers_go_by_path};
pub use statement::{Action, SqlText, Statement};
pub use value::{RealValue, Rows, Value};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: bakeoff_testkit::CountingAllocator = bakeoff_testkit::CountingAllocator;

/// How often an engine with SQL reads the text of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preparation {
    /// Once a session: statements are prepared when it begins.
    #[default]
    OncePerSession,
    /// With each execution. A session still checks each statement once, when it begins.
    EachExecution,
}

/// How an engine is opened this time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTerms {
    /// What a commit promises.
    pub durability: Durability,
    /// Whether the level is what a server by URL promises, so that nothing of it is set.
    pub as_is: bool,
    /// Bytes that the engine's processes and their page cache have together, if they are limited.
    /// The engine sizes its caches by this (see [`fair`]); somebody else enforces it.
    pub memory_bytes: Option<u64>,
    /// How often texts are read; engines that don't [`Engine::prepares`] ignore it.
    pub preparation: Preparation,
    /// The user's settings by name; they replace the fair ones.
    pub settings: Vec<(String, String)>,
    /// Where a server keeps socket, log and configuration. `None`: a folder in the database's
    /// directory.
    pub runtime: Option<PathBuf>,
    /// Each control group's `cgroup.procs` that a server's processes belong into.
    pub groups: Vec<PathBuf>,
}

impl OpenTerms {
    /// This level, no limits, no settings of the user.
    pub const fn new(durability: Durability) -> Self {
        Self {
            durability,
            as_is: false,
            memory_bytes: None,
            preparation: Preparation::OncePerSession,
            settings: Vec::new(),
            runtime: None,
            groups: Vec::new(),
        }
    }
}

/// Where an engine does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineHome {
    /// In the process that opens it.
    Process,
    /// In a private server, started for the database and stopped with it.
    Server,
    /// In a server that somebody else runs: it has no directory and can't be limited, put on
    /// another disk or killed. Its database is emptied and filled again instead of restored.
    External,
}

/// What a user should know of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineDescription {
    /// Its name in files and flags.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How it gives each durability level, weakest first.
    pub promises: [Promise; 3],
    /// Where it does its work.
    pub home: EngineHome,
    /// Whether it stores anything. An engine that doesn't measures the harness: nothing can be read
    /// back or lost, and its calls never wait, so that clients can share a thread.
    pub stores: bool,
    /// Whether it can undo a transaction. If not, rolling back a change is an error.
    pub rolls_back: bool,
    /// Debian packages that bring it; empty for a built-in engine.
    pub packages: &'static [&'static str],
}

/// While it exists, other bakeoffs can't use the database.
pub type DatabaseClaim = Box<dyn Send>;

fn claimed_error() -> Error {
    Error::Usage(
        "another bakeoff is using this database, and its tables would be dropped: wait until it \
         has ended, or name another database"
            .into(),
    )
}

/// Whether an engine can run a statement on tables of a schema, and if not, why.
pub type Runs = fn(&Schema, &Statement) -> std::result::Result<(), String>;

/// A closed engine: it knows how to open databases of its kind.
pub trait Engine: Send + Sync {
    /// What a user should know. It doesn't look at the machine: it starts no program and connects
    /// to nothing.
    fn about(&self) -> EngineDescription;

    /// The version that is built in or installed; a server may be asked.
    fn version(&self) -> String;

    /// As in [`EngineDescription`].
    fn home(&self) -> EngineHome {
        self.about().home
    }

    /// The declared options of a level: `NAME/option=value`.
    fn options(&self) -> Vec<EngineOption> {
        Vec::new()
    }

    /// Whether a level may have settings by their own names, as far as [`Engine::standing`] allows: as
    /// a rule, those of a private server.
    fn takes_settings(&self) -> bool {
        self.home() == EngineHome::Server
    }

    /// The engine with a level's options, declared ones or server settings; `name` is the level.
    /// The error says what is wrong with them in one line, and how to mend it in the lines after
    /// it.
    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let _ = options;
        Err(format!("{name} can't be had: the engine takes no options"))
    }

    /// How the connection is protected, for a server that somebody else runs.
    fn transport(&self) -> Option<external::TransportSecurity> {
        None
    }

    /// Whether this machine has it. The error says what is missing and which command brings it.
    fn available(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Whether the engine gives a durability level. An external server is asked, once a process,
    /// what its settings give; one that doesn't answer is taken to give all levels, and
    /// [`Engine::check_ready`] reports it. The error says why not, and what would change that.
    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        let promises = self.about().promises;
        match promises.iter().find(|it| it.durability == durability) {
            Some(Promise { settings: Some(_), .. }) => Ok(()),
            Some(promise) => Err(format!("it has no such level: {}", promise.source)),
            None => Err("it has no such level".into()),
        }
    }

    /// The level that the settings of a server by URL promise. The error says why no level can be told.
    fn find_own_level(&self) -> std::result::Result<Durability, String> {
        Err(format!(
            "{AS_IS} is a server by URL with the settings that its owner gave it, and bakeoff starts this engine \
             itself: choose none, relaxed or strict by `durability`"
        ))
    }

    /// The process of a server by URL, if it runs on this machine: it is no disturbance.
    fn find_local_server(&self) -> Option<u32> {
        None
    }

    /// Whether a level is still given with these settings (name, value) of the user. No program is
    /// started. The error says which setting undoes the level, and what to do.
    fn check_user_settings(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<(), String> {
        let _ = (durability, settings);
        Ok(())
    }

    /// The level of a trial that asks for this one, with these settings (name, value) of the user:
    /// another one if they touch the promise. No program is started. The error says which setting
    /// undoes every level.
    fn find_kept_level(
        &self,
        asked: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<Durability, String> {
        self.check_user_settings(asked, settings).map(|()| asked)
    }

    /// Tells which statements it can run; `None`: all. The plan leaves out tests with other
    /// statements.
    fn statement_check(&self) -> Option<Runs> {
        None
    }

    /// Whether its sessions run texts of SQL, so that [`OpenTerms::preparation`] matters.
    fn prepares(&self) -> bool {
        false
    }

    /// File calls that show deferred work, so that power cuts can be placed there; empty if nothing
    /// shows it, or nothing is deferred.
    fn signatures(&self) -> &'static [PaymentSignature] {
        &[]
    }

    /// Checks, before anything is loaded, whether the engine can be used, and changes nothing. A
    /// private server's program has to exist and to take its settings, the user's `settings` (name,
    /// value) among them. An external server has to take a connection, be recent enough, grant what
    /// is needed, and hold nothing but what may be dropped; with `reuse` that includes what an
    /// earlier run has left. The errors are all obstacles, each with its remedy.
    fn check_ready(
        &self,
        settings: &[(String, String)],
        reuse: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let _ = (settings, reuse);
        self.available().map_err(|problem| vec![problem])
    }

    /// Which part of the check after trials ([`Database::check`]) an external server does not allow,
    /// and what would allow it; `None`: none, or it is not known before.
    fn find_unchecked(&self) -> Option<String> {
        None
    }

    /// The level at which data are loaded; `None`: the weakest. It is another one if the weakest
    /// would leave other files than trials at the other levels begin with.
    fn loads_at(&self) -> Option<Durability> {
        None
    }

    /// Whether commits at this level survive when the engine's process is killed and the system
    /// lives on. If not, a kill takes what a power cut would.
    fn survives_kill(&self, durability: Durability) -> bool {
        let _ = durability;
        true
    }

    /// Every setting under these terms that differs from the engine's default.
    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let _ = terms;
        Vec::new()
    }

    /// The engine's own cache under these terms, without the user's settings; `None` if there is
    /// none or nobody knows.
    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        let _ = terms;
        None
    }

    /// The least memory to open and serve `rows` bytes of rows in `entries` entries of tables and
    /// indexes; `None` if unknown, as with the user's settings in the level.
    fn least_memory(&self, rows: u64, entries: u64) -> Option<Least> {
        let _ = (rows, entries);
        None
    }

    /// Who may give it this setting with this value. One that takes none reserves all.
    fn standing(&self, name: &str, value: &str) -> SettingStanding {
        let _ = (name, value);
        SettingStanding::Reserved
    }

    /// Whether a file, by its path in the database's directory, is the log: what commits write to
    /// and sync. Writes to other files are deferred work.
    fn is_log(&self, file: &FilePath) -> bool {
        let _ = file;
        false
    }

    /// Keeps other bakeoffs off an external database until the claim is dropped; [`Error::Usage`]
    /// if another one has it. Whoever opens the database meanwhile acts for the claimant.
    fn claim(&self) -> Result<DatabaseClaim> {
        Ok(Box::new(()))
    }

    /// Opens the database in a directory, creates the schema if it is not there, and recovers what
    /// a killed process has left. It fails for an invalid schema or a level that can't be given.
    fn open(
        &self,
        directory: &FilePath,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>>;
}

/// An open database. Dropping it closes it cleanly; nothing of it runs on.
pub trait Database: Send + Sync {
    /// A new connection, for the calling thread only. Where statements are SQL, which is a program, it may
    /// read and change rows, and do nothing else.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Fills an empty table as fast as the engine can; nobody else uses the database meanwhile.
    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>>;

    /// Reads every table and index once, so that the caches are as full as after days of work.
    fn warm(&self) -> Result<()>;

    /// Waits until all deferred work is done: checkpoints, flushes, compactions. Then all commits
    /// are in the engine's own files, synced. An external server does nothing: its deferred work is
    /// its owner's.
    fn drain(&self) -> Result<()>;

    /// Runs the engine's own integrity check; returns what it found wrong. It is not measured, and
    /// no memory limit holds while it runs. It fails if the check can't run.
    fn check(&self) -> Result<Vec<String>>;

    /// Which part of [`Self::check`] is left out here, since a right or a part of the server is
    /// missing, and what would allow it; `None`: none.
    fn find_unchecked(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The private server's process, which has the others as children; `None` for other engines.
    fn server(&self) -> Option<u32> {
        None
    }

    /// Where other programs reach the data while it is open, as the user that sessions are; `None` if
    /// nothing is stored.
    fn address(&self) -> Option<DatabaseAddress> {
        None
    }

    /// Lets sessions make tables in a database that has none, until [`Self::return_schema`]. Only a
    /// server has rights to lend.
    fn lend_schema(&self) -> Result<()> {
        Ok(())
    }

    /// Leaves sessions the rows of what they have made.
    fn return_schema(&self) -> Result<()> {
        Ok(())
    }

    /// The engine's counters since the opening (name, value), for the record.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Deferred work as of now; `None` if it can't be known, as for an external server. It may be
    /// called a few times a second beside the sessions, and costs them nothing measurable: it takes
    /// no lock that they wait for, and makes the engine do nothing.
    fn debt(&self) -> Result<Option<Debt>> {
        Ok(None)
    }

    /// Counters that grow when deferred work is done: pages flushed, tables written, a log turned
    /// over. Empty if nothing is deferred, or it isn't counted.
    fn writes_back(&self) -> &'static [&'static str] {
        &[]
    }

    /// Counters that grow when a page or block is not in the engine's own cache; the page cache may
    /// still have it. Empty if there is no cache, or misses aren't counted.
    fn cache_misses(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A bulk load of one table.
pub trait Loader {
    /// Adds a row with every column, keys too. Rows come in ascending key order. The loader passes
    /// them on soon: it keeps no table's rows, but may keep what its indexes need. [`Error::Usage`]
    /// for a row that doesn't fit ([`schema::Table::fits`]), or out of order if the engine needs
    /// that.
    fn row(&mut self, row: &[Value<'_>]) -> Result<()>;

    /// Ends the load; builds the indexes if they were put off.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What a transaction will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads, from one snapshot.
    Read,
    /// May write.
    Write,
}

/// One client's connection.
///
/// A transaction sees its own writes and nobody's unfinished ones, and takes effect as a whole or
/// not at all. Readers and writers don't wait for each other: a transaction reads while another
/// session, even on the same thread, has written and not committed, and a commit does not wait for
/// readers. (So one lock around the whole database for a transaction won't do; an engine that can't
/// undo a transaction is free of this.) Rows that a writing transaction changes, or reads
/// `for_update`, are its own until it ends: of two transactions that would overwrite each other's
/// work, one follows the other or ends in [`Error::Conflict`]. A statement outside `begin` and
/// `commit` is a transaction of its own. After an error in a transaction only `rollback` is
/// allowed.
pub trait Session {
    /// Starts a transaction. [`Error::Usage`] inside a transaction; [`Error::Conflict`].
    fn begin(&mut self, access: Access) -> Result<()>;

    /// Runs a statement by its number (as given to [`Engine::open`]) and writes the answer into
    /// `rows`, which it resets first. Returns the number of rows read or changed.
    /// [`Error::Conflict`], [`Error::Duplicate`], or [`Error::Usage`], also for a value that its
    /// column can't hold ([`statement::ColumnAssignments::fits`]).
    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64>;

    /// Makes the transaction's work visible, as durable as was promised. The transaction has ended
    /// whatever this returns: after any error but [`Error::InDoubt`] it has had no effect.
    /// [`Error::Usage`] outside a transaction.
    fn commit(&mut self) -> Result<()>;

    /// Undoes the transaction's work; does nothing outside a transaction.
    fn rollback(&mut self) -> Result<()>;
}

/// Every engine, in the order of lists.
pub static ENGINES: &[&dyn Engine] = &[
    &sqlite::SQLITE,
    &lmdb::Lmdb::USUAL,
    &fjall::Fjall::USUAL,
    &mysql::INNODB,
    &mysql::ROCKSDB,
    &mysql::ARIA,
    &postgres::POSTGRES,
    &tarantool::MEMTX,
    &tarantool::VINYL,
    &null::NullEngine,
];
