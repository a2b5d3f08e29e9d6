//! A database on a PostgreSQL server that somebody else runs, named by its URL:
//! `postgres://user[:password]@host[:port]/database`. The password may be in `PGPASSWORD` instead.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tokio_postgres::Config;

use super::tables::Leftovers;
use super::{Open, PROMISES, survey};
use crate::survey::Survey;
use crate::{
    About, Claim, Database, Durability, Engine, Home, Result, Schema, Setting, Statement, Terms,
    fair,
};

/// How long a server is given to take a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The setting of a user that allows a database with tables of bakeoff's own making.
const REUSE: (&str, &str) = ("reuse", "yes");

/// A database on a server that somebody else runs.
pub struct Elsewhere {
    /// The URL without its password.
    pub(super) name: &'static str,
    pub(super) config: Config,
    /// What the server was found to be.
    survey: OnceLock<Survey>,
}

impl Elsewhere {
    /// The database of that URL. Nothing is connected yet.
    ///
    /// # Errors
    /// What is wrong with the URL, without its password.
    pub fn new(url: &str) -> std::result::Result<Self, String> {
        let name = without_password(url)?;
        let wrong = |what: &str| {
            format!("{name}: {what}; a database is postgres://user[:password]@host[:port]/database")
        };
        // The parser's own words may quote the URL.
        let mut config: Config = url.parse().map_err(|_| wrong("is no PostgreSQL URL"))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("names no host"));
        }
        if config.get_user().is_none() {
            return Err(wrong("names no user"));
        }
        if config.get_dbname().is_none() {
            return Err(wrong("names no database"));
        }
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        config.application_name("bakeoff").connect_timeout(CONNECT);
        Ok(Self { name: Box::leak(name.into_boxed_str()), config, survey: OnceLock::new() })
    }

    /// What the server is found to be; it is asked once a process.
    fn survey(&self) -> &Survey {
        self.survey.get_or_init(|| survey::survey(&self.config))
    }

    /// The URL without its password.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A URL as it may be shown.
fn without_password(url: &str) -> std::result::Result<String, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let rest = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}@{host}{}", &rest[authority.len()..])
        }
        None => rest.into(),
    };
    if rest.split_once('?').is_some_and(|(_, options)| options.contains("password=")) {
        return Err("a password belongs before the host, as in \
                    postgres://user:password@host/database, or into PGPASSWORD"
            .into());
    }
    Ok(format!("{scheme}://{rest}"))
}

/// A setting as the server takes it at the start of a session.
fn option(setting: &Setting) -> String {
    let value = setting.value.replace('\\', "\\\\").replace(' ', "\\ ");
    format!("-c {}={value}", setting.name)
}

impl Engine for Elsewhere {
    fn about(&self) -> About {
        About {
            name: self.name,
            summary: "PostgreSQL, in a server that somebody else runs",
            promises: PROMISES,
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

    /// As with a private server.
    fn survives_kill(&self, durability: Durability) -> bool {
        super::Postgres.survives_kill(durability)
    }

    /// What a session may set for itself; the rest is the server's owner's.
    fn settings(&self, terms: &Terms) -> Vec<Setting> {
        let mut terms = terms.clone();
        terms.settings.retain(|(name, _)| name != REUSE.0);
        fair::with_overrides(fair::postgres_session(&terms), &terms)
    }

    fn claim(&self) -> Result<Claim> {
        let mut client = super::connect(&self.config).map_err(super::error)?;
        // A server may end sessions that are idle; before version 14 there is no such setting.
        let _ = client.batch_execute("SET idle_session_timeout = 0");
        let lock = "SELECT pg_catalog.pg_try_advisory_lock(x'62616b65'::int, x'6f666600'::int)";
        let free: bool = client.query_one(lock, &[]).map_err(super::error)?.get(0);
        if free { Ok(Box::new(client)) } else { Err(crate::claimed()) }
    }

    fn open(
        &self,
        _: &Path,
        terms: &Terms,
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
        let leftovers = if reuses { Leftovers::Reuse } else { Leftovers::Refuse };
        let mut open = Open::new(config, None, terms, schema, statements)?;
        open.prepare(leftovers)?;
        Ok(Box::new(open))
    }
}
