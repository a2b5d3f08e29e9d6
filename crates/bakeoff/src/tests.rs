//! What tests of several modules make up: experiments, run folders and trials.

use bakeoff_experiment::{Experiment, FlagOverrides, PlannedTrial, TrialBlock};
use bakeoff_results::{
    Debts, Machine, Measures, OperationRecord, Run, Trial, TrialMeasurements, histogram,
};
use serde_json::{Value, json};

use crate::Lab;

/// An experiment from the text of a file.
pub fn load_experiment(toml: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made-up.toml");
    std::fs::write(&file, toml).unwrap();
    let vocabulary = Lab::standard().registry.vocabulary();
    Experiment::load(&file.to_string_lossy(), &FlagOverrides::default(), &vocabulary).unwrap()
}

/// A run of the workload `point`, with these fields of its record.
pub fn describe_run(fields: Value) -> Run {
    let mut run = json!({
        "name": "", "title": "", "workload": "point", "operations": ["read"], "seconds": 2.0, "seed": 1,
        "command": "", "version": "", "started_s": 0.0, "engines": [], "machine": Machine::default(),
        "harness_s": 0.0, "neighbour_alone_per_second": null, "text": "",
    });
    let Value::Object(fields) = fields else { panic!("{fields}") };
    run.as_object_mut().unwrap().extend(fields);
    serde_json::from_value(run).unwrap()
}

/// So many reads of a time in milliseconds.
pub fn measure_reads(count: u64, milliseconds: f64) -> TrialMeasurements {
    let mut kept = histogram::new_histogram();
    kept.record_n((milliseconds * 1e6) as u64, count).unwrap();
    let operation = OperationRecord {
        name: "read".into(),
        kept,
        unfinished: 0,
        per_second: 1.0,
        service: None,
        slots: Vec::new(),
        errors: 0,
        retries: 0,
    };
    TrialMeasurements {
        ran_s: 2.0,
        window_s: (0.2, 2.0),
        operations: vec![operation],
        measures: Measures::default(),
        debts: Debts::default(),
        warnings: Vec::new(),
    }
}

/// A trial of a block, which counts.
pub fn make_trial(
    block: &TrialBlock,
    planned: &PlannedTrial,
    measured: TrialMeasurements,
) -> Trial {
    Trial {
        repetition: block.repetition,
        block: block.number,
        attempt: 0,
        order: planned.order,
        levels: planned.cell.to_map(),
        started_s: f64::from(block.number),
        valid: true,
        reason: None,
        measured: Some(measured),
    }
}
