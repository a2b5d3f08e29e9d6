//! Drives clients whose behaviour is known, and holds what was recorded against it.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bakeoff_load::{
    Arrivals, Blocking, Client, Done, DriveError, Driver, Interleaved, Kind, Outcome, Pace, Plan,
    Progress, Share, drive, drive_when, kept, kept_service,
};

/// A client that is a closure.
struct By<F>(F);

impl<F: FnMut() -> Done> Client for By<F> {
    fn operate(&mut self) -> Done {
        (self.0)()
    }
}

fn plan(clients: usize, kinds: usize, milliseconds: u64) -> Plan {
    Plan { trim: 0.1, ..Plan::closed(clients, kinds, Duration::from_millis(milliseconds)) }
}

fn ok(kind: usize) -> Done {
    Done { kind, ..Done::default() }
}

fn failed(kind: usize, text: &str) -> Done {
    Done { kind, retries: 0, error: Some(text.to_owned()) }
}

/// A client with a thread of its own.
fn alone<'d>(client: impl FnMut() -> Done + 'd) -> Box<dyn Driver + 'd> {
    Box::new(Blocking(By(client)))
}

/// Drives to the end clients that connect.
fn run<'d, F: FnMut() -> Done + 'd>(
    plan: &Plan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<Outcome, DriveError<Infallible>> {
    let connect = |share: &Share| Ok(alone(client(share.clients.start)));
    drive(plan, connect, &AtomicBool::new(false), &mut |_| ())
}

fn count(kind: &Kind) -> u64 {
    kind.count()
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
    let slots = &outcome.kinds[0].slots;
    let edges = [0.0, 0.15, 1.0, 1.35, 1.5];
    assert_eq!(slots.len(), 4);
    for (slot, edge) in slots.iter().zip(edges.windows(2)) {
        assert!(near(slot.start_s, edge[0]) && near(slot.end_s, edge[1]), "{slot:?}");
        assert!(slot.histogram.len() > 10, "{} in {edge:?}", slot.histogram.len());
    }
    assert!(near(outcome.window_s.0, 0.15) && near(outcome.window_s.1, 1.35));
    let window = outcome.kinds[0].kept(outcome.window_s);
    assert_eq!(window.len(), slots[1].histogram.len() + slots[2].histogram.len());
    assert_eq!(kept(slots, 0.0, 1.5).len(), count(&outcome.kinds[0]));
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
    for (operation, milliseconds) in outcome.kinds.iter().zip([5.0, 20.0]) {
        let all = kept(&operation.slots, 0.0, 1.0);
        let (least, median) = (all.min() as f64 / 1e6, all.value_at_quantile(0.5) as f64 / 1e6);
        // A histogram of 3 digits rounds down by at most a thousandth.
        assert!(least >= milliseconds * 0.999, "{least} for {milliseconds}");
        assert!(median < milliseconds + 4.0, "{median} for {milliseconds}");
    }
    // One client is always inside an operation, save for handing over.
    let busy: f64 = outcome
        .kinds
        .iter()
        .map(|operation| kept(&operation.slots, 0.0, 1.0))
        .map(|all| all.mean() * all.len() as f64 / 1e9)
        .sum();
    let client = outcome.drivers[0];
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
    let counts: Vec<u64> = outcome.kinds[0].slots.iter().map(|slot| slot.histogram.len()).collect();
    assert_eq!(counts, [0, 1, 1, 0]);
    assert!(outcome.drivers[0].stopped_s >= 1.8);
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
    let recorded: u64 = outcome.kinds.iter().map(count).sum();
    assert_eq!(recorded, done.load(Relaxed) - outcome.in_flight);
    assert_eq!(outcome.in_flight, 3);
    assert!(outcome.kinds.iter().all(|operation| count(operation) > 100));
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
                _ => Done { kind: 0, retries: 3, error: None },
            }
        }
    })
    .unwrap();
    let [good, bad] = &outcome.kinds[..] else { panic!("two operations") };
    assert_eq!(count(bad), 0);
    assert_eq!((good.errors, &good.first_error), (0, &None));
    assert!(bad.first_error.as_ref().is_some_and(|text| text.starts_with("1 of client")));
    assert_eq!(count(good) + bad.errors, done.load(Relaxed) - outcome.in_flight);
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
    assert!(matches!(&error, DriveError::GaveUp { client: 1, kind: 1, .. }), "{error:?}");
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
    assert!(outcome.kinds[0].errors > count(&outcome.kinds[0]));
}

