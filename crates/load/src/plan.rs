use std::time::Duration;

use crate::schedule::Pace;

/// The cap, as a number of window durations.
const CAP: u32 = 10;

const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivePlan {
    pub clients: usize,
    /// At most as many as clients; each has a thread.
    pub drivers: usize,
    pub kinds: usize,
    pub warm_up: Duration,
    /// The earliest end of the window, unless [`DrivePlan::enough`] ends it before.
    pub duration: Duration,
    /// Operations of each kind before the window may end.
    pub least: u64,
    /// Operations of each kind that end the window early; `None` for never.
    pub enough: Option<u64>,
    pub cap: Duration,
    /// How long after the cap drivers may take to return.
    pub patience: Duration,
    pub pace: Pace,
    pub seed: u64,
}

impl DrivePlan {
    /// A closed loop with a driver a client: the window is all of the duration and waits for no
    /// kind. The cap is ten durations.
    pub const fn closed_loop(clients: usize, kinds: usize, duration: Duration) -> Self {
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
