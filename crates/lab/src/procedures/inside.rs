//! The half of a procedure that is done inside, in a process of its own with the target.

use std::io::BufRead;

use bakeoff_results::TrialMeasurements;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::process::job::{GO, Message};
use crate::targets::{PreparedTarget, Target};
use crate::{Registry, TrialError};

/// What a procedure does inside.
pub struct Inside {
    /// The procedure's name.
    pub name: &'static str,
    /// Does it, by what the procedure's other half told; what was measured, if anything was.
    pub perform: fn(&Value, &mut Within<'_, '_>) -> Result<Option<TrialMeasurements>, TrialError>,
}

/// What the half inside works with.
pub struct Within<'a, 'o> {
    /// What is registered.
    pub registry: &'a Registry,
    /// The target.
    pub target: &'a dyn Target,
    /// What the target made of the trial's levels.
    pub subject: &'a Value,
    /// Where it has its files and processes.
    pub place: &'a TargetPlace,
    /// Where the lab is.
    pub input: &'a mut dyn BufRead,
    /// Where messages to it go.
    pub output: &'a MessageOutput<'o>,
}

impl Within<'_, '_> {
    /// The target's subject.
    ///
    /// # Errors
    /// What the target says.
    pub fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        self.target.prepare(self.subject)
    }

    /// Says that all is ready, and waits until the lab says go.
    ///
    /// # Errors
    /// When the lab's process has ended.
    pub fn ready(&mut self) -> Result<(), TrialError> {
        tracing::debug!("ready");
        self.say_and_wait(&Message::Ready)
    }

    /// Says something, and waits until the lab says go.
    ///
    /// # Errors
    /// When the lab's process has ended.
    pub fn say_and_wait(&mut self, message: &Message) -> Result<(), TrialError> {
        self.output.send(message);
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(_) if line.trim() == GO => Ok(()),
            _ => Err(TrialError::process("bakeoff itself has ended")),
        }
    }
}

/// What the other half told, as it is typed there.
///
/// # Errors
/// When it is something else.
pub(super) fn told<T: DeserializeOwned>(data: &Value) -> Result<T, TrialError> {
    T::deserialize(data).map_err(|error| TrialError::process(format!("no such job: {error}")))
}
