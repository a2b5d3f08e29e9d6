//! What a comparison would say if its warm-up counted, or the trials that were set aside.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Comparison, Document, Verdict, WarningKind};
use bakeoff_results::{RunFolder, Trial, histogram};

/// The first operation of each trial takes as many milliseconds as `take` says.
fn trials(blocks: u32, take: impl Fn(u32, &str) -> f64) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 1);
    let mut trials: Vec<Trial> =
        (0..blocks).flat_map(|block| generator.block(block, block, ["1", "0"])).collect();
    for trial in &mut trials {
        let milliseconds = take(trial.block, trial.levels["engine"].trim_end_matches("@again"));
        let operation = &mut trial.measured.as_mut().unwrap().operations[0];
        let mut latencies = histogram::empty();
        latencies.record_n((milliseconds * 1e6) as u64, 100).unwrap();
        operation.kept = latencies.clone();
        operation.slots.truncate(1);
        operation.slots[0].histogram = latencies;
    }
    trials
}

fn document(trials: &[Trial]) -> Document {
    let dir = crate::place();
    let run = run(&["1"], &["0"], trials.len() as u32);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    bakeoff_analysis::document(&folder).unwrap()
}

/// beta against alpha, at the first operation.
fn beta(document: &Document) -> &Comparison {
    let operation = &document.run.run.operations[0];
    let is_beta = |it: &&Comparison| it.level == "beta" && it.operation == *operation;
    document.comparisons.iter().find(is_beta).expect("a comparison")
}

fn ripple(block: u32) -> f64 {
    1.0 + 0.01 * f64::from(block % 3)
}

fn twice(block: u32, engine: &str) -> f64 {
    if engine == "beta" { 20.0 * ripple(block) } else { 10.0 }
}

#[test]
fn a_warm_up_that_changes_the_ratio_is_told_with_both_ratios() {
    let mut trials = trials(6, twice);
    assert!(
        beta(&document(&trials))
            .with_warm_up
            .is_some_and(|it| !it.is_outside(beta(&document(&trials))))
    );
    for trial in trials.iter_mut().filter(|trial| trial.levels["engine"] == "beta") {
        // Its window is a tenth of all that it did, which went ten times as fast.
        let operation = &mut trial.measured.as_mut().unwrap().operations[0];
        operation.slots[0].histogram.record_n(2_000_000, 900).unwrap();
    }
    let document = document(&trials);
    let beta = beta(&document);
    let whole = beta.with_warm_up.expect("a ratio");
    assert!((beta.ratio.unwrap() - 2.02).abs() < 0.01 && whole.is_outside(beta), "{beta:?}");
    assert!((whole.ratio - 0.382).abs() < 0.01 && whole.verdict == Verdict::Faster, "{whole:?}");
    let told = document.warnings.iter().find(|it| it.kind == WarningKind::WarmUpDecides);
    let text = &told.expect("a warning").text;
    assert!(text.contains("engine beta to alpha: 0.38"), "{text}");
    assert!(text.contains("with the warm-up, 2.02"), "{text}");
}

/// A block that was run again: the first attempt has a ratio of 1.2, the others of 2.
fn with_a_disturbed_block() -> Vec<Trial> {
    let mut all = trials(5, twice);
    let again: Vec<Trial> = trials(5, |_, engine| if engine == "beta" { 12.0 } else { 10.0 })
        .into_iter()
        .filter(|trial| trial.block == 4)
        .map(|trial| Trial { valid: false, reason: Some("disturbed".into()), ..trial })
        .collect();
    all.iter_mut().filter(|trial| trial.block == 4).for_each(|trial| trial.attempt = 1);
    let place = all.iter().position(|trial| trial.block == 4).expect("a block");
    all.splice(place..place, again);
    all
}

#[test]
fn a_block_that_was_set_aside_is_told_with_its_ratio_and_what_it_would_change() {
    let document = document(&with_a_disturbed_block());
    let beta = beta(&document);
    assert_eq!((beta.blocks, beta.verdict), (5, Verdict::Slower));
    let all = beta.with_set_aside.expect("all pairs");
    assert_eq!(all.pairs, 6);
    let added = all.ratio_of_added(beta).expect("a pair");
    assert!((added - 1.2).abs() < 0.01, "{added}");
    assert!(all.is_outside(beta), "{all:?} {beta:?}");
    let text = |kind| &document.warnings.iter().find(|it| it.kind == kind).expect("a warning").text;
    let aside = text(WarningKind::SetAside);
    assert!(aside.contains("they had a ratio of 1.20 in ") && aside.contains("is told"), "{aside}");
    let decides = text(WarningKind::SetAsideDecides);
    assert!(decides.contains("with all 6 pairs"), "{decides}");
}

#[test]
fn without_a_block_that_was_set_aside_there_is_nothing_to_tell() {
    let document = document(&trials(5, twice));
    assert!(document.comparisons.iter().all(|it| it.with_set_aside.is_none()));
    assert!(document.warnings.iter().all(|it| it.kind != WarningKind::SetAsideDecides));
}
