//! MariaDB's storage engines, each in a private server, and databases on MySQL servers that
//! somebody else runs.
//!
//! A session is a connection with every statement prepared; parameters and rows are binary. Text is
//! in binary columns, which compare by bytes and pad nothing: MyRocks has no collation that does
//! both. Every table's comment says that it is bakeoff's, and as what it was made.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use crate::external::password::Secret;
use crate::fair::UserSettings;
use crate::options::{EngineOption, EngineOptions};
use crate::served::{EngineServer, PATH, ServedData};
use crate::sql::Dialect;
use crate::sql::session::{SqlSession, SqlStatements};
use crate::survey::LeftoverPolicy;
use crate::{
    Database, DatabaseAddress, Debt, Durability, Engine, EngineCache, EngineDescription,
    EngineHome, Error, Least, ListenAddress, Loader, OpenTerms, PaymentSignature, Preparation,
    Result, Schema, ServerAddress, Session, Setting, SettingStanding, Statement, fair, files,
};

use debt::MariaDbDebtWatch;
pub use server::MARIADB as SERVER;
use session::{MariaDbClient, MariaDbPlan};
use storage::BlockCompression;
pub use storage::StorageEngine;

pub mod configuration;
mod debt;
mod error;
pub mod external;
mod load;
mod login;
mod promise;
pub(crate) mod reader;
mod review;
mod rights;
mod server;
mod session;
mod settings;
mod signatures;
mod storage;
mod survey;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod text_parts;
mod upkeep;
mod wire;

const SQL: Dialect = Dialect::MySql;

const DATABASE: &str = "bakeoff";

pub struct MariaDb {
    storage: StorageEngine,
    blocks: BlockCompression,
    served: EngineServer,
    plugins: OnceLock<PathBuf>,
}

pub static INNODB: MariaDb = MariaDb::from_storage("mariadb:innodb", StorageEngine::InnoDb);
pub static ROCKSDB: MariaDb = MariaDb::from_storage("mariadb:rocksdb", StorageEngine::RocksDb);
pub static ARIA: MariaDb = MariaDb::from_storage("mariadb:aria", StorageEngine::Aria);

impl MariaDb {
    const fn from_storage(name: &'static str, storage: StorageEngine) -> Self {
        let served = EngineServer::from_program(name, &SERVER);
        Self { storage, blocks: BlockCompression::Recommended, served, plugins: OnceLock::new() }
    }

    fn find_promises(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> [Option<Durability>; 2] {
        let terms = OpenTerms { settings: settings.to_vec(), ..OpenTerms::new(durability) };
        let fair = settings::list_settings(self.storage, self.blocks, &terms);
        self.served.find_promises(&terms, fair, |all| {
            promise::find_promise(self.storage, &|name| settings::user_value(all, name))
        })
    }

    fn start_server(
        &self,
        directory: &Path,
        terms: &OpenTerms,
    ) -> Result<(OptsBuilder, ServedData)> {
        let fair = settings::list_settings(self.storage, self.blocks, terms);
        let server = self.served.start_server(directory, terms, fair)?;
        let socket = server.socket().to_string_lossy().into_owned();
        let root = OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        let told =
            self.storage.startup_commands(terms.durability).iter().map(|text| (*text).to_owned());
        let mut texts = std::iter::once(create).chain(told);
        login::connect(root.clone())
            .and_then(|mut root| {
                texts.try_for_each(|text| root.query_drop(text))?;
                rights::grant_rights(&mut root)
            })
            .map_err(error::to_error)?;
        Ok((root.db_name(Some(DATABASE)), ServedData::new(server, directory)))
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
        let (blocks, options) = self.storage.split_block_options(name, options)?;
        let served = self.served.with_options(name, &options, storage::stands_for)?;
        Ok(Box::new(Self { storage: self.storage, blocks, served, plugins: OnceLock::new() }))
    }

    fn available(&self) -> std::result::Result<(), String> {
        let installed = self.served.find_program()?;
        let Some(plugin) = self.storage.plugin() else { return Ok(()) };
        server::check_plugin(
            self.plugins.get_or_init(|| server::find_plugin_folder(installed)),
            plugin,
        )
    }

    fn check_ready(
        &self,
        settings: &[(String, String)],
        _: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let fair = |terms: &OpenTerms| settings::list_settings(self.storage, self.blocks, terms);
        let tried = self.available().and_then(|()| self.served.try_settings(settings, fair));
        tried.map_err(|why| vec![why])
    }

    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        self.check_user_settings(durability, &[])
    }

