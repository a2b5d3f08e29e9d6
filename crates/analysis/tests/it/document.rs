//! What the document says of known trials: of their cells, and of the pairs of their levels.

use crate::known::{
    blocks, cell, compared, comparison, constant, document, measured, near, set, within,
};
use bakeoff_analysis::Comparison;
use bakeoff_analysis::document::Verdict;
use bakeoff_results::measure::*;
use bakeoff_results::{Trial, histogram};

/// Two blocks, the baseline at 1 ms and 4 ms, the level at 2 ms and 12 ms: ratios 2 and 3, their
/// geometric mean √6. Its variance has one degree of freedom, and borrows at most two from the others.
#[test]
fn a_ratio_by_hand() {
    let mut trials = blocks(2);
    for (at, seconds) in [(0, 0.001), (1, 0.002), (4, 0.004), (5, 0.012)] {
        constant(&mut trials[at], seconds, 50);
    }
    let document = document(&trials);
    let found = compared(&document, "alpha", "beta");
    near(found.ratio, 6f64.sqrt());
    let freedom = found.freedom.unwrap();
    assert!(1.0 < freedom && freedom <= 3.0, "{freedom}");
    let (low, high) = (found.low.unwrap(), found.high.unwrap());
    within(0.005, Some((low * high).sqrt()), 6f64.sqrt());
    // Narrower than with t(0.975, 1) = 12.706, and wider than with the error alone.
    let error = (3f64.ln() - 2f64.ln()) / 2.0;
    let half = (high / low).ln() / 2.0;
    assert!(error < half && half < 12.706 * error, "{half}, {error}");
    assert_eq!((found.blocks, found.verdict), (2, Verdict::Undecided));
    assert_eq!((found.baseline.as_str(), found.factor.as_str()), ("alpha", "engine"));
    assert!(!found.levels.contains_key("engine") && found.levels["clients"] == "1");
}

#[test]
fn levels_are_held_against_the_baseline_and_aliases_against_themselves() {
    let document = document(&blocks(8));
    let verdict = |level| comparison(&document, "process_issues", ["alpha", level]).verdict;
    assert_eq!((verdict("beta"), verdict("gamma")), (Verdict::Slower, Verdict::Faster));
    assert_eq!(verdict("alpha@again"), Verdict::Same);
    let levels = |comparisons: &[Comparison]| -> Vec<String> {
        comparisons.iter().map(|c| format!("{} {}/{}", c.operation, c.level, c.baseline)).collect()
    };
    assert_eq!(
        levels(&document.comparisons),
        [
            "create_issue beta/alpha",
            "create_issue gamma/alpha",
            "process_issues beta/alpha",
            "process_issues gamma/alpha"
        ]
    );
    assert_eq!(
        levels(&document.noise),
        ["create_issue alpha@again/alpha", "process_issues alpha@again/alpha"]
    );
}

/// A run that has only just begun: its alias has run, and what it is an alias of has not.
#[test]
fn an_alias_is_one_before_its_base_has_run() {
    let document = document(&blocks(1)[3..]);
    assert!(document.comparisons.is_empty(), "{:?}", document.comparisons);
    assert_eq!((document.noise.len(), document.noise[0].ratio), (2, None));
}

/// The trials' own figures are enough for it: no histogram is read.
#[test]
fn a_cell_has_the_count_and_the_longest_of_all_its_trials() {
    let trials = blocks(4);
    let document = document(&trials);
    assert!(document.cells.len() > 1);
    for cell in &document.cells {
        for (place, view) in cell.operations.iter().enumerate() {
            let mut all = histogram::new_histogram();
            for trial in trials.iter().filter(|trial| trial.levels == cell.levels) {
                all.add(&trial.measured.as_ref().unwrap().operations[place].kept).unwrap();
            }
            let longest = Some(all.max() as f64 / 1e9);
            assert_eq!((view.count, view.max_s), (all.len(), longest), "{}", view.name);
        }
    }
}

/// What slows a whole block down says nothing of the levels.
#[test]
fn what_a_block_has_in_common_cancels() {
    let mut trials = blocks(3);
    for (block, slow) in [1.0, 10.0, 100.0].into_iter().enumerate() {
        for (level, seconds) in [0.001, 0.002, 0.0005, 0.001].into_iter().enumerate() {
            constant(&mut trials[4 * block + level], slow * seconds, 50);
        }
    }
    let document = document(&trials);
    let found = compared(&document, "alpha", "beta");
    within(0.005, found.low, 2.0);
    within(0.005, found.high, 2.0);
    assert_eq!(found.verdict, Verdict::Slower);
}

