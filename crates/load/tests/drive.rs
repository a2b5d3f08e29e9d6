//! Drives clients on threads of their own, and holds what was recorded against what they did: nothing
//! is lost, and nothing is shorter than it was. What counts and when a drive ends is tested in virtual
//! time, beside the code.

use std::cell::Cell;
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

/// A client that is a closure, given the kind of operation; it takes the kinds from `first` to
/// `kinds` in turn.
struct By<F> {
    next: usize,
    kinds: usize,
    operate: F,
}

fn by<F: FnMut(usize) -> OperationOutcome>(first: usize, kinds: usize, operate: F) -> By<F> {
    By { next: first, kinds, operate }
}

impl<F: FnMut(usize) -> OperationOutcome> BlockingClient for By<F> {
    fn choose(&mut self) -> usize {
        let kind = self.next % self.kinds;
        self.next += 1;
        kind
    }

    fn operate(&mut self, kind: usize) -> OperationOutcome {
        (self.operate)(kind)
    }
}

/// No cap ends it: a machine that is busy for seconds would.
fn plan(clients: usize, kinds: usize, milliseconds: u64) -> DrivePlan {
    let (whole, cap) = (Duration::from_millis(milliseconds), Duration::from_millis(HOUR));
    DrivePlan { warm_up: whole / 10, cap, ..DrivePlan::closed(clients, kinds, whole) }
}

fn ok() -> OperationOutcome {
    OperationOutcome::default()
}

fn failed(text: &str) -> OperationOutcome {
    OperationOutcome { error: Some(text.to_owned()), ..OperationOutcome::default() }
}

/// A client with a thread of its own and one kind of operation.
fn alone<'d>(mut client: impl FnMut() -> OperationOutcome + 'd) -> Box<dyn Driver + 'd> {
    Box::new(Blocking(by(0, 1, move |_| client())))
}

fn quietly(_: &DriveProgress) {}

