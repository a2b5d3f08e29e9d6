//! A database on a MySQL or MariaDB server that somebody else runs, named by its URL:
//! `mysql://user[:password]@host[:port]/database[?socket=path][#Engine]`. The password may be in
//! `MYSQL_PWD` instead.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use super::tables::Leftovers;
use super::{Open, Storage, error, survey};
use crate::survey::Survey;
use crate::{
    About, Claim, Database, Durability, Engine, Error, Home, Result, Schema, Setting, Statement,
    Terms,
};

/// How long a server is given to take a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The setting of a user that allows a database with tables of bakeoff's own making.
const REUSE: (&str, &str) = ("reuse", "yes");

/// A database on a server that somebody else runs.
pub struct Elsewhere {
    /// The URL without its password.
    name: &'static str,
    pub(super) opts: OptsBuilder,
    storage: Storage,
    /// What the server was found to be.
    survey: OnceLock<Survey>,
}

impl Elsewhere {
    /// The database of that URL. Nothing is connected yet.
    ///
    /// # Errors
    /// What is wrong with the URL, without its password.
    pub fn new(url: &str) -> std::result::Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "the URL {what}; a database is \
                 mysql://user[:password]@host[:port]/database[?socket=path][#Engine]"
            )
        };
        let (url, engine) = without_engine(url);
        let storage = Storage::of(&engine).ok_or_else(|| {
            let known = Storage::ALL.map(Storage::name).join(", ");
            wrong(&format!("names a storage engine after the # that is none of {known}"))
        })?;
        let url = url.replacen("mariadb://", "mysql://", 1);
        // The parser's own words may quote the URL.
        let opts = Opts::from_url(&url).map_err(|_| wrong("is no MySQL URL"))?;
        let user = opts.get_user().filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| wrong("names no user"))?;
        let database = opts.get_db_name().filter(|database| !database.is_empty());
        let database = database.ok_or_else(|| wrong("names no database"))?;
        let host = opts.get_ip_or_hostname();
        let port = match opts.get_tcp_port() {
            3306 => String::new(),
            other => format!(":{other}"),
        };
        let socket = opts.get_socket().map(|path| format!("?socket={path}")).unwrap_or_default();
        let name = format!("mysql://{user}@{host}{port}/{database}{socket}#{}", storage.name());
        let given = opts.get_pass().map(String::from);
        let password = given.or_else(|| std::env::var("MYSQL_PWD").ok());
        let opts = OptsBuilder::from_opts(opts.clone())
            .pass(password)
            .tcp_connect_timeout(Some(CONNECT))
            .prefer_socket(false);
        Ok(Self { name: Box::leak(name.into_boxed_str()), opts, storage, survey: OnceLock::new() })
    }

    /// What the server is found to be; it is asked once a process.
    fn survey(&self) -> &Survey {
        self.survey.get_or_init(|| survey::survey(self.opts.clone().into(), self.storage))
    }

    /// The URL without its password.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A URL and the storage engine that its fragment names, InnoDB unless it does.
fn without_engine(url: &str) -> (String, String) {
    let Some((before, after)) = url.split_once('#') else { return (url.into(), "InnoDB".into()) };
    match after.split_once('?') {
        Some((engine, query)) => (format!("{before}?{query}"), engine.into()),
        None => (before.into(), after.into()),
    }
}

impl Engine for Elsewhere {
    fn about(&self) -> About {
        About {
            name: self.name,
            summary: "MySQL or MariaDB, in a server that somebody else runs",
            promises: self.storage.promises(),
            home: Home::Elsewhere,
            stores: true,
        }
    }

    fn version(&self) -> String {
        self.survey().version.clone()
    }

    fn gives(&self, durability: Durability) -> std::result::Result<(), String> {
        self.survey().gives(durability)
    }

    fn ready(&self, reuse: bool) -> std::result::Result<(), Vec<String>> {
        self.survey().ready(reuse)
    }

    /// The server's settings are its owner's.
    fn settings(&self, _: &Terms) -> Vec<Setting> {
        Vec::new()
    }

    fn claim(&self) -> Result<Claim> {
        let mut server = Conn::new(self.opts.clone())
            .map_err(|error| Error::engine(error::no_connection(&error)))?;
        // The longest that there is: a run may take days between two trials of it.
        server.query_drop("SET SESSION wait_timeout = 31536000").map_err(error::plain)?;
        let lock = "SELECT GET_LOCK(CONCAT('bakeoff ', MD5(DATABASE())), 0)";
        let free: Option<bool> = server.query_first(lock).map_err(error::plain)?;
        if free == Some(true) { Ok(Box::new(server)) } else { Err(crate::claimed()) }
    }

    fn open(
        &self,
        _: &Path,
        terms: &Terms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        let reuses = terms.settings.iter().any(|(name, value)| (&**name, &**value) == REUSE);
        let leftovers = if reuses { Leftovers::Reuse } else { Leftovers::Refuse };
        let open = Open::new(self.opts.clone(), self.storage, None, schema, statements)?;
        open.prepare(terms.durability, leftovers)?;
        survey::bulk_loads(&mut open.connect()?)?;
        Ok(Box::new(open))
    }
}
