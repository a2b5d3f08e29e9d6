//! What an application of the user's own costs beside the same work without it:
//!
//! - `points`: the workload `point`, which is a folder of SQL, against the same reads in Rust: processor time
//!   of an operation, and how often it allocates memory, on the engine that does nothing and on SQLite.
//! - `pgbench`: two of pgbench's scripts against pgbench itself, on one private PostgreSQL server and its tables.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All share two
//! processors. pgbench's processor time is that of its process, without its start.
//!
//! Ends with 1 when a limit is missed, or a part that was named can't run. `pgbench` needs PostgreSQL 15 with
//! pgbench. `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter; `-- points` and `-- pgbench` run
//! one part.

mod in_rust;
mod loaded;
#[path = "../common/pairs.rs"]
mod pairs;
mod pgbench;
mod points;
#[path = "../common/usage.rs"]
mod usage;
#[path = "../common/work.rs"]
mod work;

use std::path::Path;
use std::process::ExitCode;

use bakeoff_testkit::{CountingAllocator, open_to_all, skip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let known = is_wanted("points") || is_wanted("pgbench");
    assert!(known, "there is no part {wanted:?}: write points or pgbench");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The server may run as another user.
    open_to_all(place.path());
    usage::share_processors();
    let mut kept = true;
    if is_wanted("points") {
        kept &= points::reads(place.path());
    }
    if is_wanted("pgbench") {
        kept &= beside_pgbench(place.path(), wanted.is_some());
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether all is within the limits. Whoever names the part wants it.
fn beside_pgbench(place: &Path, named: bool) -> bool {
    match pgbench::available() {
        Ok(()) => pgbench::rates(place),
        Err(why) if named => {
            eprintln!("pgbench can't run: {why}");
            false
        }
        Err(why) => {
            skip(format_args!("pgbench: {why}"));
            true
        }
    }
}
