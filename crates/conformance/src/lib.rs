//! One suite that every engine passes: the contract of engines and sessions, as tests.
//!
//! Everything goes through the `Engine` trait. [`suite!`] makes a test of each check, of all engines
//! in a list, so that a later engine joins by being in that list; an engine of one's own is held to
//! the same. `CONFORMANCE_ENGINE=NAME` tries one engine of them, or a level of it with options.
//!
//! An engine is known here by its name only where it has a known fault that the suite has to allow for.
//! It must never know what an engine is measured for, or how. It is for tests alone.

pub mod bank;
pub mod concurrency;
pub mod folder;
mod genes;
mod model;
mod random;
pub mod sequences;
pub mod survival;
pub mod warm;

use std::thread;

use bakeoff_engines::{About, Durability, Engine, Terms};
use bakeoff_testkit::needs;

/// The terms of most checks: what a power cut does is not seen from inside the machine.
pub const TERMS: Terms = Terms::new(Durability::None);

/// The variable that names the engine that alone is tried, where there is one.
pub const ALONE: &str = "CONFORMANCE_ENGINE";

/// A check of one engine: it panics when the engine breaks the contract.
pub type Check = fn(&dyn Engine);

/// Which engines a check is for.
pub type Of = fn(&About) -> bool;

/// Those that store what they are given.
pub const STORING: Of = |about| about.stores;
/// Those of them that can undo a transaction.
pub const TRANSACTIONAL: Of = |about| about.stores && about.rolls_back;

/// Makes a check on each of these engines that it is for, one after the other, and says on which of
/// them it failed. One that is not installed is skipped, and said.
///
/// # Panics
/// When it fails on one of them, or, in CI, when one is not installed.
pub fn on(engines: &[&'static dyn Engine], of: Of, check: Check) {
    let alone = std::env::var(ALONE).ok();
    let chosen: Vec<&dyn Engine> = match &alone {
        Some(level) => vec![bakeoff_engines::find_among(engines, level).expect("an engine")],
        None => engines.to_vec(),
    };
    let mut failed = Vec::new();
    for engine in chosen.into_iter().filter(|engine| of(&engine.about())) {
        let name = engine.about().name;
        if needs(engine.available()).is_none() {
            continue;
        }
        if thread::scope(|scope| scope.spawn(|| check(engine)).join()).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "it fails on {}", failed.join(", "));
}

/// Makes a test of each check, of the engines in a slice. It stands at the root of a file of tests,
/// since one of them starts itself again by its name.
#[macro_export]
macro_rules! suite {
    ($engines:expr) => {
        $crate::suite!($engines;
            STORING:
                survival::acknowledged_commits_survive_a_kill,
                concurrency::read_then_write_loses_no_increment,
                concurrency::adding_loses_no_increment,
                concurrency::transfers_keep_the_sum_in_every_snapshot,
                concurrency::one_of_many_wins_a_unique_value,
                concurrency::generated_keys_are_distinct_and_grow,
                concurrency::rows_read_for_update_are_not_skewed;
            TRANSACTIONAL:
                sequences::answers_like_the_model,
                sequences::refuses_misuse,
                warm::is_warm_when_all_was_read,
                concurrency::nobody_sees_unfinished_work,
                concurrency::a_dropped_session_undoes_and_blocks_nobody;
        );
    };
    ($engines:expr; $($of:ident: $($module:ident::$check:ident),*;)*) => {
        $($(
            #[test]
            fn $check() {
                $crate::on($engines, $crate::$of, $crate::$module::$check);
            }
        )*)*
    };
}
