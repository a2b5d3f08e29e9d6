//! Work on a device in real time: what the model says takes 8 ms takes 8 ms.
//!
//! Virtual time runs with the machine's clock, except while the timing is off: then the device
//! stands still and all work is done at once. A request is given to the device with the moment at
//! which it came; who waits for it is told when the model says that it is done. A thread sleeps
//! until then. It is woken for every event in the device's queue while somebody waits, since each
//! can change what comes next; while nobody waits, neighbours are caught up with now and then. Answers are
//! given by threads of their own, but for the first few of a fast device that wait for nobody, as those of
//! small reads: handing one over takes longer than giving it.
//!
//! The time of work counts from the moment at which it was asked for, whatever was done before it
//! came here, and up to the end of its answer. Before that a request is on its way to this process,
//! and after it its answer is on its way back: see [`Executor::set_round_trip`].

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

/// The callback for work that is done.
pub type WorkCallback = Box<dyn FnOnce() + Send>;

/// What a ticker has to do, and when it is to be called again at the latest.
#[derive(Default)]
pub struct Ticked {
    /// Work that nobody asked for, and what to call when it is done.
    pub due: Vec<(DeviceWork, WorkCallback)>,
    /// When it is to be called again; it may be called before.
    pub next: Option<Nanos>,
}

/// How an executor starts.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorOptions {
    /// Whether work takes its time.
    pub timing: bool,
    /// Whether the device takes no time at all: work is then done at once, on the caller's thread.
    pub null: bool,
}

/// How long the ticker sleeps at most. Background work has periods of seconds; this bounds how
/// late it notices that a write has made it due sooner.
const TICK: Duration = Duration::from_millis(100);
/// How often neighbours are caught up with while nobody waits.
const CATCH_UP: Duration = Duration::from_millis(50);
/// So many answers are given at most by the thread that keeps the time before it looks at the time again.
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
    /// Whether work takes its time: a copy of what the schedule says, to be read without a lock.
    timed: AtomicBool,
    schedule: Mutex<Schedule>,
    /// Told when the next event comes sooner than the timing thread knows, and at the end.
    sooner: Condvar,
    replies: Replies,
    stopping: AtomicBool,
}

