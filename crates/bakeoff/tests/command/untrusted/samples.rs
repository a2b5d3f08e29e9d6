//! Sound run folders, which tests then change.

use std::path::{Path, PathBuf};

use bakeoff_results::measure::{
    CONDITIONED, FIRST_10, OPENING, ROUNDS_ERROR, ROUNDS_RANGE, ROUNDS_RISE, SPACE_AT_START,
    TURNED_OVER,
};
use bakeoff_results::{
    Calibration, Canary, Measures, Run, RunFolder, Scope, SequentialDesign, Trial,
};

use bakeoff_testkit::synthetic::sample_cuts;
use bakeoff_testkit::synthetic::{TrialGenerator, run};

/// The experiment of a folder.
const TOML: &str = "workload = \"ledger\"\nengine = \"sqlite\"\n";

/// A folder of every kind: trials, open loops, failures and power cuts.
pub fn folders(below: &Path) -> Vec<PathBuf> {
    let full = below.join("full");
    fill(&full);
    let states = below.join("states");
    fill_states(&states);
    vec![full, states]
}

/// What a calibration is noted under.
pub const CALIBRATED: &str = "point sqlite engine=sqlite";

/// A run that goes on until it is decided, of trials that were conditioned and ones after a restart.
fn fill_states(path: &Path) {
    let looks = SequentialDesign {
        looks: vec![2, 3, 5],
        confidence: 0.98,
        comparisons: 6,
        max_time_s: Some(7200.0),
        used_s: 400.0,
    };
    let mut run = Run { sequential: Some(looks), ..run(&["1"], &["0"], 40) };
    run.planner = Some("until-decided".into());
    run.factors.push(("state".into(), vec!["steady".into(), "cold".into()]));
    let mut folder = RunFolder::create(path, &run, TOML).unwrap();
    let learnt = Calibration { operations: 12_000, seconds: 40.0, turned_over: true };
    folder.note_calibration(CALIBRATED, &learnt).unwrap();
    let mut trials = TrialGenerator::new(2, 10);
    for block in 0..6 {
        let state = ["steady", "cold"][block as usize % 2];
        for mut trial in trials.generate_block(block / 2, block, ["1", "0"]) {
            trial.levels.insert("state".into(), state.into());
            let measures = trial.measured.as_mut().map(|measured| &mut measured.measures);
            measures.into_iter().for_each(|measures| add(measures, state, block));
            folder.commit_trial(&trial).unwrap();
        }
    }
    sample_cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
}

/// What such a trial measures besides.
fn add(measures: &mut Measures, state: &str, block: u32) {
    if state == "cold" {
        measures.set(&OPENING, Scope::Trial, 0.5);
        measures.set(&FIRST_10, Scope::Clients, 0.02);
        return;
    }
    measures.set(&CONDITIONED, Scope::Clients, 12_000.0);
    measures.set(&TURNED_OVER, Scope::Trial, f64::from(block % 2));
    measures.set(&SPACE_AT_START, Scope::Trial, 50e6);
    measures.set(&ROUNDS_RANGE, Scope::Trial, f64::from(block) / 10.0);
    measures.set(&ROUNDS_RISE, Scope::Trial, -0.1);
    measures.set(&ROUNDS_ERROR, Scope::Trial, 0.05);
}

fn fill(path: &Path) {
    let mut folder = RunFolder::create(path, &run(&["1", "4"], &["0"], 16), TOML).unwrap();
    let off = Some("a synced append took 3 times as long".to_owned());
    let canary = Canary { at_s: 1.5, cpu_s: 0.25, memory_s: 0.5, sync_s: 0.1, read_s: None, off };
    folder.commit_canary(&canary).unwrap();
    folder.note_disturbed(0, 0, "the processor was slow").unwrap();
    let mut trials = TrialGenerator::new(1, 10);
    for (block, clients) in [(0, "1"), (1, "4"), (2, "1"), (3, "4")] {
        for mut trial in trials.generate_block(block / 2, block, [clients, "0"]) {
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
    sample_cuts().iter().for_each(|cut| folder.commit_cut(cut).unwrap());
}
