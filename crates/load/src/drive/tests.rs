//! Drives in virtual time: what counts, when they end, and what is told of them.

mod simulated;

use self::simulated::{Work, simulated, simulated_until};
use super::*;
use crate::slot::new_histogram;
use crate::{ARRIVALS, ArrivalProcess, ArrivalRandom, EndedOperation, OperationOutcome};

const MS: ClockNanos = 1_000_000;

fn plan(clients: usize, kinds: usize, milliseconds: u64) -> DrivePlan {
    let whole = Duration::from_millis(milliseconds);
    DrivePlan { warm_up: whole / 10, ..DrivePlan::closed_loop(clients, kinds, whole) }
}

/// A client with one kind of operation that takes so long.
fn takes(milliseconds: u64) -> impl FnMut(usize) -> Work {
    move |_| Work::of(0, milliseconds * MS)
}

/// A client that takes the kinds from its own number in turn, each of which takes its time.
fn in_turn(first: usize, milliseconds: &[u64]) -> impl FnMut(usize) -> Work {
    move |turn| {
        let kind = (first + turn - 1) % milliseconds.len();
        Work::of(kind, milliseconds[kind] * MS)
    }
}

fn failing(takes: ClockNanos, text: &str) -> Work {
    Work {
        done: OperationOutcome { error: Some(text.into()), ..OperationOutcome::default() },
        ..Work::of(0, takes)
    }
}

/// Whether two latencies are the same to 3 digits, as a histogram has them.
fn same(one: u64, other: u64) -> bool {
    let mut histogram = new_histogram();
    histogram.record(one.max(other)).unwrap();
    histogram.equivalent(one, other)
}

fn counts(kind: &KindOutcome) -> Vec<u64> {
    kind.slots.iter().map(|slot| slot.histogram.len()).collect()
}

fn kept(outcome: &DriveOutcome) -> Vec<u64> {
    outcome.kinds.iter().map(|kind| kind.kept.len()).collect()
}

fn ran_ms(outcome: &DriveOutcome) -> u64 {
    to_nanoseconds(outcome.ran) / MS
}

#[test]
fn slots_cover_the_time_and_the_window_is_what_started_in_it() {
    let seen = simulated(&plan(2, 1, 1500), |_| takes(1));
    let outcome = &seen.outcome;
    let slots = &outcome.kinds[0].slots;
    let edges: Vec<_> = slots.iter().map(|slot| (slot.start_s, slot.end_s)).collect();
    assert_eq!(edges, [(0.0, 1.0), (1.0, 1.501)]);
    // What ends with a slot belongs to the next; one more starts with the window's end.
    assert_eq!(counts(&outcome.kinds[0]), [2 * 999, 2 * 501 + 1]);
    assert_eq!((outcome.window_s, kept(outcome)), ((0.15, 1.5), vec![2 * 1350]));
    assert_eq!((seen.done, ran_ms(outcome)), (3001, 1501));
    assert!(!outcome.stopped && outcome.kinds[0].unfinished == 0 && outcome.in_flight <= 2);
}

#[test]
fn latencies_are_those_of_the_client() {
    let outcome = simulated(&plan(1, 2, 600), |client| in_turn(client, &[5, 20])).outcome;
    for (kind, takes) in outcome.kinds.iter().zip([5 * MS, 20 * MS]) {
        let all = kind.merge_latencies();
        assert!(same(all.min(), takes) && same(all.max(), takes), "{takes}: {all:?}");
    }
    // One client is always inside an operation.
    let busy: f64 = outcome
        .kinds
        .iter()
        .map(KindOutcome::merge_latencies)
        .map(|all| all.mean() * all.len() as f64)
        .sum();
    assert!((busy / 1e9 / outcome.ran.as_secs_f64() - 1.0).abs() < 0.001, "{busy}");
}

/// The easy, wrong window takes what ends in it, and drops the operation that is under way at its
/// end: here the only one that counts but one.
#[test]
fn an_operation_that_starts_in_the_window_is_followed_to_its_end() {
    let outcome = simulated(&plan(1, 1, 1000), |_| takes(700)).outcome;
    let kind = &outcome.kinds[0];
    // It starts at 0, at 0.7 and, the window being over, at 1.4: of these the second counts.
    assert_eq!((kind.kept.len(), outcome.in_flight, kind.unfinished), (1, 1, 0));
    assert_eq!(ran_ms(&outcome), 1400, "followed, and no other one started for nothing");
    assert_eq!(counts(kind), [1, 1], "an operation belongs to the slot in which it ended");
    assert_eq!(outcome.window_s, (0.1, 1.0));
}

