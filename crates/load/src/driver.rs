//! The contract between what does the operations and what says when, and keeps how long each took.

use std::ops::Range;

use crate::{ClockNanos, DriverClock, Pacer};

/// Runs operations on a thread of its own: a client that blocks, a thousand that share the thread,
/// a ring of requests to a disk. It is made on that thread and never moved to another.
pub trait Driver {
    /// Starts operations when `pacer` says so and tells `record` of each that has ended, in the
    /// order of their ends, until one of them says that it is over.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink);

    /// How many operations it can have in flight at once: each is in a lane of its own, from 0.
    fn lanes(&self) -> usize {
        1
    }
}

/// Keeps operations.
pub trait OperationSink {
    /// The clock that all times are read from.
    fn clock(&self) -> DriverClock;

    /// Notes that an operation of that kind starts in a free lane; `intended` is what the pacer said.
    /// The note is all that is known of an operation that never ends.
    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos);

    /// Keeps an operation that has ended. Returns since when its client is free for the next one,
    /// which is its end or, where samples had to be handed over, a little later; `None` when no
    /// other operation is to start.
    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos>;
}

/// An operation that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedOperation {
    /// The lane that it was in.
    pub lane: usize,
    /// Which kind of operation it was: a number below [`crate::DrivePlan::kinds`].
    pub kind: usize,
    /// When it was to start: what its pacer said. Response time counts from here.
    pub intended: ClockNanos,
    /// When it started in fact. Service time counts from here.
    pub started: ClockNanos,
    /// When it was over.
    pub ended: ClockNanos,
    /// What came of it.
    pub done: OperationOutcome,
}

/// How one operation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationOutcome {
    /// How often a part of it had to be run again; that time is inside its latency.
    pub retries: u64,
    /// How much it did; of one that failed it doesn't count.
    pub work: WorkDone,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// How much operations did, in units that only their driver knows how to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for WorkDone {
    fn add_assign(&mut self, more: Self) {
        self.rows = self.rows.saturating_add(more.rows);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// One user, who waits for each operation to end.
pub trait BlockingClient {
    /// Decides which kind of operation comes next: a number below [`crate::DrivePlan::kinds`]. The time
    /// that this takes is inside its latency.
    fn choose(&mut self) -> usize;

    /// Runs one whole operation of that kind and returns when it is over. What it does before and
    /// after the operation proper counts in its latency.
    fn operate(&mut self, kind: usize) -> OperationOutcome;
}

/// The clients that a driver runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientShare {
    /// The driver's number, from 0.
    pub driver: usize,
    /// The numbers of its clients, at least one; no two drivers share one.
    pub clients: Range<usize>,
    /// How many clients all drivers have together.
    pub of: usize,
    /// Seeds what they do.
    pub seed: u64,
}

impl ClientShare {
    /// Shares out `clients` over `drivers`, as evenly as can be.
    pub(crate) fn out(clients: usize, drivers: usize, seed: u64) -> Vec<Self> {
        let start = |driver: usize| clients * driver / drivers;
        let share =
            |driver| Self { driver, clients: start(driver)..start(driver + 1), of: clients, seed };
        (0..drivers).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_one_driver_and_no_driver_is_idle() {
        for (clients, drivers) in [(1, 1), (4, 4), (1000, 1), (7, 3), (1024, 2)] {
            let shares = ClientShare::out(clients, drivers, 7);
            let all: Vec<usize> = shares.iter().flat_map(|share| share.clients.clone()).collect();
            assert_eq!(all, (0..clients).collect::<Vec<_>>());
            let fits = |share: &ClientShare| (share.of, share.seed) == (clients, 7);
            assert!(shares.iter().all(|share| !share.clients.is_empty() && fits(share)));
        }
    }
}
