//! What the tests of `text-oltp` send, and the rows that they find.

use std::collections::HashSet;

use bakeoff_engines::{Access, Result, Rows, Session, Value};
use bakeoff_workloads::{
    DeclaredLevels, OperationTally, PreparedWorkload, RowsFile, WorkloadParameters,
};

use crate::{load, text};

/// It at these levels, with 10,000 rows.
fn prepare(levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    let levels: DeclaredLevels =
        levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
    let workload = bakeoff_workloads::find("text-oltp").unwrap();
    workload.prepare(&WorkloadParameters { levels, ..WorkloadParameters::new("small", 1, text()) })
}

/// Notes what is sent: a letter a call, a run's statement by its name, and the integers sent with it.
struct Notes<'a> {
    inner: Box<dyn Session + 'a>,
    names: Vec<String>,
    sent: Vec<String>,
    integers: Vec<i64>,
    texts: Vec<String>,
    answers: Rows,
}

impl<'a> Notes<'a> {
    fn new(prepared: &dyn PreparedWorkload, inner: Box<dyn Session + 'a>) -> Self {
        let names = prepared.statements().iter().map(|statement| statement.name.clone()).collect();
        let (sent, integers, texts) = Default::default();
        Self { inner, names, sent, integers, texts, answers: Rows::new() }
    }

    /// What was sent, each run of one thing with its length: `BEGIN, 90 × title by id`.
    fn shape(&mut self) -> String {
        let sent = std::mem::take(&mut self.sent);
        let runs = sent.chunk_by(|one, next| one == next);
        let told = runs.map(|run| match run.len() {
            1 => run[0].clone(),
            times => format!("{times} × {}", run[0]),
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

impl Session for Notes<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.sent.push(format!("BEGIN {access:?}"));
        self.inner.begin(access)
    }

    fn run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        self.sent.push(self.names[number].clone());
        for parameter in parameters {
            match parameter {
                Value::Int(integer) => self.integers.push(*integer),
                Value::Text(text) => self.texts.push((*text).to_owned()),
                Value::Null => {}
            }
        }
        let count = self.inner.run(number, parameters, rows)?;
        self.answers = rows.clone();
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.sent.push("COMMIT".into());
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.sent.push("ROLLBACK".into());
        self.inner.rollback()
    }
}

/// Loads it at these levels into an engine that is built in, and has a client of it at work on that.
fn with_client(
    levels: &[(&str, &str)],
    conditions: bool,
    check: impl FnOnce(&mut dyn FnMut(&mut Notes<'_>) -> OperationTally, &mut Notes<'_>),
) {
    let (prepared, folder) = (prepare(levels), tempfile::tempdir().unwrap());
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let mut notes = Notes::new(&*prepared, database.session().unwrap());
    let mut client =
        if conditions { prepared.conditioner(0, 1, 3) } else { prepared.client(0, 1, 3) };
    let mut operate = |notes: &mut Notes<'_>| {
        let (operation, mut tally) = (client.choose(), OperationTally::default());
        assert!(prepared.has_operation(operation), "a client has one of its trial's");
        client.perform(operation, notes, &mut tally).unwrap();
        tally
    };
    check(&mut operate, &mut notes);
}

#[test]
fn each_test_sends_what_the_article_says() {
    for (test, shape, access, rows) in [
        ("point_select", "100 × title by id", "Read", 100..=100),
        ("point_select90_update10", "90 × title by id, 10 × new title", "Write", 100..=100),
        ("secondary_random_points100", "articles among k", "Read", 60..=150),
        ("secondary_random_limit100", "100 × titles from k on", "Read", 9_000..=10_000),
    ] {
        let writes = access == "Write";
        with_client(&[("test", test)], false, |operate, notes| {
            for _ in 0..3 {
                let tally = operate(notes);
                assert_eq!(notes.shape(), shape, "{test}");
                assert_eq!((tally.transactions, tally.retries), (if writes { 10 } else { 0 }, 0));
                assert!(rows.contains(&tally.rows), "{test}: {}", tally.rows);
            }
        });
        with_client(&[("test", test), ("transaction", "on")], false, |operate, notes| {
            let tally = operate(notes);
            assert_eq!(notes.shape(), format!("BEGIN {access}, {shape}, COMMIT"), "{test}");
            assert_eq!(tally.transactions, u64::from(writes), "{test}");
            assert!(rows.contains(&tally.rows), "{test}: {}", tally.rows);
        });
    }
}

#[test]
fn keys_are_spread_as_their_level_says() {
    let share = |keys: &str, of: std::ops::RangeInclusive<i64>| {
        let mut share = 0.0;
        with_client(&[("keys", keys)], false, |operate, notes| {
            for _ in 0..100 {
                operate(notes);
            }
            let inside = notes.integers.iter().filter(|id| of.contains(id)).count();
            assert_eq!(notes.integers.len(), 10_000);
            share = inside as f64 / 10_000.0;
        });
        share
    };
    let uniform = share("uniform", 1..=100);
    assert!((0.005..0.016).contains(&uniform), "{uniform}");
    // The harmonic numbers of 100 and 10,000, to the power of 0.99.
    let zipf = share("zipf:0.99", 1..=100);
    assert!((0.50..0.56).contains(&zipf), "{zipf}");
    let special = share("special", 4_950..=5_051);
    assert!(special > 0.73, "{special}");
}

#[test]
fn a_secondary_index_leads_to_the_rows() {
    with_client(&[("test", "secondary_random_points100")], false, |operate, notes| {
        operate(notes);
        let keys: HashSet<i64> = notes.integers.iter().copied().collect();
        let found: Vec<i64> =
            (0..notes.answers.len()).filter_map(|row| notes.answers.int(row, 1)).collect();
        // As many as keys on average, each with four columns.
        assert!((60..150).contains(&found.len()), "{}", found.len());
        assert!(found.iter().all(|k| keys.contains(k)));
        assert_eq!(notes.answers.width(), 4);
    });
    with_client(&[("test", "secondary_random_limit100")], false, |operate, notes| {
        operate(notes);
        assert_eq!((notes.answers.len(), notes.answers.width()), (100, 1));
    });
}

#[test]
fn a_new_title_is_what_sysbench_writes() {
    with_client(&[("test", "point_select90_update10")], false, |operate, notes| {
        operate(notes);
        let titles: HashSet<&String> = notes.texts.iter().collect();
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
            let shape = notes.shape();
            assert!(shape.contains("10 × new title"), "{shape}");
        });
    }
}

