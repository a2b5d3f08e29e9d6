//! One suite that every engine passes: the contract, as tests.
//!
//! Everything goes through the `Engine` trait, and each check is made of every registered engine that
//! it is for, so that a later engine joins by being in the list of them. `broken` holds engines with a
//! known fault each, and shows that the suite finds it. `CONFORMANCE_ENGINE=NAME cargo test -p
//! bakeoff-engines --test conformance` tries one engine, or a level of it with options.

mod bank;
mod broken;
mod concurrency;
mod folder;
mod forgetful;
mod genes;
mod irrevocable;
mod model;
mod random;
mod sequences;
mod survival;
mod warm;

use std::thread;

use bakeoff_engines::{About, Durability, ENGINES, Engine, Terms};

/// The terms of most checks: what a power cut does is not seen from inside the machine.
const TERMS: Terms = Terms::new(Durability::None);

/// The engine that alone is tried, where there is one.
const ALONE: &str = "CONFORMANCE_ENGINE";

/// A check of one engine: it panics when the engine breaks the contract.
type Check = fn(&dyn Engine);

/// Which engines a check is for.
type Of = fn(&About) -> bool;

/// Those that store what they are given.
const STORING: Of = |about| about.stores;
/// Those of them that can undo a transaction; what the others do instead is in `irrevocable`.
const TRANSACTIONAL: Of = |about| about.stores && about.rolls_back;

/// Makes a check on each engine that it is for, one after the other, and says on which of them it
/// failed. One that is not installed is left out, and said, but on the machines that must have it.
fn on(engines: Of, check: Check) {
    let alone = std::env::var(ALONE).ok();
    let chosen: Vec<&dyn Engine> = match &alone {
        Some(level) => vec![bakeoff_engines::find_among(ENGINES, level).expect("an engine")],
        None => ENGINES.to_vec(),
    };
    let mut failed = Vec::new();
    for engine in chosen.into_iter().filter(|engine| engines(&engine.about())) {
        let name = engine.about().name;
        let tried = match engine.available() {
            Ok(()) => thread::scope(|scope| scope.spawn(|| check(engine)).join()),
            Err(missing) if std::env::var_os("CI").is_none() => {
                eprintln!("left out: {missing}");
                continue;
            }
            Err(missing) => panic!("{missing}"),
        };
        if tried.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "it fails on {}", failed.join(", "));
}

macro_rules! suite {
    ($($of:ident: $($module:ident::$check:ident),*;)*) => {
        $($(
            #[test]
            fn $check() {
                on($of, $module::$check);
            }
        )*)*
    };
}

suite!(
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

#[test]
fn every_engine_is_for_the_suite_or_has_a_file_on_what_it_does_instead() {
    for engine in ENGINES {
        let about = engine.about();
        let held = [TRANSACTIONAL, irrevocable::OF, forgetful::OF].map(|of| of(&about));
        assert_eq!(held.iter().filter(|held| **held).count(), 1, "{}", about.name);
    }
}

/// The faults of `broken` are found on the engine that is the quickest to open.
fn quickest() -> &'static dyn Engine {
    let quick = |about: About| about.stores && about.packages.is_empty();
    let mut engines = ENGINES.iter().copied();
    engines.find(|engine| quick(engine.about())).expect("one is built in")
}
