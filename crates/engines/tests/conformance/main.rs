//! One suite that every engine passes: the contract, as tests.
//!
//! Everything goes through the `Engine` trait, so that a later engine joins with its name in one
//! line. `broken` holds engines with a known fault each, and shows that the suite finds it.

mod aria;
mod bank;
mod broken;
mod concurrency;
mod folder;
mod genes;
mod model;
mod null;
mod random;
mod sequences;
mod survival;
mod warm;

use bakeoff_engines::{Durability, ENGINES, Engine, Terms};

/// The terms of most checks: what a power cut does is not seen from inside the machine.
const TERMS: Terms = Terms::new(Durability::None);

fn engine(name: &str) -> &'static dyn Engine {
    bakeoff_engines::find(name).unwrap_or_else(|| panic!("there is no engine {name}"))
}

/// Runs a check on the engine of that name; says so and leaves it out where the engine is not
/// installed, but for the machines that must have it.
fn on(name: &str, check: impl Fn(&dyn Engine)) {
    let engine = engine(name);
    match engine.available() {
        Ok(()) => check(engine),
        Err(missing) if std::env::var_os("CI").is_none() => eprintln!("left out: {missing}"),
        Err(missing) => panic!("{missing}"),
    }
}

/// A check of one engine: it panics when the engine breaks the contract.
type Check = fn(&dyn Engine);

macro_rules! suite {
    ($($module:ident: $name:literal),* $(,)?) => {
        /// The engines that the suite runs on.
        const HELD: &[&str] = &[$($name),*];

        $(mod $module {
            use crate::{concurrency, on, sequences, survival, warm};

            const NAME: &str = $name;

            #[test]
            fn answers_like_the_model() {
                on(NAME, sequences::answers_like_the_model);
            }

            #[test]
            fn is_warm_when_all_was_read() {
                on(NAME, warm::is_warm_when_all_was_read);
            }

            #[test]
            fn refuses_misuse() {
                on(NAME, sequences::refuses_misuse);
            }

            #[test]
            fn acknowledged_commits_survive_a_kill() {
                let test = concat!(stringify!($module), "::acknowledged_commits_survive_a_kill");
                on(NAME, |engine| survival::acknowledged_commits_survive_a_kill(engine, test));
            }

            #[test]
            fn read_then_write_loses_no_increment() {
                on(NAME, concurrency::read_then_write_loses_no_increment);
            }

            #[test]
            fn adding_loses_no_increment() {
                on(NAME, concurrency::adding_loses_no_increment);
            }

            #[test]
            fn transfers_keep_the_sum_in_every_snapshot() {
                on(NAME, concurrency::transfers_keep_the_sum_in_every_snapshot);
            }

            #[test]
            fn one_of_many_wins_a_unique_value() {
                on(NAME, concurrency::one_of_many_wins_a_unique_value);
            }

            #[test]
            fn generated_keys_are_distinct_and_grow() {
                on(NAME, concurrency::generated_keys_are_distinct_and_grow);
            }

            #[test]
            fn nobody_sees_unfinished_work() {
                on(NAME, concurrency::nobody_sees_unfinished_work);
            }

            #[test]
            fn rows_read_for_update_are_not_skewed() {
                on(NAME, concurrency::rows_read_for_update_are_not_skewed);
            }

            #[test]
            fn a_dropped_session_undoes_and_blocks_nobody() {
                on(NAME, concurrency::a_dropped_session_undoes_and_blocks_nobody);
            }
        })*
    };
}

suite!(
    sqlite: "sqlite",
    lmdb: "lmdb",
    fjall: "fjall",
    mariadb_innodb: "mariadb:innodb",
    mariadb_rocksdb: "mariadb:rocksdb",
    postgres: "postgres",
);

#[test]
fn no_engine_is_left_out() {
    // Each of these has a file of its own, on what it does instead.
    let names = ENGINES.iter().map(|engine| engine.about().name);
    let held: Vec<_> = names.filter(|name| !["null", "mariadb:aria"].contains(name)).collect();
    assert_eq!(held, HELD);
}
