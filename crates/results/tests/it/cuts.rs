//! How power cuts are kept.

use bakeoff_results::{Cut, Error, FileSystem, RunFolder};
use bakeoff_testkit::synthetic::sample_cuts;

use crate::{create, place};

/// A cut on another file system is another one.
#[test]
fn a_cut_is_kept_once_and_takes_the_place_of_its_failed_attempts() {
    let (_dir, path) = place();
    let mut folder = create(&path);
    let [first, _] = sample_cuts();
    let failed = |why: &str| Cut { failed: Some(why.into()), judged: Vec::new(), ..first.clone() };
    for attempt in [failed("no room"), failed("no server")] {
        folder.commit_cut(&attempt).unwrap();
        assert_eq!(folder.read_cuts().unwrap(), [attempt]);
    }
    let posix = Cut { file_system: FileSystem::Posix, ..first.clone() };
    folder.commit_cut(&posix).unwrap();
    assert_eq!(folder.read_cuts().unwrap(), [failed("no server"), posix.clone()]);
    folder.commit_cut(&first).unwrap();
    let kept = folder.read_cuts().unwrap();
    assert!(kept.len() == 2 && kept.contains(&first) && kept.contains(&posix), "{kept:?}");
    let error = folder.commit_cut(&first).unwrap_err();
    assert!(matches!(error, Error::Unfit(_)), "{error:?}");
    assert_eq!(RunFolder::open(&path).unwrap().read_cuts().unwrap(), kept);
}
