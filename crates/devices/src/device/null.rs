//! A device that takes no time: what is left is the cost of everything around it.

use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::{self, Model};
use super::{Completion, Device, Nanos, Request, Wrong};

/// The device without parameters.
pub(crate) const MODEL: Model =
    Model::new("null", "disk that takes no time: the cost of the virtual disk itself", || {
        Box::new(Parameters {})
    });

/// There is nothing to choose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {}

impl model::Parameters for Parameters {
    fn check(&self) -> Vec<Wrong> {
        Vec::new()
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Null::default())
    }

    fn cache(&self) -> u64 {
        0
    }

    fn takes_no_time(&self) -> bool {
        true
    }
}

/// Completes every request at the moment it comes.
#[derive(Default)]
pub struct Null {
    agenda: Agenda,
}

impl Device for Null {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, _request: Request) {
        self.agenda.enter(now);
        self.agenda.end(now, Some(id));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.agenda.settle(now);
        self.agenda.take(done);
    }

    fn busy(&self) -> Nanos {
        self.agenda.busy()
    }

    fn unused(&self) -> Box<dyn Device> {
        Box::new(Self::default())
    }
}
