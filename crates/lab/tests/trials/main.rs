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
mod every;
mod lying;
mod rows;
mod servers;
mod stage;
mod store;
mod stores;

use std::process::ExitCode;

use bakeoff_devices::models::Models;
use bakeoff_disk::daemon;
use bakeoff_engines::Engine;
use bakeoff_lab::Registry;
use bakeoff_testkit::{Test, needs};
use bakeoff_workloads::Workload;

/// The engines that a trial's process knows beside those that are built in.
fn engines() -> Vec<&'static dyn Engine> {
    let stores = store::ALL.iter().map(|store| store as &dyn Engine);
    stores.chain(lying::ALL.iter().map(|liar| liar as &dyn Engine)).collect()
}

/// Those that `make test-slow` alone runs, and those that `make soak` does.
const SLOW: &[&str] = &[
    "servers_keep_strict",
    "tarantool_with_a_log_of_its_own_keeps_strict",
    "memtx_keeps_strict_where_its_log_turns",
    "memtx_keeps_strict_when_the_power_goes_twice",
    "vinyl_is_cut_while_it_pays",
    "vinyl_recovers_twice",
    "innodb_keeps_strict_while_it_pays",
    "embedded_engines_keep_relaxed",
    "embedded_engines_keep_strict_twice",
    "postgres_with_whole_pages_survives",
    "a_sound_store_survives_by_posix",
    "embedded_engines_keep_strict_at_every_moment",
    "every_planted_fault_is_found_at_every_moment",
    "every_planted_fault_is_found_at_every_moment_soak",
    "a_gap_that_one_sync_in_many_opens_is_found_at_every_moment",
    "a_weaker_level_syncs_less_than_it_commits",
];

/// How many are run at once: half of each is waiting.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("trial") => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            let registry = Registry::standard()
                .with_engines(engines())
                .with_workloads([&rows::HalfWay as &dyn Workload]);
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
    let cuts =
        [servers::TESTS, embedded::TESTS, stores::TESTS, every::TESTS, bad_input::TESTS].concat();
    let others = [costs::TESTS, rows::TESTS].concat();
    let all = [&cuts[..], &others].concat();
    for slow in SLOW {
        assert!(all.iter().any(|(name, _)| name == slow), "there is no test {slow}");
    }
    let cuts = needs(daemon::can_mount()).map(|()| cuts).unwrap_or_default();
    bakeoff_testkit::run(&[cuts, others].concat(), SLOW, AT_ONCE, arguments)
}