/// The first client is in its first operation from before the window until after it, and counts: it
/// was there for all of it. What the other does meanwhile keeps the load up, and does not count.
#[test]
fn clients_keep_working_until_the_last_that_counts_is_over() {
    let client = |number| takes(if number == 0 { 1300 } else { 10 });
    let seen = simulated(&plan(2, 1, 500), client);
    let kind = &seen.outcome.kinds[0];
    assert_eq!(
        (kind.kept.len(), kind.count_succeeded(), ran_ms(&seen.outcome)),
        (1 + 45, 131, 1300)
    );
    assert!(same(kind.kept.max(), 1300 * MS));

    let client =
        |number| move |turn| Work::of(0, MS * if (number, turn) == (0, 2) { 1000 } else { 60 });
    let seen = simulated(&plan(2, 1, 500), client);
    let kind = &seen.outcome.kinds[0];
    // The long one from 60 to 1060 ms, and those of the other from 60, 120 … 480 ms.
    assert_eq!((kind.kept.len(), kind.count_succeeded(), ran_ms(&seen.outcome)), (1 + 8, 20, 1080));
    assert!(same(kind.kept.max(), 1000 * MS), "the long one counts");
}

#[test]
fn the_window_waits_for_enough_of_the_slowest_kind() {
    let plan = DrivePlan { least: 5, ..plan(1, 2, 300) };
    let outcome = simulated(&plan, |client| in_turn(client, &[20, 150])).outcome;
    // The fifth of the slow kind that counts ends at 1020 ms, and a batch tells so 200 ms later at
    // most.
    let end = outcome.window_s.1;
    assert!((1.02..=1.22).contains(&end), "{end}");
    assert_eq!(outcome.kinds[1].kept.count_between(0, u64::MAX), kept(&outcome)[1]);
    assert!(kept(&outcome).iter().all(|kept| (5..=6).contains(kept)), "{:?}", kept(&outcome));
    assert!(outcome.kinds.iter().all(|kind| kind.unfinished == 0));
    // Counted in the window the one may come out more often than the other.
    let [a, b] = outcome.rates()[..] else { panic!("two rates") };
    assert!((a / b - 1.0).abs() < 0.2 && (b - 1.0 / 0.17).abs() < 0.6, "{a} and {b}");
}

#[test]
fn enough_operations_of_each_kind_end_a_drive_before_its_time() {
    let wanted = DrivePlan { enough: Some(5), least: 2, ..plan(1, 2, 5000) };
    let outcome = simulated(&wanted, |client| in_turn(client, &[20, 150])).outcome;
    // The fifth of the slow kind that counts ends at 1360 ms, and a batch tells so 200 ms later at most.
    let end = outcome.window_s.1;
    assert!((1.36..=1.57).contains(&end), "{end}");
    assert!(kept(&outcome).iter().all(|kept| (5..=7).contains(kept)), "{:?}", kept(&outcome));
    assert!(!outcome.stopped && outcome.kinds.iter().all(|kind| kind.unfinished == 0));
    // Where they are too slow for that, it ends with its time, and waits for the least as ever.
    let slow = simulated(&DrivePlan { enough: Some(1000), ..plan(1, 2, 1000) }, |client| {
        in_turn(client, &[20, 150])
    });
    assert_eq!(slow.outcome.window_s, (0.1, 1.0));
    let waits = DrivePlan { enough: Some(1000), least: 5, ..plan(1, 2, 300) };
    let waits = simulated(&waits, |client| in_turn(client, &[20, 150])).outcome;
    assert!((1.02..=1.22).contains(&waits.window_s.1), "{:?}", waits.window_s);
}

/// The easy, wrong window that ends by a number leaves out what outlasts it.
#[test]
fn a_drive_that_a_number_ends_leaves_nothing_out_that_was_slow() {
    let wanted = DrivePlan { enough: Some(5), ..plan(2, 1, 5000) };
    let client = |number| takes(if number == 0 { 1300 } else { 10 });
    let outcome = simulated(&wanted, client).outcome;
    let (kind, end) = (&outcome.kinds[0], outcome.window_s.1);
    assert!((0.55..=0.76).contains(&end), "{end}");
    assert!(same(kind.kept.max(), 1300 * MS), "it was there for all of the window, and counts");
    assert_eq!((kind.unfinished, ran_ms(&outcome)), (0, 1300), "it is followed to its end");
}

