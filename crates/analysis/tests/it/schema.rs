//! The published JSON Schema against real documents.

use crate::known::{look, measured, set, write};
use crate::published::{of_engines, published};
use crate::timed_disks::run_on_timed_disk;
use bakeoff_analysis::{
    Document, FIRST_LOOK, Goes, JSON_SCHEMA, RatioShape, UntoldReason, read_document,
    schedule_looks,
};
use bakeoff_results::measure::{
    BACKLOG, LOADED, NOT_STARTED, OFFERED, READS, START_DELAY_P99, WORK_ROWS,
};
use bakeoff_results::published::PublishedValue::Exactly;
use bakeoff_results::{
    Canary, Cut, DEBT_UNITS, EveryByRule, EveryMoment, FirstBroken, LeftOut, RunFolder, Scope,
    Status, Trial,
};
use bakeoff_testkit::synthetic::{TrialGenerator, run, sample_cuts};
use serde_json::{Value, json};

/// The documents of a run at all its stages: empty, interrupted with failed and disturbed trials,
/// finished.
fn documents() -> [Value; 3] {
    let mut run = run(&["1"], &["0", "25%", "x1"], 24);
    run.left_out.push(LeftOut {
        levels: [("engine".to_owned(), "gamma".to_owned())].into(),
        why: "the server is not bakeoff's".to_owned(),
        trials: 2,
        cuts: 0,
    });
    run.disks = run_on_timed_disk(240.0, Some(250.0)).disks;
    run.published = Some(published(of_engines(Exactly(1.1))));
    run.sequential = schedule_looks(&run, FIRST_LOOK..=5, Some(3600.0));
    write(&run, &[], |folder| {
        let empty = to_json(folder);
        let off = Canary { read_s: None, off: Some("arithmetic".into()), ..look(0.25) };
        for canary in [Canary { read_s: Some(0.1), ..look(0.25) }, off] {
            folder.commit_canary(&canary).unwrap();
        }
        let mut trials = TrialGenerator::new(3, 20);
        for (block, neighbours) in [(0, "0"), (1, "25%")] {
            for mut trial in trials.generate_block(0, block, ["1", neighbours]) {
                count(&mut trial);
                if trial.order == 1 {
                    (trial.measured, trial.reason) = (None, Some("it crashed".to_owned()));
                }
                folder.commit_trial(&trial).unwrap();
            }
        }
        folder.invalidate_block(1, 0, "the canary was off").unwrap();
        folder.set_status(Status::Interrupted, Some(1.7e9)).unwrap();
        let interrupted = to_json(folder);

        let first = &sample_cuts()[0];
        let refused = Cut { number: 2, failed: Some("no".into()), ..first.clone() };
        let refused = Cut { judged: Vec::new(), ..refused };
        for cut in sample_cuts().into_iter().chain([refused, of_every_moment()]) {
            folder.commit_cut(&cut).unwrap();
        }
        for block in 2..6 {
            for mut trial in trials.generate_block(block, block, ["1", "0"]) {
                open(&mut trial);
                count(&mut trial);
                folder.commit_trial(&trial).unwrap();
            }
        }
        for trial in trials.generate_block(0, 6, ["1", "x1"]) {
            folder.commit_trial(&trial).unwrap();
        }
        folder.set_status(Status::Finished, Some(1.8e9)).unwrap();
        let mut finished = read_document(folder).unwrap();
        let other = finished.clone();
        finished.run.run.factors[1].1.push("relaxed".to_owned());
        assert_eq!(finished.take_cuts("cuts", &other), 1);
        [empty, interrupted, serde_json::to_value(finished).unwrap()]
    })
}

fn to_json(folder: &RunFolder) -> Value {
    serde_json::to_value(read_document(folder).unwrap()).unwrap()
}

/// Counts the rows of a trial, and what they took.
fn count(trial: &mut Trial) {
    set(trial, &WORK_ROWS, Scope::Clients, 2000.0);
    set(trial, &READS, Scope::Disk, 50.0);
    set(trial, &LOADED, Scope::Trial, 25e6);
}

/// Makes a trial one in an open loop.
fn open(trial: &mut Trial) {
    for (measure, value) in
        [(&OFFERED, 40.0), (&NOT_STARTED, 2.0), (&BACKLOG, 5.0), (&START_DELAY_P99, 0.25)]
    {
        set(trial, measure, Scope::Clients, value);
    }
    for operation in &mut measured(trial).operations {
        operation.service = Some(operation.kept.clone());
    }
}

