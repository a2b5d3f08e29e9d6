//! Reads by key: the workload `point`, which is a folder of SQL, beside the same reads in Rust.

use std::hint::black_box;
use std::path::Path;

use bakeoff_application::find_built_in;
use bakeoff_engines::{Session, find_level};
use bakeoff_stats::paired::{CONFIDENCE, ratio_of_logs};
use bakeoff_stats::quantile::median;
use bakeoff_testkit::count_allocations;
use bakeoff_workloads::{OperationTally, WorkloadClient};
use rustix::time::{ClockId, clock_gettime};

use crate::in_rust::ReadsInRust;
use crate::loaded::Loaded;
use crate::pairs::{self, Limit, Pairs};

/// Turns are short, and what else runs on the machine wanders.
const TURNS: usize = 5;

/// A client with its session.
struct Reader<'a> {
    client: Box<dyn WorkloadClient + 'a>,
    session: Box<dyn Session + 'a>,
}

impl<'a> Reader<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let session = loaded.database.session().expect("a session");
        Self { client: loaded.prepared.make_client(0, 1, 1), session }
    }

    /// Nanoseconds of this thread's processor time an operation.
    fn time(&mut self, operations: u32) -> f64 {
        let start = thread_time();
        for _ in 0..operations {
            let mut tally = OperationTally::default();
            let operation = self.client.choose_operation();
            self.client.run_operation(operation, &mut *self.session, &mut tally).expect("a row");
            black_box(tally);
        }
        (thread_time() - start) / f64::from(operations)
    }

    /// How often so many operations allocate memory, once they have run for a while.
    fn count_allocations(&mut self, operations: u32) -> u64 {
        self.time(operations);
        let before = count_allocations();
        self.time(operations);
        count_allocations() - before
    }
}

/// The processor time of this thread, in nanoseconds.
fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// What both cost, and whether all is within the limits.
pub fn reads(place: &Path) -> bool {
    let point = find_built_in("point").expect("it is built in");
    let mut kept = true;
    pairs::heading("point, a folder of SQL", "in Rust");
    for (engine, operations) in [("null", 1_000_000), ("sqlite", 100_000)] {
        let theirs = Loaded::load(&ReadsInRust, engine, &place.join(format!("{engine}-in-rust")));
        let ours = Loaded::load(point, engine, &place.join(format!("{engine}-point")));
        let (mut theirs, mut ours) = (Reader::new(&theirs), Reader::new(&ours));
        let allocated = ours.count_allocations(operations);
        theirs.time(operations);
        let (mut all, mut costs) = (Vec::new(), Pairs::default());
        for pair in 0..pairs::pairs() * TURNS {
            let both = pairs::turns(pair, || theirs.time(operations), || ours.time(operations));
            all.push(both);
            costs.add(both);
        }
        let name = format!("on {engine}, ns an operation");
        kept &= match engine {
            "null" => difference_row(&name, &all, 100.0),
            _ => costs.row(&name, Limit::Most(1.05)),
        };
        let word = if allocated == 0 { "ok" } else { "MISSED" };
        println!(
            "on {engine}, allocations in {operations} operations: {allocated}, limit 0 {word}"
        );
        kept &= allocated == 0;
    }
    kept
}

/// Engines whose clients cost as much, and allocate nothing, where a server does next to nothing.
const SERVED: [&str; 2] = ["mariadb:innodb", "postgres"];

/// Whether there are their servers.
///
/// # Errors
/// What is missing.
pub fn are_servers_available() -> Result<(), String> {
    SERVED.into_iter().try_for_each(|name| find_level(name).expect("an engine").available())
}

/// What reads of servers cost their clients, and whether all is within the limits.
pub fn served_reads(place: &Path) -> bool {
    const OPERATIONS: u32 = 5_000;
    let point = find_built_in("point").expect("it is built in");
    pairs::heading("point, processor time of clients", "on MariaDB");
    let loaded =
        SERVED.map(|name| Loaded::load(point, name, &place.join(name.replace(':', "-of-"))));
    let mut readers = loaded.each_ref().map(Reader::new);
    let allocated = readers.each_mut().map(|reader| reader.count_allocations(OPERATIONS));
    let [theirs, ours] = &mut readers;
    let mut costs = Pairs::default();
    for pair in 0..pairs::pairs() * TURNS {
        costs.add(pairs::turns(pair, || theirs.time(OPERATIONS), || ours.time(OPERATIONS)));
    }
    println!("allocations in {OPERATIONS} operations: {allocated:?}, limit 0");
    let name = "on PostgreSQL, ns an operation";
    let is_cheap = costs.row(name, Limit::Most(1.2));
    costs.row(name, Limit::Least { ratio: 0.8, low: None }) && is_cheap && allocated == [0, 0]
}

/// As [`Pairs::row`], of the difference in nanoseconds.
fn difference_row(name: &str, pairs: &[[f64; 2]], most: f64) -> bool {
    // What is made for logarithms takes any numbers that are near 0: microseconds.
    let differences: Vec<f64> = pairs.iter().map(|[theirs, ours]| (ours - theirs) / 1e3).collect();
    let estimate = ratio_of_logs(&differences, CONFIDENCE).expect("figures");
    let back = |ratio: f64| ratio.ln() * 1e3;
    let of = |which: usize| {
        median(&pairs.iter().map(|pair| pair[which]).collect::<Vec<_>>()).expect("figures")
    };
    let difference = back(estimate.ratio);
    let interval = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{difference:+.1} ({:.1}–{:.1})", back(low), back(high)),
        _ => format!("{difference:+.1} (one pair)"),
    };
    let limit = format!("≤ +{most}");
    let kept = difference <= most;
    let word = if kept { "ok" } else { "MISSED" };
    println!("{name:<44} {:>10.1} {:>10.1}  {interval:<22} {limit:<14} {word}", of(0), of(1));
    kept
}
