//! Many reads in flight on one thread, by io_uring: no client that blocks can do that.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use bakeoff_load::{Clock, Done, Driver, Nanos, Operation, Pacer, Record, Work};
use io_uring::{IoUring, opcode, types};

use super::file::{Blocks, Buffers, DataFile};

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
    file: &'a DataFile,
    blocks: Blocks,
    buffers: Buffers,
    /// When the request in each slot was to start, and when it did.
    slots: Vec<(Nanos, Nanos)>,
    in_flight: usize,
}

/// What is to be done next.
enum Next {
    /// Nothing is to start before a request has ended.
    Full,
    /// A request is to start later.
    At(usize, Nanos),
    /// No other request is to start.
    Over,
}

impl<'a> Ring<'a> {
    /// Reads these blocks of the file, `depth` at once.
    ///
    /// # Errors
    /// When the kernel gives no ring.
    pub fn new(file: &'a DataFile, blocks: Blocks, depth: usize) -> io::Result<Self> {
        let ring = IoUring::new(depth.next_power_of_two() as u32)?;
        let (buffers, slots) = (Buffers::new(depth, file.block), vec![(0, 0); depth]);
        Ok(Self { ring, file, blocks, buffers, slots, in_flight: 0 })
    }

    /// Queues the read of a slot.
    fn start(&mut self, slot: usize, intended: Nanos, now: Nanos, record: &mut dyn Record) {
        self.slots[slot] = (intended, now);
        record.begin(slot, 0, intended);
        let memory = self.buffers.block(slot).as_mut_ptr();
        let read = opcode::Read::new(
            types::Fd(self.file.file.as_raw_fd()),
            memory,
            self.file.block as u32,
        )
        .offset(self.blocks.next_offset())
        .build()
        .user_data(slot as u64);
        // SAFETY: the buffer and the file live as long as the ring, the slot's earlier request has
        // ended, and the ring has room for as many entries as there are slots.
        unsafe { self.ring.submission().push(&read) }.expect("a ring has an entry for each slot");
        self.in_flight += 1;
    }

    /// Starts what is due, for slots that are free since some time.
    fn start_due(
        &mut self,
        free: &mut VecDeque<(usize, Nanos)>,
        pacer: &mut dyn Pacer,
        record: &mut dyn Record,
    ) -> Next {
        let clock = record.clock();
        while let Some((slot, since)) = free.pop_front() {
            let Some(intended) = pacer.next(since) else { return Next::Over };
            let now = if intended > since { clock.now() } else { since };
            if intended > now {
                return Next::At(slot, intended);
            }
            self.start(slot, intended, now, record);
        }
        Next::Full
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

    /// Tells of the requests that have ended; whether others may start.
    fn reap(
        &mut self,
        free: &mut VecDeque<(usize, Nanos)>,
        record: &mut dyn Record,
        clock: Clock,
    ) -> bool {
        let mut goes_on = true;
        while let Some(entry) = self.ring.completion().next() {
            let slot = entry.user_data() as usize;
            let (intended, started) = self.slots[slot];
            self.in_flight -= 1;
            let error = match entry.result() {
                read if read == self.file.block as i32 => None,
                read @ 0.. => {
                    Some(format!("{read} bytes were read instead of {}", self.file.block))
                }
                errno => Some(io::Error::from_raw_os_error(-errno).to_string()),
            };
            let work = Work { bytes: self.file.block as u64, ..Work::default() };
            let done = Done { error, work, ..Done::default() };
            let ended = clock.now();
            match record.record(Operation { lane: slot, kind: 0, intended, started, ended, done }) {
                Some(since) => free.push_back((slot, since)),
                None => goes_on = false,
            }
        }
        goes_on
    }
}

impl Driver for Ring<'_> {
    fn lanes(&self) -> usize {
        self.slots.len()
    }

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
        let clock = record.clock();
        let now = clock.now();
        let mut free: VecDeque<_> = (0..self.slots.len()).map(|slot| (slot, now)).collect();
        // The start that is next, of a slot that waits for it.
        let mut pending: Option<(usize, Nanos)> = None;
        let mut over = false;
        loop {
            if let Some((slot, intended)) = pending {
                let now = clock.now();
                if over || now >= intended {
                    pending = None;
                    if !over {
                        self.start(slot, intended, now, record);
                    }
                }
            }
            if !over && pending.is_none() {
                match self.start_due(&mut free, pacer, record) {
                    Next::Full => {}
                    Next::At(slot, intended) => pending = Some((slot, intended)),
                    Next::Over => over = true,
                }
            }
            if self.in_flight == 0 {
                match pending {
                    // What was queued before is none: nothing is in flight.
                    Some((_, intended)) if pacer.wait(intended).is_some() => continue,
                    _ => return,
                }
            }
            if let Err(error) = self.wait(pending.map(|(_, intended)| intended), clock) {
                let (now, error) = (clock.now(), Some(format!("io_uring_enter: {error}")));
                let done = Done { error, ..Done::default() };
                let (intended, started, ended) = (now, now, now);
                record.record(Operation { lane: 0, kind: 0, intended, started, ended, done });
                return;
            }
            over |= !self.reap(&mut free, record, clock);
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