/// A cut of every moment, by two rules, of which one found something.
fn of_every_moment() -> Cut {
    let first = FirstBroken { moment: 3, during: "inside a sync of db".into(), seed: 4 };
    let rule = |first| EveryByRule { keep: "torn".into(), first, ..EveryByRule::default() };
    let rules = vec![rule(None), rule(Some(first))];
    Cut {
        number: 3,
        every: Some(EveryMoment { judged: 9, rules, ..EveryMoment::default() }),
        ..sample_cuts()[0].clone()
    }
}

/// The schema as it is published.
pub fn schema() -> Value {
    serde_json::from_str(JSON_SCHEMA).expect("the schema is JSON")
}

/// The schema with nothing allowed that it does not describe: readers may meet new fields, but
/// this version must not have any that are not written down.
fn closed(mut schema: Value) -> Value {
    fn close(value: &mut Value) {
        match value {
            Value::Object(map) => {
                if map.contains_key("properties") && map.contains_key("required") {
                    map.insert("additionalProperties".to_owned(), json!(false));
                }
                map.values_mut().for_each(close);
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

/// What of a document does not fit a schema.
pub fn complaints(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).expect("the schema is one");
    validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

/// Checks that a document fits the schema, which knows all of it, and comes back from its JSON.
pub fn assert_fits(document: &Document) -> Value {
    let json = serde_json::to_value(document).unwrap();
    assert_comes_back(&json);
    json
}

fn assert_comes_back(json: &Value) {
    assert_eq!(complaints(&schema(), json), Vec::<String>::new());
    assert_eq!(complaints(&closed(schema()), json), Vec::<String>::new());
    let document: Document = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(document).unwrap(), *json);
}

#[test]
fn real_documents_fit_and_come_back_from_their_json() {
    jsonschema::draft202012::meta::validate(&schema()).unwrap();
    documents().iter().for_each(assert_comes_back);
    assert_eq!(schema()["$defs"]["owed"]["properties"]["unit"]["enum"], json!(DEBT_UNITS));
}

#[test]
fn the_schema_knows_every_shape() {
    let [_, _, finished] = documents();
    let closed = jsonschema::validator_for(&closed(schema())).unwrap();
    let fits = |shape: Value| {
        let mut document = finished.clone();
        *document.pointer_mut("/published/statements/0/shape").expect("a statement") = shape;
        closed.is_valid(&document)
    };
    use Goes::{DoesNotFall, DoesNotRise, Falls, Rises, Stays};
    use RatioShape::{Compatible, Same, SameByWords, SizeOpen, Stronger, Weaker};
    use UntoldReason as Why;
    let whys = [
        [Why::Gap, Why::BaseGap, Why::BaseIsABound, Why::NotRun],
        [Why::BaseNotRun, Why::NotPossible, Why::SetAside, Why::BaseSetAside],
        [Why::NoPair, Why::BothCutOff, Why::OnePair, Why::TooFew],
        [Why::NeverSteady, Why::TooWide, Why::AcrossLimit, Why::BoundIsOpen],
    ];
    let goes = [Falls, Stays, Rises, DoesNotRise, DoesNotFall].into_iter();
    let shapes = [Same, SameByWords, Compatible, Stronger, Weaker, SizeOpen].into_iter();
    let shapes = shapes
        .chain(goes.map(|it| RatioShape::NotTheSame { theirs: it, ours: it }))
        .chain(whys.into_iter().flatten().map(|why| RatioShape::CantTell { why }));
    for shape in shapes {
        assert!(fits(serde_json::to_value(&shape).unwrap()), "{shape:?}");
    }
    assert!(!fits(json!({ "is": "alike" })));
}

#[test]
fn a_failed_trial_has_all_fields() {
    let [_, interrupted, _] = documents();
    let [failed, measured] = [1, 0].map(|at| interrupted["trials"][at].as_object().unwrap());
    assert_eq!(failed.keys().collect::<Vec<_>>(), measured.keys().collect::<Vec<_>>());
    for field in ["ran_s", "window_s"] {
        assert!(failed[field].is_null() && !measured[field].is_null(), "{field}");
    }
    for field in ["operations", "measures"] {
        assert!(failed[field] == json!([]) && measured[field] != json!([]), "{field}");
    }
    assert_eq!((&failed["reason"], &failed["valid"]), (&json!("it crashed"), &json!(false)));
    assert_eq!(failed["warnings"], json!([]));
}

/// Takes out every field of every object of the document in turn, and puts a wrong type into it.
#[test]
fn no_field_can_be_missing_or_of_another_type() {
    let [_, _, mut finished] = documents();
    // The last trial, which ran in an open loop.
    finished["trials"].as_array_mut().unwrap().reverse();
    for list in ["trials", "cells", "comparisons", "between", "noise", "canaries", "cuts"] {
        finished[list].as_array_mut().unwrap().truncate(1);
    }
    let of_processes = |reading: &Value| reading["scope"].is_object();
    let measures = finished["trials"][0]["measures"].as_array_mut().unwrap();
    let group = measures.iter().position(of_processes).expect("of the engine's processes");
    measures.swap(0, group);
    measures.truncate(2);
    let over_time = &mut finished["cells"][0]["over_time"];
    for line in ["/per_second", "/latency_s", "/owed", "/owed/0/pieces", "/payments"] {
        over_time.pointer_mut(line).expect(line).as_array_mut().expect(line).truncate(1);
    }
    // The first cell that has it.
    let work = |cell: &Value| !cell["work"].is_null() && !cell["space"].is_null();
    assert!(work(&finished["cells"][0]), "{}", finished["cells"][0]);
    let lacks = finished["cells"][0].pointer_mut("/work/lacks").expect("lacks");
    lacks.as_array_mut().expect("a list").truncate(1);
    let sweep = &mut finished["sweep"];
    for list in ["/panels", "/panels/0/series", "/knees"] {
        sweep.pointer_mut(list).expect(list).as_array_mut().expect(list).truncate(1);
    }
    assert!(!sweep["panels"][0]["series"][0]["points"][2]["against"].is_null(), "{sweep}");
    // In the form of this run's own.
    finished["other_cuts"][0]["cuts"] = json!([]);
    finished["other_cuts"][0]["promise"]["rules"] = json!([]);
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let mut paths = Vec::new();
    fields(&finished, String::new(), &mut paths);
    assert!(paths.len() > 100, "{} fields", paths.len());
    for path in paths {
        let (parent, field) = path.rsplit_once('/').unwrap();
        let mut wrong = finished.clone();
        *wrong.pointer_mut(&path).unwrap() = json!([[]]);
        assert!(!validator.is_valid(&wrong), "{path} can be anything");
        // A name of the user's, and what cells or records of an older bakeoff don't have.
        let free = ["levels", "counters", "base"].iter().any(|map| parent.ends_with(map));
        let rare = "disks sweep untrimmed_mean_s estimated_s operations_each left_out planner sequential groups \
                    published space work with_warm_up with_set_aside";
        // Nor does a cut in another state, or that was not the first.
        let of_some_cuts = "conditioned placed timed";
        let mut rare = rare.split(' ').chain(of_some_cuts.split(' '));
        if !free && !rare.any(|it| it == field) {
            let mut missing = finished.clone();
            missing.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
            assert!(!validator.is_valid(&missing), "{path} can be missing");
        }
    }
}

fn fields(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = format!("{path}/{name}");
                paths.push(path.clone());
                fields(value, path, paths);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                fields(value, format!("{path}/{at}"), paths);
            }
        }
        _ => {}
    }
}

