//! Drives: makes the drivers, starts them together, and brings home what they recorded.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::clock::{nanoseconds, seconds};
use crate::collector::{Collector, CollectorContext, CountedOperations, DriveProgress};
use crate::halt::{Halt, MOST_FAILURES};
use crate::lanes::{Lanes, MOST_KINDS};
use crate::outcome::{DriveOutcome, DriverRun, KindOutcome};
use crate::plan::DrivePlan;
use crate::recorder::{
    BATCHES, Batch, Channel, ErrorTally, OperationSample, Recorder, new_samples,
};
use crate::schedule::StartedPace;
use crate::{ClientShare, ClockNanos, Driver, DriverClock, Pace, cpu};

/// Why a drive failed; `E` is what making a driver may end in.
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

/// Watches the drivers run, on the calling thread. A closure that takes the progress is an
/// observer.
pub trait Observer<E> {
    /// All drivers are there; they start when this returns.
    ///
    /// # Errors
    /// Why they are not to: then none was started.
    fn ready(&mut self) -> Result<(), E> {
        Ok(())
    }

    /// So far it has come; told about five times a second. It should return soon.
    fn progress(&mut self, progress: &DriveProgress) {
        let _ = progress;
    }

    /// Drivers have not come home, [`DrivePlan::patience`] after the cap: this is what is known without
    /// them. When it returns, they are waited for.
    fn overdue(&mut self, so_far: &DriveOutcome) {
        let _ = so_far;
    }
}

impl<E, F: FnMut(&DriveProgress)> Observer<E> for F {
    fn progress(&mut self, progress: &DriveProgress) {
        self(progress);
    }
}

/// Runs the plan's drivers, each on a thread of its own, and records how long every operation
/// took. `connect` makes the driver of a share of the clients on its own thread; when all are
/// there, and the observer is ready, they start together.
///
/// What counts is every operation that was to start in the window, and each is followed to its end:
/// the clients keep working until the last of them is over. The window ends with the plan's
/// duration; or before it, as soon as [`DrivePlan::enough`] operations of each kind are known to have ended; or
/// after it, when [`DrivePlan::least`] of each kind have; at the plan's cap at the latest, and what is still
/// in flight then is cut off. In an open loop that does not keep up, what
/// has not started when the window ends is counted, and not started any more.
///
/// Operations that fail are counted and have no latency: an error is often quick, and would
/// flatter. `stop` ends the drive early, when the operations in flight are over.
///
/// # Errors
/// A driver that can't be made, one that gives up, a thread that does not start, and what the
/// observer returns when all are ready.
///
/// # Panics
/// When the plan has no client, no driver or more of them than clients, no kind of operation or more
/// than 255, a window without length, a cap before its end, or a pace without a rate; when a driver
/// tells of a kind of operation that the plan does not have; when a driver panics.
pub fn drive<'d, E: Send>(
    plan: &DrivePlan,
    connect: impl Fn(&ClientShare) -> Result<Box<dyn Driver + 'd>, E> + Sync,
    stop: &AtomicBool,
    observer: &mut dyn Observer<E>,
) -> Result<DriveOutcome, DriveError<E>> {
    check(plan);
    let halt = &Halt::new(stop);
    let pace = plan.pace.begin();
    thread::scope(|scope| {
        let (full, batches) = sync_channel(plan.drivers * BATCHES);
        let (made, answers) = channel();
        let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), empties: Vec::new() };
        for share in ClientShare::out(plan.clients, plan.drivers, plan.seed) {
            let client = share.clients.start;
            let (member, start, empty) = DriverSetup::new(plan, share, &full, &made, halt);
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
        let lanes = answers.iter().collect::<Result<Vec<_>, _>>()?;
        observer.ready().map_err(DriveError::Refused)?;
        let connected = lanes.len();
        halt.watch(lanes);
        let clock = crew.start(connected);
        let empties = std::mem::take(&mut crew.empties);
        let shared = CollectorContext { clock, batches, empties, pace: &pace, halt };
        let mut collector = Collector::new(plan, pace.is_open());
        let collector_cpu = watch(&mut collector, &shared, observer);
        let mut ended = Vec::with_capacity(plan.drivers);
        for thread in crew.threads {
            ended.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let runs = ended.into_iter().collect::<Result<Vec<DriverReport>, _>>()?;
        Ok(DriveOutcome { collector_cpu, ..gather(&collector, &runs, &pace, halt) })
    })
}

