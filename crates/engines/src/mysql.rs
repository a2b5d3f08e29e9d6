//! MariaDB's storage engines, each in a private server, and databases on MySQL servers that
//! somebody else runs.
//!
//! A session is a connection of its own with every statement prepared; parameters and rows travel
//! in binary. Text is kept in binary columns, which compare by bytes and pad nothing: MyRocks has
//! no collation that does both. Every table says in its comment that it is bakeoff's, and as what
//! it was made.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bakeoff_servers::PrivateServer;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use crate::external::password::Secret;
use crate::fair::UserSettings;
use crate::options::{EngineOption, EngineOptions};
use crate::served::{ENDING, EngineServer, PATH};
use crate::sql::Dialect;
use crate::statement::Stored;
use crate::{
    Database, DatabaseAddress, Debt, Durability, Engine, EngineCache, EngineDescription,
    EngineHome, Error, Least, Listens, Loader, OpenTerms, PaymentSignature, Result, Schema,
    ServerAddress, Session, Setting, SettingStanding, Statement, files,
};

use debt::MariaDbDebtWatch;
pub use server::MARIADB as SERVER;
use session::MariaDbPlan;
use storage::BlockCompression;
pub use storage::StorageEngine;
use tables::MariaDbLeftoverPolicy;

mod debt;
mod error;
pub mod external;
mod load;
mod review;
mod server;
mod session;
mod settings;
mod signatures;
mod storage;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod upkeep;
mod wire;

const SQL: Dialect = Dialect::MySql;

/// The database in a private server.
const DATABASE: &str = "bakeoff";

/// A private server with all tables in one storage engine.
pub struct MariaDb {
    storage: StorageEngine,
    /// How MyRocks compresses its blocks.
    blocks: BlockCompression,
    served: EngineServer,
    /// Where its plugins are, once it was asked.
    plugins: OnceLock<PathBuf>,
}

/// InnoDB, MariaDB's own choice.
pub static INNODB: MariaDb = MariaDb::usual("mariadb:innodb", StorageEngine::InnoDb);
/// MyRocks: tables in RocksDB.
pub static ROCKSDB: MariaDb = MariaDb::usual("mariadb:rocksdb", StorageEngine::RocksDb);
/// Aria, the successor of MyISAM.
pub static ARIA: MariaDb = MariaDb::usual("mariadb:aria", StorageEngine::Aria);

impl MariaDb {
    const fn usual(name: &'static str, storage: StorageEngine) -> Self {
        let served = EngineServer::usual(name, &SERVER);
        Self { storage, blocks: BlockCompression::Recommended, served, plugins: OnceLock::new() }
    }

    /// Starts a server, and sees to what it is to be told once it runs.
    fn start(&self, directory: &Path, terms: &OpenTerms) -> Result<(OptsBuilder, PrivateMariaDb)> {
        let fair = settings::settings(self.storage, self.blocks, terms);
        let server = self.served.start(directory, terms, fair)?;
        let socket = server.socket().to_string_lossy().into_owned();
        let root = OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        let told = self.storage.told(terms.durability).iter().map(|text| (*text).to_owned());
        let mut texts = std::iter::once(create).chain(told);
        Conn::new(root.clone())
            .and_then(|mut root| texts.try_for_each(|text| root.query_drop(text)))
            .map_err(error::plain)?;
        Ok((root.db_name(Some(DATABASE)), PrivateMariaDb { server, data: directory.join("data") }))
    }
}

impl Engine for MariaDb {
    fn signatures(&self) -> &'static [PaymentSignature] {
        self.storage.signatures()
    }

    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.served.name,
            summary: self.storage.summary(),
            promises: self.storage.promises(),
            home: EngineHome::Server,
            stores: true,
            rolls_back: self.storage.rolls_back(),
            packages: self.storage.packages(),
        }
    }

    fn version(&self) -> String {
        self.served.version()
    }

    fn options(&self) -> Vec<EngineOption> {
        self.storage.options().iter().copied().chain([PATH]).collect()
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let (blocks, options) = self.storage.blocks(name, options)?;
        let served = self.served.with(name, &options, storage::stands_for)?;
        Ok(Box::new(Self { storage: self.storage, blocks, served, plugins: OnceLock::new() }))
    }

    fn available(&self) -> std::result::Result<(), String> {
        let installed = self.served.program()?;
        let Some(plugin) = self.storage.plugin() else { return Ok(()) };
        server::plugin(self.plugins.get_or_init(|| server::plugins(installed)), plugin)
    }

    fn ready(
        &self,
        settings: &[(String, String)],
        _: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let fair = |terms: &OpenTerms| settings::settings(self.storage, self.blocks, terms);
        let tried = self.available().and_then(|()| self.served.try_settings(settings, fair));
        tried.map_err(|why| vec![why])
    }

    fn gives(&self, durability: Durability) -> std::result::Result<(), String> {
        self.keeps(durability, &[])
    }

    fn keeps(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<(), String> {
        let terms = OpenTerms { settings: settings.to_vec(), ..OpenTerms::new(durability) };
        let fair = settings::settings(self.storage, self.blocks, &terms);
        let kept = |level, own: &UserSettings<'_>| settings::kept(self.storage, level, own);
        self.served.keeps(&terms, &fair, kept)
    }

    fn standing(&self, name: &str, value: &str) -> SettingStanding {
        self.served.standing(name, value)
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        self.served.settings(settings::settings(self.storage, self.blocks, terms), terms)
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        let cache = settings::cache(self.storage, terms);
        // By any other method InnoDB reads through the page cache; O_DIRECT is how it comes.
        let is_buffered = |it: &Setting| {
            it.name == "innodb_flush_method"
                && !it.value.to_ascii_uppercase().starts_with("O_DIRECT")
        };
        let direct = cache.direct && !self.settings(terms).iter().any(is_buffered);
        Some(EngineCache { direct, ..cache })
    }

    fn least_memory(&self, _: u64, _: u64) -> Option<Least> {
        self.storage.least_memory().filter(|_| self.served.is_usual())
    }

    /// InnoDB's log, Aria's, and RocksDB's beside its tables.
    fn is_log(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ib_logfile") || name.starts_with("aria_log.") || name.ends_with(".log")
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        self.available().map_err(Error::engine)?;
        self.keeps(terms.durability, &terms.settings).map_err(Error::Usage)?;
        let (root, private) = self.start(directory, terms)?;
        let mut open = MariaDbDatabase::new(root, self.storage, Some(private), schema, statements)?;
        open.prepare(terms.durability, MariaDbLeftoverPolicy::Keep)?;
        Ok(Box::new(open))
    }
}

