//! The contract between what is measured and what measures it, then one file or folder an engine.
//!
//! An engine stores tables and runs declared statements in transactions. It must never know
//! what the rows mean, who sends the statements, how they are timed, or what stands above or
//! beside it: no workload, no disk model, no report. [`null`] shows the whole contract on one page.

use std::path::{Path as FilePath, PathBuf};

mod address;
mod debt;
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
pub mod postgres;
pub mod schema;
mod served;
mod socket;
pub mod sql;
pub mod sqlite;
pub mod statement;
mod survey;
pub mod tarantool;
pub mod urls;
mod value;

pub use address::{DatabaseAddress, Listens, ServerAddress};
pub use bakeoff_servers::{SettingStanding, servers_go_by_path};
pub use debt::{Debt, DebtTurn, DebtUnit, Owed, Payment, PaymentCall, PaymentSignature};
pub use durability::{Durability, Promise};
pub use error::{Error, Result};
pub use fair::{EngineCache, Least, Setting};
pub use lookup::{find, find_among, find_with};
pub use options::{EngineLevel, EngineOption, EngineOptions};
pub use schema::Schema;
pub use statement::{Action, Statement};
pub use value::{Rows, Value};

/// The terms under which an engine is opened; they may differ each time it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTerms {
    /// What a commit promises.
    pub durability: Durability,
    /// Bytes that the engine's processes and their page cache have together, where they are
    /// limited. The engine sizes its caches by it (see [`fair`]); somebody else enforces it.
    pub memory_bytes: Option<u64>,
    /// Settings of the user's own, by name; they take the place of the fair ones.
    pub settings: Vec<(String, String)>,
    /// Where a server keeps what is not data: its socket, log and configuration. `None`: a folder
    /// in the database's directory.
    pub runtime: Option<PathBuf>,
    /// The control groups that a server's processes belong into: each group's `cgroup.procs`.
    pub groups: Vec<PathBuf>,
}

impl OpenTerms {
    /// A durability level; nothing limited, nothing overridden.
    pub const fn new(durability: Durability) -> Self {
        Self {
            durability,
            memory_bytes: None,
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
    /// In a private server that is started for the database and stopped with it.
    Server,
    /// In a server that somebody else runs: it has no directory, and can't be limited, put on
    /// another disk or killed. Its database is emptied and filled anew instead of restored.
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
    /// Whether it stores anything. One that does not measures the harness: nothing can be read back
    /// from it or lost, and its calls never wait, so that clients can share a thread.
    pub stores: bool,
    /// Whether it can undo a transaction. Where it can't, rolling back a change is an error.
    pub rolls_back: bool,
    /// Debian's packages that bring it; none for one that is built in.
    pub packages: &'static [&'static str],
}

/// A claim on a database: while it exists, other bakeoffs can't use that database.
pub type DatabaseClaim = Box<dyn Send>;

/// What is said where another bakeoff has the claim.
fn claimed() -> Error {
    Error::Usage(
        "another bakeoff is using this database, and its tables would be dropped: wait until it \
         has ended, or name another database"
            .into(),
    )
}

/// Says whether an engine can run a statement on tables of a schema, and if not, why.
pub type Runs = fn(&Schema, &Statement) -> std::result::Result<(), String>;

/// An engine, closed: it knows how to open databases of its kind.
pub trait Engine: Send + Sync {
    /// What a user should know of it. It is known without a look at the machine: no program is
    /// started, and nothing is connected.
    fn about(&self) -> EngineDescription;

    /// The version that is built in or installed; a server may be asked for it.
    fn version(&self) -> String;

    /// Where it does its work, as in [`EngineDescription`].
    fn home(&self) -> EngineHome {
        self.about().home
    }

    /// The options that a level may give it: `NAME/option=value`. One with a private server takes every
    /// setting of that by its name besides, as far as [`Engine::standing`] has it.
    fn options(&self) -> Vec<EngineOption> {
        Vec::new()
    }

    /// The same engine with options of a level, which is its name then. The options are declared
    /// ones, or settings of its private server.
    ///
    /// # Errors
    /// What is wrong with them together in a line, and how to mend it in the lines after that.
    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let _ = options;
        Err(format!("{name} can't be had: the engine takes no options"))
    }

    /// How it is spoken to, for one on a server that somebody else runs.
    fn transport(&self) -> Option<external::TransportSecurity> {
        None
    }

