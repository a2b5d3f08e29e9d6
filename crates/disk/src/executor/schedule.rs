use std::collections::{HashMap, HashSet};
use std::time::Duration;
use std::vec;

use bakeoff_devices::device::{Completion, DeviceRequest, Nanos};
use bakeoff_devices::ext4::DeviceWork;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::{Station, StationCounts};

use super::WorkCallback;

/// A device that answers within this time is worth the processor time of a precise wait.
const FAST: Nanos = 1_000_000;

pub(super) struct Schedule {
    station: Station,
    timing: bool,
    /// Real time that had passed when the device last stood still, and how long it stood in all.
    stopped: Nanos,
    idle: Nanos,
    /// The last moment given to the device. It is up to `way + lead` ahead of the present if
    /// answers were sent early.
    device_now: Nanos,
    /// Half of the time that a request and its answer are on their way.
    way: Nanos,
    lead: Nanos,
    jobs: HashMap<u64, ScheduledJob>,
    /// The numbers of work in flight that other work may wait for.
    under_way: HashSet<u64>,
    held: HashMap<u64, Vec<(u64, ScheduledJob)>>,
    owners: HashMap<u64, u64>,
    next_id: u64,
    completions: Vec<Completion>,
    done: Vec<FinishedWork>,
    fast: bool,
    precisely: bool,
}

struct ScheduledJob {
    steps: vec::IntoIter<Vec<DeviceRequest>>,
    /// The number of its steps, and what must be waited for before which of them.
    all: usize,
    waits: Vec<(usize, u64)>,
    work: u64,
    open: usize,
    arrived: Nanos,
    came: Nanos,
    then: WorkCallback,
    quick: bool,
}

pub(super) struct FinishedWork {
    pub(super) then: WorkCallback,
    quick: bool,
    /// `None` for work that was let go before the model had it done.
    pub(super) timed: Option<RequestTiming>,
}

pub(super) struct RequestTiming {
    pub(super) modelled: Nanos,
    came: Nanos,
    way: Nanos,
    pub(super) precisely: bool,
}

impl RequestTiming {
    /// The caller's waiting time, if its answer ended at `now`.
    pub(super) fn achieved_latency(&self, now: Duration) -> Nanos {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        now.saturating_sub(self.came) + 2 * self.way
    }

    pub(super) fn could_be_kept(&self, lead: Nanos) -> bool {
        self.modelled > 2 * self.way + lead
    }
}

