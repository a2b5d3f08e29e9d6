//! Many connections on one thread. Each is registered for reading once; after that a request takes a
//! write and a read, and a share of one wait for all connections that are ready.

use std::collections::BTreeSet;
use std::time::Duration;

use bakeoff_load::{
    Clock, Done, Driver, Nanos, Next, Operation, Pacer, Record, Share, Starts, Work,
};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::PATIENCE;
use super::asked::Asked;
use super::connection::{Connection, Origins};
use super::fault::Fault;

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// Events that are taken at once.
const EVENTS: usize = 256;
/// With less time than this until a start, the connections are looked at again and again instead of
/// waited for: a thread that sleeps wakes some tens of microseconds late.
const SPIN: Nanos = 120_000;
/// How long a connection waits that found the backlog full, before it is tried again.
const PAUSE: Nanos = 1_000_000;
/// How often requests are looked at that wait for their answer too long.
const LOOK: Duration = Duration::from_secs(1);

/// The clients of a share.
pub struct Events<A> {
    asked: A,
    epoll: OwnedFd,
    slots: Vec<Slot>,
    origins: Origins,
    buffer: Vec<u8>,
    in_flight: usize,
    /// Lanes whose connections found the backlog full.
    waiting: BTreeSet<usize>,
}

/// A client and its connection.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Connection>,
    /// How many connections it has had, so that an event of an earlier one is told apart.
    generation: u32,
    request: Option<Request>,
}

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    kind: usize,
    intended: Nanos,
    started: Nanos,
    /// Whether it was sent once more, since the server had closed the connection before it came.
    retried: bool,
    /// Bytes of the body that have come.
    length: usize,
}

/// The kind of an operation, when it was to start and when it did.
type Begun = (usize, Nanos, Nanos);

