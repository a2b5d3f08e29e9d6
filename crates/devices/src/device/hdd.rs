//! A hard disk: T = command + seek + rotation + bytes/rate.
//!
//! The platters have an absolute phase, so a place missed by a little costs a whole turn. The queue
//! holds at most 32 tags a stream. The disk serves the request whose place is reached first
//! ("shortest positioning time first"), with a credit for age, or the one that came first. Streams
//! take turns.

use std::collections::VecDeque;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::DeviceParameters;
use super::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds,
    check_order, collect_problems,
};

mod cache;
mod geometry;
mod queue;
mod seek;

use cache::{DrainingExtent, WriteCache};
use geometry::Geometry;
use queue::{StreamQueues, Waiting};
pub use seek::Curve;

/// Which waiting request is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceOrder {
    /// The one whose place is reached first, less a credit for its age.
    Shortest,
    /// The one that came first.
    FirstCome,
}

/// What a hard disk is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HddParameters {
    /// Turns a minute.
    pub rpm: u64,
    /// Milliseconds from one track to the next.
    pub track_to_track_ms: f64,
    /// Milliseconds of a seek, averaged over all pairs of places.
    pub average_seek_ms: f64,
    /// Milliseconds from the outermost to the innermost track.
    pub full_stroke_ms: f64,
    /// MB/s (of 1,000,000 bytes) under the head on the outermost track.
    pub outer_mb_s: f64,
    /// MB/s on the innermost track.
    pub inner_mb_s: f64,
    /// MB/s between the host and the disk's memory.
    pub link_mb_s: f64,
    /// Milliseconds from a request's arrival until the arm can start on it.
    pub command_ms: f64,
    /// Share of the disk's bytes, from the outside, over which the data lie.
    pub used: f64,
    /// Which request is next.
    pub order: ServiceOrder,
    /// How many requests of a stream the disk looks at.
    pub tags: u64,
    /// Milliseconds of positioning that a millisecond of waiting makes up for (Jacobson and Wilkes,
    /// "Disk scheduling algorithms based on rotational position", HPL-CSP-91-7, 1991). At 0 a
    /// request may starve, at 5 the order is first come, first served. At 0.1 a request that waited
    /// 0.26 s at 7200 rpm, ten of the longest positionings, is served before any new one.
    pub aging: f64,
    /// Bytes that it reads on after a read, when it has nothing else to do.
    pub read_ahead: u64,
    /// Bytes of write cache; 0 is off.
    pub cache: u64,
}

impl HddParameters {
    /// A desktop disk of 7200 turns a minute, after the class's data sheets (Hitachi Deskstar
    /// 7K1000.C, Western Digital Caviar Black, Seagate Barracuda 7200.12): average seek 8.5–8.9 ms.
    pub fn rpm_7200() -> Self {
        Self {
            rpm: 7200,
            track_to_track_ms: 0.3,
            average_seek_ms: 8.5,
            full_stroke_ms: 18.0,
            outer_mb_s: 150.0,
            inner_mb_s: 110.0,
            link_mb_s: 300.0,
            command_ms: 0.1,
            used: 1.0,
            order: ServiceOrder::Shortest,
            tags: 32,
            aging: 0.1,
            read_ahead: 8 << 20,
            cache: 0,
        }
    }

    /// A notebook disk of 5400 turns a minute: seeks of the Hitachi Travelstar 5K160's
    /// specification (1.0, 11 and 20 ms), rates of its class.
    pub fn rpm_5400() -> Self {
        Self {
            rpm: 5400,
            track_to_track_ms: 1.0,
            average_seek_ms: 11.0,
            full_stroke_ms: 20.0,
            outer_mb_s: 90.0,
            inner_mb_s: 50.0,
            ..Self::rpm_7200()
        }
    }
}

impl DeviceParameters for HddParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        let turn_ms = 60_000.0 / self.rpm as f64;
        let mut wrong = collect_problems([
            check_bounds("rpm", self.rpm as f64, 60.0..=60_000.0),
            check_bounds("track_to_track_ms", self.track_to_track_ms, 0.0..=turn_ms),
            check_bounds("average_seek_ms", self.average_seek_ms, 0.0..=1e4),
            check_bounds("full_stroke_ms", self.full_stroke_ms, 0.0..=1e4),
            check_bounds("inner_mb_s", self.inner_mb_s, 0.001..=1e6),
            check_bounds("outer_mb_s", self.outer_mb_s, 0.001..=1e6),
            check_order(("inner_mb_s", self.inner_mb_s), ("outer_mb_s", self.outer_mb_s)),
            check_bounds("link_mb_s", self.link_mb_s, 0.001..=1e6),
            check_bounds("command_ms", self.command_ms, 0.0..=1e4),
            check_bounds("used", self.used, 1e-6..=1.0),
            check_bounds("tags", self.tags as f64, 1.0..=65_536.0),
            check_bounds("aging", self.aging, 0.0..=1e6),
        ]);
        let times = ["track_to_track_ms", "average_seek_ms", "full_stroke_ms"].map(str::to_owned);
        let alone =
            |wrong: &ParameterProblem| wrong.parameters.iter().any(|name| times.contains(name));
        if !wrong.iter().any(alone)
            && let Err(why) =
                Curve::fit(self.track_to_track_ms, self.average_seek_ms, self.full_stroke_ms)
        {
            wrong.push(ParameterProblem { parameters: times.to_vec(), why });
        }
        wrong
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        Box::new(Hdd::new(self.clone(), seed).expect("checked when it was read"))
    }

    fn cache_bytes(&self) -> u64 {
        self.cache
    }
}

