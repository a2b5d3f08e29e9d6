//! A device and its users in virtual time: the foreground, its neighbours, and their counts.

use serde::{Deserialize, Serialize};

use crate::device::{Completion, Device, DeviceRequest, Nanos, RequestKind};
use crate::neighbour::NeighbourLevel;

mod neighbours;

use neighbours::SimulatedNeighbours;

/// Request numbers from here on are the neighbours'.
const FIRST_NEIGHBOUR: u64 = 1 << 63;

/// Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationCounts {
    pub elapsed_ns: Nanos,
    pub busy_ns: Nanos,
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub in_queue: u32,
    pub neighbour_requests: u64,
    pub neighbours_in_queue: u32,
    pub neighbour_time_ns: Nanos,
}

impl StationCounts {
    /// Counts since an earlier moment; `in_queue` and the like stay as they are now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            elapsed_ns: self.elapsed_ns - earlier.elapsed_ns,
            busy_ns: self.busy_ns - earlier.busy_ns,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            flushes: self.flushes - earlier.flushes,
            read_bytes: self.read_bytes - earlier.read_bytes,
            write_bytes: self.write_bytes - earlier.write_bytes,
            in_queue: self.in_queue,
            neighbour_requests: self.neighbour_requests - earlier.neighbour_requests,
            neighbours_in_queue: self.neighbours_in_queue,
            neighbour_time_ns: self.neighbour_time_ns - earlier.neighbour_time_ns,
        }
    }

    /// From 0 to 1; 0 if no time passed.
    pub fn utilisation(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.busy_ns as f64 / self.elapsed_ns as f64 }
    }
}

/// A device, its neighbours, and what is counted. Time only moves forward; calling more often
/// changes nothing.
pub struct Station {
    device: Box<dyn Device>,
    neighbours: SimulatedNeighbours,
    counts: StationCounts,
    neighbours_counted: Nanos,
    done: Vec<Completion>,
    scratch: Vec<Completion>,
}

impl Station {
    /// The seed is for later neighbours.
    pub fn new(device: Box<dyn Device>, seed: u64) -> Self {
        Self {
            device,
            neighbours: SimulatedNeighbours::new(seed),
            counts: StationCounts::default(),
            neighbours_counted: 0,
            done: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Former neighbours' requests in flight are still served.
    pub fn set_neighbours(&mut self, now: Nanos, level: NeighbourLevel) {
        self.run(now);
        self.neighbours.set_level(now, level, self.device.as_ref());
        for (id, request) in self.neighbours.first_requests() {
            self.send_neighbour(now, id, request);
        }
    }

    pub fn set_span(&mut self, bytes: u64) {
        self.neighbours.span = bytes;
        self.device.set_span(bytes);
    }

    /// Submits a request of the foreground, whose stream is 0. Panics if `id` is 2⁶³ or above:
    /// those are the neighbours'.
    pub fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        assert!(id < FIRST_NEIGHBOUR, "the number {id} is a neighbour's");
        self.run(now);
        match request.kind {
            RequestKind::Read => {
                self.counts.reads += 1;
                self.counts.read_bytes += request.length;
            }
            RequestKind::Write | RequestKind::WriteThrough => {
                self.counts.writes += 1;
                self.counts.write_bytes += request.length;
            }
            RequestKind::Flush => self.counts.flushes += 1,
        }
        self.counts.in_queue += 1;
        self.device.submit(now, id, request);
    }

    /// When [`Station::advance`] has something to do next: a completion or a neighbour's arrival.
    pub fn next_event(&self) -> Option<Nanos> {
        let done = self.done.first().map(|completion| completion.at);
        done.or_else(|| self.next())
    }

    pub fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        done.append(&mut self.done);
    }

    pub fn counts(&mut self, now: Nanos) -> StationCounts {
        self.run(now);
        self.count_neighbours(now);
        self.counts.busy_ns = self.device.busy_time();
        self.counts.clone()
    }

    fn next(&self) -> Option<Nanos> {
        self.device.next_completion().into_iter().chain(self.neighbours.next_arrival()).min()
    }

    /// Lives through every event up to `now` at its own time: completions first, then what follows
    /// them, then arrivals.
    fn run(&mut self, now: Nanos) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let mut completed = std::mem::take(&mut self.scratch);
            self.device.advance(at, &mut completed);
            for completion in completed.drain(..) {
                self.complete_request(completion);
            }
            self.scratch = completed;
            while let Some((id, request)) = self.neighbours.take_arrival(at) {
                self.send_neighbour(at, id, request);
            }
        }
        self.device.advance(now, &mut self.done);
        self.counts.elapsed_ns = self.counts.elapsed_ns.max(now);
    }

    fn complete_request(&mut self, completion: Completion) {
        if completion.id < FIRST_NEIGHBOUR {
            self.counts.in_queue -= 1;
            self.done.push(completion);
            return;
        }
        self.count_neighbours(completion.at);
        self.counts.neighbour_requests += 1;
        self.counts.neighbours_in_queue -= 1;
        if let Some((id, request)) = self.neighbours.follow_up(completion.id) {
            self.send_neighbour(completion.at, id, request);
        }
    }

    fn count_neighbours(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.neighbours_counted);
        self.counts.neighbour_time_ns += passed * u64::from(self.counts.neighbours_in_queue);
        self.neighbours_counted = self.neighbours_counted.max(now);
    }

    fn send_neighbour(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.count_neighbours(now);
        self.counts.neighbours_in_queue += 1;
        self.device.submit(now, id, request);
    }
}
