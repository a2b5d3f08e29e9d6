//! Cuts at every moment of one history.

use std::fs;
use std::path::PathBuf;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::find_level;
use bakeoff_results::{Cut, EveryMoment};
use bakeoff_testkit::in_time;

use crate::Test;
use crate::cuts::ENGINES;
use crate::stage::{Stage, all_kept, breaks, made_and_kept, was_late};
use crate::store::{Fault, with};

pub const TESTS: &[Test] = &[
    ("a_gap_that_one_sync_in_many_opens_is_found_at_every_moment", a_rare_gap_is_found),
    ("an_image_is_held_against_all_that_was_promised", all_that_was_promised_counts),
    ("a_sound_store_survives_every_moment_within_the_budget", a_sound_store_survives),
    ("an_image_that_is_never_opened_ends_no_run", an_image_that_never_opens),
    ("embedded_engines_keep_strict_at_every_moment", embedded_engines_keep_strict),
    ("every_planted_fault_is_found_at_every_moment", || every_planted_fault_is_found(None)),
    ("every_planted_fault_is_found_at_every_moment_soak", || {
        let images = std::env::var("BAKEOFF_IMAGES").ok();
        let images = images.map_or(20_000, |images| images.parse().expect("a number"));
        every_planted_fault_is_found(Some(images));
    }),
];

fn every(cut: &Cut) -> &EveryMoment {
    cut.every.as_ref().expect("every moment was cut")
}

/// Seconds that are nearly all of those that clients have for the writes of a history.
const NEARLY_ALL_S: f64 = 4.0;

/// What came of the first history, of so many writes, that has what a test looks for, or has all of its writes: on a
/// busy machine the clients may make few of them in the time that they have, or be late.
fn in_a_history(
    writes: u64,
    mut cut_in: impl FnMut(u32) -> Cut,
    has_it: impl Fn(&Cut) -> bool,
) -> Cut {
    in_time("the time for a history", |attempt| {
        let cut = cut_in(attempt);
        if was_late(&cut) {
            return None;
        }
        assert_eq!(cut.failed, None);
        let is_short = every(&cut).writes < writes || cut.ran_s >= NEARLY_ALL_S;
        (has_it(&cut) || !is_short).then_some(cut)
    })
}

/// How many images were broken, by all rules.
fn broken(tried: &EveryMoment) -> u64 {
    tried.rules.iter().map(|rule| rule.broken).sum()
}

/// It is open inside three syncs of some hundred, and needs a rule that parts what is pending: cuts at
/// moments that are drawn miss it.
fn a_rare_gap_is_found() {
    let keep = [Keep::Subset, Keep::Torn];
    let mut stage = Stage::set(with(Fault::RareGap)).with(Default::default(), &keep);
    stage.keeps(10);
    let is_rare = |cut: &Cut| breaks(cut) && broken(every(cut)) * 10 < every(cut).judged;
    let mut images = PathBuf::new();
    let cut_in = |attempt: u32| {
        images = stage.folder().join(format!("images-{attempt}"));
        fs::create_dir(&images).expect("room");
        stage.terms.keep_images = Some(images.clone());
        stage.every(75, 100_000)
    };
    let cut = in_a_history(75, cut_in, is_rare);
    let tried = every(&cut);
    assert_eq!((tried.judged, tried.unconfirmed), (tried.distinct, 0), "all were judged");
    let broken = broken(tried);
    assert!(breaks(&cut) && broken > 0 && broken * 10 < tried.judged, "{tried:?}");
    let first = tried.rules.iter().find_map(|rule| rule.first.as_ref()).expect("one is the first");
    let inside = ["inside a sync of the folder", "inside a journal commit"];
    assert!(inside.iter().any(|it| first.during.starts_with(it)), "{first:?}");
    let judged = cut.broken_images().next().expect("one is broken");
    assert!(judged.verdict.lost > 0, "{judged:?}");
    let kept = judged.image.as_ref().expect("it was to be kept");
    // As it was left, and not as the audit has recovered it.
    assert_eq!(fs::metadata(format!("{kept}/log")).expect("the log").len(), 0);
    assert!(fs::read_dir(&images).expect("it is there").count() as u64 <= broken);
}

