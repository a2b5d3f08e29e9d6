//! Devices that know when a request ends as soon as it comes.

use super::agenda::Agenda;
use super::{Completion, Device, DeviceRequest, Nanos};

pub(super) trait FinishTimes: Send + 'static {
    /// When a request ends that comes now: not before `now`.
    fn finish_time(&mut self, now: Nanos, request: &DeviceRequest) -> Nanos;

    /// The same as it was before its first request.
    fn fresh(&self) -> Self;
}

/// Such a device with its queue.
pub(super) struct TimedDevice<F> {
    device: F,
    agenda: Agenda,
}

impl<F> TimedDevice<F> {
    pub fn new(device: F) -> Self {
        Self { device, agenda: Agenda::default() }
    }
}

impl<F: FinishTimes> Device for TimedDevice<F> {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.agenda.add_in_flight(now);
        self.agenda.schedule_end(self.device.finish_time(now, &request), Some(id));
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
        Box::new(Self::new(self.device.fresh()))
    }
}
