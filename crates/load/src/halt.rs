//! Tells drivers to stop.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, OnceLock};

use crate::ClockNanos;
use crate::lanes::Lanes;

pub const MOST_FAILURES: u32 = 10;

pub(crate) struct StopSignal<'a> {
    asked: &'a AtomicBool,
    over: AtomicBool,
    /// The window's end in a closed loop; 0 before.
    window_end: AtomicU64,
    lanes: OnceLock<Vec<Arc<Lanes>>>,
}

impl<'a> StopSignal<'a> {
    /// Drivers stop when `asked` is set, when a driver gives up, and when all that counts has
    /// ended.
    pub fn new(asked: &'a AtomicBool) -> Self {
        let (over, window_end) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { asked, over, window_end, lanes: OnceLock::new() }
    }

    pub fn watch_lanes(&self, lanes: Vec<Arc<Lanes>>) {
        // It is called once.
        let _ = self.lanes.set(lanes);
    }

    /// Each operation's kind, and when it was to start.
    pub fn under_way(&self) -> impl Iterator<Item = (usize, ClockNanos)> {
        self.lanes.get().into_iter().flatten().flat_map(|lanes| lanes.under_way())
    }

    pub fn is_on(&self) -> bool {
        self.asked.load(Relaxed) || self.over.load(Relaxed)
    }

    pub fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    pub fn end_drive(&self) {
        self.over.store(true, Relaxed);
    }

    /// Ends the window of a closed loop: the driver that ends its last operation then stops at
    /// once.
    pub fn window_ended(&self, end: ClockNanos) {
        self.window_end.store(end, Release);
    }

    pub fn is_over(&self) -> bool {
        let end = self.window_end.load(Acquire);
        if end > 0 && self.under_way().all(|(_, intended)| intended >= end) {
            self.end_drive();
        }
        end > 0 && self.is_on()
    }
}
