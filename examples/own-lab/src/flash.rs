//! The device `flash`: any number of requests at once, each in the same time; a flush takes a time of
//! its own.

use bakeoff::devices::device::agenda::Agenda;
use bakeoff::devices::device::model::{DeviceModel, DeviceParameters};
use bakeoff::devices::device::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, within, wrongs,
};
use serde::{Deserialize, Serialize};

/// As it is registered.
pub const MODEL: DeviceModel =
    DeviceModel::new("flash", "80 µs a request, 400 µs a flush, however many", || {
        Box::new(Flash { request_us: 80.0, flush_us: 400.0 })
    });

/// What it is like: `flash/request_us=100` is one that is slower.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Flash {
    request_us: f64,
    flush_us: f64,
}

impl DeviceParameters for Flash {
    fn check(&self) -> Vec<ParameterProblem> {
        wrongs([
            within("request_us", self.request_us, 1.0..=1e6),
            within("flush_us", self.flush_us, 0.0..=1e6),
        ])
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Chips { like: self.clone(), agenda: Agenda::default() })
    }

    /// A power cut may take what was not flushed.
    fn cache(&self) -> u64 {
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
        self.agenda.enter(now);
        let us = if request.kind == RequestKind::Flush {
            self.like.flush_us
        } else {
            self.like.request_us
        };
        self.agenda.end(now + (us * 1e3) as Nanos, Some(id));
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
        self.like.build(0)
    }
}
