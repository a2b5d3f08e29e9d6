//! bakeoff's `fileio` beside fio's reads and sysbench's test of files.

use std::fs::{self, File};
use std::path::Path;

use crate::files::Files;
use crate::pairs::{self, Limit};
use crate::{fio, sysbench, usage, work};

/// Reads beside fio's: by which way, and how many at once.
const READS: [(&str, usize); 5] =
    [("direct", 1), ("direct", 16), ("direct", 64), ("buffered", 1), ("buffered", 16)];

type Levels = &'static [(&'static str, &'static str)];

/// Tests beside sysbench's: its name of each, and our levels.
const TESTS: [(&str, Levels); 2] = [
    ("rndrd", &[("pattern", "randread")]),
    ("rndrw", &[("pattern", "randrw:60"), ("sync", "all:100")]),
];

/// Reads a second, and processor time of one, of both; whether all is within the limits.
pub fn beside_fio(place: &Path) -> bool {
    usage::share_processors();
    let files = Files::load(place, "reads", &[("size", "512M"), ("pattern", "randread")]);
    let (file, seconds) = (files.first(), pairs::seconds());
    // Who reads first finds in the page cache what the other one does.
    let ready = |access: &str| {
        if access == "buffered" {
            into_page_cache(files.folder());
        }
    };
    let all = work::compare(
        READS,
        |(access, depth)| {
            ready(access);
            fio::Reads { file: &file, direct: access == "direct", depth }.run(seconds)
        },
        |(access, depth)| {
            ready(access);
            files.run(&[("access", access), ("depth", &depth.to_string())], 1, seconds)
        },
    );
    let mut kept = true;
    pairs::heading("random reads of 4 KiB", "fio");
    for compared in all {
        let (access, depth) = compared.cell;
        let name = format!("{access}, depth {depth}");
        let least = Limit::Least { ratio: 1.0, low: Some(0.97) };
        kept &= compared.rows(&name, ["reads/s", "CPU µs each"], least, 0.9);
    }
    kept
}

/// Processor time of a request of both; whether it is within its limit.
pub fn beside_sysbench(place: &Path) -> bool {
    usage::share_processors();
    let theirs = place.join("sysbench");
    fs::create_dir(&theirs).expect("a folder");
    sysbench::prepare_files(&theirs);
    let shape = [("size", "256M"), ("files", "128"), ("block", "16K"), ("access", "buffered")];
    let files = Files::load(place, "tests", &shape);
    let seconds = pairs::seconds();
    let ready = || [&theirs, files.folder()].map(into_page_cache);
    let all = work::compare(
        TESTS,
        |(test, _)| {
            ready();
            sysbench::run_files(&theirs, test, seconds)
        },
        |(_, levels)| {
            ready();
            files.run(levels, sysbench::THREADS, seconds)
        },
    );
    pairs::heading("sysbench fileio, 16 KiB, 16 threads", "sysbench");
    let row = |test: &str| format!("{test}, CPU µs a request");
    all.iter().fold(true, |kept, compared| compared.cost_row(&row(compared.cell.0), 0.5) & kept)
}

/// Reads all files of a folder, so that the page cache holds them.
fn into_page_cache(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let mut file = File::open(&path).expect("it can be opened");
        std::io::copy(&mut file, &mut std::io::sink()).expect("it can be read");
    }
}
