//! Neighbours on the disk that this is built on: a share is as busy as it is meant to be. What else holds for them,
//! tests of `bakeoff-disk` judge.

use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_disk::neighbour::{LEAST_BYTES, NeighbourFile, RunningNeighbours, measure_alone};

use crate::{Bench, Table};

/// A share of one stream that always waits for a request.
pub(crate) fn on_a_real_disk(bench: &Bench, table: &mut Table) {
    table.section("neighbours on this machine's disk");
    let file =
        NeighbourFile::prepare(&bench.place, LEAST_BYTES).expect("a disk that has direct I/O");
    let time = Duration::from_secs_f64(bench.seconds / 5.0);
    let alone = measure_alone(&file, time).expect("a disk that works");
    let neighbours = RunningNeighbours::start(&file, NeighbourLevel::Share(0.25), alone, 42);
    std::thread::sleep(time);
    let achieved = neighbours.finish().achieved_per_second;
    table.row("a quarter of one: its share", achieved / alone, 0.20..=0.30);
}
