//! The half of a procedure that runs in the trial's process, together with the target.

use std::io::BufRead;

use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::process::job::{GO, Message};
use crate::targets::{PreparedTarget, Subject};
use crate::{Registry, TrialError};

pub struct ChildContext<'a, 'o> {
    pub registry: &'a Registry,
    pub subject: &'a dyn Subject,
    pub place: &'a TargetPlace,
    pub input: &'a mut dyn BufRead,
    pub output: &'a MessageOutput<'o>,
}

impl ChildContext<'_, '_> {
    pub fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        self.subject.prepare()
    }

    pub fn await_start(&mut self) -> Result<(), TrialError> {
        tracing::debug!("ready");
        self.say_and_wait(&Message::Ready)
    }

    pub fn say_and_wait(&mut self, message: &Message) -> Result<(), TrialError> {
        self.output.send(message);
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(_) if line.trim() == GO => Ok(()),
            _ => Err(TrialError::process_error("bakeoff itself has ended")),
        }
    }
}
