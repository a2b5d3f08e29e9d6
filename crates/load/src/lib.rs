//! Clients, pacing and the recorder: drives whatever can be done again and again, and keeps how
//! long each time took.
//!
//! It must never know what an operation is: no database, no disk, no experiment. It is given
//! clients and a duration, and gives back latencies in slots of a second.

use std::time::Duration;

mod collector;
pub mod cost;
pub mod cpu;
mod drive;
mod outcome;
mod pacer;
mod recorder;
mod slot;

pub use collector::Progress;
pub use drive::{DriveError, MOST_FAILURES, drive};
pub use outcome::{ClientRun, Operation, Outcome};
pub use pacer::Pacer;
pub use slot::{Slot, kept};

/// One user, made on a thread of its own and never moved to another.
pub trait Client {
    /// Runs one whole operation and returns when it is over. What it does before and after the
    /// operation proper counts in its latency.
    fn operate(&mut self) -> Done;
}

/// What one operation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Which operation it was: a number below [`Plan::operations`].
    pub operation: usize,
    /// How often a part of it had to be run again; that time is inside its latency.
    pub retries: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// How to drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How many clients; each has a thread.
    pub clients: usize,
    /// How many operations there are to choose from.
    pub operations: usize,
    /// How long they run.
    pub duration: Duration,
    /// The share of the duration that is left out of the window at each end: at least 0, below
    /// 0.5.
    pub trim: f64,
}
