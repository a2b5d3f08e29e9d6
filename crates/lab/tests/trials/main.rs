//! Trials with real engines, in processes of their own: what they are found to have cost; and the
//! power cuts' tester is tested: stores with one planted fault each, and settings of real engines
//! that are known to be bad, must be caught; a store without a fault, and engines that keep what they
//! promise, must not.
//!
//! This program is also what the lab starts: for a trial's process, which knows the engines made
//! for these tests, and for a disk. So it is its own harness: `cargo test -p bakeoff-lab --test
//! trials [NAME…]` runs the tests whose names contain one of these.

mod bad_input;
mod costs;
mod embedded;
mod lying;
mod servers;
mod stage;
mod store;
mod stores;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bakeoff_devices::models::Models;
use bakeoff_disk::daemon;
use bakeoff_engines::Engine;
use bakeoff_lab::Registry;

/// The engines that a trial's process knows beside those that are built in.
fn engines() -> Vec<&'static dyn Engine> {
    let stores = store::ALL.iter().map(|store| store as &dyn Engine);
    stores.chain(lying::ALL.iter().map(|liar| liar as &dyn Engine)).collect()
}

/// What is run, by its name.
type Test = (&'static str, fn());

/// How many are run at once: half of each is waiting.
const AT_ONCE: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("trial") => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            let registry = Registry::standard().with_engines(engines());
            bakeoff_lab::child(&registry, &mut input, &mut output);
            ExitCode::SUCCESS
        }
        Some("disk-daemon") => mount(),
        _ => run(&arguments),
    }
}

/// Serves a disk as `bakeoff disk-daemon` does.
fn mount() -> ExitCode {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
    match daemon::launched(&Models::standard(), &mut input, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> ExitCode {
    // The longest first, so that none is left alone at the end.
    let cuts = [servers::TESTS, embedded::TESTS, stores::TESTS, bad_input::TESTS].concat();
    let wanted: Vec<_> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    let named = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(*part));
    let wanted =
        |lists: &[Test]| lists.iter().copied().filter(|it| named(it.0)).collect::<Vec<_>>();
    let (mut tests, cuts) = (wanted(costs::TESTS), wanted(&cuts));
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().chain(&cuts).for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    match stage::can_cut() {
        Ok(()) => tests.splice(0..0, cuts).for_each(drop),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "CI must be able to mount: {why}");
            println!("{} tests are skipped: {why}", cuts.len());
        }
    }
    let failed = side_by_side(&tests);
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// Runs the tests, each in a folder of its own; the names of those that failed.
fn side_by_side(tests: &[Test]) -> Vec<&'static str> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let passed = catch_unwind(test).is_ok();
            let seconds = start.elapsed().as_secs_f64();
            println!("test {name} ... {} ({seconds:.1} s)", if passed { "ok" } else { "FAILED" });
            if !passed {
                failed.lock().expect("nobody panics with it").push(*name);
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner().expect("nobody panics with it")
}
