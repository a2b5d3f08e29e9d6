//! The one thread that owns the histograms: it sorts samples into slots and shows progress.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::recorder::{Batch, Clock, Sample};
use crate::slot::{Slot, edges, histogram, seconds};
use crate::{Plan, cpu};

/// How often progress is shown, in nanoseconds.
const EVERY: u64 = 200_000_000;

/// How many times that make the last second.
const LOOK_BACK: usize = 5;

/// How far the clients are.
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
    at: u64,
    operations: u64,
    latency: u64,
}

/// Samples in slots.
pub(crate) struct Collector {
    edges: Vec<u64>,
    /// A histogram for each slot and operation.
    slots: Vec<Vec<Histogram<u64>>>,
    /// The slot that each client is in.
    cursors: Vec<usize>,
    total: Mark,
    marks: VecDeque<Mark>,
}

impl Collector {
    pub fn new(plan: &Plan) -> Self {
        let edges = edges(plan);
        let slots =
            (1..edges.len()).map(|_| (0..plan.operations).map(|_| histogram()).collect()).collect();
        let marks = VecDeque::from([Mark::default()]);
        Self { edges, slots, cursors: vec![0; plan.clients], total: Mark::default(), marks }
    }

    /// Takes batches and gives them back empty until all clients are gone; returns the processor
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
                    // A client that has ended wants no more.
                    let _ = empties[batch.client].try_send(batch.samples);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return cpu::thread_cpu() - before,
            }
        }
    }

    fn sort(&mut self, batch: &Batch) {
        let slot = &mut self.cursors[batch.client];
        for sample in &batch.samples {
            // One client's samples come in the order of their ends.
            while sample.ended >= self.edges[*slot + 1] {
                *slot += 1;
            }
            self.slots[*slot][sample.operation]
                .record(sample.latency)
                .expect("a histogram that grows takes any value");
            self.total.latency += sample.latency;
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

    /// The slots of each operation, without those that start after `end`.
    pub fn finish(self, end: u64) -> Vec<Vec<Slot>> {
        let operations = self.slots.first().map_or(0, Vec::len);
        let mut sorted: Vec<Vec<Slot>> = (0..operations).map(|_| Vec::new()).collect();
        for (edge, histograms) in self.edges.windows(2).zip(self.slots) {
            if edge[0] > end {
                break;
            }
            for (slots, histogram) in sorted.iter_mut().zip(histograms) {
                let (start_s, end_s) = (seconds(edge[0]), seconds(edge[1]));
                slots.push(Slot { start_s, end_s, histogram });
            }
        }
        sorted
    }
}
