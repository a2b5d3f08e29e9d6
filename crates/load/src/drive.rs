//! Drives: makes the drivers, starts them together, and brings home what they recorded.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::clock::{nanoseconds, seconds};
use crate::collector::{Collector, Progress};
use crate::halt::{Halt, MOST_FAILURES};
use crate::outcome::{Driven, Kind, Outcome};
use crate::plan::{Plan, window};
use crate::recorder::{BATCHES, Batch, Channel, Recorder, Sample, Tally, new_samples};
use crate::schedule::Begun;
use crate::{Clock, Driver, Nanos, Pace, Share, cpu};

/// Why a drive came to nothing; `E` is what making a driver may end in.
#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    /// A driver could not be made, so that none was started.
    #[error("client {client} could not connect: {cause}")]
    Connect {
        /// The number of its first client.
        client: usize,
        /// What making it said.
        cause: E,
    },
    /// A driver's operations failed [`MOST_FAILURES`] times in a row.
    #[error(
        "client {client} gave up after {MOST_FAILURES} failures in a row; the last, of operation \
         {kind}: {text}"
    )]
    GaveUp {
        /// The number of its first client.
        client: usize,
        /// The kind of the operation that failed last.
        kind: usize,
        /// What that failure said.
        text: String,
    },
    /// All drivers were there, and it was said that none is to start.
    #[error("{0}")]
    Refused(E),
    /// The system would start no more threads.
    #[error("no thread for client {client} of {clients}: {cause}; take fewer clients")]
    Thread {
        /// The first client that got none.
        client: usize,
        /// How many were wanted.
        clients: usize,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Runs the plan's drivers, each on a thread of its own, and records how long every operation
/// took. `connect` makes the driver of a share of the clients on its own thread; when all are
/// there, they start together.
///
/// An operation belongs to the slot in which it ends. A driver starts nothing after the first
/// operation that ends at or after the plan's duration; that one is only counted as in flight.
/// Operations that fail are counted and have no latency: an error is often quick, and would
/// flatter. `stop` ends the drive early, when the operations under way are over; `observe` is
/// called about five times a second on the calling thread, which also collects the samples: it
/// should return soon.
///
/// # Errors
/// A driver that can't be made, one that gives up, a thread that does not start.
///
/// # Panics
/// When the plan has no client, no driver or more of them than clients, no kind of operation, no
/// duration, a trim that leaves no window, or a pace without a rate; when a driver tells of a kind
/// of operation that the plan does not have; when a driver panics.
pub fn drive<'d, E: Send>(
    plan: &Plan,
    connect: impl Fn(&Share) -> Result<Box<dyn Driver + 'd>, E> + Sync,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Outcome, DriveError<E>> {
    drive_when(plan, connect, &mut || Ok(()), stop, observe)
}

/// As [`drive`], but the drivers start only when all are there and `ready`, called on this thread,
/// has returned.
///
/// # Errors
/// As [`drive`], and what `ready` returns: then none was started.
///
/// # Panics
/// As [`drive`].
pub fn drive_when<'d, E: Send>(
    plan: &Plan,
    connect: impl Fn(&Share) -> Result<Box<dyn Driver + 'd>, E> + Sync,
    ready: &mut dyn FnMut() -> Result<(), E>,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Outcome, DriveError<E>> {
    check(plan);
    let halt = &Halt::new(stop);
    let pace = plan.pace.begin(nanoseconds(plan.duration));
    thread::scope(|scope| {
        let (full, batches) = sync_channel(plan.drivers * BATCHES);
        let (made, answers) = channel();
        let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), empties: Vec::new() };
        for share in Share::out(plan.clients, plan.drivers) {
            let client = share.clients.start;
            let (member, start, empty) = Member::new(plan, share, &full, &made, halt);
            let (connect, pace) = (&connect, &pace);
            let thread = thread::Builder::new()
                .name(format!("client-{client}"))
                .spawn_scoped(scope, move || member.live(connect, pace))
                .map_err(|cause| DriveError::Thread { client, clients: plan.clients, cause })?;
            crew.threads.push(thread);
            crew.starts.push(start);
            crew.empties.push(empty);
        }
        drop((full, made));
        let connected = answers.iter().collect::<Result<Vec<()>, _>>()?.len();
        ready().map_err(DriveError::Refused)?;
        let clock = crew.start(connected);
        let mut collector = Collector::new(plan, pace.is_open());
        let collector_cpu = collector.collect(clock, &batches, &crew.empties, observe);
        let mut ended = Vec::with_capacity(plan.drivers);
        for thread in crew.threads {
            ended.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let runs = ended.into_iter().collect::<Result<Vec<Run>, _>>()?;
        Ok((collector, collector_cpu, runs))
    })
    .map(|(collector, collector_cpu, runs)| {
        let outcome = gather(plan, collector, runs, pace, stop.load(Relaxed));
        Outcome { collector_cpu, ..outcome }
    })
}

fn check(plan: &Plan) {
    let Plan { clients, drivers, kinds, duration, trim, pace } = plan;
    assert!(*drivers > 0 && *kinds > 0 && !duration.is_zero(), "an empty plan");
    assert!(drivers <= clients, "{drivers} drivers of {clients} clients");
    assert!((0.0..0.5).contains(trim), "a trim of {trim} leaves no window");
    if let Pace::Open { per_second, .. } = pace {
        assert!(per_second.is_finite() && *per_second > 0.0, "a rate of {per_second}");
    }
}

/// What a driver's thread ends in; `None` when it was never started.
type Ended<E> = Option<Result<Run, DriveError<E>>>;

