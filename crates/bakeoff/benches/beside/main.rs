//! What bakeoff does beside other tools that do the same, on the same servers and files:
//!
//! - `rates`: `oltp` against sysbench 1.0.20 on one private MariaDB server, over its socket, on the same rows,
//!   with the same prepared statements; `loads`: loading the table against `sysbench prepare`; `tarantool`: its
//!   client of Tarantool beside `net.box`. These three are `client`.
//! - `http`: its HTTP client beside wrk's, on pages of one private nginx, with the same connections; and alone,
//!   what memory a connection takes, and how late it starts what is due at a rate.
//! - `fio` and `files`, which are `io`: `fileio` beside fio 3.33 and sysbench 1.0.20, on the disk that has the
//!   build's folder. Random reads of 4 KiB beside fio's by io_uring, with registered files and fixed buffers:
//!   around the page cache at three depths, and from it. Then sysbench's own test with 16 threads, from the page
//!   cache: reads alone, and its mix with its syncs.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All processes
//! have the same two processors. Processor time is that of each one's whole process, without the start of the
//! program but for wrk's.
//!
//! Ends with 1 when a limit is missed, a part that was named can't run, or nothing ran. Needs the other tools, and
//! MariaDB, for loads MyRocks, too, Tarantool and nginx, each for its part, on a quiet machine.
//!
//! `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter; `-- rates`, `-- io` and so on run one
//! part or what has that name.

mod client;
mod driven;
mod files;
mod fio;
mod http;
mod io;
#[path = "../common/job.rs"]
mod job;
#[path = "../common/mariadb.rs"]
mod mariadb;
mod nginx;
mod oltp;
mod page;
#[path = "../common/pairs.rs"]
mod pairs;
mod sysbench;
mod tarantool;
#[path = "../common/usage.rs"]
mod usage;
#[path = "../common/work.rs"]
mod work;

use std::path::Path;
use std::process::ExitCode;

use bakeoff_testkit::{open_to_all, skip};

/// A part of the bench.
struct Part {
    name: &'static str,
    group: &'static str,
    /// Whether all is there that it needs; else what is missing, and how to install it.
    there: fn() -> Result<(), String>,
    /// Has both take their turns in a folder; whether all is within the limits.
    run: fn(&Path) -> bool,
}

/// The memory of the HTTP client is looked at before this process has had larger children.
static PARTS: [Part; 6] = [
    Part { name: "http", group: "http", there: http::available, run: http::pages },
    Part { name: "rates", group: "client", there: client::rates_available, run: client::rates },
    Part { name: "loads", group: "client", there: client::loads_available, run: client::loads },
    Part { name: "tarantool", group: "client", there: tarantool::available, run: tarantool::rates },
    Part { name: "fio", group: "io", there: fio::available, run: io::beside_fio },
    Part { name: "files", group: "io", there: sysbench::available, run: io::beside_sysbench },
];

fn main() -> ExitCode {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted =
        |part: &&Part| named.as_deref().is_none_or(|name| name == part.name || name == part.group);
    let wanted: Vec<&Part> = PARTS.iter().filter(is_wanted).collect();
    let names = PARTS.each_ref().map(|part| part.name).join(" or ");
    assert!(!wanted.is_empty(), "there is no part {named:?}: write {names}, or client or io");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The servers may run as another user.
    open_to_all(place.path());
    let (mut ran, mut kept) = (0, true);
    for part in &wanted {
        match (part.there)() {
            Ok(()) => {
                ran += 1;
                kept &= (part.run)(place.path());
            }
            // Whoever names a part wants it.
            Err(why) if wanted.len() == 1 => eprintln!("{} can't run: {why}", part.name),
            Err(why) => skip(format_args!("{}: {why}", part.name)),
        }
    }
    if ran == 0 {
        eprintln!("nothing ran");
    }
    if kept && ran > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
