use std::io;

use bakeoff_engines::{Database, Durability, Engine, EngineHome, OpenTerms};
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::site::Site;
use bakeoff_workloads::{ClientProgram, PreparedWorkload};
use rustix::process::{getpid, set_child_subreaper};

use super::kinds::Kinds;
use super::resolved::{ResolvedTables, open_terms, usable_statements};
use crate::TrialError;
use crate::place::TargetPlace;
use crate::process::end_children;

pub struct Ready {
    pub engine: &'static dyn Engine,
    pub prepared: Box<dyn PreparedWorkload>,
    pub kinds: Kinds,
    pub writing: Vec<bool>,
    /// Its clients, if they are processes of somebody's own.
    pub program: Option<&'static ClientProgram>,
    /// Whether the application brings the server.
    pub brings_server: bool,
    pub resolved: ResolvedTables,
}

impl Ready {
    /// The weakest level at which it can be opened, unless the server's owner or the user's
    /// settings decide.
    pub fn weakest_level(&self) -> Durability {
        let none = Durability::None;
        let gives_none = || {
            let kept = self.engine.check_user_settings(none, &self.resolved.settings);
            self.engine.check_level(none).and(kept).is_ok()
        };
        match self.engine.home() {
            EngineHome::Process | EngineHome::Server if gives_none() => none,
            EngineHome::Process | EngineHome::Server | EngineHome::External => {
                self.resolved.durability
            }
        }
    }

    pub fn site(&self) -> Result<&dyn Site, TrialError> {
        let none = || TrialError::User(format!("{} has no pages", self.resolved.workload));
        self.prepared.site().ok_or_else(none)
    }

    pub fn open_database(
        &self,
        place: &TargetPlace,
        durability: Durability,
    ) -> Result<Box<dyn Database>, TrialError> {
        // Only now: the workload's texts must not count as the engine's memory.
        if self.engine.home() == EngineHome::Process {
            place.join_group(DATABASE_GROUP)?;
        }
        let terms = OpenTerms { durability, ..open_terms(&self.resolved, place) };
        let schema = self.prepared.schema();
        let statements = usable_statements(self.engine, &*self.prepared);
        // An external database has its files elsewhere.
        let directory = place.directory.as_deref().unwrap_or("".as_ref());
        let is_own = self.brings_server;
        if is_own {
            // What its server leaves behind becomes this process's child.
            set_child_subreaper(Some(getpid())).map_err(|error| {
                TrialError::place_error("its processes", io::Error::from(error))
            })?;
        }
        let opened = self.engine.open(directory, &terms, schema, statements);
        if is_own && opened.is_err() {
            end_children();
        }
        let name = self.engine.about().name;
        opened.map_err(|error| TrialError::Engine(format!("{name} can't be opened: {error}")))
    }
}
