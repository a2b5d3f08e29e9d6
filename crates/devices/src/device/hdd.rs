//! A hard disk: T = command + seek + rotation + bytes/rate.
//!
//! The platters have an absolute phase, so that what is missed by a little costs a whole turn. The
//! queue holds at most 32 tags a stream, of which the one is served whose place is reached first
//! ("shortest positioning time first"), with a credit for age; or the one that came first.
//! Between streams turns are taken.

use std::collections::VecDeque;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::model::{self, DeviceModel, DeviceParameters as _};
use super::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, ordered, within,
    wrongs,
};

mod cache;
mod geometry;
mod queue;
mod seek;

use cache::{DrainingExtent, WriteCache};
use geometry::Geometry;
use queue::{StreamQueues, Waiting};
pub use seek::Curve;

/// Which of the waiting requests is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceOrder {
    /// The one whose place is reached first, less a credit for its age.
    Shortest,
    /// The one that came first.
    FirstCome,
}

/// The desktop disk.
pub(crate) const DESKTOP: DeviceModel =
    DeviceModel::new("hdd-7200", "desktop disk, 7200 rpm: about 78 random reads a second", || {
        Box::new(HddParameters::rpm_7200())
    });
/// The notebook disk.
pub(crate) const NOTEBOOK: DeviceModel =
    DeviceModel::new("hdd-5400", "notebook disk, 5400 rpm: about 59 random reads a second", || {
        Box::new(HddParameters::rpm_5400())
    });

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
    /// MB/s between host and the disk's memory.
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
    /// "Disk scheduling algorithms based on rotational position", HPL-CSP-91-7, 1991). At 0.1 a
    /// request that has waited for ten of the longest positionings, 0.26 s at 7200 rpm, is served
    /// before any that just came, however near; at 0 it may starve, at 5 it is first come first
    /// served.
    pub aging: f64,
    /// Bytes it reads on after a read, when nothing else is to do.
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

impl model::DeviceParameters for HddParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        let turn_ms = 60_000.0 / self.rpm as f64;
        let mut wrong = wrongs([
            within("rpm", self.rpm as f64, 60.0..=60_000.0),
            within("track_to_track_ms", self.track_to_track_ms, 0.0..=turn_ms),
            within("average_seek_ms", self.average_seek_ms, 0.0..=1e4),
            within("full_stroke_ms", self.full_stroke_ms, 0.0..=1e4),
            within("inner_mb_s", self.inner_mb_s, 0.001..=1e6),
            within("outer_mb_s", self.outer_mb_s, 0.001..=1e6),
            ordered(("inner_mb_s", self.inner_mb_s), ("outer_mb_s", self.outer_mb_s)),
            within("link_mb_s", self.link_mb_s, 0.001..=1e6),
            within("command_ms", self.command_ms, 0.0..=1e4),
            within("used", self.used, 1e-6..=1.0),
            within("tags", self.tags as f64, 1.0..=65_536.0),
            within("aging", self.aging, 0.0..=1e6),
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

    fn cache(&self) -> u64 {
        self.cache
    }
}

/// What the head has read on its own since the last read.
#[derive(Clone, Copy)]
struct Ahead {
    /// The first byte that is still in memory.
    start: u64,
    /// Where the head was at a moment, from which on it follows the tracks.
    from: u64,
    since: Nanos,
    /// Where it stops.
    limit: u64,
}

/// What the head does until a moment.
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
    ahead: Option<Ahead>,
    /// When the link to the host is free.
    link_free: Nanos,
    drained_last: bool,
}

impl Hdd {
    /// A disk at rest, its platter at an angle that the seed gives.
    ///
    /// # Errors
    /// What is wrong with the parameters, as a sentence.
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

    fn command(&self) -> Nanos {
        (self.parameters.command_ms * 1e6).round() as Nanos
    }

    /// When bytes that are in the disk's memory, or go there, have passed the link.
    fn pass_link(&mut self, now: Nanos, length: u64) -> Nanos {
        let start = self.link_free.max(now + self.command());
        self.link_free = start + (length as f64 * 1e3 / self.parameters.link_mb_s).round() as Nanos;
        self.link_free
    }

    /// Does all that is to be done by `now`, each thing at its time.
    fn run(&mut self, now: Nanos) {
        while let Some(job) = self.job.take_if(|job| job.until <= now) {
            self.agenda.settle(job.until);
            if let Some(drain) = job.drain {
                self.agenda.end(job.until, None);
                for flush in self.cache.written(&drain) {
                    self.agenda.end(job.until, Some(flush));
                }
            }
            self.choose(job.until);
        }
        self.agenda.settle(now);
    }

    /// Decides what the head does next.
    fn choose(&mut self, now: Nanos) {
        let drain_first = self.cache.is_flushing() && !self.drained_last;
        let drained = (drain_first || self.queue.is_empty()) && self.drain(now);
        if !drained && !self.queue.is_empty() {
            self.serve(now);
        }
        self.drained_last = drained;
    }

    /// Stops reading ahead, if it did; where the head is now.
    fn settle_head(&mut self, now: Nanos) -> u64 {
        if let Some(ahead) = self.ahead.take() {
            let passed = now.saturating_sub(ahead.since) as f64 * self.geometry.rate(ahead.from);
            self.head = (ahead.from + passed as u64).min(ahead.limit);
        }
        self.head
    }

