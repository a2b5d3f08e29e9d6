//! The series of trials, as they are taken from a run folder.

use bakeoff_results::{Error, OwedSeries};
use bakeoff_testkit::synthetic::TrialGenerator;

use crate::known::{fail, measured, plain_run, write};

/// Two attempts at a block, of which the first does not count: both have every slot, look and payment that
/// was recorded.
#[test]
fn every_trial_has_its_series() {
    let mut trials = TrialGenerator::new(5, 10).generate_block(0, 0, ["1", "0"]);
    let mut again = trials.clone();
    trials.iter_mut().for_each(|trial| trial.valid = false);
    again.iter_mut().for_each(|trial| trial.attempt = 1);
    fail(&mut again[2], "it has no series");
    trials.extend(again);
    let document = write(&plain_run(8), &trials, |folder| {
        let mut document = bakeoff_analysis::read_document(folder).unwrap();
        assert!(document.series.is_empty(), "nobody asked for them");
        document.take_series(folder).unwrap();
        document
    });
    assert_eq!(document.series.len(), trials.len());
    for (trial, series) in trials.iter().zip(&document.series) {
        let Some(measured) = &trial.measured else {
            assert_eq!(*series, Default::default());
            continue;
        };
        assert_eq!(series.debts, measured.debts);
        assert_eq!(series.operations.len(), measured.operations.len());
        for (recorded, taken) in measured.operations.iter().zip(&series.operations) {
            assert_eq!((&taken.name, taken.slots.len()), (&recorded.name, recorded.slots.len()));
            for (slot, view) in recorded.slots.iter().zip(&taken.slots) {
                assert_eq!((view.start_s, view.end_s), (slot.start_s, slot.end_s));
                assert_eq!(view.count, slot.histogram.len());
                let [least, mean, most] = view.latency_s.expect("operations ended in each second");
                assert_eq!(mean, slot.histogram.mean() / 1e9);
                assert!(least < mean && mean < most, "{view:?}");
            }
        }
    }
}

/// A folder of somebody else's can have more looks than any run: nobody gets a table without end.
#[test]
fn more_points_than_any_run_has_are_refused() {
    let mut trials = TrialGenerator::new(5, 10).generate_block(0, 0, ["1", "0"]);
    trials.truncate(1);
    let points = (0..1_000_000).map(|at| (f64::from(at), 1)).collect();
    let (name, unit) = ("dirty pages".to_owned(), "pages".to_owned());
    measured(&mut trials[0]).debts.owed = vec![OwedSeries { name, unit, limit: None, points }];
    write(&plain_run(1), &trials, |folder| {
        let mut document = bakeoff_analysis::read_document(folder).unwrap();
        let error = document.take_series(folder).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("1000000 points"), "{error}");
        assert!(document.series.is_empty());
    });
}
