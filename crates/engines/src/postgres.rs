//! PostgreSQL: a private server for each database, or one that somebody else runs.
//!
//! A session is a connection with every statement prepared; parameters and rows are binary.
//! Transactions are `REPEATABLE READ`: of two that would change the same row, the first wins and
//! the other ends in a conflict. Every table's comment says that it is bakeoff's, and how it was
//! made.

#![allow(missing_docs)]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::error::SqlState;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::external::password::Secret;
use crate::external::tls::Tls;
use crate::options::{EngineOption, EngineOptions};
use crate::served::{EngineServer, PATH, ServedData};
use crate::sql::Dialect;
use crate::sql::session::{SqlSession, SqlStatements};
use crate::survey::LeftoverPolicy;
use crate::{
    Database, DatabaseAddress, Debt, Durability, Engine, EngineCache, EngineDescription,
    EngineHome, Error, Least, ListenAddress, Loader, OpenTerms, PaymentSignature, Promise, Result,
    Schema, ServerAddress, Session, Setting, SettingStanding, Statement, fair, files,
};

use debt::PostgresDebtWatch;
use error::{explain_failure, is_ended, no_connection, to_error};
pub use server::POSTGRES as SERVER;

mod cells;
mod check;
pub mod configuration;
mod debt;
mod error;
pub mod external;
mod link;
mod load;
mod login;
mod numeric;
pub(crate) mod reader;
mod review;
mod rights;
mod server;
mod session;
mod settings;
mod survey;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod upkeep;
mod wire;

const SQL: Dialect = Dialect::Postgres;

const OLDEST: u32 = 13;

/// How long a server that starts, recovers or has no free connection is asked again.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Postgres(EngineServer);

pub static POSTGRES: Postgres = Postgres(EngineServer::from_program("postgres", &SERVER));

/// With `synchronous_commit=off` the last commits are in the server's memory alone.
fn survives_kill(durability: Durability) -> bool {
    durability == Durability::Strict
}

impl Postgres {
    fn find_promises(
        &self,
        durability: Durability,
        settings: &[(String, String)],
    ) -> [Option<Durability>; 2] {
        let terms = OpenTerms { settings: settings.to_vec(), ..OpenTerms::new(durability) };
        self.0.find_promises(&terms, settings::of_server(&terms), |all| {
            Some(settings::find_promise(|name| all.last_value(name)))
        })
    }

    fn start_server(&self, directory: &Path, terms: &OpenTerms) -> Result<(Config, ServedData)> {
        let server = self.0.start_server(directory, terms, settings::of_server(terms))?;
        let mut config = Config::new();
        config.user("bakeoff").dbname("postgres").ssl_mode(SslMode::Disable);
        config.host_path(server.socket().parent().unwrap_or(Path::new("/")));
        Ok((config, ServedData::new(server, directory)))
    }
}

/// Only checkpoints sync files of tables, and write the control file at their end; each log segment
/// is written from its start (postgresql.org/docs/current/wal-configuration.html).
static SIGNATURES: [PaymentSignature; 3] = [
    PaymentSignature::syncs("checkpoint", &["*/base/*"]),
    PaymentSignature::writes("checkpoint", &["pg_control"]),
    PaymentSignature::headers("turn of the log", 1, &["*/pg_wal/0*"]),
];

impl Engine for Postgres {
    fn signatures(&self) -> &'static [PaymentSignature] {
        &SIGNATURES
    }

    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.0.name,
            summary: "PostgreSQL, in a private server",
            promises: PROMISES,
            home: EngineHome::Server,
            stores: true,
            rolls_back: true,
            packages: &["postgresql"],
        }
    }

    fn version(&self) -> String {
        self.0.version()
    }

    fn options(&self) -> Vec<EngineOption> {
        vec![settings::COMPRESSION, PATH]
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        Ok(Box::new(Self(self.0.with_options(name, options, settings::stands_for)?)))
    }

    fn available(&self) -> std::result::Result<(), String> {
        self.0.find_program().map(drop)
    }

    fn check_ready(
        &self,
        settings: &[(String, String)],
        _: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let tried =
            self.available().and_then(|()| self.0.try_settings(settings, settings::of_server));
        tried.map_err(|why| vec![why])
    }

    fn survives_kill(&self, durability: Durability) -> bool {
        survives_kill(durability)
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
        self.0.check_user_settings(&terms, &settings::of_server(&terms), settings::keep_level)
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
        self.0.standing(name, value)
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        self.0.replace_settings(settings::of_server(terms), terms)
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        Some(settings::buffer_cache(terms))
    }

    fn least_memory(&self, _: u64, _: u64) -> Option<Least> {
        self.0.is_usual().then_some(settings::LEAST)
    }

    fn prepares(&self) -> bool {
        true
    }

    fn is_log(&self, file: &Path) -> bool {
        file.components().any(|part| part.as_os_str() == "pg_wal")
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        self.check_user_settings(terms.durability, &terms.settings).map_err(Error::Usage)?;
        let (config, private) = self.start_server(directory, terms)?;
        let mut open =
            PostgresDatabase::new((config, Tls::none()), Some(private), terms, schema, statements)?;
        open.prepare_database(LeftoverPolicy::Keep)?;
        Ok(Box::new(open))
    }
}

