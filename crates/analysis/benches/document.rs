//! How long the document of 10,000 synthetic trials takes, and how much memory: at most 3 s and
//! 300 MB, so that a whole report stays below 5 s and 500 MB.

#[path = "../../results/examples/synthetic/data.rs"]
mod data;
#[path = "../../results/examples/synthetic/folder.rs"]
mod folder;

use std::time::Instant;

use bakeoff_results::RunFolder;

const TRIALS: u32 = 10_000;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder can be made");
    let path = dir.path().join("run");
    let start = Instant::now();
    folder::write(&path, TRIALS).expect("the folder can be written");
    println!("{TRIALS} trials written in {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let folder = RunFolder::open(&path).expect("the folder can be opened");
    let document = bakeoff_analysis::document(&folder).expect("the folder can be read");
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_megabytes();
    println!(
        "document of {} trials, {} cells, {} comparisons: {seconds:.2} s, peak of {peak:.0} MB",
        document.trials.len(),
        document.cells.len(),
        document.comparisons.len()
    );
    assert!(seconds < 3.0 && peak < 300.0, "too slow or too large");
}

/// The most memory that this process has ever had resident.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has a peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number of kB") / 1024.0
}
