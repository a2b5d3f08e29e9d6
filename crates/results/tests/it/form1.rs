//! Run folders of form 1: what an earlier bakeoff has written is read, and never gone on with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_results::measure::*;
use bakeoff_results::{DATABASE, Done, EXPERIMENT, Error, RunFolder, TrialSummary};
use rusqlite::Connection;
use serde_json::Value;

/// What bakeoff 0.1.0 wrote of SQLite and the engine that stores nothing: on the machine's own disk
/// and on a virtual one, with limited memory, beside neighbours, and with four power cuts.
const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/form1");

/// What the same bakeoff printed of it as JSON.
fn printed() -> Value {
    serde_json::from_str(&fs::read_to_string(Path::new(RUN).join("document.json")).unwrap())
        .unwrap()
}

/// A copy, so that a test can do with it what it likes.
fn copy(change: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    fs::create_dir(&path).unwrap();
    for file in [DATABASE, EXPERIMENT] {
        fs::copy(Path::new(RUN).join(file), path.join(file)).unwrap();
    }
    Connection::open(path.join(DATABASE)).unwrap().execute_batch(change).unwrap();
    (dir, path)
}

fn read(path: &Path) -> RunFolder {
    RunFolder::open(path).unwrap()
}

/// Where each fact of form 1 stood, and what it is now.
#[test]
fn every_fact_is_a_reading() {
    let facts = [
        ("space_bytes", &SPACE, Scope::Trial),
        ("cpu_s/client", &CPU, Scope::Clients),
        ("cpu_s/engine", &CPU, Scope::DATABASE),
        ("io/read_call_bytes", &READ_CALLS, Scope::DATABASE),
        ("io/write_call_bytes", &WRITE_CALLS, Scope::DATABASE),
        ("io/read_bytes", &READ, Scope::DATABASE),
        ("io/write_bytes", &WRITTEN, Scope::DATABASE),
        ("io/drain_write_bytes", &DRAIN_WRITTEN, Scope::DATABASE),
        ("io/device_read_bytes", &READ, Scope::Device),
        ("io/device_write_bytes", &WRITTEN, Scope::Device),
        ("io/drain_device_write_bytes", &DRAIN_WRITTEN, Scope::Device),
        ("neighbour/intended_per_second", &OFFERED, Scope::Neighbours),
        ("neighbour/achieved_per_second", &RATE, Scope::Neighbours),
        ("neighbour/mean_s", &MEAN_LATENCY, Scope::Neighbours),
        ("disk/host_writes", &HOST_WRITES, Scope::Disk),
        ("disk/host_write_bytes", &HOST_WRITTEN, Scope::Disk),
        ("disk/reads", &READS, Scope::Disk),
        ("disk/read_bytes", &READ, Scope::Disk),
        ("disk/writes", &WRITES, Scope::Disk),
        ("disk/write_bytes", &WRITTEN, Scope::Disk),
        ("disk/drain_write_bytes", &DRAIN_WRITTEN, Scope::Disk),
        ("disk/syncs", &SYNCS, Scope::Disk),
        ("disk/flushes", &FLUSHES, Scope::Disk),
        ("disk/utilisation", &UTILISATION, Scope::Disk),
        ("disk/modelled_mean_s", &MODELLED_LATENCY, Scope::Disk),
        ("disk/achieved_mean_s", &ACHIEVED_LATENCY, Scope::Disk),
        ("disk/error_median", &LATENCY_ERROR_MEDIAN, Scope::Disk),
        ("disk/error_p99", &LATENCY_ERROR_P99, Scope::Disk),
        ("memory/limit_bytes", &MEMORY_LIMIT, Scope::DATABASE),
        ("memory/peak_bytes", &MEMORY_PEAK, Scope::DATABASE),
        ("memory/cached_bytes", &MEMORY_CACHED, Scope::DATABASE),
        ("cost/operations", &OPERATIONS, Scope::Clients),
        ("cost/commits", &COMMITS, Scope::Clients),
        ("cost/application_bytes", &PAYLOAD, Scope::Clients),
        ("cost/device_bytes", &WORK_WRITTEN, Scope::Trial),
    ];
    let (printed, trials) = (printed(), read(Path::new(RUN)).trials().unwrap());
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (trial, old) in trials.iter().zip(printed["trials"].as_array().unwrap()) {
        for (fact, measure, scope) in &facts {
            let expected = old.pointer(&format!("/{fact}")).and_then(Value::as_f64);
            let found = trial.measures.get(measure, scope);
            assert!(same(found, expected), "{fact}: {found:?}, not {expected:?}");
            seen.extend(expected.map(|_| *fact));
        }
        let syncs = match old["cost"]["syncs"]["counted_by"].as_str().unwrap() {
            "disk" => Scope::Disk,
            "kernel" => Scope::DATABASE,
            other => panic!("{other} did not count here"),
        };
        let counted = old["cost"]["syncs"]["count"].as_f64();
        assert_eq!(trial.measures.get(&SYNCS, &syncs), counted);
        for reading in trial.measures.iter() {
            let measure = MEASURES.iter().find(|it| it.name == reading.name).expect("it is known");
            assert_eq!(reading.unit, measure.unit);
            assert!(measure.scopes.contains(&reading.scope), "{reading:?}");
        }
    }
    assert_eq!(seen.len(), facts.len(), "each of them was measured");
}

