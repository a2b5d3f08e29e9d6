//! bakeoff's `fileio` beside fio 3.33 and sysbench 1.0.20, on the disk that has the build's folder.
//!
//! Random reads of 4 KiB beside fio's by io_uring, with registered files and fixed buffers: around the page
//! cache at three depths, and from it. Both read one file. Then sysbench's own test with 16 threads, from the
//! page cache: reads alone, and its mix with its syncs.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All processes
//! have the same two processors. Processor time is that of each one's whole process, without the start of
//! the program.
//!
//! Ends with 1 when a limit is missed. Needs fio and sysbench, each for its part, on a quiet machine.
//!
//! `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter; `-- fio` and `-- sysbench` run one
//! part.

mod fio;
#[path = "../common/job.rs"]
mod job;
mod ours;
#[path = "../common/pairs.rs"]
mod pairs;
mod sysbench;
#[path = "../common/usage.rs"]
mod usage;

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use bakeoff_testkit::needs;

use ours::Files;
use pairs::{Limit, Pairs};

/// The parts, by their names.
const PARTS: [&str; 2] = ["fio", "sysbench"];
/// Reads beside fio's: by which way, and how many at once.
const READS: [(&str, usize); 5] =
    [("direct", 1), ("direct", 16), ("direct", 64), ("buffered", 1), ("buffered", 16)];
/// Tests beside sysbench's: its name of each, and our levels.
const TESTS: [(&str, &[(&str, &str)]); 2] = [
    ("rndrd", &[("pattern", "randread")]),
    ("rndrw", &[("pattern", "randrw:60"), ("sync", "all:100")]),
];

/// What one of both has done.
#[derive(Clone, Copy)]
struct Work {
    requests: f64,
    /// How long that took.
    seconds: f64,
    /// Processor seconds that it took.
    cpu: f64,
}

impl Work {
    fn per_second(&self) -> f64 {
        self.requests / self.seconds
    }

    /// Processor time of a request, in microseconds.
    fn cost(&self) -> f64 {
        self.cpu / self.requests * 1e6
    }
}

fn main() -> ExitCode {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let known = part.as_deref().is_none_or(|part| PARTS.contains(&part));
    assert!(known, "there is no part {part:?}: write {}", PARTS.join(" or "));
    let wanted = |name| part.as_deref().is_none_or(|part| part == name);
    usage::share_processors();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut kept = true;
    if wanted("fio") && needs(fio::available()).is_some() {
        kept &= beside_fio(place.path());
    }
    if wanted("sysbench") && needs(sysbench::available()).is_some() {
        kept &= beside_sysbench(place.path());
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads a second, and processor time of one, of both; whether all is within the limits.
fn beside_fio(place: &Path) -> bool {
    let files = Files::load(place, "reads", &[("size", "512M"), ("pattern", "randread")]);
    let (number, seconds) = (pairs::pairs(), pairs::seconds());
    let mut cells =
        READS.map(|(access, depth)| (access, depth, Pairs::default(), Pairs::default()));
    for pair in 0..number {
        for (access, depth, rates, costs) in &mut cells {
            if *access == "buffered" {
                into_page_cache(files.folder());
            }
            let (file, level) = (files.first(), depth.to_string());
            let reads = fio::Reads { file: &file, direct: *access == "direct", depth: *depth };
            let levels = [("access", *access), ("depth", level.as_str())];
            let ours = || files.run(&levels, 1, seconds);
            let both = pairs::turns(pair, || reads.run(seconds), ours);
            rates.add(both.map(|work| work.per_second()));
            costs.add(both.map(|work| work.cost()));
        }
        eprintln!("pair {} of {number}", pair + 1);
    }
    let mut kept = true;
    pairs::heading("random reads of 4 KiB", "fio");
    for (access, depth, rates, costs) in cells {
        let name = format!("{access}, depth {depth}");
        let least = Limit::Least { ratio: 1.0, low: Some(0.97) };
        kept &= rates.row(&format!("{name}, reads/s"), least);
        kept &= costs.row(&format!("{name}, CPU µs each"), Limit::Most(0.9));
    }
    kept
}

/// Processor time of a request of both; whether it is within its limit.
fn beside_sysbench(place: &Path) -> bool {
    let theirs = place.join("sysbench");
    fs::create_dir(&theirs).expect("a folder");
    sysbench::prepare(&theirs);
    let shape = [("size", "256M"), ("files", "128"), ("block", "16K"), ("access", "buffered")];
    let files = Files::load(place, "tests", &shape);
    let (number, seconds) = (pairs::pairs(), pairs::seconds());
    let mut tests = TESTS.map(|(test, levels)| (test, levels, Pairs::default()));
    for pair in 0..number {
        for (test, levels, costs) in &mut tests {
            into_page_cache(&theirs);
            into_page_cache(files.folder());
            let sysbench = || sysbench::run(&theirs, test, seconds);
            let ours = || files.run(levels, sysbench::THREADS, seconds);
            costs.add(pairs::turns(pair, sysbench, ours).map(|work| work.cost()));
        }
        eprintln!("pair {} of {number}", pair + 1);
    }
    let mut kept = true;
    pairs::heading("sysbench fileio, 16 KiB, 16 threads", "sysbench");
    for (test, _, costs) in tests {
        kept &= costs.row(&format!("{test}, CPU µs a request"), Limit::Most(0.5));
    }
    kept
}

/// Reads all files of a folder, so that the page cache holds them.
fn into_page_cache(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let mut file = File::open(&path).expect("it can be opened");
        io::copy(&mut file, &mut io::sink()).expect("it can be read");
    }
}
