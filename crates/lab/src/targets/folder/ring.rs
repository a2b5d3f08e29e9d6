//! Many requests in flight on one thread, by io_uring: no client that blocks can do that.

use std::io;
use std::os::fd::AsRawFd;

use bakeoff_load::{Clock, Done, Driver, Nanos, Next, Operation, Pacer, Record, Starts, Work};
use io_uring::{IoUring, opcode, squeue, types};

use super::claims::Syncing;
use super::files::Buffers;
use super::requests::{Request, Requests};

/// With less time than this until a start, the ring is looked at again and again instead of waited
/// for: a thread that sleeps wakes some tens of microseconds late.
const SPIN: Nanos = 120_000;

/// Whether this kernel gives rings.
///
/// # Errors
/// What it says instead.
pub fn probe() -> io::Result<()> {
    // Waiting with a time limit; without it an open loop can't start in time.
    match IoUring::new(2)?.params().is_feature_ext_arg() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// A client with as many requests in flight as it has slots.
pub struct Ring<'a> {
    // The ring goes before its buffers: the kernel may still write to them until it is closed.
    ring: IoUring,
    requests: Requests<'a>,
    buffers: Buffers,
    slots: Vec<Slot>,
    /// The files that the request in each slot has still to sync.
    due: Vec<Vec<usize>>,
    in_flight: usize,
}

/// What is in flight in a slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    request: Request,
    /// When the request was to start, and when it did.
    intended: Nanos,
    started: Nanos,
    /// The sync that is under way, where it has ended and waits for one.
    syncing: Option<Syncing>,
}

impl<'a> Ring<'a> {
    /// Makes these requests, `depth` at once.
    ///
    /// # Errors
    /// When the kernel gives no ring.
    pub fn new(requests: Requests<'a>, depth: usize) -> io::Result<Self> {
        let ring = IoUring::new(depth.next_power_of_two() as u32)?;
        let buffers = Buffers::new(depth, requests.block());
        let (slots, due) = (vec![Slot::default(); depth], vec![Vec::new(); depth]);
        Ok(Self { ring, requests, buffers, slots, due, in_flight: 0 })
    }

    /// Queues the next request in a slot.
    fn start(&mut self, slot: usize, intended: Nanos, now: Nanos, record: &mut dyn Record) {
        let request = self.requests.next_request();
        self.slots[slot] = Slot { request, intended, started: now, syncing: None };
        record.begin(slot, request.kind, intended);
        let (length, offset) = (self.requests.block() as u32, request.spot.offset);
        let file = types::Fd(self.requests.files().files[request.spot.file].as_raw_fd());
        let memory = self.buffers.block(slot);
        self.requests.fill(&request, memory);
        let entry = match request.writes {
            true => opcode::Write::new(file, memory.as_ptr(), length).offset(offset).build(),
            false => opcode::Read::new(file, memory.as_mut_ptr(), length).offset(offset).build(),
        };
        self.push(&entry.user_data(slot as u64));
    }

    /// Queues the sync of a file that the request in a slot waits for.
    fn start_sync(&mut self, slot: usize, file: usize) {
        self.slots[slot].syncing = Some(self.requests.begin_sync(file));
        let flags = match self.requests.data_only() {
            true => types::FsyncFlags::DATASYNC,
            false => types::FsyncFlags::empty(),
        };
        let file = types::Fd(self.requests.files().files[file].as_raw_fd());
        self.push(&opcode::Fsync::new(file).flags(flags).build().user_data(slot as u64));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the buffers and the files live as long as the ring, what was in flight in the slot
        // before has ended, and the ring has room for as many entries as there are slots.
        unsafe { self.ring.submission().push(entry) }.expect("a ring has an entry for each slot");
        self.in_flight += 1;
    }

    /// Submits what is queued, and waits until a request has ended or, with a start to come, until
    /// shortly before it.
    fn wait(&mut self, until: Option<Nanos>, clock: Clock) -> io::Result<()> {
        let left = until.map(|until| until.saturating_sub(clock.now()));
        let waited = match left {
            None => self.ring.submit_and_wait(1),
            Some(left) if left <= SPIN => self.ring.submit(),
            Some(left) => {
                let left = std::time::Duration::from_nanos(left - SPIN);
                let time = types::Timespec::from(left);
                let arguments = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
        match waited {
            // Out of resources for a moment: what has ended is taken first, then it is tried again.
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
            Ok(_) => Ok(()),
        }
    }

    /// Tells of the requests that have ended, and frees their slots.
    fn reap(&mut self, starts: &mut Starts, record: &mut dyn Record, clock: Clock) {
        // Each is taken by itself: what waits for a sync goes on in the same ring.
        let next = |ring: &mut IoUring| ring.completion().next();
        while let Some(entry) = next(&mut self.ring) {
            let lane = entry.user_data() as usize;
            self.in_flight -= 1;
            let error = self.end(lane, entry.result());
            if error.is_none()
                && let Some(file) = self.due[lane].pop().or_else(|| self.requests.next_sync())
            {
                self.start_sync(lane, file);
                continue;
            }
            let Slot { request: Request { kind, .. }, intended, started, .. } = self.slots[lane];
            let work = Work { bytes: self.requests.block() as u64, ..Work::default() };
            let done = Done { error, work, ..Done::default() };
            let ended = clock.now();
            let operation = Operation { lane, kind, intended, started, ended, done };
            starts.ended(lane, record.record(operation));
        }
    }

    /// Notes that what was in flight in a slot has ended; what is wrong with it.
    fn end(&mut self, slot: usize, result: i32) -> Option<String> {
        let (Slot { request, syncing, .. }, block) = (self.slots[slot], self.requests.block());
        match (result, syncing) {
            (..0, _) => return Some(io::Error::from_raw_os_error(-result).to_string()),
            (_, Some(syncing)) => self.requests.synced(syncing),
            (all, None) if all as usize == block => self.due[slot] = self.requests.ended(&request),
            (some, None) => {
                let what = if request.writes { "written" } else { "read" };
                return Some(format!("{some} bytes were {what} instead of {block}"));
            }
        }
        None
    }
}

impl Driver for Ring<'_> {
    fn lanes(&self) -> usize {
        self.slots.len()
    }

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
        let clock = record.clock();
        let mut starts = Starts::new(self.slots.len(), clock.now());
        loop {
            let until = loop {
                match starts.next(pacer, || clock.now()) {
                    Next::Start { lane, intended, now } => self.start(lane, intended, now, record),
                    Next::At(start) if self.in_flight == 0 => {
                        if pacer.wait(start).is_none() {
                            return;
                        }
                    }
                    Next::At(start) => break Some(start),
                    Next::Over if self.in_flight == 0 => return,
                    Next::Busy | Next::Over => break None,
                }
            };
            if let Err(error) = self.wait(until, clock) {
                let (now, error) = (clock.now(), Some(format!("io_uring_enter: {error}")));
                let done = Done { error, ..Done::default() };
                let (intended, started, ended) = (now, now, now);
                record.record(Operation { lane: 0, kind: 0, intended, started, ended, done });
                return;
            }
            self.reap(&mut starts, record, clock);
        }
    }
}

impl Drop for Ring<'_> {
    /// Nothing may be written to the buffers when they are gone.
    fn drop(&mut self) {
        while self.in_flight > 0 && self.ring.submit_and_wait(1).is_ok() {
            let ended = self.ring.completion().count();
            self.in_flight -= ended.min(self.in_flight);
        }
    }
}