    /// Serves a request of the stream whose turn it is.
    fn serve(&mut self, now: Nanos) {
        let head = self.settle_head(now);
        let Some((stream, queue)) = self.queue.turn() else { return };
        let (place, reached) = self.next_of(queue, head, now);
        let Waiting { id, request, .. } = self.queue.take(stream, place);
        let end = request.offset + request.length;
        let until = reached + self.geometry.pass(request.offset, end);
        self.head = end;
        if request.kind == RequestKind::Read {
            let limit = end + self.parameters.read_ahead;
            self.ahead = Some(Ahead { start: request.offset, from: end, since: until, limit });
        }
        self.agenda.end(until, Some(id));
        self.job = Some(HeadJob { until, drain: None });
    }

    /// The place in the queue of the request to serve, and when the head has reached it.
    fn next_of(&self, queue: &VecDeque<Waiting>, head: u64, now: Nanos) -> (usize, Nanos) {
        let from = self.geometry.place(head);
        let reach = |waiting: &Waiting| {
            let start = now.max(waiting.since + self.command());
            self.geometry.arrive(start, &from, &waiting.place)
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

    /// Writes what is nearest of the write cache; false if nothing is there.
    fn drain(&mut self, now: Nanos) -> bool {
        if self.cache.is_empty() {
            return false;
        }
        let head = self.settle_head(now);
        let from = self.geometry.place(head);
        let reach = |offset| self.geometry.arrive(now, &from, &self.geometry.place(offset));
        let reached = self.cache.candidates(head).map(|offset| (reach(offset), offset));
        let Some((reached, offset)) = reached.min() else { return false };
        let drain = self.cache.take(offset);
        self.head = offset + drain.length;
        self.agenda.enter(now);
        let until = reached + self.geometry.pass(offset, self.head);
        self.job = Some(HeadJob { until, drain: Some(drain) });
        true
    }

    /// When a read is done that goes on where the head reads ahead; `None` if it does not.
    fn read_on(&mut self, now: Nanos, request: &DeviceRequest) -> Option<Nanos> {
        let mut ahead =
            self.ahead.filter(|ahead| self.job.is_none() && ahead.start <= request.offset)?;
        let end = request.offset + request.length;
        let full = ahead.since + self.geometry.pass(ahead.from, ahead.limit);
        if full <= now && end > ahead.limit {
            // It stopped there; it goes on when that place comes round again.
            ahead.from = ahead.limit;
            ahead.since = self.geometry.wait(now, &self.geometry.place(ahead.limit));
        }
        let gap = request.offset.max(ahead.from);
        if ahead.since + self.geometry.pass(ahead.from, gap) > now + self.geometry.turn() {
            // A seek is quicker than waiting for the head to come there.
            return None;
        }
        let passed = ahead.since + self.geometry.pass(ahead.from, end.max(ahead.from));
        ahead.limit = ahead.limit.max(end + self.parameters.read_ahead);
        ahead.start = ahead.start.max(end.saturating_sub(self.parameters.read_ahead));
        let done = if passed <= now {
            self.pass_link(now, request.length)
        } else {
            let until = passed.max(now + self.command());
            self.job = Some(HeadJob { until, drain: None });
            (ahead.from, ahead.since) = (end, passed);
            until
        };
        self.ahead = Some(ahead);
        Some(done)
    }

    /// When a request is done that needs no place in the queue; `None` if the head must see to it.
    fn answer(&mut self, now: Nanos, request: &DeviceRequest) -> Option<Nanos> {
        let &DeviceRequest { kind, offset, length, .. } = request;
        match kind {
            RequestKind::Write => {
                let is_cached = self.parameters.cache > 0 && self.cache.admit(offset, length);
                // What was read ahead may now be old; the head's place is kept.
                if self
                    .ahead
                    .is_some_and(|ahead| offset < ahead.limit && ahead.start < offset + length)
                {
                    self.settle_head(now);
                }
                is_cached.then(|| self.pass_link(now, length))
            }
            RequestKind::Read if self.cache.holds(offset, length) => {
                Some(self.pass_link(now, length))
            }
            RequestKind::Read => self.read_on(now, request),
            // Without a cache all that was acknowledged is on the platters.
            RequestKind::Flush => Some(now + self.command()),
        }
    }
}

impl Device for Hdd {
    fn set_span(&mut self, bytes: u64) {
        self.span = Some(bytes);
        if self.geometry.set_span(bytes) {
            self.queue.place(&self.geometry);
        }
    }

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.run(now);
        self.agenda.enter(now);
        let end = request.offset + request.length;
        if request.kind != RequestKind::Flush && !self.geometry.covers(end) {
            self.set_span(end);
        }
        let is_draining = self.job.as_ref().is_some_and(|job| job.drain.is_some());
        if request.kind == RequestKind::Flush && self.cache.flush(id, is_draining) {
            // It is done when the last extent it waits for is.
        } else if let Some(done) = self.answer(now, &request) {
            self.agenda.end(done, Some(id));
        } else {
            let place = self.geometry.place(request.offset);
            self.queue.push(Waiting { id, request, since: now, place });
        }
        if self.job.is_none() {
            self.choose(now);
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        let is_waited_for = self.cache.is_flushing() || !self.queue.is_empty();
        let decision = self.job.as_ref().filter(|_| is_waited_for).map(|job| job.until);
        self.agenda.next().into_iter().chain(decision).min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        self.agenda.take(done);
    }

    fn busy(&self) -> Nanos {
        self.agenda.busy()
    }

    fn unused(&self) -> Box<dyn Device> {
        let mut unused = Self::new(self.parameters.clone(), self.seed).expect("checked before");
        if let Some(span) = self.span {
            unused.set_span(span);
        }
        Box::new(unused)
    }
}
