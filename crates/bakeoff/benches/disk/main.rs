//! The virtual disk beside what it models: what fio reaches on it, what the model alone gives in
//! virtual time, and what is published of such devices; the file system without a device against
//! bindfs; the executor without a file system, neighbours on a real disk, and how fast the models are
//! simulated. Ends with 1 when a row misses its limits; some rows have none, and are told alone.
//!
//! Beside each row of latency stands how late the machine woke a thread that only sleeps. It is no
//! excuse: the limits are the same on a busy machine.
//!
//! Needs fio and bindfs, installs them on Debian as root, and says so where it can't. The time of
//! each job is `BAKEOFF_BENCH_SECONDS` (15); `cargo bench --bench disk -- null` runs the parts whose
//! name begins so.

mod beside;
mod executor;
mod fio;
mod simulate;
mod sleeper;
mod speed;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use bakeoff_devices::device::RequestKind;
use bakeoff_disk::control::Stat;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};

use bakeoff_testkit::skip;
use fio::{Job, Reached};
use simulate::Load;
use sleeper::Sleeper;

/// The command under test.
const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");
/// The file that hard disks are read on: all of the disk, by the model.
const SPAN: u64 = 1 << 30;
/// How long the models are watched in virtual time.
const VIRTUAL: (u64, u64) = (10, 310);
const MB: f64 = 1e6;

/// bakeoff as a disk's daemon.
pub(crate) fn launcher() -> Launcher {
    Launcher { program: BAKEOFF.into(), arguments: vec!["disk-daemon".into()] }
}

/// The figures so far, and whether all were within their limits.
pub(crate) struct Table {
    good: bool,
}

impl Table {
    fn section(&mut self, title: &str) {
        println!(
            "\n{title:<46} {:>10} {:>10}  {:<12} {:<14}",
            "modelled", "achieved", "published", "expected"
        );
    }

    /// A row: what was measured has to lie within `limits`, the model's own figure too if there is
    /// one.
    fn row(&mut self, name: &str, row: &Row) {
        let within = |figure: &f64| row.limits.contains(figure);
        let ok = row.achieved.iter().chain(&row.modelled).all(within);
        let text = |figure: Option<f64>| figure.map_or("-".into(), |figure| format!("{figure:.2}"));
        let limits = match (*row.limits.start(), *row.limits.end()) {
            (0.0, f64::INFINITY) => "none".to_owned(),
            (least, f64::INFINITY) => format!("≥ {least}"),
            (0.0, most) => format!("≤ {most}"),
            (least, most) => format!("{least:.4}–{most:.4}").replace(".0000", ""),
        };
        println!(
            "{name:<46} {:>10} {:>10}  {:<12} {limits:<14} {}",
            text(row.modelled),
            text(row.achieved),
            row.published,
            match (limits.as_str(), ok) {
                ("none", _) => "not judged",
                (_, true) => "ok",
                (_, false) => "MISSED",
            }
        );
        self.good &= ok;
    }
}

/// The figures of a row.
struct Row {
    modelled: Option<f64>,
    achieved: Option<f64>,
    published: &'static str,
    limits: RangeInclusive<f64>,
}

/// Where everything lies, and how long jobs run.
struct Bench {
    place: PathBuf,
    seconds: f64,
}

