//! A device that takes no time: it leaves only the cost of everything around it.

use serde::{Deserialize, Serialize};

use super::model::DeviceParameters;
use super::timed::{FinishTimes, TimedDevice};
use super::{Device, DeviceRequest, Nanos, ParameterProblem};

/// There is nothing to choose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NullParameters {}

impl DeviceParameters for NullParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        Vec::new()
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(TimedDevice::new(NullDevice))
    }

    fn cache_bytes(&self) -> u64 {
        0
    }

    fn takes_no_time(&self) -> bool {
        true
    }
}

struct NullDevice;

impl FinishTimes for NullDevice {
    fn finish_time(&mut self, now: Nanos, _request: &DeviceRequest) -> Nanos {
        now
    }

    fn fresh(&self) -> Self {
        Self
    }
}
