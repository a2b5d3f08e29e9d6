//! The agenda of a device: completions in order of time, and how long it was busy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Completion, Nanos};

/// Requests in flight, and their completions as they become known.
#[derive(Default)]
pub struct Agenda {
    /// (moment, order in which it became known, request); no request for the device's own work.
    due: BinaryHeap<Reverse<(Nanos, u64, Option<u64>)>>,
    known: u64,
    settled: Vec<Completion>,
    under_way: u64,
    busy_since: Nanos,
    busy: Nanos,
    now: Nanos,
}

impl Agenda {
    /// A request, or work of the device's own, begins.
    pub fn add_in_flight(&mut self, now: Nanos) {
        self.advance_to(now);
        if self.under_way == 0 {
            self.busy_since = now;
        }
        self.under_way += 1;
    }

    /// Says when something in flight ends.
    pub fn schedule_end(&mut self, at: Nanos, id: Option<u64>) {
        self.due.push(Reverse((at, self.known, id)));
        self.known += 1;
    }

    /// Lets time pass. Nothing before `now` may be left to decide.
    pub fn advance_to(&mut self, now: Nanos) {
        while let Some(&Reverse((at, _, id))) = self.due.peek().filter(|next| next.0.0 <= now) {
            self.due.pop();
            self.under_way -= 1;
            if self.under_way == 0 {
                self.busy += at - self.busy_since;
            }
            self.settled.extend(id.map(|id| Completion { id, at }));
        }
        self.now = self.now.max(now);
    }

    /// Hands out the completions up to now.
    pub fn take_completions(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.settled);
    }

    /// The earliest known completion that was not handed out.
    pub fn next(&self) -> Option<Nanos> {
        let settled = self.settled.first().map(|completion| completion.at);
        settled.or_else(|| self.due.peek().map(|next| next.0.0))
    }

    /// Time with something in flight.
    pub fn busy_time(&self) -> Nanos {
        let running = if self.under_way > 0 { self.now - self.busy_since } else { 0 };
        self.busy + running
    }
}
