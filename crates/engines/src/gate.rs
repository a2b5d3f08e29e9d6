//! A lock that is given to whoever has waited longest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

/// Lets one client in at a time, first come, first served.
///
/// The standard library's mutex may let a newcomer overtake. Under contention some clients would wait
/// for long, and their latencies would be blamed on the engine.
#[derive(Default)]
pub(crate) struct TicketLock {
    /// The number of tickets given out, and the threads that wait, in their tickets' order.
    queue: Mutex<(u64, VecDeque<Thread>)>,
    /// The ticket that is let in, or will be next.
    serving: AtomicU64,
}

impl TicketLock {
    /// Waits in line; the gate is shut behind the caller until the pass is dropped.
    pub(crate) fn enter(&self) -> Pass<'_> {
        // Nothing can panic while the queue is locked but by running out of memory.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = queue.0;
        queue.0 += 1;
        if self.serving.load(Ordering::Acquire) != ticket {
            queue.1.push_back(thread::current());
            drop(queue);
            while self.serving.load(Ordering::Acquire) != ticket {
                thread::park();
            }
        }
        Pass { gate: self }
    }
}

/// The right to be inside.
pub(crate) struct Pass<'a> {
    gate: &'a TicketLock,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut queue = self.gate.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.gate.serving.fetch_add(1, Ordering::Release);
        if let Some(next) = queue.1.pop_front() {
            next.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn lets_one_in_at_a_time_in_the_order_of_arrival() {
        let (gate, inside, order) =
            (TicketLock::default(), AtomicU64::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let first = gate.enter();
            for number in 1..=4 {
                let (gate, inside, order) = (&gate, &inside, &order);
                scope.spawn(move || {
                    let _pass = gate.enter();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                    order.lock().unwrap().push(number);
                    thread::sleep(Duration::from_millis(1));
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
                while gate.queue.lock().unwrap().1.len() < number {
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 4]);
    }
}
