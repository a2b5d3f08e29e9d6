//! Engines that claim more than their settings give.

use std::path::Path;

use bakeoff_engines::{
    About, Database, Durability, Engine, Error, Result, Schema, Setting, Statement, Terms, find,
};
use mysql::prelude::Queryable;

/// An engine that is opened at one level, whatever it is asked for.
pub struct Liar {
    pub name: &'static str,
    /// The engine behind it.
    pub engine: &'static str,
    /// The level that it is opened at.
    pub level: Durability,
    /// What a private server is told when it has started: an engine that is asked for a level looks
    /// whether the server was started with settings that give it.
    pub told: &'static [&'static str],
}

const CHECKPOINT: &str = "CHECKPOINT";

/// Each of them.
pub static ALL: [Liar; 9] = [
    plain("sqlite-off", "sqlite"),
    plain("lmdb-nosync", "lmdb"),
    plain("fjall-unsynced", "fjall"),
    plain("postgres-fsync-off", "postgres"),
    Liar {
        name: "postgres-torn-pages",
        engine: "postgres",
        level: Durability::Strict,
        // Pages are written at checkpoints, so one has to be under way when the power goes.
        told: &["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()", CHECKPOINT],
    },
    Liar {
        name: "innodb-0",
        engine: "mariadb:innodb",
        level: Durability::Relaxed,
        told: &["SET GLOBAL innodb_flush_log_at_trx_commit = 0"],
    },
    Liar { name: "innodb-2", engine: "mariadb:innodb", level: Durability::Relaxed, told: &[] },
    Liar {
        name: "myrocks-0",
        engine: "mariadb:rocksdb",
        level: Durability::Relaxed,
        told: &["SET GLOBAL rocksdb_flush_log_at_trx_commit = 0"],
    },
    Liar { name: "myrocks-2", engine: "mariadb:rocksdb", level: Durability::Relaxed, told: &[] },
];

/// An engine that is opened at the level that promises nothing.
const fn plain(name: &'static str, engine: &'static str) -> Liar {
    Liar { name, engine, level: Durability::None, told: &[] }
}

/// The liar of that name.
pub fn named(name: &str) -> &'static Liar {
    ALL.iter().find(|liar| liar.name == name).expect("a liar")
}

impl Liar {
    fn behind(&self) -> &'static dyn Engine {
        find(self.engine).expect("an engine that is built in")
    }

    fn terms(&self, terms: &Terms) -> Terms {
        Terms { durability: self.level, ..terms.clone() }
    }

    /// Tells the private server, over its socket. A checkpoint is one of many, to the server's end.
    fn tell(&self, terms: &Terms) -> Result<()> {
        let runtime = terms.runtime.as_deref().ok_or_else(|| Error::engine("no server"))?;
        if self.engine == "postgres" {
            let mut config = postgres::Config::new();
            config.user("bakeoff").dbname("postgres").host_path(runtime);
            let mut client = config.connect(postgres::NoTls).map_err(Error::engine)?;
            for order in self.told {
                client.simple_query(order).map_err(Error::engine)?;
            }
            if self.told.contains(&CHECKPOINT) {
                std::thread::spawn(move || while client.simple_query(CHECKPOINT).is_ok() {});
            }
            return Ok(());
        }
        let socket = runtime.join("socket").to_string_lossy().into_owned();
        let opts = mysql::OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        let mut client = mysql::Conn::new(opts).map_err(Error::engine)?;
        self.told.iter().try_for_each(|order| client.query_drop(order).map_err(Error::engine))
    }
}

impl Engine for Liar {
    fn about(&self) -> About {
        About { name: self.name, ..self.behind().about() }
    }

    fn available(&self) -> std::result::Result<(), String> {
        self.behind().available()
    }

    fn settings(&self, terms: &Terms) -> Vec<Setting> {
        self.behind().settings(&self.terms(terms))
    }

    fn open(
        &self,
        directory: &Path,
        terms: &Terms,
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
