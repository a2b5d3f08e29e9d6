//! Work under way on a device, in virtual time that follows real time.

use std::collections::HashMap;
use std::time::Duration;
use std::vec;

use super::Then;
use crate::device::{Completion, Nanos, Request};
use crate::ext4::Work;
use crate::neighbour::Level;
use crate::station::{Station, StationCounts};

/// A device that answers within this time is fast: worth the processor time of a precise wait.
const FAST: Nanos = 1_000_000;

pub(super) struct Schedule {
    station: Station,
    /// Whether the device moves.
    timing: bool,
    /// Real time that had passed when the device last stood still, and for how long it did in all.
    stopped: Nanos,
    idle: Nanos,
    /// The last moment that the device was told. It is ahead of the present by up to `way + lead`
    /// when answers were sent ahead of time.
    device_now: Nanos,
    /// Half of the time that a request and its answer are on their way.
    way: Nanos,
    /// How long before an answer is to be given its making begins.
    lead: Nanos,
    jobs: HashMap<u64, Job>,
    /// Which job a request belongs to.
    owners: HashMap<u64, u64>,
    next_id: u64,
    completions: Vec<Completion>,
    done: Vec<Done>,
    /// Whether the last work was.
    fast: bool,
    /// Whether the present moment was waited for as that of a fast device.
    precisely: bool,
}

/// Work under way.
struct Job {
    steps: vec::IntoIter<Vec<Request>>,
    /// Requests of the present step that are not done.
    open: usize,
    /// When it came, in the device's time.
    arrived: Nanos,
    /// When it came, in real time.
    came: Nanos,
    then: Then,
}

/// Work that is done.
pub(super) struct Done {
    pub(super) then: Then,
    /// Nothing for work that was let go before the model had it done.
    pub(super) timed: Option<Timed>,
}

/// How long work took by the model, and when it began in fact.
pub(super) struct Timed {
    pub(super) modelled: Nanos,
    came: Nanos,
    way: Nanos,
    /// Whether its end was waited for as that of a fast device's.
    pub(super) precisely: bool,
}

impl Timed {
    /// How long it took for who waits, if its answer ended at `now`.
    pub(super) fn achieved(&self, now: Duration) -> Nanos {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        now.saturating_sub(self.came) + 2 * self.way
    }

    /// Whether it could have been answered in time: there was time for the way and the lead.
    pub(super) fn could_be_kept(&self, lead: Nanos) -> bool {
        self.modelled > 2 * self.way + lead
    }
}

impl Schedule {
    pub(super) fn new(station: Station, timing: bool) -> Self {
        Self {
            station,
            timing,
            stopped: 0,
            idle: 0,
            device_now: 0,
            way: 0,
            lead: 0,
            jobs: HashMap::new(),
            owners: HashMap::new(),
            next_id: 0,
            completions: Vec::new(),
            done: Vec::new(),
            fast: false,
            precisely: false,
        }
    }

    /// The device's time at a moment of real time.
    fn device_time(&self, now: Nanos) -> Nanos {
        let now = if self.timing { now } else { self.stopped };
        now.saturating_sub(self.idle)
    }

    /// Takes in work that came at this moment; it has at least one request.
    pub(super) fn submit(&mut self, came: Nanos, work: Work, then: Then) {
        // It set out a little before; but what the device did since is decided.
        let sent = self.device_time(came).saturating_sub(self.way);
        self.advance(sent);
        let sent = sent.max(self.device_now);
        self.device_now = sent;
        let job = Job { steps: work.steps.into_iter(), open: 0, arrived: sent, came, then };
        self.next_id += 1;
        self.go_on(self.next_id, job, sent);
    }

    /// Submits the next step of a job at a moment of the device's time, or ends it.
    fn go_on(&mut self, number: u64, mut job: Job, at: Nanos) {
        let Some(step) = job.steps.find(|step| !step.is_empty()) else {
            let modelled = at - job.arrived;
            self.fast = modelled < FAST;
            let (way, precisely) = (self.way, self.precisely);
            let timed = Timed { modelled, came: job.came, way, precisely };
            self.done.push(Done { then: job.then, timed: Some(timed) });
            return;
        };
        job.open = step.len();
        self.jobs.insert(number, job);
        for request in step {
            self.next_id += 1;
            self.owners.insert(self.next_id, number);
            self.station.submit(at, self.next_id, request);
        }
    }

    /// Lets the device do what has to be answered by `now`, or so soon that it takes `lead`.
    pub(super) fn catch_up(&mut self, now: Nanos, lead: Nanos) {
        (self.lead, self.precisely) = (lead, self.fast);
        if self.timing {
            self.advance(self.device_time(now) + self.way + lead);
        }
    }

    /// Lets the device's time pass until `until`, event by event, since the end of one step is the
    /// beginning of the next.
    fn advance(&mut self, until: Nanos) {
        while let Some(event) = self.station.next_event().filter(|event| *event <= until) {
            let event = event.max(self.device_now);
            self.device_now = event;
            let mut completions = std::mem::take(&mut self.completions);
            self.station.advance(event, &mut completions);
            for completion in completions.drain(..) {
                self.complete(completion);
            }
            self.completions = completions;
        }
    }

    /// Lets the device's time pass until the present; says when that is.
    fn arrive(&mut self, now: Nanos) -> Nanos {
        let present = self.device_time(now);
        self.advance(present);
        self.device_now = self.device_now.max(present);
        self.device_now
    }

    fn complete(&mut self, completion: Completion) {
        // Nobody waits for requests that were under way when the timing was turned off.
        let Some(number) = self.owners.remove(&completion.id) else { return };
        let Some(job) = self.jobs.get_mut(&number) else { return };
        job.open -= 1;
        if job.open == 0 {
            let job = self.jobs.remove(&number).expect("it was there a line ago");
            self.go_on(number, job, self.device_now);
        }
    }

    /// When the device has to be looked at next, in real time; never while it stands still.
    pub(super) fn next_event(&self) -> Option<Nanos> {
        let event = self.station.next_event().filter(|_| self.timing)?;
        Some((event + self.idle).saturating_sub(self.way + self.lead))
    }

    /// What has been done since it was last asked.
    pub(super) fn done(&mut self) -> vec::Drain<'_, Done> {
        self.done.drain(..)
    }

    /// How many wait for work.
    pub(super) fn waiting(&self) -> usize {
        self.jobs.len()
    }

    /// Whether the last work took less time than a wait can be trusted to the system.
    pub(super) fn fast(&self) -> bool {
        self.fast
    }

    /// Lets the device move from `now` on, or stand still; then all work under way is done.
    pub(super) fn set_timing(&mut self, now: Nanos, on: bool) {
        match (self.timing, on) {
            (true, false) => {
                self.arrive(now);
                self.stopped = now;
            }
            (false, true) => self.idle += now - self.stopped,
            _ => {}
        }
        self.timing = on;
        if !on {
            self.owners.clear();
            let let_go = self.jobs.drain().map(|(_, job)| Done { then: job.then, timed: None });
            self.done.extend(let_go);
        }
    }

    pub(super) fn set_neighbours(&mut self, now: Nanos, level: Level) {
        let now = self.arrive(now);
        self.station.set_neighbours(now, level);
    }

    pub(super) fn set_span(&mut self, bytes: u64) {
        self.station.set_span(bytes);
    }

    pub(super) fn set_round_trip(&mut self, nanos: Nanos) {
        self.way = nanos / 2;
    }

    pub(super) fn counts(&mut self, now: Nanos) -> StationCounts {
        let now = self.arrive(now);
        self.station.counts(now)
    }
}
