//! How well the executor keeps the time of a device, without a file system in between: on a device whose
//! times are known beforehand.

use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_disk::executor::{Accuracy, Executor, ExecutorOptions};

use self::planned::{MS, Planned, one};
use crate::sleeper::Sleeper;
use crate::{Bench, Row, Table};

// The executor's own tests have the device.
#[path = "../../../disk/src/executor/tests/planned.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod planned;

fn executor(times: &[Nanos]) -> Executor {
    let (station, _) = Planned::station(times);
    Executor::start(station, ExecutorOptions { timing: true, null: false })
}

fn read(executor: &Executor) {
    executor.perform_and_wait(one(0));
}

/// What clients achieve that ask for one thing after the other, for so long in all.
fn achieved(times: &[Nanos], clients: usize, seconds: f64) -> Accuracy {
    let (executor, start) = (executor(times), Instant::now());
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                while start.elapsed().as_secs_f64() < seconds {
                    read(&executor);
                }
            });
        }
    });
    executor.stop();
    executor.achieved()
}

/// Errors of the median and of the 99th percentile, and how long fast work and a way take.
pub(crate) fn keeps_time(bench: &Bench, table: &mut Table) {
    table.section("the executor alone: % off the model");
    let seconds = bench.seconds / 5.0;
    // 2 to 20 ms in an order without a pattern.
    let mixed: Vec<Nanos> = (0..60).map(|n| (2 + n * 37 % 19) * MS + n * 12_345).collect();
    let turns = [MS / 5, MS + MS / 5, MS + MS / 5];
    for (name, times, clients, most) in [
        ("2 to 20 ms at 1", &mixed[..], 1, [2.0, 5.0]),
        ("2 ms at 16", &[2 * MS], 16, [2.0, 5.0]),
        ("1.2 ms after 0.2 and after 1.2 ms", &turns, 1, [3.0, f64::INFINITY]),
    ] {
        let sleeper = Sleeper::start();
        let accuracy = achieved(times, clients, seconds);
        let late = sleeper.late();
        let errors = [accuracy.error_median, accuracy.error_p99];
        for ((what, error), most) in ["median", "99th"].into_iter().zip(errors).zip(most) {
            figure(table, &format!("{name}: {what} of {}", accuracy.slow), error * 1e2, 0.0..=most);
        }
        println!("{name}: a sleeper's 99th is {:.0} µs late", late * 1e6);
    }
    let fast = achieved(&[MS / 5], 1, seconds);
    figure(table, "0.2 ms at 1: median, µs", fast.achieved.p50_us, 195.0..=300.0);
    figure(table, "5 ms with a way of 1 ms each way, ms", with_a_way(), 4.9..=5.8);
}

fn figure(table: &mut Table, name: &str, achieved: f64, limits: RangeInclusive<f64>) {
    table.row(name, &Row { modelled: None, achieved: Some(achieved), published: "", limits });
}

/// The median of how long 5 ms take for who waits, a millisecond of which is the way here, and another
/// the way back.
fn with_a_way() -> f64 {
    let executor = executor(&[5 * MS]);
    executor.set_round_trip(2 * MS);
    let way = || thread::sleep(Duration::from_millis(1));
    let each = |_| {
        let start = Instant::now();
        way();
        read(&executor);
        way();
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..100).map(each).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
