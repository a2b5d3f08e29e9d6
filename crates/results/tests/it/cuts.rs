//! How power cuts are kept.

use crate::data::{TrialGenerator, run};
use crate::power::cuts;
use bakeoff_results::{Cut, Error, FileSystem, RunFolder};

fn folder(dir: &tempfile::TempDir) -> RunFolder {
    let path = dir.path().join("run");
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 4), "").unwrap();
    for trial in TrialGenerator::new(1, 1).block(0, 0, ["1", "0"]) {
        folder.commit_trial(&trial).unwrap();
    }
    folder
}

#[test]
fn the_same_cut_is_not_kept_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = folder(&dir);
    let [first, _] = cuts();
    folder.commit_cut(&first).unwrap();
    let error = folder.commit_cut(&first).unwrap_err();
    assert!(matches!(error, Error::Unfit(_)), "{error:?}");
    assert_eq!(folder.cuts().unwrap(), [first]);
}

#[test]
fn a_cut_takes_the_place_of_its_failed_attempts() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = folder(&dir);
    let [first, _] = cuts();
    let failed = |why: &str| Cut { failed: Some(why.into()), judged: Vec::new(), ..first.clone() };
    for attempt in [failed("no room"), failed("no server")] {
        folder.commit_cut(&attempt).unwrap();
        assert_eq!(folder.cuts().unwrap(), [attempt]);
    }
    folder.commit_cut(&first).unwrap();
    assert_eq!(folder.cuts().unwrap(), [first]);
}

#[test]
fn the_same_cut_on_another_file_system_is_another_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = folder(&dir);
    let [first, _] = cuts();
    let failed = Cut { failed: Some("no room".into()), judged: Vec::new(), ..first.clone() };
    let posix = Cut { file_system: FileSystem::Posix, ..first };
    for cut in [&failed, &posix] {
        folder.commit_cut(cut).unwrap();
    }
    assert_eq!(folder.cuts().unwrap(), [failed, posix]);
}
