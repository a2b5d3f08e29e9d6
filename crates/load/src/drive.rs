use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::batch_policy::schedule_as_batch;
use crate::clock::{to_nanoseconds, to_seconds};
use crate::collector::{Collector, CollectorContext, CountedOperations, DriveProgress};
use crate::cpu::ThreadScheduling;
use crate::halt::{MOST_FAILURES, StopSignal};
use crate::lanes::{Lanes, MOST_KINDS};
use crate::outcome::{DriveOutcome, DriverRun, KindOutcome};
use crate::plan::DrivePlan;
use crate::recorder::{BATCHES, Batch, Channel, ErrorTally, OperationSample, Recorder, batch_size};
use crate::schedule::StartedPace;
use crate::{ClientShare, ClockNanos, Driver, DriverClock, Pace, cpu};

#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    #[error("client {client} could not connect: {cause}")]
    Connect { client: usize, cause: E },
    #[error(
        "client {client} gave up after {MOST_FAILURES} failures in a row; the last, of operation \
         {kind}: {text}"
    )]
    GaveUp { client: usize, kind: usize, text: String },
    #[error("{0}")]
    Refused(E),
    #[error("no thread for client {client} of {clients}: {cause}; take fewer clients")]
    Thread { client: usize, clients: usize, cause: std::io::Error },
}

/// How the names of the drivers' threads begin.
pub const CLIENT_THREADS: &str = "client-";

/// Watches the drivers on the calling thread.
pub trait Observer<E> {
    /// Drivers start when this returns.
    fn start_ready(&mut self) -> Result<(), E> {
        Ok(())
    }

    /// About five times a second; it should return soon.
    fn show_progress(&mut self, progress: &DriveProgress) {
        let _ = progress;
    }

    /// Drivers are later than [`DrivePlan::patience`] after the cap; this much is known without
    /// them. The drive waits for them when this returns.
    fn report_overdue(&mut self, so_far: &DriveOutcome) {
        let _ = so_far;
    }
}

impl<E, F: FnMut(&DriveProgress)> Observer<E> for F {
    fn show_progress(&mut self, progress: &DriveProgress) {
        self(progress);
    }
}

/// Runs the plan's drivers, each on a thread of its own, and records every operation. `connect`
/// makes a driver on its own thread; when all are there and the observer is ready, they start
/// together.
///
/// Operations that were to start in the window count, each followed to its end. The window ends
/// with the plan's duration; earlier when [`DrivePlan::enough`] operations of each kind have ended;
/// later if fewer than [`DrivePlan::least`] have; at the cap at the latest, when the rest is cut
/// off. In an open loop that falls behind, what has not started by then is counted and never
/// started.
///
/// Failed operations have no latency, since errors are often quick. `stop` ends the drive after the
/// operations in flight.
pub fn drive<'d, E: Send>(
    plan: &DrivePlan,
    connect: impl Fn(&ClientShare) -> Result<Box<dyn Driver + 'd>, E> + Sync,
    stop: &AtomicBool,
    observer: &mut dyn Observer<E>,
) -> Result<DriveOutcome, DriveError<E>> {
    check_plan(plan);
    let halt = &StopSignal::new(stop);
    let pace = plan.pace.begin(plan.drivers);
    thread::scope(|scope| {
        let (full, batches) = sync_channel(plan.drivers * BATCHES);
        let (made, answers) = channel();
        let mut crew =
            DriverThreads { threads: Vec::new(), starts: Vec::new(), empties: Vec::new() };
        for share in ClientShare::share_out(plan.clients, plan.drivers, plan.seed) {
            let client = share.clients.start;
            let (member, start, empty) = DriverSetup::new(plan, share, &full, &made, halt);
            let (connect, pace) = (&connect, &pace);
            let thread = thread::Builder::new()
                .name(format!("{CLIENT_THREADS}{client}"))
                .spawn_scoped(scope, move || member.run_driver(connect, pace))
                .map_err(|cause| DriveError::Thread { client, clients: plan.clients, cause })?;
            crew.threads.push(thread);
            crew.starts.push(start);
            crew.empties.push(empty);
        }
        drop((full, made));
        let lanes = answers.iter().collect::<Result<Vec<_>, _>>()?;
        observer.start_ready().map_err(DriveError::Refused)?;
        let connected = lanes.len();
        halt.watch_lanes(lanes);
        let clock = crew.start(connected);
        let empties = std::mem::take(&mut crew.empties);
        let shared = CollectorContext { clock, batches, empties, pace: &pace, halt };
        let mut collector = Collector::new(plan, pace.is_open());
        let collector_cpu = watch_drivers(&mut collector, &shared, observer);
        let mut ended = Vec::with_capacity(plan.drivers);
        for thread in crew.threads {
            ended.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let runs = ended.into_iter().collect::<Result<Vec<DriverReport>, _>>()?;
        Ok(DriveOutcome { collector_cpu, ..gather_outcome(&collector, &runs, &pace, halt) })
    })
}

fn watch_drivers<E>(
    collector: &mut Collector,
    shared: &CollectorContext<'_>,
    observer: &mut dyn Observer<E>,
) -> Duration {
    let observer = RefCell::new(observer);
    let mut progress = |progress: &DriveProgress| observer.borrow_mut().show_progress(progress);
    let mut overdue = |so_far: &Collector| {
        observer.borrow_mut().report_overdue(&gather_outcome(
            so_far,
            &[],
            shared.pace,
            shared.halt,
        ));
    };
    collector.collect(shared, &mut progress, &mut overdue)
}

fn check_plan(plan: &DrivePlan) {
    let DrivePlan { clients, drivers, kinds, warm_up, duration, cap, pace, .. } = plan;
    assert!(*drivers > 0 && (1..=MOST_KINDS).contains(kinds), "an empty plan");
    assert!(warm_up < duration && duration <= cap, "a window without length");
    assert!(drivers <= clients, "{drivers} drivers of {clients} clients");
    if let Pace::Open { per_second, .. } = pace {
        assert!(per_second.is_finite() && *per_second > 0.0, "a rate of {per_second}");
    }
}

type DriverEnd<E> = Option<Result<DriverReport, DriveError<E>>>;

type DriverLanes<E> = Result<Arc<Lanes>, DriveError<E>>;

struct DriverThreads<'scope, E> {
    threads: Vec<ScopedJoinHandle<'scope, DriverEnd<E>>>,
    /// If dropped unused, the drivers end.
    starts: Vec<SyncSender<DriverClock>>,
    empties: Vec<SyncSender<Vec<OperationSample>>>,
}

