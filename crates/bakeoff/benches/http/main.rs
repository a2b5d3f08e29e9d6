//! bakeoff's HTTP client beside wrk's, on pages of one private nginx, with the same connections.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. The
//! server and the clients share the same two processors, and both clients have a thread for each. Processor
//! time is that of each client's whole process, wrk's start among it. Then bakeoff's client alone: what memory
//! a connection takes, and how late it starts what is due at a rate.
//!
//! Ends with 1 when a limit is missed. Needs nginx and wrk 4.1, on a quiet machine.
//!
//! `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter.

mod alone;
#[path = "../common/job.rs"]
mod job;
mod nginx;
#[path = "../common/pairs.rs"]
mod pairs;
#[path = "../common/usage.rs"]
mod usage;

use std::path::Path;
use std::process::{Command, ExitCode};

use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::procedures::drive;
use bakeoff_results::measure::{CPU, OPERATIONS};
use bakeoff_results::{Scope, TrialMeasurements};
use bakeoff_testkit::needs;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use pairs::{Limit, Pairs};

const CONNECTIONS: [usize; 3] = [1, 50, 1000];
/// Pages by their names, and bytes of each.
const PAGES: [(&str, usize); 2] = [("small", 100), ("large", 16 << 10)];

/// What one of both has done.
#[derive(Clone, Copy)]
struct Work {
    requests: f64,
    /// How long that took.
    seconds: f64,
    /// Processor seconds that it took.
    cpu: f64,
}

fn main() -> ExitCode {
    if needs(nginx::available().and_then(|()| wrk_available())).is_none() {
        return ExitCode::SUCCESS;
    }
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut kept = alone::memory(place.path(), pairs::seconds());
    kept &= alone::schedule(place.path(), pairs::pairs(), pairs::seconds());
    sched_setaffinity(None, &allowed).expect("a thread may go where it was");
    usage::share_processors();
    let server = nginx::Nginx::start(place.path(), &PAGES);
    let seconds = pairs::seconds();
    let cells = PAGES.iter().flat_map(|(page, _)| CONNECTIONS.map(|number| (*page, number)));
    let mut cells: Vec<_> =
        cells.map(|(page, number)| (page, number, Pairs::default(), Pairs::default())).collect();
    let number = pairs::pairs();
    for pair in 0..number {
        for (page, connections, rates, costs) in &mut cells {
            let url = server.url(page);
            let theirs = || wrk(&url, *connections, seconds);
            let ours = || ours(place.path(), &url, *connections, seconds);
            let both = pairs::turns(pair, theirs, ours);
            rates.add(both.map(|work| work.requests / work.seconds));
            costs.add(both.map(|work| work.cpu / work.requests * 1e6));
        }
        eprintln!("pair {} of {number}", pair + 1);
    }
    drop(server);
    pairs::heading("on nginx", "wrk");
    for (page, connections, rates, costs) in cells {
        let name = format!("{page} page, {connections} connections");
        kept &=
            rates.row(&format!("{name}, requests/s"), Limit::Least { ratio: 1.0, low: Some(0.97) });
        kept &= costs.row(&format!("{name}, CPU µs each"), Limit::Most(0.8));
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether there is wrk.
fn wrk_available() -> Result<(), String> {
    let install = "install wrk 4.1, as by apt-get install wrk";
    let asked = Command::new("wrk").arg("-v").output();
    let asked = asked.map_err(|_| format!("wrk is missing: {install}"))?;
    match String::from_utf8_lossy(&asked.stdout).contains("4.1") {
        true => Ok(()),
        false => Err(format!("this wrk is another version: {install}")),
    }
}

/// wrk on a page.
fn wrk(url: &str, connections: usize, seconds: u32) -> Work {
    let threads = connections.min(2);
    let mut command = Command::new("wrk");
    command.args([format!("-t{threads}"), format!("-c{connections}"), format!("-d{seconds}s")]);
    // Both wait for a late answer: after 2 s, its default, wrk calls it an error and waits on.
    command.args(["--timeout", "30s"]);
    let (said, cpu) = usage::accounted(command.arg(url));
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in "));
    let (requests, rest) = requests.unwrap_or_else(|| panic!("wrk said no requests:\n{said}"));
    let requests: f64 = requests.parse().expect("a number of requests");
    let rate = usage::figure(&said, "Requests/sec:");
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{rest}: {said}");
    Work { requests, seconds: requests / rate, cpu }
}

/// bakeoff on a page.
fn ours(folder: &Path, url: &str, connections: usize, seconds: u32) -> Work {
    let measured = measured(folder, url, connections, seconds, None);
    let counted = |what| measured.measures.get(what, &Scope::Clients).expect("counted");
    let (requests, cpu) = (counted(&OPERATIONS), counted(&CPU));
    Work { requests, seconds: measured.ran_s, cpu }
}

/// What bakeoff's clients count on a page: in a closed loop, or at a rate a second.
fn measured(
    folder: &Path,
    url: &str,
    connections: usize,
    seconds: u32,
    rate: Option<f64>,
) -> Box<TrialMeasurements> {
    let mut keys = vec![
        ("workload", "\"page\"".into()),
        ("compare", "\"url\"".into()),
        ("url", format!("\"{url}\"")),
        ("clients", connections.to_string()),
        ("seconds", seconds.to_string()),
    ];
    keys.extend(rate.map(|rate| ("rate", format!("\"{rate:.0}/s\""))));
    let (setup, cell) = job::cell(folder, None, &keys);
    let measured = job::perform(&setup, &TargetPlace::default(), drive::task(&[&cell]));
    let measured = measured.expect("a trial measures");
    let errors: u64 = measured.operations.iter().map(|operation| operation.errors).sum();
    assert_eq!(errors, 0, "{:?}", measured.warnings);
    measured
}