const PROMISES: [Promise; 3] = [
    Promise::new(
        Durability::None,
        "fsync=off, synchronous_commit=off",
        "never syncs: a crash of the system may corrupt the database beyond recovery \
                 (postgresql.org/docs/current/runtime-config-wal.html#GUC-FSYNC)",
    ),
    Promise::new(
        Durability::Relaxed,
        "synchronous_commit=off, wal_writer_delay=200ms",
        "a crash may take the commits of the last 3 x wal_writer_delay, 0.6 s, and leaves \
                 the rest consistent (postgresql.org/docs/current/wal-async-commit.html)",
    )
    .within(Duration::from_millis(600)),
    Promise::new(
        Durability::Strict,
        "fsync=on, synchronous_commit=on, full_page_writes=on",
        "answers a commit when its log is synced \
                 (postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT)",
    ),
];

struct PostgresDatabase {
    config: Config,
    /// What sessions connect by.
    client: Config,
    tls: Tls,
    terms: OpenTerms,
    schema: Schema,
    statements: SqlStatements<session::PostgresPlan>,
    version: u32,
    before: Vec<(&'static str, u64)>,
    private: Option<ServedData>,
    watch: Option<PostgresDebtWatch>,
}

impl PostgresDatabase {
    fn new(
        (config, tls): (Config, Tls),
        private: Option<ServedData>,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Self> {
        Ok(Self {
            statements: SqlStatements::new(SQL, schema, statements, session::plan_statement)?,
            client: match private {
                Some(_) => rights::to_client(&config),
                None => config.clone(),
            },
            config,
            tls,
            terms: terms.clone(),
            schema: schema.clone(),
            version: 0,
            before: Vec::new(),
            private,
            watch: None,
        })
    }

    fn prepare_database(&mut self, leftovers: LeftoverPolicy) -> Result<()> {
        let mut client = self.connect()?;
        self.version = recent_enough(&mut client)?;
        confirm_durability(&mut client, self.terms.durability)?;
        tables::create_schema(&mut client, &self.schema, leftovers)?;
        if self.private.is_some() {
            rights::grant_rights(&mut client, &self.schema)?;
        }
        self.before = upkeep::read_counters(&mut client, self.version)?;
        if self.private.is_some() {
            self.watch = Some(PostgresDebtWatch::begin(client)?);
        }
        if !self.statements.has_written() {
            return Ok(());
        }
        session::PostgresClient::new(self).map(drop).inspect_err(|_| {
            if leftovers == LeftoverPolicy::Refuse
                && let Ok(mut client) = self.connect()
            {
                tables::drop_made(&mut client);
            }
        })
    }

    fn connect(&self) -> Result<Client> {
        self.connect_by(&self.config, connect_admin)
    }

    /// A server that is busy starting gets time.
    fn connect_by<T>(
        &self,
        config: &Config,
        connect: impl Fn(&Config, &Tls) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let failure = match connect(config, &self.tls) {
                Ok(connection) => return Ok(connection),
                Err(failure) => failure,
            };
            let soon = matches!(
                failure.code(),
                Some(&SqlState::CANNOT_CONNECT_NOW | &SqlState::TOO_MANY_CONNECTIONS)
            );
            if !soon || start.elapsed() > PATIENCE {
                return Err(self.no_connection(&failure));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn no_connection(&self, failure: &postgres::Error) -> Error {
        let what = self.without_password(explain_failure(failure));
        let end = self.private.as_ref().and_then(|private| private.find_end(&what));
        end.unwrap_or_else(|| match is_ended(failure) {
            true => Error::Conflict(format!("the connection was lost: {what}")),
            false => Error::from_engine(no_connection(failure, &what)),
        })
    }

    fn without_password(&self, said: String) -> String {
        match self.config.get_password().map(std::str::from_utf8) {
            Some(Ok(password)) => Secret::new(password).hidden_in(&said),
            _ => said,
        }
    }
}

impl Database for PostgresDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SqlSession::new(session::PostgresClient::new(self)?)))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        Ok(Box::new(load::PostgresLoader::new(self, table)?))
    }