/// Collects until all drivers are gone, and tells the observer.
fn watch<E>(
    collector: &mut Collector,
    shared: &CollectorContext<'_>,
    observer: &mut dyn Observer<E>,
) -> Duration {
    let observer = RefCell::new(observer);
    let mut progress = |progress: &DriveProgress| observer.borrow_mut().progress(progress);
    let mut overdue = |so_far: &Collector| {
        observer.borrow_mut().overdue(&gather(so_far, &[], shared.pace, shared.halt));
    };
    collector.collect(shared, &mut progress, &mut overdue)
}

fn check(plan: &DrivePlan) {
    let DrivePlan { clients, drivers, kinds, warm_up, duration, cap, pace, .. } = plan;
    assert!(*drivers > 0 && (1..=MOST_KINDS).contains(kinds), "an empty plan");
    assert!(warm_up < duration && duration <= cap, "a window without length");
    assert!(drivers <= clients, "{drivers} drivers of {clients} clients");
    if let Pace::Open { per_second, .. } = pace {
        assert!(per_second.is_finite() && *per_second > 0.0, "a rate of {per_second}");
    }
}

/// What a driver's thread ends in; `None` when it was never started.
type DriverEnd<E> = Option<Result<DriverReport, DriveError<E>>>;

/// What comes of making a driver: the lanes that it is seen by.
type DriverLanes<E> = Result<Arc<Lanes>, DriveError<E>>;

/// The drivers, seen from the thread that started them.
struct Crew<'scope, E> {
    threads: Vec<ScopedJoinHandle<'scope, DriverEnd<E>>>,
    /// Tells each when time starts. Where these are dropped unused, the drivers end.
    starts: Vec<SyncSender<Instant>>,
    /// Brings each its batches back.
    empties: Vec<SyncSender<Vec<OperationSample>>>,
}

impl<E> Crew<'_, E> {
    /// Starts all, if all have connected, a little in the future: the last to be woken should
    /// be awake by then.
    fn start(&mut self, connected: usize) -> DriverClock {
        let drivers = self.starts.len() as u32;
        let lead = Duration::from_millis(1) + Duration::from_micros(20) * drivers;
        let clock = DriverClock(Instant::now() + lead);
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
struct DriverSetup<'a, E> {
    share: ClientShare,
    kinds: usize,
    /// When the window ends at the earliest.
    until: ClockNanos,
    halt: &'a Halt<'a>,
    ready: Sender<DriverLanes<E>>,
    start: Receiver<Instant>,
    channel: Channel,
}

/// What a driver brings home.
struct DriverReport {
    driven: DriverRun,
    tallies: Vec<ErrorTally>,
}

impl<'a, E> DriverSetup<'a, E> {
    fn new(
        plan: &DrivePlan,
        share: ClientShare,
        full: &SyncSender<Batch>,
        ready: &Sender<DriverLanes<E>>,
        halt: &'a Halt<'a>,
    ) -> (Self, SyncSender<Instant>, SyncSender<Vec<OperationSample>>) {
        let (start, started) = sync_channel(1);
        let (empty, empties) = sync_channel(BATCHES);
        for _ in 1..BATCHES {
            empty.send(new_samples()).expect("the other end is in the same function");
        }
        let member = Self {
            channel: Channel { driver: share.driver, full: full.clone(), empty: empties },
            share,
            kinds: plan.kinds,
            until: nanoseconds(plan.duration),
            halt,
            ready: ready.clone(),
            start: started,
        };
        (member, start, empty)
    }