/// With one kind of operation and no failure the counted rate is what is in flight over the mean time,
/// but for the edges.
#[test]
fn counted_and_littles_rate_agree_where_no_client_starves() {
    let rows = |turn: usize| crate::WorkAmount {
        rows: 1 + turn as u64 % 2,
        bytes: 4096,
        ..Default::default()
    };
    let client = |_| {
        move |turn: usize| Work {
            done: OperationOutcome { work: rows(turn), ..OperationOutcome::default() },
            ..Work::of(0, if turn.is_multiple_of(5) { 30 * MS } else { 10 * MS })
        }
    };
    let outcome = simulated(&plan(3, 1, 2000), client).outcome;
    let (kind, totals) = (&outcome.kinds[0], outcome.totals());
    let inverse = 3.0 / (kind.kept.mean() / 1e9);
    let little = outcome.littles_rate(3).unwrap();
    assert!((little / inverse - 1.0).abs() < 1e-9, "{little} {inverse}");
    // One operation of each client at the edges of 1.9 s.
    assert!((totals.operations - inverse).abs() <= 3.0 / 1.9, "{totals:?} {inverse}");
    assert_eq!(outcome.count_starved(), 0);
    assert_eq!(kind.ended.work.bytes, 4096 * kind.ended.operations);
    assert!(kind.count_succeeded() > kind.kept.len(), "some are outside of the window");
    assert_eq!(kind.work_in_all.bytes, 4096 * kind.count_succeeded());
    assert!((totals.bytes / (4096.0 * totals.operations) - 1.0).abs() < 1e-9, "{totals:?}");
    // One row and two in turn.
    assert!((totals.rows / (1.5 * totals.operations) - 1.0).abs() < 0.05, "{totals:?}");
}

/// Rates of several kinds are one; what failed is in none of them, though it took its time.
#[test]
fn a_total_is_over_all_kinds_and_leaves_failures_out() {
    let client = |_| {
        move |turn: usize| match turn % 3 {
            0 => failing(20 * MS, "no"),
            1 => Work {
                done: OperationOutcome {
                    work: crate::WorkAmount { rows: 7, ..Default::default() },
                    ..OperationOutcome::default()
                },
                ..Work::of(0, 10 * MS)
            },
            _ => Work::of(1, 30 * MS),
        }
    };
    let outcome = simulated(&plan(1, 2, 6000), client).outcome;
    let totals = outcome.totals();
    // Two that succeed in each 60 ms.
    assert!((totals.operations * 0.030 - 1.0).abs() < 0.02, "{totals:?}");
    let all: f64 = outcome.rates().iter().sum();
    assert!((all / totals.operations - 1.0).abs() < 1e-9, "{all}");
    let little = outcome.littles_rate(1).unwrap();
    assert!((little / totals.operations - 1.0).abs() < 0.02, "{little}");
    assert!((totals.rows / (3.5 * totals.operations) - 1.0).abs() < 0.02, "{totals:?}");
    assert_eq!(totals.bytes, 0.0);
    assert_eq!(outcome.kinds[0].work_in_all.rows, 7 * outcome.kinds[0].count_succeeded());
    assert_eq!(outcome.kinds[1].work_in_all, crate::WorkAmount::default());
}

#[test]
fn what_has_not_ended_at_the_cap_took_that_long_at_least() {
    let plan = DrivePlan { least: 3, cap: Duration::from_millis(700), ..plan(2, 2, 200) };
    let client = |number| in_turn(number, if number == 0 { &[30, 30] } else { &[30, 1200] });
    let outcome = simulated(&plan, client).outcome;
    // The other client's are enough: the third of its first kind that counts ends at 210 ms.
    assert_eq!(outcome.window_s, (0.02, 0.21));
    // The second client's first operation began before the window and outlasts it.
    assert_eq!([0, 1].map(|kind| outcome.kinds[kind].unfinished), [0, 1]);
    assert_eq!(kept(&outcome), [3, 3 + 1]);
    assert!(same(outcome.kinds[1].kept.max(), 700 * MS));

    let client = |number| {
        let mut usual = in_turn(number, &[30, 30]);
        move |turn| Work {
            takes: MS * if (number, turn) == (1, 3) { 1200 } else { 30 },
            ..usual(turn)
        }
    };
    let never = simulated(&DrivePlan { least: 1000, ..plan }, client).outcome;
    assert_eq!(never.window_s.1, 0.7);
    let unfinished: u64 = never.kinds.iter().map(|kind| kind.unfinished).sum();
    assert_eq!(unfinished, 2, "the long one, and one of the other client's");
    let longest = never.kinds.iter().map(|kind| kind.kept.max()).max().unwrap();
    assert!(same(longest, 640 * MS), "cut off, not followed: {longest}");
    assert_eq!(ran_ms(&never), 1260, "its client is waited for all the same");
}

