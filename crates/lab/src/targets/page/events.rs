//! Many connections on one thread. Each is registered once; then a request takes a write, a read,
//! and a share of one wait for all ready connections.

use std::collections::BTreeSet;
use std::time::Duration;

use bakeoff_load::{
    ClientShare, ClockNanos, Driver, DriverClock, EndedOperation, NextAction, OperationOutcome,
    OperationSink, Pacer, Starts, WorkAmount,
};
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::ANSWER_TIMEOUT;
use super::connection::{LocalAddresses, PageConnection};
use super::delayed_answers::{DelayedAnswer, DelayedAnswers};
use super::fault::Fault;
use super::lanes::{PageAccess, RequestLanes};
use super::slot::{ClientSlot, OperationStart, PendingRequest};
use crate::TrialError;

const BUFFER: usize = 64 << 10;
const EVENTS: usize = 256;
/// After this many events, due starts come first.
const ROUND: usize = 16;
/// Before a connection that found the backlog full is tried again. In nanoseconds.
const PAUSE: ClockNanos = 1_000_000;
const LOOK: Duration = Duration::from_secs(1);

pub struct EventDriver<'a, A> {
    asked: A,
    access: PageAccess<'a>,
    epoll: OwnedFd,
    slots: Vec<ClientSlot>,
    origins: LocalAddresses,
    buffer: Vec<u8>,
    in_flight: usize,
    waiting: BTreeSet<usize>,
    on_the_way: DelayedAnswers,
    waited: ClockNanos,
}

impl<'a, A: RequestLanes> EventDriver<'a, A> {
    pub fn new(asked: A, access: PageAccess<'a>, share: &ClientShare) -> Result<Self, TrialError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC);
        Ok(Self {
            epoll: epoll.map_err(|errno| TrialError::place_error("epoll can't be had", errno))?,
            slots: share.clients.clone().map(|_| ClientSlot::default()).collect(),
            origins: LocalAddresses::new(access.at, access.requests_each.is_some(), share.driver),
            asked,
            access,
            buffer: vec![0; BUFFER],
            in_flight: 0,
            waiting: BTreeSet::new(),
            on_the_way: DelayedAnswers::default(),
            waited: 0,
        })
    }

    /// Returns the outcome if it is known at once.
    fn start_operation(
        &mut self,
        lane: usize,
        (kind, intended, started): OperationStart,
    ) -> Option<OperationOutcome> {
        self.in_flight += 1;
        let request = PendingRequest { kind, intended, started, ..PendingRequest::default() };
        self.slots[lane].request = Some(request);
        self.begin(lane)
    }

    /// A Unix socket with a full backlog says so at once; a blocking client would wait.
    fn begin(&mut self, lane: usize) -> Option<OperationOutcome> {
        match self.send_request(lane) {
            Ok(()) => None,
            Err(Fault::Refused(Errno::AGAIN)) => {
                self.waiting.insert(lane);
                None
            }
            Err(fault) => self.fail_request(lane, fault),
        }
    }

    fn send_request(&mut self, lane: usize) -> Result<(), Fault> {
        let slot = &mut self.slots[lane];
        let is_new = slot.connection.is_none();
        if is_new {
            slot.generation = slot.generation.wrapping_add(1);
            slot.connection =
                Some(PageConnection::begin_connecting(self.access.at, &mut self.origins)?);
        }
        let token = slot.event_token(lane);
        let connection = slot.connection.as_mut().expect("it was just made");
        connection.renew();
        let all = !connection.is_connecting
            && connection.send_rest(self.asked.request_for(lane, connection.requests))?;
        let registered = match (is_new, all) {
            (true, all) => epoll::add(&self.epoll, &*connection, token, event_flags(!all)),
            (false, false) => epoll::modify(&self.epoll, &*connection, token, event_flags(true)),
            (false, true) => Ok(()),
        };
        registered.map_err(Fault::System)
    }

    fn advance_lane(&mut self, event: Event) -> Option<OperationOutcome> {
        let (data, flags) = (event.data.u64(), event.flags);
        let lane = (data >> 32) as usize;
        let slot = &self.slots[lane];
        if slot.generation != data as u32 || slot.connection.is_none() {
            return None;
        }
        if slot.request.is_none() {
            // No request was sent: whatever the server does, take another connection.
            self.slots[lane].connection = None;
            return None;
        }
        match self.go_on(lane, flags) {
            Ok(done) => done,
            Err(fault) => self.fail_request(lane, fault),
        }
    }

