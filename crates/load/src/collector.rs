//! The one thread that owns the histograms: it sorts samples, ends the window, and shows progress.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::clock::{to_nanoseconds, to_seconds};
use crate::halt::StopSignal;
use crate::outcome::WindowTally;
use crate::plan::DrivePlan;
use crate::recorder::{Batch, OperationSample};
use crate::schedule::StartedPace;
use crate::slot::{self, LatencySlot, new_histogram};
use crate::window::Window;
use crate::{ClockNanos, DriverClock, WorkAmount, cpu};

const EVERY: ClockNanos = 200_000_000;

/// Progress marks that make the last second.
const LOOK_BACK: usize = 5;

/// How often it checks whether the window or the drive has ended, in nanoseconds.
const LOOK: ClockNanos = 5_000_000;

/// In a row: a driver between two operations shows nothing in flight.
const QUIET: u32 = 2;

const GROWS: &str = "a histogram that grows takes any value";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveProgress {
    pub elapsed: Duration,
    pub operations: u64,
    pub per_second: f64,
    /// In the last second; `None` without operations.
    pub mean_s: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct ProgressMark {
    at: ClockNanos,
    operations: u64,
    latency: ClockNanos,
}

#[derive(Clone)]
pub(crate) struct CountedOperations {
    pub latency: Histogram<u64>,
    /// `None` in a closed loop.
    pub service: Option<Histogram<u64>>,
    pub unfinished: u64,
    /// Failed ones included.
    ended: u64,
    /// Before the window's time was over.
    in_time: u64,
}

impl CountedOperations {
    fn new(open: bool) -> Self {
        Self {
            latency: new_histogram(),
            service: open.then(new_histogram),
            unfinished: 0,
            ended: 0,
            in_time: 0,
        }
    }

    /// Each is the time until the operation's end or the cap.
    fn add_latency(&mut self, latency: ClockNanos, service: ClockNanos) {
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

pub(crate) struct CollectorContext<'a> {
    pub clock: DriverClock,
    pub batches: Receiver<Batch>,
    pub empties: Vec<SyncSender<Vec<OperationSample>>>,
    pub pace: &'a StartedPace,
    pub halt: &'a StopSignal<'a>,
}

#[derive(Clone)]
pub(crate) struct Collector {
    pub window: Window,
    patience: ClockNanos,
    /// By kind, as the next ones.
    pub kept: Vec<CountedOperations>,
    /// Due after the window's time: they count only if the window goes on.
    later: Vec<CountedOperations>,
    pub ended: Vec<WindowTally>,
    /// Operations that ended after the window's time: they count only if the window goes on.
    ended_later: Vec<WindowTally>,
    pub in_all: Vec<WorkAmount>,
    /// By slot and kind.
    slots: Vec<Vec<Histogram<u64>>>,
    pub start_delay: Histogram<u64>,
    /// Delays of operations that count only if the window goes on.
    later_delay: Histogram<u64>,
    pub in_flight: u64,
    quiet: u32,
    /// The next progress, in nanoseconds.
    shows: ClockNanos,
    /// Whether drivers may still come home in time.
    waits: bool,
    total: ProgressMark,
    marks: VecDeque<ProgressMark>,
}

impl Collector {
    pub fn new(plan: &DrivePlan, open: bool) -> Self {
        let kept = vec![CountedOperations::new(open); plan.kinds];
        Self {
            window: Window::new(plan),
            patience: to_nanoseconds(plan.patience),
            later: kept.clone(),
            kept,
            ended: vec![WindowTally::default(); plan.kinds],
            ended_later: vec![WindowTally::default(); plan.kinds],
            in_all: vec![WorkAmount::default(); plan.kinds],
            slots: Vec::new(),
            start_delay: new_histogram(),
            later_delay: new_histogram(),
            in_flight: 0,
            quiet: 0,
            shows: EVERY,
            waits: true,
            total: ProgressMark::default(),
            marks: VecDeque::from([ProgressMark::default()]),
        }
    }

    /// Takes batches and returns them empty until all drivers are gone; returns its processor time.
    /// Calls `overdue` once if they are late.
    pub fn collect(
        &mut self,
        shared: &CollectorContext<'_>,
        observe: &mut dyn FnMut(&DriveProgress),
        overdue: &mut dyn FnMut(&Self),
    ) -> Duration {
        let before = cpu::thread_cpu();
        loop {
            let now = shared.clock.now();
            let next = self.take_turn(now, shared, observe, overdue);
            match shared.batches.recv_timeout(Duration::from_nanos(next - now)) {
                Ok(batch) => self.take_batch(batch, shared),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.end_window(shared.clock.now(), shared);
                    return cpu::thread_cpu() - before;
                }
            }
        }
    }

    /// Returns the moment of the next turn; a batch makes one earlier.
    pub fn take_turn(
        &mut self,
        now: ClockNanos,
        shared: &CollectorContext<'_>,
        observe: &mut dyn FnMut(&DriveProgress),
        overdue: &mut dyn FnMut(&Self),
    ) -> ClockNanos {
        if now >= self.shows {
            observe(&self.measure_progress(now));
            self.shows = now - now % EVERY + EVERY;
        }
        if self.window.end.is_none() {
            shared.pace.extend_window(now.min(self.window.until));
        }
        self.check_window(now, shared);
        if self.waits && now >= self.window.cap.saturating_add(self.patience) {
            self.waits = false;
            overdue(&self.cut_off(shared));
        }
        let until = if now < self.window.until { self.window.until } else { now + LOOK };
        self.shows.min(until)
    }

    pub fn take_batch(&mut self, mut batch: Batch, shared: &CollectorContext<'_>) {
        self.sort_samples(&batch);
        batch.samples.clear();
        // A driver that has ended takes no more batches.
        let _ = shared.empties[batch.driver].try_send(batch.samples);
    }

    fn check_window(&mut self, now: ClockNanos, shared: &CollectorContext<'_>) {
        if shared.halt.is_on() {
            return self.end_window(now, shared);
        }
        if self.window.end.is_none() {
            let each = self.kept.iter().zip(&self.later);
            let fewest = each.map(|(kept, later)| kept.ended + later.ended).min();
            let in_time = self.kept.iter().map(|kept| kept.in_time).min();
            self.window.end_if_due(now, fewest.unwrap_or(0), in_time.unwrap_or(0));
            // Going on would not help a schedule that falls further behind.
            if now >= self.window.until && shared.pace.is_behind(self.window.until) {
                self.window.stop(self.window.until);
            }
            if self.window.end.is_some() {
                self.note_window_end(shared);
            }
        }
        let Some(end) = self.window.end else { return };
        let counts = |intended| self.window.counts_under_way(intended);
        let busy = shared.halt.under_way().any(|(_, intended)| counts(intended));
        self.quiet = if busy || shared.pace.has_waiting(end) { 0 } else { self.quiet + 1 };
        if self.quiet >= QUIET || now >= self.window.cap {
            shared.halt.end_drive();
        }
    }

    pub fn end_window(&mut self, now: ClockNanos, shared: &CollectorContext<'_>) {
        if self.window.end.is_none() {
            self.window.stop(now);
            self.note_window_end(shared);
        }
    }

    fn note_window_end(&mut self, shared: &CollectorContext<'_>) {
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
        // At this rate the rest would never start.
        if !shared.pace.end_window(end) {
            shared.halt.end_drive();
        }
    }

    /// The state as it is now; what is in flight is cut off.
    fn cut_off(&self, shared: &CollectorContext<'_>) -> Self {
        let mut cut = self.clone();
        let counts = |(_, intended): &(usize, ClockNanos)| self.window.counts_under_way(*intended);
        for (kind, intended) in shared.halt.under_way().filter(counts) {
            let latency = self.window.cap.saturating_sub(intended);
            cut.kept[kind].add_latency(latency, latency);
            cut.kept[kind].unfinished += 1;
        }
        cut
    }

    fn sort_samples(&mut self, batch: &Batch) {
        for sample in &batch.samples {
            let OperationSample { kind, failed, intended, ended, .. } = *sample;
            if !failed {
                self.in_all[kind as usize] += sample.work();
                let slot = (ended / slot::LENGTH) as usize;
                while self.slots.len() <= slot {
                    self.slots.push(vec![new_histogram(); self.kept.len()]);
                }
                self.slots[slot][kind as usize].record(ended - intended).expect(GROWS);
                self.count_end(sample);
            }
            if self.window.counts_operation(intended, ended) {
                self.count_sample(sample);
            }
            self.total.latency += ended - intended;
        }
        self.total.operations += batch.samples.len() as u64;
    }

    fn count_end(&mut self, sample: &OperationSample) {
        if !self.window.contains(sample.ended) {
            return;
        }
        let undecided = self.window.end.is_none() && sample.ended >= self.window.until;
        let counts = if undecided { &mut self.ended_later } else { &mut self.ended };
        counts[sample.kind as usize] += WindowTally { operations: 1, work: sample.work() };
    }

    fn count_sample(&mut self, sample: &OperationSample) {
        let OperationSample { kind, failed, intended, started, ended, .. } = *sample;
        let undecided = self.window.end.is_none() && intended >= self.window.until;
        let cells = if undecided { &mut self.later } else { &mut self.kept };
        let cell = &mut cells[kind as usize];
        cell.ended += 1;
        cell.in_time += u64::from(ended <= self.window.until);
        if failed {
            return;
        }
        // Past the cap it took at least so long.
        let by = ended.min(self.window.cap);
        cell.unfinished += u64::from(ended > by);
        cell.add_latency(by.saturating_sub(intended), by.saturating_sub(started));
        if cell.service.is_some() {
            let delays = if undecided { &mut self.later_delay } else { &mut self.start_delay };
            delays.record(started - intended).expect(GROWS);
        }
    }

    fn measure_progress(&mut self, now: ClockNanos) -> DriveProgress {
        let mark = ProgressMark { at: now, ..self.total };
        let past = self.marks[0];
        if self.marks.len() == LOOK_BACK {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
        let operations = mark.operations - past.operations;
        let latency = to_seconds(mark.latency - past.latency);
        DriveProgress {
            elapsed: Duration::from_nanos(now),
            operations: mark.operations,
            per_second: operations as f64 / to_seconds(now - past.at),
            mean_s: (operations > 0).then(|| latency / operations as f64),
        }
    }

    pub fn list_slots(&self, kind: usize, ran: ClockNanos) -> Vec<LatencySlot> {
        let number = self.slots.len().max(ran.div_ceil(slot::LENGTH) as usize);
        let slot = |number: usize| {
            let start = number as ClockNanos * slot::LENGTH;
            LatencySlot {
                start_s: to_seconds(start),
                end_s: to_seconds((start + slot::LENGTH).min(ran).max(start)),
                histogram: self.slots.get(number).map_or_else(new_histogram, |it| it[kind].clone()),
            }
        };
        (0..number).map(slot).collect()
    }
}