/// The one client is in its first operation from before the window until after the cap: it says how
/// slow it is at least, and is no gap.
#[test]
fn what_started_before_the_window_and_outlasts_the_cap_is_a_bound() {
    let plan = DrivePlan { least: 5, cap: Duration::from_millis(400), ..plan(1, 1, 200) };
    let outcome = simulated(&plan, |_| takes(600)).outcome;
    let kind = &outcome.kinds[0];
    assert_eq!((kind.kept.len(), kind.unfinished), (1, 1));
    assert!(same(kind.kept.max(), 400 * MS), "{}", kind.kept.max());
}

/// A client hangs for ten seconds: what is known is told without it, once.
#[test]
fn a_client_that_is_overdue_is_told_of() {
    let plan = DrivePlan { cap: Duration::from_millis(300), ..plan(2, 2, 200) };
    let plan = DrivePlan { patience: Duration::from_millis(200), least: 1, ..plan };
    let client = |number| {
        let mut usual = in_turn(0, &[5, 5]);
        move |turn| Work {
            takes: MS * if (number, turn) == (1, 12) { 10_000 } else { 5 },
            ..usual(turn)
        }
    };
    let seen = simulated(&plan, client);
    let [told] = &seen.overdue[..] else { panic!("told {} times", seen.overdue.len()) };
    let unfinished = |outcome: &DriveOutcome| [0, 1].map(|kind| outcome.kinds[kind].unfinished);
    assert_eq!(unfinished(told), [0, 1]);
    let waited = told.kinds[1].kept.max();
    assert!(same(waited, 245 * MS), "since 55 ms until the cap: {waited}");
    // Of the other client those that began at 20, 30 … 190 ms, and of the other kind 5 ms later; the
    // one that hangs has not handed over what it did until 55 ms.
    assert_eq!(kept(told), [18, 18 + 1], "all else is there");
    assert_eq!(kept(&seen.outcome), [18 + 4, 18 + 3 + 1]);
    assert_eq!(unfinished(&seen.outcome), [0, 1], "what ends after the cap ends too late");
    assert_eq!(seen.outcome.kinds[1].kept.max(), waited);
    assert_eq!(ran_ms(&seen.outcome), 10_055);
}

#[test]
fn nothing_is_lost() {
    let seen = simulated(&plan(3, 5, 400), |client| {
        let mut usual = in_turn(client, &[1; 5]);
        move |turn| Work { takes: 1000, ..usual(turn) }
    });
    let recorded: u64 = seen.outcome.kinds.iter().map(KindOutcome::count_succeeded).sum();
    assert_eq!(recorded, seen.done);
    assert_eq!(kept(&seen.outcome).iter().sum::<u64>(), 3 * 360_000);
}

#[test]
fn failures_and_retries_are_counted_apart_from_latencies() {
    // Of ten turns one succeeds, in twice the time: nine failures in a row are borne.
    let client = |_| {
        |turn: usize| match turn % 10 {
            0 => Work {
                done: OperationOutcome { retries: 3, ..OperationOutcome::default() },
                ..Work::of(0, 2 * MS)
            },
            ninth => failing(MS, &format!("failure {ninth}")),
        }
    };
    let outcome = simulated(&plan(1, 1, 110), client).outcome;
    let kind = &outcome.kinds[0];
    assert_eq!((kind.count_succeeded(), kind.errors, kind.retries), (10, 91, 30));
    assert_eq!(kind.errors_time, Duration::from_millis(91));
    assert_eq!(kind.first_error.as_deref(), Some("failure 1"));
    assert!(same(kind.merge_latencies().min(), 2 * MS), "those that failed are quicker");
    assert!(outcome.open.is_none() && kind.service.is_none(), "a closed loop has one latency");
}

