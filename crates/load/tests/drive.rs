//! Drives clients whose behaviour is known, and holds what was recorded against it.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bakeoff_load::{Client, Done, DriveError, Operation, Outcome, Plan, Progress, drive, kept};

/// A client that is a closure.
struct By<F>(F);

impl<F: FnMut() -> Done> Client for By<F> {
    fn operate(&mut self) -> Done {
        (self.0)()
    }
}

fn plan(clients: usize, operations: usize, milliseconds: u64) -> Plan {
    Plan { clients, operations, duration: Duration::from_millis(milliseconds), trim: 0.1 }
}

fn ok(operation: usize) -> Done {
    Done { operation, ..Done::default() }
}

fn failed(operation: usize, text: &str) -> Done {
    Done { operation, retries: 0, error: Some(text.to_owned()) }
}

/// Drives to the end clients that connect.
fn run<F: FnMut() -> Done>(
    plan: &Plan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<Outcome, DriveError<Infallible>> {
    drive(plan, |number| Ok(By(client(number))), &AtomicBool::new(false), &mut |_| ())
}

fn count(operation: &Operation) -> u64 {
    operation.slots.iter().map(|slot| slot.histogram.len()).sum()
}

fn near(figure: f64, wanted: f64) -> bool {
    (figure - wanted).abs() < 1e-9
}

#[test]
fn slots_cover_the_duration_and_the_window_is_a_union_of_them() {
    let outcome = run(&plan(2, 1, 1500), |_| {
        || {
            sleep(Duration::from_millis(1));
            ok(0)
        }
    })
    .unwrap();
    let slots = &outcome.operations[0].slots;
    let edges = [0.0, 0.15, 1.0, 1.35, 1.5];
    assert_eq!(slots.len(), 4);
    for (slot, edge) in slots.iter().zip(edges.windows(2)) {
        assert!(near(slot.start_s, edge[0]) && near(slot.end_s, edge[1]), "{slot:?}");
        assert!(slot.histogram.len() > 10, "{} in {edge:?}", slot.histogram.len());
    }
    assert!(near(outcome.window_s.0, 0.15) && near(outcome.window_s.1, 1.35));
    let window = outcome.operations[0].kept(outcome.window_s);
    assert_eq!(window.len(), slots[1].histogram.len() + slots[2].histogram.len());
    assert_eq!(kept(slots, 0.0, 1.5).len(), count(&outcome.operations[0]));
    assert_eq!(outcome.ran, Duration::from_millis(1500));
    assert!(!outcome.stopped);
    assert_eq!(outcome.in_flight, 2);
}

#[test]
fn latencies_are_those_of_the_client() {
    let outcome = run(&plan(1, 2, 600), |_| {
        let mut operation = 0;
        move || {
            operation ^= 1;
            sleep(Duration::from_millis(if operation == 0 { 5 } else { 20 }));
            ok(operation)
        }
    })
    .unwrap();
    for (operation, milliseconds) in outcome.operations.iter().zip([5.0, 20.0]) {
        let all = kept(&operation.slots, 0.0, 1.0);
        let (least, median) = (all.min() as f64 / 1e6, all.value_at_quantile(0.5) as f64 / 1e6);
        // A histogram of 3 digits rounds down by at most a thousandth.
        assert!(least >= milliseconds * 0.999, "{least} for {milliseconds}");
        assert!(median < milliseconds + 4.0, "{median} for {milliseconds}");
    }
    // One client is always inside an operation, save for handing over.
    let busy: f64 = outcome
        .operations
        .iter()
        .map(|operation| kept(&operation.slots, 0.0, 1.0))
        .map(|all| all.mean() * all.len() as f64 / 1e9)
        .sum();
    let client = outcome.clients[0];
    assert!(busy <= 0.6 && busy > 0.6 - 0.08, "{busy}");
    assert!(client.started_s < 0.05 && client.stopped_s >= 0.6 && client.stopped_s < 0.7);
    assert!(client.cpu < Duration::from_millis(100), "sleeping needs no processor: {client:?}");
}

#[test]
fn an_operation_belongs_to_the_slot_in_which_it_ends() {
    let outcome = run(&plan(1, 1, 1500), |_| {
        || {
            sleep(Duration::from_millis(600));
            ok(0)
        }
    })
    .unwrap();
    let counts: Vec<u64> =
        outcome.operations[0].slots.iter().map(|slot| slot.histogram.len()).collect();
    assert_eq!(counts, [0, 1, 1, 0]);
    assert!(outcome.clients[0].stopped_s >= 1.8);
    assert_eq!(outcome.in_flight, 1);
}

#[test]
fn nothing_is_lost() {
    let done = AtomicU64::new(0);
    let outcome = run(&plan(3, 5, 400), |number| {
        let (done, mut operation) = (&done, number);
        move || {
            done.fetch_add(1, Relaxed);
            operation = (operation + 1) % 5;
            ok(operation)
        }
    })
    .unwrap();
    let recorded: u64 = outcome.operations.iter().map(count).sum();
    assert_eq!(recorded, done.load(Relaxed) - outcome.in_flight as u64);
    assert_eq!(outcome.in_flight, 3);
    assert!(outcome.operations.iter().all(|operation| count(operation) > 100));
    assert!(outcome.collector_cpu > Duration::ZERO);
}

#[test]
fn failures_and_retries_are_counted_apart_from_latencies() {
    let done = AtomicU64::new(0);
    let outcome = run(&plan(2, 2, 300), |number| {
        let (done, mut turn) = (&done, 0u64);
        move || {
            sleep(Duration::from_micros(200));
            done.fetch_add(1, Relaxed);
            turn += 1;
            match turn % 10 {
                0 => ok(0),
                ninth @ 1..9 => failed(1, &format!("{ninth} of client {number}")),
                _ => Done { operation: 0, retries: 3, error: None },
            }
        }
    })
    .unwrap();
    let [good, bad] = &outcome.operations[..] else { panic!("two operations") };
    assert_eq!(count(bad), 0);
    assert_eq!((good.errors, &good.first_error), (0, &None));
    assert!(bad.first_error.as_ref().is_some_and(|text| text.starts_with("1 of client")));
    assert_eq!(count(good) + bad.errors, done.load(Relaxed) - outcome.in_flight as u64);
    // Of a client's turns 9, 10, 19, 20 ... the odd ones have retries.
    assert!(good.retries >= 3 * (count(good) / 2) && good.retries <= 3 * (count(good) / 2 + 2));
}

#[test]
fn a_client_that_only_fails_ends_the_drive() {
    let started = Instant::now();
    let error = run(&plan(3, 2, 60_000), |number| {
        move || {
            sleep(Duration::from_millis(1));
            if number == 1 { failed(1, "the disk is full") } else { ok(0) }
        }
    })
    .unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(matches!(&error, DriveError::GaveUp { client: 1, operation: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn nine_failures_in_a_row_are_borne() {
    let outcome = run(&plan(1, 1, 100), |_| {
        let mut turn = 0;
        move || {
            turn += 1;
            sleep(Duration::from_micros(100));
            if turn % 10 == 0 { ok(0) } else { failed(0, "busy") }
        }
    })
    .unwrap();
    assert!(outcome.operations[0].errors > count(&outcome.operations[0]));
}

#[test]
fn a_failed_connection_starts_nobody() {
    let operated = AtomicU64::new(0);
    let connect = |number| {
        if number == 5 {
            return Err("no such socket");
        }
        Ok(By(|| {
            operated.fetch_add(1, Relaxed);
            ok(0)
        }))
    };
    let started = Instant::now();
    let error = drive(&plan(8, 1, 60_000), connect, &AtomicBool::new(false), &mut |_| ());
    let error = error.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(matches!(error, DriveError::Connect { client: 5, cause: "no such socket" }));
    assert_eq!(error.to_string(), "client 5 could not connect: no such socket");
    assert_eq!(operated.load(Relaxed), 0);
}

#[test]
#[should_panic(expected = "a broken client")]
fn a_client_that_panics_while_connecting_hangs_nobody() {
    let connect = |number| -> Result<By<fn() -> Done>, Infallible> {
        if number == 1 {
            panic!("a broken client");
        }
        Ok(By(|| ok(0)))
    };
    let _ = drive(&plan(3, 1, 60_000), connect, &AtomicBool::new(false), &mut |_| ());
}

#[test]
fn clients_stay_on_their_thread() {
    // An Rc can't be sent: this compiles because clients never are.
    let outcome = run(&plan(2, 1, 50), |_| {
        let turns = Rc::new(Cell::new(0));
        move || {
            turns.set(turns.get() + 1);
            ok(0)
        }
    });
    assert!(count(&outcome.unwrap().operations[0]) > 0);
}

#[test]
fn stop_ends_it_early_and_keeps_what_there_is() {
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let connect = |_| {
        Ok::<_, Infallible>(By(|| {
            sleep(Duration::from_millis(1));
            done.fetch_add(1, Relaxed);
            ok(0)
        }))
    };
    let started = Instant::now();
    let mut observe = |progress: &Progress| {
        if progress.elapsed > Duration::from_millis(350) {
            stop.store(true, Relaxed);
        }
    };
    let outcome = drive(&plan(2, 1, 60_000), connect, &stop, &mut observe).unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(outcome.stopped);
    assert!(outcome.ran > Duration::from_millis(350) && outcome.ran < Duration::from_secs(2));
    assert_eq!(count(&outcome.operations[0]), done.load(Relaxed));
    assert!(outcome.operations[0].slots.len() <= 2);
}

#[test]
fn progress_tells_the_last_seconds_rate_and_latency() {
    let mut seen = Vec::new();
    let connect = |_| {
        Ok::<_, Infallible>(By(|| {
            sleep(Duration::from_millis(4));
            ok(0)
        }))
    };
    let plan = plan(2, 1, 1500);
    drive(&plan, connect, &AtomicBool::new(false), &mut |progress| seen.push(*progress)).unwrap();
    assert!((6..=8).contains(&seen.len()), "{}", seen.len());
    assert!(seen.windows(2).all(|pair| pair[0].operations <= pair[1].operations));
    let last = seen.last().unwrap();
    assert!((100.0..=600.0).contains(&last.per_second), "{last:?}");
    assert!(last.mean_s.is_some_and(|mean| (0.004..0.02).contains(&mean)), "{last:?}");
}

#[test]
fn two_hundred_clients_run_together() {
    let outcome = run(&plan(200, 2, 500), |number| {
        move || {
            sleep(Duration::from_millis(10));
            ok(number % 2)
        }
    })
    .unwrap();
    assert_eq!((outcome.clients.len(), outcome.in_flight), (200, 200));
    for operation in &outcome.operations {
        // 100 clients, 500 ms, 10 ms and a little more each.
        assert!((1000..=5000).contains(&count(operation)), "{}", count(operation));
    }
    assert!(outcome.clients.iter().all(|client| client.started_s < 0.25));
}

#[test]
fn the_harness_states_a_cost() {
    let cost = bakeoff_load::cost::measure();
    assert!(cost.client_ns > 1.0 && cost.collector_ns > 0.1, "{cost:?}");
    assert!(cost.total_ns() < 50_000.0, "{cost:?}");
}
