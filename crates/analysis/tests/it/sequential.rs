//! Runs that go on until they are decided: when they are judged, by what, and why they end.

use bakeoff_analysis::{
    Comparison, ConditionState, Document, FIRST_LOOK, JudgedRun, Verdict, WarningKind, replay,
    schedule_looks,
};
use bakeoff_results::{Run, RunFolder, Status, Trial};
use bakeoff_testkit::synthetic::run;

use crate::known::{blocks_that_take, fail, of_engine, plain_run, read, take, told, write};

/// Blocks of alpha and beta, in which each takes so many milliseconds.
fn blocks(number: u32, take_ms: impl Fn(u32, &str) -> f64) -> Vec<Trial> {
    let mut trials = blocks_that_take(number, take_ms);
    trials.retain(|trial| ["alpha", "beta"].contains(&&*trial.levels["engine"]));
    trials
}

/// Two levels, one condition, two operations.
fn two() -> Run {
    let mut run = plain_run(40);
    run.factors[0].1.truncate(2);
    run
}

fn until_decided(most: u32) -> Run {
    let run = two();
    let sequential = schedule_looks(&run, FIRST_LOOK..=most, None);
    Run { sequential, ..run }
}

fn first(document: &Document) -> &Comparison {
    &document.comparisons[0]
}

/// A ripple of a few percent of one level against the other, never the same.
fn ripple(block: u32) -> f64 {
    1.0 + 0.02 * f64::from((block * 7) % 5) - 0.04
}

fn slower(block: u32, level: &str) -> f64 {
    if level == "beta" { 15.0 * ripple(block) } else { 10.0 }
}