    fn check_user_settings(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<(), String> {
        if fair::keeps_promise(self.find_promises(durability, settings)) {
            return Ok(());
        }
        let terms = OpenTerms { settings: settings.to_vec(), ..OpenTerms::new(durability) };
        let fair = settings::list_settings(self.storage, self.blocks, &terms);
        let kept = |level, own: &UserSettings<'_>| settings::keep_level(self.storage, level, own);
        self.served.check_user_settings(&terms, &fair, kept)
    }

    fn find_kept_level(
        &self,
        asked: Durability,
        settings: &[(String, String)],
    ) -> std::result::Result<Durability, String> {
        let kept = fair::find_kept_level(asked, |level| self.find_promises(level, settings));
        kept.map_or_else(|| self.check_user_settings(asked, settings).map(|()| asked), Ok)
    }

    fn standing(&self, name: &str, value: &str) -> SettingStanding {
        self.served.standing(name, value)
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        self.served
            .replace_settings(settings::list_settings(self.storage, self.blocks, terms), terms)
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        let cache = settings::storage_cache(self.storage, terms);
        // Any other method than O_DIRECT, InnoDB's default, reads through the page cache.
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

    fn prepares(&self) -> bool {
        true
    }

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
        self.available().map_err(Error::from_engine)?;
        self.check_user_settings(terms.durability, &terms.settings).map_err(Error::Usage)?;
        let (root, private) = self.start_server(directory, terms)?;
        let mut open = MariaDbDatabase::new(
            (root, self.storage),
            Some(private),
            terms.preparation,
            schema,
            statements,
        )?;
        open.prepare_database(terms.durability, LeftoverPolicy::Keep)?;
        Ok(Box::new(open))
    }
}

/// With what every session asks for at its login.
fn to_session_opts(opts: OptsBuilder, storage: StorageEngine) -> Opts {
    Opts::from(
        opts.prefer_socket(false)
            .stmt_cache_size(0)
            // An update that changes nothing has still found its row.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .init(vec![
                // `||` joins texts, as elsewhere: alone, it would be OR.
                format!(
                    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,\
                     NO_AUTO_VALUE_ON_ZERO,PIPES_AS_CONCAT', autocommit = 1, default_storage_engine = {}",
                    SQL.quote(storage.name())
                ),
                // Texts are bytes, and so are the literals that they are compared with.
                "SET SESSION collation_connection = utf8mb4_bin".into(),
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".into(),
            ]),
    )
}

struct MariaDbDatabase {
    opts: Opts,
    /// What sessions connect by.
    client: Opts,
    /// Of loads, for clients' files.
    permits: Mutex<u32>,
    storage: StorageEngine,
    preparation: Preparation,
    schema: Schema,
    statements: SqlStatements<MariaDbPlan>,
    control: session::TransactionControl,
    private: Option<ServedData>,
    watch: Option<MariaDbDebtWatch>,
}

