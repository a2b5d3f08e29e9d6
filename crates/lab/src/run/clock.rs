//! How long a run has taken, all sittings together.

use std::time::Instant;

/// The time of a run.
pub struct RunClock {
    began: Instant,
    /// Seconds of earlier sittings.
    used_s: f64,
}

impl RunClock {
    /// Starts, after so many seconds of earlier sittings.
    pub fn after(used_s: f64) -> Self {
        Self { began: Instant::now(), used_s }
    }

    /// Seconds that were used.
    pub fn used_s(&self) -> f64 {
        self.used_s + self.began.elapsed().as_secs_f64()
    }
}
