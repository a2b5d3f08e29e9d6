//! Levels that stand still: whole seconds of the window in which no operation of any kind ended.

use bakeoff_analysis::{Document, IdleComparison, IdleTime};
use bakeoff_results::Trial;
use bakeoff_testkit::synthetic::TrialGenerator;

use crate::known::{document, measured, of_engine};
use crate::schema::assert_fits;

/// So many blocks of 20 seconds, of which 16 are in the window. In each second so many operations of each of two
/// kinds end.
fn full_blocks(number: u32, per_second: u32) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, per_second);
    let block = |block| generator.generate_block(block, block, ["1", "0"]);
    (0..number).flat_map(block).collect()
}

/// Nothing of these kinds ended in these seconds.
fn stand_still(trial: &mut Trial, kinds: &[usize], seconds: &[usize]) {
    for kind in kinds {
        let slots = &mut measured(trial).operations[*kind].slots;
        seconds.iter().for_each(|second| slots[*second].histogram.reset());
    }
}

/// Four seconds of each trial of an engine.
fn with_idle(blocks: u32, per_second: u32) -> Vec<Trial> {
    let mut trials = full_blocks(blocks, per_second);
    of_engine(&mut trials, "beta").for_each(|it| stand_still(it, &[0, 1], &[3, 6, 9, 12]));
    trials
}

fn pairs(document: &Document) -> Vec<(&str, &str)> {
    document.idle.iter().map(|it| (it.baseline.as_str(), it.level.as_str())).collect()
}

#[test]
fn a_level_that_stands_still_is_told_with_each_that_does_not() {
    let mut trials = with_idle(5, 10);
    // Outside the window, and of one kind alone.
    of_engine(&mut trials, "alpha").for_each(|it| stand_still(it, &[0, 1], &[0, 1, 18, 19]));
    of_engine(&mut trials, "gamma").for_each(|it| stand_still(it, &[0], &[3, 6]));
    let document = document(&trials);
    assert_eq!(pairs(&document), [("alpha", "beta"), ("beta", "gamma")]);
    let idle = |idle_s, trials| IdleTime { idle_s, whole_s: 16.0, trials };
    let IdleComparison { baseline_idle, level_idle, clear, blocks, .. } = document.idle[0];
    assert_eq!((baseline_idle, level_idle), (idle(0.0, 0), idle(4.0, 5)));
    assert_eq!((clear, blocks, document.idle[0].more_s_a_minute), (true, 5, 15.0));
    assert_eq!(document.idle[1].more_s_a_minute, -15.0);
    // One family: six comparisons by means, and two of idle seconds.
    assert!(document.comparisons.iter().all(|it| it.adjusted_over == 8));
    assert_fits(&document);
}

#[test]
fn few_blocks_are_told_and_not_called_clear() {
    let document = document(&with_idle(2, 10));
    assert_eq!(pairs(&document), [("alpha", "beta"), ("beta", "gamma")]);
    assert!(document.idle.iter().all(|it| !it.clear && it.p_adjusted.is_some()));
}

#[test]
fn one_trial_and_a_slow_level_tell_nothing() {
    let mut once = full_blocks(5, 10);
    stand_still(of_engine(&mut once, "beta").next().unwrap(), &[0, 1], &[4, 5, 6]);
    assert_eq!(document(&once).idle, []);
    // With four operations a second, a second without one is its pace.
    assert_eq!(document(&with_idle(5, 2)).idle, []);
}
