//! Trials whose seconds are known.

use bakeoff_results::{Debts, Measures, OperationSummary, histogram};

use super::*;
use crate::tests::trial_at;

/// A slot with so many operations, each of so many milliseconds.
fn slot((start_s, end_s): (f64, f64), operations: u64, milliseconds: u64) -> SlotSummary {
    let each = if operations > 0 { milliseconds * 1_000_000 } else { 0 };
    SlotSummary { start_s, end_s, count: operations, least: each, mean: each as f64, most: each }
}

/// A trial of whole seconds, each with so many operations of 4 ms.
fn course(operations: impl IntoIterator<Item = u64>) -> TrialCourse {
    let second = |(at, number): (usize, u64)| slot((at as f64, at as f64 + 1.0), number, 4);
    let slots = operations.into_iter().enumerate().map(second).collect();
    TrialCourse { operations: vec![slots], debts: Debts::default() }
}

fn trial(block: u32, level: &str, per_second: f64) -> TrialSummary {
    let operation = OperationSummary {
        per_second,
        ..OperationSummary::of_histograms("work", &histogram::new_histogram(), None)
    };
    TrialSummary {
        block,
        ran_s: Some(900.0),
        operations: vec![operation],
        ..trial_at(&[("engine", level)], Measures::default())
    }
}

fn of(course: &TrialCourse) -> Option<OverTime> {
    OverTime::from_course(&trial(0, "a", 1.0), course)
}

fn near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one / other - 1.0).abs() < 0.001)
}

/// One second in 900 in which nothing ended: it is in no mean, but it is the least of its piece.
#[test]
fn thinning_keeps_every_stall_and_every_operation() {
    let stalled = |second: u64| if second == 601 { 0 } else { 50 + second % 7 };
    let operations: u64 = (0..900).map(stalled).sum();
    let over_time = of(&course((0..900).map(stalled))).unwrap();
    let line = &over_time.per_second;
    assert_eq!(line.len(), 300);
    let stalls: Vec<&LinePiece> = line.iter().filter(|it| it.least == Some(0.0)).collect();
    assert_eq!(stalls.len(), 1);
    assert_eq!((stalls[0].start_s, stalls[0].end_s), (600.0, 603.0));
    assert!(stalls[0].mean > Some(30.0) && stalls[0].most > Some(50.0), "{stalls:?}");
    let kept: f64 = line.iter().map(|it| it.mean.unwrap() * (it.end_s - it.start_s)).sum();
    assert!((kept - operations as f64).abs() < 1e-6, "{kept} of {operations}");
    assert_eq!((over_time.idle_s, over_time.longest_idle_s), (1.0, 1.0));
}

#[test]
fn a_second_without_operations_has_a_rate_and_no_latency() {
    let mut operations = vec![10; 24];
    operations[5..9].fill(0);
    operations[11] = 0;
    let over_time = of(&course(operations)).unwrap();
    assert_eq!((over_time.per_second[5].mean, over_time.latency_s[5].mean), (Some(0.0), None));
    assert!(near(over_time.latency_s[4].mean, 0.004));
    assert_eq!((over_time.idle_s, over_time.longest_idle_s), (5.0, 4.0));
    assert_eq!(over_time.thirds_per_second, [50.0 / 8.0, 60.0 / 8.0, 10.0]);
}

/// What somebody else's run folder can say: more operations than can be counted.
#[test]
fn operations_without_number_are_no_overflow() {
    let course = course([u64::MAX; 30]);
    let twice = TrialCourse { operations: vec![course.operations[0].clone(); 2], ..course };
    let over_time = of(&twice).unwrap();
    assert_eq!(over_time.per_second[0].mean, Some(u64::MAX as f64));
}

/// The last 3 ms of a trial, in which one operation ended, are no rate of 333 a second.
#[test]
fn what_is_left_of_the_last_second_is_no_rate_of_its_own() {
    let mut course = course([10; 20]);
    course.operations[0].push(slot((20.0, 20.003), 1, 4));
    let line = of(&course).unwrap().per_second;
    assert_eq!((line.len(), line[19].end_s), (20, 20.003));
    assert!(near(line[19].mean, 11.0 / 1.003), "{:?}", line[19]);
    assert_eq!(of(&self::course([10; 19])), None, "19 s say nothing");
}

#[test]
fn the_mean_latency_is_of_all_operations_together() {
    let mut course = course([30; 20]);
    let slow = (0..20).map(|at| slot((f64::from(at), f64::from(at) + 1.0), 10, 400));
    course.operations.push(slow.collect());
    let over_time = of(&course).unwrap();
    assert!(near(over_time.latency_s[3].mean, (30.0 * 0.004 + 10.0 * 0.4) / 40.0));
    assert_eq!(over_time.per_second[3].mean, Some(40.0));
}

#[test]
fn debts_are_thinned_as_operations_are_and_payments_keep_their_number() {
    let mut course = course([1; 900]);
    let amount = |second: u32| if second == 700 { 90_000 } else { u64::from(second) };
    let points = (0..900).map(|second| (f64::from(second), amount(second))).collect();
    let name = "dirty pages".to_owned();
    let owed = OwedSeries { name, unit: "pages".to_owned(), limit: Some(100_000), points };
    let ended = vec![(10.0, 1), (12.9, 2), (13.1, 4), (800.0, 8)];
    let payment = PaymentSeries { name: "flush".to_owned(), ended };
    course.debts = Debts { owed: vec![owed], payments: vec![payment] };
    let over_time = of(&course).unwrap();
    let owed = &over_time.owed[0];
    assert_eq!((owed.pieces.len(), owed.limit), (300, Some(100_000)));
    let peak = owed.pieces.iter().find(|it| it.most == Some(90_000.0)).expect("the peak is kept");
    assert_eq!((peak.start_s, peak.end_s, peak.least), (699.0, 701.0, Some(699.0)));
    assert_eq!(over_time.payments[0].ended, [(10.0, 3), (13.1, 4), (800.0, 8)]);
}

/// All levels are shown by the same block: neither the fastest nor the slowest of those that have
/// them all.
#[test]
fn the_block_in_the_middle_is_shown() {
    let rates = [(0, [90.0, 9.0]), (1, [10.0, 1.0]), (2, [30.0, 5.0])];
    let mut trials: Vec<TrialSummary> = Vec::new();
    for (block, [a, b]) in rates {
        trials.extend([trial(block, "a", a), trial(block, "b", b)]);
    }
    // Two more in the middle, which lack a level.
    trials.extend([trial(3, "a", 31.0), trial(4, "a", 32.0)]);
    let counted: Vec<&TrialSummary> = trials.iter().collect();
    let chosen = choose_trials("engine", &counted);
    let blocks: Vec<u32> = chosen.values().map(|trial| trial.block).collect();
    assert_eq!(blocks, [2, 2]);
}
