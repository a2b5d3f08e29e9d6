//! The device `flash`: any number of requests at once, all equally fast; a flush takes additional
//! time.

use bakeoff::devices::device::agenda::Agenda;
use bakeoff::devices::device::model::{DeviceModel, DeviceParameters};
use bakeoff::devices::device::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds,
    collect_problems,
};
use serde::{Deserialize, Serialize};

pub const MODEL: DeviceModel =
    DeviceModel::new("flash", "80 µs a request, 400 µs a flush, however many", || {
        Box::new(Flash { request_us: 80.0, flush_us: 400.0 })
    });

/// `flash/request_us=100` makes a slower one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Flash {
    request_us: f64,
    flush_us: f64,
}

impl DeviceParameters for Flash {
    fn check(&self) -> Vec<ParameterProblem> {
        collect_problems([
            check_bounds("request_us", self.request_us, 1.0..=1e6),
            check_bounds("flush_us", self.flush_us, 0.0..=1e6),
        ])
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Chips { like: self.clone(), agenda: Agenda::default() })
    }

    /// A power cut may take what was not flushed.
    fn cache_bytes(&self) -> u64 {
        16 << 20
    }
}

struct Chips {
    like: Flash,
    agenda: Agenda,
}

impl Device for Chips {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.agenda.add_in_flight(now);
        let us = if request.kind == RequestKind::Flush {
            self.like.flush_us
        } else {
            self.like.request_us
        };
        self.agenda.schedule_end(now + (us * 1e3) as Nanos, Some(id));
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
        self.like.build(0)
    }
}
