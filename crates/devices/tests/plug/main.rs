//! What a power cut takes: random histories of operations, syncs and cuts against a model that
//! does every act anew, stories of what pages and copies leave, and mistakes planted to see
//! whether they are found.
//!
//! `BAKEOFF_PLUG_CASES` sets how many histories are tried.

mod check;
mod commands;
mod data;
mod driver;
mod model;
mod seen;
mod stories;
mod walk;

use bakeoff_devices::plug::Keep;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use commands::{Command, commands};
use driver::{Driver, Flaw, JOURNAL, ORDERED, POSIX, Promises, WRITEBACK};

fn cases() -> u32 {
    std::env::var("BAKEOFF_PLUG_CASES").map_or(200, |cases| cases.parse().expect("a number"))
}

/// Runs a history and cuts the power at its end, by every rule, several times.
fn run(history: &[Command], promises: Promises, flaw: Option<Flaw>) -> Result<(), String> {
    let mut driver = Driver::new(promises, flaw);
    for command in history {
        driver.run(command);
        check::held(&driver)?;
    }
    let allowed = check::Allowed::of(&driver);
    for keep in Keep::ALL {
        for seed in 0..if keep == Keep::DropAll { 1 } else { 6 } {
            let found = check::image(&driver, &allowed, keep, seed);
            found.map_err(|error| format!("{keep}, seed {seed}: {error}"))?;
        }
    }
    driver.settle();
    check::all_durable(&driver)
}

/// Runs a history until so much is pending that all sets of it are met by few seeds.
fn run_a_little(history: &[Command], promises: Promises) -> Result<(), String> {
    let mut driver = Driver::new(promises, None);
    for command in history {
        driver.run(command);
        if driver.history.pending(|_| true).len() == 3 {
            break;
        }
    }
    check::all_is_met(&driver, &check::Allowed::of(&driver))
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

#[test]
fn every_image_is_one_that_the_model_allows() {
    for promises in [ORDERED, POSIX, JOURNAL, WRITEBACK] {
        let run =
            |history: Vec<Command>| run(&history, promises, None).map_err(TestCaseError::fail);
        let result = TestRunner::new(config(cases())).run(&commands(60), run);
        result.unwrap_or_else(|error| panic!("{promises:?}: {error}"));
    }
}

#[test]
fn every_image_that_the_model_allows_is_met() {
    for promises in [ORDERED, POSIX, JOURNAL] {
        let run =
            |history: Vec<Command>| run_a_little(&history, promises).map_err(TestCaseError::fail);
        let result = TestRunner::new(config(cases() / 2)).run(&commands(20), run);
        result.unwrap_or_else(|error| panic!("{promises:?}: {error}"));
    }
}

#[test]
fn planted_mistakes_are_found() {
    for (flaw, promises) in Flaw::ALL {
        let config = Config { max_shrink_iters: 0, ..config(2000) };
        let run = |history: Vec<Command>| {
            // A mistake may also make an image that is no file system at all.
            let found = std::panic::catch_unwind(|| run(&history, promises, Some(flaw)));
            found.unwrap_or_else(|_| Err("panicked".into())).map_err(TestCaseError::fail)
        };
        let result = TestRunner::new(config).run(&commands(60), run);
        assert!(matches!(result, Err(TestError::Fail(..))), "{flaw:?} was not found");
    }
}
