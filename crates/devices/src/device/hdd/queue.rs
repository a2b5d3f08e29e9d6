use std::collections::{BTreeMap, VecDeque};

use super::geometry::{Geometry, PlatterPosition};
use crate::device::{DeviceRequest, Nanos};

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub id: u64,
    pub request: DeviceRequest,
    pub since: Nanos,
    pub place: PlatterPosition,
}

/// One queue a stream. Streams take turns, like machines under a fair scheduler on the host: a
/// stream with more requests is not served more often.
#[derive(Default)]
pub(super) struct StreamQueues {
    streams: BTreeMap<u32, VecDeque<Waiting>>,
    last: u32,
}

impl StreamQueues {
    pub fn push(&mut self, waiting: Waiting) {
        self.streams.entry(waiting.request.stream).or_default().push_back(waiting);
    }

    pub fn locate_all(&mut self, geometry: &Geometry) {
        for waiting in self.streams.values_mut().flatten() {
            waiting.place = geometry.locate(waiting.request.offset);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    pub fn next_stream(&self) -> Option<(u32, &VecDeque<Waiting>)> {
        let after = self.streams.range(self.last.saturating_add(1)..);
        let (&stream, queue) = after.chain(self.streams.iter()).next()?;
        Some((stream, queue))
    }

    pub fn take_request(&mut self, stream: u32, place: usize) -> Waiting {
        let queue = self.streams.get_mut(&stream).expect("a stream with requests");
        let waiting = queue.remove(place).expect("a place in its queue");
        if queue.is_empty() {
            self.streams.remove(&stream);
        }
        self.last = stream;
        waiting
    }
}
