//! A database on a PostgreSQL server that somebody else runs, named by its URL:
//! `postgres://user[:password]@host[:port]/database[?name=value]`. The password may be in
//! `PGPASSWORD` or in a password file instead.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::tables::PostgresLeftoverPolicy;
use super::{PROMISES, PostgresDatabase, settings, survey};
use crate::external::Password;
use crate::external::address::{Form, ServerHost, ServerUrl};
use crate::external::password::{Secret, of_environment, of_passfile, passfile};
use crate::external::tls::{Tls, TransportSecurity, certificates};
use crate::survey::ServerSurvey;
use crate::{
    Database, DatabaseClaim, Durability, Engine, EngineDescription, EngineHome, OpenTerms, Result,
    Schema, Setting, Statement, fair,
};

/// How long a server is given to take a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The port of a server whose URL names none.
pub(super) const PORT: u16 = 5432;

/// The setting of a user that allows a database with tables of bakeoff's own making.
const REUSE: (&str, &str) = ("reuse", "yes");

const OPTIONS: &str = "options";
const PASSFILE: &str = "passfile";
const SSL_MODE: &str = "sslmode";
const SSL_ROOT: &str = "sslrootcert";
/// The authorities that the system trusts, instead of a file.
const SYSTEM: &str = "system";

const FORM: Form = Form {
    scheme: "postgres",
    example: "postgres://user[:password]@host[:port]/database[?name=value&name=value]",
    parameters: &[OPTIONS, PASSFILE, SSL_MODE, SSL_ROOT],
    has_engine: false,
    passwords: "before the host, as in postgres://user:password@host/database, into PGPASSWORD, or \
                into a password file (passfile, PGPASSFILE, ~/.pgpass)",
};

/// A database on a server that somebody else runs.
pub struct ExternalPostgres {
    /// The URL without its password.
    pub(super) name: &'static str,
    pub(super) config: Config,
    pub(super) tls: Tls,
    password: Option<Secret>,
    /// Whether the URL had it.
    url_has_it: bool,
    /// What the server was found to be.
    survey: OnceLock<ServerSurvey>,
}

impl ExternalPostgres {
    /// The database of that URL. Nothing is connected yet.
    ///
    /// # Errors
    /// What is wrong with the URL, without its password, in a line; how to mend it in others.
    pub fn new(url: &str) -> std::result::Result<Self, String> {
        let mut address = ServerUrl::parse(url, &FORM)?;
        address.port = address.port.filter(|port| *port != PORT);
        let transport = transport(&address)?;
        let password = password(&address)?;
        let roots = address.parameter(SSL_ROOT).filter(|path| *path != SYSTEM);
        let tls = Tls::new(transport, &address.host, roots.map(PathBuf::from));
        let mut config = Config::new();
        config.user(&address.user).dbname(&address.database);
        config.port(address.port.unwrap_or(PORT));
        match &address.host {
            ServerHost::Name(name) => config.host(name),
            ServerHost::Folder(folder) => config.host_path(folder),
        };
        if let Some(options) = address.parameter(OPTIONS) {
            config.options(options);
        }
        if let Some(password) = &password {
            config.password(password.reveal());
        }
        let with_tls = if transport.is_tls() { SslMode::Require } else { SslMode::Disable };
        config.ssl_mode(with_tls).application_name("bakeoff").connect_timeout(CONNECT);
        let url_has_it = address.password.is_some();
        let name = String::leak(address.name(&FORM));
        Ok(Self { name, config, tls, password, url_has_it, survey: OnceLock::new() })
    }

    /// What the server is found to be; it is asked once a process.
    fn survey(&self) -> &ServerSurvey {
        let ask = || survey::survey(&self.config, &self.tls);
        self.survey.get_or_init(|| ask().without(self.password.as_ref()))
    }

    /// The URL without its password.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where its password was.
    pub fn password(&self) -> Password {
        match &self.password {
            None => Password::Missing,
            Some(_) if self.url_has_it => Password::Url,
            Some(_) => Password::Kept,
        }
    }
}

/// The password: the URL's own, that of the environment, or that of a password file.
fn password(address: &ServerUrl) -> std::result::Result<Option<Secret>, String> {
    let given = address.password.clone();
    if given.is_some() && address.parameter(PASSFILE).is_some() {
        return Err(format!("the URL has a password and a {PASSFILE}\nleave one of them out"));
    }
    if let Some(password) = given.or_else(|| of_environment("PGPASSWORD")) {
        return Ok(Some(password));
    }
    let Some(path) = address.parameter(PASSFILE).map(PathBuf::from).or_else(passfile) else {
        return Ok(None);
    };
    let host = match &address.host {
        ServerHost::Name(name) => name.clone(),
        ServerHost::Folder(folder) => folder.to_string_lossy().into_owned(),
    };
    let port = address.port.unwrap_or(PORT).to_string();
    of_passfile(&path, [&host, &port, &address.database, &address.user])
}

