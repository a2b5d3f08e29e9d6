//! The one thread that owns the histograms: it sorts samples, ends the window, and shows progress.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::clock::{nanoseconds, seconds};
use crate::halt::Halt;
use crate::outcome::EndedInWindow;
use crate::plan::DrivePlan;
use crate::recorder::{Batch, OperationSample};
use crate::schedule::StartedPace;
use crate::slot::{self, LatencySlot, histogram};
use crate::window::Window;
use crate::{ClockNanos, DriverClock, WorkDone, cpu};

/// How often progress is shown, in nanoseconds.
const EVERY: ClockNanos = 200_000_000;

/// How many times that make the last second.
const LOOK_BACK: usize = 5;

/// How often it is looked whether the window has ended, and whether all that counts has, in
/// nanoseconds.
const LOOK: ClockNanos = 5_000_000;

/// Looks in a row that have to find nothing in flight: a driver between two operations shows none.
const QUIET: u32 = 2;

const GROWS: &str = "a histogram that grows takes any value";

/// How far the drivers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveProgress {
    /// How long they have run.
    pub elapsed: Duration,
    /// How many operations have ended.
    pub operations: u64,
    /// How many did so in the last second, a second.
    pub per_second: f64,
    /// Their mean latency in seconds; `None` when there were none.
    pub mean_s: Option<f64>,
}

/// What progress is made of.
#[derive(Clone, Copy, Default)]
struct ProgressMark {
    at: ClockNanos,
    operations: u64,
    latency: ClockNanos,
}

/// Operations of one kind that count.
#[derive(Clone)]
pub(crate) struct CountedOperations {
    pub latency: Histogram<u64>,
    /// In an open loop alone.
    pub service: Option<Histogram<u64>>,
    pub unfinished: u64,
    /// How many have ended, those that failed among them.
    ended: u64,
    /// How many of these before the time was over.
    in_time: u64,
}

impl CountedOperations {
    fn new(open: bool) -> Self {
        Self {
            latency: histogram(),
            service: open.then(histogram),
            unfinished: 0,
            ended: 0,
            in_time: 0,
        }
    }

    /// Takes what had taken so long by the end of the operation or by the cap.
    fn take(&mut self, latency: ClockNanos, service: ClockNanos) {
        self.latency.record(latency).expect(GROWS);
        if let Some(services) = &mut self.service {
            services.record(service).expect(GROWS);
        }
    }

    fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency).expect(GROWS);
        if let Some((sum, more)) = self.service.as_mut().zip(other.service.as_ref()) {
            sum.add(more).expect(GROWS);
        }
        self.unfinished += other.unfinished;
        self.ended += other.ended;
    }
}

/// What the drivers of a drive share with the thread that looks on.
pub(crate) struct CollectorContext<'a> {
    pub clock: DriverClock,
    pub batches: Receiver<Batch>,
    pub empties: Vec<SyncSender<Vec<OperationSample>>>,
    pub pace: &'a StartedPace,
    pub halt: &'a Halt<'a>,
}

/// Samples, sorted.
#[derive(Clone)]
pub(crate) struct Collector {
    pub window: Window,
    patience: ClockNanos,
    /// For each kind of operation what counts.
    pub kept: Vec<CountedOperations>,
    /// Operations that were to start after the window's time was over. They count only if the window
    /// goes on.
    later: Vec<CountedOperations>,
    /// For each kind of operation what ended in the window.
    pub ended: Vec<EndedInWindow>,
    /// What ended after the window's time was over: it counts only if the window goes on.
    ended_later: Vec<EndedInWindow>,
    /// For each kind of operation what all of them did, whether they count or not.
    pub in_all: Vec<WorkDone>,
    /// For each slot and kind of operation.
    slots: Vec<Vec<Histogram<u64>>>,
    /// How late operations started that count.
    pub start_delay: Histogram<u64>,
    /// How late operations started that count only if the window goes on after its time.
    later_delay: Histogram<u64>,
    /// What counted and was in flight when the window ended.
    pub in_flight: u64,
    /// Looks in a row that found nothing in flight.
    quiet: u32,
    /// When progress is shown next.
    shows: ClockNanos,
    /// Whether the drivers may still come home in time.
    waits: bool,
    total: ProgressMark,
    marks: VecDeque<ProgressMark>,
}

