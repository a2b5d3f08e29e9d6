//! Drives clients whose behaviour is known, and holds what was recorded against it.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bakeoff_load::{
    ARRIVALS, Arrivals, Blocking, Client, Done, DriveError, Driver, Interleaved, Kind, Observer,
    Outcome, Pace, Plan, Progress, Share, drive,
};

/// A client that is a closure, given the kind of operation; it takes the kinds from `first` to
/// `kinds` in turn.
struct By<F> {
    next: usize,
    kinds: usize,
    operate: F,
}

fn by<F: FnMut(usize) -> Done>(first: usize, kinds: usize, operate: F) -> By<F> {
    By { next: first, kinds, operate }
}

impl<F: FnMut(usize) -> Done> Client for By<F> {
    fn choose(&mut self) -> usize {
        let kind = self.next % self.kinds;
        self.next += 1;
        kind
    }

    fn operate(&mut self, kind: usize) -> Done {
        (self.operate)(kind)
    }
}

fn plan(clients: usize, kinds: usize, milliseconds: u64) -> Plan {
    let whole = Duration::from_millis(milliseconds);
    Plan { warm_up: whole / 10, ..Plan::closed(clients, kinds, whole) }
}

fn ok() -> Done {
    Done::default()
}

fn failed(text: &str) -> Done {
    Done { retries: 0, error: Some(text.to_owned()) }
}

/// A client with a thread of its own and one kind of operation.
fn alone<'d>(mut client: impl FnMut() -> Done + 'd) -> Box<dyn Driver + 'd> {
    Box::new(Blocking(by(0, 1, move |_| client())))
}

fn quietly(_: &Progress) {}

