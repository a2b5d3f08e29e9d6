//! Many requests in flight on one thread, by io_uring: a client that blocks can't do that.
//!
//! The kernel knows the files, and if allowed the memory, from the start: no request looks up a
//! file or pins a page. Results that are already there are taken without a system call.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;

use bakeoff_load::{
    ClockNanos, Driver, DriverClock, EndedOperation, NextAction, OperationOutcome, OperationSink,
    Pacer, Starts, WorkAmount,
};
use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::claims::PendingSync;
use super::files::AlignedBuffers;
use super::requests::{BlockRequest, Requests};

/// Ended requests that are replaced before the next ones are taken: a disk would be idle until all
/// were looked at.
const TURN: usize = 4;

pub fn try_ring() -> io::Result<()> {
    // Waiting with a time limit: without it an open loop can't start in time.
    match IoUring::new(2)?.params().is_feature_ext_arg() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// From Linux 6.1 on, requests finish when the ring is entered, without an interrupt each.
fn ring_of(entries: u32) -> io::Result<IoUring> {
    let mut quiet = IoUring::<squeue::Entry, cqueue::Entry>::builder();
    quiet.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    match quiet.build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        ring => ring,
    }
}

pub struct Ring<'a> {
    // Dropped before its buffers: the kernel may write to them until it is closed.
    ring: IoUring,
    requests: Requests<'a>,
    buffers: AlignedBuffers,
    registered: bool,
    slots: Vec<RingSlot>,
    /// The files that must still be synced for each slot's request.
    due: Vec<Vec<usize>>,
    in_flight: usize,
    /// Ended requests not yet taken, and when they were seen.
    seen: (usize, ClockNanos),
}

#[derive(Clone, Copy, Default)]
struct RingSlot {
    request: BlockRequest,
    intended: ClockNanos,
    started: ClockNanos,
    syncing: Option<PendingSync>,
}

impl<'a> Ring<'a> {
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