    /// Whether it can be used on this machine, and if not, what is missing and the command that
    /// brings it.
    ///
    /// # Errors
    /// That text.
    fn available(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Whether the engine gives a level of durability. A server that somebody else runs is asked, once a
    /// process, what its settings give. A server that doesn't answer is taken to give every level:
    /// [`Engine::ready`] says that it doesn't answer.
    ///
    /// # Errors
    /// Why the engine does not give the level, and what would change that.
    fn gives(&self, durability: Durability) -> std::result::Result<(), String> {
        let promises = self.about().promises;
        match promises.iter().find(|it| it.durability == durability) {
            Some(Promise { settings: Some(_), .. }) => Ok(()),
            Some(promise) => Err(format!("it has no such level: {}", promise.source)),
            None => Err("it has no such level".into()),
        }
    }

    /// Whether a level of durability that it gives is still that level with these settings of the user's own,
    /// name and value, beside those of its own level. No program is started to find out.
    ///
    /// # Errors
    /// Which setting undoes the level, and what to do.
    fn keeps(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<(), String> {
        let _ = (durability, settings);
        Ok(())
    }

    /// What tells the statements that it can run from those that it can't; `None` for an engine that runs
    /// all. A test with a statement that it can't run is left out of the plan.
    fn runs(&self) -> Option<Runs> {
        None
    }

    /// What in its files shows that it is paying a debt, so that power cuts can be placed there; empty
    /// where nothing does, or nothing is put off.
    fn signatures(&self) -> &'static [PaymentSignature] {
        &[]
    }

    /// Tries, before anything is loaded, whether the engine can be used, and changes nothing. A private
    /// server's program has to be there and to take its settings, the user's own `settings` (name and
    /// value) among them. A server that somebody else runs has to take a connection, to be recent enough,
    /// to grant what is needed, and to hold nothing but what may be dropped: with `reuse` also what an
    /// earlier run has left.
    ///
    /// # Errors
    /// All that stands in the way, each with its remedy.
    fn ready(
        &self,
        settings: &[(String, String)],
        reuse: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let _ = (settings, reuse);
        self.available().map_err(|problem| vec![problem])
    }

    /// The level at which data are loaded into a new database; `None` for the weakest that it gives. It is
    /// another one where the weakest would leave other files than trials at the other levels begin with.
    fn loads_at(&self) -> Option<Durability> {
        None
    }

    /// Whether what was committed at this level is still there when the engine's own process is
    /// killed and the system lives on. Where it is not, the process's death takes what a power cut
    /// would.
    fn survives_kill(&self, durability: Durability) -> bool {
        let _ = durability;
        true
    }

    /// Every setting that it gets under these terms and that differs from its own default.
    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let _ = terms;
        Vec::new()
    }

    /// The cache that it keeps for itself under these terms, the settings of the user's own left aside;
    /// `None` where it keeps none, or nobody knows.
    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        let _ = terms;
        None
    }

    /// The least memory that it needs to be opened and to serve data whose rows have so many bytes, in so many
    /// entries of tables and indexes; `None` where that isn't known, as with settings of the user's own in its
    /// level.
    fn least_memory(&self, rows: u64, entries: u64) -> Option<Least> {
        let _ = (rows, entries);
        None
    }

    /// Who may have it use a setting of that name with that value. An engine without a server of
    /// its own takes none.
    fn standing(&self, name: &str, value: &str) -> SettingStanding {
        let _ = (name, value);
        SettingStanding::Reserved
    }

    /// Whether a file, by its path in the database's directory, is its log: what a commit is written
    /// to first, and the sync that a commit waits for. What it writes to any other file is work that
    /// it had put off.
    fn is_log(&self, file: &FilePath) -> bool {
        let _ = file;
        false
    }

    /// Keeps other bakeoffs off a database on a server elsewhere, until what is returned is dropped.
    /// Whoever opens the database meanwhile does so on the claimant's behalf.
    ///
    /// # Errors
    /// [`Error::Usage`] where another one has claimed it; the engine's own.
    fn claim(&self) -> Result<DatabaseClaim> {
        Ok(Box::new(()))
    }

    /// Opens the database in a directory, and creates the schema if it is not there.
    /// Recovers whatever an earlier process that was killed has left.
    ///
    /// # Errors
    /// A schema that is not valid, a level that the engine can't give, or the engine's own error.
    fn open(
        &self,
        directory: &FilePath,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>>;
}

/// An open database. Dropping it closes it cleanly; nothing of it runs on after that.
pub trait Database: Send + Sync {
    /// A new connection, to be used on the calling thread alone.
    ///
    /// # Errors
    /// The engine's own.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Fills an empty table as fast as the engine can; nobody else uses the database meanwhile.
    ///
    /// # Errors
    /// The engine's own.
    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>>;

    /// Reads every table and index once, so that what the engine keeps in memory is there as far as it
    /// fits, as after days of work.
    ///
    /// # Errors
    /// The engine's own.
    fn warm(&self) -> Result<()>;

