//! An engine whose pages are not armed against a torn write, and that says it is strict.

use std::path::Path;

use bakeoff_engines::{
    Database, Engine, EngineDescription, Error, OpenTerms, Result, Schema, Setting, Statement,
    find_level,
};

/// So little memory that pages are written all the time, and not only at checkpoints.
pub const CRAMPED: &str = "postgres/shared_buffers=128kB";

/// PostgreSQL without `full_page_writes`. The server is told when it has started: an engine that is asked for
/// a level looks whether the server was started with settings that give it.
pub struct TornPages;

fn engine() -> &'static dyn Engine {
    find_level(CRAMPED).expect("an engine that is built in")
}

impl Engine for TornPages {
    fn about(&self) -> EngineDescription {
        EngineDescription { name: "postgres-torn-pages", ..engine().about() }
    }

    fn version(&self) -> String {
        engine().version()
    }

    fn available(&self) -> std::result::Result<(), String> {
        engine().available()
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        engine().settings(terms)
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
        let database = engine().open(directory, terms, schema, statements)?;
        let runtime = terms.runtime.as_deref().ok_or_else(|| Error::from_engine("no server"))?;
        let mut config = postgres::Config::new();
        config.user("bakeoff").dbname("postgres").host_path(runtime);
        let mut client = config.connect(postgres::NoTls).map_err(Error::from_engine)?;
        for order in ["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"] {
            client.simple_query(order).map_err(Error::from_engine)?;
        }
        Ok(database)
    }
}