impl Executor {
    /// Starts an executor of `station`, which must not have been told of a moment yet.
    ///
    /// # Panics
    /// When no thread can be started.
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
            threads.push(shared.spawn(format!("disk-reply-{number}"), |shared| {
                priority::raise();
                shared.replies.work();
            }));
        }
        threads.push(shared.spawn("disk-timing".into(), |shared| {
            priority::raise();
            shared.keep_time();
        }));
        Self { shared, threads: Mutex::new(threads) }
    }

    /// Nanoseconds since the start; they pass whether the timing is on or off.
    pub fn now(&self) -> Nanos {
        self.shared.now()
    }

    /// Performs `work` that was asked for at `came`, and then calls `then`: on a thread of the
    /// executor when the model says that it is done, or at once and on this thread when it takes
    /// no time.
    pub fn perform(&self, came: Nanos, work: DeviceWork, then: WorkCallback) {
        self.perform_as(came, work, then, false);
    }

    /// The same of a `then` that takes microseconds and waits for nobody: no lock that is held for long, no
    /// file, no other work.
    pub fn perform_quick(&self, came: Nanos, work: DeviceWork, then: WorkCallback) {
        self.perform_as(came, work, then, true);
    }

    fn perform_as(&self, came: Nanos, work: DeviceWork, then: WorkCallback, quick: bool) {
        if !self.shared.timed.load(Ordering::Acquire) || work.is_empty() {
            return then();
        }
        let mut schedule = self.shared.lock();
        // Read again under the lock: nobody is to wait for a device that stands still.
        if !self.shared.timed.load(Ordering::Acquire) {
            drop(schedule);
            return then();
        }
        let known = schedule.next_event();
        schedule.submit(came, work, then, quick);
        let sooner = match (schedule.next_event(), known) {
            (Some(next), Some(known)) => next < known,
            (next, None) => next.is_some(),
            (None, _) => false,
        };
        // The first one who waits ends the time in which neighbours are caught up with slowly.
        let wake = sooner || schedule.waiting() == 1;
        self.shared.reply(&mut schedule);
        drop(schedule);
        if wake {
            self.shared.sooner.notify_one();
        }
    }

    /// Performs `work` and waits for its end.
    pub fn perform_and_wait(&self, work: DeviceWork) {
        let (done, end) = std::sync::mpsc::sync_channel(1);
        self.perform(self.now(), work, Box::new(move || done.send(()).unwrap_or_default()));
        // An error means that it was dropped unsaid, which is an end, too.
        let _ = end.recv();
    }

    /// Whether the device takes no time at all.
    pub fn is_null(&self) -> bool {
        self.shared.null
    }

    /// Whether work takes its time.
    pub fn timing(&self) -> bool {
        self.shared.timed.load(Ordering::Acquire)
    }

    /// Lets work take its time, or not. When it no longer does, whoever waits is told at once.
    /// A device that takes no time never does.
    pub fn set_timing(&self, on: bool) {
        let on = on && !self.shared.null && !self.shared.stopping.load(Ordering::Acquire);
        let mut schedule = self.shared.lock();
        self.shared.timed.store(on, Ordering::Release);
        schedule.set_timing(self.shared.now(), on);
        self.shared.reply(&mut schedule);
        drop(schedule);
        self.shared.sooner.notify_one();
    }

    /// Who else is on the device from now on.
    pub fn set_neighbours(&self, level: NeighbourLevel) {
        let mut schedule = self.shared.lock();
        schedule.set_neighbours(self.shared.now(), level);
        self.shared.reply(&mut schedule);
        drop(schedule);
        self.shared.sooner.notify_one();
    }

    /// Says how many bytes of the device hold data.
    pub fn set_span(&self, bytes: u64) {
        self.shared.lock().set_span(bytes);
    }

    /// Says how long a request and its answer are on their way to this process and back. Half of
    /// it has passed when a request comes, and half of it is still to come when it is answered:
    /// both are taken off the time it waits.
    pub fn set_round_trip(&self, nanos: Nanos) {
        self.shared.lock().set_round_trip(nanos);
    }

    /// What the device has done.
    pub fn counts(&self) -> StationCounts {
        let mut schedule = self.shared.lock();
        let counts = schedule.counts(self.shared.now());
        self.shared.reply(&mut schedule);
        counts
    }

    /// How long work took by the model, and how long in fact.
    pub fn achieved(&self) -> Accuracy {
        self.shared.replies.accuracy()
    }

    /// Calls `tick` with the time whenever it asked for it, and at least every tenth of a second;
    /// performs the work that it says is due. One ticker is enough for a file system.
    pub fn set_ticker(self: &Arc<Self>, mut tick: impl FnMut(Nanos) -> Ticked + Send + 'static) {
        let executor = Arc::downgrade(self);
        let shared = Arc::clone(&self.shared);
        let thread = self.shared.spawn("disk-ticker".into(), move |_| {
            while !shared.stopping.load(Ordering::Acquire) {
                let now = shared.now();
                let ticked = tick(now);
                let Some(executor) = executor.upgrade() else { return };
                for (work, then) in ticked.due {
                    executor.perform(now, work, then);
                }
                drop(executor);
                thread::park_timeout(pause(ticked.next, now));
            }
        });
        self.threads.lock().expect("nobody panics with it").push(thread);
    }

    /// Tells all who wait, and lets no work take time any more. The ticker is not called again.
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

/// How long the ticker sleeps that was called at `now` and wants to be called again at `next`.
fn pause(next: Option<Nanos>, now: Nanos) -> Duration {
    next.map_or(TICK, |next| Duration::from_nanos(next.saturating_sub(now)).min(TICK))
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ExecutorState {
    fn spawn(
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

    /// Hands what is done to the threads that answer.
    fn reply(&self, schedule: &mut Schedule) {
        self.replies.add(self.start, schedule.done());
    }

    /// Gives the first answers that wait for nobody on this thread, and hands all others over.
    fn answer<'a>(&'a self, mut schedule: MutexGuard<'a, Schedule>) -> MutexGuard<'a, Schedule> {
        let own = schedule.quickly_done(OWN);
        self.reply(&mut schedule);
        if own.is_empty() {
            return schedule;
        }
        // Others may ask for something meanwhile.
        drop(schedule);
        own.into_iter().for_each(|done| self.replies.answer(self.start, done));
        self.lock()
    }

    /// The timing thread: brings the device up to the present at each of its events.
    fn keep_time(&self) {
        let mut schedule = self.lock();
        while !self.stopping.load(Ordering::Acquire) {
            let lead = self.replies.lead(schedule.fast());
            schedule.catch_up(self.now(), lead);
            schedule = self.answer(schedule);
            // The lock was given up meanwhile: who stopped it then has told this thread before it waits.
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            let Some(event) = schedule.next_event() else {
                schedule = self.sooner.wait(schedule).expect("a device does not panic");
                continue;
            };
            let until = Duration::from_nanos(event.saturating_sub(self.now()));
            let nobody = schedule.waiting() == 0;
            let wait = if nobody { until.max(CATCH_UP) } else { until };
            if !schedule.fast() || wait > SPIN {
                let wait = if schedule.fast() { wait - SPIN } else { wait };
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