impl ScheduledJob {
    fn must_wait(&mut self, under_way: &HashSet<u64>) -> Option<u64> {
        let next = self.all - self.steps.len();
        self.waits.retain(|(_, other)| under_way.contains(other));
        self.waits.iter().find(|(step, _)| *step <= next).map(|(_, other)| *other)
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
            under_way: HashSet::new(),
            held: HashMap::new(),
            owners: HashMap::new(),
            next_id: 0,
            completions: Vec::new(),
            done: Vec::new(),
            fast: false,
            precisely: false,
        }
    }

    fn device_time(&self, now: Nanos) -> Nanos {
        let now = if self.timing { now } else { self.stopped };
        now.saturating_sub(self.idle)
    }

    /// `work` is not empty; `quick` says that its answer waits for nobody.
    pub(super) fn submit_work(
        &mut self,
        came: Nanos,
        work: DeviceWork,
        then: WorkCallback,
        quick: bool,
    ) {
        // It was sent a little earlier, but the device's steps since then are decided.
        let sent = self.device_time(came).saturating_sub(self.way);
        self.advance_until(sent);
        let sent = sent.max(self.device_now);
        self.device_now = sent;
        let DeviceWork { steps, waits, ticket } = work;
        let (all, work, steps) = (steps.len(), ticket.number, steps.into_iter());
        let job =
            ScheduledJob { steps, all, waits, work, open: 0, arrived: sent, came, then, quick };
        self.next_id += 1;
        self.under_way.insert(work);
        self.go_on(self.next_id, job, sent);
    }

    /// Submits the next step of a job at a moment of the device's time, or ends the job, or lets it
    /// wait for other work.
    fn go_on(&mut self, number: u64, mut job: ScheduledJob, at: Nanos) {
        if let Some(other) = job.must_wait(&self.under_way) {
            self.held.entry(other).or_default().push((number, job));
            return;
        }
        let Some(step) = job.steps.next() else {
            let modelled = at - job.arrived;
            self.fast = modelled < FAST;
            let (way, precisely) = (self.way, self.precisely);
            let timed = RequestTiming { modelled, came: job.came, way, precisely };
            self.done.push(FinishedWork { then: job.then, quick: job.quick, timed: Some(timed) });
            self.under_way.remove(&job.work);
            for (number, held) in self.held.remove(&job.work).unwrap_or_default() {
                self.go_on(number, held, at);
            }
            return;
        };
        if step.is_empty() {
            return self.go_on(number, job, at);
        }
        job.open = step.len();
        self.jobs.insert(number, job);
        for request in step {
            self.next_id += 1;
            self.owners.insert(self.next_id, number);
            self.station.submit(at, self.next_id, request);
        }
    }

    /// Lets the device do what has to be answered by `now`, or within `lead` after it.
    pub(super) fn catch_up(&mut self, now: Nanos, lead: Nanos) {
        (self.lead, self.precisely) = (lead, self.fast);
        if self.timing {
            self.advance_until(self.device_time(now) + self.way + lead);
        }
    }

    /// Event by event, since the end of one step is the beginning of the next.
    fn advance_until(&mut self, until: Nanos) {
        while let Some(event) = self.station.next_event().filter(|event| *event <= until) {
            let event = event.max(self.device_now);
            self.device_now = event;
            let mut completions = std::mem::take(&mut self.completions);
            self.station.advance(event, &mut completions);
            for completion in completions.drain(..) {
                self.complete_request(completion);
            }
            self.completions = completions;
        }
    }

    fn advance_to_now(&mut self, now: Nanos) -> Nanos {
        let present = self.device_time(now);
        self.advance_until(present);
        self.device_now = self.device_now.max(present);
        self.device_now
    }

    fn complete_request(&mut self, completion: Completion) {
        // Requests that were in flight when the timing went off have no caller.
        let Some(number) = self.owners.remove(&completion.id) else { return };
        let Some(job) = self.jobs.get_mut(&number) else { return };
        job.open -= 1;
        if job.open == 0 {
            let job = self.jobs.remove(&number).expect("it was there a line ago");
            self.go_on(number, job, self.device_now);
        }
    }

    /// In real time; never while the device stands still.
    pub(super) fn next_event(&self) -> Option<Nanos> {
        let event = self.station.next_event().filter(|_| self.timing)?;
        Some((event + self.idle).saturating_sub(self.way + self.lead))
    }

    pub(super) fn take_done(&mut self) -> vec::Drain<'_, FinishedWork> {
        self.done.drain(..)
    }

    /// The first finished work of a fast device, at most `most`, as long as answers wait for
    /// nobody.
    pub(super) fn quickly_done(&mut self, most: usize) -> Vec<FinishedWork> {
        if !self.fast {
            return Vec::new();
        }
        self.done.extract_if(.., |done| done.quick).take(most).collect()
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn is_fast(&self) -> bool {
        self.fast
    }

    /// When the device stops, all work in flight is done.
    pub(super) fn set_timing(&mut self, now: Nanos, on: bool) {
        match (self.timing, on) {
            (true, false) => {
                self.advance_to_now(now);
                self.stopped = now;
            }
            (false, true) => self.idle += now - self.stopped,
            _ => {}
        }
        self.timing = on;
        if !on {
            self.owners.clear();
            self.under_way.clear();
            let held = self.held.drain().flat_map(|(_, held)| held);
            self.jobs.extend(held);
            let let_go = |(_, job): (u64, ScheduledJob)| FinishedWork {
                then: job.then,
                quick: false,
                timed: None,
            };
            self.done.extend(self.jobs.drain().map(let_go));
        }
    }

    pub(super) fn set_neighbours(&mut self, now: Nanos, level: NeighbourLevel) {
        let now = self.advance_to_now(now);
        self.station.set_neighbours(now, level);
    }

    pub(super) fn set_span(&mut self, bytes: u64) {
        self.station.set_span(bytes);
    }

    pub(super) fn set_round_trip(&mut self, nanos: Nanos) {
        self.way = nanos / 2;
    }

    pub(super) fn counts(&mut self, now: Nanos) -> StationCounts {
        let now = self.advance_to_now(now);
        self.station.counts(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_devices::ext4::{Ext4, Ext4MountOptions, Mode, SyncScope};
    use bakeoff_devices::models::Models;

    const MIB: u64 = 1 << 20;

    /// Files of 64 MiB on a disk, of one of which so many bytes are being written back.
    fn writing_back(bytes: u64) -> (Ext4, Schedule) {
        let options = Ext4MountOptions { dirty_background: MIB, ..Ext4MountOptions::default() };
        let mut ext4 = Ext4::new(options);
        (1..=2).for_each(|file| ext4.adopt_file(file, 64 * MIB));
        let device = Models::standard().parse("hdd-7200").expect("there is one").build(1);
        let mut schedule = Schedule::new(Station::new(device, 1), true);
        schedule.set_span(ext4.span());
        ext4.write(0, 1, 0, bytes, Mode::Buffered, None);
        let background = ext4.tick(1).expect("there are too many dirty pages");
        schedule.submit_work(1, background.work, Box::new(|| ()), false);
        (ext4, schedule)
    }

    /// When each of the works that are in flight is done, in the order in which they are.
    fn ends(schedule: &mut Schedule) -> Vec<Nanos> {
        let mut ends = Vec::new();
        while let Some(event) = schedule.next_event() {
            schedule.catch_up(event, 0);
            ends.extend(schedule.take_done().map(|_| event));
        }
        assert_eq!(schedule.waiting_count(), 0);
        ends
    }

    #[test]
    fn a_sync_ends_after_the_write_back_of_its_file_and_not_after_that_of_another() {
        let (_, mut alone) = writing_back(32 * MIB);
        let written = ends(&mut alone)[0];
        assert!(written > 200_000_000, "32 MiB take {written} ns");

        let (mut ext4, mut schedule) = writing_back(32 * MIB);
        let work = ext4.sync_file(2, 1, SyncScope::All);
        schedule.submit_work(2, work, Box::new(|| ()), false);
        let both = ends(&mut schedule);
        assert_eq!(both.len(), 2);
        assert!(both[0] >= written && both[1] >= both[0], "{both:?}, written at {written}");

        let (mut ext4, mut schedule) = writing_back(32 * MIB);
        let work = ext4.sync_file(2, 2, SyncScope::Data);
        schedule.submit_work(2, work, Box::new(|| ()), false);
        let first = ends(&mut schedule)[0];
        assert!(first < written / 2, "{first} of {written}");
    }

    #[test]
    fn nobody_waits_any_more_when_the_timing_is_turned_off() {
        let (mut ext4, mut schedule) = writing_back(32 * MIB);
        for now in 2..6 {
            let work = ext4.sync_file(now, 1, SyncScope::All);
            schedule.submit_work(now, work, Box::new(|| ()), false);
        }
        schedule.set_timing(6, false);
        assert_eq!((schedule.take_done().count(), schedule.waiting_count()), (5, 0));
        schedule.set_timing(7, true);
        let work = ext4.sync_file(7, 1, SyncScope::All);
        schedule.submit_work(7, work, Box::new(|| ()), false);
        assert_eq!(ends(&mut schedule).len(), 1);
    }
}