/// Drives to the end clients that connect.
fn run<'d, F: FnMut() -> Done + 'd>(
    plan: &Plan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<Outcome, DriveError<Infallible>> {
    let connect = |share: &Share| Ok(alone(client(share.clients.start)));
    drive(plan, connect, &AtomicBool::new(false), &mut quietly)
}

/// As [`run`], of clients that take the kinds of operations in turn, each from its own number.
fn in_turn<'d, F: FnMut(usize) -> Done + 'd>(
    plan: &Plan,
    client: impl Fn(usize) -> F + Sync,
) -> Result<Outcome, DriveError<Infallible>> {
    let connect = |share: &Share| {
        let number = share.clients.start;
        Ok(Box::new(Blocking(by(number, plan.kinds, client(number)))) as Box<dyn Driver>)
    };
    drive(plan, connect, &AtomicBool::new(false), &mut quietly)
}

fn count(kind: &Kind) -> u64 {
    kind.count()
}

fn near(figure: f64, wanted: f64) -> bool {
    (figure - wanted).abs() < 1e-9
}

#[test]
fn slots_cover_the_time_and_the_window_is_what_started_in_it() {
    let outcome = run(&plan(2, 1, 1500), |_| {
        || {
            sleep(Duration::from_millis(1));
            ok()
        }
    })
    .unwrap();
    let kind = &outcome.kinds[0];
    assert_eq!(kind.slots.len(), 2);
    for (slot, edge) in kind.slots.iter().zip([(0.0, 1.0), (1.0, outcome.ran.as_secs_f64())]) {
        assert!(near(slot.start_s, edge.0) && near(slot.end_s, edge.1), "{slot:?}");
        assert!(slot.histogram.len() > 10, "{} in {edge:?}", slot.histogram.len());
    }
    assert_eq!(outcome.window_s, (0.15, 1.5));
    let (kept, all) = (kind.kept.len(), count(kind));
    assert!(kept > all * 8 / 10 && kept < all * 96 / 100, "{kept} of {all}");
    assert!((1.5..1.6).contains(&outcome.ran.as_secs_f64()), "{:?}", outcome.ran);
    assert!(!outcome.stopped && kind.unfinished == 0 && outcome.in_flight <= 2);
}

#[test]
fn latencies_are_those_of_the_client() {
    let outcome = in_turn(&plan(1, 2, 600), |_| {
        |kind| {
            sleep(Duration::from_millis(if kind == 0 { 5 } else { 20 }));
            ok()
        }
    })
    .unwrap();
    for (operation, milliseconds) in outcome.kinds.iter().zip([5.0, 20.0]) {
        let all = operation.all();
        let (least, median) = (all.min() as f64 / 1e6, all.value_at_quantile(0.5) as f64 / 1e6);
        // A histogram of 3 digits rounds down by at most a thousandth.
        assert!(least >= milliseconds * 0.999, "{least} for {milliseconds}");
        assert!(median < milliseconds + 4.0, "{median} for {milliseconds}");
    }
    // One client is always inside an operation, save for handing over.
    let busy: f64 =
        outcome.kinds.iter().map(Kind::all).map(|all| all.mean() * all.len() as f64 / 1e9).sum();
    let (client, ran) = (outcome.drivers[0], outcome.ran.as_secs_f64());
    assert!(busy <= ran && busy > ran - 0.08, "{busy} of {ran}");
    assert!(client.started_s < 0.05 && client.stopped_s >= 0.6 && client.stopped_s < 0.7);
    assert!(client.cpu < Duration::from_millis(100), "sleeping needs no processor: {client:?}");
}

/// The easy, wrong window takes what ends in it, and drops the operation that is under way at its
/// end: here the only one that counts but one.
#[test]
fn an_operation_that_starts_in_the_window_is_followed_to_its_end() {
    let outcome = run(&plan(1, 1, 1000), |_| {
        || {
            sleep(Duration::from_millis(700));
            ok()
        }
    })
    .unwrap();
    let kind = &outcome.kinds[0];
    // It starts at 0, at 0.7 and, the window being over, at 1.4: of these the second counts.
    assert_eq!((kind.kept.len(), outcome.in_flight, kind.unfinished), (1, 1, 0));
    // Followed, and no other one started for nothing: that would end at 2.1 s.
    assert!((1.4..2.0).contains(&outcome.ran.as_secs_f64()), "{:?}", outcome.ran);
    let counts: Vec<u64> = kind.slots.iter().map(|slot| slot.histogram.len()).collect();
    assert_eq!(counts, [1, 1], "an operation belongs to the slot in which it ended");
    assert_eq!(outcome.window_s, (0.1, 1.0));
}

/// One client is in an operation of a second while the window ends; the other has to keep the load
/// up for it, and what it does meanwhile does not count.
#[test]
fn clients_keep_working_until_the_last_that_counts_is_over() {
    let worked = AtomicU64::new(0);
    let outcome = run(&plan(2, 1, 500), |number| {
        let worked = &worked;
        move || {
            sleep(Duration::from_millis(if number == 0 { 1300 } else { 10 }));
            worked.fetch_add(number as u64, Relaxed);
            ok()
        }
    })
    .unwrap();
    // The first starts before the window and lasts longer than it: it was there for all of it.
    let (longest, kept) = (outcome.kinds[0].kept.max(), outcome.kinds[0].kept.len());
    assert!((1_299_000_000..1_500_000_000).contains(&longest), "{longest}");
    assert!(kept < 60 && count(&outcome.kinds[0]) > kept + 20, "what starts later does not count");
    let slow = run(&plan(2, 1, 500), |number| {
        let worked = &worked;
        let mut first = true;
        move || {
            let long = number == 0 && !std::mem::take(&mut first);
            sleep(Duration::from_millis(if long { 1000 } else { 60 }));
            worked.fetch_add(1000, Relaxed);
            ok()
        }
    })
    .unwrap();
    let kind = &slow.kinds[0];
    assert!((1.05..1.9).contains(&slow.ran.as_secs_f64()), "{:?}", slow.ran);
    assert!(kind.kept.max() >= 999_000_000, "the long one counts: {}", kind.kept.max());
    let (kept, all) = (kind.kept.len(), count(kind));
    assert!((3..=9).contains(&kept) && all >= kept + 4, "{kept} of {all}");
}

#[test]
fn the_window_waits_for_enough_of_the_slowest_kind() {
    let plan = Plan { least: 5, ..plan(1, 2, 300) };
    let outcome = in_turn(&plan, |_| {
        |kind| {
            sleep(Duration::from_millis(if kind == 0 { 20 } else { 150 }));
            ok()
        }
    })
    .unwrap();
    let [quick, slow] = &outcome.kinds[..] else { panic!("two kinds") };
    assert_eq!(slow.kept.len(), 5);
    assert!((5..=6).contains(&quick.kept.len()), "{}", quick.kept.len());
    assert!(outcome.window_s.1 > 0.7 && outcome.window_s.1 < 2.5, "{:?}", outcome.window_s);
    assert_eq!(quick.unfinished + slow.unfinished, 0);
    // Counted in the window the one would come out more often than the other.
    let [a, b] = outcome.rates(1)[..] else { panic!("two rates") };
    assert!((a / b - 1.0).abs() < 0.2 && (4.0..6.2).contains(&b), "{a} and {b}");
}

#[test]
fn what_has_not_ended_at_the_cap_took_that_long_at_least() {
    let plan = Plan { least: 3, cap: Duration::from_millis(700), ..plan(2, 2, 200) };
    let outcome = in_turn(&plan, |number| {
        move |kind| {
            sleep(Duration::from_millis(if (kind, number) == (1, 1) { 1200 } else { 30 }));
            ok()
        }
    });
    let outcome = outcome.unwrap();
    let [quick, slow] = &outcome.kinds[..] else { panic!("two kinds") };
    assert_eq!(quick.unfinished, 0);
    assert!(slow.kept.len() >= 3 && outcome.window_s.1 < 0.7, "the other client's are enough");
    // The second client's first operation began before the window and outlasts it.
    assert_eq!(slow.unfinished, 1);

    let never = in_turn(&Plan { least: 1000, ..plan }, |number| {
        let mut turn = 0;
        move |_| {
            turn += 1;
            sleep(Duration::from_millis(if number == 1 && turn > 2 { 1200 } else { 30 }));
            ok()
        }
    })
    .unwrap();
    assert!(near(never.window_s.1, 0.7), "{:?}", never.window_s);
    let unfinished: u64 = never.kinds.iter().map(|kind| kind.unfinished).sum();
    assert!((1..=2).contains(&unfinished), "the long one, and perhaps a short one: {unfinished}");
    let longest = never.kinds.iter().map(|kind| kind.kept.max()).max().unwrap();
    assert!((600_000_000..=641_000_000).contains(&longest), "cut off, not followed: {longest}");
    assert!(never.ran.as_secs_f64() > 1.2, "its client is waited for all the same");
}

/// The one client is in its first operation from before the window until after the cap: it says how
/// slow it is at least, and is no gap.
#[test]
fn what_started_before_the_window_and_outlasts_the_cap_is_a_bound() {
    let plan = Plan { least: 5, cap: Duration::from_millis(400), ..plan(1, 1, 200) };
    let outcome = run(&plan, |_| {
        || {
            sleep(Duration::from_millis(600));
            ok()
        }
    })
    .unwrap();
    let kind = &outcome.kinds[0];
    assert_eq!((kind.kept.len(), kind.unfinished), (1, 1));
    assert!((399..=400).contains(&(kind.kept.max() / 1_000_000)), "{}", kind.kept.max());
}

/// A client that hangs for good: what is known is told without it.
#[test]
fn a_client_that_never_ends_is_told_of() {
    struct Watch<'a> {
        told: Option<Outcome>,
        release: &'a AtomicBool,
    }
    impl Observer<Infallible> for Watch<'_> {
        fn overdue(&mut self, so_far: &Outcome) {
            assert!(self.told.is_none(), "told once");
            self.told = Some(so_far.clone());
            self.release.store(true, Relaxed);
        }
    }
    let release = AtomicBool::new(false);
    let plan = Plan { cap: Duration::from_millis(300), ..plan(2, 2, 200) };
    let plan = Plan { patience: Duration::from_millis(200), least: 1, ..plan };
    let connect = |share: &Share| {
        let (number, release) = (share.clients.start, &release);
        let mut turn = 0;
        Ok(Box::new(Blocking(by(0, 2, move |kind| {
            turn += 1;
            sleep(Duration::from_millis(5));
            while (number, kind) == (1, 1) && turn > 10 && !release.load(Relaxed) {
                sleep(Duration::from_millis(5));
            }
            ok()
        }))) as Box<dyn Driver>)
    };
    let mut watch = Watch { told: None, release: &release };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut watch).unwrap();
    let told = watch.told.expect("it was told");
    let unfinished = |outcome: &Outcome| [outcome.kinds[0].unfinished, outcome.kinds[1].unfinished];
    assert_eq!(unfinished(&told), [0, 1]);
    let waited = told.kinds[1].kept.max();
    assert!((180_000_000..=250_000_000).contains(&waited), "since 55 ms until the cap: {waited}");
    assert!(told.kinds[0].kept.len() > 14, "all else is there");
    assert_eq!(unfinished(&outcome), [0, 1], "what ends after the cap ends too late");
    assert_eq!(outcome.kinds[1].kept.max(), waited);
}