#[test]
fn only_trials_of_the_same_attempt_stand_against_each_other() {
    let mut trials = blocks(3);
    // Block 2 was run twice: first beta failed, then alpha.
    let mut again: Vec<Trial> = trials[8..].to_vec();
    (trials[9].valid, again[0].valid) = (false, false);
    again.iter_mut().for_each(|trial| trial.attempt = 1);
    // Block 1 was disturbed as a whole and run again, three times as slow each.
    let mut repeated: Vec<Trial> = trials[4..8].to_vec();
    for (level, trial) in repeated.iter_mut().enumerate() {
        trial.attempt = 1;
        constant(trial, [0.003, 0.006, 0.0015, 0.003][level], 50);
    }
    trials[4..8].iter_mut().for_each(|trial| trial.valid = false);
    constant(&mut trials[0], 0.001, 50);
    constant(&mut trials[1], 0.002, 50);
    let all = [trials, again, repeated].concat();
    let document = document(&all);
    let found = compared(&document, "alpha", "beta");
    assert_eq!(found.blocks, 2, "block 2 has no attempt with both");
    near(found.ratio, 2.0);
    // Alpha counts in blocks 0 and 1, beta in all three.
    let trials = |engine| cell(&document, engine).trials;
    assert_eq!((trials("alpha"), trials("beta")), (2, 3));
    assert_eq!(document.trials.len(), all.len(), "and all are listed");
}

#[test]
fn one_pair_is_no_evidence_and_none_is_no_ratio() {
    let mut trials = blocks(1);
    trials[2].measured = None;
    let document = document(&trials);
    let beta = compared(&document, "alpha", "beta");
    assert!(beta.ratio.is_some() && beta.low.is_none() && beta.high.is_none());
    assert_eq!((beta.blocks, beta.verdict), (1, Verdict::Undecided));
    let gamma = compared(&document, "alpha", "gamma");
    assert_eq!((gamma.ratio, gamma.blocks, gamma.verdict), (None, 0, Verdict::Undecided));
    assert_eq!(document.cells.len(), 3);
}

#[test]
fn a_cell_takes_the_typical_mean_and_the_middle_of_its_trials_quantiles() {
    let mut trials = blocks(2);
    constant(&mut trials[0], 0.001, 3_000);
    constant(&mut trials[4], 0.100, 1_000);
    measured(&mut trials[0]).operations[0].errors = 2;
    measured(&mut trials[4]).operations[0].errors = 5;
    set(&mut trials[0], &SPACE, Scope::Trial, 100.0);
    set(&mut trials[4], &SPACE, Scope::Trial, 300.0);
    let document = document(&trials);
    let cell = &document.cells[0];
    let found = &cell.operations[0];
    assert_eq!(
        (found.count, found.errors, cell.trials, cell.space_bytes),
        (4_000, 7, 2, Some(200))
    );
    near(found.mean_s, 0.01); // the geometric mean; not 0.02575, the mean of all operations
    near(found.p50_s, 0.0505); // not 0.001, the median of all operations together
    near(found.p95_s, 0.0505);
    near(found.p99_s, 0.0505);
    near(found.max_s, 0.100);
    // Neither trial has 10 operations beyond it.
    assert_eq!((found.p999_s, found.untrimmed_mean_s), (None, None));
    near(Some(found.per_second), 125.0); // 2,000 in a window of 16 s
}

#[test]
fn a_quantile_needs_ten_operations_beyond_it() {
    for (count, backed) in
        [(19, 0), (20, 1), (199, 1), (200, 2), (999, 2), (1_000, 3), (9_999, 3), (10_000, 4)]
    {
        let mut trials = blocks(1);
        constant(&mut trials[0], 0.001, count);
        let document = document(&trials[..1]);
        let found = &document.trials[0].operations[0];
        let quantiles = [found.p50_s, found.p95_s, found.p99_s, found.p999_s];
        let expected = [0, 1, 2, 3].map(|at| at < backed);
        assert_eq!(quantiles.map(|q| q.is_some()), expected, "{count}");
        near(found.mean_s, 0.001);
    }
}

#[test]
fn an_operation_that_never_ended_has_no_figures() {
    let mut trials = blocks(2);
    constant(&mut trials[0], 0.001, 0);
    let document = document(&trials);
    let found = &document.trials[0].operations[0];
    assert_eq!((found.count, found.mean_s, found.max_s, found.per_second), (0, None, None, 0.0));
    assert_eq!(compared(&document, "alpha", "beta").blocks, 1);
}

#[test]
fn the_whole_trial_is_kept_beside_the_window() {
    let mut trials = blocks(1);
    let operation = &mut measured(&mut trials[0]).operations[0];
    for (slot, (seconds, count)) in operation.slots.iter_mut().zip([(1.0, 10), (4.0, 20)]) {
        slot.histogram.clear();
        slot.histogram.record_n((seconds * 1e9) as u64, count).unwrap();
    }
    near(document(&trials).trials[0].operations[0].untrimmed_mean_s, 3.0);
}

/// Bars and ratios can't contradict each other.
#[test]
fn the_ratio_of_two_cells_is_the_ratio_of_their_pairs() {
    let mut trials = blocks(5);
    // Beta is a little faster in four blocks, and slow in the fifth: its arithmetic mean is above
    // alpha's.
    for (block, beta) in [0.0009, 0.0009, 0.0009, 0.0009, 0.00145].into_iter().enumerate() {
        constant(&mut trials[4 * block], 0.001, 50);
        constant(&mut trials[4 * block + 1], beta, 50);
    }
    let document = document(&trials);
    let mean = |engine| cell(&document, engine).operations[0].mean_s.unwrap();
    let ratio = compared(&document, "alpha", "beta").ratio.unwrap();
    assert!((mean("beta") / mean("alpha") / ratio - 1.0).abs() < 1e-9, "{ratio}");
    assert!(ratio < 1.0);
}
