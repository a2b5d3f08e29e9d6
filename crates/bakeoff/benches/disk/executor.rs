//! How well the executor keeps the time of a device, without a file system in between: on a device whose
//! times are known beforehand.

use std::thread;
use std::time::Instant;

use bakeoff_devices::device::Nanos;
use bakeoff_disk::executor::{Accuracy, Executor, ExecutorOptions};

use self::planned::{MS, Planned, one};
use crate::{Bench, Table};

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
    executor.accuracy()
}

/// Errors of the median and of the 99th percentile, and how long fast work takes.
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
        let accuracy = achieved(times, clients, seconds);
        let errors = [accuracy.error_median, accuracy.error_p99];
        for ((what, error), most) in ["median", "99th"].into_iter().zip(errors).zip(most) {
            table.row(&format!("{name}: {what} of {}", accuracy.slow), error * 1e2, 0.0..=most);
        }
    }
    let fast = achieved(&[MS / 5], 1, seconds);
    table.row("0.2 ms at 1: median, µs", fast.achieved.p50_us, 195.0..=300.0);
}
