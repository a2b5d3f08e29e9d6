//! A device that takes no time: what is left is the cost of everything around it.

use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::{self, DeviceModel};
use super::{Completion, Device, DeviceRequest, Nanos, ParameterProblem};

/// The device without parameters.
pub(crate) const MODEL: DeviceModel = DeviceModel::new(
    "null",
    "disk that takes no time: the cost of the virtual disk itself",
    || Box::new(NullParameters {}),
);

/// There is nothing to choose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NullParameters {}

impl model::DeviceParameters for NullParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        Vec::new()
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(NullDevice::default())
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
pub struct NullDevice {
    agenda: Agenda,
}

impl Device for NullDevice {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, _request: DeviceRequest) {
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
