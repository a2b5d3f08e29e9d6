//! What is said of trials in an open loop, and what only of those in a closed one.

use bakeoff_analysis::{Document, OpenLoopView, WarningKind, find_concurrency, littles_law};
use bakeoff_results::Trial;
use bakeoff_results::measure::*;

use crate::known::{assert_has, blocks_at, cell, is, measured, near, set, take, told};

/// Two blocks of four clients, with every trial changed.
fn document(change: impl Fn(&mut Trial)) -> Document {
    let mut trials = blocks_at(2, ["4", "0"]);
    trials.iter_mut().for_each(change);
    crate::known::document(&trials)
}

/// 40 operations a second were due over 20 s, and so many had not started then.
fn offer(trial: &mut Trial, not_started: f64) {
    let block = f64::from(trial.block);
    for (measure, value) in [
        (&OFFERED, 40.0),
        (&NOT_STARTED, not_started),
        (&BACKLOG, not_started + block),
        (&START_DELAY_P99, 0.25 + block),
    ] {
        set(trial, measure, Scope::Clients, value);
    }
    for operation in &mut measured(trial).operations {
        let mut service = bakeoff_results::histogram::new_histogram();
        service.record_n(2_000_000 * (1 + block as u64), 10_000).unwrap();
        operation.service = Some(service);
    }
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
    near(cell.operations[0].service_mean_s, 8e-6_f64.sqrt());
    near(cell.operations[0].service_p99_s, 0.003);
    assert_eq!(told(&document, WarningKind::NotKeptUp), "");
}

#[test]
fn a_cell_that_did_not_keep_up_is_told_once() {
    let document = document(|trial| {
        offer(trial, if is(trial, 1, "beta") { 400.0 } else { 0.0 });
    });
    let beta = cell(&document, "beta").open_loop.unwrap();
    assert_eq!((beta.behind, beta.kept_up, beta.not_started), (1, false, 400));
    assert!(cell(&document, "gamma").open_loop.unwrap().kept_up);
    let found = told(&document, WarningKind::NotKeptUp);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert_has(
        &found,
        &["1 of 4 cells", "25 %", "engine beta", "only grow with the length of the trial"],
    );
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
    assert_eq!(told(&closed, WarningKind::TimeMissing).lines().count(), 1);
    let open = document(|trial| offer(trial, 0.0));
    assert_eq!(littles_law(&open.trials[0]), None);
    assert_eq!(told(&open, WarningKind::TimeMissing), "");
}

/// What can be in flight at once is measured, or else the level of `clients`.
#[test]
fn the_queue_depth_counts_in_the_books() {
    let deep = document(|trial| set(trial, &CONCURRENCY, Scope::Clients, 32.0));
    let [deep, mut flat] = [deep, document(|_| ())].map(|document| document.trials[0].clone());
    assert_eq!((find_concurrency(&deep), find_concurrency(&flat)), (Some(32.0), Some(4.0)));
    let [a, b] = [&deep, &flat].map(|trial| littles_law(trial).unwrap());
    assert!((b / a - 8.0).abs() < 1e-9, "{b} against {a}");
    flat.levels.remove("clients");
    assert_eq!((find_concurrency(&flat), littles_law(&flat)), (None, None));
}

/// In a cell that did not keep up no two trials need be alike.
#[test]
fn a_stalled_trial_is_no_news_where_it_did_not_keep_up() {
    let stall = |trial: &mut Trial| {
        if is(trial, 1, "beta") {
            take(trial, 0, 1.0, 100);
        }
    };
    assert_ne!(told(&document(stall), WarningKind::Stalled), "");
    let behind = document(|trial| {
        stall(trial);
        offer(trial, if trial.levels["engine"] == "beta" { 400.0 } else { 0.0 });
    });
    assert_eq!(told(&behind, WarningKind::Stalled), "");
}