    fn start_request(
        &mut self,
        slot: usize,
        intended: ClockNanos,
        now: ClockNanos,
        record: &mut dyn OperationSink,
    ) {
        let request = self.requests.next_request();
        self.slots[slot] = RingSlot { request, intended, started: now, syncing: None };
        record.begin_operation(slot, request.kind, intended);
        let memory = self.buffers.block(slot);
        self.requests.fill(&request, memory);
        let entry = request_entry(&request, memory, self.registered);
        self.push(&entry.user_data(slot as u64));
    }

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
        // SAFETY: the buffers and the files live as long as the ring, what was in flight in the
        // slot before has ended, and the ring has room for as many entries as there are slots.
        unsafe { self.ring.submission().push(entry) }.expect("a ring has an entry for each slot");
        self.in_flight += 1;
    }

    /// Submits, and waits until a request has ended or this time comes.
    fn wait(&mut self, until: Option<ClockNanos>, clock: DriverClock) -> io::Result<()> {
        let queued = !self.ring.submission().is_empty();
        if !queued && !self.ring.completion().is_empty() {
            return Ok(());
        }
        let left = until.map(|until| until.saturating_sub(clock.now()));
        let waited = match left {
            None => self.ring.submit_and_wait(1),
            Some(0) => match queued || self.ring.submission().taskrun() {
                true => self.ring.submit(),
                false => return Ok(()),
            },
            Some(left) => {
                let time = types::Timespec::from(std::time::Duration::from_nanos(left));
                let arguments = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
        match waited {
            // Out of resources for a moment: take what has ended, then try again.
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
            Ok(_) => Ok(()),
        }
    }

    fn reap(&mut self, starts: &mut Starts, record: &mut dyn OperationSink, clock: DriverClock) {
        // One look at the clock serves all requests that had ended by then.
        if self.seen.0 == 0 {
            self.seen = (self.ring.completion().len(), clock.now());
        }
        let (there, ended) = self.seen;
        for _ in 0..there.min(TURN) {
            self.seen.0 -= 1;
            // One by one: a request that waits for a sync goes on in the same ring.
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
            let work = WorkAmount { bytes: self.requests.block() as u64, ..WorkAmount::default() };
            let done = OperationOutcome { error, work, ..OperationOutcome::default() };
            let operation = EndedOperation { lane, kind, intended, started, ended, done };
            starts.free_lane(lane, record.record(operation));
        }
    }

    fn end(&mut self, slot: usize, result: i32) -> Option<String> {
        let (RingSlot { request, syncing, .. }, block) = (self.slots[slot], self.requests.block());
        match (result, syncing) {
            (..0, _) => return Some(io::Error::from_raw_os_error(-result).to_string()),
            (_, Some(syncing)) => self.requests.end_sync(syncing),
            (all, None) if all as usize == block => {
                self.due[slot] = self.requests.end_request(&request)
            }
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
                        self.start_request(lane, intended, now, record)
                    }
                    NextAction::At(start) if self.in_flight == 0 => {
                        if pacer.wait_until(start).is_none() {
                            return;
                        }
                    }
                    NextAction::At(start) => {
                        break Some(start.saturating_sub(pacer.spin_time()));
                    }
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
    /// Nothing may write to the buffers when they are gone.
    fn drop(&mut self) {
        if !self.registered {
            self.requests.totals().unregistered.fetch_add(1, Relaxed);
        }
        while self.in_flight > 0 && self.ring.submit_and_wait(1).is_ok() {
            let ended = self.ring.completion().count();
            self.in_flight -= ended.min(self.in_flight);
        }
        if self.in_flight == 0 {
            // The kernel would release the files a while after the ring, and a disk with open files
            // can't be unmounted. If this fails they go with the ring.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

fn request_entry(request: &BlockRequest, memory: &mut [u8], is_registered: bool) -> squeue::Entry {
    let (file, offset) = (types::Fixed(request.spot.file as u32), request.spot.offset);
    let (start, length) = (memory.as_mut_ptr(), memory.len() as u32);
    match (request.writes, is_registered) {
        // All memory is registered as one piece with number 0.
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

    use bakeoff_load::{ClientShare, DrivePlan, drive};

    use super::super::blocks::ClientPosition;
    use super::super::claims::BlockClaimWriter;
    use super::super::files::{FileOpenMode, FileSetShape};
    use super::super::levels::{Pattern, SyncRule};
    use super::super::medium::DataMedium;
    use super::super::requests::RequestContext;
    use super::super::tests::request_context;
    use super::*;

    #[test]
    fn memory_that_the_kernel_does_not_know_serves_as_well() {
        let shape = FileSetShape { each: 64 << 10, files: 3, zeros: false, seed: 5 };
        let pattern = Pattern { in_order: false, reads: 50 };
        let rule = SyncRule::After { writes: 3, data_only: true };
        let access = FileOpenMode { direct: true, writes: true, dsync: false };
        for known in [true, false] {
            let folder = crate::tests::folder_on_disk();
            let shared = request_context(folder.path(), shape, (pattern, rule), access);
            let shared = RequestContext { once: true, ..shared };
            let connect = |share: &ClientShare| {
                let one = ClientPosition { client: share.clients.start, of: share.of };
                let requests = Requests::new(&shared, share.seed, one, BlockClaimWriter(None));
                let mut ring = Ring::new(requests, 4)?;
                ring.registered &= known;
                Ok::<_, io::Error>(Box::new(ring) as Box<dyn Driver>)
            };
            // Until there was something of both kinds, however busy the machine.
            let (least, cap) = (1, Duration::from_secs(3600));
            let plan =
                DrivePlan { least, cap, ..DrivePlan::closed_loop(1, 2, Duration::from_secs(1)) };
            let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut |_: &_| ()).unwrap();
            let kinds = &outcome.kinds;
            assert!(kinds.iter().all(|kind| kind.count_succeeded() > 0 && kind.errors == 0));
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
            let medium = DataMedium::from_folder(folder.path());
            assert_eq!(shape.find_faults(&medium, true, &last).unwrap(), Vec::<String>::new());
        }
    }
}
