//! The virtual disk beside what it models: what fio reaches on it, what the model alone gives in
//! virtual time, and what is published of such devices; the file system without a device against
//! bindfs; the executor without a file system, neighbours on a real disk, and how fast the models are
//! simulated. Ends with 1 when a row misses its limits, which are the same on a busy machine. What devices reach
//! that keep their own time, as arrays and bursts, `models` of `bakeoff-devices`' tests judge in virtual time.
//!
//! Needs fio and bindfs, installs them on Debian as root, and says so where it can't. The time of
//! each job is `BAKEOFF_BENCH_SECONDS` (15); `cargo bench --bench disk -- null` runs the parts whose
//! name begins so.

mod beside;
mod executor;
mod fio;
#[path = "../common/pairs.rs"]
#[expect(dead_code, reason = "the other bench uses all of it")]
mod pairs;
mod simulate;
mod speed;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use bakeoff_devices::limit::ClientLoad;
use bakeoff_disk::control::Stat;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};

use bakeoff_testkit::skip;
use fio::{Job, Reached};

/// The command under test.
const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");
/// The file that hard disks are read on: all of the disk, by the model.
const SPAN: u64 = 1 << 30;
/// How long the models are watched in virtual time.
const VIRTUAL: u64 = 300;
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

    /// A row: what was measured has to lie within the limits.
    fn row(&mut self, name: &str, achieved: f64, limits: RangeInclusive<f64>) {
        self.row_of(name, [None, Some(achieved)], "", limits);
    }

    /// The same beside the model's own figure, which has to lie there, too, and what is published.
    fn row_beside(
        &mut self,
        name: &str,
        modelled_and_achieved: [f64; 2],
        published: &str,
        limits: RangeInclusive<f64>,
    ) {
        self.row_of(name, modelled_and_achieved.map(Some), published, limits);
    }

    fn row_of(
        &mut self,
        name: &str,
        [modelled, achieved]: [Option<f64>; 2],
        published: &str,
        limits: RangeInclusive<f64>,
    ) {
        let ok = achieved.iter().chain(&modelled).all(|figure| limits.contains(figure));
        let text = |figure: Option<f64>| figure.map_or("-".into(), |figure| format!("{figure:.2}"));
        let limits = match (*limits.start(), *limits.end()) {
            (least, f64::INFINITY) => format!("≥ {least}"),
            (0.0, most) => format!("≤ {most}"),
            (least, most) => format!("{least:.4}–{most:.4}").replace(".0000", ""),
        };
        println!(
            "{name:<46} {:>10} {:>10}  {:<12} {limits:<14} {}",
            text(modelled),
            text(achieved),
            published,
            if ok { "ok" } else { "MISSED" }
        );
        self.good &= ok;
    }
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

    /// Random reads at a queue depth.
    fn random_reads(&self, model: &str, depth: u64) -> (Reached, Stat) {
        let iodepth = format!("iodepth={depth}");
        self.job(model, "0", &[&RANDOM_READ[..], &[&*iodepth]].concat())
    }
}

type Part = fn(&Bench, &mut Table);

/// The parts of the table.
const PARTS: [(&str, Part); 9] = [
    ("reads", random_reads),
    ("latency", latency),
    ("streams", streams),
    ("appends", appends),
    ("neighbours", neighbours),
    ("null", speed::against_bindfs),
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

fn random(depth: u64) -> ClientLoad {
    ClientLoad { clients: 1, depth, reads: 100, in_order: false, block: 4096, span: SPAN }
}

fn random_reads(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, 4 KiB random read, direct, a second");
    for (depth, published, limits) in
        [(1, "75–80", 76.0..=82.0), (4, "~105", 98.0..=112.0), (32, "125–130", 120.0..=140.0)]
    {
        let (reached, _) = bench.random_reads("hdd-7200", depth);
        let modelled = simulate::rate("hdd-7200", "0", &random(depth), VIRTUAL);
        let both = [modelled, reached.per_second];
        table.row_beside(&format!("depth {depth}"), both, published, limits);
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
        let (reached, Stat { latency, .. }) = bench.random_reads(model, depth);
        let name = format!("{model} at {depth}");
        let mean = latency.modelled.mean_us / 1e3;
        // fio's way to the disk and back is a part of its figure.
        let both = [mean, reached.latency * 1e3];
        table.row_beside(&format!("{name}: mean, by fio"), both, "", mean * 0.98..=mean * 1.02);
        for (what, error, most) in
            [("median", latency.error_median, 2.0), ("99th", latency.error_p99, 5.0)]
        {
            let name = format!("{name}: {what} of {}, % off", latency.slow);
            table.row(&name, error * 100.0, 0.0..=most);
        }
    }
}

fn streams(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, 1 MiB sequential, MB/s");
    for (name, words, reads, depth) in [
        ("read", &["rw=read", "bs=1m", "direct=1", "ioengine=psync"][..], 100, 1),
        ("write", &["rw=write", "bs=1m", "direct=1", "ioengine=libaio", "iodepth=4"], 0, 4),
    ] {
        let (reached, _) = bench.job("hdd-7200", "0", words);
        let load = ClientLoad { reads, in_order: true, block: 1 << 20, ..random(depth) };
        // From the outer edge as far as fio comes.
        let seconds = bench.seconds.ceil() as u64;
        let modelled = simulate::rate("hdd-7200", "0", &load, seconds) * (1 << 20) as f64;
        let (modelled, achieved) = (modelled / MB, reached.bytes_per_second / MB);
        // The zones' rates, and 10 % to either side.
        table.row_beside(name, [modelled, achieved], "110–150", 99.0..=165.0);
        let off = (achieved / modelled - 1.0).abs() * 100.0;
        table.row(&format!("{name}: % off the model"), off, 0.0..=10.0);
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
    let both = [simulate::appends("hdd-7200", 5000), job.run().per_second];
    table.row_beside("write cache off", both, "≤ 120", 50.0..=120.0);
}

fn neighbours(bench: &Bench, table: &mut Table) {
    table.section("hdd-7200, the same beside neighbours, depth 1");
    let words = [&RANDOM_READ[..], &["iodepth=1"]].concat();
    for (level, streams) in [("x1", 1.0), ("x2", 2.0), ("x4", 4.0)] {
        let expected = 80.0 / (1.0 + streams);
        let (reached, _) = bench.job("hdd-7200", level, &words);
        let modelled = simulate::rate("hdd-7200", level, &random(1), VIRTUAL);
        let limits = expected * 0.85..=expected * 1.15;
        let both = [modelled, reached.per_second];
        table.row_beside(&format!("neighbours {level}"), both, "80/(1+k)", limits);
    }
    let disk = bench.mount("files", "hdd-7200", "25%");
    let before = disk.control().stat().expect("the daemon answers");
    thread::sleep(Duration::from_secs_f64(4.0 * bench.seconds));
    let after = disk.control().stat().expect("the daemon answers");
    let busy = (after.device.busy_ns - before.device.busy_ns) as f64 / 1e9;
    let achieved = 100.0 * busy / (after.seconds - before.seconds);
    let seconds = 1000;
    let alone = simulate::neighbours_alone("hdd-7200", SPAN, "25%", seconds);
    let modelled = 100.0 * alone.busy_ns as f64 / 1e9 / seconds as f64;
    table.row_beside("25 % alone: utilisation, %", [modelled, achieved], "25", 22.0..=28.0);
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
        let achieved = simulate::pace(model, &random(depth));
        table.row(&format!("{model} at {depth}"), achieved, 300_000.0..=f64::INFINITY);
    }
}
