//! The contracts of drivers, pacers and recorders: who runs operations, who says when, and who
//! keeps their times.

use std::ops::Range;
use std::time::Duration;

use crate::{ClockNanos, DriverClock, Pacer};

/// Runs operations on a thread of its own: one blocking client, a thousand on the thread, a ring of
/// disk requests. It is made on that thread and never moved.
pub trait Driver {
    /// Starts operations when `pacer` says so and records each that has ended, in the order of
    /// ends, until pacer or recorder says stop.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink);

    /// The most operations in flight; each has a lane, from 0.
    fn lanes(&self) -> usize {
        1
    }

    /// Whether it waits for events of many operations at once. In a closed loop such a driver loses
    /// nothing where it is woken a little later, and several events come in one go.
    fn is_event_driven(&self) -> bool {
        false
    }
}

pub trait OperationSink {
    fn clock(&self) -> DriverClock;

    /// Notes a start in a free lane, with the pacer's `intended` time: all that is known of an
    /// operation that never ends.
    fn begin_operation(&mut self, lane: usize, kind: usize, intended: ClockNanos);

    /// Keeps an ended operation. Returns when its client is free: its end, or a little later after
    /// handing over samples; `None` to stop.
    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedOperation {
    pub lane: usize,
    /// Below [`crate::DrivePlan::kinds`].
    pub kind: usize,
    /// The pacer's time. Response time counts from here.
    pub intended: ClockNanos,
    /// The real start. Service time counts from here.
    pub started: ClockNanos,
    pub ended: ClockNanos,
    pub done: OperationOutcome,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationOutcome {
    pub retries: u64,
    pub work: WorkAmount,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkAmount {
    pub rows: u64,
    pub bytes: u64,
    /// How often its client counted each of a few things; their order is the client's.
    pub counts: [u64; WorkAmount::COUNTS],
}

impl WorkAmount {
    pub const COUNTS: usize = 4;
}

impl std::ops::AddAssign for WorkAmount {
    fn add_assign(&mut self, more: Self) {
        self.rows = self.rows.saturating_add(more.rows);
        self.bytes = self.bytes.saturating_add(more.bytes);
        for (count, more) in self.counts.iter_mut().zip(more.counts) {
            *count = count.saturating_add(more);
        }
    }
}

pub trait BlockingClient {
    /// Below [`crate::DrivePlan::kinds`]. Its time is inside the latency.
    fn choose_operation(&mut self) -> usize;

    /// Runs one whole operation. All that it does is inside the latency.
    fn run_operation(&mut self, kind: usize) -> OperationOutcome;

    /// How long its user thinks after an operation. A client that works at a rate doesn't ask.
    fn think_time(&mut self, kind: usize) -> Duration {
        let _ = kind;
        Duration::ZERO
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientShare {
    pub driver: usize,
    /// At least one; no two drivers share one.
    pub clients: Range<usize>,
    pub of: usize,
    pub seed: u64,
}

impl ClientShare {
    pub(crate) fn share_out(clients: usize, drivers: usize, seed: u64) -> Vec<Self> {
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
            let shares = ClientShare::share_out(clients, drivers, 7);
            let all: Vec<usize> = shares.iter().flat_map(|share| share.clients.clone()).collect();
            assert_eq!(all, (0..clients).collect::<Vec<_>>());
            let fits = |share: &ClientShare| (share.of, share.seed) == (clients, 7);
            assert!(shares.iter().all(|share| !share.clients.is_empty() && fits(share)));
        }
    }
}
