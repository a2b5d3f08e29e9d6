//! Measures random reads a second over the queue depth on mounted disks, one model after the
//! other, and draws them beside what the models say in virtual time.
//!
//! `cargo run --release -p bakeoff-disk --example iops -- docs/iops.svg`; takes five minutes.

mod picture;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;
use bakeoff_disk::daemon;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use picture::ModelSeries;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

/// The argument that makes this program a disk's daemon.
const DAEMON: &str = "disk-daemon";
const MODELS: [&str; 8] = [
    "null",
    "ssd-sata",
    "ebs-gp3",
    "raid10:8×hdd-7200",
    "raid10:4×hdd-7200",
    "hdd-7200",
    "hdd-5400",
    "ebs-magnetic",
];
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Bytes of the file that is read.
const SPAN: u64 = 1 << 30;
const BLOCK: usize = 4096;
/// How long each depth is measured, after a part of it that is not.
const MEASURED: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_millis(500);
/// How long the models are watched in virtual time.
const VIRTUAL: Nanos = 100_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let target = arguments.first().ok_or("name the SVG file to write")?;
    if target == DAEMON {
        return Ok(daemon::run_launched(
            &Models::standard(),
            &mut io::stdin().lock(),
            &mut io::stdout(),
        )?);
    }
    let place = tempfile::tempdir_in(".")?;
    let (files, at) = (place.path().join("files"), place.path().join("disk"));
    std::fs::create_dir(&files)?;
    std::fs::create_dir(&at)?;
    let piece = vec![0xA5; 1 << 20];
    let mut file = File::create(files.join("data"))?;
    for _ in 0..SPAN >> 20 {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    let mut all = Vec::new();
    for model in MODELS {
        let achieved = on_disk(model, &files, &at)?;
        let modelled: Vec<f64> = match model {
            "null" => Vec::new(),
            _ => DEPTHS.iter().map(|depth| in_virtual_time(model, *depth)).collect(),
        };
        println!("{model}: modelled {modelled:.0?}, achieved {achieved:.0?}");
        all.push(ModelSeries { name: model, modelled, achieved });
    }
    std::fs::write(target, picture::draw_picture(&DEPTHS, &all))?;
    Ok(())
}

/// Reads a second at each depth on a mounted disk.
fn on_disk(model: &str, files: &Path, at: &Path) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let launcher = Launcher { program: std::env::current_exe()?, arguments: vec![DAEMON.into()] };
    let disk = Mounted::start(&launcher, &MountOptions::new(files, at, model))?;
    let rates: io::Result<Vec<f64>> =
        DEPTHS.iter().map(|depth| measure_reads(at, *depth)).collect();
    disk.unmount()?;
    Ok(rates?)
}

/// Reads a second of so many threads, each with one read under way.
fn measure_reads(at: &Path, depth: u32) -> io::Result<f64> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(at.join("data"))?;
    let (start, count) = (Instant::now(), AtomicU64::new(0));
    let reader = |thread: u32| -> io::Result<()> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(thread.into());
        // Direct reads want their memory aligned.
        let mut memory = vec![0; 2 * BLOCK];
        let from = memory.as_ptr().align_offset(BLOCK);
        while start.elapsed() < WARM_UP + MEASURED {
            let place = random.random_range(0..SPAN / BLOCK as u64) * BLOCK as u64;
            file.read_exact_at(&mut memory[from..from + BLOCK], place)?;
            if (WARM_UP..WARM_UP + MEASURED).contains(&start.elapsed()) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..depth).map(|n| scope.spawn(move || reader(n))).collect();
        readers.into_iter().try_for_each(|reader| reader.join().expect("a reader does not panic"))
    })?;
    Ok(count.into_inner() as f64 / MEASURED.as_secs_f64())
}

/// Reads a second at a depth by the model alone.
fn in_virtual_time(model: &str, depth: u32) -> f64 {
    let spec = Models::standard().parse(model).expect("these models are there");
    let mut station = Station::new(spec.build(1), 1);
    station.set_span(SPAN);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut request = || DeviceRequest {
        kind: RequestKind::Read,
        offset: random.random_range(0..SPAN / BLOCK as u64) * BLOCK as u64,
        length: BLOCK as u64,
        stream: 0,
    };
    for id in 0..depth {
        station.submit(0, id.into(), request());
    }
    let (mut done, mut count) = (Vec::new(), 0u64);
    while let Some(now) = station.next_event().filter(|now| *now < VIRTUAL) {
        station.advance(now, &mut done);
        for completion in done.drain(..) {
            count += 1;
            station.submit(completion.at, completion.id, request());
        }
    }
    count as f64 * 1e9 / VIRTUAL as f64
}
