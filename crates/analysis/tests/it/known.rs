//! TrialGenerator of which everything is known, and the documents of them.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Comparison, Document};
use bakeoff_results::measure::*;
use bakeoff_results::{Canary, RunFolder, Trial, TrialMeasurements};

/// The document of `trials` and `canaries`, by way of a run folder.
pub fn document_with(trials: &[Trial], canaries: &[Canary]) -> Document {
    document_of(trials, canaries, &[])
}

/// As it is where attempts at blocks were disturbed.
pub fn document_of(trials: &[Trial], canaries: &[Canary], disturbed: &[(u32, u32)]) -> Document {
    let dir = crate::place();
    let path = dir.path().join("run");
    let run = run(&["1", "4"], &["0"], 32);
    let mut folder = RunFolder::create(&path, &run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    canaries.iter().for_each(|canary| folder.commit_canary(canary).unwrap());
    for (block, attempt) in disturbed {
        folder.note_disturbed(*block, *attempt, "a random read takes 9 ms").unwrap();
    }
    bakeoff_analysis::document(&folder).unwrap()
}

pub fn document(trials: &[Trial]) -> Document {
    document_with(trials, &[])
}

/// Blocks of the cell of one client and no neighbour, of two slots for the sake of speed.
pub fn blocks(number: u32) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    let block = |block| generator.block(block, block, ["1", "0"]);
    let mut trials: Vec<Trial> = (0..number).flat_map(block).collect();
    for trial in &mut trials {
        measured(trial).operations.iter_mut().for_each(|operation| operation.slots.truncate(2));
    }
    trials
}

pub fn measured(trial: &mut Trial) -> &mut TrialMeasurements {
    trial.measured.as_mut().expect("synthetic trials are measured")
}

pub fn set(trial: &mut Trial, measure: &'static Measure, scope: Scope, value: f64) {
    measured(trial).measures.set(measure, scope, value);
}

/// So much of the clients' time in latencies as Little's law says where none is lost.
pub fn balance(trial: &mut Trial, law: f64) {
    let measured = measured(trial);
    let sum = |operation: &bakeoff_results::OperationRecord| {
        operation.kept.len() as f64 * operation.kept.mean() / 1e9
    };
    let busy: f64 = measured.operations.iter().map(sum).sum();
    let window_s = measured.window_s.1 - measured.window_s.0;
    measured.measures.set(&CONCURRENCY, Scope::Clients, busy / window_s / law);
}

/// Gives the trial `count` operations of the first kind that all took `seconds`.
pub fn constant(trial: &mut Trial, seconds: f64, count: u64) {
    let measured = measured(trial);
    let operation = &mut measured.operations[0];
    operation.kept.clear();
    operation.kept.record_n((seconds * 1e9) as u64, count).unwrap();
    operation.per_second = count as f64 / (measured.window_s.1 - measured.window_s.0);
}

pub fn comparison<'a>(document: &'a Document, operation: &str, level: &str) -> &'a Comparison {
    let fits = |c: &&Comparison| c.operation == operation && c.level == level;
    let mut found = document.comparisons.iter().chain(&document.noise).filter(fits);
    let first = found.next().expect("it is compared");
    assert!(found.next().is_none(), "one comparison only");
    first
}

/// As near as histograms of three digits bring it.
pub fn near(found: Option<f64>, expected: f64) {
    within(0.001, found, expected);
}

pub fn within(share: f64, found: Option<f64>, expected: f64) {
    let found = found.expect("there is a figure");
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}