/// Drives to the end clients that connect.
fn run<'d, F: FnMut() -> OperationOutcome + 'd>(
    plan: &DrivePlan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<DriveOutcome, DriveError<Infallible>> {
    let connect = |share: &ClientShare| Ok(alone(client(share.clients.start)));
    drive(plan, connect, &AtomicBool::new(false), &mut quietly)
}

/// As [`run`], of clients that take the kinds of operations in turn, each from its own number.
fn in_turn<'d, F: FnMut(usize) -> OperationOutcome + 'd>(
    plan: &DrivePlan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<DriveOutcome, DriveError<Infallible>> {
    let connect = |share: &ClientShare| {
        let number = share.clients.start;
        Ok(Box::new(Blocking(by(number, plan.kinds, client(number)))) as Box<dyn Driver>)
    };
    drive(plan, connect, &AtomicBool::new(false), &mut quietly)
}

fn count(kind: &KindOutcome) -> u64 {
    kind.count()
}

fn near(figure: f64, wanted: f64) -> bool {
    (figure - wanted).abs() < 1e-9
}

#[test]
fn slots_cover_the_time_and_every_operation_is_in_one() {
    let done = AtomicU64::new(0);
    let outcome = run(&plan(2, 1, 1200), |_| {
        || {
            sleep(Duration::from_millis(1));
            done.fetch_add(1, Relaxed);
            ok()
        }
    })
    .unwrap();
    let (kind, ran) = (&outcome.kinds[0], outcome.ran.as_secs_f64());
    assert!(ran >= 1.2 && kind.slots.len() as f64 >= ran, "{} slots in {ran} s", kind.slots.len());
    for (number, slot) in kind.slots.iter().enumerate() {
        let (start_s, end_s) = (number as f64, ran.min(number as f64 + 1.0).max(number as f64));
        assert!(near(slot.start_s, start_s) && near(slot.end_s, end_s), "{slot:?}");
    }
    assert_eq!(outcome.window_s, (0.12, 1.2));
    assert_eq!(count(kind), done.load(Relaxed));
    assert!(!outcome.stopped && kind.unfinished == 0 && outcome.in_flight <= 2);
}

#[test]
fn no_latency_is_shorter_than_it_was() {
    let outcome = in_turn(&DrivePlan { least: 5, ..plan(1, 2, 600) }, |_| {
        |kind| {
            sleep(Duration::from_millis(if kind == 0 { 5 } else { 20 }));
            ok()
        }
    })
    .unwrap();
    for (kind, milliseconds) in outcome.kinds.iter().zip([5.0, 20.0]) {
        // A histogram of 3 digits rounds down by at most a thousandth.
        let least = kind.all().min() as f64 / 1e6;
        assert!(least >= milliseconds * 0.999, "{least} for {milliseconds}");
    }
    // One client is never in two operations.
    let busy: f64 = outcome
        .kinds
        .iter()
        .map(KindOutcome::all)
        .map(|all| all.mean() * all.len() as f64 / 1e9)
        .sum();
    let (client, ran) = (outcome.drivers[0], outcome.ran.as_secs_f64());
    assert!(busy <= ran * 1.001, "{busy} of {ran}");
    assert!(client.started_s >= 0.0 && client.stopped_s >= 0.6, "{client:?}");
    let there = client.stopped_s - client.started_s;
    assert!(client.cpu.as_secs_f64() < there / 2.0, "sleeping needs no processor: {client:?}");
}

/// The first client's first operation lasts from its start until the other one has worked on after
/// the window's end: which it has to, to keep the load up.
#[test]
fn clients_keep_working_until_the_last_that_counts_is_over() {
    let (begun, later) = (AtomicBool::new(false), AtomicU64::new(0));
    let outcome = run(&DrivePlan { least: 1, ..plan(2, 1, 200) }, |number| {
        let (begun, later) = (&begun, &later);
        move || {
            if number == 0 && !begun.swap(true, Relaxed) {
                let since = Since::now();
                wait_until("the window's end", || since.at_least(Duration::from_millis(400)));
                let before = later.load(Relaxed);
                wait_until("work after it", || later.load(Relaxed) >= before + 20);
            } else {
                // Nothing ends, and so the window doesn't, before the first has begun.
                wait_until("the first client", || begun.load(Relaxed));
                sleep(Duration::from_millis(1));
                later.fetch_add(u64::from(number > 0), Relaxed);
            }
            ok()
        }
    })
    .unwrap();
    let kind = &outcome.kinds[0];
    assert!(kind.kept.max() >= 200_000_000, "the long one counts: {}", kind.kept.max());
    let (from, to) = outcome.window_s;
    assert!(near(from, 0.02) && to >= 0.2, "{from} to {to}");
    assert!(count(kind) >= kind.kept.len() + 19, "what starts later does not count");
}

/// A client that hangs for good: what is known is told without it.
#[test]
fn a_client_that_never_ends_is_told_of() {
    const CAP: Duration = Duration::from_secs(3);
    struct Watch<'a> {
        told: Option<DriveOutcome>,
        release: &'a AtomicBool,
        later: &'a AtomicU64,
    }
    impl Observer<Infallible> for Watch<'_> {
        /// It is asked before the window's end is looked at: what was done in the window is on its way
        /// here by then.
        fn progress(&mut self, _: &DriveProgress) {
            wait_until("work after the window", || self.later.load(Relaxed) >= 3);
        }

        fn overdue(&mut self, so_far: &DriveOutcome) {
            assert!(self.told.is_none(), "told once");
            self.told = Some(so_far.clone());
            self.release.store(true, Relaxed);
        }
    }
    // On a busy machine the cap may come before the client that hangs.
    let (outcome, told) = in_time("the one that hangs", |_| {
        let [release, is_hanging, was_late] = [false; 3].map(AtomicBool::new);
        let later = AtomicU64::new(0);
        let plan = DrivePlan { cap: CAP, ..plan(2, 2, 200) };
        let plan = DrivePlan { patience: Duration::from_millis(200), least: 1, ..plan };
        let since = Since::now();
        let connect = |share: &ClientShare| {
            let (number, release) = (share.clients.start, &release);
            let (is_hanging, was_late, later) = (&is_hanging, &was_late, &later);
            // The second one takes the second kind first.
            Ok(Box::new(Blocking(by(number, 2, move |_| {
                if number == 0 {
                    // So that the other one is there for all that counts.
                    wait_until("the one that hangs", || is_hanging.load(Relaxed));
                    let is_later = since.at_least(Duration::from_millis(400));
                    later.fetch_add(u64::from(is_later), Relaxed);
                }
                sleep(Duration::from_millis(5));
                if number == 1 {
                    if !is_hanging.swap(true, Relaxed) {
                        was_late.store(since.at_least(CAP), Relaxed);
                    }
                    wait_until("the drive's word", || release.load(Relaxed));
                }
                ok()
            }))) as Box<dyn Driver>)
        };
        let mut watch = Watch { told: None, release: &release, later: &later };
        let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut watch).unwrap();
        (!was_late.load(Relaxed)).then_some((outcome, watch.told))
    });
    let told = told.expect("it was told");
    let unfinished =
        |outcome: &DriveOutcome| [outcome.kinds[0].unfinished, outcome.kinds[1].unfinished];
    assert_eq!(unfinished(&told), [0, 1]);
    assert!(!told.kinds[0].kept.is_empty(), "all else is there");
    assert_eq!(unfinished(&outcome), [0, 1], "what ends after the cap ends too late");
    assert_eq!(outcome.kinds[1].kept.max(), told.kinds[1].kept.max());
}

