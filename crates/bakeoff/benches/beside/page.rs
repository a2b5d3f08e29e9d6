//! What bakeoff's HTTP client does with no other beside it: how late it starts what is due at a rate, and what
//! memory a connection takes.

use std::fs;
use std::path::Path;

use bakeoff_lab::place::TargetPlace;
use bakeoff_results::measure::{OPERATIONS, START_DELAY_P99};
use bakeoff_results::{Measure, Scope, TrialMeasurements};
use bakeoff_stats::quantile::median;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::http::PAGES;
use crate::nginx::Nginx;
use crate::{driven, job, usage};

/// Connections at which the schedule is looked at.
const CONNECTIONS: usize = 50;
/// How late 99 of 100 operations may start, in microseconds.
const LATE_US: f64 = 200.0;
/// Connections whose memory is told.
const MANY: usize = 10_000;
/// Memory that each may take of the client's process, in kB.
const EACH_KB: f64 = 16.0;

/// Prints a figure beside the most that it may be, and returns whether it is within that.
fn row(name: &str, figure: f64, unit: &str, most: f64) -> bool {
    let kept = figure <= most;
    let word = if kept { "ok" } else { "MISSED" };
    println!("{name:<66} {figure:>10.1} {unit:<3} ≤ {most:<6} {word}");
    kept
}

/// What a connection takes of the client's memory: the most that a process with many of them had, less what
/// one with a single one had. To be asked before this process has had larger children.
pub fn memory(folder: &Path, seconds: u32) -> bool {
    let folder = folder.join("many");
    fs::create_dir(&folder).expect("a folder");
    let server = Nginx::start(&folder, &PAGES);
    let url = server.url("small");
    let peak_kb = |connections: usize| {
        let requests = counted(&measure(&folder, &url, connections, seconds, None), &OPERATIONS);
        assert!(requests >= connections as f64, "{requests} requests of {connections}");
        largest_child_kb()
    };
    let (one, many) = (peak_kb(1), peak_kb(MANY));
    let name = format!("small page, {MANY} connections, memory of each");
    row(&name, (many - one) / (MANY - 1) as f64, "kB", EACH_KB)
}

/// How late operations start at half of the rate that a closed loop reaches, with a processor for the server
/// and one for the client.
pub fn schedule(folder: &Path, pairs: usize, seconds: u32) -> bool {
    let Some([first, second]) = two_processors() else {
        println!("skipped: the schedule of an open loop needs two processors");
        return true;
    };
    let folder = folder.join("pinned");
    fs::create_dir(&folder).expect("a folder");
    stay_on(first);
    let server = Nginx::start(&folder, &PAGES);
    stay_on(second);
    let url = server.url("small");
    let run = |rate: Option<f64>| measure(&folder, &url, CONNECTIONS, seconds, rate);
    let closed = run(None);
    let limit = counted(&closed, &OPERATIONS) / closed.ran_s;
    let late = (0..pairs).map(|_| counted(&run(Some(limit / 2.0)), &START_DELAY_P99) * 1e6);
    let late = median(&late.collect::<Vec<_>>()).expect("a figure");
    let name = format!("small page, {:.0} requests/s of {limit:.0}, start late (p99)", limit / 2.0);
    row(&name, late, "µs", LATE_US)
}

/// A figure of the clients.
fn counted(measured: &TrialMeasurements, what: &Measure) -> f64 {
    measured.measures.get(what, &Scope::Clients).expect("counted")
}

/// The first two processors that this thread may have.
fn two_processors() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let mut all = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number));
    Some([all.next()?, all.next()?])
}

/// Leaves this thread, and what it starts, one processor.
fn stay_on(number: usize) {
    let mut one = CpuSet::new();
    one.set(number);
    sched_setaffinity(None, &one).expect("a thread may restrict itself");
}

/// The most memory that any child had that has ended, in kB.
fn largest_child_kb() -> f64 {
    usage::used_by(libc::RUSAGE_CHILDREN).ru_maxrss as f64 * 1024.0 / 1e3
}

/// What bakeoff's clients count on a page: in a closed loop, or at a rate a second.
pub fn measure(
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
    driven::drive(&setup, &TargetPlace::default(), &cell)
}
