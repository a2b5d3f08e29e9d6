use crate::ClockNanos;

/// Says when each operation should start. Response time counts from then, so waiting for a client
/// counts: late work is late, never skipped.
pub trait Pacer {
    /// The next start, for a client that is free since `free`. It may be long ago or still to come;
    /// `None` to stop.
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos>;

    /// How long before a start a driver that waits for it stops sleeping.
    fn spin_time(&self) -> ClockNanos {
        0
    }

    /// Above 0 where starts come so fast that a driver of many operations sleeps at least so long,
    /// and then begins all that are due.
    fn shortest_sleep(&self) -> ClockNanos {
        0
    }

    /// Blocks until `start` and returns the time; `None` if stopped meanwhile.
    fn wait_until(&mut self, start: ClockNanos) -> Option<ClockNanos>;
}