#[test]
fn nothing_is_lost() {
    let done = AtomicU64::new(0);
    let outcome = in_turn(&plan(3, 5, 400), |_| {
        |_| {
            done.fetch_add(1, Relaxed);
            ok()
        }
    })
    .unwrap();
    let recorded: u64 = outcome.kinds.iter().map(count).sum();
    assert_eq!(recorded, done.load(Relaxed));
    let kept: u64 = outcome.kinds.iter().map(|kind| kind.kept.len()).sum();
    assert!(kept > recorded / 2 && kept < recorded, "{kept} of {recorded}");
    assert!(outcome.kinds.iter().all(|operation| count(operation) > 100));
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
                _ => Done { retries: 3, error: None },
            }
        }
    };
    let connect = |share: &Share| {
        let client = by(0, 1, client(share.clients.start));
        Ok::<_, Infallible>(Box::new(Blocking(client)) as Box<dyn Driver>)
    };
    let outcome = drive(&plan(2, 1, 300), connect, &AtomicBool::new(false), &mut quietly).unwrap();
    let all = &outcome.kinds[0];
    assert!(all.first_error.as_ref().is_some_and(|text| text.starts_with("1 of client")));
    assert_eq!(count(all) + all.errors, done.load(Relaxed));
    assert!(all.errors > 3 * count(all) && all.kept.len() <= count(all));
    // Of a client's turns 9, 10, 19, 20 ... the odd ones have retries.
    assert!(all.retries >= 3 * (count(all) / 2) && all.retries <= 3 * (count(all) / 2 + 2));
    let each = all.errors_time.as_secs_f64() / all.errors as f64;
    assert!((0.0002..0.01).contains(&each), "{each}");
}

