//! The contract between what does the operations and what says when, and keeps how long each took.

use std::ops::Range;

use crate::{Clock, Nanos, Pacer};

/// Runs operations on a thread of its own: a client that blocks, a thousand that share the thread,
/// a ring of requests to a disk. It is made on that thread and never moved to another.
pub trait Driver {
    /// Starts operations when `pacer` says so and tells `record` of each that has ended, in the
    /// order of their ends, until one of them says that it is over.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record);
}

/// Keeps operations.
pub trait Record {
    /// The clock that all times are read from.
    fn clock(&self) -> Clock;

    /// Keeps an operation that has ended. Returns since when its client is free for the next one,
    /// which is its end or, where samples had to be handed over, a little later; `None` when no
    /// other operation is to start.
    fn record(&mut self, operation: Operation) -> Option<Nanos>;
}

/// An operation that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// When it was to start: what its pacer said. Response time counts from here.
    pub intended: Nanos,
    /// When it started in fact. Service time counts from here.
    pub started: Nanos,
    /// When it was over.
    pub ended: Nanos,
    /// What came of it.
    pub done: Done,
}

/// What one operation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Which kind of operation it was: a number below [`crate::Plan::kinds`].
    pub kind: usize,
    /// How often a part of it had to be run again; that time is inside its latency.
    pub retries: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// One user, who waits for each operation to end.
pub trait Client {
    /// Runs one whole operation and returns when it is over. What it does before and after the
    /// operation proper counts in its latency.
    fn operate(&mut self) -> Done;
}

/// Which clients a driver has to stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The driver's number, from 0.
    pub driver: usize,
    /// The numbers of its clients, at least one; no two drivers share one.
    pub clients: Range<usize>,
    /// How many clients all drivers have together.
    pub of: usize,
}

impl Share {
    /// Shares out `clients` over `drivers`, as evenly as can be.
    pub(crate) fn out(clients: usize, drivers: usize) -> Vec<Self> {
        let start = |driver: usize| clients * driver / drivers;
        let share =
            |driver| Self { driver, clients: start(driver)..start(driver + 1), of: clients };
        (0..drivers).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_one_driver_and_no_driver_is_idle() {
        for (clients, drivers) in [(1, 1), (4, 4), (1000, 1), (7, 3), (1024, 2)] {
            let shares = Share::out(clients, drivers);
            let all: Vec<usize> = shares.iter().flat_map(|share| share.clients.clone()).collect();
            assert_eq!(all, (0..clients).collect::<Vec<_>>());
            assert!(shares.iter().all(|share| !share.clients.is_empty() && share.of == clients));
        }
    }
}
