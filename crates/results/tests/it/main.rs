//! The run folder: what is kept in it, what it is merged of, and what is said of one that somebody else has made.

mod cuts;
mod folder;
mod foreign;
mod merge;
mod takeover;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bakeoff_results::{Canary, DATABASE, EXPERIMENT, Result, RunFolder, Trial, TrialSummary};
use bakeoff_testkit::synthetic::{TrialGenerator, run};
use rusqlite::Connection;

const TOML: &str = "name = \"synthetic\" # and a comment\n";

/// Where a run folder can be made.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/run");
    (dir, path)
}

fn canary(at_s: f64) -> Canary {
    Canary { at_s, cpu_s: 0.25, memory_s: 0.5, sync_s: 0.125, read_s: None, off: None }
}

/// When a folder looked at its machine.
fn looks(folder: &RunFolder) -> Vec<f64> {
    folder.read_canaries().unwrap().iter().map(|it| it.at_s).collect()
}

/// The same for the same block.
fn trials(block: u32) -> Vec<Trial> {
    TrialGenerator::new(u64::from(block), 40).generate_block(0, block, ["1", "0"])
}

fn create(path: &Path) -> RunFolder {
    RunFolder::create(path, &run(&["1"], &["0"], 8), TOML).unwrap()
}

fn commit_block(folder: &mut RunFolder, block: u32) -> Vec<Trial> {
    let trials = trials(block);
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    trials
}

/// The database of a closed folder with one block in it.
fn pristine() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let (_dir, path) = place();
        commit_block(&mut create(&path), 0);
        fs::read(path.join(DATABASE)).unwrap()
    })
}

/// A closed folder with one block in it.
fn written() -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = place();
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(DATABASE), pristine()).unwrap();
    fs::write(path.join(EXPERIMENT), TOML).unwrap();
    (dir, path)
}

/// The same, changed by `sql`.
fn changed(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = written();
    Connection::open(path.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
    (dir, path)
}

/// Reads all that is there.
fn read_everything(path: &Path) -> Result<()> {
    let folder = RunFolder::open(path)?;
    let _snapshot = folder.begin_snapshot()?;
    folder.read_state()?;
    let whole = |it: &TrialSummary| folder.read_trial(it.block, it.attempt, it.order).map(drop);
    folder.read_trials()?.iter().try_for_each(whole)?;
    let mut courses = folder.open_courses();
    folder.read_trials()?.iter().try_for_each(|trial| courses.read_course(trial).map(drop))?;
    folder.read_canaries()?;
    folder.read_disturbed()?;
    folder.read_cuts().map(drop)
}
