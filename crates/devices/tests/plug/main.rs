//! What a power cut takes: random histories of operations, syncs and cuts against a model that
//! does every act anew, known stories, and mistakes planted to see whether they are found.
//!
//! `BAKEOFF_PLUG_CASES` sets how many histories are tried.

mod check;
mod commands;
mod data;
mod driver;
mod history;
mod model;
mod seen;
mod stories;
mod walk;

use bakeoff_devices::plug::{Keep, Metadata};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use commands::{Command, commands};
use driver::{Driver, Flaw};

fn cases() -> u32 {
    std::env::var("BAKEOFF_PLUG_CASES").map_or(200, |cases| cases.parse().expect("a number"))
}

/// Runs a history and cuts the power at its end, by every rule, several times.
fn run(history: &[Command], metadata: Metadata, flaw: Option<Flaw>) -> Result<(), String> {
    let mut driver = Driver::new(metadata, flaw);
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
    driver.sync_all();
    check::all_durable(&driver)
}

fn runner() -> TestRunner {
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
}

#[test]
fn every_image_is_one_that_the_model_allows() {
    for metadata in Metadata::ALL {
        let result = runner()
            .run(&commands(), |history| run(&history, metadata, None).map_err(TestCaseError::fail));
        result.unwrap_or_else(|error| panic!("{metadata}: {error}"));
    }
}

#[test]
fn planted_mistakes_are_found() {
    for flaw in Flaw::ALL {
        let config = Config {
            cases: 2000,
            failure_persistence: None,
            max_shrink_iters: 0,
            ..Config::default()
        };
        let run = |history: Vec<Command>| {
            // A mistake may also make an image that is no file system at all.
            let found = std::panic::catch_unwind(|| run(&history, flaw.metadata(), Some(flaw)));
            found.unwrap_or_else(|_| Err("panicked".into())).map_err(TestCaseError::fail)
        };
        let result = TestRunner::new(config).run(&commands(), run);
        assert!(matches!(result, Err(TestError::Fail(..))), "{flaw:?} was not found");
    }
}
