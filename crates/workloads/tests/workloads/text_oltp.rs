//! What the tests of `text-oltp` send, and the rows that they find.

use std::collections::HashSet;

use bakeoff_engines::Value;
use bakeoff_workloads::{OperationTally, PreparedWorkload, RowsFile, WorkloadParameters};

use crate::recorder::Recorder;
use crate::{each_row, load, prepare_at, text};

/// It at these levels, with 10,000 rows.
fn prepare(levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    prepare_at("text-oltp", "small", levels)
}

/// What was sent, each run of one thing with its length: `BEGIN, 90 × title by id`.
fn shape(recorder: &mut Recorder<'_>) -> String {
    let sent = std::mem::take(&mut recorder.sent);
    let runs = sent.chunk_by(|one, next| one == next);
    let told = runs.map(|run| match run.len() {
        1 => run[0].clone(),
        times => format!("{times} × {}", run[0]),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Loads it at these levels into an engine that is built in, and has a client of it at work on that.
fn with_client(
    levels: &[(&str, &str)],
    conditions: bool,
    check: impl FnOnce(&mut dyn FnMut(&mut Recorder<'_>) -> OperationTally, &mut Recorder<'_>),
) {
    let (prepared, folder) = (prepare(levels), tempfile::tempdir().unwrap());
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let mut notes = Recorder::new(&*prepared, database.session().unwrap());
    let mut client =
        if conditions { prepared.make_conditioner(0, 1, 3) } else { prepared.make_client(0, 1, 3) };
    let mut operate = |notes: &mut Recorder<'_>| {
        let (operation, mut tally) = (client.choose_operation(), OperationTally::default());
        assert!(prepared.has_operation(operation), "a client has one of its trial's");
        client.run_operation(operation, notes, &mut tally).unwrap();
        tally
    };
    check(&mut operate, &mut notes);
}

#[test]
fn each_test_sends_what_the_article_says() {
    for (test, wanted, access, rows) in [
        ("point_select", "100 × title by id", "Read", 100..=100),
        ("point_select90_update10", "90 × title by id, 10 × new title", "Write", 100..=100),
        ("secondary_random_points100", "articles among k", "Read", 60..=150),
        ("secondary_random_limit100", "100 × titles from k on", "Read", 9_000..=10_000),
    ] {
        let writes = access == "Write";
        with_client(&[("test", test)], false, |operate, notes| {
            for _ in 0..3 {
                let tally = operate(notes);
                assert_eq!(shape(notes), wanted, "{test}");
                assert_eq!((tally.transactions, tally.retries), (if writes { 10 } else { 0 }, 0));
                assert!(rows.contains(&tally.rows), "{test}: {}", tally.rows);
            }
        });
        with_client(&[("test", test), ("transaction", "on")], false, |operate, notes| {
            let tally = operate(notes);
            assert_eq!(shape(notes), format!("BEGIN {access}, {wanted}, COMMIT"), "{test}");
            assert_eq!(tally.transactions, u64::from(writes), "{test}");
            assert!(rows.contains(&tally.rows), "{test}: {}", tally.rows);
        });
    }
}

#[test]
fn keys_are_spread_as_their_level_says() {
    // The harmonic numbers of 100 and 10,000, to the power of 0.99.
    for (keys, of, share) in [
        ("uniform", 1..=100, 0.005..0.016),
        ("zipf:0.99", 1..=100, 0.50..0.56),
        ("special", 4_950..=5_051, 0.73..0.85),
    ] {
        with_client(&[("keys", keys)], false, |operate, notes| {
            for _ in 0..100 {
                operate(notes);
            }
            let ids: Vec<i64> = notes.runs.iter().flat_map(|run| run.integers.clone()).collect();
            assert_eq!(ids.len(), 10_000);
            let inside = ids.iter().filter(|id| of.contains(*id)).count() as f64 / 10_000.0;
            assert!(share.contains(&inside), "{keys}: {inside}");
        });
    }
}

#[test]
fn a_secondary_index_leads_to_the_rows() {
    with_client(&[("test", "secondary_random_points100")], false, |operate, notes| {
        operate(notes);
        let keys: HashSet<i64> = notes.runs[0].integers.iter().copied().collect();
        let found: Vec<i64> =
            (0..notes.answer.len()).filter_map(|row| notes.answer.get_int(row, 1)).collect();
        // As many as keys on average, each with four columns.
        assert!((60..150).contains(&found.len()), "{}", found.len());
        assert!(found.iter().all(|k| keys.contains(k)));
        assert_eq!(notes.answer.width(), 4);
    });
    with_client(&[("test", "secondary_random_limit100")], false, |operate, notes| {
        operate(notes);
        assert_eq!((notes.answer.len(), notes.answer.width()), (100, 1));
    });
}

#[test]
fn a_new_title_is_what_sysbench_writes() {
    with_client(&[("test", "point_select90_update10")], false, |operate, notes| {
        operate(notes);
        let titles: HashSet<&String> = notes.runs.iter().flat_map(|run| &run.texts).collect();
        assert_eq!(titles.len(), 10);
        assert!(titles.iter().all(|title| title.len() == 119));
    });
}

/// A trial that reads would wait for debts that nobody runs up.
#[test]
fn what_conditions_a_test_that_reads_writes() {
    for levels in [
        [("test", "point_select"), ("transaction", "off")],
        [("test", "secondary_random_limit100"), ("transaction", "on")],
    ] {
        with_client(&levels, true, |operate, notes| {
            assert!(operate(notes).transactions > 0);
            let sent = shape(notes);
            assert!(sent.contains("10 × new title"), "{sent}");
        });
    }
}

#[test]
fn no_two_rows_are_alike_and_titles_are_short() {
    let (prepared, mut seen, mut ks) = (prepare(&[]), HashSet::new(), HashSet::new());
    each_row(&*prepared, 0, |row| {
        let [_, Value::Int(k), Value::Text(title), Value::Text(text)] = row else {
            panic!("{row:?}")
        };
        assert!(title.len() <= 80 && !title.contains('\n'), "{title}");
        assert!((150..8_192).contains(&text.len()), "{}", text.len());
        assert!((1..=10_000).contains(k));
        assert!(seen.insert((*text).to_owned()), "{text}");
        ks.insert(*k);
    });
    assert_eq!(seen.len(), 10_000);
    // Of so many uniform draws 1 - 1/e are different.
    assert!((6_200..6_450).contains(&ks.len()), "{}", ks.len());
}

#[test]
fn rows_of_a_file_come_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let lines: String = (1..=10_001).map(|n| format!("\"Title {n}\",Text {n}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let workload = bakeoff_workloads::find_workload("text-oltp").unwrap();
    let rows = Some(RowsFile::survey(&path).unwrap());
    let prepared = workload
        .prepare(&WorkloadParameters { rows, ..WorkloadParameters::new("small", 1, text()) });
    let (mut next, mut keys) = (1, HashSet::new());
    each_row(&*prepared, 0, |row| {
        let [id, Value::Int(k), title, text] = *row else { panic!("{row:?}") };
        assert_eq!(id, Value::Int(next));
        assert_eq!(title, Value::Text(&format!("Title {next}")));
        assert_eq!(text, Value::Text(&format!("Text {next}")));
        assert!((1..=10_000).contains(&k));
        keys.insert(k);
        next += 1;
    });
    assert_eq!(next, 10_001);
    assert!(keys.len() > 5000, "{} values of k", keys.len());
    // Every scale says how many rows it takes.
    let takes = |scale| workload.rows_from_file(scale);
    assert_eq!([takes("small"), takes("giant")], [Some(10_000), Some(1_000_000)]);
}
