//! Neighbours on the disk that this is built on: whether they are as busy as they are meant to be.

use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::neighbour::{MOST_STREAMS, NeighbourLevel};
use bakeoff_disk::neighbour::{
    LEAST_BYTES, NeighbourFile, NeighbourReport, RunningNeighbours, measure_alone,
};

use crate::{Bench, Row, Table};

fn run(file: &NeighbourFile, level: NeighbourLevel, alone: f64, time: Duration) -> NeighbourReport {
    let neighbours = RunningNeighbours::start(file, level, alone, 42);
    thread::sleep(time);
    neighbours.finish()
}

/// Streams that always wait for a request, a share of one of them, arrivals that are too many, and how
/// soon they end.
pub(crate) fn on_a_real_disk(bench: &Bench, table: &mut Table) {
    table.section("neighbours on this machine's disk");
    let file =
        NeighbourFile::prepare(&bench.place, LEAST_BYTES).expect("a disk that has direct I/O");
    let time = Duration::from_secs_f64(bench.seconds / 5.0);
    let mut row = |name: &str, achieved: f64, limits| {
        table.row(name, &Row { modelled: None, achieved: Some(achieved), published: "", limits });
    };

    // Little's law.
    let two = run(&file, NeighbourLevel::Streams(2), 0.0, time);
    row("two streams: requests waited for", two.mean_s * two.achieved_per_second, 1.0..=2.01);

    let alone = measure_alone(&file, time).expect("a disk that works");
    let share = run(&file, NeighbourLevel::Share(0.25), alone, time);
    row("a quarter of one: its share", share.achieved_per_second / alone, 0.20..=0.30);

    // All are due near the start, so that the mean waits for half of the time.
    let late = run(&file, NeighbourLevel::Share(1.0), 1e8, time);
    row("too many: mean latency, of the time", late.mean_s / late.seconds, 0.25..=1.0);

    // At one arrival in an hour all threads wait.
    for level in
        [NeighbourLevel::None, NeighbourLevel::Streams(MOST_STREAMS), NeighbourLevel::Share(0.25)]
    {
        let neighbours = RunningNeighbours::start(&file, level, 4.0 / 3600.0, 1);
        thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        neighbours.finish();
        row(&format!("{level}: ms to stop"), start.elapsed().as_secs_f64() * 1e3, 0.0..=250.0);
    }
}