/// A private server and its data.
struct PrivateMariaDb {
    server: PrivateServer,
    data: PathBuf,
}

/// An open database.
struct MariaDbDatabase {
    opts: Opts,
    storage: StorageEngine,
    schema: Schema,
    /// The declared statements.
    texts: Vec<String>,
    plans: Vec<MariaDbPlan>,
    stored: Vec<Stored>,
    control: session::TransactionControl,
    private: Option<PrivateMariaDb>,
    /// Of a private server.
    watch: Option<MariaDbDebtWatch>,
}

impl MariaDbDatabase {
    fn new(
        opts: OptsBuilder,
        storage: StorageEngine,
        private: Option<PrivateMariaDb>,
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
                        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,\
                         NO_AUTO_VALUE_ON_ZERO', autocommit = 1, default_storage_engine = {}",
                        SQL.quote(storage.name())
                    ),
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".into(),
                ]),
        );
        let texts = statements.iter().map(|statement| SQL.statement(schema, &statement.action));
        Ok(Self {
            texts: texts.collect::<Result<_>>()?,
            plans: statements.iter().map(|one| session::plan(schema, &one.action)).collect(),
            stored: statements.iter().map(|one| Stored::from_action(schema, &one.action)).collect(),
            control: session::TransactionControl::new(storage, schema),
            schema: schema.clone(),
            storage,
            opts,
            private,
            watch: None,
        })
    }

    /// Looks whether the server is what was asked for, and creates the schema.
    fn prepare(&mut self, wanted: Durability, leftovers: MariaDbLeftoverPolicy) -> Result<()> {
        let mut server = self.connect()?;
        storage::confirm(&mut server, self.storage, wanted)?;
        tables::create(&mut server, &self.schema, self.storage.name(), leftovers)?;
        let watch =
            self.private.as_ref().map(|it| MariaDbDebtWatch::begin(server, self.storage, it));
        self.watch = watch.transpose()?;
        Ok(())
    }

    /// A new connection.
    fn connect(&self) -> Result<Conn> {
        Conn::new(self.opts.clone()).map_err(|failure| match &self.private {
            _ if error::is_of_tls(&failure) => Error::engine(error::no_connection(&failure)),
            Some(private) if private.server.ends_within(ENDING) => Error::engine(format!(
                "the server has ended ({failure}); the end of its log:\n{}",
                private.server.log()
            )),
            // It was there, and was lost again.
            _ if error::is_lost(&failure) && !error::is_unreachable(&failure) => {
                let why = self.without_password(failure.to_string());
                Error::Conflict(format!("the connection was lost: {why}"))
            }
            _ => Error::engine(self.without_password(error::no_connection(&failure))),
        })
    }

    /// What a server said, that was told the password.
    fn without_password(&self, said: String) -> String {
        match self.opts.get_pass() {
            Some(password) => Secret::new(password).hidden_in(&said),
            None => said,
        }
    }
}

impl Database for MariaDbDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(session::MariaDbSession::new(self)?))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        Ok(Box::new(load::MariaDbLoader::new(self, table)?))
    }

    fn drain(&self) -> Result<()> {
        let Some(private) = &self.private else { return Ok(()) };
        upkeep::drain(&mut self.connect()?, self.storage)?;
        files::sync_all(&private.data)
    }

    fn warm(&self) -> Result<()> {
        upkeep::warm(&mut self.connect()?, &self.schema)
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut server = self.connect()?;
        match self.private {
            Some(_) => upkeep::check(&mut server, self.storage, &self.schema),
            None => upkeep::check_tables(&mut server, &self.schema, ""),
        }
    }

    fn server(&self) -> Option<u32> {
        self.private.as_ref().map(|private| private.server.pid())
    }

    fn address(&self) -> Option<DatabaseAddress> {
        let opts = &self.opts;
        let listens = match opts.get_socket() {
            Some(socket) => Listens::Socket(socket.into()),
            None => Listens::Port {
                host: opts.get_ip_or_hostname().into_owned(),
                port: opts.get_tcp_port(),
            },
        };
        Some(DatabaseAddress::Server(ServerAddress {
            listens,
            user: opts.get_user().unwrap_or_default().into(),
            password: opts.get_pass().map(Secret::new),
            database: opts.get_db_name().unwrap_or_default().into(),
        }))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // A server that has gone counts nothing any more; whoever uses it next says so.
        let now = self.connect().and_then(|mut server| upkeep::counters(&mut server, self.storage));
        now.unwrap_or_default()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.watch.as_ref().map(|watch| watch.debt(|| self.connect())).transpose()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        upkeep::writes_back(self.storage)
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        upkeep::cache_misses(self.storage)
    }
}