    /// Waits until all deferred work is done: checkpoints, flushes, compactions. All that was committed is
    /// in the engine's own files afterwards, synced. An external server does nothing: its deferred work,
    /// and the settings that would change it, are its owner's.
    ///
    /// # Errors
    /// The engine's own.
    fn drain(&self) -> Result<()>;

    /// Runs the engine's own check of its integrity; returns what it found wrong. It is not measured, and no
    /// limit of memory holds while it runs.
    ///
    /// # Errors
    /// The engine's own, when the check itself can't run.
    fn check(&self) -> Result<Vec<String>>;

    /// The process that does the engine's work, with its children: a private server's. `None` for
    /// an engine that works in this process, and for a server elsewhere.
    fn server(&self) -> Option<u32> {
        None
    }

    /// Where other programs reach what it holds, as long as it is open; `None` for an engine that stores
    /// nothing.
    fn address(&self) -> Option<DatabaseAddress> {
        None
    }

    /// What the engine counts of itself since it was opened (name, value), for the record.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What it owes as of now; `None` where that can't be known, as of a server elsewhere. It may be
    /// asked a few times a second from any thread while sessions are at work, and costs them nothing that
    /// could be measured: it takes no lock that they wait for, and has the engine pay nothing.
    ///
    /// # Errors
    /// The engine's own.
    fn debt(&self) -> Result<Option<Debt>> {
        Ok(None)
    }

    /// Those of its counters that grow when it writes back what it had put off: pages flushed, tables
    /// written, a log turned over. Where none of them grows, it has only run up debts. Empty where
    /// it puts nothing off, or does not count it.
    fn writes_back(&self) -> &'static [&'static str] {
        &[]
    }

    /// Those of its counters that grow when it does not find a page or a block in its own cache: the page
    /// cache of the system may still have it. Empty where it has no cache of its own, or does not count
    /// this.
    fn cache_misses(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A bulk load of one table.
pub trait Loader {
    /// Adds a row, every column given, keys too. Rows come in ascending order of their keys. It is
    /// handed on before long: a loader keeps no table's rows, but may keep what its indexes need.
    ///
    /// # Errors
    /// [`Error::Usage`] for a row that does not fit its table ([`schema::Table::fits`]), or that comes
    /// out of order, where the engine needs that; the engine's own.
    fn row(&mut self, row: &[Value<'_>]) -> Result<()>;

    /// Ends the load; builds the table's indexes, if they were put off.
    ///
    /// # Errors
    /// The engine's own.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What a transaction is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads, from one snapshot.
    Read,
    /// It may write.
    Write,
}

/// One client's connection.
///
/// A transaction sees its own writes and nobody's unfinished ones, and takes effect as a whole or
/// not at all. Readers and writers don't wait for each other: a transaction reads while another
/// session, be it on the same thread, has written and not committed, and a commit does not wait for
/// those who read. (So one lock around the whole database, held for a transaction, will not do; an
/// engine that can't undo a transaction is free of this.) Rows that a writing transaction changes,
/// or reads `for_update`, are its own until it ends: two transactions that would overwrite each
/// other's work follow one another, or one of them ends in [`Error::Conflict`]. A statement
/// outside `begin` and `commit` is a transaction of its own. After an error in a transaction the
/// only call that is allowed is `rollback`.
pub trait Session {
    /// Starts a transaction.
    ///
    /// # Errors
    /// [`Error::Usage`] inside a transaction; [`Error::Conflict`]; the engine's own.
    fn begin(&mut self, access: Access) -> Result<()>;

    /// Runs the statement of that number (as given to [`Engine::open`]) and puts what it answers
    /// into `rows`, which it resets first. Returns the number of rows read or changed.
    ///
    /// # Errors
    /// [`Error::Conflict`]; [`Error::Duplicate`]; [`Error::Usage`], also for a value that its column
    /// can't hold ([`statement::Stored::fits`]); or the engine's own.
    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64>;

    /// Makes the transaction's work visible, and as durable as was promised. The transaction has
    /// ended whatever this returns: with an error other than [`Error::InDoubt`], it has had no
    /// effect.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::InDoubt`], [`Error::Usage`] outside a transaction, or the
    /// engine's own.
    fn commit(&mut self) -> Result<()>;

    /// Undoes the transaction's work; does nothing outside a transaction.
    ///
    /// # Errors
    /// The engine's own.
    fn rollback(&mut self) -> Result<()>;
}

/// Every engine, in the order in which they are listed.
pub static ENGINES: &[&dyn Engine] = &[
    &sqlite::Sqlite,
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
