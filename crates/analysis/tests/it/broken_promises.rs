//! What power cuts come to, and what a level has that broke its promise, whoever found it out.

use bakeoff_analysis::{BrokenPromise, CutFindings, Verdict, WarningKind};
use bakeoff_results::measure::SYNCS;
use bakeoff_results::{Cut, DurabilityPromise, Scope};
use bakeoff_testkit::synthetic::{run, sample_cuts};

use crate::known::{blocks, blocks_at, plain_run, read, read_with, set, told};

#[test]
fn cuts_are_counted_by_rule_and_a_broken_promise_says_how_to_see_it_again() {
    let failed = Cut { number: 2, failed: Some("no room".into()), ..sample_cuts()[0].clone() };
    let document = read_with(&plain_run(4), &blocks(1), |folder| {
        sample_cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
        folder.commit_cut(&Cut { judged: Vec::new(), ..failed }).unwrap();
    });
    assert_eq!(document.cuts[..2], sample_cuts());
    let [promise] = document.promises.as_slice() else { panic!("one engine at one level") };
    assert_eq!((promise.kept, promise.cuts, promise.failed), (Some(false), 2, 1));
    assert_eq!((promise.recovery_median_s, promise.recovery_max_s), (Some(0.5), Some(0.5)));
    let [drop_all, torn] = promise.rules.as_slice() else { panic!("two rules") };
    assert_eq!((drop_all.cuts, drop_all.intact, drop_all.broken), (2, 1, 0));
    assert_eq!(drop_all.lost, CutFindings { cuts: 1, most: 3 });
    assert_eq!((drop_all.oldest_lost_s, drop_all.repeat), (Some(0.25), None));
    assert_eq!((torn.intact, torn.broken, torn.corrupt), (0, 1, 1));
    assert_eq!((torn.torn, torn.repeat), (CutFindings { cuts: 1, most: 2 }, Some(1)));
    assert_eq!(torn.example.as_deref(), Some("a page is torn"));
    let plan = document.run.run.cuts.expect("cuts are planned");
    let (engine, durability) = (&promise.engine, &promise.durability);
    assert_eq!(
        plan.repeat_command(engine, durability, promise.file_system, &torn.keep, 1),
        "bakeoff run power-cut --engine alpha --durability relaxed --keep torn --cut-number 1"
    );
}

#[test]
fn a_promise_of_nothing_is_neither_kept_nor_broken() {
    let document = read_with(&plain_run(4), &blocks(1), |folder| {
        for cut in sample_cuts() {
            folder.commit_cut(&Cut { promised: DurabilityPromise::Nothing, ..cut }).unwrap();
        }
    });
    assert_eq!(document.promises[0].kept, None);
}

#[test]
fn a_log_that_was_not_synced_voids_all_pairs_with_it_at_strict() {
    let mut run = run(&["4"], &["0"], 32);
    run.factors.push(("durability".into(), vec!["strict".into(), "relaxed".into()]));
    let mut trials = blocks_at(8, ["4", "0"]);
    for trial in &mut trials {
        let durability = if trial.block % 2 == 0 { "strict" } else { "relaxed" };
        trial.levels.insert("durability".into(), durability.into());
        trial.repetition = trial.block / 2;
        let syncs = if trial.levels["engine"] == "beta" { 0.0 } else { 10_000.0 };
        set(trial, &SYNCS, Scope::Disk, syncs);
    }
    let document = read(&run, &trials);
    assert_ne!(told(&document, WarningKind::NotSynced), "");
    for cell in &document.cells {
        let is_broken = cell.levels["engine"] == "beta" && cell.levels["durability"] == "strict";
        let expected = is_broken.then_some(BrokenPromise::NotSynced);
        assert_eq!(cell.broken_promise, expected, "{:?}", cell.levels);
    }
    let mut void = 0;
    for it in document.comparisons.iter().chain(&document.between) {
        let has_beta = [&it.level, &it.baseline].iter().any(|level| *level == "beta");
        let expected = has_beta && it.levels["durability"] == "strict";
        assert_eq!(it.verdict == Verdict::Void, expected, "{it:?}");
        void += u32::from(expected);
    }
    assert!(void > 0);
}
