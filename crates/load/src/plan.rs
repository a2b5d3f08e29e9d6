//! How to drive.

use std::time::Duration;

use crate::schedule::Pace;

/// How often its seconds a drive that waits for slow operations may take.
const CAP: u32 = 10;

/// How long after its cap drivers have to come home.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivePlan {
    /// How many clients there are.
    pub clients: usize,
    /// How many drivers stand for them, at most as many; each has a thread.
    pub drivers: usize,
    /// How many kinds of operations there are.
    pub kinds: usize,
    /// When the window starts: operations that were to start before do not count.
    pub warm_up: Duration,
    /// When the window ends at the earliest, unless [`DrivePlan::enough`] ends it before.
    pub duration: Duration,
    /// How many operations of each kind have to have ended before the window ends.
    pub least: u64,
    /// How many operations of each kind end the window before its duration is over, as soon as so many have
    /// ended; `None` where it always lasts that long.
    pub enough: Option<u64>,
    /// When what has not ended yet is cut off, at least `duration`.
    pub cap: Duration,
    /// How long after that drivers have to come home.
    pub patience: Duration,
    /// When operations start.
    pub pace: Pace,
    /// Seeds what the clients do.
    pub seed: u64,
}

impl DrivePlan {
    /// A closed loop of clients with a driver each: the window is all of the duration, and waits for
    /// no kind of operation. The cap is ten times the duration.
    pub const fn closed(clients: usize, kinds: usize, duration: Duration) -> Self {
        Self {
            clients,
            drivers: clients,
            kinds,
            warm_up: Duration::ZERO,
            duration,
            least: 0,
            enough: None,
            cap: duration.saturating_mul(CAP),
            patience: PATIENCE,
            pace: Pace::Closed,
            seed: 0,
        }
    }
}
