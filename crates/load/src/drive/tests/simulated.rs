//! A drive in virtual time: what its clients do takes as long as they say, and the collector looks
//! when it wants to. All else is what a drive has: recorders, lanes, the pace, the collector.

use crate::{EndedOperation, OperationOutcome, OperationSink, Pacer};

use super::super::*;

/// What a client does next.
pub struct Work {
    pub kind: usize,
    /// How long it takes.
    pub takes: ClockNanos,
    pub done: OperationOutcome,
}

impl Work {
    pub fn of(kind: usize, takes: ClockNanos) -> Self {
        Self { kind, takes, done: OperationOutcome::default() }
    }
}

/// What a drive has come to, and what was seen of it.
pub struct Seen {
    pub outcome: DriveOutcome,
    pub progress: Vec<DriveProgress>,
    /// What was told when drivers were overdue.
    pub overdue: Vec<DriveOutcome>,
    /// The client that gave up, and what its last operation said.
    pub gave_up: Option<(usize, String)>,
    /// How many operations have ended, those that were never recorded among them.
    pub done: u64,
}

/// A client between two moments.
enum Step {
    Free,
    Waiting { intended: ClockNanos },
    Busy(EndedOperation),
    Gone,
}

/// A client that blocks a thread: what [`crate::Blocking`] does, one moment after the other.
struct Actor<'a, F> {
    work: F,
    pacer: Box<dyn Pacer + 'a>,
    recorder: Recorder<'a>,
    step: Step,
    /// When the step ends.
    at: ClockNanos,
    turns: usize,
}

impl<F: FnMut(usize) -> Work> Actor<'_, F> {
    fn advance(&mut self) {
        self.step = match std::mem::replace(&mut self.step, Step::Gone) {
            Step::Free => match self.pacer.next(self.at) {
                None => Step::Gone,
                Some(intended) if intended > self.at => {
                    self.at = intended;
                    Step::Waiting { intended }
                }
                Some(intended) => self.start(intended),
            },
            Step::Waiting { intended } => self.start(intended),
            Step::Busy(operation) => match self.recorder.record(operation) {
                None => Step::Gone,
                Some(free) => {
                    self.at = free;
                    Step::Free
                }
            },
            Step::Gone => Step::Gone,
        };
        if self.is_gone() {
            self.recorder.finish();
        }
    }

    fn start(&mut self, intended: ClockNanos) -> Step {
        self.turns += 1;
        let Work { kind, takes, done } = (self.work)(self.turns);
        self.recorder.begin_operation(0, kind, intended);
        let (started, ended) = (self.at, self.at + takes);
        self.at = ended;
        Step::Busy(EndedOperation { lane: 0, kind, intended, started, ended, done })
    }

    fn is_gone(&self) -> bool {
        matches!(self.step, Step::Gone)
    }
}

/// Drives clients of a plan that has a driver for each. A client is given the number of its turn,
/// from 1.
pub fn simulated<F: FnMut(usize) -> Work>(plan: &DrivePlan, client: impl Fn(usize) -> F) -> Seen {
    simulated_until(plan, client, ClockNanos::MAX)
}

/// The same; somebody asks for its end at the first progress from that moment on.
pub fn simulated_until<F: FnMut(usize) -> Work>(
    plan: &DrivePlan,
    client: impl Fn(usize) -> F,
    asked: ClockNanos,
) -> Seen {
    check_plan(plan);
    let stop = AtomicBool::new(false);
    let (halt, pace, clock) =
        (&StopSignal::new(&stop), plan.pace.begin(plan.drivers), DriverClock::stopped());
    let (full, batches) = sync_channel(plan.drivers * BATCHES);
    let (ready, _) = channel::<DriverLanes<()>>();
    let (mut actors, mut empties, mut all_lanes) = (Vec::new(), Vec::new(), Vec::new());
    for share in ClientShare::share_out(plan.clients, plan.drivers, plan.seed) {
        let work = client(share.clients.start);
        let (member, _, empty) = DriverSetup::new(plan, share, &full, &ready, halt);
        let DriverSetup { kinds, until, channel, .. } = member;
        let lanes = Arc::new(Lanes::new(1));
        let recorder = Recorder::new(clock, lanes.clone(), (until, kinds), halt, channel);
        let (pacer, step) = (pace.make_pacer(clock, halt), Step::Free);
        actors.push(Actor { work, pacer, recorder, step, at: 0, turns: 0 });
        empties.push(empty);
        all_lanes.push(lanes);
    }
    halt.watch_lanes(all_lanes);
    let shared = CollectorContext { clock, batches, empties, pace: &pace, halt };
    let mut collector = Collector::new(plan, pace.is_open());
    let (mut progress, mut overdue) = (Vec::new(), Vec::new());
    let mut observe = |now: &DriveProgress| {
        progress.push(*now);
        if to_nanoseconds(now.elapsed) >= asked {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let mut late = |so_far: &Collector| overdue.push(gather_outcome(so_far, &[], &pace, halt));
    let (mut now, mut next) = (0, 0);
    loop {
        if halt.is_on() {
            // Who waits for a start looks up meanwhile.
            let waiting = actors.iter_mut().filter(|it| matches!(it.step, Step::Waiting { .. }));
            waiting.for_each(|actor| {
                actor.step = Step::Gone;
                actor.recorder.finish();
            });
        }
        let there = actors.iter_mut().filter(|actor| !actor.is_gone());
        let Some(soonest) = there.min_by_key(|actor| actor.at) else { break };
        let mut looks = next < soonest.at;
        now = next.min(soonest.at);
        if !looks {
            soonest.advance();
            while let Ok(batch) = shared.batches.try_recv() {
                collector.take_batch(batch, &shared);
                looks = true;
            }
        }
        if looks {
            next = collector.take_turn(now, &shared, &mut observe, &mut late);
        }
    }
    while let Ok(batch) = shared.batches.try_recv() {
        collector.take_batch(batch, &shared);
    }
    collector.end_window(now, &shared);
    let run = |actor: &Actor<'_, F>| DriverReport {
        driven: DriverRun {
            started_s: 0.0,
            stopped_s: to_seconds(actor.recorder.last),
            cpu: Duration::ZERO,
            scheduling: None,
            handing_over_s: to_seconds(actor.recorder.handing_over),
            batch_refused: false,
        },
        tallies: actor.recorder.tallies.clone(),
    };
    let runs: Vec<DriverReport> = actors.iter().map(run).collect();
    let done = actors.iter().map(|actor| actor.turns as u64).sum();
    let gave_up = actors.iter().enumerate().find_map(|(client, actor)| {
        actor.recorder.gave_up.as_ref().map(|(_, text)| (client, text.clone()))
    });
    let outcome = gather_outcome(&collector, &runs, &pace, halt);
    Seen { outcome, progress, overdue, gave_up, done }
}
