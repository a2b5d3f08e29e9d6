//! A database on a MySQL or MariaDB server that somebody else runs, by URL:
//! `mysql://user[:password]@host[:port]/database[?name=value][#Engine]`. The password may also be
//! in `MYSQL_PWD` or in a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Opts, OptsBuilder, SslOpts};

use super::{MariaDbDatabase, StorageEngine, error, login, survey};
use crate::external::address::{ServerHost, ServerUrl, UrlSyntax};
use crate::external::local_server;
use crate::external::password::{Secret, of_environment, of_file};
use crate::external::tls::{TransportSecurity, read_certificates, system_roots};
use crate::survey::{LeftoverPolicy, ServerSurvey, UrlDatabase};
use crate::{
    Database, DatabaseClaim, Durability, Engine, EngineDescription, EngineHome, Error, OpenTerms,
    Result, Schema, Setting, Statement,
};

const CONNECT: Duration = Duration::from_secs(5);
const PORT: u16 = 3306;

const SOCKET: &str = "socket";
const PASSWORD_FILE: &str = "password-file";
const SSL_CA: &str = "ssl-ca";
const SSL_MODE: &str = "ssl-mode";

const FORM: UrlSyntax = UrlSyntax {
    scheme: "mysql",
    example: "mysql://user[:password]@host[:port]/database[?name=value&name=value][#Engine]",
    parameters: &[SOCKET, PASSWORD_FILE, SSL_CA, SSL_MODE],
    has_engine: true,
    passwords: "before the host, as in mysql://user:password@host/database, into MYSQL_PWD, or \
                into the file that password-file names",
};

pub struct ExternalMariaDb {
    pub(crate) database: UrlDatabase,
    pub(super) opts: OptsBuilder,
    transport: TransportSecurity,
    storage: StorageEngine,
}

impl ExternalMariaDb {
    pub fn new(url: &str) -> std::result::Result<Self, String> {
        let mut address = ServerUrl::from_url(url, &FORM)?;
        let known = || StorageEngine::ALL.map(StorageEngine::name).join(", ");
        let storage = StorageEngine::from_name(address.engine.as_deref().unwrap_or("InnoDB"));
        let storage = storage.ok_or_else(|| {
            format!("the URL names an unknown storage engine after its #\nvalid: {}", known())
        })?;
        address.engine = Some(storage.name().into());
        address.port = address.port.filter(|port| *port != PORT);
        if let Some(mode) = address.parameters.iter_mut().find(|(name, _)| *name == SSL_MODE) {
            mode.1.make_ascii_uppercase();
        }
        let transport = choose_transport(&address)?;
        let password = match (&address.password, address.parameter(PASSWORD_FILE)) {
            (Some(_), Some(_)) => {
                return Err(format!(
                    "the URL has a password and a {PASSWORD_FILE}\nleave one of them out"
                ));
            }
            (Some(given), None) => Some(given.clone()),
            (None, file) => match of_environment("MYSQL_PWD")? {
                Some(password) => Some(password),
                None => file.map(|file| of_file(Path::new(file))).transpose()?,
            },
        };
        let ServerHost::Name(host) = &address.host else {
            return Err("the URL has a folder for a host\n\
                        name a socket behind the database: localhost/database?socket=/path"
                .into());
        };
        let opts = OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(address.port.unwrap_or(PORT))
            .socket(address.parameter(SOCKET))
            .user(Some(&address.user))
            .pass(password.as_ref().map(Secret::reveal))
            .db_name(Some(&address.database))
            .ssl_opts(to_ssl_options(transport, address.parameter(SSL_CA).map(PathBuf::from)))
            .tcp_connect_timeout(Some(CONNECT))
            .prefer_socket(false);
        let name = address.to_name(&FORM);
        let database = UrlDatabase::new(name, password, address.password.is_some());
        Ok(Self { database, opts, transport, storage })
    }

    fn ask_server(&self) -> &ServerSurvey {
        self.database.survey(|| survey::survey_server(&self.opts, self.storage))
    }
}

