//! Tells drivers to stop.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, OnceLock};

use crate::ClockNanos;
use crate::lanes::Lanes;

/// How many failures in a row make a driver give up.
pub const MOST_FAILURES: u32 = 10;

/// What has drivers start nothing more.
pub(crate) struct Halt<'a> {
    asked: &'a AtomicBool,
    over: AtomicBool,
    /// When the window of a closed loop has ended; 0 while it has not.
    window_end: AtomicU64,
    /// What is in flight; known once all drivers are there.
    lanes: OnceLock<Vec<Arc<Lanes>>>,
}

impl<'a> Halt<'a> {
    /// Drivers stop when somebody asks for it, when a driver gives up, and when all that counts has
    /// ended.
    pub fn new(asked: &'a AtomicBool) -> Self {
        let (over, window_end) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { asked, over, window_end, lanes: OnceLock::new() }
    }

    /// All drivers are there.
    pub fn watch(&self, lanes: Vec<Arc<Lanes>>) {
        // It is called once.
        let _ = self.lanes.set(lanes);
    }

    /// Operations in flight: each one's kind, and when it was to start.
    pub fn under_way(&self) -> impl Iterator<Item = (usize, ClockNanos)> {
        self.lanes.get().into_iter().flatten().flat_map(|lanes| lanes.under_way())
    }

    pub fn is_on(&self) -> bool {
        self.asked.load(Relaxed) || self.over.load(Relaxed)
    }

    /// Whether somebody asked for it.
    pub fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// Nothing more is to start.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// The window of a closed loop has ended: whoever finds that the last operation of it is over
    /// says so at once, lest another one be started for nothing.
    pub fn window_ended(&self, end: ClockNanos) {
        self.window_end.store(end, Release);
    }

    /// Whether nothing more is to start, as a driver sees it that has just ended an operation.
    pub fn is_over(&self) -> bool {
        let end = self.window_end.load(Acquire);
        if end > 0 && self.under_way().all(|(_, intended)| intended >= end) {
            self.end();
        }
        end > 0 && self.is_on()
    }
}