impl<A: Asked> Events<A> {
    /// The driver of a share of the clients, which ask for this.
    ///
    /// # Errors
    /// What the system said.
    pub fn new(asked: A, share: &Share) -> Result<Self, Errno> {
        let many = asked.requests_each().is_some();
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            slots: share.clients.clone().map(|_| Slot::default()).collect(),
            origins: Origins::new(asked.at(), many, share.driver),
            asked,
            buffer: vec![0; BUFFER],
            in_flight: 0,
            waiting: BTreeSet::new(),
        })
    }

    /// Sends the request of a lane; what came of it, where that is known at once.
    fn start(&mut self, lane: usize, (kind, intended, started): Begun) -> Option<Done> {
        self.in_flight += 1;
        let request = Request { kind, intended, started, ..Request::default() };
        self.slots[lane].request = Some(request);
        self.begin(lane)
    }

    /// Begins the request of a lane; what came of it, where that is known at once. A Unix socket with a full
    /// backlog says so at once; a client that blocks would wait there.
    fn begin(&mut self, lane: usize) -> Option<Done> {
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
            slot.connection = Some(Connection::begin(self.asked.at(), &mut self.origins)?);
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
    fn ready(&mut self, event: Event) -> Option<Done> {
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
    fn go_on(&mut self, lane: usize, flags: EventFlags) -> Result<Option<Done>, Fault> {
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
    fn ended(&mut self, lane: usize, surplus: usize) -> Done {
        let slot = &mut self.slots[lane];
        self.in_flight -= 1;
        let (Some(connection), Some(request)) = (&slot.connection, slot.request.take()) else {
            return Done::default();
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
        Done {
            retries: request.retried.into(),
            work: Work { bytes: request.length as u64, ..Work::default() },
            error,
        }
    }

    /// The request of a lane has failed, and its connection with it; `None` where it is sent once more.
    /// A server may close a connection that is kept just when a request is on its way (RFC 9112, 9.3.1);
    /// that can be told from a fault of the first request of a connection. A request that changes something
    /// is not sent again: it may have been carried out.
    fn failed(&mut self, lane: usize, fault: Fault) -> Option<Done> {
        let slot = &mut self.slots[lane];
        let connection = slot.connection.take();
        let request = slot.request.as_mut()?;
        let was_kept = |it: &Connection| it.requests > 1 && it.answer.is_unbegun();
        let again = !request.retried && self.asked.may_repeat(lane);
        if fault == Fault::Closed && again && connection.as_ref().is_some_and(was_kept) {
            request.retried = true;
            return self.begin(lane);
        }
        let retries = request.retried.into();
        slot.request = None;
        self.in_flight -= 1;
        self.waiting.remove(&lane);
        self.asked.count(fault);
        Some(Done { retries, error: Some(fault.to_string()), ..Done::default() })
    }

    /// The lanes whose requests have waited too long by now.
    fn late(&self, now: Nanos) -> Vec<usize> {
        let patience = PATIENCE.as_nanos() as Nanos;
        let late = |slot: &Slot| {
            slot.request.is_some_and(|request| now.saturating_sub(request.started) >= patience)
        };
        (0..self.slots.len()).filter(|lane| late(&self.slots[*lane])).collect()
    }

    /// Waits for connections that are ready, with a start to come until shortly before it.
    fn wait(
        &self,
        events: &mut Vec<Event>,
        until: Option<Nanos>,
        clock: Clock,
    ) -> Result<(), Errno> {
        let look = LOOK.as_nanos() as Nanos;
        let timeout = match until {
            None => LOOK,
            Some(until) => {
                let left = until.saturating_sub(clock.now()).saturating_sub(SPIN).min(look);
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
        interrupted(epoll::wait(&self.epoll, taken, Some(&timespec(timeout))))
    }

    /// Tells of an operation that has ended, and frees its lane.
    fn tell(
        lane: usize,
        (kind, intended, started): Begun,
        done: Done,
        starts: &mut Starts,
        record: &mut dyn Record,
    ) {
        let ended = record.clock().now();
        let operation = Operation { lane, kind, intended, started, ended, done };
        let free = record.record(operation);
        starts.ended(lane, free);
    }

    /// What is known of the request of a lane from its start.
    fn begun(&self, lane: usize) -> Begun {
        let begun = |it: Request| (it.kind, it.intended, it.started);
        self.slots[lane].request.map_or((0, 0, 0), begun)
    }
}

impl<A: Asked> Driver for Events<A> {
    fn lanes(&self) -> usize {
        self.slots.len()
    }

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
        let clock = record.clock();
        let mut starts = Starts::new(self.slots.len(), clock.now());
        let mut events = Vec::with_capacity(EVENTS);
        let mut looked = clock.now();
        loop {
            let until = loop {
                match starts.next(pacer, || clock.now()) {
                    Next::Start { lane, intended, now } => {
                        let begun = (self.asked.choose(lane), intended, now);
                        record.begin(lane, begun.0, intended);
                        if let Some(done) = self.start(lane, begun) {
                            Self::tell(lane, begun, done, &mut starts, record);
                        }
                    }
                    Next::At(start) if self.in_flight == 0 => {
                        if pacer.wait(start).is_none() {
                            return;
                        }
                    }
                    Next::At(start) => break Some(start),
                    Next::Busy => break None,
                    Next::Over if self.in_flight == 0 => return,
                    Next::Over => break None,
                }
            };
            let again = (!self.waiting.is_empty()).then(|| clock.now() + PAUSE);
            let until = [until, again].into_iter().flatten().min();
            if let Err(errno) = self.wait(&mut events, until, clock) {
                let (lane, now) = (0, clock.now());
                let done = Done { error: Some(format!("epoll_wait: {errno}")), ..Done::default() };
                Self::tell(lane, (0, now, now), done, &mut starts, record);
                return;
            }
            for event in &events {
                let lane = (event.data.u64() >> 32) as usize;
                let begun = self.begun(lane);
                if let Some(done) = self.ready(*event) {
                    Self::tell(lane, begun, done, &mut starts, record);
                }
            }
            for lane in std::mem::take(&mut self.waiting) {
                let begun = self.begun(lane);
                if let Some(done) = self.begin(lane) {
                    Self::tell(lane, begun, done, &mut starts, record);
                }
            }
            let now = clock.now();
            if now.saturating_sub(looked) >= LOOK.as_nanos() as Nanos {
                looked = now;
                for lane in self.late(now) {
                    let begun = self.begun(lane);
                    if let Some(done) = self.failed(lane, Fault::TimedOut) {
                        Self::tell(lane, begun, done, &mut starts, record);
                    }
                }
            }
        }
    }
}

impl Slot {
    /// What its connection's events carry.
    fn token(&self, lane: usize) -> EventData {
        EventData::new_u64((lane as u64) << 32 | u64::from(self.generation))
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