impl MariaDbDatabase {
    fn new(
        (opts, storage): (OptsBuilder, StorageEngine),
        private: Option<ServedData>,
        preparation: Preparation,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Self> {
        let opts = to_session_opts(opts, storage);
        Ok(Self {
            statements: SqlStatements::new(SQL, schema, statements, session::plan_statement)?,
            control: session::TransactionControl::new(storage, schema),
            schema: schema.clone(),
            storage,
            preparation,
            client: match private {
                Some(_) => rights::to_client(&opts),
                None => opts.clone(),
            },
            permits: Mutex::new(0),
            opts,
            private,
            watch: None,
        })
    }

    fn prepare_database(&mut self, wanted: Durability, leftovers: LeftoverPolicy) -> Result<()> {
        let mut server = self.connect()?;
        storage::confirm_durability(&mut server, self.storage, wanted)?;
        tables::create_schema(&mut server, &self.schema, self.storage.name(), leftovers)?;
        let watch =
            self.private.as_ref().map(|it| MariaDbDebtWatch::begin(server, self.storage, it));
        self.watch = watch.transpose()?;
        if !self.statements.has_written() {
            return Ok(());
        }
        MariaDbClient::new(self).map(drop).inspect_err(|_| {
            if leftovers == LeftoverPolicy::Refuse
                && let Ok(mut server) = self.connect()
            {
                tables::drop_made(&mut server);
            }
        })
    }

    fn connect(&self) -> Result<Conn> {
        self.connect_by(&self.opts)
    }

    fn connect_by(&self, opts: &Opts) -> Result<Conn> {
        login::connect(opts.clone()).map_err(|failure| {
            if error::is_of_tls(&failure) || login::explain_unknown_way(&failure).is_some() {
                return Error::from_engine(error::no_connection(&failure));
            }
            let what = error::explain_failure(&failure);
            if let Some(end) = self.private.as_ref().and_then(|it| it.find_end(&what)) {
                return end;
            }
            // The connection was there, and was lost again.
            if error::is_lost(&failure) && !error::is_unreachable(&failure) {
                let why = self.without_password(what);
                return Error::Conflict(format!("the connection was lost: {why}"));
            }
            Error::from_engine(self.without_password(error::no_connection(&failure)))
        })
    }

    fn without_password(&self, said: String) -> String {
        match self.opts.get_pass() {
            Some(password) => Secret::new(password).hidden_in(&said),
            None => said,
        }
    }
}

impl Database for MariaDbDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SqlSession::new(MariaDbClient::new(self)?)))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        Ok(Box::new(load::MariaDbLoader::new(self, table)?))
    }

    fn drain(&self) -> Result<()> {
        let Some(private) = &self.private else { return Ok(()) };
        upkeep::drain_server(&mut self.connect()?, self.storage)?;
        files::sync_all(&private.folder)
    }

    fn warm(&self) -> Result<()> {
        upkeep::warm_tables(&mut self.connect()?, &self.schema)
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut server = self.connect()?;
        match self.private {
            Some(_) => upkeep::check_integrity(&mut server, self.storage, &self.schema),
            None => upkeep::check_tables(&mut server, &self.schema, ""),
        }
    }

    fn server(&self) -> Option<u32> {
        self.private.as_ref().map(|private| private.server.pid())
    }

    fn lend_schema(&self) -> Result<()> {
        rights::lend_schema(&mut self.connect()?).map_err(error::to_error)
    }

    fn return_schema(&self) -> Result<()> {
        rights::grant_rights(&mut self.connect()?).map_err(error::to_error)
    }

    fn address(&self) -> Option<DatabaseAddress> {
        let opts = &self.client;
        let listens = match opts.get_socket() {
            Some(socket) => ListenAddress::Socket(socket.into()),
            None => ListenAddress::Port {
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
        // A server that is gone counts nothing; its next caller reports that.
        let now =
            self.connect().and_then(|mut server| upkeep::read_counters(&mut server, self.storage));
        now.unwrap_or_default()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.watch.as_ref().map(|watch| watch.measure_debt(|| self.connect())).transpose()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        upkeep::writes_back(self.storage)
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        upkeep::cache_misses(self.storage)
    }
}
