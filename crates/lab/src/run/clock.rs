//! Measures the time of a run, all sittings together.

use std::time::Instant;

pub struct RunClock {
    began: Instant,
    used_s: f64,
}

impl RunClock {
    pub fn from_seconds_used(used_s: f64) -> Self {
        Self { began: Instant::now(), used_s }
    }

    pub fn used_s(&self) -> f64 {
        self.used_s + self.began.elapsed().as_secs_f64()
    }
}
