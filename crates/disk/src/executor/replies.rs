//! The threads that send replies: one that takes long must not make the next one late.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;

use super::accuracy::{Accuracy, Record};
use super::schedule::{Done, Timed};

/// How many threads answer. An answer takes microseconds, unless it has to wait for a lock or
/// copies a megabyte.
pub(super) const THREADS: usize = 3;

/// By how much the lead is mended after each answer.
const MEND: Nanos = 2_000;
/// The lead before anything is known, for fast devices and for others: what it takes on an idle
/// machine to wake one thread after a wait that was spun, and to wake two.
const FIRST_LEADS: [Nanos; 2] = [10_000, 50_000];
/// The longest lead.
const LONGEST_LEAD: Nanos = 400_000;

pub(super) struct Replies {
    queue: Mutex<Queue>,
    more: Condvar,
    record: Mutex<Record>,
    /// How long before its time an answer is begun: see [`Replies::lead`].
    leads: [AtomicU64; 2],
}

struct Queue {
    /// What is done, with the start of the clock by which it is measured.
    waiting: VecDeque<(Instant, Done)>,
    open: bool,
}

impl Replies {
    pub(super) fn new() -> Self {
        Self {
            queue: Mutex::new(Queue { waiting: VecDeque::new(), open: true }),
            more: Condvar::new(),
            record: Mutex::new(Record::new()),
            leads: FIRST_LEADS.map(AtomicU64::new),
        }
    }

    /// Takes over who is to be told.
    pub(super) fn add(&self, start: Instant, done: impl ExactSizeIterator<Item = Done>) {
        let many = done.len();
        if many == 0 {
            return;
        }
        let mut queue = self.queue.lock().expect("nobody panics with it");
        queue.waiting.extend(done.map(|done| (start, done)));
        drop(queue);
        for _ in 0..many.min(THREADS) {
            self.more.notify_one();
        }
    }

    /// Answers until [`Replies::stop`], and then those that are left.
    pub(super) fn work(&self) {
        let mut queue = self.queue.lock().expect("nobody panics with it");
        loop {
            if let Some((start, done)) = queue.waiting.pop_front() {
                drop(queue);
                (done.then)();
                if let Some(timed) = done.timed {
                    self.learn(&timed, start.elapsed());
                }
                queue = self.queue.lock().expect("nobody panics with it");
            } else if queue.open {
                queue = self.more.wait(queue).expect("nobody panics with it");
            } else {
                return;
            }
        }
    }

    /// How long before its time an answer has to be begun so that as many are early as late: a
    /// thread that sleeps is late by the tens of microseconds that waking takes.
    pub(super) fn lead(&self, fast: bool) -> Nanos {
        self.leads[usize::from(!fast)].load(Ordering::Relaxed)
    }

    fn learn(&self, timed: &Timed, now: Duration) {
        let achieved = timed.achieved(now);
        self.record.lock().expect("nobody panics with it").add(timed.modelled, achieved);
        // The lead by which it was answered: fast and slow work may take turns.
        let lead = self.lead(timed.precisely);
        if timed.could_be_kept(lead) {
            let mended = if achieved > timed.modelled {
                (lead + MEND).min(LONGEST_LEAD)
            } else {
                lead.saturating_sub(MEND)
            };
            // Two that learn at the same time lose a lesson; there are more to come.
            self.leads[usize::from(!timed.precisely)].store(mended, Ordering::Relaxed);
        }
    }

    /// Lets the threads end once everybody is told.
    pub(super) fn stop(&self) {
        self.queue.lock().expect("nobody panics with it").open = false;
        self.more.notify_all();
    }

    pub(super) fn accuracy(&self) -> Accuracy {
        self.record.lock().expect("nobody panics with it").accuracy()
    }
}
