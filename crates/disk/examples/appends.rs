//! Shows what is made durable a second on mounted disks: `appends [SECONDS] [MODEL…]`, by default
//! for 30 s each on `hdd-7200` with each way of keeping its journal.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::fuse::{self, ServeOptions};
use bakeoff_disk::volume::{Volume, VolumeOptions};

const MODELS: [&str; 4] = [
    "hdd-7200",
    "hdd-7200/commit=fast",
    "hdd-7200/journal=near",
    "hdd-7200/commit=fast/journal=near",
];
/// Bytes of other data on the disk.
const OTHERS: u64 = 1 << 30;
/// Bytes of the file that is overwritten.
const WRITTEN: u64 = 16 << 20;
const BLOCK: usize = 4096;

fn main() -> ExitCode {
    print_rates().map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn print_rates() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(30), |seconds| seconds.parse())?;
    let mut models: Vec<String> = arguments.collect();
    if models.is_empty() {
        models = MODELS.map(str::to_owned).to_vec();
    }
    println!("{:<34} appends/s  of 4 writers  overwrites/s", "each with fdatasync, on");
    for model in models {
        let place = tempfile::tempdir()?;
        let mount = place.path().join("mount");
        let backing = place.path().join("backing");
        std::fs::create_dir(&mount)?;
        std::fs::create_dir(&backing)?;
        // Holes: the disk takes what is there for written, and nobody reads it.
        File::create(backing.join("others"))?.set_len(OTHERS)?;
        File::create(backing.join("written"))?.set_len(WRITTEN)?;
        let spec = Models::standard().parse(&model)?;
        let station = Station::new(spec.build(1), 1);
        let options = executor::ExecutorOptions { timing: true, null: spec.is_null() };
        let executor = Arc::new(Executor::start(station, options));
        let volume = Volume::open(&backing, VolumeOptions::new(executor, &spec))?;
        let session = fuse::serve_volume(volume, &mount, &ServeOptions::default())?;
        let time = Duration::from_secs(seconds);
        let [one, four] = [1, 4].map(|writers| measure_rate(&mount, writers, time, append));
        let over = measure_rate(&mount, 1, time, overwrite);
        println!("{model:<34} {one:>9.1} {four:>13.1} {over:>13.1}");
        session.unmount()?;
    }
    Ok(())
}

/// How often a second writers do what is said, all together.
fn measure_rate(folder: &Path, writers: u64, time: Duration, each: fn(&Path, u64, u64)) -> f64 {
    let start = Instant::now();
    let count = |writer| {
        let mut done = 0;
        while start.elapsed() < time {
            each(folder, writers * 10 + writer, done);
            done += 1;
        }
        done
    };
    let done: u64 = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..writers).map(|writer| scope.spawn(move || count(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a writer ends")).sum()
    });
    done as f64 / start.elapsed().as_secs_f64()
}

fn append(folder: &Path, writer: u64, number: u64) {
    let path = folder.join(format!("log-{writer}"));
    let file = File::options().create(true).truncate(false).write(true).open(path);
    write_and_sync(&file.expect("a file"), number * BLOCK as u64);
}

fn overwrite(folder: &Path, _: u64, number: u64) {
    let file = File::options().write(true).open(folder.join("written")).expect("it is there");
    write_and_sync(&file, number * BLOCK as u64 % WRITTEN);
}

fn write_and_sync(file: &File, at: u64) {
    file.write_all_at(&[1; BLOCK], at).expect("there is room");
    file.sync_data().expect("the disk is there");
}