    /// A driver's life: connect, wait for the others, run.
    fn live<'d>(
        self,
        connect: impl Fn(&ClientShare) -> Result<Box<dyn Driver + 'd>, E>,
        pace: &StartedPace,
    ) -> DriverEnd<E> {
        let Self { share, kinds, until, halt, ready, start, channel } = self;
        let client = share.clients.start;
        let (driver, answer) = match connect(&share) {
            Ok(driver) => {
                let lanes = Arc::new(Lanes::new(driver.lanes()));
                (Some((driver, lanes.clone())), Ok(lanes))
            }
            Err(cause) => (None, Err(DriveError::Connect { client, cause })),
        };
        // Nobody listens any more after another's failure.
        let _ = ready.send(answer);
        drop(ready);
        let ((mut driver, lanes), start) = (driver?, start.recv().ok()?);
        if pace.is_open() {
            // To wake as soon as an operation is due. Where this is forbidden, the delays show it.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        thread::sleep(start.saturating_duration_since(Instant::now()));
        let clock = DriverClock(start);
        let mut recorder = Recorder::new(clock, lanes, (until, kinds), halt, channel);
        let delay = cpu::thread_run_delay();
        let (cpu, started) = (cpu::thread_cpu(), clock.now());
        driver.run(&mut *pace.pacer(clock, halt), &mut recorder);
        recorder.finish();
        let driven = DriverRun {
            started_s: seconds(started),
            stopped_s: seconds(recorder.last.max(started)),
            cpu: cpu::thread_cpu() - cpu,
            run_delay: cpu::thread_run_delay().zip(delay).map(|(now, then)| now - then),
            handing_over_s: seconds(recorder.handing_over),
        };
        let Recorder { tallies, gave_up, .. } = recorder;
        Some(match gave_up {
            Some((kind, text)) => Err(DriveError::GaveUp { client, kind, text }),
            None => Ok(DriverReport { driven, tallies }),
        })
    }
}

/// Puts together what the collector and the drivers that have come home know.
fn gather(
    collector: &Collector,
    runs: &[DriverReport],
    pace: &StartedPace,
    halt: &Halt<'_>,
) -> DriveOutcome {
    let Collector { window, kept, .. } = collector;
    let last = runs.iter().map(|run| run.driven.stopped_s).reduce(f64::max);
    let ran = last.map_or(window.cap, |last| nanoseconds(Duration::from_secs_f64(last)));
    let end = window.end.unwrap_or(ran);
    let kind = |(number, cell): (usize, &CountedOperations)| {
        let tallies = runs.iter().map(|run| &run.tallies[number]);
        let first = tallies.clone().filter_map(|tally| tally.first_error.as_ref()).min();
        KindOutcome {
            kept: cell.latency.clone(),
            service: cell.service.clone(),
            unfinished: cell.unfinished,
            ended: collector.ended[number],
            work_in_all: collector.in_all[number],
            slots: collector.slots(number, ran),
            errors: tallies.clone().map(|tally| tally.errors).sum(),
            errors_time: Duration::from_nanos(tallies.clone().map(|it| it.errors_time).sum()),
            retries: tallies.map(|tally| tally.retries).sum(),
            first_error: first.map(|(_, text)| text.clone()),
        }
    };
    DriveOutcome {
        ran: Duration::from_nanos(ran),
        stopped: halt.was_asked() && end < window.until,
        window_s: (seconds(window.from), seconds(end)),
        kinds: kept.iter().enumerate().map(kind).collect(),
        in_flight: collector.in_flight,
        drivers: runs.iter().map(|run| run.driven).collect(),
        open: pace.outcome(collector.start_delay.clone()),
        collector_cpu: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
