//! One suite that every engine passes: the contract, as tests.
//!
//! Everything goes through the `Engine` trait, so that a later engine joins with its name in one
//! line. `broken` holds engines with a known fault each, and shows that the suite finds it.

mod bank;
mod broken;
mod concurrency;
mod genes;
mod model;
mod null;
mod random;
mod sequences;
mod survival;

use bakeoff_engines::{Durability, ENGINES, Engine, Terms};

/// The terms of most checks: what a power cut does is not seen from inside the machine.
const TERMS: Terms = Terms::new(Durability::None);

fn engine(name: &str) -> &'static dyn Engine {
    bakeoff_engines::find(name).unwrap_or_else(|| panic!("there is no engine {name}"))
}

/// A check of one engine: it panics when the engine breaks the contract.
type Check = fn(&dyn Engine);

macro_rules! suite {
    ($($name:ident),*) => {
        /// The engines that the suite runs on.
        const HELD: &[&str] = &[$(stringify!($name)),*];

        $(mod $name {
            use crate::{concurrency, engine, sequences, survival};

            const NAME: &str = stringify!($name);

            #[test]
            fn answers_like_the_model() {
                sequences::answers_like_the_model(engine(NAME));
            }

            #[test]
            fn refuses_misuse() {
                sequences::refuses_misuse(engine(NAME));
            }

            #[test]
            fn acknowledged_commits_survive_a_kill() {
                let test = concat!(stringify!($name), "::acknowledged_commits_survive_a_kill");
                survival::acknowledged_commits_survive_a_kill(engine(NAME), test);
            }

            #[test]
            fn read_then_write_loses_no_increment() {
                concurrency::read_then_write_loses_no_increment(engine(NAME));
            }

            #[test]
            fn adding_loses_no_increment() {
                concurrency::adding_loses_no_increment(engine(NAME));
            }

            #[test]
            fn transfers_keep_the_sum_in_every_snapshot() {
                concurrency::transfers_keep_the_sum_in_every_snapshot(engine(NAME));
            }

            #[test]
            fn one_of_many_wins_a_unique_value() {
                concurrency::one_of_many_wins_a_unique_value(engine(NAME));
            }

            #[test]
            fn generated_keys_are_distinct_and_grow() {
                concurrency::generated_keys_are_distinct_and_grow(engine(NAME));
            }

            #[test]
            fn nobody_sees_unfinished_work() {
                concurrency::nobody_sees_unfinished_work(engine(NAME));
            }

            #[test]
            fn rows_read_for_update_are_not_skewed() {
                concurrency::rows_read_for_update_are_not_skewed(engine(NAME));
            }

            #[test]
            fn a_dropped_session_undoes_and_blocks_nobody() {
                concurrency::a_dropped_session_undoes_and_blocks_nobody(engine(NAME));
            }
        })*
    };
}

suite!(sqlite, lmdb, fjall);

#[test]
fn no_engine_is_left_out() {
    let names = ENGINES.iter().map(|engine| engine.about().name);
    let held: Vec<_> = names.filter(|name| *name != "null").collect();
    assert_eq!(held, HELD);
}
