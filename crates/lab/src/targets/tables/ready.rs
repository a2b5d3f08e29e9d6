//! A workload that is prepared, and the engine that is to hold it: how that is opened.

use bakeoff_engines::{Database, Durability, Engine, EngineHome, OpenTerms};
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::PreparedWorkload;
use bakeoff_workloads::site::Site;

use super::kinds::Kinds;
use super::resolved::{ResolvedTables, terms};
use crate::TrialError;
use crate::place::TargetPlace;

/// A workload with its text, and the engine that is to hold it.
pub struct Ready {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// The workload, with its text.
    pub prepared: Box<dyn PreparedWorkload>,
    /// The kinds of its operations.
    pub kinds: Kinds,
    /// Which statements write, by their numbers.
    pub writing: Vec<bool>,
    /// The levels that it is prepared at.
    pub resolved: ResolvedTables,
}

impl Ready {
    /// The weakest level that it can be opened at, but where the level is the owner's choice, or the user's
    /// settings leave no other.
    pub fn loosest(&self) -> Durability {
        let none = Durability::None;
        let gives_none = || {
            let kept = self.engine.keeps(none, &self.resolved.settings);
            self.engine.gives(none).and(kept).is_ok()
        };
        match self.engine.home() {
            EngineHome::Process | EngineHome::Server if gives_none() => none,
            EngineHome::Process | EngineHome::Server | EngineHome::External => {
                self.resolved.durability
            }
        }
    }

    /// The workload's pages.
    ///
    /// # Errors
    /// It has none.
    pub fn site(&self) -> Result<&dyn Site, TrialError> {
        let none = || TrialError::User(format!("{} has no pages", self.resolved.workload));
        self.prepared.site().ok_or_else(none)
    }

    /// Opens the engine at a level.
    ///
    /// # Errors
    /// The place can't be joined, or the engine can't be opened.
    pub fn database(
        &self,
        place: &TargetPlace,
        durability: Durability,
    ) -> Result<Box<dyn Database>, TrialError> {
        // Not before: the workload's texts are not the engine's to find room for.
        if self.engine.home() == EngineHome::Process {
            place.join(DATABASE_GROUP)?;
        }
        let terms = OpenTerms { durability, ..terms(&self.resolved, place) };
        let (schema, statements) = (self.prepared.schema(), self.prepared.statements());
        // A database that somebody else runs has its files where they are.
        let directory = place.directory.as_deref().unwrap_or("".as_ref());
        let opened = self.engine.open(directory, &terms, schema, statements);
        let name = self.engine.about().name;
        opened.map_err(|error| TrialError::Engine(format!("{name} can't be opened: {error}")))
    }
}
