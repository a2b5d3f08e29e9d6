//! How debts over time are kept.

use std::path::Path;

use crate::data::{TrialGenerator, run};
use bakeoff_results::{DATABASE, Debts, Error, RunFolder, SlotRecord, SlotSummary, Trial};
use rusqlite::Connection;

const TOML: &str = "name = \"synthetic\"\n";

fn create(path: &Path) -> RunFolder {
    RunFolder::create(path, &run(&["1"], &["0"], 8), TOML).unwrap()
}

fn trials() -> Vec<Trial> {
    TrialGenerator::new(1, 3).block(0, 0, ["1", "0"])
}

fn debts(trial: &mut Trial) -> &mut Debts {
    &mut trial.measured.as_mut().unwrap().debts
}

/// What the histogram of a slot says of itself.
fn outline(SlotRecord { start_s, end_s, histogram }: &SlotRecord) -> SlotSummary {
    SlotSummary {
        start_s: *start_s,
        end_s: *end_s,
        count: histogram.len(),
        least: histogram.min(),
        mean: histogram.mean(),
        most: histogram.max(),
    }
}

#[test]
fn the_course_of_a_trial_is_its_slots_and_its_debts() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = create(&dir.path().join("run"));
    let mut trials = trials();
    *debts(&mut trials[1]) = Debts::default();
    (trials[2].valid, trials[2].measured) = (false, None);
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    let summaries = folder.trials().unwrap();
    let mut courses = folder.courses();
    for (trial, summary) in trials.iter().zip(&summaries) {
        let course = courses.read_course(summary).unwrap();
        let (slots, debts): (Vec<Vec<SlotSummary>>, Debts) = match &trial.measured {
            Some(it) => {
                let slots = it.operations.iter().map(|it| it.slots.iter().map(outline).collect());
                (slots.collect(), it.debts.clone())
            }
            None => (Vec::new(), Debts::default()),
        };
        assert_eq!((course.operations, course.debts), (slots, debts));
    }
    let first = debts(&mut trials[0]);
    assert!(first.owed.len() == 2 && first.payments[0].ended.len() > 1, "there is something");
}

/// Somebody else's: points that would take gigabytes, and minutes to read.
#[test]
fn there_is_an_end_to_the_debts_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut folder = create(&path);
    trials().iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    drop(folder);
    let sql = "DELETE FROM payment;
               WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 3)
               INSERT INTO payment (trial, position, name, ended)
               SELECT trial.id, n.i, 'flush', '[' || replace(hex(zeroblob(7500000)), '0', ' ') || ']'
               FROM trial, n";
    Connection::open(path.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
    let folder = RunFolder::open(&path).unwrap();
    let summaries = folder.trials().unwrap();
    let mut courses = folder.courses();
    let read: Result<Vec<_>, _> = summaries.iter().map(|it| courses.read_course(it)).collect();
    match read.expect_err("it has 180 MB of texts") {
        error @ Error::Refused { .. } => assert!(error.to_string().contains("bytes"), "{error}"),
        other => panic!("{other}"),
    }
}

/// A look at the wrong moment is refused with its trial, and so is what no reader would take.
#[test]
fn debts_that_would_not_be_read_again_are_not_kept() {
    type Spoil = fn(&mut Debts);
    let spoils: [(Spoil, &str); 6] = [
        (|it| it.owed[0].points[3].0 = f64::NAN, "NaN"),
        (|it| it.owed[1].points[3].0 = 0.5, "0.5"),
        (|it| it.payments[0].ended[0].0 = f64::INFINITY, "inf"),
        (|it| it.owed[0].unit = "tables".to_owned(), "tables"),
        (|it| it.owed[0].limit = Some(u64::MAX), "limit"),
        (|it| it.payments = vec![it.payments[0].clone(); 65], "65"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut folder = create(&dir.path().join("run"));
    for (spoil, words) in spoils {
        let mut trial = trials().remove(0);
        spoil(debts(&mut trial));
        let error = folder.commit_trial(&trial).unwrap_err();
        assert!(matches!(&error, Error::Unfit(why) if why.contains(words)), "{words}: {error:?}");
    }
    assert!(folder.done().unwrap().is_empty());
    folder.commit_trial(&trials()[0]).unwrap();
}

/// What others write there is read no further than bakeoff would have written it.
#[test]
fn series_of_others_are_looked_at() {
    let many = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO payment (trial, position, name, ended) SELECT 1, i, '', '[]' FROM n";
    for (sql, words) in [
        ("UPDATE owed SET points = '[[1.0, 5], [0.5, 6]]'", "0.5"),
        ("UPDATE owed SET points = '[[1e999, 5]]'", "number"),
        ("UPDATE owed SET points = '[[1.0, -5]]'", "u64"),
        ("UPDATE owed SET points = '{}'", "sequence"),
        ("UPDATE owed SET most = -1", "range"),
        ("PRAGMA ignore_check_constraints = 1; UPDATE owed SET unit = 'tables'", "tables"),
        ("UPDATE payment SET ended = '[[2.0, 1], [1.0, 1]]'", "1 s"),
        ("UPDATE owed SET points = '[' || hex(zeroblob(9000000)) || ']'", "longer"),
        (many, "kinds of debt"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        create(&path).commit_trial(&trials()[0]).unwrap();
        Connection::open(path.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
        let folder = RunFolder::open(&path).unwrap();
        let trial = &folder.trials().unwrap()[0];
        for error in
            [folder.courses().read_course(trial).unwrap_err(), folder.trial(0, 0, 0).unwrap_err()]
        {
            assert!(matches!(error, Error::Damaged { .. } | Error::Refused { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{sql}: {error}");
        }
    }
}
