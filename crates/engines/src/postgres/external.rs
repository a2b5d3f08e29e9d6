//! A database on a PostgreSQL server that somebody else runs, by URL:
//! `postgres://user[:password]@host[:port]/database[?name=value]`. The password may also be in
//! `PGPASSWORD` or in a password file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::Client;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::error::NO_PASSWORD;
use super::{PROMISES, PostgresDatabase, settings, survey};
use crate::external::address::{ServerHost, ServerUrl, UrlSyntax};
use crate::external::local_server;
use crate::external::password::{Secret, find_passfile, of_environment, of_passfile};
use crate::external::tls::{Tls, TransportSecurity, read_certificates};
use crate::survey::{LeftoverPolicy, REUSE, SILENCE, ServerSurvey, UrlDatabase};
use crate::{
    Database, DatabaseClaim, Durability, Engine, EngineDescription, EngineHome, OpenTerms, Result,
    Schema, Setting, Statement, fair,
};

const CONNECT: Duration = Duration::from_secs(5);
pub(super) const PORT: u16 = 5432;

const OPTIONS: &str = "options";
const PASSFILE: &str = "passfile";
const SSL_MODE: &str = "sslmode";
const SSL_ROOT: &str = "sslrootcert";
/// Instead of a file: the authorities that the system trusts.
const SYSTEM: &str = "system";

const FORM: UrlSyntax = UrlSyntax {
    scheme: "postgres",
    example: "postgres://user[:password]@host[:port]/database[?name=value&name=value]",
    parameters: &[OPTIONS, PASSFILE, SSL_MODE, SSL_ROOT],
    has_engine: false,
    passwords: "before the host, as in postgres://user:password@host/database, into PGPASSWORD, or \
                into a password file (passfile, PGPASSFILE, ~/.pgpass)",
};

pub struct ExternalPostgres {
    pub(crate) database: UrlDatabase,
    pub(super) config: Config,
    pub(super) tls: Tls,
    /// What is said if the server asks for a password, and none was found.
    no_password: String,
}

impl ExternalPostgres {
    pub fn new(url: &str) -> std::result::Result<Self, String> {
        let mut address = ServerUrl::from_url(url, &FORM)?;
        address.port = address.port.filter(|port| *port != PORT);
        let transport = choose_transport(&address)?;
        let password = find_password(&address)?;
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
        let name = address.to_name(&FORM);
        let database = UrlDatabase::new(name, password, address.password.is_some());
        Ok(Self { database, config, tls, no_password: explain_no_password(&address) })
    }

    fn ask_server(&self) -> &ServerSurvey {
        let terms = OpenTerms { as_is: true, ..OpenTerms::new(Durability::Strict) };
        self.database.survey(|| {
            let mut survey = survey::survey_server(&self.to_trial_config(&terms), &self.tls);
            for problem in &mut survey.problems {
                if problem.contains(NO_PASSWORD) {
                    problem.clone_from(&self.no_password);
                }
            }
            survey
        })
    }

    /// A session with the user's own settings.
    pub(super) fn connect_to_read(&self) -> std::result::Result<Client, String> {
        let connected = survey::connect_within(SILENCE, &self.config, &self.tls);
        connected.map_err(|what| match what.contains(NO_PASSWORD) {
            true => self.no_password.clone(),
            false => self.database.hide_password(&what),
        })
    }

    fn find_listener(&self) -> Option<u32> {
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        match self.config.get_hosts().first()? {
            Host::Unix(folder) => {
                local_server::find_socket_owner(&folder.join(format!(".s.PGSQL.{port}")))
            }
            Host::Tcp(host) => local_server::find_port_owner(host, port),
        }
    }

    /// With what every session of a trial asks for at its login.
    fn to_trial_config(&self, terms: &OpenTerms) -> Config {
        let mut config = self.config.clone();
        let given = config.get_options().map(String::from);
        let ours = self.settings(terms);
        // Tables of the same name in other schemas are not meant, whatever the user's path is.
        let path = Setting::new("search_path", "public", "");
        let options = given.into_iter().chain(ours.iter().chain([&path]).map(format_option));
        let options: Vec<_> = options.collect();
        config.options(options.join(" "));
        config
    }
}