#[test]
fn a_failed_connection_starts_nobody() {
    let operated = AtomicU64::new(0);
    let connect = |share: &Share| {
        if share.clients.start == 5 {
            return Err("no such socket");
        }
        Ok(alone(|| {
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
    let connect = |share: &Share| -> Result<Box<dyn Driver>, Infallible> {
        if share.driver == 1 {
            panic!("a broken client");
        }
        Ok(alone(|| ok(0)))
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
    assert!(count(&outcome.unwrap().kinds[0]) > 0);
}

#[test]
fn stop_ends_it_early_and_keeps_what_there_is() {
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let connect = |_: &Share| {
        Ok::<_, Infallible>(alone(|| {
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
    assert_eq!(count(&outcome.kinds[0]), done.load(Relaxed));
    assert!(outcome.kinds[0].slots.len() <= 2);
}

#[test]
fn progress_tells_the_last_seconds_rate_and_latency() {
    let mut seen = Vec::new();
    let connect = |_: &Share| {
        Ok::<_, Infallible>(alone(|| {
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
    assert_eq!((outcome.drivers.len(), outcome.in_flight), (200, 200));
    for operation in &outcome.kinds {
        // 100 clients, 500 ms, 10 ms and a little more each.
        assert!((1000..=5000).contains(&count(operation)), "{}", count(operation));
    }
    assert!(outcome.drivers.iter().all(|client| client.started_s < 0.25));
}

#[test]
fn the_harness_states_a_cost() {
    let cost = bakeoff_load::cost::measure();
    assert!(cost.driver_ns > 1.0 && cost.collector_ns > 0.1, "{cost:?}");
    assert!(cost.total_ns() < 50_000.0, "{cost:?}");
}

/// Drives clients that sleep, each on a thread of its own, at a rate.
fn paced(clients: usize, milliseconds: u64, pace: Pace, each: Duration) -> Outcome {
    let plan = Plan { pace, ..plan(clients, 1, milliseconds) };
    run(&plan, |_| {
        move || {
            sleep(each);
            ok(0)
        }
    })
    .unwrap()
}

fn even(per_second: f64) -> Pace {
    Pace::Open { per_second, arrivals: Arrivals::Even, seed: 1 }
}

#[test]
fn an_open_loop_starts_as_many_as_are_due_whatever_the_clients_could_do() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let pace = Pace::Open { per_second: 300.0, arrivals, seed: 5 };
        let outcome = paced(4, 1000, pace, Duration::from_millis(1));
        let open = outcome.open.as_ref().unwrap();
        let done = count(&outcome.kinds[0]) + outcome.in_flight;
        let spread = if arrivals == Arrivals::Even { 0..=0 } else { 0..=60 };
        assert!(spread.contains(&done.abs_diff(300)), "{arrivals:?}: {done}");
        assert_eq!(open.not_started, 0, "{arrivals:?}");
        assert!(!outcome.stopped);
        // Four clients are seldom all busy: service and response are nearly the same.
        let service = kept_service(&outcome.kinds[0].slots, 0.0, 1.0).unwrap();
        let response = kept(&outcome.kinds[0].slots, 0.0, 1.0);
        assert_eq!(service.len(), response.len());
        assert!(service.min() >= 999_000 && response.mean() >= service.mean());
    }
}

#[test]
fn what_comes_faster_than_it_is_served_waits_and_is_counted_when_nobody_starts_it() {
    // One client that can do 100 a second is given 200.
    let outcome = paced(1, 1000, even(200.0), Duration::from_millis(10));
    let open = outcome.open.as_ref().unwrap();
    let done = count(&outcome.kinds[0]) + outcome.in_flight;
    assert!(done <= 100, "{done}");
    assert_eq!(done + open.not_started, 200, "late is late, and nothing is skipped");
    assert!(open.most_waiting >= open.not_started && open.not_started > 50, "{open:?}");
    // The last ones waited for about half of the time.
    let response = kept(&outcome.kinds[0].slots, 0.0, 1.0);
    let service = kept_service(&outcome.kinds[0].slots, 0.0, 1.0).unwrap();
    assert!(response.max() > 400_000_000, "{}", response.max());
    assert!(service.value_at_quantile(0.5) < 20_000_000);
    assert!(open.start_delay_p99_s().unwrap() > 0.4);
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_were_due_meanwhile() {
    let plan = Plan { pace: even(500.0), ..plan(1, 1, 1000) };
    let outcome = run(&plan, |_| {
        let mut turn = 0;
        move || {
            turn += 1;
            sleep(Duration::from_micros(if turn == 100 { 200_000 } else { 100 }));
            ok(0)
        }
    })
    .unwrap();
    let response = kept(&outcome.kinds[0].slots, 0.0, 1.0);
    let late = response.count_between(20_000_000, u64::MAX - 1);
    // 100 were due in the stall; a closed loop would have shown one.
    assert!((60..=110).contains(&late), "{late}");
    assert_eq!(outcome.open.unwrap().not_started, 0);
}

#[test]
fn a_closed_loop_has_one_latency_and_no_schedule() {
    let outcome = paced(1, 100, Pace::Closed, Duration::from_millis(1));
    assert!(outcome.open.is_none());
    assert!(outcome.kinds[0].slots.iter().all(|slot| slot.service.is_none()));
}

#[test]
fn a_slow_open_loop_can_be_stopped_between_two_starts() {
    let stop = AtomicBool::new(false);
    let plan = Plan { pace: even(0.1), ..plan(2, 1, 60_000) };
    let connect = |_: &Share| Ok::<_, Infallible>(alone(|| ok(0)));
    let mut observe = |_: &Progress| stop.store(true, Relaxed);
    let started = Instant::now();
    let outcome = drive(&plan, connect, &stop, &mut observe).unwrap();
    assert!(started.elapsed() < Duration::from_secs(2) && outcome.stopped);
}

#[test]
fn a_thousand_clients_share_a_thread() {
    let turns: Vec<AtomicU64> = (0..1000).map(|_| AtomicU64::new(0)).collect();
    let plan = Plan { drivers: 1, ..plan(1000, 1, 500) };
    let connect = |share: &Share| {
        let client = |number: usize| {
            let turns = &turns[number];
            By(move || {
                turns.fetch_add(1, Relaxed);
                ok(0)
            })
        };
        let clients = share.clients.clone().map(client).collect();
        Ok::<_, Infallible>(Box::new(Interleaved::new(clients)) as Box<dyn Driver>)
    };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(outcome.drivers.len(), 1);
    let each: Vec<u64> = turns.iter().map(|turns| turns.load(Relaxed)).collect();
    let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 1, "all have their turn: {least} to {most}");
    assert_eq!(each.iter().sum::<u64>(), count(&outcome.kinds[0]) + outcome.in_flight);
    // Little's law: a client is always in an operation, be it in its turn or before it.
    let all = kept(&outcome.kinds[0].slots, 0.0, 1.0);
    let at_once = all.mean() * all.len() as f64 / 0.5e9;
    assert!((900.0..1010.0).contains(&at_once), "{at_once}");
}

#[test]
fn drivers_wait_until_all_is_ready_and_none_starts_where_that_is_refused() {
    let operated = AtomicU64::new(0);
    let connect = |_: &Share| {
        Ok(alone(|| {
            operated.fetch_add(1, Relaxed);
            ok(0)
        }))
    };
    let mut refuse = || {
        sleep(Duration::from_millis(50));
        assert_eq!(operated.load(Relaxed), 0);
        Err("not today")
    };
    let plan = plan(3, 1, 60_000);
    let never = &AtomicBool::new(false);
    let error = drive_when(&plan, connect, &mut refuse, never, &mut |_| ()).unwrap_err();
    assert!(matches!(error, DriveError::Refused("not today")));
    assert_eq!(operated.load(Relaxed), 0);
}
