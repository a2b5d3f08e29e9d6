//! An SSD: at queue depth d it serves min(d/t, k/t, bandwidth/size) requests a second.
//!
//! t is the latency of one request alone and k how many it works on at once. What a flush costs
//! decides between engines, so it has parameters of its own. Where each constant comes from is in
//! [`Models::list_sources`](crate::models::Models::list_sources).

use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::DeviceParameters;
use super::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds,
    check_order, collect_problems,
};

mod flush;

use flush::FlushQueue;

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
    /// Microseconds of a flush after a write.
    pub flush_us: f64,
    /// Microseconds of a flush with nothing to write; at most `flush_us`.
    pub flush_floor_us: f64,
    /// MB/s at which a flush writes out what came since the last one, beside `flush_us`; 0: that
    /// costs nothing.
    pub flush_mb_s: f64,
    /// Microseconds of a write past the cache (FUA); 0: it has none, and gets a write and a flush.
    pub fua_us: f64,
    /// Bytes that it may acknowledge and lose with the power without a flush. Costs no time.
    pub cache: u64,
}

impl SsdParameters {
    /// A consumer's SATA SSD.
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
            flush_us: 850.0,
            flush_floor_us: 70.0,
            flush_mb_s: 0.0,
            fua_us: 0.0,
            cache: 32 << 20,
        }
    }

    /// A consumer's NVMe SSD with a quick flush.
    pub fn nvme() -> Self {
        Self {
            read_us: 50.0,
            reads_at_once: 50.0,
            read_mb_s: 7000.0,
            write_us: 15.0,
            writes_at_once: 10.65,
            write_mb_s: 5100.0,
            buffer: 100_000_000_000,
            sustained_mb_s: 1000.0,
            flush_us: 219.0,
            fua_us: 206.0,
            ..Self::sata()
        }
    }

    /// A consumer's NVMe SSD with a slow flush, and writes past the cache that are slower still.
    pub fn nvme_slow() -> Self {
        Self {
            read_us: 50.0,
            reads_at_once: 70.0,
            read_mb_s: 7246.0,
            write_us: 21.0,
            writes_at_once: 32.6,
            write_mb_s: 6900.0,
            flush_us: 1640.0,
            flush_mb_s: 820.0,
            fua_us: 4000.0,
            ..Self::nvme()
        }
    }

    /// A server's NVMe SSD with power-loss protection: it has no volatile cache to flush.
    pub fn nvme_plp() -> Self {
        Self {
            read_us: 88.0,
            reads_at_once: 41.0,
            read_mb_s: 2386.0,
            write_us: 23.6,
            writes_at_once: 6.7,
            write_mb_s: 1308.0,
            buffer: 0,
            sustained_mb_s: 1308.0,
            flush_us: 0.0,
            flush_floor_us: 0.0,
            flush_mb_s: 0.0,
            fua_us: 0.0,
            cache: 0,
        }
    }
}

impl DeviceParameters for SsdParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        let mut wrong = collect_problems([
            check_bounds("read_us", self.read_us, 0.0..=1e9),
            check_bounds("write_us", self.write_us, 0.0..=1e9),
            check_bounds("flush_us", self.flush_us, 0.0..=1e9),
            check_bounds("flush_floor_us", self.flush_floor_us, 0.0..=1e9),
            check_bounds("flush_mb_s", self.flush_mb_s, 0.0..=1e9),
            check_bounds("fua_us", self.fua_us, 0.0..=1e9),
            check_bounds("reads_at_once", self.reads_at_once, 1.0..=65_536.0),
            check_bounds("writes_at_once", self.writes_at_once, 1.0..=65_536.0),
            check_bounds("read_mb_s", self.read_mb_s, 0.001..=1e9),
            check_bounds("write_mb_s", self.write_mb_s, 0.001..=1e9),
            check_bounds("sustained_mb_s", self.sustained_mb_s, 0.001..=1e9),
            check_order(("sustained_mb_s", self.sustained_mb_s), ("write_mb_s", self.write_mb_s)),
        ]);
        if self.flush_us == 0.0 && self.fua_us > 0.0 {
            let why = format!(
                "fua_us is {} and flush_us 0: where a flush costs nothing, there is no cache to \
                 write past; set fua_us to 0, too",
                self.fua_us
            );
            let parameters = ["fua_us", "flush_us"].map(str::to_owned).to_vec();
            wrong.push(ParameterProblem { parameters, why });
        }
        wrong
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Ssd::new(self.clone()))
    }

    fn cache_bytes(&self) -> u64 {
        self.cache
    }

    fn has_fua(&self) -> bool {
        self.fua_us > 0.0
    }
}

/// Moments and spans are in nanoseconds.
struct Ssd {
    parameters: SsdParameters,
    agenda: Agenda,
    flushes: FlushQueue,
    controller_free: f64,
    link_free: f64,
    /// When the last write past the cache is done. They go one after the other.
    through_free: f64,
    buffered: f64,
    counted: f64,
}

impl Ssd {
    fn new(parameters: SsdParameters) -> Self {
        Self {
            parameters,
            agenda: Agenda::default(),
            flushes: FlushQueue::default(),
            controller_free: 0.0,
            link_free: 0.0,
            through_free: 0.0,
            buffered: 0.0,
            counted: 0.0,
        }
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

    fn write_through(&mut self, now: f64, length: f64) -> f64 {
        let written = self.serve_request(now, false, length);
        let through = now.max(self.through_free) + self.parameters.fua_us * 1e3;
        self.through_free = written.max(through);
        self.through_free
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

    /// Lets time pass: flushes that waited for one in flight begin when it ends.
    fn run_until(&mut self, now: Nanos) {
        while let Some(end) = self.flushes.end_until(now) {
            self.agenda.advance_to(end);
            self.flushes.begin_next(end, &self.parameters, &mut self.agenda);
        }
        self.agenda.advance_to(now);
    }
}

impl Device for Ssd {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.run_until(now);
        self.agenda.add_in_flight(now);
        let length = request.length as f64;
        let done = match request.kind {
            RequestKind::Read => self.serve_request(now as f64, true, length),
            RequestKind::Write => {
                self.flushes.add_dirty(length);
                self.serve_request(now as f64, false, length)
            }
            RequestKind::WriteThrough => self.write_through(now as f64, length),
            RequestKind::Flush => {
                self.flushes.add(id, now, &self.parameters, &mut self.agenda);
                return;
            }
        };
        self.agenda.schedule_end((done.round() as Nanos).max(now), Some(id));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run_until(now);
        self.agenda.take_completions(done);
    }

    fn busy_time(&self) -> Nanos {
        self.agenda.busy_time()
    }

    fn fresh_copy(&self) -> Box<dyn Device> {
        Box::new(Self::new(self.parameters.clone()))
    }
}
