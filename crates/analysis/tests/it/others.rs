//! Power cuts of another run, held together with a run that made none.

use std::sync::LazyLock;

use bakeoff_analysis::{Document, WarningKind};
use bakeoff_results::{Applied, AppliedSetting, PromiseFactors, Run};
use bakeoff_testkit::synthetic::sample_cuts;

use crate::known::{blocks, plain_run, read, read_with, told};

/// A timed run of the engine alpha at strict and relaxed, and a run of its power cuts at relaxed.
fn documents() -> [Document; 2] {
    static DOCUMENTS: LazyLock<[Document; 2]> = LazyLock::new(make);
    DOCUMENTS.clone()
}

fn make() -> [Document; 2] {
    let mut timed = plain_run(4);
    timed.cuts = None;
    timed.factors[1].1.push("relaxed".into());
    timed.applied.push(Applied { durability: "relaxed".into(), ..timed.applied[0].clone() });
    let of_cuts = Run { cuts: plain_run(4).cuts, ..timed.clone() };
    let of_cuts = read_with(&of_cuts, &[], |folder| {
        sample_cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
    });
    [read(&timed, &blocks(1)), of_cuts]
}

/// What is left out, with its reason.
fn left_out(document: &Document, other: &Document) -> String {
    let mut document = document.clone();
    let before = document.warnings.len();
    assert_eq!(document.take_cuts("cuts-1", other), 1);
    assert!(document.other_cuts.is_empty(), "{:?}", document.other_cuts);
    assert_eq!(document.warnings.len(), before + 1, "{:?}", document.warnings);
    let warning = told(&document, WarningKind::CutsLeftOut);
    assert!(warning.contains("cuts-1 say nothing of alpha at relaxed"), "{warning}");
    warning
}

#[test]
fn what_was_found_of_the_same_engine_at_the_same_level_is_taken() {
    let [mut timed, of_cuts] = documents();
    let before = timed.warnings.clone();
    assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 1);
    let [taken] = timed.other_cuts.as_slice() else { panic!("one engine at one level") };
    assert_eq!((taken.folder.as_str(), &taken.plan), ("cuts-1", &of_cuts.run.run.cuts));
    assert_eq!((&taken.promise, taken.cuts.as_slice()), (&of_cuts.promises[0], &sample_cuts()[..]));
    assert_eq!(taken.promise.kept, Some(false));
    assert!(taken.differences.is_empty(), "{:?}", taken.differences);
    assert_eq!(timed.warnings, before);
    assert!(timed.promises.is_empty() && timed.cuts.is_empty(), "they are not this run's own");
}

#[test]
fn cuts_of_another_machine_are_taken_and_say_so() {
    let [mut timed, mut of_cuts] = documents();
    of_cuts.run.run.machine.processor = "Other".into();
    assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 1);
    let [difference] = &timed.other_cuts[0].differences[..] else { panic!("one difference") };
    assert!(difference.starts_with("the machine is Other with "), "{difference}");
}

#[test]
fn an_engine_or_a_level_that_this_run_has_not_is_no_matter() {
    let [timed, of_cuts] = documents();
    for (factor, level) in [(0, "gamma"), (1, "strict")] {
        let mut timed = timed.clone();
        timed.run.run.factors[factor].1 = vec![level.into()];
        assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 0);
        assert!(timed.other_cuts.is_empty());
    }
    let mut again = timed.clone();
    again.run.run.factors[0].1 = vec!["alpha".into(), "alpha@again".into()];
    assert_eq!(again.take_cuts("cuts-1", &of_cuts), 1);
    let mut nothing = of_cuts.clone();
    nothing.promises[0].cuts = 0;
    assert_eq!(timed.clone().take_cuts("cuts-1", &nothing), 0, "all of them failed");
}

#[test]
fn what_has_another_version_or_other_settings_is_told_and_not_taken() {
    let own = AppliedSetting { name: "sync".into(), value: "off".into(), reason: None };
    let setting = own.clone();
    type Change = Box<dyn Fn(&mut Run)>;
    let cases: [(Change, &str); 4] = [
        (
            Box::new(|it| it.engines[0].version = "3.1".into()),
            "it is version 3.1 there, and 0 here.",
        ),
        (Box::new(|it| it.engines.clear()), "its version is not known."),
        (
            Box::new(|it| it.engines[0].settings.push(("relaxed".into(), "sync = seldom".into()))),
            "given by `sync = seldom` there, and by `nothing` here",
        ),
        (
            Box::new(move |it| it.applied[1].settings.push(setting.clone())),
            "sync is off there, and its default here.",
        ),
    ];
    let [mut timed, of_cuts] = documents();
    for (change, words) in cases {
        let mut of_cuts = of_cuts.clone();
        change(&mut of_cuts.run.run);
        let warning = left_out(&timed, &of_cuts);
        assert!(warning.contains(words), "{warning}");
    }
    // The user's own settings must be the same.
    let mut of_cuts = of_cuts;
    for document in [&mut timed, &mut of_cuts] {
        document.run.run.applied[1].settings.push(own.clone());
    }
    assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 1);
    assert_eq!(timed.other_cuts.len(), 1);
}

#[test]
fn settings_that_may_differ_and_those_that_are_not_known_are_told() {
    let [timed, of_cuts] = documents();
    let differences = |change: &dyn Fn(&mut Run)| {
        let mut timed = timed.clone();
        change(&mut timed.run.run);
        timed.take_cuts("cuts-1", &of_cuts);
        let [taken] = timed.other_cuts.as_slice() else { panic!("{:?}", timed.warnings) };
        taken.differences.clone()
    };
    // It follows from the terms.
    let larger = |it: &mut Run| {
        let larger = Applied { memory: "1G".into(), ..it.applied[1].clone() };
        it.applied[1].settings[0].value = "64M".into();
        it.applied.push(larger);
    };
    assert_eq!(differences(&larger), ["cache is 256M there, and 256M or 64M here"]);
    let unknown = "the settings it was opened with are not recorded for both runs";
    assert_eq!(differences(&|it| it.applied.clear()), [unknown]);
}

/// Where disks promise, by when files are synced, no engine has to be the same.
#[test]
fn what_was_found_of_the_same_disk_under_the_same_syncs_is_taken() {
    let [mut timed, mut of_cuts] = documents();
    let plan = of_cuts.run.run.cuts.as_mut().expect("it cuts the power");
    plan.promise = PromiseFactors { who: "disk".into(), what: "sync".into() };
    for promise in &mut of_cuts.promises {
        (promise.engine, promise.durability) = ("ssd-sata".into(), "dsync".into());
    }
    for cut in &mut of_cuts.cuts {
        (cut.engine, cut.durability) = ("ssd-sata".into(), "dsync".into());
    }
    assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 0, "it has no disk and no syncs");
    for run in [&mut timed.run.run, &mut of_cuts.run.run] {
        run.engines.clear();
        run.factors.push(("disk".into(), vec!["hdd-7200".into(), "ssd-sata".into()]));
        run.factors.push(("sync".into(), vec!["never".into(), "dsync".into()]));
    }
    timed.run.run.factors.push(("block".into(), vec!["4K".into()]));
    of_cuts.run.run.factors.push(("block".into(), vec!["16K".into()]));
    assert_eq!(timed.take_cuts("cuts-1", &of_cuts), 1);
    let [taken] = timed.other_cuts.as_slice() else { panic!("{:?}", timed.warnings) };
    assert_eq!((&taken.promise, &taken.cuts), (&of_cuts.promises[0], &of_cuts.cuts));
    assert_eq!(taken.differences, ["block is 16K there, and 4K here"]);
}
