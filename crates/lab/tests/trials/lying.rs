//! Engines that claim more than their settings give.

use std::path::Path;

use bakeoff_engines::{
    Database, Durability, Engine, EngineDescription, Error, OpenTerms, Result, Schema, Setting,
    Statement, find,
};
use mysql::prelude::Queryable;

/// An engine that is opened at one level, whatever it is asked for.
pub struct Liar {
    pub name: &'static str,
    /// The engine behind it.
    pub engine: &'static str,
    /// The level that it is opened at.
    pub level: Durability,
    /// Settings of its own.
    pub settings: &'static [(&'static str, &'static str)],
    /// What a private server is told when it has started: an engine that is asked for a level looks
    /// whether the server was started with settings that give it.
    pub told: &'static [&'static str],
}

/// So little memory that pages are written all the time, and not only at checkpoints.
const CRAMPED: &[(&str, &str)] = &[("shared_buffers", "128kB")];

/// Each of them.
pub static ALL: [Liar; 10] = [
    plain("sqlite-off", "sqlite"),
    plain("lmdb-nosync", "lmdb"),
    plain("fjall-unsynced", "fjall"),
    plain("postgres-fsync-off", "postgres"),
    Liar {
        name: "postgres-torn-pages",
        engine: "postgres",
        level: Durability::Strict,
        settings: CRAMPED,
        told: &["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"],
    },
    // No lie, to show that it is not the memory that breaks pages.
    Liar {
        name: "postgres-cramped",
        engine: "postgres",
        level: Durability::Strict,
        settings: CRAMPED,
        told: &[],
    },
    Liar {
        name: "innodb-0",
        engine: "mariadb:innodb",
        level: Durability::Relaxed,
        settings: &[],
        told: &["SET GLOBAL innodb_flush_log_at_trx_commit = 0"],
    },
    Liar {
        name: "innodb-2",
        engine: "mariadb:innodb",
        level: Durability::Relaxed,
        settings: &[],
        told: &[],
    },
    Liar {
        name: "myrocks-0",
        engine: "mariadb:rocksdb",
        level: Durability::Relaxed,
        settings: &[],
        told: &["SET GLOBAL rocksdb_flush_log_at_trx_commit = 0"],
    },
    Liar {
        name: "myrocks-2",
        engine: "mariadb:rocksdb",
        level: Durability::Relaxed,
        settings: &[],
        told: &[],
    },
];

/// An engine that is opened at the level that promises nothing.
const fn plain(name: &'static str, engine: &'static str) -> Liar {
    Liar { name, engine, level: Durability::None, settings: &[], told: &[] }
}

/// The liar of that name.
pub fn named(name: &str) -> &'static Liar {
    ALL.iter().find(|liar| liar.name == name).expect("a liar")
}

impl Liar {
    fn behind(&self) -> &'static dyn Engine {
        find(self.engine).expect("an engine that is built in")
    }

    fn terms(&self, terms: &OpenTerms) -> OpenTerms {
        let mut terms = OpenTerms { durability: self.level, ..terms.clone() };
        let own = self.settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        terms.settings.extend(own);
        terms
    }

    /// Tells the private server, over its socket.
    fn tell(&self, terms: &OpenTerms) -> Result<()> {
        let runtime = terms.runtime.as_deref().ok_or_else(|| Error::engine("no server"))?;
        if self.engine == "postgres" {
            let mut config = postgres::Config::new();
            config.user("bakeoff").dbname("postgres").host_path(runtime);
            let mut client = config.connect(postgres::NoTls).map_err(Error::engine)?;
            let tell = |order: &&str| client.simple_query(order).map(drop).map_err(Error::engine);
            return self.told.iter().try_for_each(tell);
        }
        let socket = runtime.join("socket").to_string_lossy().into_owned();
        let opts = mysql::OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        let mut client = mysql::Conn::new(opts).map_err(Error::engine)?;
        self.told.iter().try_for_each(|order| client.query_drop(order).map_err(Error::engine))
    }
}

impl Engine for Liar {
    fn about(&self) -> EngineDescription {
        EngineDescription { name: self.name, ..self.behind().about() }
    }

    fn version(&self) -> String {
        self.behind().version()
    }

    fn available(&self) -> std::result::Result<(), String> {
        self.behind().available()
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        self.behind().settings(&self.terms(terms))
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        // What the server was told at an earlier start.
        let told = directory.join("data/postgresql.auto.conf");
        if told.exists() {
            std::fs::write(told, "")?;
        }
        let database = self.behind().open(directory, &self.terms(terms), schema, statements)?;
        if !self.told.is_empty() {
            self.tell(terms)?;
        }
        Ok(database)
    }
}
