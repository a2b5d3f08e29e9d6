//! The threads that send replies: one that takes long must not make the next one late.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;

use super::accuracy::{Accuracy, LatencyRecord};
use super::schedule::{FinishedWork, RequestTiming};

/// An answer takes microseconds, unless it waits for a lock or copies a megabyte.
pub(super) const THREADS: usize = 3;

const MEND: Nanos = 2_000;
/// The correction doubles after each such row of answers that were all late or all early, up to a
/// limit: a machine that becomes 250 µs later or sooner needs 20 answers.
const ROW: u32 = 4;
const DOUBLED: u32 = 4;
/// The lead before anything is known, for fast devices and for others: waking one thread after a
/// spun wait on an idle machine, and waking two.
const FIRST_LEADS: [Nanos; 2] = [10_000, 50_000];
const LONGEST_LEAD: Nanos = 400_000;

pub(super) struct Replies {
    queue: Mutex<ReplyQueue>,
    more: Condvar,
    record: Mutex<LatencyRecord>,
    leads: [AtomicU64; 2],
    /// How many answers in a row were late, or, below zero, early.
    rows: [AtomicI32; 2],
}

struct ReplyQueue {
    /// Each with the start of the clock that measures it.
    waiting: VecDeque<(Instant, FinishedWork)>,
    open: bool,
}

impl Replies {
    pub(super) fn new() -> Self {
        Self {
            queue: Mutex::new(ReplyQueue { waiting: VecDeque::new(), open: true }),
            more: Condvar::new(),
            record: Mutex::new(LatencyRecord::new()),
            leads: FIRST_LEADS.map(AtomicU64::new),
            rows: [const { AtomicI32::new(0) }; 2],
        }
    }

    pub(super) fn add_finished(
        &self,
        start: Instant,
        done: impl ExactSizeIterator<Item = FinishedWork>,
    ) {
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

    pub(super) fn run_answers(&self) {
        let mut queue = self.queue.lock().expect("nobody panics with it");
        loop {
            if let Some((start, done)) = queue.waiting.pop_front() {
                drop(queue);
                self.answer_work(start, done);
                queue = self.queue.lock().expect("nobody panics with it");
            } else if queue.open {
                queue = self.more.wait(queue).expect("nobody panics with it");
            } else {
                return;
            }
        }
    }

    pub(super) fn answer_work(&self, start: Instant, done: FinishedWork) {
        (done.then)();
        if let Some(timed) = done.timed {
            self.learn_lead(&timed, start.elapsed());
        }
    }

    /// How long before its time an answer is begun, so that as many answers are early as late: a
    /// sleeping thread takes tens of microseconds to wake.
    pub(super) fn lead(&self, fast: bool) -> Nanos {
        self.leads[usize::from(!fast)].load(Ordering::Relaxed)
    }

    pub(super) fn learn_lead(&self, timed: &RequestTiming, now: Duration) {
        let achieved = timed.achieved_latency(now);
        self.record.lock().expect("nobody panics with it").add_latency(timed.modelled, achieved);
        // The lead by which it was answered: fast and slow work may take turns.
        let lead = self.lead(timed.precisely);
        if timed.could_be_kept(lead) {
            let way = usize::from(!timed.precisely);
            let row = self.rows[way].load(Ordering::Relaxed);
            let (row, mended) = correct_lead(row, lead, achieved > timed.modelled);
            // Two that learn at the same time lose a lesson; there are more to come.
            self.rows[way].store(row, Ordering::Relaxed);
            self.leads[way].store(mended, Ordering::Relaxed);
        }
    }

    pub(super) fn stop(&self) {
        self.queue.lock().expect("nobody panics with it").open = false;
        self.more.notify_all();
    }

    pub(super) fn accuracy(&self) -> Accuracy {
        self.record.lock().expect("nobody panics with it").accuracy()
    }
}

fn correct_lead(row: i32, lead: Nanos, late: bool) -> (i32, Nanos) {
    let step = MEND << (row.unsigned_abs() / ROW).min(DOUBLED);
    match (late, row > 0) {
        (true, true) => (row.saturating_add(1), (lead + step).min(LONGEST_LEAD)),
        (true, false) => (1, (lead + MEND).min(LONGEST_LEAD)),
        (false, true) => (-1, lead.saturating_sub(MEND)),
        (false, false) => (row.saturating_sub(1), lead.saturating_sub(step)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_follows_within_20_answers_and_then_stays() {
        let (mut row, mut lead) = (0, FIRST_LEADS[1]);
        for late in [300_000, 100_000, 250_000] {
            let answer = |_| {
                (row, lead) = correct_lead(row, lead, late > lead);
                lead
            };
            let leads: Vec<Nanos> = (0..60).map(answer).collect();
            let off = leads.iter().position(|lead| lead.abs_diff(late) <= 32_000);
            assert!(off.is_some_and(|answers| answers < 20), "{late}: {leads:?}");
            assert!(leads[40..].iter().all(|lead| lead.abs_diff(late) <= 4_000), "{leads:?}");
        }
    }

    #[test]
    fn a_lead_stays_within_its_bounds() {
        let (mut row, mut lead) = (0, 0);
        for late in [false, true, false] {
            (0..200).for_each(|_| (row, lead) = correct_lead(row, lead, late));
            assert_eq!(lead, if late { LONGEST_LEAD } else { 0 });
        }
        assert_eq!(correct_lead(i32::MAX, 0, true).0, i32::MAX);
    }
}