/// The drivers, seen from the thread that started them.
struct Crew<'scope, E> {
    threads: Vec<ScopedJoinHandle<'scope, Ended<E>>>,
    /// Tells each when time starts. Where these are dropped unused, the drivers end.
    starts: Vec<SyncSender<Instant>>,
    /// Brings each its batches back.
    empties: Vec<SyncSender<Vec<Sample>>>,
}

impl<E> Crew<'_, E> {
    /// Starts all, if all have connected, a little in the future: the last to be woken should
    /// be awake by then.
    fn start(&mut self, connected: usize) -> Clock {
        let drivers = self.starts.len() as u32;
        let lead = Duration::from_millis(1) + Duration::from_micros(20) * drivers;
        let clock = Clock(Instant::now() + lead);
        let starts = std::mem::take(&mut self.starts);
        // One that is missing without an error has panicked, which joining it will tell.
        if connected == starts.len() {
            for start in starts {
                let _ = start.send(clock.0);
            }
        }
        clock
    }
}

/// What a driver's thread has before the driver is made.
struct Member<'a, E> {
    share: Share,
    kinds: usize,
    end: Nanos,
    halt: &'a Halt<'a>,
    ready: Sender<Result<(), DriveError<E>>>,
    start: Receiver<Instant>,
    channel: Channel,
}

/// What a driver brings home.
struct Run {
    driven: Driven,
    tallies: Vec<Tally>,
    in_flight: u64,
}

impl<'a, E> Member<'a, E> {
    fn new(
        plan: &Plan,
        share: Share,
        full: &SyncSender<Batch>,
        ready: &Sender<Result<(), DriveError<E>>>,
        halt: &'a Halt<'a>,
    ) -> (Self, SyncSender<Instant>, SyncSender<Vec<Sample>>) {
        let (start, started) = sync_channel(1);
        let (empty, empties) = sync_channel(BATCHES);
        for _ in 1..BATCHES {
            empty.send(new_samples()).expect("the other end is in the same function");
        }
        let member = Self {
            channel: Channel { driver: share.driver, full: full.clone(), empty: empties },
            share,
            kinds: plan.kinds,
            end: nanoseconds(plan.duration),
            halt,
            ready: ready.clone(),
            start: started,
        };
        (member, start, empty)
    }

    /// A driver's life: connect, wait for the others, run.
    fn live<'d>(
        self,
        connect: impl Fn(&Share) -> Result<Box<dyn Driver + 'd>, E>,
        pace: &Begun,
    ) -> Ended<E> {
        let Self { share, kinds, end, halt, ready, start, channel } = self;
        let client = share.clients.start;
        let (driver, answer) = match connect(&share) {
            Ok(driver) => (Some(driver), Ok(())),
            Err(cause) => (None, Err(DriveError::Connect { client, cause })),
        };
        // Nobody listens any more after another's failure.
        let _ = ready.send(answer);
        drop(ready);
        let (mut driver, start) = (driver?, start.recv().ok()?);
        if pace.is_open() {
            // To wake as soon as an operation is due. Where this is forbidden, the delays show it.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        thread::sleep(start.saturating_duration_since(Instant::now()));
        let clock = Clock(start);
        let mut recorder = Recorder::new(clock, (end, kinds), halt, channel);
        let delay = cpu::thread_run_delay();
        let (cpu, started) = (cpu::thread_cpu(), clock.now());
        driver.run(&mut *pace.pacer(clock, halt), &mut recorder);
        recorder.finish();
        let driven = Driven {
            started_s: seconds(started),
            stopped_s: seconds(recorder.last.max(started)),
            cpu: cpu::thread_cpu() - cpu,
            run_delay: cpu::thread_run_delay().zip(delay).map(|(now, then)| now - then),
            handing_over_s: seconds(recorder.handing_over),
        };
        let Recorder { tallies, in_flight, gave_up, .. } = recorder;
        Some(match gave_up {
            Some((kind, text)) => Err(DriveError::GaveUp { client, kind, text }),
            None => Ok(Run { driven, tallies, in_flight }),
        })
    }
}

/// Puts together what the collector and the drivers know.
fn gather(plan: &Plan, collector: Collector, runs: Vec<Run>, pace: Begun, asked: bool) -> Outcome {
    let last = runs.iter().map(|run| run.driven.stopped_s).fold(0.0, f64::max);
    let stopped = asked && last < plan.duration.as_secs_f64();
    let ran = if stopped { Duration::from_secs_f64(last) } else { plan.duration };
    let (from, to) = window(plan);
    let (slots, start_delay) = collector.finish(nanoseconds(ran));
    let kinds = slots.into_iter().enumerate().map(|(number, slots)| {
        let tallies = runs.iter().map(|run| &run.tallies[number]);
        let first = tallies.clone().filter_map(|tally| tally.first_error.as_ref()).min();
        Kind {
            slots,
            errors: tallies.clone().map(|tally| tally.errors).sum(),
            retries: tallies.clone().map(|tally| tally.retries).sum(),
            first_error: first.map(|(_, text)| text.clone()),
        }
    });
    let open = pace.finish(nanoseconds(ran)).zip(start_delay);
    Outcome {
        ran,
        stopped,
        window_s: (seconds(from), seconds(to)),
        kinds: kinds.collect(),
        in_flight: runs.iter().map(|run| run.in_flight).sum(),
        drivers: runs.into_iter().map(|run| run.driven).collect(),
        open: open.map(|(open, start_delay)| crate::OpenLoop { start_delay, ..open }),
        collector_cpu: Duration::ZERO,
    }
}
