//! Flushes of an SSD.
//!
//! Linux sends one flush at a time; those that come meanwhile share the next one (block/blk-flush.c),
//! so that n writers that each wait for their flush get about n/2 of them in the time of one. With
//! nothing written since the last flush, one costs its floor.

use super::super::agenda::Agenda;
use super::SsdParameters;
use crate::device::Nanos;

#[derive(Default)]
pub struct FlushQueue {
    end: Option<Nanos>,
    waiting: Vec<u64>,
    /// Bytes that came since the last flush began.
    dirty: f64,
}

impl FlushQueue {
    pub fn add_dirty(&mut self, bytes: f64) {
        self.dirty += bytes;
    }

    /// The request is in flight in the agenda already.
    pub fn add(&mut self, id: u64, now: Nanos, parameters: &SsdParameters, agenda: &mut Agenda) {
        self.waiting.push(id);
        if self.end.is_none() {
            self.begin_next(now, parameters, agenda);
        }
    }

    /// When the flush in flight ends, if that is not after `now`; it is then no longer in flight.
    pub fn end_until(&mut self, now: Nanos) -> Option<Nanos> {
        self.end.take_if(|end| *end <= now)
    }

    /// Begins one flush for all that wait.
    pub fn begin_next(&mut self, now: Nanos, parameters: &SsdParameters, agenda: &mut Agenda) {
        if self.waiting.is_empty() {
            return;
        }
        let end = now + self.take_cost(parameters).round() as Nanos;
        self.waiting.drain(..).for_each(|id| agenda.schedule_end(end, Some(id)));
        self.end = (end > now).then_some(end);
    }

    /// Nanoseconds of a flush that begins now.
    fn take_cost(&mut self, parameters: &SsdParameters) -> f64 {
        let dirty = std::mem::take(&mut self.dirty);
        let SsdParameters { flush_us, flush_floor_us, flush_mb_s, .. } = *parameters;
        if dirty == 0.0 {
            return flush_floor_us.min(flush_us) * 1e3;
        }
        let bytes = if flush_mb_s > 0.0 { dirty / flush_mb_s * 1e3 } else { 0.0 };
        flush_us * 1e3 + bytes
    }
}
