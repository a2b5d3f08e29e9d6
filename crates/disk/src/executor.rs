//! Works on a device in real time: 8 ms by the model take 8 ms.
//!
//! Virtual time runs with the machine's clock. While the timing is off, the device stands still and
//! all work is done at once. A request reaches the device with the moment at which it came; its
//! answer is given when the model says that it is done. One thread sleeps until then. While a
//! caller waits, it wakes for every event in the device's queue, since each can change what comes
//! next; else it catches up with neighbours now and then. Other threads give the answers, except
//! for the first few quick ones of a fast device: handing one over would take longer than giving
//! it.
//!
//! The time of work counts from the moment of the request to the end of its answer. The ways to and
//! from this process are taken off: see [`Executor::set_round_trip`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::DeviceWork;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::{Station, StationCounts};

mod accuracy;
mod priority;
mod replies;
mod schedule;

pub use accuracy::{Accuracy, Quantiles, SLOW};

use replies::Replies;
use schedule::Schedule;

pub type WorkCallback = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub struct ExecutorTick {
    pub due: Vec<(DeviceWork, WorkCallback)>,
    /// It may be called before.
    pub next: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
pub struct ExecutorOptions {
    pub timing: bool,
    /// Work is then done at once, on the caller's thread.
    pub null: bool,
}

/// How long the ticker sleeps at most. Background work has periods of seconds; this bounds how late
/// it notices that a write has made it due sooner.
const TICK: Duration = Duration::from_millis(100);
const CATCH_UP: Duration = Duration::from_millis(50);
/// The most answers that the timing thread gives before it looks at the time again.
const OWN: usize = 4;
/// A thread that sleeps wakes up to this late; for fast devices the rest of the wait is spun.
const SPIN: Duration = Duration::from_micros(50);

/// Performs work on a device; stops when dropped, and then nobody waits any more.
pub struct Executor {
    shared: Arc<ExecutorState>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct ExecutorState {
    start: Instant,
    null: bool,
    /// A copy of the schedule's setting, read without a lock.
    timed: AtomicBool,
    schedule: Mutex<Schedule>,
    /// Notified when the next event comes sooner than the timing thread knows, and at the end.
    sooner: Condvar,
    replies: Replies,
    stopping: AtomicBool,
}

impl Executor {
    /// `station` must be new: it has seen no moment yet.
    pub fn start(station: Station, options: ExecutorOptions) -> Self {
        let shared = Arc::new(ExecutorState {
            start: Instant::now(),
            null: options.null,
            timed: AtomicBool::new(options.timing && !options.null),
            schedule: Mutex::new(Schedule::new(station, options.timing)),
            sooner: Condvar::new(),
            replies: Replies::new(),
            stopping: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for number in 0..replies::THREADS {
            threads.push(shared.spawn_thread(format!("disk-reply-{number}"), |shared| {
                priority::raise_priority();
                shared.replies.run_answers();
            }));
        }
        threads.push(shared.spawn_thread("disk-timing".into(), |shared| {
            priority::raise_priority();
            shared.keep_time();
        }));
        Self { shared, threads: Mutex::new(threads) }
    }

    /// Nanoseconds since the start; they pass even if the timing is off.
    pub fn now(&self) -> Nanos {
        self.shared.now()
    }

    /// Performs `work` that was asked for at `came`, then calls `then`: on a thread of the executor
    /// when the model says that it is done, or at once and on this thread if it takes no time.
    pub fn perform(&self, came: Nanos, work: DeviceWork, then: WorkCallback) {
        self.perform_as(came, work, then, false);
    }

    /// As [`Executor::perform`], for a `then` that takes microseconds and waits for nobody: no lock
    /// held for long, no file, no other work.
    pub fn perform_quick(&self, came: Nanos, work: DeviceWork, then: WorkCallback) {
        self.perform_as(came, work, then, true);
    }

    fn perform_as(&self, came: Nanos, work: DeviceWork, then: WorkCallback, quick: bool) {
        if !self.shared.timed.load(Ordering::Acquire) || work.is_empty() {
            return then();
        }
        let mut schedule = self.shared.lock();
        // Read again under the lock: nobody may wait for a device that stands still.
        if !self.shared.timed.load(Ordering::Acquire) {
            drop(schedule);
            return then();
        }
        let known = schedule.next_event();
        schedule.submit_work(came, work, then, quick);
        let sooner = match (schedule.next_event(), known) {
            (Some(next), Some(known)) => next < known,
            (next, None) => next.is_some(),
            (None, _) => false,
        };
        // The first waiting caller ends the time of slow catching up.
        let wake = sooner || schedule.waiting_count() == 1;
        self.shared.hand_over(&mut schedule);
        drop(schedule);
        if wake {
            self.shared.sooner.notify_one();
        }
    }

    pub fn perform_and_wait(&self, work: DeviceWork) {
        let (done, end) = std::sync::mpsc::sync_channel(1);
        self.perform(self.now(), work, Box::new(move || done.send(()).unwrap_or_default()));
        let _ = end.recv();
    }

    pub fn is_null(&self) -> bool {
        self.shared.null
    }

    pub fn is_timed(&self) -> bool {
        self.shared.timed.load(Ordering::Acquire)
    }

    /// When the timing goes off, all waiting callers are answered at once. A device that takes no
    /// time never has it on.
    pub fn set_timing(&self, on: bool) {
        let on = on && !self.shared.null && !self.shared.stopping.load(Ordering::Acquire);
        let mut schedule = self.shared.lock();
        self.shared.timed.store(on, Ordering::Release);
        schedule.set_timing(self.shared.now(), on);
        self.shared.hand_over(&mut schedule);
        drop(schedule);
        self.shared.sooner.notify_one();
    }

    pub fn set_neighbours(&self, level: NeighbourLevel) {
        let mut schedule = self.shared.lock();
        schedule.set_neighbours(self.shared.now(), level);
        self.shared.hand_over(&mut schedule);
        drop(schedule);
        self.shared.sooner.notify_one();
    }

    pub fn set_span(&self, bytes: u64) {
        self.shared.lock().set_span(bytes);
    }

    /// Sets the time of a request's way to this process and its answer's way back. Half of it has
    /// passed when a request comes, half is still to come when it is answered: both are taken off
    /// the wait.
    pub fn set_round_trip(&self, nanos: Nanos) {
        self.shared.lock().set_round_trip(nanos);
    }

    pub fn counts(&self) -> StationCounts {
        let mut schedule = self.shared.lock();
        let counts = schedule.counts(self.shared.now());
        self.shared.hand_over(&mut schedule);
        counts
    }

    /// The time of work by the model, and in fact.
    pub fn accuracy(&self) -> Accuracy {
        self.shared.replies.accuracy()
    }

    /// Calls `tick` with the time whenever it asked for it, and at least every tenth of a second;
    /// performs the work that it returns. One ticker is enough for a file system.
    pub fn set_ticker(
        self: &Arc<Self>,
        mut tick: impl FnMut(Nanos) -> ExecutorTick + Send + 'static,
    ) {
        let executor = Arc::downgrade(self);
        let shared = Arc::clone(&self.shared);
        let thread = self.shared.spawn_thread("disk-ticker".into(), move |_| {
            while !shared.stopping.load(Ordering::Acquire) {
                let now = shared.now();
                let ticked = tick(now);
                let Some(executor) = executor.upgrade() else { return };
                for (work, then) in ticked.due {
                    executor.perform(now, work, then);
                }
                drop(executor);
                thread::park_timeout(compute_pause(ticked.next, now));
            }
        });
        self.threads.lock().expect("nobody panics with it").push(thread);
    }

    /// Answers all waiting callers; from now on no work takes time. The ticker is not called again.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.set_timing(false);
        self.shared.replies.stop();
        let threads: Vec<_> =
            self.threads.lock().expect("nobody panics with it").drain(..).collect();
        for thread in threads {
            thread.thread().unpark();
            // The last owner may be the ticker itself, or an answer. A thread that panicked has
            // said so.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

fn compute_pause(next: Option<Nanos>, now: Nanos) -> Duration {
    next.map_or(TICK, |next| Duration::from_nanos(next.saturating_sub(now)).min(TICK))
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ExecutorState {
    fn spawn_thread(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce(&Self) + Send + 'static,
    ) -> JoinHandle<()> {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name(name);
        let thread = thread.spawn(move || work(&shared));
        thread.expect("a thread can be started")
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.start.elapsed().as_nanos()).expect("584 years have not passed")
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().expect("a device does not panic")
    }

    fn hand_over(&self, schedule: &mut Schedule) {
        self.replies.add_finished(self.start, schedule.take_done());
    }

    fn answer_quick<'a>(
        &'a self,
        mut schedule: MutexGuard<'a, Schedule>,
    ) -> MutexGuard<'a, Schedule> {
        let own = schedule.quickly_done(OWN);
        self.hand_over(&mut schedule);
        if own.is_empty() {
            return schedule;
        }
        // Others may ask for something meanwhile.
        drop(schedule);
        own.into_iter().for_each(|done| self.replies.answer_work(self.start, done));
        self.lock()
    }

    /// The timing thread: brings the device up to the present at each of its events.
    fn keep_time(&self) {
        let mut schedule = self.lock();
        while !self.stopping.load(Ordering::Acquire) {
            let lead = self.replies.lead(schedule.is_fast());
            schedule.catch_up(self.now(), lead);
            schedule = self.answer_quick(schedule);
            // Whoever stopped it while the lock was free has told this thread before it waits.
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            let Some(event) = schedule.next_event() else {
                schedule = self.sooner.wait(schedule).expect("a device does not panic");
                continue;
            };
            let until = Duration::from_nanos(event.saturating_sub(self.now()));
            let nobody = schedule.waiting_count() == 0;
            let wait = if nobody { until.max(CATCH_UP) } else { until };
            if !schedule.is_fast() || wait > SPIN {
                let wait = if schedule.is_fast() { wait - SPIN } else { wait };
                let woken = self.sooner.wait_timeout(schedule, wait);
                schedule = woken.expect("a device does not panic").0;
            } else {
                // Others may come meanwhile: at most SPIN passes until they are looked at.
                drop(schedule);
                let end = Instant::now() + wait;
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                schedule = self.lock();
            }
        }
    }
}

#[cfg(test)]
mod tests;
