//! When a driver's next operation is to start.

use crate::ClockNanos;

/// Says when each operation of a driver is to start. Response time counts from then, so that an
/// operation that had to wait for its client shows the wait: late work is late, never skipped.
pub trait Pacer {
    /// When the next operation is to start, for a client that is free since `free`: in a closed
    /// loop at once, in an open one when it is due, which may be long ago or still to come. `None`
    /// when no other operation is to start.
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos>;

    /// Blocks the thread until `start`, and returns what time it is then; `None` when the drive was
    /// stopped meanwhile.
    fn wait(&mut self, start: ClockNanos) -> Option<ClockNanos>;
}