/// They are no latencies, but the window has waited long enough for them.
#[test]
fn a_kind_that_only_fails_does_not_hold_the_window() {
    let plan = DrivePlan { least: 5, ..plan(1, 2, 200) };
    let client = |_| {
        |turn: usize| match turn % 2 {
            1 => Work::of(0, 2 * MS),
            _ => Work { kind: 1, ..failing(2 * MS, "no such table") },
        }
    };
    let outcome = simulated(&plan, client).outcome;
    assert_eq!(outcome.window_s, (0.02, 0.2));
    assert_eq!((kept(&outcome), outcome.kinds[1].errors), (vec![45, 0], 50));
}

#[test]
fn a_client_that_only_fails_ends_the_drive() {
    let client = |number| {
        move |_| if number == 1 { failing(MS, "the disk is full") } else { Work::of(0, MS) }
    };
    let seen = simulated(&plan(3, 1, 60_000), client);
    assert_eq!(seen.gave_up, Some((1, "the disk is full".into())));
    assert!((10..=10 + 200).contains(&ran_ms(&seen.outcome)), "{}", ran_ms(&seen.outcome));
}

#[test]
fn stop_ends_it_early_and_keeps_what_there_is() {
    let seen = simulated_until(&plan(2, 1, 60_000), |_| takes(1), 350 * MS);
    // It was asked for at the progress of 400 ms.
    assert!(seen.outcome.stopped);
    assert!((400..=402).contains(&ran_ms(&seen.outcome)), "{}", ran_ms(&seen.outcome));
    assert_eq!(seen.outcome.kinds[0].count_succeeded(), seen.done);
    assert!((0.4..0.41).contains(&seen.outcome.window_s.1), "{:?}", seen.outcome.window_s);
}

#[test]
fn progress_tells_the_last_seconds_rate_and_latency() {
    let seen = simulated(&plan(2, 1, 1500), |_| takes(4));
    let at: Vec<u64> = seen.progress.iter().map(|it| to_nanoseconds(it.elapsed) / MS).collect();
    assert_eq!(at, [200, 400, 600, 800, 1000, 1200, 1400]);
    let last = seen.progress.last().unwrap();
    assert!((last.per_second - 500.0).abs() < 1.0, "{last:?}");
    assert!(last.mean_s.is_some_and(|mean| (mean - 0.004).abs() < 1e-9), "{last:?}");
    // The second client's last batch comes right after.
    assert_eq!(last.operations, 350 + 300);
}

fn even(per_second: f64) -> Pace {
    Pace::Open { per_second, arrivals: &ArrivalProcess::EVEN, seed: 1 }
}

#[test]
fn an_open_loop_starts_as_many_as_are_due_whatever_the_clients_could_do() {
    for arrivals in ARRIVALS {
        let pace = Pace::Open { per_second: 300.0, arrivals, seed: 5 };
        let outcome = simulated(&DrivePlan { pace, ..plan(4, 1, 1000) }, |_| takes(1)).outcome;
        let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
        // In a window of 0.9 s.
        let spread = if *arrivals == ArrivalProcess::EVEN { 0 } else { 60 };
        assert!(kind.kept.len().abs_diff(270) <= spread, "{arrivals:?}: {}", kind.kept.len());
        assert!((outcome.rates()[0] - kind.kept.len() as f64 / 0.9).abs() < 5.0);
        assert_eq!(outcome.littles_rate(4), None, "its clients wait for work");
        assert_eq!(open.not_started, 0, "{arrivals:?}: {open:?}");
        assert!(!outcome.stopped);
        // Four clients are seldom all busy: service and response are nearly the same.
        let service = kind.service.as_ref().unwrap();
        assert!(same(service.min(), MS) && same(service.max(), MS));
        assert!(kind.kept.mean() >= service.mean() && kind.kept.mean() < 1.05 * service.mean());
        let all = kind.kept.len();
        assert_eq!((service.len(), open.start_delay.len()), (all, all));
    }
}

