//! The price of traced requests on a device, in virtual time.
//!
//! A trace has an order and no pace: it was written where the device took no time. So it is priced
//! as if somebody always waited: the next work begins as soon as it may.

use std::collections::{HashMap, VecDeque};
use std::vec;

use crate::device::{Completion, DeviceRequest, Nanos};
use crate::neighbour::NeighbourLevel;
use crate::spec::Spec;
use crate::station::Station;
use crate::trace::{Trace, Traced, Waits};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The part that a commit waits for: writes and syncs of the log.
    Log,
    Read,
    PutOff,
}

impl Cause {
    /// `is_log` says which files are a log.
    pub fn from_work(work: &Traced, is_log: &dyn Fn(usize) -> bool) -> Self {
        match (work.waits, work.file) {
            (Waits::Reader, _) => Self::Read,
            (Waits::Writer, Some(file)) if is_log(file) => Self::Log,
            _ => Self::PutOff,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// One work after the other, as traced. The requests of one work may still be together.
    One,
    /// The log's works one after the other, and beside them up to so many others at once (at least
    /// one): the most that a device with such a queue can do.
    Beside(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceParameters {
    pub neighbours: NeighbourLevel,
    pub seed: u64,
    pub depth: Depth,
}

/// In nanoseconds of the device's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub elapsed: Nanos,
    /// How long works on the log were under way, summed up. With [`Depth::One`] the three sums add
    /// up to `elapsed`.
    pub log: Nanos,
    pub read: Nanos,
    pub put_off: Nanos,
}

pub fn price_trace(
    trace: &Trace<'_>,
    spec: &Spec,
    terms: PriceParameters,
    is_log: &dyn Fn(usize) -> bool,
) -> Price {
    let mut station = Station::new(spec.build(terms.seed), terms.seed);
    station.set_span(trace.span);
    station.set_neighbours(0, terms.neighbours);
    let caused = || trace.works().map(|work| (Cause::from_work(&work, is_log), work.steps));
    let mut lanes: Vec<WorkLane<'_>> = match terms.depth {
        Depth::One => vec![WorkLane::new(1, Box::new(caused()))],
        Depth::Beside(others) => vec![
            WorkLane::new(1, Box::new(caused().filter(|(cause, _)| *cause == Cause::Log))),
            WorkLane::new(
                others.max(1),
                Box::new(caused().filter(|(cause, _)| *cause != Cause::Log)),
            ),
        ],
    };
    let mut replay =
        Replay { station, now: 0, owners: HashMap::new(), last: 0, price: Price::default() };
    replay.run(&mut lanes);
    replay.price
}

/// Works in their order, some of them under way at once.
struct WorkLane<'a> {
    room: usize,
    works: Box<dyn Iterator<Item = (Cause, Vec<Vec<DeviceRequest>>)> + 'a>,
    under_way: VecDeque<(u64, LaneJob)>,
    next: u64,
}

impl<'a> WorkLane<'a> {
    fn new(
        room: usize,
        works: Box<dyn Iterator<Item = (Cause, Vec<Vec<DeviceRequest>>)> + 'a>,
    ) -> Self {
        Self { room, works, under_way: VecDeque::new(), next: 0 }
    }
}

struct LaneJob {
    cause: Cause,
    began: Nanos,
    steps: vec::IntoIter<Vec<DeviceRequest>>,
    open: usize,
}

struct Replay {
    station: Station,
    now: Nanos,
    owners: HashMap<u64, (usize, u64)>,
    last: u64,
    price: Price,
}

impl Replay {
    fn run(&mut self, lanes: &mut [WorkLane<'_>]) {
        (0..lanes.len()).for_each(|lane| self.fill_lane(lane, lanes));
        let mut done: Vec<Completion> = Vec::new();
        while !self.owners.is_empty() {
            let event = self.station.next_event().expect("requests are under way");
            self.now = event.max(self.now);
            self.station.advance(self.now, &mut done);
            for completion in done.drain(..) {
                let (lane, work) = self.owners.remove(&completion.id).expect("of this replay");
                self.complete_request(lane, work, lanes);
            }
        }
        self.price.elapsed = self.now;
    }

    fn fill_lane(&mut self, lane: usize, lanes: &mut [WorkLane<'_>]) {
        while lanes[lane].under_way.len() < lanes[lane].room
            && let Some((cause, steps)) = lanes[lane].works.next()
        {
            let number = lanes[lane].next;
            lanes[lane].next += 1;
            let mut job = LaneJob { cause, began: self.now, steps: steps.into_iter(), open: 0 };
            if self.submit_step(lane, number, &mut job) {
                lanes[lane].under_way.push_back((number, job));
            }
        }
    }

    fn submit_step(&mut self, lane: usize, number: u64, job: &mut LaneJob) -> bool {
        let Some(step) = job.steps.find(|step| !step.is_empty()) else { return false };
        job.open = step.len();
        for request in step {
            self.last += 1;
            self.owners.insert(self.last, (lane, number));
            self.station.submit(self.now, self.last, request);
        }
        true
    }

    fn complete_request(&mut self, lane: usize, number: u64, lanes: &mut [WorkLane<'_>]) {
        let under_way = &mut lanes[lane].under_way;
        let place = under_way.iter().position(|(of, _)| *of == number).expect("it is under way");
        let job = &mut under_way[place].1;
        job.open -= 1;
        if job.open > 0 {
            return;
        }
        let (_, mut job) = under_way.remove(place).expect("it was there a line ago");
        if self.submit_step(lane, number, &mut job) {
            lanes[lane].under_way.insert(place, (number, job));
            return;
        }
        let took = self.now - job.began;
        match job.cause {
            Cause::Log => self.price.log += took,
            Cause::Read => self.price.read += took,
            Cause::PutOff => self.price.put_off += took,
        }
        self.fill_lane(lane, lanes);
    }
}
