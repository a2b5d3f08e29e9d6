//! One suite that every engine passes: the contract of engines and sessions, as tests.
//!
//! Everything goes through the `Engine` trait. [`suite!`](crate::suite!) makes a test of each
//! check, for all engines in a list, so that a new engine joins by being in that list; your own
//! engine is held to the same. `CONFORMANCE_ENGINE=NAME` tries one engine of them, or a level of it
//! with options.
//!
//! An engine's name is used here only if the suite has to allow for a known fault of it.

pub mod bank;
pub mod concurrency;
pub mod debt;
pub mod fits;
pub mod folder;
mod genes;
mod model;
mod random;
pub mod sequences;
pub mod survival;
pub mod types;
pub mod warm;
pub mod written;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::needs;
use bakeoff_engines::{Action, Durability, Engine, EngineDescription, OpenTerms, Statement};

/// The terms of most checks: the weakest level that an engine gives, since a power cut can't be
/// seen from inside the machine.
pub fn terms(engine: &dyn Engine) -> OpenTerms {
    OpenTerms::new(*given(engine).first().expect("an engine gives a level"))
}

/// The levels of durability that an engine gives, the weakest first.
pub fn given(engine: &dyn Engine) -> Vec<Durability> {
    Durability::ALL.into_iter().filter(|level| engine.check_level(*level).is_ok()).collect()
}

/// Statements of these actions, each named by what it does.
fn statements(actions: impl IntoIterator<Item = Action>) -> Vec<Statement> {
    let named = |action: Action| Statement { name: format!("{action:?}"), action };
    actions.into_iter().map(named).collect()
}

/// How long one check of one engine may take. The longest takes a minute on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// The variable that names the only engine to try.
pub const ALONE: &str = "CONFORMANCE_ENGINE";

/// A check of one engine: it panics when the engine breaks the contract.
pub type Check = fn(&dyn Engine);

/// Selects the engines of a check.
pub type Of = fn(&EngineDescription) -> bool;

/// Engines that store their rows.
pub const STORING: Of = |about| about.stores;
/// Storing engines that can undo a transaction.
pub const TRANSACTIONAL: Of = |about| about.stores && about.rolls_back;

/// Makes a check on each of these engines that it is for, one after the other, and names those on
/// which it failed. An engine that is not installed is skipped, with a message.
pub fn on(engines: &[&'static dyn Engine], of: Of, check: Check) {
    let alone = std::env::var(ALONE).ok();
    let chosen: Vec<&'static dyn Engine> = match &alone {
        Some(level) => vec![bakeoff_engines::find_among(engines, level).expect("an engine")],
        None => engines.to_vec(),
    };
    let chosen = chosen.into_iter().filter(|engine| of(&engine.about()));
    let installed = chosen.filter(|engine| needs(engine.available()).is_some());
    let failed: Vec<String> =
        installed.filter_map(|engine| failure(PATIENCE, engine, check)).collect();
    assert!(failed.is_empty(), "it fails on {}", failed.join(", "));
}

/// The engine's name and the failure, if the check fails.
fn failure(patience: Duration, engine: &'static dyn Engine, check: Check) -> Option<String> {
    let name = engine.about().name;
    match ends(patience, move || check(engine)) {
        Some(Ok(())) => None,
        Some(Err(_)) => Some(name.to_owned()),
        None => Some(format!(
            "{name} (it does not end within {patience:?}: in this suite a reader never waits for a \
             writer, nor the other way round; see bakeoff_engines::Session)"
        )),
    }
}

/// Runs the check on a thread, up to `patience`: a thread that hangs can't be ended, and goes with
/// the process.
fn ends(patience: Duration, check: impl FnOnce() + Send + 'static) -> Option<thread::Result<()>> {
    let (ended, end) = mpsc::channel();
    let checking = thread::spawn(move || {
        // Dropped when the thread ends, however that happens.
        let _ended: mpsc::Sender<()> = ended;
        check();
    });
    match end.recv_timeout(patience) {
        Err(RecvTimeoutError::Timeout) => None,
        Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(checking.join()),
    }
}

/// Makes a test of each check, for the engines in a slice. Use it at the root of a file of tests,
/// since one of them starts itself again by its name.
#[macro_export]
macro_rules! suite {
    ($engines:expr) => {
        $crate::suite!($engines;
            STORING:
                survival::acknowledged_commits_survive_a_kill,
                debt::says_what_it_owes_while_others_work,
                fits::keeps_what_fits_and_refuses_the_rest,
                types::keeps_every_type,
                written::runs_what_users_write,
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
                use $crate::conformance;
                conformance::on($engines, conformance::$of, conformance::$module::$check);
            }
        )*)*
    };
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::null::NullEngine;

    use super::*;

    fn never_ends(_: &dyn Engine) {
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_check_that_does_not_end_fails_with_what_it_may_be() {
        let said = failure(Duration::from_millis(10), &NullEngine, never_ends).unwrap();
        assert!(said.starts_with("null (it does not end within 10ms: "), "{said}");
        assert_eq!(failure(PATIENCE, &NullEngine, |_| ()), None);
        assert_eq!(failure(PATIENCE, &NullEngine, |_| panic!("as it should")).unwrap(), "null");
    }
}