#[test]
fn nothing_is_lost() {
    let done = AtomicU64::new(0);
    let outcome = in_turn(&DrivePlan { least: 1, ..plan(3, 5, 400) }, |_| {
        |_| {
            done.fetch_add(1, Relaxed);
            ok()
        }
    })
    .unwrap();
    let recorded: u64 = outcome.kinds.iter().map(count).sum();
    assert_eq!(recorded, done.load(Relaxed));
    let kept: u64 = outcome.kinds.iter().map(|kind| kind.kept.len()).sum();
    assert!(kept > 0 && kept <= recorded, "{kept} of {recorded}");
    // Each of the clients has had each kind as often as any other, or once more.
    let counts: Vec<u64> = outcome.kinds.iter().map(count).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 3, "{counts:?}");
    assert!(outcome.collector_cpu > Duration::ZERO);
}

#[test]
fn failures_and_retries_are_counted_apart_from_latencies() {
    let done = AtomicU64::new(0);
    let client = |number: usize| {
        let (done, mut turn) = (&done, 0u64);
        move |_: usize| {
            sleep(Duration::from_micros(200));
            done.fetch_add(1, Relaxed);
            turn += 1;
            match turn % 10 {
                0 => ok(),
                ninth @ 1..9 => failed(&format!("{ninth} of client {number}")),
                _ => OperationOutcome { retries: 3, ..OperationOutcome::default() },
            }
        }
    };
    let connect = |share: &ClientShare| {
        let client = by(0, 1, client(share.clients.start));
        Ok::<_, Infallible>(Box::new(Blocking(client)) as Box<dyn Driver>)
    };
    let plan = DrivePlan { least: 50, ..plan(2, 1, 300) };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    let all = &outcome.kinds[0];
    assert!(all.first_error.as_ref().is_some_and(|text| text.starts_with("1 of client")));
    assert_eq!(count(all) + all.errors, done.load(Relaxed));
    assert!(all.errors > 3 * count(all) && all.kept.len() <= count(all));
    // Of a client's turns 9, 10, 19, 20 ... the odd ones have retries.
    assert!(all.retries >= 3 * (count(all) / 2) && all.retries <= 3 * (count(all) / 2 + 2));
    let each = all.errors_time.as_secs_f64() / all.errors as f64;
    assert!(each >= 0.0002, "{each}");
}