    fn go_on(&mut self, lane: usize, flags: EventFlags) -> Result<Option<OperationOutcome>, Fault> {
        let slot = &mut self.slots[lane];
        let (Some(connection), Some(request)) = (&mut slot.connection, &mut slot.request) else {
            return Ok(None);
        };
        if connection.is_connecting {
            connection.finish_connecting()?;
        }
        if flags.contains(EventFlags::OUT) {
            connection.send_rest(self.asked.request_for(lane, connection.requests))?;
        }
        loop {
            let Some(read) = connection.read(&mut self.buffer)? else { return Ok(None) };
            if read == 0 {
                return match connection.answer.closed() {
                    true => Ok(Some(self.end_request(lane, 0))),
                    false => Err(Fault::Closed),
                };
            }
            let asked = &mut self.asked;
            let whole = connection.answer.take_bytes(&self.buffer[..read], &mut |part| {
                asked.take_body(lane, request.length, part);
                request.length += part.len();
            })?;
            if request.length > super::MOST_BODY {
                return Err(Fault::TooLong);
            }
            if let Some(taken) = whole {
                return Ok(Some(self.end_request(lane, read - taken)));
            }
            if read < BUFFER && !flags.intersects(EventFlags::RDHUP | EventFlags::HUP) {
                return Ok(None);
            }
        }
    }

    /// `surplus` bytes came after the whole answer.
    fn end_request(&mut self, lane: usize, surplus: usize) -> OperationOutcome {
        let slot = &mut self.slots[lane];
        let (Some(connection), Some(request)) = (&slot.connection, slot.request.take()) else {
            return OperationOutcome::default();
        };
        let status = connection.answer.status;
        let used_up = self.access.requests_each.is_some_and(|most| connection.requests >= most);
        if connection.answer.closes || used_up || surplus > 0 {
            slot.connection = None;
        }
        let mut wrong = self.asked.judge_answer(lane, status, request.length).err();
        if wrong.is_none() && surplus > 0 {
            wrong = Some((Fault::SURPLUS, Fault::SURPLUS.to_string()));
        }
        let error = wrong.map(|(fault, text)| {
            self.access.faults.count(fault);
            text
        });
        OperationOutcome {
            retries: request.retried.into(),
            work: WorkAmount { bytes: request.length as u64, ..WorkAmount::default() },
            error,
        }
    }

    /// `None` if the request is sent once more. A server may close a kept connection just when a
    /// request is on its way (RFC 9112, 9.3.1), which differs from a fault of a connection's first
    /// request. A request that changes something is never repeated: it may have been carried out.
    fn fail_request(&mut self, lane: usize, fault: Fault) -> Option<OperationOutcome> {
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
        self.access.faults.count(fault);
        Some(OperationOutcome {
            retries,
            error: Some(fault.to_string()),
            ..OperationOutcome::default()
        })
    }

    fn late_lanes(&self, now: ClockNanos) -> Vec<usize> {
        let patience = ANSWER_TIMEOUT.as_nanos() as ClockNanos;
        let late = |slot: &ClientSlot| {
            slot.request.is_some_and(|request| now.saturating_sub(request.started) >= patience)
        };
        (0..self.slots.len()).filter(|lane| late(&self.slots[*lane])).collect()
    }

    fn wait_for_events(
        &mut self,
        events: &mut Vec<Event>,
        until: Option<ClockNanos>,
        clock: DriverClock,
    ) -> Result<(), Errno> {
        let before = clock.now();
        events.clear();
        let timeout = match until {
            None => LOOK,
            Some(until) => {
                let left = until.saturating_sub(before).min(LOOK.as_nanos() as ClockNanos);
                if left > 0 {
                    // epoll's own limit is in milliseconds.
                    let limit = to_timespec(Duration::from_nanos(left));
                    let mut ready = [PollFd::new(&self.epoll, PollFlags::IN)];
                    let is_ready = is_ready(poll(&mut ready, Some(&limit)))?;
                    if !is_ready {
                        self.waited += clock.now().saturating_sub(before);
                        return Ok(());
                    }
                }
                Duration::ZERO
            }
        };
        let taken = rustix::buffer::spare_capacity(events);
        let ended = is_ready(epoll::wait(&self.epoll, taken, Some(&to_timespec(timeout))));
        self.waited += clock.now().saturating_sub(before);
        ended.map(drop)
    }

