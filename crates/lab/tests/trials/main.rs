//! Trials with real engines, in processes of their own: what they are found to have cost; and the
//! power cuts' tester is tested: stores with one planted fault each, and settings of real engines
//! that are known to be bad, must be caught; a store without a fault, and engines that keep what they
//! promise, must not.
//!
//! This program is also what the lab starts: for a trial's process, which knows the engines made
//! for these tests, and for a disk. So it is its own harness: `cargo test -p bakeoff-lab --test
//! trials [NAME]` runs the tests whose names contain that.

mod costs;
mod cuts;
mod every;
mod stage;
mod store;
mod torn;

use std::process::ExitCode;
use std::sync::LazyLock;

use bakeoff_application::{Application, EXAMPLES};
use bakeoff_devices::models::Models;
use bakeoff_disk::daemon;
use bakeoff_engines::Engine;
use bakeoff_lab::Registry;
use bakeoff_testkit::{Test, needs};
use bakeoff_workloads::Workload;

/// What is built in, and the engines of these tests.
fn registry() -> Registry {
    let stores = store::ALL.iter().map(|store| store as &dyn Engine);
    let registry = Registry::standard().with_workloads([&*SHOP as &dyn Workload]);
    registry.with_engines(stores.chain([&torn::TornPages as &dyn Engine]))
}

/// The example of `bakeoff new` with few rows, whose customers do nothing but buy.
static SHOP: LazyLock<Application> = LazyLock::new(|| {
    let mut files = EXAMPLES[0].to_files();
    let (rows, _) = files.texts["workload.toml"].split_once("[mix.shop]").expect("it has a mix");
    let rows = rows.replace("1000 * :scale", "20");
    files.texts.insert("workload.toml".into(), format!("{rows}[mix.shop]\nbuy = 1\n"));
    Application::new(files).expect("the example is whole")
});

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
    "a_shop_on_a_sound_store_survives",
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
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
    match arguments.first().map(String::as_str) {
        Some("trial") => {
            bakeoff_lab::run_child(&registry(), &mut input, &mut output);
            ExitCode::SUCCESS
        }
        Some("disk-daemon") => {
            match daemon::run_launched(&Models::standard(), &mut input, &mut output) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        _ => run(&arguments),
    }
}

fn run(arguments: &[String]) -> ExitCode {
    // The longest first, so that none is left alone at the end.
    let cuts = [cuts::TESTS, every::TESTS].concat();
    let all = [&cuts[..], costs::TESTS].concat();
    for slow in SLOW {
        assert!(all.iter().any(|(name, _)| name == slow), "there is no test {slow}");
    }
    let cuts = needs(daemon::can_mount()).map(|()| cuts).unwrap_or_default();
    bakeoff_testkit::run(&[&cuts[..], costs::TESTS].concat(), SLOW, AT_ONCE, arguments)
}