#[test]
fn a_client_that_only_fails_ends_the_drive() {
    let tried = AtomicU64::new(0);
    let error = in_turn(&plan(3, 1, HOUR), |number| {
        let tried = &tried;
        move |_| {
            sleep(Duration::from_millis(1));
            tried.fetch_add(u64::from(number == 1), Relaxed);
            if number == 1 { failed("the disk is full") } else { ok() }
        }
    })
    .unwrap_err();
    assert_eq!(tried.load(Relaxed), u64::from(MOST_FAILURES));
    assert!(matches!(&error, DriveError::GaveUp { client: 1, kind: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn nine_failures_in_a_row_are_borne() {
    let outcome = run(&DrivePlan { least: 50, ..plan(1, 1, 100) }, |_| {
        let mut turn = 0;
        move || {
            turn += 1;
            sleep(Duration::from_micros(100));
            if turn % 10 == 0 { ok() } else { failed("busy") }
        }
    })
    .unwrap();
    assert!(outcome.kinds[0].errors > count(&outcome.kinds[0]));
}

#[test]
fn a_failed_connection_starts_nobody() {
    let operated = AtomicU64::new(0);
    let connect = |share: &ClientShare| {
        if share.clients.start == 5 {
            return Err("no such socket");
        }
        Ok(alone(|| {
            operated.fetch_add(1, Relaxed);
            ok()
        }))
    };
    let error = drive(&plan(8, 1, HOUR), connect, &AtomicBool::new(false), &mut quietly);
    let error = error.unwrap_err();
    assert!(matches!(error, DriveError::Connect { client: 5, cause: "no such socket" }));
    assert_eq!(error.to_string(), "client 5 could not connect: no such socket");
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

#[test]
fn clients_stay_on_their_thread() {
    // An Rc can't be sent: this compiles because clients never are.
    let outcome = run(&DrivePlan { least: 1, ..plan(2, 1, 50) }, |_| {
        let turns = Rc::new(Cell::new(0));
        move || {
            turns.set(turns.get() + 1);
            ok()
        }
    });
    assert!(count(&outcome.unwrap().kinds[0]) > 0);
}

/// It is stopped in an operation: that one is the last of its client.
#[test]
fn stop_ends_it_early_and_keeps_what_there_is() {
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let connect = |_: &ClientShare| {
        Ok::<_, Infallible>(alone(|| {
            sleep(Duration::from_millis(1));
            done.fetch_add(1, Relaxed);
            ok()
        }))
    };
    let mut observe = |progress: &DriveProgress| {
        if progress.operations > 0 {
            stop.store(true, Relaxed);
        }
    };
    let outcome = drive(&plan(2, 1, HOUR), connect, &stop, &mut observe).unwrap();
    assert!(outcome.stopped && outcome.ran >= Duration::from_millis(200));
    assert!(count(&outcome.kinds[0]) > 0);
    assert_eq!(count(&outcome.kinds[0]), done.load(Relaxed));
}

#[test]
fn progress_comes_while_they_run() {
    let (mut seen, done) = (Vec::new(), AtomicU64::new(0));
    let connect = |_: &ClientShare| {
        Ok::<_, Infallible>(alone(|| {
            sleep(Duration::from_millis(4));
            done.fetch_add(1, Relaxed);
            ok()
        }))
    };
    let plan = plan(2, 1, 1500);
    let mut observe = |progress: &DriveProgress| {
        assert!(progress.operations <= done.load(Relaxed), "{progress:?}");
        seen.push(*progress);
    };
    drive(&plan, connect, &AtomicBool::new(false), &mut observe).unwrap();
    assert!(!seen.is_empty());
    assert!(seen.windows(2).all(|pair| pair[0].elapsed < pair[1].elapsed));
    assert!(seen.windows(2).all(|pair| pair[0].operations <= pair[1].operations));
    let means = seen.iter().filter_map(|progress| progress.mean_s);
    assert!(means.into_iter().all(|mean| mean >= 0.004), "{seen:?}");
}

#[test]
fn two_hundred_clients_run_together() {
    let done = AtomicU64::new(0);
    // Each waits for all: one after the other they would get nowhere.
    let together = Barrier::new(200);
    let outcome = in_turn(&DrivePlan { least: 1, ..plan(200, 2, 300) }, |_| {
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
    assert_eq!(outcome.drivers.len(), 200);
    assert!(outcome.in_flight <= 200, "{}", outcome.in_flight);
    let counts: Vec<u64> = outcome.kinds.iter().map(count).collect();
    assert_eq!(counts.iter().sum::<u64>(), done.load(Relaxed));
    assert!(counts[0].abs_diff(counts[1]) <= 200, "{counts:?}");
    assert!(outcome.drivers.iter().all(|client| client.started_s >= 0.0));
}

#[test]
fn the_harness_states_a_cost() {
    let cost = bakeoff_load::cost::measure();
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

/// Drives so many clients at a rate for a second; every start that was due then was made, or is
/// counted as not made. What was made before that was told may count as well: one of each client.
fn all_are_accounted_for(clients: usize, pace: Pace, each: Duration) -> DriveOutcome {
    let plan = DrivePlan { pace, warm_up: Duration::ZERO, ..plan(clients, 1, 1000) };
    let outcome = run(&plan, |_| {
        move || {
            sleep(each);
            ok()
        }
    });
    let (outcome, due) = (outcome.unwrap(), due_in_a_second(pace));
    let (kept, open) = (outcome.kinds[0].kept.len(), outcome.open.as_ref().unwrap());
    let left = open.not_started;
    assert!(open.due >= due && open.most_waiting >= left, "{} of {due}", open.due);
    assert!(kept <= due && kept + left >= due, "{kept} and {left} of {due}");
    let all = kept == due || left > 3 && kept + left <= due + clients as u64;
    assert!(all, "{kept} and {left} of {due}");
    assert_eq!(outcome.window_s, (0.0, 1.0));
    outcome
}

#[test]
fn an_open_loop_starts_what_is_due_and_nothing_early() {
    for arrivals in ARRIVALS {
        let pace = Pace::Open { per_second: 300.0, arrivals, seed: 5 };
        let outcome = all_are_accounted_for(4, pace, Duration::from_millis(1));
        let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
        assert!(!outcome.stopped);
        let service = kind.service.as_ref().unwrap();
        let all = kind.kept.len();
        assert!(all == 0 || service.min() >= 999_000 && kind.kept.mean() >= service.mean());
        assert_eq!((service.len(), open.start_delay.len()), (all, all));
        assert!(near(outcome.rates()[0], outcome.kinds[0].ended.operations as f64));
    }
}

/// One client that can do 100 a second at most is given 200.
#[test]
fn what_comes_faster_than_it_is_served_waits_and_is_counted_when_nobody_starts_it() {
    let outcome = all_are_accounted_for(1, even(200.0), Duration::from_millis(10));
    let service = outcome.kinds[0].service.as_ref().unwrap();
    assert!(service.is_empty() || service.min() >= 9_990_000, "{}", service.min());
}

#[test]
fn a_closed_loop_has_one_latency_and_no_schedule() {
    let outcome = run(&plan(1, 1, 100), |_| ok).unwrap();
    assert!(outcome.open.is_none());
    assert!(outcome.kinds[0].service.is_none());
}

/// The second start is due after a hundred seconds: nobody makes it.
#[test]
fn a_slow_open_loop_can_be_stopped_between_two_starts() {
    let stop = AtomicBool::new(false);
    let plan = DrivePlan { pace: even(0.01), ..plan(2, 1, HOUR) };
    let connect = |_: &ClientShare| Ok::<_, Infallible>(alone(ok));
    let mut observe = |_: &DriveProgress| stop.store(true, Relaxed);
    let outcome = drive(&plan, connect, &stop, &mut observe).unwrap();
    assert!(outcome.stopped && count(&outcome.kinds[0]) <= 1);
}

#[test]
fn a_thousand_clients_share_a_thread() {
    let turns: Vec<AtomicU64> = (0..1000).map(|_| AtomicU64::new(0)).collect();
    let plan = DrivePlan { drivers: 1, least: 2000, ..plan(1000, 1, 500) };
    let connect = |share: &ClientShare| {
        let client = |number: usize| {
            let turns = &turns[number];
            by(0, 1, move |_| {
                turns.fetch_add(1, Relaxed);
                ok()
            })
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
    let all = outcome.kinds[0].all();
    let at_once = all.mean() * all.len() as f64 / 1e9 / outcome.ran.as_secs_f64();
    assert!(at_once <= 1010.0, "{at_once}");
}

#[test]
fn drivers_wait_until_all_is_ready_and_none_starts_where_that_is_refused() {
    let operated = AtomicU64::new(0);
    let connect = |_: &ClientShare| {
        Ok(alone(|| {
            operated.fetch_add(1, Relaxed);
            ok()
        }))
    };
    struct Refuse<'a>(&'a AtomicU64);
    impl Observer<&'static str> for Refuse<'_> {
        fn ready(&mut self) -> Result<(), &'static str> {
            sleep(Duration::from_millis(50));
            assert_eq!(self.0.load(Relaxed), 0);
            Err("not today")
        }
    }
    let (plan, never) = (plan(3, 1, HOUR), &AtomicBool::new(false));
    let error = drive(&plan, connect, never, &mut Refuse(&operated)).unwrap_err();
    assert!(matches!(error, DriveError::Refused("not today")));
    assert_eq!(operated.load(Relaxed), 0);
}