#[derive(Clone, Copy)]
struct ReadAhead {
    /// The first byte that is still in memory.
    start: u64,
    from: u64,
    since: Nanos,
    limit: u64,
}

struct HeadJob {
    until: Nanos,
    drain: Option<DrainingExtent>,
}

/// A hard disk.
pub struct Hdd {
    parameters: HddParameters,
    seed: u64,
    span: Option<u64>,
    geometry: Geometry,
    agenda: Agenda,
    queue: StreamQueues,
    cache: WriteCache,
    /// Where the head is once its job is done.
    head: u64,
    job: Option<HeadJob>,
    ahead: Option<ReadAhead>,
    link_free: Nanos,
    drained_last: bool,
}

impl Hdd {
    /// A disk at rest, its platter at an angle from the seed. The error is a sentence.
    pub fn new(parameters: HddParameters, seed: u64) -> Result<Self, String> {
        if let Some(wrong) = parameters.check().into_iter().next() {
            return Err(wrong.why);
        }
        let phase = Xoshiro256PlusPlus::seed_from_u64(seed).random();
        Ok(Self {
            geometry: Geometry::new(&parameters, phase)?,
            cache: WriteCache::new(parameters.cache),
            parameters,
            seed,
            span: None,
            agenda: Agenda::default(),
            queue: StreamQueues::default(),
            head: 0,
            job: None,
            ahead: None,
            link_free: 0,
            drained_last: false,
        })
    }

    fn command_time(&self) -> Nanos {
        (self.parameters.command_ms * 1e6).round() as Nanos
    }

    fn pass_link(&mut self, now: Nanos, length: u64) -> Nanos {
        let start = self.link_free.max(now + self.command_time());
        self.link_free = start + (length as f64 * 1e3 / self.parameters.link_mb_s).round() as Nanos;
        self.link_free
    }

    fn run(&mut self, now: Nanos) {
        while let Some(job) = self.job.take_if(|job| job.until <= now) {
            self.agenda.advance_to(job.until);
            if let Some(drain) = job.drain {
                self.agenda.schedule_end(job.until, None);
                for flush in self.cache.finish_extent(&drain) {
                    self.agenda.schedule_end(job.until, Some(flush));
                }
            }
            self.choose_next_job(job.until);
        }
        self.agenda.advance_to(now);
    }

    fn choose_next_job(&mut self, now: Nanos) {
        let drain_first = self.cache.is_flushing() && !self.drained_last;
        let drained = (drain_first || self.queue.is_empty()) && self.drain_cache(now);
        if !drained && !self.queue.is_empty() {
            self.serve_next(now);
        }
        self.drained_last = drained;
    }

    fn settle_head(&mut self, now: Nanos) -> u64 {
        if let Some(ahead) = self.ahead.take() {
            let passed = now.saturating_sub(ahead.since) as f64 * self.geometry.rate_at(ahead.from);
            self.head = (ahead.from + passed as u64).min(ahead.limit);
        }
        self.head
    }

    fn serve_next(&mut self, now: Nanos) {
        let head = self.settle_head(now);
        let Some((stream, queue)) = self.queue.next_stream() else { return };
        let (place, reached) = self.next_of(queue, head, now);
        let Waiting { id, request, .. } = self.queue.take_request(stream, place);
        let end = request.offset + request.length;
        let until = reached + self.geometry.pass_time(request.offset, end);
        self.head = end;
        if request.kind == RequestKind::Read {
            let limit = end + self.parameters.read_ahead;
            self.ahead = Some(ReadAhead { start: request.offset, from: end, since: until, limit });
        }
        self.agenda.schedule_end(until, Some(id));
        self.job = Some(HeadJob { until, drain: None });
    }

    fn next_of(&self, queue: &VecDeque<Waiting>, head: u64, now: Nanos) -> (usize, Nanos) {
        let from = self.geometry.locate(head);
        let reach = |waiting: &Waiting| {
            let start = now.max(waiting.since + self.command_time());
            self.geometry.arrival_time(start, &from, &waiting.place)
        };
        let tags = match self.parameters.order {
            ServiceOrder::Shortest => self.parameters.tags as usize,
            ServiceOrder::FirstCome => 1,
        };
        let aging = self.parameters.aging;
        let aged = |waiting: &Waiting, reached: Nanos| {
            (reached - now) as f64 - aging * (now - waiting.since) as f64
        };
        let candidates = queue.iter().take(tags).enumerate().map(|(place, waiting)| {
            let reached = reach(waiting);
            (aged(waiting, reached), place, reached)
        });
        let best = candidates.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a stream with requests");
        (best.1, best.2)
    }

