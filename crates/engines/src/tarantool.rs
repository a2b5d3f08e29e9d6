//! Tarantool: a private server for each database, with its tables in memory (memtx) or on disk
//! (vinyl).
//!
//! Tables, rows and indexes are key spaces, as for LMDB and fjall; each is a space of Tarantool.
//! Version 2.6 has no transaction over several requests, so the functions in `memtx.lua` and
//! `vinyl.lua` keep them: a transaction reads the state at its begin, its writes wait in the
//! session, and its commit is one call that fails if something that it read has changed.

#![allow(missing_docs)]

use std::path::Path;

use crate::kv;
use crate::options::{EngineOption, EngineOptions};
use crate::served::EngineServer;
use crate::{
    Database, Durability, Engine, EngineCache, EngineDescription, EngineHome, Error, Least,
    OpenTerms, PaymentSignature, Promise, Result, Runs, Schema, Setting, SettingStanding,
    Statement,
};

use settings::list_settings;
use storage::{LoggedStorage, TarantoolStorage};
use store::TarantoolStore;

mod client;
mod counts;
mod debt;
mod failure;
mod layer;
mod load;
mod pack;
mod review;
mod server;
mod settings;
mod storage;
mod store;
#[cfg(test)]
mod tests;
mod transaction;

pub struct Tarantool {
    served: EngineServer,
    logged: LoggedStorage,
}

pub static MEMTX: Tarantool = Tarantool {
    served: EngineServer::from_program("tarantool:memtx", &server::MEMTX),
    logged: LoggedStorage::from_storage(TarantoolStorage::Memtx),
};

pub static VINYL: Tarantool = Tarantool {
    served: EngineServer::from_program("tarantool:vinyl", &server::VINYL),
    logged: LoggedStorage::from_storage(TarantoolStorage::Vinyl),
};

impl Engine for Tarantool {
    fn signatures(&self) -> &'static [PaymentSignature] {
        self.logged.storage.signatures()
    }

    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.served.name,
            summary: self.logged.storage.summary(),
            promises: self.logged.promises(),
            home: EngineHome::Server,
            stores: true,
            rolls_back: true,
            packages: &["tarantool"],
        }
    }

    fn version(&self) -> String {
        self.served.version()
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(kv::check_statement)
    }

    fn options(&self) -> Vec<EngineOption> {
        self.logged.storage.options()
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let (logged, options) = self.logged.with_options(options);
        let served = self.served.with_options(name, &options, storage::stands_for)?;
        Ok(Box::new(Self { served, logged }))
    }

    fn available(&self) -> std::result::Result<(), String> {
        self.served.find_program().map(drop)
    }

    fn check_ready(
        &self,
        own: &[(String, String)],
        _: bool,
    ) -> std::result::Result<(), Vec<String>> {
        let fair = |terms: &OpenTerms| list_settings(self.logged, terms);
        let tried = self.available().and_then(|()| self.served.try_settings(own, fair));
        tried.map_err(|why| vec![why])
    }

    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        let promises = self.logged.promises();
        match promises.iter().find(|it| it.durability == durability) {
            Some(Promise { settings: None, source, .. }) => {
                Err(format!("it has no such level: {source}"))
            }
            _ => self.check_user_settings(durability, &[]),
        }
    }

    fn check_user_settings(
        &self,
        durability: Durability,
        own: &[(String, String)],
    ) -> std::result::Result<(), String> {
        let terms = OpenTerms { settings: own.to_vec(), ..OpenTerms::new(durability) };
        let fair = list_settings(self.logged, &terms);
        self.served.check_user_settings(&terms, &fair, |_, _| Ok(()))
    }

    fn loads_at(&self) -> Option<Durability> {
        self.logged.loads_at()
    }

    fn survives_kill(&self, durability: Durability) -> bool {
        !self.logged.is_without_log(durability)
    }

    fn standing(&self, name: &str, value: &str) -> SettingStanding {
        self.served.standing(name, value)
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut told = self.served.replace_settings(list_settings(self.logged, terms), terms);
        told.push(settings::transactions_setting(self.logged.storage));
        told
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        (self.logged.storage == TarantoolStorage::Vinyl).then(|| settings::vinyl_cache(terms))
    }

    /// memtx has to hold the data in memory; vinyl's least was not measured.
    fn least_memory(&self, rows: u64, entries: u64) -> Option<Least> {
        let is_known = self.logged.storage == TarantoolStorage::Memtx && self.served.is_usual();
        is_known.then(|| settings::least_memory(rows, entries))
    }

    fn is_log(&self, file: &Path) -> bool {
        file.to_string_lossy().contains(".xlog")
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        self.check_level(terms.durability).map_err(Error::Usage)?;
        self.check_user_settings(terms.durability, &terms.settings).map_err(Error::Usage)?;
        let names = kv::list_spaces(schema);
        let server =
            self.served.start_server(directory, terms, list_settings(self.logged, terms))?;
        let store = TarantoolStore::new(self.logged, server, directory, terms.durability, &names)?;
        kv::open_tables(directory, store, schema, statements)
    }
}