fn choose_transport(address: &ServerUrl) -> std::result::Result<TransportSecurity, String> {
    let authority = address.parameter(SSL_CA);
    if let Some(file) = authority {
        read_certificates(Path::new(file))?;
    }
    let by_socket = address.parameter(SOCKET).is_some();
    let transport = match address.parameter(SSL_MODE) {
        Some("DISABLED") if by_socket => TransportSecurity::Local,
        Some("DISABLED") => TransportSecurity::without_tls(&address.host),
        Some("REQUIRED") if authority.is_some() => {
            return Err("ssl-mode=REQUIRED ignores certificates, but ssl-ca names one\nwrite \
                        ssl-mode=VERIFY_IDENTITY, or leave ssl-ca out"
                .into());
        }
        Some("REQUIRED") => TransportSecurity::Unverified,
        Some("VERIFY_IDENTITY") => TransportSecurity::Verified,
        Some("VERIFY_CA") => {
            return Err("ssl-mode=VERIFY_CA would take any server's certificate\n\
                        write ssl-mode=VERIFY_IDENTITY, with the name that the certificate has"
                .into());
        }
        Some("PREFERRED") => {
            return Err("ssl-mode=PREFERRED would go without TLS unasked\n\
                        write ssl-mode=REQUIRED, or DISABLED to go without"
                .into());
        }
        Some(_) => {
            return Err("the URL's ssl-mode has a value that is not valid\nvalid: DISABLED, \
                        REQUIRED, VERIFY_IDENTITY"
                .into());
        }
        None if by_socket => TransportSecurity::Local,
        None if authority.is_some() => TransportSecurity::Verified,
        None => TransportSecurity::default_for(&address.host),
    };
    if transport.is_tls() && by_socket {
        return Err("the URL asks for TLS on a socket of this machine, which has none\n\
                    leave ssl-mode and ssl-ca out, or leave the socket out"
            .into());
    }
    if !transport.is_tls() && authority.is_some() {
        return Err("the URL has an ssl-ca, but goes without TLS\nleave one of them out".into());
    }
    Ok(transport)
}

/// The client always trusts Mozilla's authorities, so an authority is never verified without the
/// name.
fn to_ssl_options(transport: TransportSecurity, authority: Option<PathBuf>) -> Option<SslOpts> {
    let roots = authority.or_else(system_roots);
    let opts = SslOpts::default();
    match transport {
        TransportSecurity::Local | TransportSecurity::Plain => None,
        TransportSecurity::Unverified => Some(
            opts.with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true),
        ),
        TransportSecurity::Authority | TransportSecurity::Verified => {
            Some(opts.with_root_cert_path(roots))
        }
    }
}

impl ExternalMariaDb {
    fn find_listener(&self) -> Option<u32> {
        let opts = Opts::from(self.opts.clone());
        match opts.get_socket() {
            Some(socket) => local_server::find_socket_owner(Path::new(socket)),
            None => local_server::find_port_owner(&opts.get_ip_or_hostname(), opts.get_tcp_port()),
        }
    }
}

impl Engine for ExternalMariaDb {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.database.name,
            summary: "MySQL or MariaDB, in a server that somebody else runs",
            promises: self.storage.promises(),
            home: EngineHome::External,
            stores: true,
            rolls_back: self.storage.rolls_back(),
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

    fn transport(&self) -> Option<TransportSecurity> {
        Some(self.transport)
    }

    /// The server's settings are its owner's.
    fn settings(&self, _: &OpenTerms) -> Vec<Setting> {
        Vec::new()
    }

    fn claim(&self) -> Result<DatabaseClaim> {
        let mut server = login::connect(self.opts.clone())
            .map_err(|error| Error::from_engine(error::no_connection(&error)))?;
        // The longest timeout: a run may take days between two trials of it.
        server.query_drop("SET SESSION wait_timeout = 31536000").map_err(error::to_error)?;
        let lock = "SELECT GET_LOCK(CONCAT('bakeoff ', MD5(DATABASE())), 0)";
        let free: Option<bool> = server.query_first(lock).map_err(error::to_error)?;
        if free == Some(true) { Ok(Box::new(server)) } else { Err(crate::claimed_error()) }
    }

    fn open(
        &self,
        _: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        let mut open = MariaDbDatabase::new(
            (self.opts.clone(), self.storage),
            None,
            terms.preparation,
            schema,
            statements,
        )?;
        survey::bulk_loads(&mut open.connect()?)?;
        open.prepare_database(terms.durability, LeftoverPolicy::from_terms(terms))?;
        Ok(Box::new(open))
    }
}