#[test]
fn no_two_rows_are_alike_and_titles_are_short() {
    let (prepared, mut seen, mut ks) = (prepare(&[]), HashSet::new(), HashSet::new());
    let mut row = |row: &[Value<'_>]| {
        let [_, Value::Int(k), Value::Text(title), Value::Text(text)] = row else {
            panic!("{row:?}")
        };
        assert!(title.len() <= 80 && !title.contains('\n'), "{title}");
        assert!((150..8_192).contains(&text.len()), "{}", text.len());
        assert!((1..=10_000).contains(k));
        assert!(seen.insert((*text).to_owned()), "{text}");
        ks.insert(*k);
        Ok(())
    };
    prepared.rows(0, &mut row).unwrap();
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
    let workload = bakeoff_workloads::find("text-oltp").unwrap();
    let rows = Some(RowsFile::survey(&path).unwrap());
    let prepared = workload
        .prepare(&WorkloadParameters { rows, ..WorkloadParameters::new("small", 1, text()) });
    let (mut next, mut keys) = (1, HashSet::new());
    let given = prepared.rows(0, &mut |row| {
        let [id, Value::Int(k), title, text] = *row else { panic!("{row:?}") };
        assert_eq!(id, Value::Int(next));
        assert_eq!(title, Value::Text(&format!("Title {next}")));
        assert_eq!(text, Value::Text(&format!("Text {next}")));
        assert!((1..=10_000).contains(&k));
        keys.insert(k);
        next += 1;
        Ok(())
    });
    given.unwrap();
    assert_eq!(next, 10_001);
    assert!(keys.len() > 5000, "{} values of k", keys.len());
    // Every scale says how many rows it takes.
    let takes = |scale| workload.rows_from_file(scale);
    assert_eq!([takes("small"), takes("giant")], [Some(10_000), Some(1_000_000)]);
}
