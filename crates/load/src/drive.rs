//! Drives clients: connects them all, starts them together, and brings home what they recorded.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::collector::{Collector, Progress};
use crate::outcome::{ClientRun, Operation, Outcome};
use crate::recorder::{BATCHES, Batch, Clock, Gone, Recorder, Sample, nanoseconds, new_samples};
use crate::slot::{seconds, window};
use crate::{Client, Pacer, Plan, cpu};

/// How many failures in a row make a client give up.
pub const MOST_FAILURES: u32 = 10;

/// Why a drive came to nothing; `E` is what connecting a client may end in.
#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    /// A client did not connect, so that none was started.
    #[error("client {client} could not connect: {cause}")]
    Connect {
        /// Its number.
        client: usize,
        /// What connecting it said.
        cause: E,
    },
    /// A client's operations failed [`MOST_FAILURES`] times in a row.
    #[error(
        "client {client} gave up after {MOST_FAILURES} failures in a row; the last, of operation \
         {operation}: {text}"
    )]
    GaveUp {
        /// Its number.
        client: usize,
        /// The number of the operation that failed last.
        operation: usize,
        /// What that failure said.
        text: String,
    },
    /// The system would start no more threads.
    #[error("no thread for client {client} of {clients}: {cause}; take fewer clients")]
    Thread {
        /// The client that got none.
        client: usize,
        /// How many were wanted.
        clients: usize,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Runs the plan's clients in a closed loop, each on a thread of its own, and records how long
/// every operation took. `connect` makes client number n on its own thread; when all are there,
/// they start together.
///
/// An operation belongs to the slot in which it ends. A client stops after the first operation
/// that ends at or after the plan's duration; that one is only counted as in flight. Operations
/// that fail are counted and have no latency: an error is often quick, and would flatter.
/// `stop` ends the drive early, when the operations under way are over; `observe` is called
/// about five times a second on the calling thread, which also collects the samples: it should
/// return soon.
///
/// # Errors
/// A client that does not connect, one that gives up, a thread that does not start.
///
/// # Panics
/// When the plan has no client, no operation, no duration or a trim that leaves no window; when a
/// client says that it ran an operation that the plan does not have; when a client panics.
pub fn drive<C: Client, E: Send>(
    plan: &Plan,
    connect: impl Fn(usize) -> Result<C, E> + Sync,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Outcome, DriveError<E>> {
    assert!(plan.clients > 0 && plan.operations > 0 && !plan.duration.is_zero(), "an empty plan");
    assert!((0.0..0.5).contains(&plan.trim), "a trim of {} leaves no window", plan.trim);
    let halt = Halt { asked: stop, failed: AtomicBool::new(false) };
    thread::scope(|scope| {
        let (full, batches) = sync_channel(plan.clients * BATCHES);
        let (ready, answers) = channel();
        let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), empties: Vec::new() };
        for number in 0..plan.clients {
            let (member, start, empty) = Member::new(plan, number, &full, &ready, &halt);
            let connect = &connect;
            let thread = thread::Builder::new()
                .name(format!("client-{number}"))
                .spawn_scoped(scope, move || member.live(connect))
                .map_err(|cause| DriveError::Thread {
                    client: number,
                    clients: plan.clients,
                    cause,
                })?;
            crew.threads.push(thread);
            crew.starts.push(start);
            crew.empties.push(empty);
        }
        drop((full, ready));
        let connected = answers.iter().collect::<Result<Vec<()>, _>>()?.len();
        let clock = crew.start(connected);
        let mut collector = Collector::new(plan);
        let collector_cpu = collector.collect(clock, &batches, &crew.empties, observe);
        let mut ended = Vec::with_capacity(plan.clients);
        for thread in crew.threads {
            ended.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let runs = ended.into_iter().collect::<Result<Vec<Run>, _>>()?;
        Ok(gather(plan, collector, collector_cpu, runs))
    })
}

/// Why clients stop before the end.
struct Halt<'a> {
    asked: &'a AtomicBool,
    failed: AtomicBool,
}

impl Halt<'_> {
    fn is_on(&self) -> bool {
        self.asked.load(Relaxed) || self.failed.load(Relaxed)
    }
}

/// What a client's thread ends in; `None` when it was never started.
type Ended<E> = Option<Result<Run, DriveError<E>>>;

/// The clients, seen from the thread that drives them.
struct Crew<'scope, E> {
    threads: Vec<ScopedJoinHandle<'scope, Ended<E>>>,
    /// Tells each when time starts. Where these are dropped unused, the clients go home.
    starts: Vec<SyncSender<Instant>>,
    /// Brings each its batches back.
    empties: Vec<SyncSender<Vec<Sample>>>,
}

impl<E> Crew<'_, E> {
    /// Starts all, if all have connected, a little in the future: the last to be woken should
    /// be awake by then.
    fn start(&mut self, connected: usize) -> Clock {
        let clients = self.starts.len() as u32;
        let lead = Duration::from_millis(1) + Duration::from_micros(20) * clients;
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

/// What a client has on its own thread before it is connected.
struct Member<'a, E> {
    number: usize,
    operations: usize,
    end: u64,
    halt: &'a Halt<'a>,
    ready: Sender<Result<(), DriveError<E>>>,
    start: Receiver<Instant>,
    recorder: Recorder,
}

