//! Many connections on one thread. Each is registered for reading once; after that a request takes a
//! write and a read, and a share of one wait for all connections that are ready.

use std::collections::BTreeSet;
use std::time::Duration;

use bakeoff_load::{
    ClientShare, ClockNanos, Driver, DriverClock, EndedOperation, NextAction, OperationOutcome,
    OperationSink, Pacer, Starts, WorkDone,
};
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::PATIENCE;
use super::asked::RequestLanes;
use super::connection::{Origins, PageConnection};
use super::fault::Fault;
use super::on_the_way::{Come, OnTheWay};
use super::slot::{ClientSlot, OperationStart, PendingRequest};

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// Events that are taken at once.
const EVENTS: usize = 256;
/// After so many events a start that is due does not wait for the others.
const ROUND: usize = 16;
/// With less time than this until a start, the connections are looked at again and again instead of
/// waited for: a thread that sleeps wakes some tens of microseconds late.
const SPIN: ClockNanos = 120_000;
/// How long a connection waits that found the backlog full, before it is tried again.
const PAUSE: ClockNanos = 1_000_000;
/// How often requests are looked at that wait for their answer too long.
const LOOK: Duration = Duration::from_secs(1);

/// The clients of a share.
pub struct Events<A> {
    asked: A,
    epoll: OwnedFd,
    slots: Vec<ClientSlot>,
    origins: Origins,
    buffer: Vec<u8>,
    in_flight: usize,
    /// Lanes whose connections found the backlog full.
    waiting: BTreeSet<usize>,
    on_the_way: OnTheWay,
    /// How long it has waited, for connections and for starts.
    waited: ClockNanos,
}

