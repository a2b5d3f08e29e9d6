//! When a client's next operation starts.

/// Says when each operation of a client is to start. Latency counts from then, so that an
/// operation that had to wait for its client shows the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacer {
    /// The next operation starts when the last one has ended.
    ClosedLoop,
}

impl Pacer {
    /// Waits until the next operation is due, for a client that is free since `free`, and returns
    /// since when it is due; both in nanoseconds since the clients' start.
    pub fn wait(&mut self, free: u64) -> u64 {
        match self {
            Self::ClosedLoop => free,
        }
    }
}