impl<E> DriverThreads<'_, E> {
    /// Starts a little in the future, so that the last thread is awake by then.
    fn start(&mut self, connected: usize) -> DriverClock {
        let drivers = self.starts.len() as u32;
        let lead = Duration::from_millis(1) + Duration::from_micros(20) * drivers;
        let clock = DriverClock::start_after(lead);
        let starts = std::mem::take(&mut self.starts);
        // A driver missing without an error has panicked; joining it tells.
        if connected == starts.len() {
            for start in starts {
                let _ = start.send(clock);
            }
        }
        clock
    }
}

struct DriverSetup<'a, E> {
    share: ClientShare,
    kinds: usize,
    until: ClockNanos,
    halt: &'a StopSignal<'a>,
    ready: Sender<DriverLanes<E>>,
    start: Receiver<DriverClock>,
    channel: Channel,
}

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
        halt: &'a StopSignal<'a>,
    ) -> (Self, SyncSender<DriverClock>, SyncSender<Vec<OperationSample>>) {
        let (start, started) = sync_channel(1);
        let (empty, empties) = sync_channel(BATCHES);
        let size = batch_size(plan.drivers);
        for _ in 1..BATCHES {
            empty.send(Vec::with_capacity(size)).expect("the other end is in the same function");
        }
        let member = Self {
            channel: Channel { driver: share.driver, size, full: full.clone(), empty: empties },
            share,
            kinds: plan.kinds,
            until: to_nanoseconds(plan.duration),
            halt,
            ready: ready.clone(),
            start: started,
        };
        (member, start, empty)
    }

    /// A driver's life: connect, wait for the others, run.
    fn run_driver<'d>(
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
        // After another driver's failure the receiver is gone.
        let _ = ready.send(answer);
        drop(ready);
        let ((mut driver, lanes), clock) = (driver?, start.recv().ok()?);
        if pace.is_open() {
            // Wake as soon as an operation is due. If this is forbidden, the delays show it.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        // Only for this thread, which ends with the drive.
        let in_batches = driver.is_event_driven() && !pace.is_open();
        let batch_refused = in_batches && schedule_as_batch().is_err();
        clock.sleep_until_start();
        let mut recorder = Recorder::new(clock, lanes, (until, kinds), halt, channel);
        let before = ThreadScheduling::of_this_thread();
        let (cpu, started) = (cpu::thread_cpu(), clock.now());
        driver.run(&mut *pace.make_pacer(clock, halt), &mut recorder);
        recorder.finish();
        let driven = DriverRun {
            started_s: to_seconds(started),
            stopped_s: to_seconds(recorder.last.max(started)),
            cpu: cpu::thread_cpu() - cpu,
            scheduling: ThreadScheduling::of_this_thread()
                .zip(before)
                .map(|(now, then)| now.since(then)),
            handing_over_s: to_seconds(recorder.handing_over),
            batch_refused,
        };
        let Recorder { tallies, gave_up, .. } = recorder;
        Some(match gave_up {
            Some((kind, text)) => Err(DriveError::GaveUp { client, kind, text }),
            None => Ok(DriverReport { driven, tallies }),
        })
    }
}

/// Combines the collector and the drivers that have come home.
fn gather_outcome(
    collector: &Collector,
    runs: &[DriverReport],
    pace: &StartedPace,
    halt: &StopSignal<'_>,
) -> DriveOutcome {
    let Collector { window, kept, .. } = collector;
    let last = runs.iter().map(|run| run.driven.stopped_s).reduce(f64::max);
    let ran = last.map_or(window.cap, |last| to_nanoseconds(Duration::from_secs_f64(last)));
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
            slots: collector.list_slots(number, ran),
            errors: tallies.clone().map(|tally| tally.errors).sum(),
            errors_time: Duration::from_nanos(tallies.clone().map(|it| it.errors_time).sum()),
            retries: tallies.map(|tally| tally.retries).sum(),
            first_error: first.map(|(_, text)| text.clone()),
        }
    };
    DriveOutcome {
        ran: Duration::from_nanos(ran),
        stopped: halt.was_asked() && end < window.until,
        window_s: (to_seconds(window.from), to_seconds(end)),
        kinds: kept.iter().enumerate().map(kind).collect(),
        in_flight: collector.in_flight,
        drivers: runs.iter().map(|run| run.driven).collect(),
        open: pace.outcome(collector.start_delay.clone()),
        collector_cpu: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
