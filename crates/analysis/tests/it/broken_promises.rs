//! A level that broke its promise has no verdict there, whoever found it out.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{BrokenPromise, Document, Verdict, WarningKind};
use bakeoff_results::measure::SYNCS;
use bakeoff_results::{RunFolder, Scope, Trial};

/// TrialGenerator at strict and at relaxed, in which beta made no sync.
fn trials() -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    let mut trials = Vec::new();
    for block in 0..8 {
        let durability = if block % 2 == 0 { "strict" } else { "relaxed" };
        for mut trial in generator.block(block / 2, block, ["4", "0"]) {
            trial.levels.insert("durability".into(), durability.into());
            let measures = &mut trial.measured.as_mut().unwrap().measures;
            let is_beta = trial.levels["engine"] == "beta";
            measures.set(&SYNCS, Scope::Disk, if is_beta { 0.0 } else { 10_000.0 });
            trials.push(trial);
        }
    }
    trials
}

fn document() -> Document {
    let dir = crate::place();
    let mut run = run(&["4"], &["0"], 32);
    run.factors.push(("durability".into(), vec!["strict".into(), "relaxed".into()]));
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    trials().iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    bakeoff_analysis::document(&folder).unwrap()
}

#[test]
fn a_log_that_was_not_synced_voids_all_pairs_with_it_at_strict() {
    let document = document();
    assert!(document.warnings.iter().any(|it| it.kind == WarningKind::NotSynced));
    for cell in &document.cells {
        let is_broken = cell.levels["engine"] == "beta" && cell.levels["durability"] == "strict";
        let expected = is_broken.then_some(BrokenPromise::NotSynced);
        assert_eq!(cell.broken_promise, expected, "{:?}", cell.levels);
    }
    let all = document.comparisons.iter().chain(&document.between);
    let mut void = 0;
    for it in all {
        let has_beta = [&it.level, &it.baseline].iter().any(|level| *level == "beta");
        let expected = has_beta && it.levels["durability"] == "strict";
        assert_eq!(it.verdict == Verdict::Void, expected, "{it:?}");
        void += u32::from(expected);
    }
    assert!(void > 0);
}