impl<A: RequestLanes> Events<A> {
    /// The driver of a share of the clients, which ask for this.
    ///
    /// # Errors
    /// What the system said.
    pub fn new(asked: A, share: &ClientShare) -> Result<Self, Errno> {
        let many = asked.requests_each().is_some();
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            slots: share.clients.clone().map(|_| ClientSlot::default()).collect(),
            origins: Origins::new(asked.at(), many, share.driver),
            asked,
            buffer: vec![0; BUFFER],
            in_flight: 0,
            waiting: BTreeSet::new(),
            on_the_way: OnTheWay::default(),
            waited: 0,
        })
    }

    /// Sends the request of a lane; what came of it, where that is known at once.
    fn start(
        &mut self,
        lane: usize,
        (kind, intended, started): OperationStart,
    ) -> Option<OperationOutcome> {
        self.in_flight += 1;
        let request = PendingRequest { kind, intended, started, ..PendingRequest::default() };
        self.slots[lane].request = Some(request);
        self.begin(lane)
    }

    /// Begins the request of a lane; what came of it, where that is known at once. A Unix socket with a full
    /// backlog says so at once; a client that blocks would wait there.
    fn begin(&mut self, lane: usize) -> Option<OperationOutcome> {
        match self.request(lane) {
            Ok(()) => None,
            Err(Fault::Refused(Errno::AGAIN)) => {
                self.waiting.insert(lane);
                None
            }
            Err(fault) => self.failed(lane, fault),
        }
    }

    /// Begins the request of a lane on its connection, or on a new one.
    fn request(&mut self, lane: usize) -> Result<(), Fault> {
        let slot = &mut self.slots[lane];
        let is_new = slot.connection.is_none();
        if is_new {
            slot.generation = slot.generation.wrapping_add(1);
            slot.connection = Some(PageConnection::begin(self.asked.at(), &mut self.origins)?);
        }
        let token = slot.token(lane);
        let connection = slot.connection.as_mut().expect("it was just made");
        connection.renew();
        let all = !connection.is_connecting
            && connection.send(self.asked.request(lane, connection.requests))?;
        let registered = match (is_new, all) {
            (true, all) => epoll::add(&self.epoll, &*connection, token, interest(!all)),
            (false, false) => epoll::modify(&self.epoll, &*connection, token, interest(true)),
            (false, true) => Ok(()),
        };
        registered.map_err(Fault::System)
    }

    /// Goes on with a lane whose connection is ready; what came of its request, where it has ended.
    fn ready(&mut self, event: Event) -> Option<OperationOutcome> {
        let (data, flags) = (event.data.u64(), event.flags);
        let lane = (data >> 32) as usize;
        let slot = &self.slots[lane];
        if slot.generation != data as u32 || slot.connection.is_none() {
            return None;
        }
        if slot.request.is_none() {
            // Nothing was asked for: whatever the server says or does, it takes another connection.
            self.slots[lane].connection = None;
            return None;
        }
        match self.go_on(lane, flags) {
            Ok(done) => done,
            Err(fault) => self.failed(lane, fault),
        }
    }

    /// Connects, sends and reads as far as it goes.
    fn go_on(&mut self, lane: usize, flags: EventFlags) -> Result<Option<OperationOutcome>, Fault> {
        let slot = &mut self.slots[lane];
        let (Some(connection), Some(request)) = (&mut slot.connection, &mut slot.request) else {
            return Ok(None);
        };
        if connection.is_connecting {
            connection.connected()?;
        }
        if flags.contains(EventFlags::OUT) {
            connection.send(self.asked.request(lane, connection.requests))?;
        }
        loop {
            let Some(read) = connection.read(&mut self.buffer)? else { return Ok(None) };
            if read == 0 {
                return match connection.answer.closed() {
                    true => Ok(Some(self.ended(lane, 0))),
                    false => Err(Fault::Closed),
                };
            }
            let asked = &mut self.asked;
            let whole = connection.answer.take(&self.buffer[..read], &mut |part| {
                asked.take(lane, request.length, part);
                request.length += part.len();
            })?;
            if request.length > super::MOST_BODY {
                return Err(Fault::TooLong);
            }
            if let Some(taken) = whole {
                return Ok(Some(self.ended(lane, read - taken)));
            }
            if read < BUFFER && !flags.intersects(EventFlags::RDHUP | EventFlags::HUP) {
                return Ok(None);
            }
        }
    }

    /// The answer of a lane is whole; `surplus` bytes came after it.
    fn ended(&mut self, lane: usize, surplus: usize) -> OperationOutcome {
        let slot = &mut self.slots[lane];
        let (Some(connection), Some(request)) = (&slot.connection, slot.request.take()) else {
            return OperationOutcome::default();
        };
        let status = connection.answer.status;
        let used_up = self.asked.requests_each().is_some_and(|most| connection.requests >= most);
        if connection.answer.closes || used_up || surplus > 0 {
            slot.connection = None;
        }
        let mut error = self.asked.judge(lane, status, request.length).err();
        if error.is_none() && surplus > 0 {
            let fault = Fault::NoHttp("more came than its length says");
            self.asked.count(fault);
            error = Some(fault.to_string());
        }
        OperationOutcome {
            retries: request.retried.into(),
            work: WorkDone { bytes: request.length as u64, ..WorkDone::default() },
            error,
        }
    }

    /// The request of a lane has failed, and its connection with it; `None` where it is sent once more.
    /// A server may close a connection that is kept just when a request is on its way (RFC 9112, 9.3.1);
    /// that can be told from a fault of the first request of a connection. A request that changes something
    /// is not sent again: it may have been carried out.
    fn failed(&mut self, lane: usize, fault: Fault) -> Option<OperationOutcome> {
        let slot = &mut self.slots[lane];
        let connection = slot.connection.take();
        let request = slot.request.as_mut()?;
        let was_kept = |it: &PageConnection| it.requests > 1 && it.answer.is_unbegun();
        let again = !request.retried && self.asked.may_repeat(lane);
        if fault == Fault::Closed && again && connection.as_ref().is_some_and(was_kept) {
            request.retried = true;
            return self.begin(lane);
        }
        let retries = request.retried.into();
        slot.request = None;
        self.waiting.remove(&lane);
        self.asked.count(fault);
        Some(OperationOutcome {
            retries,
            error: Some(fault.to_string()),
            ..OperationOutcome::default()
        })
    }

    /// The lanes whose requests have waited too long by now.
    fn late(&self, now: ClockNanos) -> Vec<usize> {
        let patience = PATIENCE.as_nanos() as ClockNanos;
        let late = |slot: &ClientSlot| {
            slot.request.is_some_and(|request| now.saturating_sub(request.started) >= patience)
        };
        (0..self.slots.len()).filter(|lane| late(&self.slots[*lane])).collect()
    }

    /// Waits for connections that are ready, until a moment at the latest.
    fn wait(
        &mut self,
        events: &mut Vec<Event>,
        until: Option<ClockNanos>,
        clock: DriverClock,
    ) -> Result<(), Errno> {
        let before = clock.now();
        let timeout = match until {
            None => LOOK,
            Some(until) => {
                let left = until.saturating_sub(before).min(LOOK.as_nanos() as ClockNanos);
                if left > 0 {
                    // The time limit of epoll itself is in milliseconds.
                    let limit = timespec(Duration::from_nanos(left));
                    let mut ready = [PollFd::new(&self.epoll, PollFlags::IN)];
                    interrupted(poll(&mut ready, Some(&limit)))?;
                }
                Duration::ZERO
            }
        };
        events.clear();
        let taken = rustix::buffer::spare_capacity(events);
        let ended = interrupted(epoll::wait(&self.epoll, taken, Some(&timespec(timeout))));
        self.waited += clock.now().saturating_sub(before);
        ended
    }

    /// Tells of a request that has ended, and frees its lane.
    fn tell(&mut self, come: Come, starts: &mut Starts, record: &mut dyn OperationSink) {
        let Come { lane, begun: (kind, intended, started), done } = come;
        self.in_flight -= 1;
        let ended = record.clock().now();
        let operation = EndedOperation { lane, kind, intended, started, ended, done };
        starts.ended(lane, record.record(operation));
    }

    /// Starts what is due, and says what comes next.
    fn start_due(
        &mut self,
        starts: &mut Starts,
        pacer: &mut dyn Pacer,
        record: &mut dyn OperationSink,
    ) -> NextAction {
        let clock = record.clock();
        loop {
            match starts.next(pacer, || clock.now()) {
                NextAction::Start { lane, intended, now } => {
                    let begun = (self.asked.choose(lane), intended, now);
                    record.begin(lane, begun.0, intended);
                    if let Some(done) = self.start(lane, begun) {
                        self.tell(Come { lane, begun, done }, starts, record);
                    }
                }
                next => return next,
            }
        }
    }

    /// Goes on with the lane of an event. What has come of its request counts as received after its round trips.
    fn take(&mut self, event: Event, starts: &mut Starts, record: &mut dyn OperationSink) {
        let lane = (event.data.u64() >> 32) as usize;
        let (begun, trips) = (self.slots[lane].begun(), self.slots[lane].round_trips());
        let Some(done) = self.ready(event) else { return };
        let come = Come { lane, begun, done };
        match self.asked.rtt().as_nanos() as ClockNanos * trips {
            0 => self.tell(come, starts, record),
            way => self.on_the_way.keep(record.clock().now() + way, come),
        }
    }

    /// Goes on with what no event tells of: connections that found the backlog full, answers that count as
    /// received by now, and, where it is time for that, requests that have waited too long.
    fn go_round(&mut self, looks: bool, starts: &mut Starts, record: &mut dyn OperationSink) {
        for lane in std::mem::take(&mut self.waiting) {
            let begun = self.slots[lane].begun();
            if let Some(done) = self.begin(lane) {
                self.tell(Come { lane, begun, done }, starts, record);
            }
        }
        while let Some(come) = self.on_the_way.received(record.clock().now()) {
            self.tell(come, starts, record);
        }
        let late = if looks { self.late(record.clock().now()) } else { Vec::new() };
        for lane in late {
            let begun = self.slots[lane].begun();
            if let Some(done) = self.failed(lane, Fault::TimedOut) {
                self.tell(Come { lane, begun, done }, starts, record);
            }
        }
    }

    /// Works until no other operation is to start.
    fn work(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut starts = Starts::new(self.slots.len(), clock.now());
        let mut events = Vec::with_capacity(EVENTS);
        let mut looked = clock.now();
        loop {
            let start = match self.start_due(&mut starts, pacer, record) {
                NextAction::At(start) if self.in_flight == 0 => {
                    let before = clock.now();
                    let is_due = pacer.wait(start).is_some();
                    self.waited += clock.now().saturating_sub(before);
                    if is_due {
                        continue;
                    }
                    return;
                }
                NextAction::At(start) => Some(start),
                NextAction::Over if self.in_flight == 0 => return,
                NextAction::Start { .. } | NextAction::Busy | NextAction::Over => None,
            };
            let before_it = start.map(|start| start.saturating_sub(SPIN));
            let again = (!self.waiting.is_empty()).then(|| clock.now() + PAUSE);
            let until = [before_it, again, self.on_the_way.next()].into_iter().flatten().min();
            if let Err(errno) = self.wait(&mut events, until, clock) {
                let (lane, kind, now) = (0, 0, clock.now());
                let (intended, started, ended) = (now, now, now);
                let done = OperationOutcome {
                    error: Some(format!("epoll_wait: {errno}")),
                    ..OperationOutcome::default()
                };
                record.record(EndedOperation { lane, kind, intended, started, ended, done });
                return;
            }
            for (number, event) in events.iter().enumerate() {
                if number % ROUND == ROUND - 1 {
                    self.start_due(&mut starts, pacer, record);
                }
                self.take(*event, &mut starts, record);
            }
            let looks = clock.now().saturating_sub(looked) >= LOOK.as_nanos() as ClockNanos;
            if looks {
                looked = clock.now();
            }
            self.go_round(looks, &mut starts, record);
        }
    }
}

impl<A: RequestLanes> Driver for Events<A> {
    fn lanes(&self) -> usize {
        self.slots.len()
    }

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let begun = record.clock().now();
        self.work(pacer, record);
        self.asked.spent(record.clock().now().saturating_sub(begun), self.waited);
    }
}

/// What a connection is registered for: an event for each time that something comes, and, where it is
/// wanted, that it can be written to again.
fn interest(to_write: bool) -> EventFlags {
    let reads = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if to_write { reads | EventFlags::OUT } else { reads }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// A wait that a signal has ended is none.
fn interrupted<T>(waited: Result<T, Errno>) -> Result<(), Errno> {
    match waited {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests;