impl Collector {
    pub fn new(plan: &DrivePlan, open: bool) -> Self {
        let kept = vec![CountedOperations::new(open); plan.kinds];
        Self {
            window: Window::new(plan),
            patience: nanoseconds(plan.patience),
            later: kept.clone(),
            kept,
            ended: vec![EndedInWindow::default(); plan.kinds],
            ended_later: vec![EndedInWindow::default(); plan.kinds],
            in_all: vec![WorkDone::default(); plan.kinds],
            slots: Vec::new(),
            start_delay: histogram(),
            later_delay: histogram(),
            in_flight: 0,
            quiet: 0,
            shows: EVERY,
            waits: true,
            total: ProgressMark::default(),
            marks: VecDeque::from([ProgressMark::default()]),
        }
    }

    /// Takes batches and gives them back empty until all drivers are gone; returns the processor
    /// time that this took. `overdue` is called once if they are not in time.
    pub fn collect(
        &mut self,
        shared: &CollectorContext<'_>,
        observe: &mut dyn FnMut(&DriveProgress),
        overdue: &mut dyn FnMut(&Self),
    ) -> Duration {
        let before = cpu::thread_cpu();
        loop {
            let now = shared.clock.now();
            let next = self.turn(now, shared, observe, overdue);
            match shared.batches.recv_timeout(Duration::from_nanos(next - now)) {
                Ok(batch) => self.take(batch, shared),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.close(shared.clock.now(), shared);
                    return cpu::thread_cpu() - before;
                }
            }
        }
    }

    /// Does what is due at the moment `now`, and returns the moment of the next turn; a batch that
    /// comes before makes another one.
    pub fn turn(
        &mut self,
        now: ClockNanos,
        shared: &CollectorContext<'_>,
        observe: &mut dyn FnMut(&DriveProgress),
        overdue: &mut dyn FnMut(&Self),
    ) -> ClockNanos {
        if now >= self.shows {
            observe(&self.progress(now));
            self.shows = now - now % EVERY + EVERY;
        }
        if self.window.end.is_none() {
            shared.pace.pass(now.min(self.window.until));
        }
        self.look(now, shared);
        if self.waits && now >= self.window.cap.saturating_add(self.patience) {
            self.waits = false;
            overdue(&self.cut_off(shared));
        }
        let until = if now < self.window.until { self.window.until } else { now + LOOK };
        self.shows.min(until)
    }

    /// Takes a batch and gives it back empty.
    pub fn take(&mut self, mut batch: Batch, shared: &CollectorContext<'_>) {
        self.sort(&batch);
        batch.samples.clear();
        // A driver that has ended wants no more.
        let _ = shared.empties[batch.driver].try_send(batch.samples);
    }

    /// Ends the window when it is time, and the drive when all that counts has ended.
    fn look(&mut self, now: ClockNanos, shared: &CollectorContext<'_>) {
        if shared.halt.is_on() {
            return self.close(now, shared);
        }
        if self.window.end.is_none() {
            let each = self.kept.iter().zip(&self.later);
            let fewest = each.map(|(kept, later)| kept.ended + later.ended).min();
            let in_time = self.kept.iter().map(|kept| kept.in_time).min();
            self.window.look(now, fewest.unwrap_or(0), in_time.unwrap_or(0));
            // What falls further behind gets no more to say by going on.
            if now >= self.window.until && shared.pace.is_behind(self.window.until) {
                self.window.stop(self.window.until);
            }
            if self.window.end.is_some() {
                self.ended(shared);
            }
        }
        let Some(end) = self.window.end else { return };
        let counts = |intended| self.window.counts_under_way(intended);
        let busy = shared.halt.under_way().any(|(_, intended)| counts(intended));
        self.quiet = if busy || shared.pace.owes(end) { 0 } else { self.quiet + 1 };
        if self.quiet >= QUIET || now >= self.window.cap {
            shared.halt.end();
        }
    }

    /// Ends the window because nothing more is to start.
    pub fn close(&mut self, now: ClockNanos, shared: &CollectorContext<'_>) {
        if self.window.end.is_none() {
            self.window.stop(now);
            self.ended(shared);
        }
    }

    /// The window has just ended.
    fn ended(&mut self, shared: &CollectorContext<'_>) {
        let Some(end) = self.window.end else { return };
        if end > self.window.until {
            self.kept.iter_mut().zip(&self.later).for_each(|(kept, later)| kept.add(later));
            self.ended.iter_mut().zip(&self.ended_later).for_each(|(sum, later)| *sum += *later);
            self.start_delay.add(&self.later_delay).expect(GROWS);
        }
        let counts = |(_, intended): &(usize, ClockNanos)| self.window.counts_under_way(*intended);
        self.in_flight = shared.halt.under_way().filter(counts).count() as u64;
        if !shared.pace.is_open() {
            shared.halt.window_ended(end);
        }
        // What has not started where clients fall behind never would, at this rate.
        if !shared.pace.end(end) {
            shared.halt.end();
        }
    }

    /// As it is now, what is still in flight being cut off.
    fn cut_off(&self, shared: &CollectorContext<'_>) -> Self {
        let mut cut = self.clone();
        let counts = |(_, intended): &(usize, ClockNanos)| self.window.counts_under_way(*intended);
        for (kind, intended) in shared.halt.under_way().filter(counts) {
            let latency = self.window.cap.saturating_sub(intended);
            cut.kept[kind].take(latency, latency);
            cut.kept[kind].unfinished += 1;
        }
        cut
    }

    fn sort(&mut self, batch: &Batch) {
        for sample in &batch.samples {
            let OperationSample { kind, failed, intended, ended, work, .. } = *sample;
            if !failed {
                self.in_all[kind as usize] += work;
                let slot = (ended / slot::LENGTH) as usize;
                while self.slots.len() <= slot {
                    self.slots.push(vec![histogram(); self.kept.len()]);
                }
                self.slots[slot][kind as usize].record(ended - intended).expect(GROWS);
                self.count_end(sample);
            }
            if self.window.counts(intended, ended) {
                self.count(sample);
            }
            self.total.latency += ended - intended;
        }
        self.total.operations += batch.samples.len() as u64;
    }

    /// Counts an operation that did not fail for the rate, if it ended in the window.
    fn count_end(&mut self, sample: &OperationSample) {
        if !self.window.holds(sample.ended) {
            return;
        }
        let undecided = self.window.end.is_none() && sample.ended >= self.window.until;
        let counts = if undecided { &mut self.ended_later } else { &mut self.ended };
        counts[sample.kind as usize] += EndedInWindow { operations: 1, work: sample.work };
    }

    /// Takes a sample that counts.
    fn count(&mut self, sample: &OperationSample) {
        let OperationSample { kind, failed, intended, started, ended, .. } = *sample;
        let undecided = self.window.end.is_none() && intended >= self.window.until;
        let cells = if undecided { &mut self.later } else { &mut self.kept };
        let cell = &mut cells[kind as usize];
        cell.ended += 1;
        cell.in_time += u64::from(ended <= self.window.until);
        if failed {
            return;
        }
        // What came after the cap came too late to be measured: it took that long at least.
        let by = ended.min(self.window.cap);
        cell.unfinished += u64::from(ended > by);
        cell.take(by.saturating_sub(intended), by.saturating_sub(started));
        if cell.service.is_some() {
            let delays = if undecided { &mut self.later_delay } else { &mut self.start_delay };
            delays.record(started - intended).expect(GROWS);
        }
    }

    fn progress(&mut self, now: ClockNanos) -> DriveProgress {
        let mark = ProgressMark { at: now, ..self.total };
        let past = self.marks[0];
        if self.marks.len() == LOOK_BACK {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
        let operations = mark.operations - past.operations;
        let latency = seconds(mark.latency - past.latency);
        DriveProgress {
            elapsed: Duration::from_nanos(now),
            operations: mark.operations,
            per_second: operations as f64 / seconds(now - past.at),
            mean_s: (operations > 0).then(|| latency / operations as f64),
        }
    }

    /// The slots of a kind of operation, up to when the drivers stopped.
    pub fn slots(&self, kind: usize, ran: ClockNanos) -> Vec<LatencySlot> {
        let number = self.slots.len().max(ran.div_ceil(slot::LENGTH) as usize);
        let slot = |number: usize| {
            let start = number as ClockNanos * slot::LENGTH;
            LatencySlot {
                start_s: seconds(start),
                end_s: seconds((start + slot::LENGTH).min(ran).max(start)),
                histogram: self.slots.get(number).map_or_else(histogram, |it| it[kind].clone()),
            }
        };
        (0..number).map(slot).collect()
    }
}
