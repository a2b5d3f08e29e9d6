//! Drives clients on threads of their own, and holds what was recorded against what they did: nothing
//! is lost, and nothing is shorter than it was. What counts and when a drive ends is tested in virtual
//! time, beside the code.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use bakeoff_load::{
    ARRIVALS, ArrivalProcess, ArrivalRandom, Blocking, BlockingClient, ClientShare, DriveError,
    DriveOutcome, DrivePlan, DriveProgress, Driver, Interleaved, KindOutcome, MOST_FAILURES,
    Observer, OperationOutcome, Pace, drive,
};
use bakeoff_testkit::{Since, in_time, wait_until};

/// What no test waits for: a drive that does not end early hangs.
const HOUR: u64 = 3_600_000;

/// A client that is a closure, given the kind of operation; it takes the kinds from `next` to
/// `kinds` in turn.
struct By<F> {
    next: usize,
    kinds: usize,
    operate: F,
}

impl<F: FnMut(usize) -> OperationOutcome> BlockingClient for By<F> {
    fn choose_operation(&mut self) -> usize {
        let kind = self.next % self.kinds;
        self.next += 1;
        kind
    }

    fn run_operation(&mut self, kind: usize) -> OperationOutcome {
        (self.operate)(kind)
    }
}

/// No cap ends it: a machine that is busy for seconds would.
fn plan(clients: usize, kinds: usize, milliseconds: u64) -> DrivePlan {
    let (whole, cap) = (Duration::from_millis(milliseconds), Duration::from_millis(HOUR));
    DrivePlan { warm_up: whole / 10, cap, ..DrivePlan::closed_loop(clients, kinds, whole) }
}

fn ok() -> OperationOutcome {
    OperationOutcome::default()
}

fn millisecond() {
    sleep(Duration::from_millis(1));
}

/// A client with a thread of its own and one kind of operation.
fn alone<'d>(mut operate: impl FnMut() -> OperationOutcome + 'd) -> Box<dyn Driver + 'd> {
    Box::new(Blocking(By { next: 0, kinds: 1, operate: move |_| operate() }))
}

fn quietly(_: &DriveProgress) {}

/// Drives to the end clients that connect; each takes the kinds in turn, from its own number on.
fn run<'d, F: FnMut(usize) -> OperationOutcome + 'd>(
    plan: &DrivePlan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<DriveOutcome, DriveError<Infallible>> {
    let connect = |share: &ClientShare| {
        let next = share.clients.start;
        let client = By { next, kinds: plan.kinds, operate: client(next) };
        Ok(Box::new(Blocking(client)) as Box<dyn Driver>)
    };
    drive(plan, connect, &AtomicBool::new(false), &mut quietly)
}

fn count(kind: &KindOutcome) -> u64 {
    kind.count_succeeded()
}

fn near(figure: f64, wanted: f64) -> bool {
    (figure - wanted).abs() < 1e-9
}

/// Clients that do nothing, and two that sleep.
#[test]
fn nothing_is_lost_and_nothing_is_shorter_than_it_was() {
    let done = AtomicU64::new(0);
    let outcome = run(&DrivePlan { least: 1, ..plan(3, 5, 400) }, |_| {
        // An Rc can't be sent: this compiles because clients stay on their threads.
        let (counted, done) = (Rc::new(()), &done);
        move |_| {
            done.fetch_add(Rc::strong_count(&counted) as u64, Relaxed);
            ok()
        }
    });
    let outcome = outcome.unwrap();
    let counts: Vec<u64> = outcome.kinds.iter().map(count).collect();
    assert_eq!(counts.iter().sum::<u64>(), done.load(Relaxed));
    // Each of the clients has had each kind as often as any other, or once more.
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 3, "{counts:?}");
    assert!(outcome.collector_cpu > Duration::ZERO);

    let outcome = run(&DrivePlan { least: 5, ..plan(1, 2, 1200) }, |_| {
        |kind| {
            sleep(Duration::from_millis(if kind == 0 { 5 } else { 20 }));
            ok()
        }
    });
    let outcome = outcome.unwrap();
    let (ran, mut busy) = (outcome.ran.as_secs_f64(), 0.0);
    for (kind, milliseconds) in outcome.kinds.iter().zip([5.0, 20.0]) {
        // A histogram of 3 digits rounds down by at most a thousandth.
        let all = kind.merge_latencies();
        assert!(all.min() as f64 / 1e6 >= milliseconds * 0.999, "{all:?} for {milliseconds}");
        busy += all.mean() * all.len() as f64 / 1e9;
        assert!(ran >= 1.2 && kind.slots.len() as f64 >= ran, "{} slots", kind.slots.len());
        for (number, slot) in kind.slots.iter().enumerate() {
            let (start_s, end_s) = (number as f64, ran.min(number as f64 + 1.0).max(number as f64));
            assert!(near(slot.start_s, start_s) && near(slot.end_s, end_s), "{slot:?}");
        }
    }
    assert!(busy <= ran * 1.001, "one client is never in two operations: {busy} of {ran}");
    let client = outcome.drivers[0];
    assert!(client.started_s >= 0.0 && client.stopped_s >= 1.2, "{client:?}");
    let there = client.stopped_s - client.started_s;
    assert!(client.cpu.as_secs_f64() < there / 2.0, "sleeping needs no processor: {client:?}");
    assert!(!outcome.stopped && outcome.in_flight <= 1 && outcome.open.is_none());
}

