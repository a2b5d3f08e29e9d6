//! A SATA SSD: at queue depth d it serves min(d/t, k/t, bandwidth/size) requests a second.
//!
//! t is the latency of one request alone and k how many it works on at once. The figures are those
//! of a 250 GB Samsung 870 EVO (data sheet, 2021): 4 KiB reads 13,000 a second at depth 1 and
//! 98,000 at 32, writes 36,000 and 88,000; 560 and 530 MB/s; 12 GB of fast write buffer
//! ("TurboWrite"), 300 MB/s once it is full. The cost of a flush and what is lost without one are
//! not published; 1 ms and 32 MiB are ours.

use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::{self, DeviceModel};
use super::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, ordered, within,
    wrongs,
};

/// The SATA SSD of the data sheet.
pub(crate) const SATA: DeviceModel = DeviceModel::new(
    "ssd-sata",
    "SATA SSD: 13,000 reads a second one at a time, 97,000 at most",
    || Box::new(SsdParameters::sata()),
);

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
    /// Bytes that it may have acknowledged and would lose with the power: what is in its memory and
    /// was not flushed. Costs no time.
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

impl model::DeviceParameters for SsdParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        wrongs([
            within("read_us", self.read_us, 0.0..=1e9),
            within("write_us", self.write_us, 0.0..=1e9),
            within("flush_us", self.flush_us, 0.0..=1e9),
            within("reads_at_once", self.reads_at_once, 1.0..=65_536.0),
            within("writes_at_once", self.writes_at_once, 1.0..=65_536.0),
            within("read_mb_s", self.read_mb_s, 0.001..=1e9),
            within("write_mb_s", self.write_mb_s, 0.001..=1e9),
            within("sustained_mb_s", self.sustained_mb_s, 0.001..=1e9),
            ordered(("sustained_mb_s", self.sustained_mb_s), ("write_mb_s", self.write_mb_s)),
        ])
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Ssd::new(self.clone()))
    }

    fn cache(&self) -> u64 {
        self.cache
    }
}

/// An SSD. Moments and spans are in nanoseconds.
pub struct Ssd {
    parameters: SsdParameters,
    agenda: Agenda,
    /// When it can start on the next request.
    controller_free: f64,
    /// When the link to the host has passed all bytes asked for.
    link_free: f64,
    /// Bytes in the write buffer at a moment.
    buffered: f64,
    counted: f64,
}

impl Ssd {
    /// An SSD with an empty write buffer.
    pub fn new(parameters: SsdParameters) -> Self {
        Self {
            parameters,
            agenda: Agenda::default(),
            controller_free: 0.0,
            link_free: 0.0,
            buffered: 0.0,
            counted: 0.0,
        }
    }

    /// When a read or write is done that comes now.
    fn serve(&mut self, now: f64, is_read: bool, length: f64) -> f64 {
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

    /// When the write buffer has room for so many bytes, which are then in it. A write that is
    /// larger than the buffer waits for all of it to be empty.
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

impl Device for Ssd {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.agenda.enter(now);
        let length = request.length as f64;
        let done = match request.kind {
            RequestKind::Read => self.serve(now as f64, true, length),
            RequestKind::Write => self.serve(now as f64, false, length),
            // What it has acknowledged is in its memory, and must reach the flash.
            RequestKind::Flush => now as f64 + self.parameters.flush_us * 1e3,
        };
        self.agenda.end((done.round() as Nanos).max(now), Some(id));
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
        Box::new(Self::new(self.parameters.clone()))
    }
}
