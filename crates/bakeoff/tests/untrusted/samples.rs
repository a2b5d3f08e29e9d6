//! Sound run folders, which tests then change.

use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_results::{Canary, DATABASE, EXPERIMENT, RunFolder, Trial};
use rusqlite::Connection;

use crate::cuts::cuts;
use crate::data::{Trials, run};

/// What bakeoff 0.1.0 wrote.
const FORM_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/it/form1");

/// The experiment of a folder.
const TOML: &str = "workload = \"ledger\"\nengine = \"sqlite\"\n";

/// A folder of every kind: trials, open loops, failures, power cuts, and the earlier forms.
pub fn folders(below: &Path) -> Vec<PathBuf> {
    let full = below.join("full");
    fill(&full);
    let second = below.join("form2");
    fill(&second);
    Connection::open(second.join(DATABASE))
        .and_then(|it| {
            it.execute_batch(
                "DROP TABLE owed; DROP TABLE payment; DROP TABLE calibration;
                 ALTER TABLE operation DROP COLUMN unfinished; PRAGMA user_version = 2",
            )
        })
        .unwrap();
    let first = below.join("form1");
    fs::create_dir(&first).unwrap();
    for file in [DATABASE, EXPERIMENT] {
        fs::copy(Path::new(FORM_1).join(file), first.join(file)).unwrap();
    }
    vec![full, second, first]
}

fn fill(path: &Path) {
    let mut folder = RunFolder::create(path, &run(&["1", "4"], &["0"], 16), TOML).unwrap();
    let off = Some("a synced append took 3 times as long".to_owned());
    let canary = Canary { at_s: 1.5, cpu_s: 0.25, memory_s: 0.5, sync_s: 0.1, read_s: None, off };
    folder.commit_canary(&canary).unwrap();
    folder.note_disturbed(0, 0, "the processor was slow").unwrap();
    let mut trials = Trials::new(1, 10);
    for (block, clients) in [(0, "1"), (1, "4"), (2, "1"), (3, "4")] {
        for mut trial in trials.block(block / 2, block, [clients, "0"]) {
            if let (3, Some(measured)) = (block, &mut trial.measured) {
                measured.warnings.push("the engine was not steady".to_owned());
            }
            folder.commit_trial(&trial).unwrap();
            if block == 0 {
                let reason = Some("the engine crashed".to_owned());
                let failed = Trial { attempt: 1, reason, measured: None, ..trial };
                folder.commit_trial(&failed).unwrap();
            }
        }
    }
    cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
}
