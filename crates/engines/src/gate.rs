//! A lock that goes to the thread that has waited longest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

/// First come, first served. The standard mutex lets newcomers overtake: under contention some
/// clients would wait long, and the engine would be blamed.
#[derive(Default)]
pub(crate) struct TicketLock {
    queue: Mutex<(u64, VecDeque<Thread>)>,
    serving: AtomicU64,
}

impl TicketLock {
    pub(crate) fn wait_in_line(&self) -> TicketGuard<'_> {
        // Only running out of memory could panic while the queue is locked.
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
        TicketGuard { gate: self }
    }
}

pub(crate) struct TicketGuard<'a> {
    gate: &'a TicketLock,
}

impl Drop for TicketGuard<'_> {
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
            let first = gate.wait_in_line();
            for number in 1..=4 {
                let (gate, inside, order) = (&gate, &inside, &order);
                scope.spawn(move || {
                    let _pass = gate.wait_in_line();
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
