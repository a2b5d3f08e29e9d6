//! The one thread that owns the histograms: it sorts samples into slots and shows progress.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::clock::seconds;
use crate::plan::{Plan, edges};
use crate::recorder::{Batch, Sample};
use crate::slot::{Slot, histogram};
use crate::{Clock, Nanos, cpu};

/// How often progress is shown, in nanoseconds.
const EVERY: u64 = 200_000_000;

/// How many times that make the last second.
const LOOK_BACK: usize = 5;

/// How far the drivers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// How long they have run.
    pub elapsed: Duration,
    /// How many operations have succeeded.
    pub operations: u64,
    /// How many did so in the last second, a second.
    pub per_second: f64,
    /// Their mean latency in seconds; `None` when there were none.
    pub mean_s: Option<f64>,
}

/// What progress is made of.
#[derive(Clone, Copy, Default)]
struct Mark {
    at: Nanos,
    operations: u64,
    latency: Nanos,
}

/// The histograms of a kind of operation in a slot.
struct Cell {
    latency: Histogram<u64>,
    /// In an open loop alone.
    service: Option<Histogram<u64>>,
}

/// Samples in slots.
pub(crate) struct Collector {
    edges: Vec<Nanos>,
    /// For each slot and kind of operation.
    slots: Vec<Vec<Cell>>,
    /// By how much operations started late; in an open loop alone.
    start_delay: Option<Histogram<u64>>,
    /// The slot that each driver is in.
    cursors: Vec<usize>,
    total: Mark,
    marks: VecDeque<Mark>,
}

impl Collector {
    /// For a plan in an `open` loop or a closed one.
    pub fn new(plan: &Plan, open: bool) -> Self {
        let edges = edges(plan);
        let cell = |_| Cell { latency: histogram(), service: open.then(histogram) };
        let slots = (1..edges.len()).map(|_| (0..plan.kinds).map(cell).collect()).collect();
        let marks = VecDeque::from([Mark::default()]);
        let (start_delay, cursors) = (open.then(histogram), vec![0; plan.drivers]);
        Self { edges, slots, start_delay, cursors, total: Mark::default(), marks }
    }

    /// Takes batches and gives them back empty until all drivers are gone; returns the processor
    /// time that this took.
    pub fn collect(
        &mut self,
        clock: Clock,
        batches: &Receiver<Batch>,
        empties: &[SyncSender<Vec<Sample>>],
        observe: &mut dyn FnMut(&Progress),
    ) -> Duration {
        let before = cpu::thread_cpu();
        let mut next = EVERY;
        loop {
            let now = clock.now();
            if now >= next {
                observe(&self.progress(now));
                next = now - now % EVERY + EVERY;
            }
            match batches.recv_timeout(Duration::from_nanos(next - now)) {
                Ok(mut batch) => {
                    self.sort(&batch);
                    batch.samples.clear();
                    // A driver that has ended wants no more.
                    let _ = empties[batch.driver].try_send(batch.samples);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return cpu::thread_cpu() - before,
            }
        }
    }

    fn sort(&mut self, batch: &Batch) {
        const GROWS: &str = "a histogram that grows takes any value";
        let slot = &mut self.cursors[batch.driver];
        for Sample { kind, intended, started, ended } in &batch.samples {
            // One driver's samples come in the order of their ends.
            while *ended >= self.edges[*slot + 1] {
                *slot += 1;
            }
            let latency = ended - intended;
            let cell = &mut self.slots[*slot][*kind];
            cell.latency.record(latency).expect(GROWS);
            if let Some((service, delay)) = cell.service.as_mut().zip(self.start_delay.as_mut()) {
                service.record(ended - started).expect(GROWS);
                delay.record(started - intended).expect(GROWS);
            }
            self.total.latency += latency;
        }
        self.total.operations += batch.samples.len() as u64;
    }

    fn progress(&mut self, now: u64) -> Progress {
        let mark = Mark { at: now, ..self.total };
        let past = self.marks[0];
        if self.marks.len() == LOOK_BACK {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
        let operations = mark.operations - past.operations;
        let latency = seconds(mark.latency - past.latency);
        Progress {
            elapsed: Duration::from_nanos(now),
            operations: mark.operations,
            per_second: operations as f64 / seconds(now - past.at),
            mean_s: (operations > 0).then(|| latency / operations as f64),
        }
    }

    /// The slots of each kind of operation, without those that start after `end`, and by how much
    /// operations of an open loop started late.
    pub fn finish(self, end: Nanos) -> (Vec<Vec<Slot>>, Option<Histogram<u64>>) {
        let kinds = self.slots.first().map_or(0, Vec::len);
        let mut sorted: Vec<Vec<Slot>> = (0..kinds).map(|_| Vec::new()).collect();
        for (edge, cells) in self.edges.windows(2).zip(self.slots) {
            if edge[0] > end {
                break;
            }
            for (slots, cell) in sorted.iter_mut().zip(cells) {
                let (start_s, end_s) = (seconds(edge[0]), seconds(edge[1]));
                let Cell { latency: histogram, service } = cell;
                slots.push(Slot { start_s, end_s, histogram, service });
            }
        }
        (sorted, self.start_delay)
    }
}