/// How the server is spoken to, by what the URL says of TLS.
fn transport(address: &ServerUrl) -> std::result::Result<TransportSecurity, String> {
    let authority = address.parameter(SSL_ROOT);
    let file = authority.filter(|file| *file != SYSTEM);
    if let Some(file) = file {
        certificates(Path::new(file))?;
    }
    let transport = match address.parameter(SSL_MODE) {
        Some("disable") => TransportSecurity::without_tls(&address.host),
        // As libpq has it: with an authority's certificate, it is looked at.
        Some("require" | "verify-ca") if file.is_some() => TransportSecurity::Authority,
        Some("require") if authority.is_none() => TransportSecurity::Unverified,
        Some("require" | "verify-ca") => {
            return Err("the URL would take any server's certificate of any authority\n\
                        name the server's own by sslrootcert=FILE, or write sslmode=verify-full"
                .into());
        }
        Some("verify-full") => TransportSecurity::Verified,
        Some("allow" | "prefer") => {
            return Err("sslmode=allow and sslmode=prefer would go without TLS unasked\n\
                        write sslmode=require, or sslmode=disable to go without"
                .into());
        }
        Some(_) => {
            return Err(
                "the URL's sslmode has a value that is not valid\nvalid: disable, require, \
                 verify-ca, verify-full"
                    .into(),
            );
        }
        None if authority.is_some() => TransportSecurity::Verified,
        None => TransportSecurity::usual(&address.host),
    };
    let by_socket = matches!(address.host, ServerHost::Folder(_));
    if transport.is_tls() && by_socket {
        return Err("the URL asks for TLS on a socket of this machine, which has none\n\
                    leave sslmode and sslrootcert out, or name a host"
            .into());
    }
    if !transport.is_tls() && authority.is_some() {
        return Err(
            "the URL has an sslrootcert, but goes without TLS\nleave one of them out".into()
        );
    }
    Ok(transport)
}

/// A setting as the server takes it at the start of a session.
fn option(setting: &Setting) -> String {
    let value = setting.value.replace('\\', "\\\\").replace(' ', "\\ ");
    format!("-c {}={value}", setting.name)
}

impl Engine for ExternalPostgres {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "PostgreSQL, in a server that somebody else runs",
            promises: PROMISES,
            home: EngineHome::External,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        self.survey().version.clone()
    }

    fn gives(&self, durability: Durability) -> std::result::Result<(), String> {
        self.survey().gives(durability)
    }

    fn ready(&self, _: &[(String, String)], reuse: bool) -> std::result::Result<(), Vec<String>> {
        self.survey().ready(reuse)
    }

    fn transport(&self) -> Option<TransportSecurity> {
        Some(self.tls.transport())
    }

    /// As with a private server.
    fn survives_kill(&self, durability: Durability) -> bool {
        super::survives_kill(durability)
    }

    /// What a session may set for itself; the rest is the server's owner's.
    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut terms = terms.clone();
        terms.settings.retain(|(name, _)| name != REUSE.0);
        fair::with_overrides(settings::of_session(&terms), &terms.settings)
    }

    fn claim(&self) -> Result<DatabaseClaim> {
        let mut client = super::connect(&self.config, &self.tls).map_err(super::error)?;
        // A server may end sessions that are idle; before version 14 there is no such setting.
        let _ = client.batch_execute("SET idle_session_timeout = 0");
        let lock = "SELECT pg_catalog.pg_try_advisory_lock(x'62616b65'::int, x'6f666600'::int)";
        let free: bool = client.query_one(lock, &[]).map_err(super::error)?.get(0);
        if free { Ok(Box::new(client)) } else { Err(crate::claimed()) }
    }

    fn open(
        &self,
        _: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        let mut config = self.config.clone();
        let given = config.get_options().map(String::from);
        let ours = self.settings(terms);
        // A table of the same name in another schema is not meant, whatever the user's path is.
        let path = Setting::new("search_path", "public", "");
        let options = given.into_iter().chain(ours.iter().chain([&path]).map(option));
        let options: Vec<_> = options.collect();
        config.options(options.join(" "));
        let reuses = terms.settings.iter().any(|(name, value)| (&**name, &**value) == REUSE);
        let leftovers =
            if reuses { PostgresLeftoverPolicy::Reuse } else { PostgresLeftoverPolicy::Refuse };
        let mut open =
            PostgresDatabase::new((config, self.tls.clone()), None, terms, schema, statements)?;
        open.prepare(leftovers)?;
        Ok(Box::new(open))
    }
}