/// They are no latencies, but the window has waited long enough for them.
#[test]
fn a_kind_that_only_fails_does_not_hold_the_window() {
    let plan = Plan { least: 5, ..plan(1, 2, 200) };
    let outcome = in_turn(&plan, |_| {
        |kind| {
            sleep(Duration::from_millis(2));
            if kind == 1 { failed("no such table") } else { ok() }
        }
    })
    .unwrap();
    assert_eq!(outcome.window_s, (0.02, 0.2));
    assert!(outcome.kinds[1].kept.is_empty() && outcome.kinds[1].errors > 20);
}

#[test]
fn a_client_that_only_fails_ends_the_drive() {
    let started = Instant::now();
    let error = in_turn(&plan(3, 1, 60_000), |number| {
        move |_| {
            sleep(Duration::from_millis(1));
            if number == 1 { failed("the disk is full") } else { ok() }
        }
    })
    .unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(matches!(&error, DriveError::GaveUp { client: 1, kind: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn nine_failures_in_a_row_are_borne() {
    let outcome = run(&plan(1, 1, 100), |_| {
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
    let connect = |share: &Share| {
        if share.clients.start == 5 {
            return Err("no such socket");
        }
        Ok(alone(|| {
            operated.fetch_add(1, Relaxed);
            ok()
        }))
    };
    let started = Instant::now();
    let error = drive(&plan(8, 1, 60_000), connect, &AtomicBool::new(false), &mut quietly);
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
        Ok(alone(ok))
    };
    let _ = drive(&plan(3, 1, 60_000), connect, &AtomicBool::new(false), &mut quietly);
}

#[test]
fn clients_stay_on_their_thread() {
    // An Rc can't be sent: this compiles because clients never are.
    let outcome = run(&plan(2, 1, 50), |_| {
        let turns = Rc::new(Cell::new(0));
        move || {
            turns.set(turns.get() + 1);
            ok()
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
            ok()
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
    assert!(outcome.kinds[0].slots.len() <= 2 && outcome.window_s.1 < 2.0);
}

#[test]
fn progress_tells_the_last_seconds_rate_and_latency() {
    let mut seen = Vec::new();
    let connect = |_: &Share| {
        Ok::<_, Infallible>(alone(|| {
            sleep(Duration::from_millis(4));
            ok()
        }))
    };
    let plan = plan(2, 1, 1500);
    drive(&plan, connect, &AtomicBool::new(false), &mut |progress: &Progress| seen.push(*progress))
        .unwrap();
    assert!((6..=8).contains(&seen.len()), "{}", seen.len());
    assert!(seen.windows(2).all(|pair| pair[0].operations <= pair[1].operations));
    let last = seen.last().unwrap();
    assert!((100.0..=600.0).contains(&last.per_second), "{last:?}");
    assert!(last.mean_s.is_some_and(|mean| (0.004..0.02).contains(&mean)), "{last:?}");
}

#[test]
fn two_hundred_clients_run_together() {
    let outcome = in_turn(&plan(200, 2, 500), |_| {
        |_| {
            sleep(Duration::from_millis(10));
            ok()
        }
    })
    .unwrap();
    assert_eq!(outcome.drivers.len(), 200);
    assert!((100..=200).contains(&outcome.in_flight), "{}", outcome.in_flight);
    for operation in &outcome.kinds {
        // 100 clients, 500 ms, 10 ms and a little more each.
        assert!((300..=5400).contains(&count(operation)), "{}", count(operation));
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
            ok()
        }
    })
    .unwrap()
}

fn even(per_second: f64) -> Pace {
    Pace::Open { per_second, arrivals: &Arrivals::EVEN, seed: 1 }
}

#[test]
fn an_open_loop_starts_as_many_as_are_due_whatever_the_clients_could_do() {
    for arrivals in ARRIVALS {
        let pace = Pace::Open { per_second: 300.0, arrivals, seed: 5 };
        let outcome = paced(4, 1000, pace, Duration::from_millis(1));
        let open = outcome.open.as_ref().unwrap();
        // In a window of 0.9 s.
        let (kind, spread) = (&outcome.kinds[0], if *arrivals == Arrivals::EVEN { 0 } else { 60 });
        assert!(kind.kept.len().abs_diff(270) <= spread, "{arrivals:?}: {}", kind.kept.len());
        assert!(near(outcome.rates(4)[0], kind.kept.len() as f64 / 0.9));
        assert!(open.not_started <= 3, "{arrivals:?}: {open:?}");
        assert!(!outcome.stopped);
        // Four clients are seldom all busy: service and response are nearly the same.
        let service = kind.service.as_ref().unwrap();
        assert_eq!(service.len(), kind.kept.len());
        assert!(service.min() >= 999_000 && kind.kept.mean() >= service.mean());
        assert_eq!(open.start_delay.len(), kind.kept.len());
    }
}

#[test]
fn what_comes_faster_than_it_is_served_waits_and_is_counted_when_nobody_starts_it() {
    // One client that can do 100 a second is given 200.
    let outcome = paced(1, 1000, even(200.0), Duration::from_millis(10));
    let open = outcome.open.as_ref().unwrap();
    let done = count(&outcome.kinds[0]);
    assert!(done <= 101, "{done}");
    let all = done + open.not_started;
    assert!((200..=201).contains(&all), "late is late, and nothing is skipped: {all}");
    assert!(open.most_waiting >= open.not_started && open.not_started > 50, "{open:?}");
    assert!(outcome.ran < Duration::from_millis(1100), "what fell behind is not waited for");
    // The last ones waited for about half of the time.
    let service = outcome.kinds[0].service.as_ref().unwrap();
    assert!(outcome.kinds[0].kept.max() > 400_000_000, "{}", outcome.kinds[0].kept.max());
    assert!(service.value_at_quantile(0.5) < 20_000_000);
    assert!(open.start_delay_p99_s().unwrap() > 0.4);
}

/// Three that are due when the window ends and have not started are late, and not too many: their
/// response times count.
#[test]
fn the_few_that_wait_at_the_windows_end_are_followed() {
    let plan = Plan { pace: even(100.0), ..plan(1, 1, 1000) };
    let outcome = run(&plan, |_| {
        let mut turn = 0;
        move || {
            turn += 1;
            sleep(Duration::from_millis(if turn == 97 { 300 } else { 1 }));
            ok()
        }
    })
    .unwrap();
    let kind = &outcome.kinds[0];
    let waiting = outcome.open.as_ref().unwrap().not_started;
    assert!((1..=3).contains(&waiting), "{waiting}");
    assert_eq!(outcome.open.as_ref().unwrap().due, 100, "until the window ended, and no longer");
    assert_eq!((kind.kept.len(), outcome.window_s), (90, (0.1, 1.0)));
    let late = kind.kept.count_between(200_000_000, u64::MAX - 1);
    assert!((2..=6).contains(&late), "the long one, and those that waited for it: {late}");
}

/// The machine may stall besides, now and then: one of five is without that.
#[test]
fn a_stall_shows_in_the_response_time_of_all_that_were_due_meanwhile() {
    let plan = Plan { pace: even(500.0), ..plan(1, 1, 1000) };
    let stalled = || {
        let outcome = run(&plan, |_| {
            let mut turn = 0;
            move || {
                turn += 1;
                sleep(Duration::from_micros(if turn == 100 { 200_000 } else { 100 }));
                ok()
            }
        })
        .unwrap();
        let late = outcome.kinds[0].kept.count_between(20_000_000, u64::MAX - 1);
        (late, outcome.open.unwrap().not_started)
    };
    let tried: Vec<_> = std::iter::repeat_with(stalled).take(5).collect();
    // 100 were due in the stall; a closed loop would have shown one.
    assert!(tried.iter().all(|(late, _)| *late >= 60), "{tried:?}");
    let alone = tried.iter().any(|(late, waiting)| *late <= 110 && *waiting <= 1);
    assert!(alone, "late, and not started: {tried:?}");
}

#[test]
fn a_closed_loop_has_one_latency_and_no_schedule() {
    let outcome = paced(1, 100, Pace::Closed, Duration::from_millis(1));
    assert!(outcome.open.is_none());
    assert!(outcome.kinds[0].service.is_none());
}

#[test]
fn a_slow_open_loop_can_be_stopped_between_two_starts() {
    let stop = AtomicBool::new(false);
    let plan = Plan { pace: even(0.1), ..plan(2, 1, 60_000) };
    let connect = |_: &Share| Ok::<_, Infallible>(alone(ok));
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
    // Little's law: a client is always in an operation, be it in its turn or before it.
    let all = outcome.kinds[0].all();
    let at_once = all.mean() * all.len() as f64 / 1e9 / outcome.ran.as_secs_f64();
    assert!((900.0..1010.0).contains(&at_once), "{at_once}");
}

#[test]
fn drivers_wait_until_all_is_ready_and_none_starts_where_that_is_refused() {
    let operated = AtomicU64::new(0);
    let connect = |_: &Share| {
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
    let (plan, never) = (plan(3, 1, 60_000), &AtomicBool::new(false));
    let error = drive(&plan, connect, never, &mut Refuse(&operated)).unwrap_err();
    assert!(matches!(error, DriveError::Refused("not today")));
    assert_eq!(operated.load(Relaxed), 0);
}
