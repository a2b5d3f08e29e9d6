//! A client of a page: its connection, and the request that waits for its answer.

use bakeoff_load::ClockNanos;
use rustix::event::epoll::EventData;

use super::connection::PageConnection;

/// A client and its connection.
#[derive(Debug, Default)]
pub struct ClientSlot {
    /// The connection that is open, or is being made.
    pub connection: Option<PageConnection>,
    /// How many connections it has had, so that an event of an earlier one is told apart.
    pub generation: u32,
    /// What waits for its answer.
    pub request: Option<PendingRequest>,
}

/// The kind of an operation, when it was to start and when it did.
pub type OperationStart = (usize, ClockNanos, ClockNanos);

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PendingRequest {
    /// The kind of operation.
    pub kind: usize,
    /// When it was to start.
    pub intended: ClockNanos,
    /// When it did.
    pub started: ClockNanos,
    /// Whether it was sent once more, since the server had closed the connection before it came.
    pub retried: bool,
    /// Bytes of the body that have come.
    pub length: usize,
}

impl ClientSlot {
    /// What its connection's events carry.
    pub fn token(&self, lane: usize) -> EventData {
        EventData::new_u64((lane as u64) << 32 | u64::from(self.generation))
    }

    /// What is known of its request from the start.
    pub fn begun(&self) -> OperationStart {
        let begun = |it: PendingRequest| (it.kind, it.intended, it.started);
        self.request.map_or((0, 0, 0), begun)
    }

    /// How often its request goes to the server and back: once more where its connection is made for it, and
    /// once more where it was sent again.
    pub fn round_trips(&self) -> u64 {
        let is_new = self.connection.as_ref().is_none_or(|connection| connection.requests <= 1);
        let retried = self.request.is_some_and(|request| request.retried);
        1 + u64::from(is_new) + u64::from(retried)
    }
}
