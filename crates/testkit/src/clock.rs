//! The only clock by which a test may judge: it shows that something came too early, never that it
//! came late.

use std::time::{Duration, Instant};

/// How long a test waits for an event on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A moment since which at least some time has passed. The time has no upper bound: on a busy
/// machine everything may take longer, and nothing takes less.
#[derive(Clone, Copy, Debug)]
pub struct Since(Instant);

impl Since {
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Whether at least this much time has passed since then.
    #[must_use]
    pub fn at_least(self, least: Duration) -> bool {
        self.0.elapsed() >= least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_passed_is_told_and_what_has_not_is_not() {
        let since = Since::now();
        assert!(!since.at_least(Duration::from_secs(3600)));
        std::thread::sleep(Duration::from_millis(2));
        assert!(since.at_least(Duration::from_millis(2)));
    }
}
