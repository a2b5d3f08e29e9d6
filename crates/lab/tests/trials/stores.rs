//! Stores with one fault each, and one without.

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_results::{AuditResult, Cut};

use crate::Test;
use crate::stage::{Stage, breaks};
use crate::store::{Fault, with};

pub const TESTS: &[Test] = &[
    ("a_sound_store_survives", a_sound_store_survives),
    ("a_sound_store_survives_by_posix", a_sound_store_survives_by_posix),
    ("no_sync_is_caught", no_sync_is_caught),
    ("a_sync_before_the_write_is_caught", a_sync_before_the_write_is_caught),
    ("a_missing_sync_of_a_folder_is_caught", a_missing_sync_of_a_folder_is_caught),
    ("a_missing_sync_of_a_folder_is_caught_by_posix", it_is_caught_by_posix),
    ("an_early_answer_is_caught", an_early_answer_is_caught),
    ("a_sound_store_survives_twice", a_sound_store_survives_twice),
    ("a_hasty_recovery_is_caught_by_a_second_cut", a_hasty_recovery_is_caught_by_a_second_cut),
    ("an_index_without_its_row_is_caught", an_index_without_its_row_is_caught),
    ("a_fault_of_a_checkpoint_is_caught_there", a_fault_of_a_checkpoint_is_caught_there),
];

/// How many cuts a sound store has to survive on either kind of file system: 10, or what the variable
/// POWER_CUTS says. 100, which take two minutes, were survived on each.
fn cuts() -> u32 {
    let said = std::env::var("POWER_CUTS").ok();
    said.map_or(10, |said| said.parse().expect("POWER_CUTS is a number"))
}

fn a_sound_store_survives() {
    Stage::set(with(Fault::None)).keeps(cuts());
}

fn a_sound_store_survives_by_posix() {
    let stage = Stage::set(with(Fault::None)).with(Metadata::Posix, &Keep::ALL);
    stage.keeps(cuts());
}

/// How many cuts go with a second one.
const TWICE: u32 = 8;

fn a_sound_store_survives_twice() {
    let cuts = Stage::set(with(Fault::None)).twice().keeps(TWICE);
    let again = cuts.iter().flat_map(|cut| &cut.judged).map(|judged| judged.again.as_ref());
    let again: Vec<_> = again.map(|again| again.expect("a second cut")).collect();
    let in_time = again.iter().filter(|again| again.in_time).count();
    assert!(again.len() == 4 * TWICE as usize && in_time > 0, "{again:?}");
}

fn a_hasty_recovery_is_caught_by_a_second_cut() {
    let stage = Stage::set(with(Fault::HastyRecovery));
    stage.keeps(TWICE);
    let cut = stage.twice().caught(|cut| any(cut, |verdict| verdict.lost > 0));
    assert!(cut.broken().all(|judged| judged.again.as_ref().is_some_and(|again| again.in_time)));
}

/// Whether something was found in an image of a cut.
fn any(cut: &Cut, what: impl Fn(&AuditResult) -> bool) -> bool {
    cut.judged.iter().any(|judged| what(&judged.verdict))
}

/// A checkpoint is one of some hundred commits: a cut at any moment seldom meets it.
fn a_fault_of_a_checkpoint_is_caught_there() {
    let set = || Stage::set(with(Fault::LateSync)).steady();
    let unplaced = set().unplaced().cuts(TWICE);
    assert!(unplaced.iter().all(|cut| cut.placed.is_none() && cut.failed.is_none()));
    let missed = unplaced.iter().filter(|cut| !breaks(cut)).count();
    assert!(missed + 1 >= unplaced.len(), "{unplaced:#?}");
    let placed = set().caught(breaks).placed.expect("those that are placed come first");
    assert!(placed.came && placed.payment == "checkpoint", "{placed:?}");
}

fn no_sync_is_caught() {
    Stage::set(with(Fault::NoSync)).caught(breaks);
}

fn a_sync_before_the_write_is_caught() {
    let stage = Stage::set(with(Fault::SyncBeforeWrite));
    stage.caught(|cut| any(cut, |verdict| verdict.lost > 0));
}

/// A file system with one journal makes the new name durable with the next commit.
fn a_missing_sync_of_a_folder_is_caught() {
    let stage = Stage::set(with(Fault::NoFolderSync));
    stage.caught(|cut| any(cut, |verdict| verdict.lost > 0));
}

fn it_is_caught_by_posix() {
    let stage = Stage::set(with(Fault::NoFolderSync)).with(Metadata::Posix, &Keep::ALL);
    stage.caught(|cut| any(cut, |verdict| verdict.lost > 0));
}

fn an_early_answer_is_caught() {
    let stage = Stage::set(with(Fault::AnsweredEarly));
    stage.caught(|cut| any(cut, |verdict| verdict.lost > 0));
}

fn an_index_without_its_row_is_caught() {
    let stage = Stage::set(with(Fault::IndexFirst));
    // The store's own check finds it, and so does the audit, which counts it and reads on.
    stage.caught(|cut| {
        any(cut, |verdict| {
            let checked = |why: &str| why.contains("it has no row") && !why.contains("be read");
            verdict.index_broken > 0 && verdict.corrupt.as_deref().is_some_and(checked)
        })
    });
}
