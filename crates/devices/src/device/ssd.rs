//! A SATA SSD: at queue depth d it serves min(d/t, k/t, bandwidth/size) requests a second.
//!
//! t is the latency of one request alone and k how many it works on at once. The figures are those
//! of a 250 GB Samsung 870 EVO (data sheet, 2021): 4 KiB reads 13,000 a second at depth 1 and
//! 98,000 at 32, writes 36,000 and 88,000; 560 and 530 MB/s; 12 GB of fast write buffer
//! ("TurboWrite"), 300 MB/s once it is full. The cost of a flush and what is lost without one are
//! not published; 1 ms and 32 MiB are ours.

use serde::{Deserialize, Serialize};

use super::model::DeviceParameters;
use super::timed::{FinishTimes, TimedDevice};
use super::{
    Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds, check_order,
    collect_problems,
};

/// What an SSD is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SsdParameters {
    /// Microseconds of one read alone.
    pub read_us: f64,
    /// Reads it works on at once, as far as their rate tells.
    pub reads_at_once: f64,
    /// MB/s (of 1,000,000 bytes).
    pub read_mb_s: f64,
    /// Microseconds of one write alone.
    pub write_us: f64,
    /// Writes it works on at once.
    pub writes_at_once: f64,
    /// MB/s while the write buffer has room.
    pub write_mb_s: f64,
    /// Bytes of the write buffer.
    pub buffer: u64,
    /// MB/s at which the write buffer empties, and writes go on once it is full.
    pub sustained_mb_s: f64,
    /// Microseconds of a flush.
    pub flush_us: f64,
    /// Bytes that it may acknowledge and lose with the power without a flush. Costs no time.
    pub cache: u64,
}

impl SsdParameters {
    /// The SATA SSD of the data sheet.
    pub fn sata() -> Self {
        Self {
            read_us: 77.0,
            reads_at_once: 7.5,
            read_mb_s: 560.0,
            write_us: 28.0,
            writes_at_once: 2.4,
            write_mb_s: 530.0,
            buffer: 12_000_000_000,
            sustained_mb_s: 300.0,
            flush_us: 1000.0,
            cache: 32 << 20,
        }
    }
}

impl DeviceParameters for SsdParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        collect_problems([
            check_bounds("read_us", self.read_us, 0.0..=1e9),
            check_bounds("write_us", self.write_us, 0.0..=1e9),
            check_bounds("flush_us", self.flush_us, 0.0..=1e9),
            check_bounds("reads_at_once", self.reads_at_once, 1.0..=65_536.0),
            check_bounds("writes_at_once", self.writes_at_once, 1.0..=65_536.0),
            check_bounds("read_mb_s", self.read_mb_s, 0.001..=1e9),
            check_bounds("write_mb_s", self.write_mb_s, 0.001..=1e9),
            check_bounds("sustained_mb_s", self.sustained_mb_s, 0.001..=1e9),
            check_order(("sustained_mb_s", self.sustained_mb_s), ("write_mb_s", self.write_mb_s)),
        ])
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(TimedDevice::new(Ssd::new(self.clone())))
    }

    fn cache_bytes(&self) -> u64 {
        self.cache
    }
}

/// Moments and spans are in nanoseconds.
struct Ssd {
    parameters: SsdParameters,
    controller_free: f64,
    link_free: f64,
    buffered: f64,
    counted: f64,
}

impl Ssd {
    fn new(parameters: SsdParameters) -> Self {
        Self { parameters, controller_free: 0.0, link_free: 0.0, buffered: 0.0, counted: 0.0 }
    }

    fn serve_request(&mut self, now: f64, is_read: bool, length: f64) -> f64 {
        let p = &self.parameters;
        let (alone, at_once, rate) = if is_read {
            (p.read_us * 1e3, p.reads_at_once, p.read_mb_s / 1e3)
        } else {
            (p.write_us * 1e3, p.writes_at_once, p.write_mb_s / 1e3)
        };
        let mut start = now.max(self.controller_free);
        if !is_read {
            start = self.wait_for_room(start, length);
        }
        self.controller_free = start + alone / at_once;
        self.link_free = self.link_free.max(start) + length / rate;
        self.link_free.max(start + alone)
    }

    /// When the write buffer has taken so many bytes. A write larger than the buffer waits until
    /// the buffer is empty.
    fn wait_for_room(&mut self, at: f64, length: f64) -> f64 {
        let rate = self.parameters.sustained_mb_s / 1e3;
        let room = self.parameters.buffer as f64;
        self.buffered = (self.buffered - (at - self.counted).max(0.0) * rate).max(0.0);
        let over = (self.buffered + length - room).clamp(0.0, self.buffered);
        let start = at + over / rate;
        self.buffered += length - over;
        self.counted = start;
        start
    }
}

impl FinishTimes for Ssd {
    fn finish_time(&mut self, now: Nanos, request: &DeviceRequest) -> Nanos {
        let length = request.length as f64;
        let done = match request.kind {
            RequestKind::Read => self.serve_request(now as f64, true, length),
            RequestKind::Write => self.serve_request(now as f64, false, length),
            RequestKind::Flush => now as f64 + self.parameters.flush_us * 1e3,
        };
        (done.round() as Nanos).max(now)
    }

    fn fresh(&self) -> Self {
        Self::new(self.parameters.clone())
    }
}