    /// Writes the nearest extent of the write cache; false if it is empty.
    fn drain_cache(&mut self, now: Nanos) -> bool {
        if self.cache.is_empty() {
            return false;
        }
        let head = self.settle_head(now);
        let from = self.geometry.locate(head);
        let reach = |offset| self.geometry.arrival_time(now, &from, &self.geometry.locate(offset));
        let reached = self.cache.drain_candidates(head).map(|offset| (reach(offset), offset));
        let Some((reached, offset)) = reached.min() else { return false };
        let drain = self.cache.take_extent(offset);
        self.head = offset + drain.length;
        self.agenda.add_in_flight(now);
        let until = reached + self.geometry.pass_time(offset, self.head);
        self.job = Some(HeadJob { until, drain: Some(drain) });
        true
    }

    /// When a read ends that the read-ahead serves; `None` if it does not.
    fn read_on(&mut self, now: Nanos, request: &DeviceRequest) -> Option<Nanos> {
        let mut ahead =
            self.ahead.filter(|ahead| self.job.is_none() && ahead.start <= request.offset)?;
        let end = request.offset + request.length;
        let full = ahead.since + self.geometry.pass_time(ahead.from, ahead.limit);
        if full <= now && end > ahead.limit {
            // The head stopped there; it goes on when that place comes round again.
            ahead.from = ahead.limit;
            ahead.since = self.geometry.arrival_on_track(now, &self.geometry.locate(ahead.limit));
        }
        let gap = request.offset.max(ahead.from);
        if ahead.since + self.geometry.pass_time(ahead.from, gap) > now + self.geometry.turn_time()
        {
            // A seek is quicker than waiting for the head to come there.
            return None;
        }
        let passed = ahead.since + self.geometry.pass_time(ahead.from, end.max(ahead.from));
        ahead.limit = ahead.limit.max(end + self.parameters.read_ahead);
        ahead.start = ahead.start.max(end.saturating_sub(self.parameters.read_ahead));
        let done = if passed <= now {
            self.pass_link(now, request.length)
        } else {
            let until = passed.max(now + self.command_time());
            self.job = Some(HeadJob { until, drain: None });
            (ahead.from, ahead.since) = (end, passed);
            until
        };
        self.ahead = Some(ahead);
        Some(done)
    }

    /// When a request ends that the head need not serve; `None` if it must.
    fn answer_without_head(&mut self, now: Nanos, request: &DeviceRequest) -> Option<Nanos> {
        let &DeviceRequest { kind, offset, length, .. } = request;
        match kind {
            RequestKind::Write | RequestKind::WriteThrough => {
                let is_cached = self.parameters.cache > 0 && self.cache.admit_write(offset, length);
                // The read-ahead may be stale now; the head's place is kept.
                if self
                    .ahead
                    .is_some_and(|ahead| offset < ahead.limit && ahead.start < offset + length)
                {
                    self.settle_head(now);
                }
                is_cached.then(|| self.pass_link(now, length))
            }
            RequestKind::Read if self.cache.contains(offset, length) => {
                Some(self.pass_link(now, length))
            }
            RequestKind::Read => self.read_on(now, request),
            RequestKind::Flush => Some(now + self.command_time()),
        }
    }
}

impl Device for Hdd {
    fn set_span(&mut self, bytes: u64) {
        self.span = Some(bytes);
        if self.geometry.set_span(bytes) {
            self.queue.locate_all(&self.geometry);
        }
    }

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.run(now);
        self.agenda.add_in_flight(now);
        let end = request.offset + request.length;
        if request.kind != RequestKind::Flush && !self.geometry.covers(end) {
            self.set_span(end);
        }
        let is_draining = self.job.as_ref().is_some_and(|job| job.drain.is_some());
        if request.kind == RequestKind::Flush && self.cache.queue_flush(id, is_draining) {
        } else if let Some(done) = self.answer_without_head(now, &request) {
            self.agenda.schedule_end(done, Some(id));
        } else {
            let place = self.geometry.locate(request.offset);
            self.queue.push(Waiting { id, request, since: now, place });
        }
        if self.job.is_none() {
            self.choose_next_job(now);
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        let is_waited_for = self.cache.is_flushing() || !self.queue.is_empty();
        let decision = self.job.as_ref().filter(|_| is_waited_for).map(|job| job.until);
        self.agenda.next().into_iter().chain(decision).min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        self.agenda.take_completions(done);
    }

    fn busy_time(&self) -> Nanos {
        self.agenda.busy_time()
    }

    fn fresh_copy(&self) -> Box<dyn Device> {
        let mut unused = Self::new(self.parameters.clone(), self.seed).expect("checked before");
        if let Some(span) = self.span {
            unused.set_span(span);
        }
        Box::new(unused)
    }
}