#[test]
fn a_number_ends_an_open_loop_too_and_what_was_due_by_then_is_counted() {
    let wanted = DrivePlan { pace: even(100.0), enough: Some(20), ..plan(1, 1, 5000) };
    let outcome = simulated(&wanted, |_| takes(1)).outcome;
    let (end, open) = (outcome.window_s.1, outcome.open.as_ref().unwrap());
    assert!((0.69..=0.92).contains(&end), "{end}");
    assert_eq!(open.not_started, 0);
    assert!((open.due as f64 - end * 100.0).abs() <= 1.0, "{} by {end}", open.due);
    assert!((20..=43).contains(&kept(&outcome)[0]), "{:?}", kept(&outcome));
}

/// Clients that are free take the next starts ahead, those beyond the window's end, too: these were not
/// due in it.
#[test]
fn what_free_clients_took_ahead_was_not_due() {
    for (arrivals, clients) in ARRIVALS.into_iter().flat_map(|it| [(it, 1), (it, 7), (it, 40)]) {
        let pace = Pace::Open { per_second: 300.0, arrivals, seed: 5 };
        let plan = DrivePlan { pace, warm_up: Duration::ZERO, ..plan(clients, 1, 1000) };
        let outcome = simulated(&plan, |_| takes(1)).outcome;
        let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
        // Each start in the window is one of an operation that counts.
        let case = format!("{arrivals:?}, {clients} clients");
        assert_eq!((open.due, open.not_started), (kind.kept.len(), 0), "{case}");
    }
}

/// One client that can do 100 a second is given 200.
#[test]
fn what_comes_faster_than_it_is_served_waits_and_is_counted_when_nobody_starts_it() {
    let outcome =
        simulated(&DrivePlan { pace: even(200.0), ..plan(1, 1, 1000) }, |_| takes(10)).outcome;
    let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
    let done = kind.count_succeeded();
    assert_eq!((open.due, done), (200, 100), "late is late, and nothing is skipped");
    assert_eq!((open.not_started, open.most_waiting), (100, 100));
    assert_eq!(ran_ms(&outcome), 1000, "what fell behind is not waited for");
    // The last one was due at 495 ms and ended at 1000 ms.
    let service = kind.service.as_ref().unwrap();
    assert!(same(kind.kept.max(), 505 * MS) && same(service.max(), 10 * MS));
    assert!(open.start_delay_p99_s().unwrap() > 0.48);
}

/// Three that are due when the window ends and have not started are late, and not too many: their
/// response times count.
#[test]
fn the_few_that_wait_at_the_windows_end_are_followed() {
    let client = |_| |turn| Work::of(0, MS * if turn == 97 { 300 } else { 1 });
    let outcome = simulated(&DrivePlan { pace: even(100.0), ..plan(1, 1, 1000) }, client).outcome;
    let (kind, open) = (&outcome.kinds[0], outcome.open.as_ref().unwrap());
    assert_eq!((open.due, open.not_started), (100, 3), "until the window ended, and no longer");
    assert_eq!((kind.kept.len(), outcome.window_s), (90, (0.1, 1.0)));
    let late = kind.kept.count_between(200 * MS, u64::MAX - 1);
    assert_eq!(late, 4, "the long one, and those that waited for it");
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_were_due_meanwhile() {
    let client = |_| |turn| Work::of(0, if turn == 100 { 200 * MS } else { MS / 10 });
    let outcome = simulated(&DrivePlan { pace: even(500.0), ..plan(1, 1, 1000) }, client).outcome;
    let late = outcome.kinds[0].kept.count_between(20 * MS, u64::MAX - 1);
    // 100 were due in the stall, and the last of these soon after it; a closed loop would have shown
    // one.
    assert_eq!((late, outcome.open.unwrap().not_started), (95, 0));
}

/// Whether it is event-driven, and where it says how its thread is scheduled.
struct PolicyDriver<'a>(bool, &'a std::sync::Mutex<Vec<i64>>);

impl Driver for PolicyDriver<'_> {
    fn run(&mut self, _: &mut dyn crate::Pacer, _: &mut dyn crate::OperationSink) {
        // SAFETY: it takes no memory.
        self.1.lock().unwrap().push(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) });
    }

    fn is_event_driven(&self) -> bool {
        self.0
    }
}

