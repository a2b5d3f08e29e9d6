//! A device and who is on it: the foreground, its neighbours, and what is counted. Pure, in virtual
//! time.

use serde::{Deserialize, Serialize};

use crate::device::{Completion, Device, DeviceRequest, Nanos, RequestKind};
use crate::neighbour::NeighbourLevel;

mod neighbours;

use neighbours::SimulatedNeighbours;

/// Numbers from here on are the neighbours'.
const FIRST_NEIGHBOUR: u64 = 1 << 63;

/// What a station counted since it began. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationCounts {
    /// The moment up to which it is counted.
    pub elapsed_ns: Nanos,
    /// Time in which the device had any request in flight.
    pub busy_ns: Nanos,
    /// The foreground's reads that were submitted.
    pub reads: u64,
    /// The foreground's writes.
    pub writes: u64,
    /// The foreground's flushes.
    pub flushes: u64,
    /// Bytes of the foreground's reads.
    pub read_bytes: u64,
    /// Bytes of the foreground's writes.
    pub write_bytes: u64,
    /// The foreground's requests in flight now.
    pub in_queue: u32,
    /// The neighbours' requests that were completed.
    pub neighbour_requests: u64,
    /// The neighbours' requests in flight now.
    pub neighbours_in_queue: u32,
    /// The time for which the neighbours' requests were in flight, summed over all of them.
    pub neighbour_time_ns: Nanos,
}

impl StationCounts {
    /// What was counted since an earlier count of the same station. What is in flight stays as
    /// it is now.
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

    /// Share of the time in which the device was busy, from 0 to 1; 0 if no time passed.
    pub fn utilisation(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.busy_ns as f64 / self.elapsed_ns as f64 }
    }
}

/// A device, its neighbours, and what is counted.
///
/// As with a device, time only moves forward, and how often it is told to makes no difference.
pub struct Station {
    device: Box<dyn Device>,
    neighbours: SimulatedNeighbours,
    counts: StationCounts,
    /// Up to when the neighbours' time is counted.
    neighbours_counted: Nanos,
    /// Completions of the foreground that were not yet asked for.
    done: Vec<Completion>,
    scratch: Vec<Completion>,
}

impl Station {
    /// A device without neighbours. The seed is for those that come.
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

    /// Sets how much other load there is from now on. Requests of former neighbours that are
    /// in flight are still served.
    pub fn set_neighbours(&mut self, now: Nanos, level: NeighbourLevel) {
        self.run(now);
        self.neighbours.set(now, level, self.device.as_ref());
        for (id, request) in self.neighbours.begin() {
            self.send_neighbour(now, id, request);
        }
    }

    /// Says how many bytes from 0 hold data; neighbours' requests go to all of them.
    pub fn set_span(&mut self, bytes: u64) {
        self.neighbours.span = bytes;
        self.device.set_span(bytes);
    }

    /// Submits a request of the foreground, whose stream is 0.
    ///
    /// # Panics
    /// If the number is 2⁶³ or above: those are the neighbours'.
    pub fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        assert!(id < FIRST_NEIGHBOUR, "the number {id} is a neighbour's");
        self.run(now);
        match request.kind {
            RequestKind::Read => {
                self.counts.reads += 1;
                self.counts.read_bytes += request.length;
            }
            RequestKind::Write => {
                self.counts.writes += 1;
                self.counts.write_bytes += request.length;
            }
            RequestKind::Flush => self.counts.flushes += 1,
        }
        self.counts.in_queue += 1;
        self.device.submit(now, id, request);
    }

    /// The moment at which [`Station::advance`] has something to do next: a completion, a
    /// neighbour's or the foreground's, or a neighbour's arrival. `None` when all is quiet.
    pub fn next_event(&self) -> Option<Nanos> {
        let done = self.done.first().map(|completion| completion.at);
        done.or_else(|| self.next())
    }

    /// Lets time pass until `now` and adds the foreground's completions, in order of time.
    pub fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        done.append(&mut self.done);
    }

    /// What was counted up to now.
    pub fn counts(&mut self, now: Nanos) -> StationCounts {
        self.run(now);
        self.count_neighbours(now);
        self.counts.busy_ns = self.device.busy();
        self.counts.clone()
    }

    fn next(&self) -> Option<Nanos> {
        self.device.next_completion().into_iter().chain(self.neighbours.next_arrival()).min()
    }

    /// Lives through every event up to `now`, each at its own time: at one moment completions
    /// first, then what follows them, then arrivals.
    fn run(&mut self, now: Nanos) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let mut completed = std::mem::take(&mut self.scratch);
            self.device.advance(at, &mut completed);
            for completion in completed.drain(..) {
                self.complete(completion);
            }
            self.scratch = completed;
            while let Some((id, request)) = self.neighbours.arrive(at) {
                self.send_neighbour(at, id, request);
            }
        }
        self.device.advance(now, &mut self.done);
        self.counts.elapsed_ns = self.counts.elapsed_ns.max(now);
    }

    fn complete(&mut self, completion: Completion) {
        if completion.id < FIRST_NEIGHBOUR {
            self.counts.in_queue -= 1;
            self.done.push(completion);
            return;
        }
        self.count_neighbours(completion.at);
        self.counts.neighbour_requests += 1;
        self.counts.neighbours_in_queue -= 1;
        if let Some((id, request)) = self.neighbours.follow(completion.id) {
            self.send_neighbour(completion.at, id, request);
        }
    }

    /// Adds the neighbours' time since it was counted last.
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
