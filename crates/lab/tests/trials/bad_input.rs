//! What can't be cut, and what goes wrong in a cut.

use std::fs;
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::find;
use bakeoff_lab::possible::can_be_cut;
use bakeoff_testkit::in_time;

use crate::Test;
use crate::lying::named;
use crate::stage::{Stage, breaks, was_late};
use crate::store::{Fault, with};

pub const TESTS: &[Test] = &[
    ("an_engine_that_is_never_ready_is_corrupt", an_engine_that_is_never_ready_is_corrupt),
    ("what_is_broken_once_and_then_whole_is_no_finding", what_is_broken_once_is_no_finding),
    ("images_of_broken_promises_are_kept", images_of_broken_promises_are_kept),
    ("a_server_of_somebody_else_is_refused", a_server_of_somebody_else_is_refused),
    ("a_failed_cut_says_why", a_failed_cut_says_why),
];

fn an_engine_that_is_never_ready_is_corrupt() {
    let stage = Stage::set(with(Fault::NeverReady));
    let mut stage = stage.with(Metadata::Ordered, &[Keep::Prefix]);
    stage.patience = Duration::from_secs(2);
    // The clients' process has no more time to be ready than the engine.
    let cut = in_time("the start of the lab's own processes", |_| {
        let cut = stage.cuts(1).remove(0);
        (!was_late(&cut)).then_some(cut)
    });
    assert_eq!(cut.failed, None);
    let corrupt = cut.judged[0].verdict.corrupt.as_deref();
    assert!(corrupt.is_some_and(|why| why.contains("not ready after 2 s")), "{cut:#?}");
    assert!(breaks(&cut));
}

/// As where the machine has no descriptor left for the target that recovers.
fn what_is_broken_once_is_no_finding() {
    let stage = Stage::set(with(Fault::ReadyAtLast));
    let cut = stage.with(Metadata::Ordered, &[Keep::Prefix]).cuts(1).remove(0);
    let why = cut.failed.as_deref().unwrap_or_default();
    assert!(why.contains("the machine") && why.contains("once more"), "{cut:#?}");
    assert!(!breaks(&cut), "{cut:#?}");
}

fn images_of_broken_promises_are_kept() {
    let mut stage = Stage::set(named("sqlite-off"));
    let images = stage.folder().join("images");
    fs::create_dir(&images).expect("a new folder");
    stage.keep_images = Some(images.clone());
    let cut = stage.caught(breaks);
    for judged in &cut.judged {
        let broken = judged.verdict.breaks(cut.promised);
        assert_eq!(judged.image.is_some(), broken, "{judged:#?}");
        if let Some(image) = &judged.image {
            let files = fs::read_dir(image).expect("the image").count();
            assert!(files > 0 && image.starts_with(images.to_str().expect("text")), "{image}");
        }
    }
}

fn a_server_of_somebody_else_is_refused() {
    let stage = Stage::set(find("sqlite").expect("an engine"));
    let can = |engine| can_be_cut(stage.registry(), stage.experiment(), engine, "strict");
    let refused = can("postgres://me@localhost/db").expect_err("it is not ours").to_string();
    assert!(refused.contains("power of a server that it doesn't run"), "{refused}");
    can("sqlite").expect("it can");
}

/// The image was changed behind the lab's back.
fn a_failed_cut_says_why() {
    let stage = Stage::set(find("sqlite").expect("an engine"));
    let image = stage.image();
    for file in fs::read_dir(&image).expect("the image") {
        fs::write(file.expect("a file").path(), [7; 100_000]).expect("it can be written");
    }
    let cuts = stage.cuts(1);
    let failed = cuts[0].failed.as_deref();
    assert!(failed.is_some_and(|why| why.contains("sqlite can't be opened")), "{cuts:#?}");
    assert!(cuts[0].judged.is_empty());
    assert!(!stage.folder().join("cut").exists(), "something was left behind");
}