    fn report_outcome(
        &mut self,
        come: DelayedAnswer,
        starts: &mut Starts,
        record: &mut dyn OperationSink,
    ) {
        let DelayedAnswer { lane, begun: (kind, intended, started), done } = come;
        self.in_flight -= 1;
        let ended = record.clock().now();
        let operation = EndedOperation { lane, kind, intended, started, ended, done };
        starts.free_lane(lane, record.record(operation));
    }

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
                    let begun = (self.asked.choose_operation(lane), intended, now);
                    record.begin_operation(lane, begun.0, intended);
                    if let Some(done) = self.start_operation(lane, begun) {
                        self.report_outcome(DelayedAnswer { lane, begun, done }, starts, record);
                    }
                }
                next => return next,
            }
        }
    }

    /// The outcome counts as received after its round trips.
    fn take_event(&mut self, event: Event, starts: &mut Starts, record: &mut dyn OperationSink) {
        let lane = (event.data.u64() >> 32) as usize;
        let (begun, trips) = (self.slots[lane].begun(), self.slots[lane].round_trips());
        let Some(done) = self.advance_lane(event) else { return };
        let come = DelayedAnswer { lane, begun, done };
        match self.access.rtt.as_nanos() as ClockNanos * trips {
            0 => self.report_outcome(come, starts, record),
            way => self.on_the_way.keep(record.clock().now() + way, come),
        }
    }

    /// Handles the cases without an event: connections that found the backlog full, answers that
    /// count as received by now, and, if `looks`, overdue requests.
    fn go_round(&mut self, looks: bool, starts: &mut Starts, record: &mut dyn OperationSink) {
        for lane in std::mem::take(&mut self.waiting) {
            let begun = self.slots[lane].begun();
            if let Some(done) = self.begin(lane) {
                self.report_outcome(DelayedAnswer { lane, begun, done }, starts, record);
            }
        }
        while let Some(come) = self.on_the_way.take_received(record.clock().now()) {
            self.report_outcome(come, starts, record);
        }
        let late = if looks { self.late_lanes(record.clock().now()) } else { Vec::new() };
        for lane in late {
            let begun = self.slots[lane].begun();
            if let Some(done) = self.fail_request(lane, Fault::TimedOut) {
                self.report_outcome(DelayedAnswer { lane, begun, done }, starts, record);
            }
        }
    }

    fn work_until_done(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut starts = Starts::new(self.slots.len(), clock.now());
        let mut events = Vec::with_capacity(EVENTS);
        let mut looked = clock.now();
        loop {
            let start = match self.start_due(&mut starts, pacer, record) {
                NextAction::At(start) if self.in_flight == 0 || pacer.shortest_sleep() > 0 => {
                    let before = clock.now();
                    let wakes = start.max(before + pacer.shortest_sleep());
                    let is_due = pacer.wait_until(wakes).is_some();
                    self.waited += clock.now().saturating_sub(before);
                    self.start_due(&mut starts, pacer, record);
                    if !is_due && self.in_flight == 0 {
                        return;
                    }
                    // What has come meanwhile is taken without waiting.
                    Some(0)
                }
                NextAction::At(start) => Some(start),
                NextAction::Over if self.in_flight == 0 => return,
                NextAction::Start { .. } | NextAction::Busy | NextAction::Over => None,
            };
            let before_it = start.map(|start| start.saturating_sub(pacer.spin_time()));
            let again = (!self.waiting.is_empty()).then(|| clock.now() + PAUSE);
            let until = [before_it, again, self.on_the_way.next()].into_iter().flatten().min();
            if let Err(errno) = self.wait_for_events(&mut events, until, clock) {
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
                self.take_event(*event, &mut starts, record);
            }
            let looks = clock.now().saturating_sub(looked) >= LOOK.as_nanos() as ClockNanos;
            if looks {
                looked = clock.now();
            }
            self.go_round(looks, &mut starts, record);
        }
    }
}

impl<A: RequestLanes> Driver for EventDriver<'_, A> {
    fn lanes(&self) -> usize {
        self.slots.len()
    }

    fn is_event_driven(&self) -> bool {
        true
    }

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let begun = record.clock().now();
        self.work_until_done(pacer, record);
        self.access.spent.add(record.clock().now().saturating_sub(begun), self.waited);
    }
}

/// Edge-triggered, and for writing if wanted.
fn event_flags(to_write: bool) -> EventFlags {
    let reads = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if to_write { reads | EventFlags::OUT } else { reads }
}

fn to_timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// A signal may end a wait: that is no error.
fn is_ready(waited: Result<usize, Errno>) -> Result<bool, Errno> {
    match waited {
        Ok(number) => Ok(number > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests;
