//! The document of a run folder of form 1 against what the bakeoff that wrote it printed of it.

use std::path::Path;

use bakeoff_analysis::littles_law;
use bakeoff_results::RunFolder;
use serde_json::{Value, json};

const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/it/form1");

/// Whether two documents say the same, but for the last bits of a number.
fn same(path: &str, new: &Value, old: &Value) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            assert_eq!(new.keys().collect::<Vec<_>>(), old.keys().collect::<Vec<_>>(), "{path}");
            new.iter().for_each(|(key, value)| same(&format!("{path}/{key}"), value, &old[key]));
        }
        (Value::Array(new), Value::Array(old)) => {
            assert_eq!(new.len(), old.len(), "{path}");
            new.iter().zip(old).for_each(|(new, old)| same(path, new, old));
        }
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|number| number.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{path}: {a} instead of {b}");
        }
        _ => assert_eq!(new, old, "{path}"),
    }
}

/// What the new document has more, taken away where it must be nothing.
fn without(value: &mut Value, fields: &[&str]) {
    let object = value.as_object_mut().unwrap();
    for field in fields {
        assert_eq!(object.remove(*field), Some(Value::Null), "{field}");
    }
}

#[test]
fn every_finding_is_as_it_was() {
    let old = std::fs::read_to_string(Path::new(RUN).join("document.json")).unwrap();
    let mut old: Value = serde_json::from_str(&old).unwrap();
    let document = bakeoff_analysis::document(&RunFolder::open(Path::new(RUN)).unwrap()).unwrap();
    let mut new = serde_json::to_value(&document).unwrap();
    for cell in new["cells"].as_array_mut().unwrap() {
        without(cell, &["open_loop", "debt", "over_time", "restart", "steady"]);
        let harness = cell.as_object_mut().unwrap().remove("harness_share").unwrap();
        assert!(harness.as_f64().is_some_and(|share| (0.0..1.0).contains(&share)), "{harness}");
        without(&mut cell["cpu_s"], &["engine_drain", "disk_daemon", "neighbours"]);
        for operation in cell["operations"].as_array_mut().unwrap() {
            without(operation, &["service_mean_s", "service_p99_s"]);
            let unfinished = operation.as_object_mut().unwrap().remove("unfinished");
            assert_eq!(unfinished, Some(json!(0)), "nothing of form 1 was followed to its end");
        }
    }
    // Its figures are as they were. The words have other rules now: 20 operations in each trial, and
    // all that the sentence counts in one family.
    for list in ["comparisons", "noise"] {
        for comparison in new[list].as_array_mut().unwrap() {
            for field in [
                "ratio_is",
                "fewest_operations",
                "p_adjusted",
                "adjusted_over",
                "noise_floor",
                "fresh",
                "engine_only_ratio",
                "verdict",
            ] {
                comparison.as_object_mut().unwrap().remove(field).expect(field);
            }
        }
        for comparison in old[list].as_array_mut().unwrap() {
            comparison.as_object_mut().unwrap().remove("verdict").unwrap();
        }
    }
    for engine in new["run"]["engines"].as_array_mut().unwrap() {
        let stores = engine.as_object_mut().unwrap().remove("stores");
        assert_eq!(stores, Some(json!(engine["name"] != "null")));
        for (part, unknown) in [("transport", json!(null)), ("password_in_url", json!(false))] {
            assert_eq!(engine.as_object_mut().unwrap().remove(part), Some(unknown));
        }
    }
    // A cut was read in one way.
    let plan = new["run"]["cuts"].as_object_mut().unwrap();
    assert_eq!(plan.remove("file_systems"), Some(json!([])));
    for part in ["cuts", "promises"] {
        for told in new[part].as_array_mut().unwrap() {
            let told = told.as_object_mut().unwrap();
            assert_eq!(told.remove("file_system"), Some(json!("ext4")));
        }
    }
    for part in
        ["run", "cells", "comparisons", "noise", "canaries", "cuts", "promises", "other_cuts"]
    {
        same(part, &new[part], &old[part]);
    }
    // Of too few operations more is said now.
    let [warning] = old["warnings"].as_array().unwrap().as_slice() else { panic!("one") };
    let (_, quantile) = warning.as_str().unwrap().split_once("; the p99").unwrap();
    let of_quantile = |it: &&Value| it["code"] == "quantile-left-out";
    let found = new["warnings"].as_array().unwrap().iter().find(of_quantile).expect("one");
    assert_eq!(found["text"], format!("The p99{quantile}"));
    assert!(!document.warnings.is_empty() && document.promises.len() == 1);
    for (trial, old) in document.trials.iter().zip(old["trials"].as_array().unwrap()) {
        same("littles_law", &json!(littles_law(trial)), &old["littles_law"]);
    }
}
