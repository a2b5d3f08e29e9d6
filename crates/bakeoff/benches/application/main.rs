//! What an application of the user's own costs beside the same work without it:
//!
//! - `points`: the workload `point`, which is a folder of SQL, against the same reads in Rust: processor time
//!   of an operation, and how often it allocates memory, on the engine that does nothing and on SQLite.
//! - `served`: the same reads of private PostgreSQL and MariaDB servers: what each costs its client.
//! - `pgbench`: two of pgbench's scripts against pgbench itself, on one private PostgreSQL server and its tables.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All share two
//! processors. pgbench's processor time is that of its process, without its start.
//!
//! Ends with 1 when a limit is missed, or a part that was named can't run. `pgbench` needs PostgreSQL 15 with
//! pgbench. `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter; `-- points`, `-- served` and
//! `-- pgbench` run one part.

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
    let known = ["points", "served", "pgbench"].into_iter().any(is_wanted);
    assert!(known, "there is no part {wanted:?}: write points, served or pgbench");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The server may run as another user.
    open_to_all(place.path());
    usage::share_processors();
    let mut kept = true;
    if is_wanted("points") {
        kept &= points::reads(place.path());
    }
    type Part = (&'static str, fn() -> Result<(), String>, fn(&Path) -> bool);
    let with_servers: [Part; 2] = [
        ("served", points::are_servers_available, points::served_reads),
        ("pgbench", pgbench::available, pgbench::rates),
    ];
    for (name, available, measure) in with_servers {
        kept &= match available() {
            _ if !is_wanted(name) => true,
            Ok(()) => measure(place.path()),
            // Whoever names the part wants it.
            Err(why) if wanted.is_some() => {
                eprintln!("{name} can't run: {why}");
                false
            }
            Err(why) => {
                skip(format_args!("{name}: {why}"));
                true
            }
        };
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