/// Whether two figures are one: the text of a number is not read to the last bit.
fn same(a: Option<f64>, b: Option<f64>) -> bool {
    a.is_some() == b.is_some() && a.zip(b).is_none_or(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
}

/// A trial's figures are those that were printed, and its histograms are there.
#[test]
fn latencies_are_as_they_were() {
    let (printed, folder) = (printed(), read(Path::new(RUN)));
    let trials = folder.trials().unwrap();
    assert_eq!(trials.len(), 6);
    let mut windows = folder.windows().unwrap();
    for (trial, old) in trials.iter().zip(printed["trials"].as_array().unwrap()) {
        let mut json = serde_json::to_value(&trial.operations).unwrap();
        for operation in json.as_array_mut().unwrap() {
            for service in ["service_mean_s", "service_p99_s"] {
                assert_eq!(operation.as_object_mut().unwrap().remove(service), Some(Value::Null));
            }
            let unfinished = operation.as_object_mut().unwrap().remove("unfinished");
            assert_eq!(
                unfinished,
                Some(Value::from(0)),
                "nothing of form 1 was followed to its end"
            );
        }
        let olds = old["operations"].as_array().unwrap();
        assert_eq!(json.as_array().unwrap().len(), olds.len());
        for (new, old) in json.as_array().unwrap().iter().zip(olds) {
            let (new, old) = (new.as_object().unwrap(), old.as_object().unwrap());
            assert_eq!(new.keys().collect::<Vec<_>>(), old.keys().collect::<Vec<_>>());
            for (name, value) in new {
                let near = same(value.as_f64(), old[name].as_f64());
                assert!(near && (value.is_f64() || *value == old[name]), "{name}: {value}");
            }
        }
        let windows = windows.of(trial).unwrap();
        let whole = folder.trial(trial.block, trial.attempt, trial.order).unwrap().unwrap();
        let operations = whole.measured.expect("it was measured").operations;
        assert_eq!((windows.len(), operations.len()), (2, 2));
        for (window, operation) in windows.iter().zip(&operations) {
            assert_eq!((&window.kept, &window.service), (&operation.kept, &None));
            assert!(operation.slots.len() >= 3 && operation.service.is_none());
        }
    }
}

#[test]
fn the_run_and_its_cuts_are_read() {
    let (printed, folder) = (printed(), read(Path::new(RUN)));
    let mut cuts = serde_json::to_value(folder.cuts().unwrap()).unwrap();
    for cut in cuts.as_array_mut().unwrap() {
        assert_eq!(cut.as_object_mut().unwrap().remove("file_system"), Some("ext4".into()));
    }
    assert_eq!(cuts, printed["cuts"]);
    let run = folder.run().unwrap();
    assert!(run.stores("sqlite") && run.stores("sqlite@again") && !run.stores("null"));
    let done = folder.done().unwrap();
    assert_eq!(done.len(), 6);
    assert_eq!(done[0], Done { block: 0, attempt: 0, order: 0, valid: true });
    // A file system that can't be written is no obstacle: nothing of the run is.
    assert_eq!(fs::read_dir(RUN).unwrap().count(), 3);
}

#[test]
fn it_is_not_gone_on_with_and_stays_as_it_is() {
    let (_dir, path) = copy("");
    let before = fs::read(path.join(DATABASE)).unwrap();
    let error = RunFolder::resume(&path).unwrap_err();
    assert!(matches!(error, Error::OlderForm { .. }), "{error:?}");
    let message = error.to_string();
    for part in ["an earlier bakeoff", "--out", &format!("bakeoff report {}", path.display())] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    assert_eq!(fs::read(path.join(DATABASE)).unwrap(), before);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
}

/// The first bakeoffs counted no costs and made no power cuts: what they did not write is not
/// known, and all else is as it was.
#[test]
fn what_was_not_counted_yet_is_not_known() {
    let (_dir, path) = copy(
        "UPDATE run SET description = json_remove(description, '$.applied', '$.cuts');
         UPDATE trial SET facts = json_remove(facts, '$.cost', '$.memory',
             '$.disk.drain_write_bytes', '$.disk.syncs');
         DROP TABLE cut;",
    );
    let folder = read(&path);
    assert!(folder.run().unwrap().applied.is_empty() && folder.cuts().unwrap().is_empty());
    let trials = folder.trials().unwrap();
    let on_disk = |trial: &&TrialSummary| trial.measures.get(&WRITES, &Scope::Disk).is_some();
    assert_eq!(trials.iter().filter(on_disk).count(), 3);
    for trial in &trials {
        let of = |measure, scope| trial.measures.get(measure, &scope);
        assert!(of(&SPACE, Scope::Trial).is_some() && of(&CPU, Scope::DATABASE).is_some());
        for scope in [Scope::Disk, Scope::DATABASE, Scope::Device] {
            assert_eq!(of(&SYNCS, scope), None);
        }
        assert_eq!(
            (of(&OPERATIONS, Scope::Clients), of(&WORK_WRITTEN, Scope::Trial)),
            (None, None)
        );
        assert_eq!(of(&MEMORY_LIMIT, Scope::DATABASE), None);
        assert_eq!(of(&DRAIN_WRITTEN, Scope::Disk), None);
    }
}

/// Of somebody else's server nothing was known but what bakeoff's own clients used; settled or not
/// was said of long trials; and flushes of a device stood for syncs.
#[test]
fn what_this_run_does_not_have_is_mapped_too() {
    let (_dir, path) = copy(
        "UPDATE trial SET facts = json_set(facts, '$.cost.engine_cpu_s', NULL,
             '$.cost.device_bytes', NULL, '$.space_bytes', NULL,
             '$.cost.syncs', json('{\"counted_by\": \"device\", \"count\": 7}'),
             '$.disk', NULL, '$.steady', json('false'), '$.counters', json('{\"pages\": 12}'),
             '$.warnings', json('[\"slow\"]'));",
    );
    let trial = read(&path).trials().unwrap().remove(0);
    let of = |measure, scope| trial.measures.get(measure, &scope);
    assert!(of(&CPU, Scope::Clients).is_some());
    for measure in [&CPU, &READ_CALLS, &WRITTEN, &DRAIN_WRITTEN] {
        assert_eq!(of(measure, Scope::DATABASE), None, "{}", measure.name);
    }
    assert_eq!((of(&SPACE, Scope::Trial), of(&WORK_WRITTEN, Scope::Trial)), (None, None));
    assert_eq!((of(&SYNCS, Scope::Device), of(&SETTLED, Scope::Trial)), (Some(7.0), Some(0.0)));
    assert_eq!(trial.measures.counters().collect::<Vec<_>>(), [("pages", 12)]);
    assert_eq!(trial.warnings, ["slow"]);
}

/// A trial that failed measured nothing.
#[test]
fn a_failed_trial_has_no_readings() {
    let (_dir, path) = copy(
        "PRAGMA foreign_keys = OFF; DELETE FROM slot WHERE trial = 1;
         DELETE FROM operation WHERE trial = 1;
         UPDATE trial SET facts = NULL, ran_s = NULL, window_start_s = NULL,
             window_end_s = NULL, valid = 0, reason = 'it crashed' WHERE id = 1;",
    );
    let folder = read(&path);
    let trial = folder.trials().unwrap().remove(0);
    assert!(
        trial.failed() && trial.operations.is_empty() && trial.measures.iter().next().is_none()
    );
    assert_eq!(trial.reason.as_deref(), Some("it crashed"));
    assert!(folder.trial(0, 0, 0).unwrap().unwrap().measured.is_none());
}

#[test]
fn facts_that_are_none_are_damage() {
    let (_dir, path) = copy("UPDATE trial SET facts = '{\"io\": 1}'");
    let error = read(&path).trials().unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
}
