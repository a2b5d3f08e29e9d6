//! A device model of one's own, which tests of the virtual disk have, too.

use bakeoff_devices::device::agenda::Agenda;
use bakeoff_devices::device::model::DeviceParameters;
use bakeoff_devices::device::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds,
    collect_problems,
};
use serde::{Deserialize, Serialize};

/// What a drum is like: one request after the other, each in the same time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drum {
    each_ms: f64,
    flushing: Flushing,
    cache: u64,
    fails: Fails,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Flushing {
    Free,
    AsWritten,
}

/// When it panics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fails {
    Never,
    WhenBuilt,
    WhenRead,
}

/// What it says when it is built, or read.
pub const BREAKS: &str = "the drum does not turn";
pub const STICKS: &str = "the drum is stuck";

impl Drum {
    pub fn turning(each_ms: f64) -> Self {
        Self { each_ms, flushing: Flushing::Free, cache: 8 << 20, fails: Fails::Never }
    }
}

impl DeviceParameters for Drum {
    fn check(&self) -> Vec<ParameterProblem> {
        collect_problems([check_bounds("each_ms", self.each_ms, 0.001..=1e4)])
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        assert!(self.fails != Fails::WhenBuilt, "{BREAKS}");
        let parameters = self.clone();
        Box::new(TurnoverWatch { parameters, seed, agenda: Agenda::default(), free: 0 })
    }

    fn cache_bytes(&self) -> u64 {
        self.cache
    }
}

struct TurnoverWatch {
    parameters: Drum,
    seed: u64,
    agenda: Agenda,
    free: Nanos,
}

impl Device for TurnoverWatch {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        let is_read = request.kind == RequestKind::Read;
        assert!(!(self.parameters.fails == Fails::WhenRead && is_read), "{STICKS}");
        self.agenda.add_in_flight(now);
        let is_free =
            request.kind == RequestKind::Flush && self.parameters.flushing == Flushing::Free;
        let each = if is_free { 0.0 } else { self.parameters.each_ms };
        self.free = self.free.max(now) + (each * 1e6) as Nanos;
        self.agenda.schedule_end(self.free, Some(id));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.agenda.advance_to(now);
        self.agenda.take_completions(done);
    }

    fn busy_time(&self) -> Nanos {
        self.agenda.busy_time()
    }

    fn fresh_copy(&self) -> Box<dyn Device> {
        self.parameters.build(self.seed)
    }
}