/// By this rule all images of a store that syncs nothing are alike: at the first moment nothing was
/// promised, and all was at the last.
fn all_that_was_promised_counts() {
    let stage = Stage::set(with(Fault::NoSync)).with(Default::default(), &[Keep::DropAll]);
    let loses = |cut: &Cut| cut.judged.first().is_some_and(|worst| worst.verdict.lost > 10);
    let cut = in_a_history(100, |_| stage.every(100, 1000), loses);
    let tried = every(&cut);
    assert!(tried.distinct < tried.moments / 2 && tried.drawn == tried.moments, "{tried:?}");
    let worst = &cut.judged[0].verdict;
    assert!(worst.lost > 10 && worst.lost <= cut.acknowledged, "{worst:?} {}", cut.acknowledged);
}

fn a_sound_store_survives() {
    let stage = Stage::set(with(Fault::None));
    let is_long = |cut: &Cut| {
        made_and_kept(std::slice::from_ref(cut));
        let EveryMoment { writes, syncs, names, judged, .. } = every(cut);
        *writes >= 60 && *syncs > 20 && *names > 8 && *judged == 60 && cut.acknowledged > 0
    };
    let cut = in_a_history(60, |_| stage.every(60, 60), is_long);
    assert!(is_long(&cut), "{cut:?}");
    let tried = every(&cut);
    assert_eq!((tried.budget, broken(tried)), (60, 0));
    assert!(tried.distinct > 60 && tried.drawn > tried.distinct, "{tried:?}");
    assert!(tried.rules.iter().all(|rule| rule.judged > 0), "{tried:?}");
}

/// Each is a finding of its own, and the next is judged by another process.
fn an_image_that_never_opens() {
    let mut stage = Stage::set(with(Fault::NeverReady)).with(Default::default(), &[Keep::DropAll]);
    // The clients' process and those that audit have no more time to be ready.
    stage.terms.patience = std::time::Duration::from_millis(1500);
    let cut = in_a_history(10, |_| stage.every(10, 3), |cut| every(cut).judged == 3);
    let tried = every(&cut);
    assert_eq!((tried.judged, tried.rules[0].broken, tried.unconfirmed), (3, 3, 0));
    let said = cut.judged[0].verdict.corrupt.as_deref();
    assert_eq!(said, Some("it was not ready after 1 s"));
}

fn embedded_engines_keep_strict() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find_level(name).expect("an engine")).with(Default::default(), keep);
        let is_long = |cut: &Cut| {
            made_and_kept(std::slice::from_ref(cut));
            every(cut).judged > 50 && cut.acknowledged > 0
        };
        let cut = in_a_history(200, |_| stage.every(200, 150), is_long);
        all_kept(std::slice::from_ref(&cut));
        assert!(every(&cut).judged > 50, "{name}: {cut:?}");
    }
}

/// By some images of a short history each, or by so many of a long one. What takes minutes, or has a
/// test of its own, is looked for there alone.
fn every_planted_fault_is_found(images: Option<u32>) {
    let faults = [
        (Fault::NoSync, Metadata::Ordered, None),
        (Fault::SyncBeforeWrite, Metadata::Ordered, Some(60)),
        (Fault::NoFolderSync, Metadata::Posix, None),
        (Fault::AnsweredEarly, Metadata::Ordered, Some(60)),
        (Fault::IndexFirst, Metadata::Ordered, Some(60)),
        (Fault::IndexSkipped, Metadata::Ordered, Some(60)),
        (Fault::InHalves, Metadata::Ordered, Some(60)),
        (Fault::LateSync, Metadata::Ordered, Some(480)),
        (Fault::RareGap, Metadata::Ordered, None),
        (Fault::None, Metadata::Ordered, Some(60)),
        (Fault::None, Metadata::Posix, None),
    ];
    for (fault, metadata, few) in faults {
        let Some(budget) = images.or(few) else { continue };
        let stage = Stage::set(with(fault)).with(metadata, &Keep::ALL);
        let writes = if images.is_some() { 3_000 } else { 330 };
        // One that has none must show none at once.
        let is_found = |cut: &Cut| fault == Fault::None || (breaks(cut) && every(cut).broken > 0);
        let cut = in_a_history(writes, |_| stage.every(writes, budget), is_found);
        let tried = every(&cut);
        let name = with(fault).name;
        assert_eq!(breaks(&cut), fault != Fault::None, "{name}, {metadata}: {tried:?}");
        assert_eq!(tried.broken > 0, fault != Fault::None, "{name}, {metadata}: {tried:?}");
        assert_eq!(tried.judged, tried.distinct.min(u64::from(budget)), "{name}: {tried:?}");
    }
}
