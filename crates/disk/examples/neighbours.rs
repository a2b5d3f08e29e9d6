//! Shows what neighbours do on the disk under a folder: `neighbours [FOLDER]`, by default here.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_disk::neighbour::{Error, FILE_BYTES, NeighbourFile, RunningNeighbours, measure_alone};
use rustix::time::{ClockId, clock_gettime};

fn main() -> ExitCode {
    print_rates().map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn print_rates() -> Result<(), Error> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let file = NeighbourFile::prepare(&folder, FILE_BYTES)?;
    let second = Duration::from_secs(1);
    let alone = measure_alone(&file, second)?;
    println!("one stream alone: {alone:.0} requests/s");
    println!("level  requests/s  share  mean µs  p99 µs  late  processor");
    for level in ["25%", "x1", "x2", "x4"] {
        let level: NeighbourLevel = level.parse().expect("these are levels");
        let before = cpu_s();
        let neighbours = RunningNeighbours::start(&file, level, alone, 1);
        sleep(2 * second);
        let report = neighbours.finish();
        let cpu = (cpu_s() - before) / report.seconds;
        let p99 = report.p99_s.map_or("-".into(), |p99| format!("{:.0}", p99 * 1e6));
        let (rate, mean) = (report.achieved_per_second, report.mean_s * 1e6);
        let (share, late) = (rate / alone, report.late);
        let level = level.to_string();
        println!("{level:>5} {rate:>11.0} {share:>6.2} {mean:>8.0} {p99:>7} {late:>5} {cpu:>10.2}");
    }
    Ok(())
}

/// Processor seconds of this process so far.
fn cpu_s() -> f64 {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default().as_secs_f64()
}
