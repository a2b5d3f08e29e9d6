//! What power cuts come to, and how they are kept.

use crate::data::{TrialGenerator, run};
use crate::power::cuts;
use bakeoff_analysis::{FoundInCuts, document};
use bakeoff_results::{Cut, Promised, RunFolder};

fn folder(dir: &tempfile::TempDir) -> RunFolder {
    let path = dir.path().join("run");
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 4), "").unwrap();
    for trial in TrialGenerator::new(1, 1).block(0, 0, ["1", "0"]) {
        folder.commit_trial(&trial).unwrap();
    }
    folder
}

#[test]
fn cuts_are_counted_by_rule_and_a_broken_promise_says_how_to_see_it_again() {
    let dir = crate::place();
    let mut folder = folder(&dir);
    for cut in cuts() {
        folder.commit_cut(&cut).unwrap();
    }
    let failed = Cut { number: 2, failed: Some("no room".into()), ..cuts()[0].clone() };
    folder.commit_cut(&Cut { judged: Vec::new(), ..failed }).unwrap();
    let document = document(&folder).unwrap();
    assert_eq!(document.cuts[..2], cuts());

    let [promise] = document.promises.as_slice() else { panic!("one engine at one level") };
    assert_eq!((promise.kept, promise.cuts, promise.failed), (Some(false), 2, 1));
    assert_eq!((promise.recovery_median_s, promise.recovery_max_s), (Some(0.5), Some(0.5)));
    let [drop_all, torn] = promise.rules.as_slice() else { panic!("two rules") };
    assert_eq!((drop_all.cuts, drop_all.intact, drop_all.broken), (2, 1, 0));
    assert_eq!(drop_all.lost, FoundInCuts { cuts: 1, most: 3 });
    assert_eq!((drop_all.oldest_lost_s, drop_all.repeat), (Some(0.25), None));
    assert_eq!((torn.intact, torn.broken, torn.corrupt), (0, 1, 1));
    assert_eq!((torn.torn, torn.repeat), (FoundInCuts { cuts: 1, most: 2 }, Some(1)));
    assert_eq!(torn.example.as_deref(), Some("a page is torn"));

    let plan = document.run.run.cuts.expect("cuts are planned");
    assert_eq!(
        plan.repeat(&promise.engine, &promise.durability, promise.file_system, &torn.keep, 1),
        "bakeoff run power-cut --engine alpha --durability relaxed --keep torn --cut-number 1"
    );
}

#[test]
fn a_promise_of_nothing_is_neither_kept_nor_broken() {
    let dir = crate::place();
    let mut folder = folder(&dir);
    for cut in cuts() {
        folder.commit_cut(&Cut { promised: Promised::Nothing, ..cut }).unwrap();
    }
    assert_eq!(document(&folder).unwrap().promises[0].kept, None);
}
