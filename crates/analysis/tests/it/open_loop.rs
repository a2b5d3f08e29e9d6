//! What is said of trials in an open loop, and what only of those in a closed one.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Document, OpenLoopView, WarningKind, concurrency, littles_law};
use bakeoff_results::measure::*;
use bakeoff_results::{RunFolder, Trial};

/// Two blocks, with every trial changed.
fn document(change: impl Fn(&mut Trial)) -> Document {
    let dir = crate::place();
    let run = run(&["1", "4"], &["0"], 8);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut generator = TrialGenerator::new(5, 10);
    for block in 0..2 {
        for mut trial in generator.block(block, block, ["4", "0"]) {
            change(&mut trial);
            folder.commit_trial(&trial).unwrap();
        }
    }
    bakeoff_analysis::document(&folder).unwrap()
}

/// 40 operations a second were due over 20 s, and so many had not started then.
fn offer(trial: &mut Trial, not_started: f64) {
    let block = f64::from(trial.block);
    let measured = trial.measured.as_mut().unwrap();
    for (measure, value) in [
        (&OFFERED, 40.0),
        (&NOT_STARTED, not_started),
        (&BACKLOG, not_started + block),
        (&START_DELAY_P99, 0.25 + block),
    ] {
        measured.measures.set(measure, Scope::Clients, value);
    }
    for operation in &mut measured.operations {
        let mut service = bakeoff_results::histogram::empty();
        service.record_n(2_000_000 * (1 + u64::from(trial.block)), 10_000).unwrap();
        operation.service = Some(service);
    }
}

fn about(document: &Document, kind: WarningKind) -> Vec<String> {
    let about = document.warnings.iter().filter(|warning| warning.kind == kind);
    about.map(ToString::to_string).collect()
}

#[test]
fn a_cell_holds_what_was_offered_to_its_trials() {
    let document = document(|trial| offer(trial, 8.0));
    let cell = &document.cells[0];
    let expected = OpenLoopView {
        offered_per_second: 40.0,
        due: 1600.0,
        not_started: 16,
        backlog: Some(9),
        start_delay_p99_s: Some(1.25),
        behind: 0,
        kept_up: true,
    };
    assert_eq!(cell.open_loop, Some(expected));
    // 2 ms and 4 ms: their geometric mean, and the median of the trials' own quantiles.
    let operation = &cell.operations[0];
    let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 0.001;
    assert!(near(operation.service_mean_s, 8e-6_f64.sqrt()), "{operation:?}");
    assert!(near(operation.service_p99_s, 0.003), "{operation:?}");
    assert!(about(&document, WarningKind::NotKeptUp).is_empty(), "{:?}", document.warnings);
}

#[test]
fn a_cell_that_did_not_keep_up_is_told_once() {
    let document = document(|trial| {
        let behind = trial.levels["engine"] == "beta" && trial.block == 1;
        offer(trial, if behind { 400.0 } else { 0.0 });
    });
    let cell = |engine| document.cells.iter().find(|cell| cell.levels["engine"] == engine);
    let beta = cell("beta").unwrap().open_loop.unwrap();
    assert_eq!((beta.behind, beta.kept_up, beta.not_started), (1, false, 400));
    assert!(cell("gamma").unwrap().open_loop.unwrap().kept_up);
    let found = about(&document, WarningKind::NotKeptUp);
    assert_eq!(found.len(), 1, "{:?}", document.warnings);
    for part in ["1 of 4 cells", "25 %", "engine beta", "only grow with the length of the trial"] {
        assert!(found[0].contains(part), "{part} is not in {found:?}");
    }
}

/// Clients of an open loop wait for work as they should; those of a closed one never do.
#[test]
fn only_a_closed_loop_keeps_its_clients_busy() {
    let closed = document(|_| ());
    assert_eq!(closed.cells[0].open_loop, None);
    assert_eq!(closed.cells[0].operations[0].service_mean_s, None);
    let law = littles_law(&closed.trials[0]).expect("it is a closed loop");
    // 10 operations a second of 4 ms and as many of 10 ms, more or less, by 4 clients.
    assert!((0.02..0.06).contains(&law), "{law}");
    assert_eq!(about(&closed, WarningKind::TimeMissing).len(), 1, "{:?}", closed.warnings);

    let open = document(|trial| offer(trial, 0.0));
    assert_eq!(littles_law(&open.trials[0]), None);
    assert!(about(&open, WarningKind::TimeMissing).is_empty(), "{:?}", open.warnings);
}

/// What can be in flight at once is measured, or else the level of `clients`.
#[test]
fn the_queue_depth_counts_in_the_books() {
    let deep = document(|trial| {
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&CONCURRENCY, Scope::Clients, 32.0);
    });
    let flat = document(|_| ());
    let [deep, mut flat] = [deep, flat].map(|document| document.trials[0].clone());
    assert_eq!((concurrency(&deep), concurrency(&flat)), (Some(32.0), Some(4.0)));
    let [a, b] = [&deep, &flat].map(|trial| littles_law(trial).unwrap());
    assert!((b / a - 8.0).abs() < 1e-9, "{b} against {a}");
    flat.levels.remove("clients");
    assert_eq!((concurrency(&flat), littles_law(&flat)), (None, None));
}

/// In a cell that did not keep up no two trials need be alike.
#[test]
fn a_stalled_trial_is_no_news_where_it_did_not_keep_up() {
    let stall = |trial: &mut Trial| {
        if trial.levels["engine"] == "beta" && trial.block == 1 {
            let kept = &mut trial.measured.as_mut().unwrap().operations[0].kept;
            kept.clear();
            kept.record_n(1_000_000_000, 100).unwrap();
        }
    };
    assert_eq!(about(&document(stall), WarningKind::Stalled).len(), 1);
    let behind = document(|trial| {
        stall(trial);
        offer(trial, if trial.levels["engine"] == "beta" { 400.0 } else { 0.0 });
    });
    assert!(about(&behind, WarningKind::Stalled).is_empty(), "{:?}", behind.warnings);
}
