use bakeoff_load::ClockNanos;
use rustix::event::epoll::EventData;

use super::connection::PageConnection;

#[derive(Debug, Default)]
pub struct ClientSlot {
    pub connection: Option<PageConnection>,
    /// Counts connections, so that events of earlier ones can be told apart.
    pub generation: u32,
    pub request: Option<PendingRequest>,
}

/// The kind of an operation, its intended start and its real start.
pub type OperationStart = (usize, ClockNanos, ClockNanos);

#[derive(Clone, Copy, Debug, Default)]
pub struct PendingRequest {
    pub kind: usize,
    pub intended: ClockNanos,
    pub started: ClockNanos,
    /// Sent again, since the server had closed the connection before the request came.
    pub retried: bool,
    pub length: usize,
}

impl ClientSlot {
    pub fn event_token(&self, lane: usize) -> EventData {
        EventData::new_u64((lane as u64) << 32 | u64::from(self.generation))
    }

    pub fn begun(&self) -> OperationStart {
        let begun = |it: PendingRequest| (it.kind, it.intended, it.started);
        self.request.map_or((0, 0, 0), begun)
    }

    /// Connecting and repeating a request cost one more each.
    pub fn round_trips(&self) -> u64 {
        let is_new = self.connection.as_ref().is_none_or(|connection| connection.requests <= 1);
        let retried = self.request.is_some_and(|request| request.retried);
        1 + u64::from(is_new) + u64::from(retried)
    }
}
