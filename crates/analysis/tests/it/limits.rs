//! Searches for the highest rate that keeps a limit, from trials of known response times.

use bakeoff_analysis::{Document, LimitOutcome, ProbeVerdict};
use bakeoff_results::limit::ResponseTimeLimit;
use bakeoff_results::measure::{BACKLOG, DUE, NOT_STARTED, OFFERED};
use bakeoff_results::{Scope, Trial};
use serde_json::json;

use crate::known::{blocks, fail, measured, plain_run, read, set, take};
use crate::schema::{assert_fits, complaints, schema};

/// The document of a run with a trial for each of these loops, in their order: the rate of an open one, and
/// how many milliseconds its operations took.
fn document(loops: &[Option<(f64, u64)>], change: impl Fn(usize, &mut Trial)) -> Document {
    let mut run = plain_run(8);
    run.limit = Some(ResponseTimeLimit::parse("p99=50ms").unwrap());
    let mut trials = blocks(loops.len() as u32);
    trials.retain(|trial| trial.levels["engine"] == "alpha");
    for (number, (trial, way)) in trials.iter_mut().zip(loops).enumerate() {
        let rate = way.map_or_else(|| "closed".to_owned(), |(rate, _)| format!("{rate}/s"));
        trial.levels.insert("rate".to_owned(), rate);
        if let Some((rate, milliseconds)) = way {
            for (measure, value) in
                [(&OFFERED, *rate), (&DUE, 20.0 * rate), (&NOT_STARTED, 0.0), (&BACKLOG, 7.0)]
            {
                set(trial, measure, Scope::Clients, value);
            }
            for operation in 0..2 {
                take(trial, operation, *milliseconds as f64 / 1e3, 10_000);
                let operation = &mut measured(trial).operations[operation];
                operation.service = Some(operation.kept.clone());
            }
        }
        change(number, trial);
    }
    read(&run, &trials)
}

/// A search up to 200 operations a second.
const WHOLE: [Option<(f64, u64)>; 7] = [
    None,
    Some((200.0, 10)),
    Some((208.0, 90)),
    Some((200.0, 10)),
    Some((200.0, 20)),
    Some((200.0, 10)),
    None,
];

#[test]
fn a_search_is_told_with_each_rate_that_was_tried() {
    let document = document(&WHOLE[..6], |_, _| ());
    let [view] = &document.limits[..] else { panic!("{:?}", document.limits) };
    assert!(view.closed_per_second.is_some_and(|reached| reached > 0.0));
    let said: Vec<_> = view.probes.iter().map(|it| (it.per_second, it.said)).collect();
    let (keeps, breaks) = (ProbeVerdict::Keeps, ProbeVerdict::Breaks);
    let told = [(200.0, keeps), (208.0, breaks), (200.0, keeps), (200.0, keeps), (200.0, keeps)];
    assert_eq!(said, told);
    assert_eq!(
        (view.outcome, view.confirmed, view.next_per_second),
        (LimitOutcome::Found, 3, None)
    );
    assert_eq!((view.keeps_per_second, view.breaks_per_second), (Some(200.0), Some(208.0)));
    let probe = &view.probes[1];
    assert_eq!((probe.backlog, probe.kept_up, &probe.failed), (Some(7), Some(true), &None));
    assert!(probe.response_s.is_some_and(|it| (0.089..0.091).contains(&it)), "{probe:?}");
    let limit = document.run.run.limit.unwrap();
    let found =
        "found: 200/s keeps p99=50ms, 3 of 3 times when it was tried again; 208/s breaks it";
    assert_eq!(view.answer(limit), found);
}

#[test]
fn a_search_that_goes_on_names_the_rate_that_comes_next() {
    let document = document(&WHOLE[..3], |_, _| ());
    let view = &document.limits[0];
    assert_eq!((view.outcome, view.next_per_second), (LimitOutcome::NotOver, Some(200.0)));
}

#[test]
fn a_trial_that_failed_breaks_the_limit_and_says_why() {
    let document = document(&WHOLE[..2], |number, trial| {
        if number == 1 {
            fail(trial, "the server ended\nat once");
        }
    });
    let probe = &document.limits[0].probes[0];
    assert_eq!(
        (probe.said, probe.failed.as_deref()),
        (ProbeVerdict::Breaks, Some("the server ended"))
    );
    let words = probe.describe_probe(document.run.run.limit.unwrap());
    assert_eq!(words, "200/s breaks it: the server ended");
}

/// A rate that was not measured is not told as what the server can't do.
#[test]
fn where_the_lowest_rate_that_broke_it_failed_nothing_is_known_above() {
    let document = document(&WHOLE[..6], |number, trial| {
        if number == 2 {
            fail(trial, "the clients can't send that");
        }
    });
    let view = &document.limits[0];
    assert_eq!((view.outcome, view.breaks_per_second), (LimitOutcome::Found, Some(208.0)));
    let found = "found: 200/s keeps p99=50ms, 3 of 3 times when it was tried again; at 208/s the trial failed, so \
                 that nothing is known above: the clients can't send that";
    assert_eq!(view.answer(document.run.run.limit.unwrap()), found);
}

#[test]
fn the_schema_knows_every_field_of_a_search() {
    for document in [document(&WHOLE, |_, _| ()), document(&WHOLE[..1], |_, _| ())] {
        let json = assert_fits(&document);
        assert_eq!(json["run"]["limit"], json!("p99=50ms"));
        let mut wrong = json.clone();
        wrong["limits"][0]["outcome"] = json!("perhaps");
        assert_eq!(complaints(&schema(), &wrong).len(), 1);
        let mut missing = json;
        missing["limits"][0].as_object_mut().unwrap().remove("confirmed");
        assert!(!complaints(&schema(), &missing).is_empty());
    }
    let without = assert_fits(&read(&plain_run(8), &[]));
    assert!(without.get("limits").is_none() && without["run"].get("limit").is_none());
}