#[test]
fn values_out_of_range_do_not_fit() {
    let [_, _, finished] = documents();
    for (path, value) in [
        ("/schema", json!(1)),
        ("/run/status", json!("done")),
        ("/comparisons/0/verdict", json!("winner")),
        ("/comparisons/0/metric", json!("p99_s")),
        ("/comparisons/0/ratio_is", json!("about")),
        ("/comparisons/0/p_adjusted", json!(1.5)),
        ("/between/0/verdict", json!("too few")),
        ("/comparisons/0/ratio", json!(0)),
        ("/trials/0/operations/0/count", json!(-1)),
        ("/trials/0/operations/0/mean_s", json!(-0.5)),
        ("/trials/0/block", json!(0.5)),
        ("/trials/0/valid", json!(1)),
        ("/trials/0/measures/0/unit", json!("ms")),
        ("/trials/0/measures/0/scope", json!("engine")),
        ("/trials/0/measures/0/value", json!(null)),
        ("/trials/0/window_s", json!([1.0])),
        ("/warnings/0/weight", json!("grave")),
        ("/warnings/0/code", json!("Not a code")),
        ("/warnings/0", json!("a sentence")),
    ] {
        let mut wrong = finished.clone();
        *wrong.pointer_mut(path).expect(path) = value;
        assert_eq!(complaints(&schema(), &wrong).len(), 1, "{path}");
    }
}