/// Told of a client that hangs, it lets it go.
struct Watch<'a> {
    told: Option<DriveOutcome>,
    release: &'a AtomicBool,
    later: &'a AtomicU64,
}

impl Observer<Infallible> for Watch<'_> {
    /// It is asked before the window's end is looked at: what was done in the window is on its way
    /// here by then.
    fn show_progress(&mut self, _: &DriveProgress) {
        wait_until("work after the window", || self.later.load(Relaxed) >= 3);
    }

    fn report_overdue(&mut self, so_far: &DriveOutcome) {
        assert!(self.told.is_none(), "told once");
        self.told = Some(so_far.clone());
        self.release.store(true, Relaxed);
    }
}

/// A client that hangs for good: what is known is told without it.
#[test]
fn a_client_that_never_ends_is_told_of() {
    const CAP: Duration = Duration::from_secs(3);
    // On a busy machine the cap may come before the client that hangs.
    let (outcome, told) = in_time("the one that hangs", |_| {
        let [release, is_hanging, was_late] = [false; 3].map(AtomicBool::new);
        let later = AtomicU64::new(0);
        let plan = DrivePlan { cap: CAP, ..plan(2, 2, 200) };
        let plan = DrivePlan { patience: Duration::from_millis(200), least: 1, ..plan };
        let since = Since::now();
        let connect = |share: &ClientShare| {
            let (next, release) = (share.clients.start, &release);
            let (is_hanging, was_late, later) = (&is_hanging, &was_late, &later);
            let operate = move |_| {
                if next == 0 {
                    // So that the other one is there for all that counts.
                    wait_until("the one that hangs", || is_hanging.load(Relaxed));
                    let is_later = since.at_least(Duration::from_millis(400));
                    later.fetch_add(u64::from(is_later), Relaxed);
                }
                sleep(Duration::from_millis(5));
                if next == 1 {
                    if !is_hanging.swap(true, Relaxed) {
                        was_late.store(since.at_least(CAP), Relaxed);
                    }
                    wait_until("the drive's word", || release.load(Relaxed));
                }
                ok()
            };
            // The second one takes the second kind first.
            Ok(Box::new(Blocking(By { next, kinds: 2, operate })) as Box<dyn Driver>)
        };
        let mut watch = Watch { told: None, release: &release, later: &later };
        let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut watch).unwrap();
        (!was_late.load(Relaxed)).then_some((outcome, watch.told))
    });
    let told = told.expect("it was told");
    let unfinished = |outcome: &DriveOutcome| [0, 1].map(|kind| outcome.kinds[kind].unfinished);
    assert_eq!(unfinished(&told), [0, 1]);
    assert!(!told.kinds[0].kept.is_empty(), "all else is there");
    assert_eq!(unfinished(&outcome), [0, 1], "what ends after the cap ends too late");
    assert_eq!(outcome.kinds[1].kept.max(), told.kinds[1].kept.max());
}

