//! Another workload on the levels that a run compares.

use std::sync::LazyLock;

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Document, JSON_SCHEMA, document};
use bakeoff_results::RunFolder;

/// A run that compares engines, of which alpha is the baseline; and the same of another workload.
fn documents() -> [Document; 2] {
    static DOCUMENT: LazyLock<Document> = LazyLock::new(make);
    let mut other = DOCUMENT.clone();
    other.run.run.workload = "application".into();
    [DOCUMENT.clone(), other]
}

fn make() -> Document {
    let dir = crate::place();
    let run = run(&["1"], &["0"], 8);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut trials = TrialGenerator::new(1, 1);
    for block in 0..2 {
        for trial in trials.block(block, block, ["1", "0"]) {
            folder.commit_trial(&trial).unwrap();
        }
    }
    document(&folder).unwrap()
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
    let schema = serde_json::from_str(JSON_SCHEMA).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let json = serde_json::to_value(&files).unwrap();
    let wrong: Vec<String> = schema.iter_errors(&json).map(|it| it.to_string()).collect();
    assert_eq!(wrong, Vec::<String>::new());
    assert!(serde_json::to_value(&other).unwrap().get("applications").is_none());
}

#[test]
fn what_can_not_stand_beside_a_run_is_refused_with_what_to_do() {
    let [mut files, other] = documents();
    let mut refused = |change: fn(&mut Document), words: &str| {
        let mut other = other.clone();
        change(&mut other);
        let why = files.take_application("app-1", &other).expect_err(words);
        assert!(why.contains("app-1") && why.contains(words), "{why}");
    };
    refused(|it| it.run.run.compare = "disk".into(), "run it with --compare engine");
    refused(|it| it.run.run.baseline = "zeta".into(), "name the levels in the same order");
    refused(|it| it.comparisons.clear(), "compares no level of `engine`");
    let elsewhere = |it: &mut Document| {
        it.comparisons.iter_mut().for_each(|it| it.level = "elsewhere".into());
    };
    refused(elsewhere, "compares no level of `engine`");
    assert!(files.applications.is_empty());
}