    fn drain(&self) -> Result<()> {
        let Some(private) = &self.private else { return Ok(()) };
        upkeep::drain_server(&mut self.connect()?, &self.schema)?;
        match self.terms.durability {
            Durability::None => files::sync_all(&private.folder),
            _ => Ok(()),
        }
    }

    fn warm(&self) -> Result<()> {
        upkeep::warm_tables(&mut self.connect()?, &self.schema, self.private.is_some())
    }

    fn check(&self) -> Result<Vec<String>> {
        check::check_integrity(&mut self.connect()?, &self.schema)
    }

    fn find_unchecked(&self) -> Result<Option<String>> {
        check::find_unchecked(&mut self.connect()?)
    }

    fn server(&self) -> Option<u32> {
        self.private.as_ref().map(|private| private.server.pid())
    }

    fn lend_schema(&self) -> Result<()> {
        rights::lend_schema(&mut self.connect()?)
    }

    fn return_schema(&self) -> Result<()> {
        rights::return_schema(&mut self.connect()?)
    }

    fn address(&self) -> Option<DatabaseAddress> {
        let config = &self.client;
        let port = config.get_ports().first().copied().unwrap_or(external::PORT);
        let listens = match config.get_hosts().first()? {
            Host::Unix(folder) => ListenAddress::Socket(folder.join(format!(".s.PGSQL.{port}"))),
            Host::Tcp(host) => ListenAddress::Port { host: host.clone(), port },
        };
        let password = config.get_password().and_then(|it| std::str::from_utf8(it).ok());
        Some(DatabaseAddress::Server(ServerAddress {
            listens,
            user: config.get_user().unwrap_or_default().into(),
            password: password.map(Secret::new),
            database: config.get_dbname().unwrap_or_default().into(),
        }))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let now =
            self.connect().and_then(|mut client| upkeep::read_counters(&mut client, self.version));
        let since = |(now, before): ((&'static str, u64), &(&'static str, u64))| {
            (now.0, now.1.saturating_sub(before.1))
        };
        // A server that is gone counts nothing; its next caller reports that.
        now.unwrap_or_default().into_iter().zip(&self.before).map(since).collect()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.watch.as_ref().map(|watch| watch.measure_debt(|| self.connect())).transpose()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        &[
            "blocks written by checkpoints",
            "blocks written in the background",
            "blocks written by clients",
        ]
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        &["blocks read into shared buffers"]
    }
}

fn connect_admin(config: &Config, tls: &Tls) -> std::result::Result<Client, postgres::Error> {
    postgres::Config::from(config.clone()).connect(tls.clone())
}

fn show_setting(client: &mut Client, setting: &str) -> Result<String> {
    let row = client.query_one(&format!("SHOW {setting}"), &[]).map_err(to_error)?;
    row.try_get(0).map_err(to_error)
}

fn recent_enough(client: &mut Client) -> Result<u32> {
    let version = show_setting(client, "server_version_num")?;
    let version = version.parse::<u32>().map_err(Error::from_engine)? / 10_000;
    if version < OLDEST {
        let what = format!("PostgreSQL {version} is older than {OLDEST}: bring it up to date");
        return Err(Error::Usage(what));
    }
    Ok(version)
}

/// What the server's settings promise, as a session has them.
fn read_promise(client: &mut Client) -> Result<Durability> {
    let mut found = Vec::new();
    for name in settings::OF_PROMISE {
        found.push((name, show_setting(client, name)?));
    }
    let value = |name: &str| found.iter().find(|(found, _)| *found == name).map(|(_, it)| &**it);
    Ok(settings::find_promise(value))
}

fn confirm_durability(client: &mut Client, wanted: Durability) -> Result<()> {
    if read_promise(client)? == wanted {
        return Ok(());
    }
    let settings = match wanted {
        Durability::None => [("fsync", "off"), ("synchronous_commit", "off")],
        Durability::Relaxed => [("fsync", "on"), ("synchronous_commit", "off")],
        Durability::Strict => [("fsync", "on"), ("synchronous_commit", "on")],
    };
    for (name, value) in settings.into_iter().chain([("full_page_writes", "on")]) {
        let found = show_setting(client, name)?;
        if found != value {
            let level = wanted.name();
            return Err(Error::Usage(format!(
                "the server runs with {name}={found}, and durability {level} needs \
                 {name}={value}: change the setting, or ask for another level"
            )));
        }
    }
    Ok(())
}
