//! Many requests in flight on one thread, by io_uring: no client that blocks can do that.
//!
//! The kernel knows the files, and where it lets us the memory, from the start: it looks up no file and pins
//! no page for a request. What has ended is taken without a call where it is there already.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;

use bakeoff_load::{
    ClockNanos, Driver, DriverClock, EndedOperation, NextAction, OperationOutcome, OperationSink,
    Pacer, Starts, WorkDone,
};
use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::claims::Syncing;
use super::files::AlignedBuffers;
use super::requests::{BlockRequest, Requests};

/// So many requests that have ended are taken, and as many sent in their place, before the next are: a disk that
/// waits until all of them were looked at has nothing to do meanwhile.
const TURN: usize = 4;
/// With less time than this until a start, the ring is looked at again and again instead of waited
/// for: a thread that sleeps wakes some tens of microseconds late.
const SPIN: ClockNanos = 120_000;

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

/// A ring of so many entries. A kernel that can (Linux 6.1) finishes requests when the ring is entered, and
/// does not interrupt its thread for each.
fn ring_of(entries: u32) -> io::Result<IoUring> {
    let mut quiet = IoUring::<squeue::Entry, cqueue::Entry>::builder();
    quiet.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    match quiet.build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        ring => ring,
    }
}

/// A client with as many requests in flight as it has slots.
pub struct Ring<'a> {
    // The ring goes before its buffers: the kernel may still write to them until it is closed.
    ring: IoUring,
    requests: Requests<'a>,
    buffers: AlignedBuffers,
    /// Whether the kernel knows the buffers.
    registered: bool,
    slots: Vec<RingSlot>,
    /// The files that the request in each slot has still to sync.
    due: Vec<Vec<usize>>,
    in_flight: usize,
    /// How many of the requests that had ended at the last look at the clock are still to be taken, and when
    /// that was.
    seen: (usize, ClockNanos),
}

/// What is in flight in a slot.
#[derive(Clone, Copy, Default)]
struct RingSlot {
    request: BlockRequest,
    /// When the request was to start, and when it did.
    intended: ClockNanos,
    started: ClockNanos,
    /// The sync that is under way, where it has ended and waits for one.
    syncing: Option<Syncing>,
}