#[test]
fn a_client_that_only_fails_ends_the_drive() {
    let tried = AtomicU64::new(0);
    let error = run(&plan(3, 1, HOUR), |number| {
        let tried = &tried;
        move |_| {
            millisecond();
            tried.fetch_add(u64::from(number == 1), Relaxed);
            let error = (number == 1).then(|| "the disk is full".to_owned());
            OperationOutcome { error, ..ok() }
        }
    })
    .unwrap_err();
    assert_eq!(tried.load(Relaxed), u64::from(MOST_FAILURES));
    assert!(matches!(&error, DriveError::GaveUp { client: 1, kind: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

/// Refuses to start what is ready.
struct Refuse<'a>(&'a AtomicU64);

impl Observer<&'static str> for Refuse<'_> {
    fn start_ready(&mut self) -> Result<(), &'static str> {
        sleep(Duration::from_millis(50));
        assert_eq!(self.0.load(Relaxed), 0);
        Err("not today")
    }
}

#[test]
fn nobody_starts_before_all_are_ready() {
    let (operated, never) = (AtomicU64::new(0), AtomicBool::new(false));
    let client = || {
        alone(|| {
            operated.fetch_add(1, Relaxed);
            ok()
        })
    };
    let connect = |share: &ClientShare| match share.clients.start {
        5 => Err("no such socket"),
        _ => Ok(client()),
    };
    let error = drive(&plan(8, 1, HOUR), connect, &never, &mut quietly).unwrap_err();
    assert!(matches!(error, DriveError::Connect { client: 5, cause: "no such socket" }));
    assert_eq!(error.to_string(), "client 5 could not connect: no such socket");

    let connect = |_: &ClientShare| Ok(client());
    let error = drive(&plan(3, 1, HOUR), connect, &never, &mut Refuse(&operated)).unwrap_err();
    assert!(matches!(error, DriveError::Refused("not today")));
    assert_eq!(operated.load(Relaxed), 0);
}

#[test]
#[should_panic(expected = "a broken client")]
fn a_client_that_panics_while_connecting_hangs_nobody() {
    let connect = |share: &ClientShare| -> Result<Box<dyn Driver>, Infallible> {
        if share.driver == 1 {
            panic!("a broken client");
        }
        Ok(alone(ok))
    };
    let _ = drive(&plan(3, 1, HOUR), connect, &AtomicBool::new(false), &mut quietly);
}

/// It is stopped in an operation: that one is the last of its client. Until then its progress is told.
#[test]
fn stop_ends_it_early_and_keeps_what_there_is() {
    let (stop, done, mut seen) = (AtomicBool::new(false), AtomicU64::new(0), Vec::new());
    let connect = |_: &ClientShare| {
        Ok::<_, Infallible>(alone(|| {
            sleep(Duration::from_millis(4));
            done.fetch_add(1, Relaxed);
            ok()
        }))
    };
    let mut observe = |progress: &DriveProgress| {
        assert!(progress.operations <= done.load(Relaxed), "{progress:?}");
        seen.push(*progress);
        stop.store(seen.len() >= 3 && progress.operations > 0, Relaxed);
    };
    let outcome = drive(&plan(2, 1, HOUR), connect, &stop, &mut observe).unwrap();
    assert!(outcome.stopped && outcome.ran >= Duration::from_millis(600));
    assert_eq!(count(&outcome.kinds[0]), done.load(Relaxed));
    assert!(seen.windows(2).all(|pair| pair[0].elapsed < pair[1].elapsed));
    assert!(seen.windows(2).all(|pair| pair[0].operations <= pair[1].operations));
    assert!(seen.iter().filter_map(|it| it.mean_s).all(|mean| mean >= 0.004), "{seen:?}");

    // The second start is due after a hundred seconds: nobody makes it.
    let stop = AtomicBool::new(false);
    let slow = DrivePlan { pace: even(0.01), ..plan(2, 1, HOUR) };
    let connect = |_: &ClientShare| Ok::<_, Infallible>(alone(ok));
    let mut observe = |_: &DriveProgress| stop.store(true, Relaxed);
    let outcome = drive(&slow, connect, &stop, &mut observe).unwrap();
    assert!(outcome.stopped && count(&outcome.kinds[0]) <= 1);
}

#[test]
fn two_hundred_clients_run_together() {
    let done = AtomicU64::new(0);
    // Each waits for all: one after the other they would get nowhere.
    let together = Barrier::new(200);
    let outcome = run(&DrivePlan { least: 1, ..plan(200, 2, 300) }, |_| {
        let (done, together, mut first) = (&done, &together, true);
        move |_| {
            if std::mem::take(&mut first) {
                together.wait();
            }
            sleep(Duration::from_millis(10));
            done.fetch_add(1, Relaxed);
            ok()
        }
    })
    .unwrap();
    assert_eq!((outcome.drivers.len(), outcome.in_flight.min(200)), (200, outcome.in_flight));
    let counts: Vec<u64> = outcome.kinds.iter().map(count).collect();
    assert_eq!(counts.iter().sum::<u64>(), done.load(Relaxed));
    assert!(counts[0].abs_diff(counts[1]) <= 200, "{counts:?}");
    assert!(outcome.drivers.iter().all(|client| client.started_s >= 0.0));
}

#[test]
fn the_harness_states_a_cost() {
    let cost = bakeoff_load::cost::measure_cost();
    assert!(cost.driver_ns > 1.0 && cost.collector_ns > 0.1, "{cost:?}");
}

fn even(per_second: f64) -> Pace {
    Pace::Open { per_second, arrivals: &ArrivalProcess::EVEN, seed: 1 }
}

/// How many starts are due in a second, by the arrivals themselves.
fn due_in_a_second(pace: Pace) -> u64 {
    let Pace::Open { per_second, arrivals, seed } = pace else { panic!("an open loop") };
    let (mut random, mut gaps) = (ArrivalRandom::new(seed), 0.0);
    let starts = (0..).map(|number| {
        gaps += (arrivals.gap)(number, &mut random);
        gaps / per_second
    });
    starts.take_while(|start| *start < 1.0 - 1e-9).count() as u64
}

/// Every start that was due in a second was made, or is counted as not made: also by one client that is given
/// twice of what it can do. What was made before that was told may count as well: one of each client.
#[test]
fn an_open_loop_starts_what_is_due_and_nothing_early() {
    let at = |arrivals| Pace::Open { per_second: 300.0, arrivals, seed: 5 };
    let cases = ARRIVALS.iter().map(|arrivals| (4, at(arrivals), 1));
    for (clients, pace, milliseconds) in cases.chain([(1, even(200.0), 10)]) {
        let plan = DrivePlan { pace, warm_up: Duration::ZERO, ..plan(clients, 1, 1000) };
        let outcome = run(&plan, |_| {
            move |_| {
                sleep(Duration::from_millis(milliseconds));
                ok()
            }
        });
        let (outcome, due) = (outcome.unwrap(), due_in_a_second(pace));
        let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
        let (kept, left) = (kind.kept.len(), open.not_started);
        assert!(open.due >= due && open.most_waiting >= left, "{} of {due}", open.due);
        assert!(kept <= due && kept + left >= due, "{kept} and {left} of {due}");
        let all = kept == due || left > 3 && kept + left <= due + clients as u64;
        assert!(all, "{kept} and {left} of {due}");
        assert_eq!((outcome.window_s, outcome.stopped), ((0.0, 1.0), false));
        let service = kind.service.as_ref().unwrap();
        let is_whole = service.min() >= milliseconds * 999_000;
        assert!(kept == 0 || is_whole && kind.kept.mean() >= service.mean(), "{service:?}");
        assert_eq!((service.len(), open.start_delay.len()), (kept, kept));
        assert!(near(outcome.rates()[0], kind.ended.operations as f64));
    }
}

#[test]
fn a_thousand_clients_share_a_thread() {
    let turns: Vec<AtomicU64> = (0..1000).map(|_| AtomicU64::new(0)).collect();
    let plan = DrivePlan { drivers: 1, least: 2000, ..plan(1000, 1, 500) };
    let connect = |share: &ClientShare| {
        let client = |number: usize| {
            let turns = &turns[number];
            let operate = move |_| {
                turns.fetch_add(1, Relaxed);
                ok()
            };
            By { next: 0, kinds: 1, operate }
        };
        let clients = share.clients.clone().map(client).collect();
        Ok::<_, Infallible>(Box::new(Interleaved::new(clients)) as Box<dyn Driver>)
    };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    assert_eq!(outcome.drivers.len(), 1);
    let each: Vec<u64> = turns.iter().map(|turns| turns.load(Relaxed)).collect();
    let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 1, "all have their turn: {least} to {most}");
    assert_eq!(each.iter().sum::<u64>(), count(&outcome.kinds[0]));
    // Little's law: of a thousand clients, no more are ever in an operation.
    let all = outcome.kinds[0].merge_latencies();
    let at_once = all.mean() * all.len() as f64 / 1e9 / outcome.ran.as_secs_f64();
    assert!(at_once <= 1010.0, "{at_once}");
}

/// A client that thinks after each operation, and notes whether it had time for that.
struct Thinks<'t> {
    ended: Option<Since>,
    thought: &'t std::sync::Mutex<Vec<bool>>,
}

const THINK: Duration = Duration::from_millis(20);

impl BlockingClient for Thinks<'_> {
    fn choose_operation(&mut self) -> usize {
        0
    }

    fn run_operation(&mut self, _: usize) -> OperationOutcome {
        let thought = self.ended.take().map(|ended| ended.at_least(THINK));
        self.thought.lock().unwrap().extend(thought);
        millisecond();
        self.ended = Some(Since::now());
        ok()
    }

    fn think_time(&mut self, _: usize) -> Duration {
        THINK
    }
}

#[test]
fn a_user_thinks_at_least_as_long_as_it_says_and_never_in_an_operation() {
    let (stop, thought) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let connect = |_: &ClientShare| -> Result<Box<dyn Driver>, Infallible> {
        Ok(Box::new(Blocking(Thinks { ended: None, thought: &thought })))
    };
    let mut observe = |_: &DriveProgress| stop.store(thought.lock().unwrap().len() >= 3, Relaxed);
    drive(&plan(1, 1, HOUR), connect, &stop, &mut observe).unwrap();
    let thought = thought.lock().unwrap();
    assert!(thought.len() >= 3 && thought.iter().all(|thought| *thought), "{thought:?}");
}
