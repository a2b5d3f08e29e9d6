//! What has the drivers stop before the end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How many failures in a row make a driver give up.
pub const MOST_FAILURES: u32 = 10;

/// Why drivers stop before the end.
pub(crate) struct Halt<'a> {
    asked: &'a AtomicBool,
    failed: AtomicBool,
}

impl<'a> Halt<'a> {
    /// They stop when somebody asks for it, or one of them gives up.
    pub fn new(asked: &'a AtomicBool) -> Self {
        Self { asked, failed: AtomicBool::new(false) }
    }

    pub fn is_on(&self) -> bool {
        self.asked.load(Relaxed) || self.failed.load(Relaxed)
    }

    /// A driver gave up.
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
    }
}
