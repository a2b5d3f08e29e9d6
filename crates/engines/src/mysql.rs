//! MariaDB's storage engines, each in a private server, and databases on MySQL servers that
//! somebody else runs.
//!
//! A session is a connection of its own with every statement prepared; parameters and rows travel
//! in binary. Text is kept in binary columns, which compare by bytes and pad nothing: MyRocks has
//! no collation that does both. Every table says in its comment that it is bakeoff's, and as what
//! it was made.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_servers::{Launch, Program, Server};
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use crate::sql::Dialect;
use crate::{
    About, Database, Engine, Error, Home, Loader, Result, Schema, Session, Setting, Statement,
    Terms, fair,
};

use session::Plan;
pub use storage::Storage;
use tables::Leftovers;

pub mod elsewhere;
mod error;
mod load;
mod session;
mod storage;
mod tables;
#[cfg(test)]
mod tests;
mod upkeep;

const SQL: Dialect = Dialect::MySql;

/// The database in a private server.
const DATABASE: &str = "bakeoff";

/// A private server with all tables in one storage engine.
pub struct MariaDb(Storage);

/// InnoDB, MariaDB's own choice.
pub static INNODB: MariaDb = MariaDb(Storage::InnoDb);
/// MyRocks: tables in RocksDB.
pub static ROCKSDB: MariaDb = MariaDb(Storage::RocksDb);
/// Aria, the successor of MyISAM.
pub static ARIA: MariaDb = MariaDb(Storage::Aria);

impl Engine for MariaDb {
    fn about(&self) -> About {
        let (name, summary) = match self.0 {
            Storage::InnoDb => ("mariadb:innodb", "MariaDB with InnoDB, in a private server"),
            Storage::RocksDb => ("mariadb:rocksdb", "MariaDB with MyRocks, in a private server"),
            Storage::Aria => (
                "mariadb:aria",
                "MariaDB with Aria, in a private server: locks whole tables, can't roll back",
            ),
        };
        let installed = Program::MariaDb.find();
        About {
            name,
            summary,
            version: installed.map_or("not installed".into(), |found| found.version.clone()),
            promises: self.0.promises(),
            home: Home::Server,
        }
    }

    fn available(&self) -> std::result::Result<(), String> {
        let installed = Program::MariaDb.find().map_err(|error| error.to_string())?;
        match self.0.plugin() {
            Some(plugin) => installed.plugin(plugin).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn settings(&self, terms: &Terms) -> Vec<Setting> {
        fair::with_overrides(fair::mariadb(self.0, terms), terms)
    }

    fn open(
        &self,
        directory: &Path,
        terms: &Terms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        self.available().map_err(Error::engine)?;
        let settings = self.settings(terms).into_iter();
        let launch = Launch {
            directory: directory.into(),
            runtime: terms.runtime.clone(),
            settings: settings.map(|setting| (setting.name, setting.value)).collect(),
            groups: terms.groups.clone(),
        };
        Server::initialise(Program::MariaDb, &launch).map_err(Error::engine)?;
        let server = Server::start(Program::MariaDb, &launch).map_err(Error::engine)?;
        let socket = server.socket().to_string_lossy().into_owned();
        let root = OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        Conn::new(root.clone())
            .and_then(|mut root| root.query_drop(create))
            .map_err(error::plain)?;
        let private = Private { server, data: directory.join("data") };
        let root = root.db_name(Some(DATABASE));
        let open = Open::new(root, self.0.name(), Some(private), schema, statements)?;
        storage::confirm(&mut open.keeper(), self.0, terms.durability)?;
        tables::create(&mut open.keeper(), schema, &open.engine, Leftovers::Keep)?;
        Ok(Box::new(open))
    }
}

/// A private server and its data.
struct Private {
    server: Server,
    data: PathBuf,
}

struct Open {
    opts: Opts,
    /// The storage engine's name.
    engine: String,
    /// What it is known as here, if it is.
    storage: Option<Storage>,
    schema: Schema,
    /// The declared statements.
    texts: Vec<String>,
    plans: Vec<Plan>,
    control: session::Control,
    /// Drains, checks and counts. Closed before the server is stopped.
    keeper: Mutex<Conn>,
    private: Option<Private>,
}

impl Open {
    fn new(
        opts: OptsBuilder,
        engine: &str,
        private: Option<Private>,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Self> {
        let opts = Opts::from(
            opts.prefer_socket(false)
                // The statements are kept by who prepares them.
                .stmt_cache_size(0)
                // An update that changes nothing has found its row all the same.
                .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
                .init(vec![
                    format!(
                        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', \
                         autocommit = 1, default_storage_engine = {}",
                        SQL.quote(engine)
                    ),
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".into(),
                ]),
        );
        let texts = statements.iter().map(|statement| SQL.statement(schema, &statement.action));
        let storage = Storage::of(engine);
        Ok(Self {
            texts: texts.collect::<Result<_>>()?,
            plans: statements.iter().map(|one| session::plan(schema, &one.action)).collect(),
            control: session::Control::new(storage, schema),
            schema: schema.clone(),
            engine: engine.into(),
            storage,
            keeper: Mutex::new(Conn::new(opts.clone()).map_err(error::plain)?),
            opts,
            private,
        })
    }

    fn keeper(&self) -> MutexGuard<'_, Conn> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection.
    fn connect(&self) -> Result<Conn> {
        Conn::new(self.opts.clone()).map_err(|failure| match &self.private {
            Some(private) if !private.server.is_running() => Error::engine(format!(
                "the server has ended ({failure}); the end of its log:\n{}",
                private.server.log()
            )),
            _ => Error::engine(format!("no connection to the server: {failure}")),
        })
    }
}

impl Database for Open {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(session::Client::new(self)?))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        Ok(Box::new(load::Load::new(self, table)?))
    }

    fn drain(&self) -> Result<()> {
        upkeep::drain(&mut self.keeper(), self.storage)?;
        self.private.as_ref().map_or(Ok(()), |private| upkeep::sync_all(&private.data))
    }

    fn check(&self) -> Result<Vec<String>> {
        upkeep::check(&mut self.keeper(), self.storage, &self.schema)
    }

    fn server(&self) -> Option<u32> {
        self.private.as_ref().map(|private| private.server.pid())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // A server that has gone counts nothing any more; whoever uses it next says so.
        upkeep::counters(&mut self.keeper(), self.storage).unwrap_or_default()
    }
}
