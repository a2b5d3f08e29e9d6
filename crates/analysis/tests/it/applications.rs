//! Another workload on the levels that a run compares.

use bakeoff_analysis::Document;

use crate::known::{assert_has, blocks, plain_run, read};
use crate::schema::{complaints, schema};

/// A run that compares engines, of which alpha is the baseline; and the same of another workload.
fn documents() -> [Document; 2] {
    let files = read(&plain_run(8), &blocks(2));
    let mut other = files.clone();
    other.run.run.workload = "application".into();
    [files, other]
}

#[test]
fn what_another_workload_found_of_the_same_levels_is_taken_with_what_differs() {
    let [mut files, mut other] = documents();
    other.run.run.machine.processors += 2;
    assert_eq!(files.take_application("app-1", &other), Ok(()));
    let [taken] = &files.applications[..] else { panic!("{:?}", files.applications) };
    assert_eq!((&*taken.folder, &*taken.workload), ("app-1", "application"));
    assert!(!taken.comparisons.is_empty());
    assert_eq!(taken.comparisons, other.comparisons);
    let [differs] = &taken.differences[..] else { panic!("{:?}", taken.differences) };
    assert!(differs.starts_with("the processors: "), "{differs}");
    assert!(!taken.varying.contains(&files.run.run.compare));
    // As the schema says, and only where it was asked for.
    let wrong = complaints(&schema(), &serde_json::to_value(&files).unwrap());
    assert_eq!(wrong, Vec::<String>::new());
    assert!(serde_json::to_value(&other).unwrap().get("applications").is_none());
}

#[test]
fn what_can_not_stand_beside_a_run_is_refused_with_what_to_do() {
    let [mut files, other] = documents();
    type Change = fn(&mut Document);
    let cases: [(Change, &str); 4] = [
        (|it| it.run.run.compare = "disk".into(), "run it with --compare engine"),
        (|it| it.run.run.baseline = "zeta".into(), "name the levels in the same order"),
        (|it| it.comparisons.clear(), "compares no level of `engine`"),
        (
            |it| it.comparisons.iter_mut().for_each(|it| it.level = "elsewhere".into()),
            "compares no level of `engine`",
        ),
    ];
    for (change, words) in cases {
        let mut other = other.clone();
        change(&mut other);
        let why = files.take_application("app-1", &other).expect_err(words);
        assert_has(&why, &["app-1", words]);
    }
    assert!(files.applications.is_empty());
}