impl<'a> Ring<'a> {
    /// Makes these requests, `depth` at once.
    ///
    /// # Errors
    /// When the kernel gives no ring.
    pub fn new(requests: Requests<'a>, depth: usize) -> io::Result<Self> {
        let ring = ring_of(depth.next_power_of_two() as u32)?;
        let mut buffers = AlignedBuffers::new(depth, requests.block());
        let files: Vec<RawFd> = requests.files().files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&files)?;
        let memory = buffers.all();
        let memory = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() };
        // An ordinary user may lock few bytes; without it each request pins its own.
        // SAFETY: the memory lives, and stays where it is, as long as the ring.
        let registered = unsafe { ring.submitter().register_buffers(&[memory]) };
        let told = |error: &io::Error| {
            tracing::debug!(%error, "the memory of a ring is not registered; see RLIMIT_MEMLOCK");
        };
        let registered = registered.inspect_err(told).is_ok();
        let (slots, due) = (vec![RingSlot::default(); depth], vec![Vec::new(); depth]);
        Ok(Self { ring, requests, buffers, registered, slots, due, in_flight: 0, seen: (0, 0) })
    }

    /// Queues the next request in a slot.
    fn start(
        &mut self,
        slot: usize,
        intended: ClockNanos,
        now: ClockNanos,
        record: &mut dyn OperationSink,
    ) {
        let request = self.requests.next_request();
        self.slots[slot] = RingSlot { request, intended, started: now, syncing: None };
        record.begin(slot, request.kind, intended);
        let memory = self.buffers.block(slot);
        self.requests.fill(&request, memory);
        let entry = entry(&request, memory, self.registered);
        self.push(&entry.user_data(slot as u64));
    }

    /// Queues the sync of a file that the request in a slot waits for.
    fn start_sync(&mut self, slot: usize, file: usize) {
        self.slots[slot].syncing = Some(self.requests.begin_sync(file));
        let flags = match self.requests.data_only() {
            true => types::FsyncFlags::DATASYNC,
            false => types::FsyncFlags::empty(),
        };
        let file = types::Fixed(file as u32);
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
    fn wait(&mut self, until: Option<ClockNanos>, clock: DriverClock) -> io::Result<()> {
        let queued = !self.ring.submission().is_empty();
        if !queued && !self.ring.completion().is_empty() {
            return Ok(());
        }
        let left = until.map(|until| until.saturating_sub(clock.now()));
        let waited = match left {
            None => self.ring.submit_and_wait(1),
            Some(left) if left <= SPIN => match queued || self.ring.submission().taskrun() {
                true => self.ring.submit(),
                false => return Ok(()),
            },
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

    /// Tells of a few of the requests that have ended, and frees their slots.
    fn reap(&mut self, starts: &mut Starts, record: &mut dyn OperationSink, clock: DriverClock) {
        // One look at the clock serves all that had ended by then, in however many turns they are taken.
        if self.seen.0 == 0 {
            self.seen = (self.ring.completion().len(), clock.now());
        }
        let (there, ended) = self.seen;
        for _ in 0..there.min(TURN) {
            self.seen.0 -= 1;
            // Each is taken by itself: what waits for a sync goes on in the same ring.
            let Some(entry) = self.ring.completion().next() else { return };
            let lane = entry.user_data() as usize;
            self.in_flight -= 1;
            let error = self.end(lane, entry.result());
            if error.is_none()
                && let Some(file) = self.due[lane].pop().or_else(|| self.requests.next_sync())
            {
                self.start_sync(lane, file);
                continue;
            }
            let RingSlot { request: BlockRequest { kind, .. }, intended, started, .. } =
                self.slots[lane];
            let work = WorkDone { bytes: self.requests.block() as u64, ..WorkDone::default() };
            let done = OperationOutcome { error, work, ..OperationOutcome::default() };
            let operation = EndedOperation { lane, kind, intended, started, ended, done };
            starts.ended(lane, record.record(operation));
        }
    }

    /// Notes that what was in flight in a slot has ended; what is wrong with it.
    fn end(&mut self, slot: usize, result: i32) -> Option<String> {
        let (RingSlot { request, syncing, .. }, block) = (self.slots[slot], self.requests.block());
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

    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut starts = Starts::new(self.slots.len(), clock.now());
        loop {
            let until = loop {
                match starts.next(pacer, || clock.now()) {
                    NextAction::Start { lane, intended, now } => {
                        self.start(lane, intended, now, record)
                    }
                    NextAction::At(start) if self.in_flight == 0 => {
                        if pacer.wait(start).is_none() {
                            return;
                        }
                    }
                    NextAction::At(start) => break Some(start),
                    NextAction::Over if self.in_flight == 0 => return,
                    NextAction::Busy | NextAction::Over => break None,
                }
            };
            if let Err(error) = self.wait(until, clock) {
                let (now, error) = (clock.now(), Some(format!("io_uring_enter: {error}")));
                let done = OperationOutcome { error, ..OperationOutcome::default() };
                let (intended, started, ended) = (now, now, now);
                record.record(EndedOperation { lane: 0, kind: 0, intended, started, ended, done });
                return;
            }
            self.reap(&mut starts, record, clock);
        }
    }
}

impl Drop for Ring<'_> {
    /// Nothing may be written to the buffers when they are gone.
    fn drop(&mut self) {
        if !self.registered {
            self.requests.did().unregistered.fetch_add(1, Relaxed);
        }
        while self.in_flight > 0 && self.ring.submit_and_wait(1).is_ok() {
            let ended = self.ring.completion().count();
            self.in_flight -= ended.min(self.in_flight);
        }
        if self.in_flight == 0 {
            // The kernel would let go of the files a while after the ring, and a disk with open files can't be
            // unmounted. Where it fails they go with the ring.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

/// A request for the kernel, into or from its memory.
fn entry(request: &BlockRequest, memory: &mut [u8], is_registered: bool) -> squeue::Entry {
    let (file, offset) = (types::Fixed(request.spot.file as u32), request.spot.offset);
    let (start, length) = (memory.as_mut_ptr(), memory.len() as u32);
    match (request.writes, is_registered) {
        // All memory is registered as one piece, whose number is 0.
        (true, true) => opcode::WriteFixed::new(file, start, length, 0).offset(offset).build(),
        (false, true) => opcode::ReadFixed::new(file, start, length, 0).offset(offset).build(),
        (true, false) => opcode::Write::new(file, start, length).offset(offset).build(),
        (false, false) => opcode::Read::new(file, start, length).offset(offset).build(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use bakeoff_load::{ClientShare, DrivePlan, DriveProgress, drive};

    use super::super::blocks::OneOf;
    use super::super::content::PAGE;
    use super::super::files::{DataFiles, FileOpenMode, FileSetShape};
    use super::super::levels::{Pattern, SyncRule};
    use super::super::medium::DataMedium;
    use super::super::requests::{RequestContext, RequestTotals};
    use super::super::syncs::SharedSyncState;
    use super::super::writings::Writings;
    use super::*;

    #[test]
    fn memory_that_the_kernel_does_not_know_serves_as_well() {
        let shape = FileSetShape { each: 64 << 10, files: 3, zeros: false, seed: 5 };
        let rule = SyncRule::After { writes: 3, data_only: true };
        for known in [true, false] {
            let program = std::env::current_exe().unwrap();
            let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
            let medium = DataMedium::folder(folder.path());
            shape.make(&medium, &mut |_| ()).unwrap();
            let access = FileOpenMode { direct: true, writes: true, dsync: false };
            let files = DataFiles::open(&medium, &shape, PAGE, access).unwrap();
            let (content, syncs) = (shape.content(), SharedSyncState::new(rule, shape.files));
            let (pattern, once) = (Pattern { in_order: false, reads: 50 }, true);
            let (writings, did) = (Writings::new(files.blocks()), RequestTotals::default());
            let earlier = 0;
            let shared = RequestContext {
                files,
                content,
                pattern,
                once,
                rule,
                syncs,
                writings,
                earlier,
                did,
            };
            let connect = |share: &ClientShare| {
                let one = OneOf { client: share.clients.start, of: share.of };
                let mut ring = Ring::new(Requests::new(&shared, share.seed, one), 4)?;
                ring.registered &= known;
                Ok::<_, io::Error>(Box::new(ring) as Box<dyn Driver>)
            };
            // Until there was something of both kinds, however busy the machine.
            let (least, cap) = (1, Duration::from_secs(3600));
            let plan = DrivePlan { least, cap, ..DrivePlan::closed(1, 2, Duration::from_secs(1)) };
            let quietly = &mut |_: &DriveProgress| ();
            let outcome = drive(&plan, connect, &AtomicBool::new(false), quietly).unwrap();
            assert!(outcome.kinds.iter().all(|kind| kind.count() > 0 && kind.errors == 0));
            let RequestContext { files, writings, did, .. } = &shared;
            let unregistered = did.unregistered.load(Relaxed);
            match known {
                // An ordinary user may be let lock less than that.
                true if rustix::process::geteuid().is_root() => assert_eq!(unregistered, 0),
                true => {}
                false => assert!(unregistered > 0),
            }
            let last =
                |file, at| files.block_at(file, at).and_then(|block| writings.find_write(block));
            assert_eq!(shape.faults(&medium, true, &last).unwrap(), Vec::<String>::new());
        }
    }
}