/// Who starts operations at their times is to be woken at once, and who blocks gains nothing.
#[test]
fn only_event_driven_drivers_of_a_closed_loop_are_batch_work() {
    let (batch, other) = (i64::from(libc::SCHED_BATCH), i64::from(libc::SCHED_OTHER));
    for (is_event_driven, pace, policy) in
        [(true, Pace::Closed, batch), (false, Pace::Closed, other), (true, even(10.0), other)]
    {
        let seen = std::sync::Mutex::new(Vec::new());
        let driver = || Box::new(PolicyDriver(is_event_driven, &seen)) as Box<dyn Driver>;
        let (plan, stop) = (DrivePlan { pace, ..plan(2, 1, 20) }, AtomicBool::new(false));
        let observe = &mut |_: &DriveProgress| ();
        let outcome = drive(&plan, |_| Ok::<_, ()>(driver()), &stop, observe).unwrap();
        assert!(!outcome.drivers.iter().any(|it| it.batch_refused));
        assert_eq!(seen.into_inner().unwrap(), [policy; 2], "{is_event_driven} {pace:?}");
    }
}

/// The collector was late: what was to start after the window is there before the window's end is known.
#[test]
fn start_delays_are_of_what_counts() {
    let plan = DrivePlan { pace: even(10.0), ..plan(1, 1, 100) };
    let (pace, stop) = (plan.pace.begin(plan.drivers), AtomicBool::new(false));
    let (halt, (empty, _empties), (_full, batches)) =
        (&StopSignal::new(&stop), sync_channel(1), sync_channel(1));
    let clock = DriverClock::stopped();
    let shared = CollectorContext { clock, batches, empties: vec![empty], pace: &pace, halt };
    let mut collector = Collector::new(&plan, true);
    let sample = |intended: ClockNanos| {
        let (intended, started, ended) = (intended * MS, (intended + 1) * MS, (intended + 2) * MS);
        let done = OperationOutcome::default();
        let ended = EndedOperation { lane: 0, kind: 0, intended, started, ended, done };
        OperationSample::new(&ended, false)
    };
    collector.take_batch(Batch { driver: 0, samples: vec![sample(50), sample(110)] }, &shared);
    collector.take_turn(120 * MS, &shared, &mut |_| (), &mut |_| ());
    assert_eq!((collector.window.end, collector.kept[0].latency.len()), (Some(100 * MS), 1));
    assert_eq!(collector.start_delay.len(), 1);
}

/// How long the operations of each of `clients` take at a device that serves one at a time, in 10 ms:
/// mostly the newest, and else one at random.
fn latencies_of_newest_first(clients: usize, seed: u64, until: ClockNanos) -> Vec<Vec<ClockNanos>> {
    let mut random = ArrivalRandom::new(seed);
    let mut waiting: Vec<(usize, ClockNanos)> = (0..clients).map(|client| (client, 0)).collect();
    let mut latencies = vec![Vec::new(); clients];
    let mut now = 0;
    while now < until {
        let newest = random.draw_uniform() < 0.9;
        let place = if newest {
            waiting.len() - 1
        } else {
            (random.draw_uniform() * waiting.len() as f64) as usize
        };
        let (client, since) = waiting.remove(place);
        now += 10 * MS;
        latencies[client].push(now - since);
        waiting.push((client, now));
    }
    // Those that still wait are served at last.
    for (client, since) in waiting {
        now += 10 * MS;
        latencies[client].push(now - since);
    }
    latencies
}

/// A device that serves the newest first ends 100 operations in each second, while some clients wait
/// for longer than the window. Little's law takes their latencies for time that the clients had.
#[test]
fn a_rate_is_what_ended_though_clients_starve() {
    let mut off = 0;
    for seed in 0..20 {
        let latencies = latencies_of_newest_first(16, seed, 60_000 * MS);
        let client = |number: usize| {
            let own = latencies[number].clone();
            move |turn: usize| Work::of(0, own.get(turn - 1).copied().unwrap_or(10 * MS))
        };
        let outcome = simulated(&DrivePlan { least: 20, ..plan(16, 1, 3000) }, client).outcome;
        let counted = outcome.rates()[0];
        assert!((95.0..=105.0).contains(&counted), "{counted} with seed {seed}");
        let little = outcome.littles_rate(16).unwrap();
        off += usize::from((little / counted).ln().abs() > 0.1);
        let longest = outcome.kinds[0].kept.max();
        assert_eq!(outcome.count_starved() > 0, longest >= 2_700 * MS, "{longest}");
    }
    assert!(off >= 5, "Little's law is off in {off} of 20 trials alone");
}
