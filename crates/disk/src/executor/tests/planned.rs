//! A device whose times are known beforehand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bakeoff_devices::device::{Completion, Device, DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::DeviceWork;
use bakeoff_devices::station::Station;

pub const MS: Nanos = 1_000_000;

/// A device that does one request after the other, each in the next of the times it was given.
pub struct Planned {
    times: VecDeque<Nanos>,
    queue: VecDeque<Completion>,
    order: Arc<Mutex<Vec<u64>>>,
    free: Nanos,
    busy: Nanos,
}

impl Planned {
    /// One, and the offsets of its requests in the order in which it got them.
    pub fn station(times: &[Nanos]) -> (Station, Arc<Mutex<Vec<u64>>>) {
        let device = Self::new(times.iter().copied().collect());
        let order = Arc::clone(&device.order);
        (Station::new(Box::new(device), 1), order)
    }

    fn new(times: VecDeque<Nanos>) -> Self {
        Self { times, queue: VecDeque::new(), order: Arc::default(), free: 0, busy: 0 }
    }
}

impl Device for Planned {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.order.lock().unwrap().push(request.offset);
        let time = self.times.pop_front().expect("a time for each request");
        self.times.push_back(time);
        self.free = self.free.max(now) + time;
        self.busy += time;
        self.queue.push_back(Completion { id, at: self.free });
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.queue.front().map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let due = self.queue.partition_point(|completion| completion.at <= now);
        done.extend(self.queue.drain(..due));
    }

    fn busy_time(&self) -> Nanos {
        self.busy
    }

    fn fresh_copy(&self) -> Box<dyn Device> {
        Box::new(Self::new(self.times.clone()))
    }
}

pub fn read(offset: u64) -> DeviceRequest {
    DeviceRequest { kind: RequestKind::Read, offset, length: 4096, stream: 0 }
}

/// Work of one request.
pub fn one(offset: u64) -> DeviceWork {
    DeviceWork { steps: vec![vec![read(offset)]], ..DeviceWork::default() }
}

/// Work of four requests in three steps, and one step of nothing.
pub fn four() -> DeviceWork {
    let steps = vec![vec![read(1), read(2)], vec![], vec![read(3)], vec![read(4)]];
    DeviceWork { steps, ..DeviceWork::default() }
}