impl Bench {
    /// Mounts a model over the folder `backing`.
    fn mount(&self, backing: &str, model: &str, neighbours: &str) -> Mounted {
        let (backing, at) = (self.place.join(backing), self.place.join("mount"));
        fs::create_dir_all(&at).expect("a mountpoint");
        let mut options = MountOptions::new(&backing, &at, model);
        options.neighbours = neighbours.parse().expect("a level of neighbours");
        Mounted::start(&launcher(), &options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a job reaches on a model, and what the disk has to say after it.
    fn job(&self, model: &str, neighbours: &str, words: &[&str]) -> (Reached, Stat) {
        let disk = self.mount("files", model, neighbours);
        let job =
            Job { folder: disk.path(), file: "data", size: SPAN, seconds: self.seconds, words };
        let reached = job.run();
        let stat = disk.control().stat().expect("the daemon answers");
        disk.unmount().expect("nobody uses it");
        (reached, stat)
    }
}

type Part = fn(&Bench, &mut Table);

/// The parts of the table.
const PARTS: [(&str, Part); 13] = [
    ("reads", random_reads),
    ("ssd", reads_of_an_ssd),
    ("latency", latency),
    ("streams", streams),
    ("appends", appends),
    ("neighbours", neighbours),
    ("raid", raid),
    ("burst", burst),
    ("null", speed::against_bindfs),
    ("memory", speed::memory),
    ("executor", executor::keeps_time),
    ("beside", beside::on_a_real_disk),
    ("models", models),
];

fn main() -> ExitCode {
    if let Some(missing) = ["fio", "bindfs"].into_iter().find(|program| !fio::have(program)) {
        skip(format_args!("the virtual disk; there is no {missing} on this machine"));
        return ExitCode::SUCCESS;
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let seconds = std::env::var("BAKEOFF_BENCH_SECONDS")
        .map_or(15.0, |text| text.parse().expect("BAKEOFF_BENCH_SECONDS is a number of seconds"));
    let bench = Bench { place: place.path().to_owned(), seconds };
    let files = place.path().join("files");
    fs::create_dir(&files).expect("a folder");
    write_file(&files.join("data"), SPAN);
    let mut table = Table { good: true };
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, part) in PARTS {
        if wanted.as_ref().is_none_or(|wanted| name.starts_with(wanted)) {
            part(&bench, &mut table);
        }
    }
    if table.good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes a file of bytes that are not zero, so that nothing is a hole.
pub(crate) fn write_file(path: &Path, bytes: u64) {
    let piece = vec![0xA5; 1 << 20];
    let mut file = fs::File::create(path).expect("a file");
    for _ in 0..bytes >> 20 {
        std::io::Write::write_all(&mut file, &piece).expect("room for it");
    }
    file.sync_all().expect("a disk that works");
}

const RANDOM_READ: [&str; 4] = ["rw=randread", "bs=4k", "direct=1", "ioengine=libaio"];

fn random(depth: u64) -> Load {
    Load { kind: RequestKind::Read, length: 4096, depth, random: true }
}

fn random_reads(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, 4 KiB random read, direct, a second");
    for (depth, published, limits) in
        [(1, "75–80", 76.0..=82.0), (4, "~105", 98.0..=112.0), (32, "125–130", 120.0..=140.0)]
    {
        let iodepth = format!("iodepth={depth}");
        let words = [&RANDOM_READ[..], &[&*iodepth]].concat();
        let (reached, _) = bench.job("hdd-7200", "0", &words);
        let modelled = Some(simulate::rate("hdd-7200", SPAN, "0", random(depth), VIRTUAL));
        let achieved = Some(reached.per_second);
        table.row(&format!("depth {depth}"), &Row { modelled, achieved, published, limits });
    }
}

/// No limit: what a figure is, is told.
const NO_LIMIT: RangeInclusive<f64> = 0.0..=f64::INFINITY;
/// How long a model with many requests a second is watched in virtual time.
const SHORT: (u64, u64) = (1, 6);

/// How much of a quick device's rate the way through the file system leaves, where 16 wait at a time.
fn reads_of_an_ssd(bench: &Bench, table: &mut Table) {
    table.section("ssd-sata, 4 KiB random read, direct, a second");
    for depth in [1, 16] {
        let iodepth = format!("iodepth={depth}");
        let words = [&RANDOM_READ[..], &[&*iodepth]].concat();
        let (reached, _) = bench.job("ssd-sata", "0", &words);
        let modelled = simulate::rate("ssd-sata", SPAN, "0", random(depth), SHORT);
        let row = |modelled, achieved| Row { modelled, achieved, published: "", limits: NO_LIMIT };
        let rates = row(Some(modelled), Some(reached.per_second));
        table.row(&format!("depth {depth}"), &rates);
        let share = row(None, Some(100.0 * reached.per_second / modelled));
        table.row(&format!("depth {depth}: % of the model"), &share);
    }
}

/// The devices and queue depths whose time is looked at.
const TIMED: [(&str, u64); 5] = [
    ("hdd-7200", 1),
    ("hdd-7200", 4),
    ("hdd-7200", 32),
    ("ebs-magnetic", 1),
    ("raid10:4×hdd-7200", 16),
];

/// Each answer against its own modelled time, by the disk's own account, and the mean by fio's.
fn latency(bench: &Bench, table: &mut Table) {
    table.section("latency at a queue depth, ms, and % off it");
    for (model, depth) in TIMED {
        let iodepth = format!("iodepth={depth}");
        let words = [&RANDOM_READ[..], &[&*iodepth]].concat();
        let sleeper = Sleeper::start();
        let (reached, Stat { latency, .. }) = bench.job(model, "0", &words);
        let late = sleeper.late();
        let name = format!("{model} at {depth}");
        let mean = latency.modelled.mean_us / 1e3;
        // fio's way to the disk and back is a part of its figure.
        let limits = mean * 0.98..=mean * 1.02;
        let row = Row {
            modelled: Some(mean),
            achieved: Some(reached.latency * 1e3),
            published: "",
            limits,
        };
        table.row(&format!("{name}: mean, by fio"), &row);
        for (what, error, most) in
            [("median", latency.error_median, 2.0), ("99th", latency.error_p99, 5.0)]
        {
            let name = format!("{name}: {what} of {}, % off", latency.slow);
            let achieved = Some(error * 100.0);
            table.row(&name, &Row { modelled: None, achieved, published: "", limits: 0.0..=most });
        }
        println!(
            "{:<46} {:>10} {:>10.2}",
            format!("{name}: 99th of a sleeper"),
            "-",
            late * 1e5 / mean
        );
    }
}

fn streams(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, 1 MiB sequential, MB/s");
    for (name, words, kind, depth) in [
        ("read", &["rw=read", "bs=1m", "direct=1", "ioengine=psync"][..], RequestKind::Read, 1),
        (
            "write",
            &["rw=write", "bs=1m", "direct=1", "ioengine=libaio", "iodepth=4"],
            RequestKind::Write,
            4,
        ),
    ] {
        let (reached, _) = bench.job("hdd-7200", "0", words);
        let load = Load { kind, length: 1 << 20, depth, random: false };
        // From the outer edge as far as fio comes.
        let seconds = (0, bench.seconds.ceil() as u64);
        let modelled = simulate::rate("hdd-7200", SPAN, "0", load, seconds) * (1 << 20) as f64;
        let (modelled, achieved) = (Some(modelled / MB), Some(reached.bytes_per_second / MB));
        // The zones' rates, and 10 % to either side.
        let limits = 99.0..=165.0;
        table.row(name, &Row { modelled, achieved, published: "110–150", limits });
        let off = Some(achieved.zip(modelled).map_or(0.0, |(a, m)| (a / m - 1.0).abs() * 100.0));
        let name = format!("{name}: % off the model");
        table.row(&name, &Row { modelled: None, achieved: off, published: "", limits: 0.0..=10.0 });
    }
}

fn appends(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, appends of 4 KiB + fdatasync a second");
    fs::create_dir(bench.place.join("log")).expect("a folder");
    let disk = bench.mount("log", "hdd-7200", "0");
    let words = ["rw=write", "bs=4k", "ioengine=psync", "fdatasync=1", "fallocate=none"];
    let job = Job {
        folder: disk.path(),
        file: "log",
        size: 1 << 30,
        seconds: bench.seconds,
        words: &words,
    };
    let achieved = Some(job.run().per_second);
    let modelled = Some(simulate::appends("hdd-7200", 5000));
    table.row(
        "write cache off",
        &Row { modelled, achieved, published: "≤ 120", limits: 50.0..=120.0 },
    );
}

fn neighbours(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, the same beside neighbours, depth 1");
    let words = [&RANDOM_READ[..], &["iodepth=1"]].concat();
    for (level, streams) in [("x1", 1.0), ("x2", 2.0), ("x4", 4.0)] {
        let expected = 80.0 / (1.0 + streams);
        let (reached, _) = bench.job("hdd-7200", level, &words);
        let modelled = Some(simulate::rate("hdd-7200", SPAN, level, random(1), VIRTUAL));
        let limits = expected * 0.85..=expected * 1.15;
        let achieved = Some(reached.per_second);
        table.row(
            &format!("neighbours {level}"),
            &Row { modelled, achieved, published: "80/(1+k)", limits },
        );
    }
    let disk = bench.mount("files", "hdd-7200", "25%");
    let before = disk.control().stat().expect("the daemon answers");
    thread::sleep(Duration::from_secs_f64(4.0 * bench.seconds));
    let after = disk.control().stat().expect("the daemon answers");
    let busy = (after.device.busy_ns - before.device.busy_ns) as f64 / 1e9;
    let achieved = Some(100.0 * busy / (after.seconds - before.seconds));
    let seconds = 1000;
    let alone = simulate::neighbours_alone("hdd-7200", SPAN, "25%", seconds);
    let modelled = Some(100.0 * alone.busy_ns as f64 / 1e9 / seconds as f64);
    table.row(
        "25 % alone: utilisation, %",
        &Row { modelled, achieved, published: "25", limits: 22.0..=28.0 },
    );
}

fn raid(bench: &Bench, table: &mut Table) {
    table.section("random read, 16 threads, times one ebs-magnetic");
    let words = ["rw=randread", "bs=4k", "direct=1", "ioengine=psync", "numjobs=16", "thread"];
    let figures = |model: &str| {
        let modelled = simulate::rate(model, SPAN, "0", random(16), VIRTUAL);
        (modelled, bench.job(model, "0", &words).0.per_second)
    };
    let one = figures("ebs-magnetic");
    for (model, published, limits) in
        [("raid10:4×ebs-magnetic", "~4", 3.0..=4.0), ("raid10:8×ebs-magnetic", "~8", 6.0..=7.5)]
    {
        let (modelled, achieved) = figures(model);
        let (modelled, achieved) = (Some(modelled / one.0), Some(achieved / one.1));
        table.row(model, &Row { modelled, achieved, published, limits });
    }
}

/// Seconds that a full bucket of gp2:100G lasts at 3,000 a second, 300 of which flow in again.
const BUCKET_LASTS: u64 = 5_400_000 / 2700;

fn burst(bench: &Bench, table: &mut Table) {
    table.section("ebs-gp2:100G, random read, depth 16, a second");
    let model = "ebs-gp2:100G";
    let rate = |model: &str, from, to| simulate::rate(model, SPAN, "0", random(16), (from, to));
    let full = Some(rate(model, 1, BUCKET_LASTS - 20));
    let empty = Some(rate(model, BUCKET_LASTS + 20, BUCKET_LASTS + 320));
    // A bucket that lasts a third of the job.
    let lasts = bench.seconds / 3.0;
    let small = format!("{model}/credits={}", (2700.0 * lasts) as u64);
    let words = [&RANDOM_READ[..], &["iodepth=16"]].concat();
    let disk = bench.mount("files", &small, "0");
    let job = |seconds: f64, words: &[&str]| {
        Job { folder: disk.path(), file: "data", size: SPAN, seconds, words }.run()
    };
    let before = Some(job(lasts * 0.8, &words).per_second);
    // What is left of it, and what flowed in while fio started.
    let ramp = format!("ramp_time={}ms", (lasts * 1000.0) as u64);
    let after = Some(job(lasts, &[&words[..], &[&*ramp]].concat()).per_second);
    for (name, modelled, achieved, published, at) in [
        ("while the bucket lasts", full, before, "3000", 3000.0),
        ("after that", empty, after, "300", 300.0),
    ] {
        table.row(name, &Row { modelled, achieved, published, limits: at * 0.95..=at * 1.05 });
    }
}

/// How fast the models are simulated: a day of a disk must not take hours.
fn models(_: &Bench, table: &mut Table) {
    table.section("requests simulated a second");
    for (model, depth) in [
        ("null", 1),
        ("hdd-7200", 1),
        ("hdd-7200", 32),
        ("ebs-gp3", 16),
        ("raid10:8×ebs-magnetic", 16),
    ] {
        let achieved = Some(simulate::pace(model, random(depth)));
        let limits = 300_000.0..=f64::INFINITY;
        let name = format!("{model} at {depth}");
        table.row(&name, &Row { modelled: None, achieved, published: "", limits });
    }
}