/// The URL's password, that of the environment, or that of a password file.
fn find_password(address: &ServerUrl) -> std::result::Result<Option<Secret>, String> {
    let given = address.password.clone();
    if given.is_some() && address.parameter(PASSFILE).is_some() {
        return Err(format!("the URL has a password and a {PASSFILE}\nleave one of them out"));
    }
    let password = given.map_or_else(|| of_environment("PGPASSWORD"), |given| Ok(Some(given)))?;
    if password.is_some() {
        return Ok(password);
    }
    let Some(path) = address.parameter(PASSFILE).map(PathBuf::from).or_else(find_passfile) else {
        return Ok(None);
    };
    let [host, port] = name_listener(address);
    of_passfile(&path, [&host, &port, &address.database, &address.user])
}

/// The host and port as a password file has them.
fn name_listener(address: &ServerUrl) -> [String; 2] {
    let host = match &address.host {
        ServerHost::Name(name) => name.clone(),
        ServerHost::Folder(folder) => folder.to_string_lossy().into_owned(),
    };
    [host, address.port.unwrap_or(PORT).to_string()]
}

fn explain_no_password(address: &ServerUrl) -> String {
    let [host, port] = name_listener(address);
    let (database, user) = (&address.database, &address.user);
    let line = format!("{host}:{port}:{database}:{user}:password");
    let file = match address.parameter(PASSFILE).map(PathBuf::from).or_else(find_passfile) {
        Some(path) => format!("no line of {} fits", path.display()),
        None => "there is no password file (passfile, PGPASSFILE, ~/.pgpass)".into(),
    };
    format!(
        "the server asks for a password, and none is in the URL, none in PGPASSWORD, and {file}: \
         write it there, in a file as the line {line}"
    )
}

fn choose_transport(address: &ServerUrl) -> std::result::Result<TransportSecurity, String> {
    let authority = address.parameter(SSL_ROOT);
    let file = authority.filter(|file| *file != SYSTEM);
    if let Some(file) = file {
        read_certificates(Path::new(file))?;
    }
    let transport = match address.parameter(SSL_MODE) {
        Some("disable") => TransportSecurity::without_tls(&address.host),
        // As in libpq: with an authority's certificate, it is verified.
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
        None => TransportSecurity::default_for(&address.host),
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

fn format_option(setting: &Setting) -> String {
    let value = setting.value.replace('\\', "\\\\").replace(' ', "\\ ");
    format!("-c {}={value}", setting.name)
}

impl Engine for ExternalPostgres {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.database.name,
            summary: "PostgreSQL, in a server that somebody else runs",
            promises: PROMISES,
            home: EngineHome::External,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn prepares(&self) -> bool {
        true
    }

    fn version(&self) -> String {
        self.ask_server().version.clone()
    }

    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        self.ask_server().check_level(durability)
    }

    fn find_own_level(&self) -> std::result::Result<Durability, String> {
        self.ask_server().find_own_level()
    }

    fn find_local_server(&self) -> Option<u32> {
        self.database.find_process(|| self.find_listener())
    }

    fn check_ready(
        &self,
        _: &[(String, String)],
        reuse: bool,
    ) -> std::result::Result<(), Vec<String>> {
        self.ask_server().check_ready(reuse)
    }

    fn find_unchecked(&self) -> Option<String> {
        self.ask_server().unchecked.clone()
    }

    fn transport(&self) -> Option<TransportSecurity> {
        Some(self.tls.transport())
    }

    fn survives_kill(&self, durability: Durability) -> bool {
        super::survives_kill(durability)
    }

    /// The settings that a session may make for itself; the others belong to the server's owner.
    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut terms = terms.clone();
        terms.settings.retain(|(name, _)| name != REUSE.0);
        fair::with_overrides(settings::of_session(&terms), &terms.settings)
    }

    fn claim(&self) -> Result<DatabaseClaim> {
        let mut client = super::connect_admin(&self.config, &self.tls).map_err(super::to_error)?;
        // A server may end idle sessions; before version 14 there is no such setting.
        let _ = client.batch_execute("SET idle_session_timeout = 0");
        let lock = "SELECT pg_catalog.pg_try_advisory_lock(x'62616b65'::int, x'6f666600'::int)";
        let free: bool = client.query_one(lock, &[]).map_err(super::to_error)?.get(0);
        if free { Ok(Box::new(client)) } else { Err(crate::claimed_error()) }
    }

    fn open(
        &self,
        _: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        let config = self.to_trial_config(terms);
        let mut open =
            PostgresDatabase::new((config, self.tls.clone()), None, terms, schema, statements)?;
        open.prepare_database(LeftoverPolicy::from_terms(terms))?;
        Ok(Box::new(open))
    }
}