/// What an operation came to at one client.
#[derive(Clone, Default)]
struct Tally {
    errors: u64,
    retries: u64,
    /// When the first failure was, and what it said.
    first_error: Option<(u64, String)>,
}

/// What a client brings home.
struct Run {
    client: ClientRun,
    tallies: Vec<Tally>,
    in_flight: bool,
}

impl<'a, E> Member<'a, E> {
    fn new(
        plan: &Plan,
        number: usize,
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
            number,
            operations: plan.operations,
            end: nanoseconds(plan.duration),
            halt,
            ready: ready.clone(),
            start: started,
            recorder: Recorder::new(number, full.clone(), empties),
        };
        (member, start, empty)
    }

    /// A client's life: connect, wait for the others, run.
    fn live<C: Client>(self, connect: impl Fn(usize) -> Result<C, E>) -> Ended<E> {
        let Self { number, operations, end, halt, ready, start, recorder } = self;
        let connected = connect(number);
        let (client, answer) = match connected {
            Ok(client) => (Some(client), Ok(())),
            Err(cause) => (None, Err(DriveError::Connect { client: number, cause })),
        };
        // Nobody listens any more after another's failure.
        let _ = ready.send(answer);
        drop(ready);
        let (mut client, start) = (client?, start.recv().ok()?);
        thread::sleep(start.saturating_duration_since(Instant::now()));
        let looped =
            Loop { clock: Clock(start), end, halt, tallies: vec![Tally::default(); operations] };
        Some(looped.run(&mut client, Pacer::ClosedLoop, recorder).map_err(|failure| {
            halt.failed.store(true, Relaxed);
            let (operation, text) = failure;
            DriveError::GaveUp { client: number, operation, text }
        }))
    }
}

/// A client at work.
struct Loop<'a> {
    clock: Clock,
    end: u64,
    halt: &'a Halt<'a>,
    tallies: Vec<Tally>,
}

impl Loop<'_> {
    /// Operates until the end, and reads the clock once an operation; what failed and its text,
    /// when the client gives up.
    fn run(
        mut self,
        client: &mut impl Client,
        mut pacer: Pacer,
        mut recorder: Recorder,
    ) -> Result<Run, (usize, String)> {
        let cpu = cpu::thread_cpu();
        let mut now = self.clock.now();
        let (started, mut handing_over, mut failures, mut in_flight) = (now, 0, 0, false);
        while !self.halt.is_on() {
            let start = pacer.wait(now);
            let done = client.operate();
            now = self.clock.now();
            if now >= self.end {
                in_flight = true;
                break;
            }
            let tally = &mut self.tallies[done.operation];
            tally.retries += done.retries;
            if let Some(text) = done.error {
                failures += 1;
                if failures == MOST_FAILURES {
                    return Err((done.operation, text));
                }
                tally.errors += 1;
                tally.first_error.get_or_insert((now, text));
                continue;
            }
            failures = 0;
            let sample = Sample { operation: done.operation, ended: now, latency: now - start };
            match recorder.record(sample) {
                Ok(false) => {}
                Ok(true) => {
                    now = self.clock.now();
                    handing_over += now - sample.ended;
                }
                Err(Gone) => break,
            }
        }
        // Without a collector the drive is lost anyway, and says why.
        let _ = recorder.finish();
        let client = ClientRun {
            started_s: seconds(started),
            stopped_s: seconds(now),
            cpu: cpu::thread_cpu() - cpu,
            handing_over_s: seconds(handing_over),
        };
        Ok(Run { client, tallies: self.tallies, in_flight })
    }
}

/// Puts together what the collector and the clients know.
fn gather(plan: &Plan, collector: Collector, collector_cpu: Duration, runs: Vec<Run>) -> Outcome {
    let last = runs.iter().map(|run| run.client.stopped_s).fold(0.0, f64::max);
    let in_flight = runs.iter().filter(|run| run.in_flight).count();
    // A client that was not in flight at the end was stopped before it.
    let stopped = in_flight < runs.len();
    let ran = plan.duration.min(Duration::from_secs_f64(last));
    let (from, to) = window(plan);
    let slots = collector.finish(nanoseconds(ran));
    let mut operations: Vec<Operation> =
        slots.into_iter().map(|slots| Operation { slots, ..Operation::default() }).collect();
    for (number, operation) in operations.iter_mut().enumerate() {
        let tallies = runs.iter().map(|run| &run.tallies[number]);
        operation.errors = tallies.clone().map(|tally| tally.errors).sum();
        operation.retries = tallies.clone().map(|tally| tally.retries).sum();
        let first = tallies.filter_map(|tally| tally.first_error.as_ref()).min();
        operation.first_error = first.map(|(_, text)| text.clone());
    }
    Outcome {
        ran,
        stopped,
        window_s: (seconds(from), seconds(to)),
        operations,
        clients: runs.into_iter().map(|run| run.client).collect(),
        in_flight,
        collector_cpu,
    }
}
