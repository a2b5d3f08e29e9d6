//! Requests that wait for the head.

use std::collections::{BTreeMap, VecDeque};

use super::geometry::{Geometry, PlatterPosition};
use crate::device::{DeviceRequest, Nanos};

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub id: u64,
    pub request: DeviceRequest,
    pub since: Nanos,
    /// Where it begins.
    pub place: PlatterPosition,
}

/// One queue a stream. Streams take turns, as a fair scheduler on the host does it between
/// machines: which of them is served next does not depend on how much they ask for, only which of
/// its own requests.
#[derive(Default)]
pub(super) struct StreamQueues {
    streams: BTreeMap<u32, VecDeque<Waiting>>,
    /// The stream that was served last.
    last: u32,
}

impl StreamQueues {
    pub fn push(&mut self, waiting: Waiting) {
        self.streams.entry(waiting.request.stream).or_default().push_back(waiting);
    }

    /// Finds the places of all requests again.
    pub fn place(&mut self, geometry: &Geometry) {
        for waiting in self.streams.values_mut().flatten() {
            waiting.place = geometry.place(waiting.request.offset);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The stream whose turn it is and its requests, in the order in which they came.
    pub fn turn(&self) -> Option<(u32, &VecDeque<Waiting>)> {
        let after = self.streams.range(self.last.saturating_add(1)..);
        let (&stream, queue) = after.chain(self.streams.iter()).next()?;
        Some((stream, queue))
    }

    /// Takes the request at this place of a stream, whose turn it was.
    pub fn take(&mut self, stream: u32, place: usize) -> Waiting {
        let queue = self.streams.get_mut(&stream).expect("a stream with requests");
        let waiting = queue.remove(place).expect("a place in its queue");
        if queue.is_empty() {
            self.streams.remove(&stream);
        }
        self.last = stream;
        waiting
    }
}
