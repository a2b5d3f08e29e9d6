//! What recording costs, beside the limits. Ends with code 1 when a limit is missed.
//!
//! Each figure is the median of several runs with everything on one processor, clients and
//! collector together.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bakeoff_load::{
    Blocking, BlockingClient, ClientShare, DrivePlan, DriveProgress, Driver, OperationOutcome,
    cost, drive,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Runs behind each median.
const RUNS: usize = 9;

fn main() -> ExitCode {
    stay_on_one_processor();
    println!("{:<44} {:>14} {:>16}", "name", "measured", "limit");
    let mut kept = true;
    let cost = median(|| cost::measure_cost().total_ns());
    kept &= row("timing and recording an operation, ns", cost, "<=", 100.0, cost <= 100.0);
    let client = median(|| cost::measure_cost().driver_ns);
    kept &= row("  of it inside the latency, ns", client, "<=", 100.0, client <= 100.0);
    for clients in [1, 4] {
        let rate = median(|| rate(clients));
        let name = format!("recorded operations a second, {clients} client(s)");
        kept &= row(&name, rate, ">=", 3e6, rate >= 3e6);
    }
    let peak = peak_with_many_clients();
    kept &= row("peak memory of 1024 clients, MB", peak, "<=", 500.0, peak <= 500.0);
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Threads inherit it, so this comes before any is started.
fn stay_on_one_processor() {
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let first = (0..CpuSet::MAX_CPU).find(|&number| allowed.is_set(number));
    let mut one = CpuSet::new();
    one.set(first.expect("a thread that runs may run somewhere"));
    sched_setaffinity(None, &one).expect("a thread may restrict itself");
}

/// A client that alternates between two operations and does nothing else.
struct Trivial(usize);

impl BlockingClient for Trivial {
    fn choose_operation(&mut self) -> usize {
        self.0 ^= 1;
        self.0
    }

    fn run_operation(&mut self, _: usize) -> OperationOutcome {
        OperationOutcome::default()
    }
}

/// Recorded operations a second, over a quarter of a second.
fn rate(clients: usize) -> f64 {
    let plan = DrivePlan::closed_loop(clients, 2, Duration::from_millis(250));
    let connect = |share: &ClientShare| {
        let client = Blocking(Trivial(share.clients.start & 1));
        Ok::<_, Infallible>(Box::new(client) as Box<dyn Driver>)
    };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut |_: &DriveProgress| ());
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let count: u64 = outcome.kinds.iter().map(bakeoff_load::KindOutcome::count_succeeded).sum();
    count as f64 / plan.duration.as_secs_f64()
}

/// The most memory that this process ever had resident, in MB, after driving 1,024 clients.
fn peak_with_many_clients() -> f64 {
    rate(1024);
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number");
    kibibytes * 1024.0 / 1e6
}

fn median(mut measure: impl FnMut() -> f64) -> f64 {
    let mut runs: Vec<f64> = (0..RUNS).map(|_| measure()).collect();
    runs.sort_unstable_by(f64::total_cmp);
    runs[RUNS / 2]
}

fn row(name: &str, measured: f64, sign: &str, limit: f64, kept: bool) -> bool {
    let word = if kept { "ok" } else { "MISSED" };
    println!("{name:<44} {measured:>14.1} {sign:>4} {limit:>11.0}  {word}");
    kept
}