/// Ratios around 1 that leave it open until the end: 12 % either way.
fn open(block: u32, level: &str) -> f64 {
    let sign = if (block / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
    if level == "beta" { 10.3 * (1.0 + 0.06 * sign * ripple(block)) } else { 10.0 }
}

#[test]
fn a_word_is_read_at_looks_alone() {
    let run = until_decided(20);
    // The last block would turn anything round.
    let turned = |block: u32, level: &str| match (block, level) {
        (6, "beta") => 1.0,
        _ => slower(block, level),
    };
    let [two, three, six, seven] = [2, 3, 6, 7].map(|n| read(&run, &blocks(n, turned)));
    assert_eq!((first(&two).low, first(&two).verdict), (None, Verdict::Undecided));
    assert!(first(&two).ratio.is_some() && first(&three).low.is_some());
    assert_eq!(first(&six).verdict, Verdict::Slower);
    assert_eq!(first(&seven), &Comparison { ..first(&six).clone() });
    let reached = |document: &Document| {
        let condition = &document.conditions[0];
        (condition.blocks, condition.judged_at)
    };
    assert_eq!([&two, &three, &six, &seven].map(reached), [(2, 0), (3, 3), (6, 6), (7, 6)]);
    assert_eq!(two.conditions[0].state, ConditionState::Open);
    assert_eq!(six.conditions[0].state, ConditionState::Decided);
}

/// The same trials, judged once and at looks: the latter's intervals are wider, and there is no
/// adjustment beside them.
#[test]
fn words_are_read_from_repeated_intervals() {
    let run = until_decided(20);
    let sequential = run.sequential.as_ref().unwrap();
    assert_eq!((sequential.comparisons, sequential.looks[0]), (2, 3));
    assert!((0.9955..0.996).contains(&sequential.confidence), "{}", sequential.confidence);
    let trials =
        blocks(4, |block, level| if level == "beta" { 10.8 * ripple(block) } else { 10.0 });
    let [once, looks] = [two(), run].map(|run| read(&run, &trials));
    let [once, looks] = [first(&once), first(&looks)];
    assert!(looks.low < once.low && looks.high > once.high, "{looks:?} {once:?}");
    assert_eq!((looks.ratio, looks.p_adjusted, looks.adjusted_over), (once.ratio, None, 0));
    // Plain intervals of three blocks would have a word long before.
    let trials =
        blocks(3, |block, level| if level == "beta" { 12.0 * ripple(block) } else { 10.0 });
    let [once, looks] = [two(), until_decided(20)].map(|run| read(&run, &trials));
    assert_eq!(first(&once).verdict, Verdict::Slower);
    assert_eq!(first(&looks).verdict, Verdict::Undecided);
}

#[test]
fn why_a_condition_ends_is_told() {
    let state = |run: &Run, trials: &[Trial]| read(run, trials).conditions[0].state;
    let run = until_decided(20);
    assert_eq!(state(&run, &blocks(5, open)), ConditionState::Open, "nothing is futile before 6");
    let wild = |block: u32, level: &str| {
        if level == "beta" { 10.0 * [0.5, 2.0, 1.0][block as usize % 3] } else { 10.0 }
    };
    assert_eq!(state(&run, &blocks(6, wild)), ConditionState::OutOfReach);
    assert_eq!(state(&until_decided(5), &blocks(5, wild)), ConditionState::MaxRepetitions);
    // What has too few operations never gets a word.
    let mut few = blocks(3, slower);
    (0..2).for_each(|operation| take(&mut few[0], operation, 0.01, 19));
    assert_eq!(state(&run, &few), ConditionState::OutOfReach);
}

#[test]
fn where_the_time_is_over_it_says_so() {
    let mut run = until_decided(20);
    run.sequential.as_mut().unwrap().max_time_s = Some(60.0);
    let state = |folder: &RunFolder| JudgedRun::from_folder(folder).unwrap().conditions[0].state;
    write(&run, &blocks(4, open), |folder| {
        assert_eq!(state(folder), ConditionState::Open);
        folder.set_status(Status::Finished, Some(1.8e9)).unwrap();
        assert_eq!(state(folder), ConditionState::MaxTime);
    });
}

/// A block that fails for one level counts as run, or the run would go on for ever; what has no pair
/// gets no word.
#[test]
fn trials_that_fail_don_t_keep_a_run_going() {
    let mut trials = blocks(6, slower);
    of_engine(&mut trials, "beta").for_each(|trial| fail(trial, "it crashed"));
    let document = read(&until_decided(20), &trials);
    assert_eq!((document.conditions[0].blocks, first(&document).ratio), (6, None));
    assert_eq!(document.conditions[0].state, ConditionState::OutOfReach);
}

/// How many comparisons there are is the plan's, not what has been run: or the bar would move.
#[test]
fn the_bar_is_fixed_before_the_first_block() {
    let wide = run(&["1", "4"], &["0", "x1", "x4"], 40);
    let sequential = schedule_looks(&wide, FIRST_LOOK..=20, Some(60.0)).unwrap();
    // Three levels and an alias: three pairs, six conditions, two operations.
    assert_eq!((sequential.comparisons, sequential.max_time_s), (36, Some(60.0)));
    let mut with_harness = wide.clone();
    with_harness.engines[0].stores = false;
    assert_eq!(schedule_looks(&with_harness, FIRST_LOOK..=20, None).unwrap().comparisons, 12);
    let document = read(&Run { sequential: Some(sequential), ..wide }, &blocks(3, slower));
    assert_eq!(document.run.run.sequential.unwrap().comparisons, 36);
}

#[test]
fn blocks_that_follow_each_other_are_warned_of() {
    let warned = |take: fn(u32, &str) -> f64| {
        let document = read(&two(), &blocks(20, take));
        !told(&document, WarningKind::BlocksCorrelated).is_empty()
    };
    let slow_waves = |block: u32, level: &str| match level {
        "beta" => 10.0 * (1.0 + 0.1 * (f64::from(block) / 3.0).sin()),
        _ => 10.0,
    };
    assert!(warned(slow_waves));
    assert!(!warned(slower));
}

/// A run of twenty fixed repetitions says the same after fewer, where the ratio is clear.
#[test]
fn a_recorded_run_is_replayed() {
    let replayed = write(&two(), &blocks(20, slower), |folder| replay(folder).unwrap());
    let [condition] = &replayed[..] else { panic!("{replayed:?}") };
    assert_eq!(condition.state, ConditionState::Decided);
    assert!((3..=6).contains(&condition.blocks.0) && condition.blocks.1 == 20, "{condition:?}");
    let words: Vec<[Verdict; 2]> =
        condition.words.iter().map(|word| [word.at_last_look, word.of_all]).collect();
    assert_eq!(words, [[Verdict::Slower; 2]; 2]);
}
