//! What a page of `vote` sends at each step, and that a vote which is not shown is told.

use std::collections::HashSet;

use bakeoff_engines::{Access, Result, Rows, Session, Value};
use bakeoff_workloads::{Levels, Parameters, Prepared, Tally};

use crate::statements::{Recorder, Sent};
use crate::{load, text};

fn at(scale: &str, levels: &[(&str, &str)]) -> Box<dyn Prepared> {
    let levels: Levels =
        levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
    let parameters = Parameters { levels, ..Parameters::new(scale, 1, text()) };
    bakeoff_workloads::find("vote").unwrap().prepare(&parameters)
}

/// What the first operations of a client send, each in a line with its name.
fn sent(prepared: &dyn Prepared, operations: usize) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), prepared, Vec::new());
    let mut session = Recorder::new(prepared, database.session().unwrap());
    let mut client = prepared.client(0, 1, 1);
    let line = |sent: &Sent| match sent {
        Sent::Begin => "begin".to_owned(),
        Sent::Run(name) => name.clone(),
        Sent::Commit => "commit".to_owned(),
        Sent::Rollback => "rollback".to_owned(),
    };
    let operations = (0..operations).map(|_| {
        let chosen = client.choose();
        let (sent, tally) = session.record(&mut *client, chosen);
        assert!(tally.bytes > 400, "a page of {} bytes", tally.bytes);
        let lines: Vec<String> = sent.iter().map(line).collect();
        format!("{}: {}", ["page", "vote"][chosen], lines.join(", "))
    });
    operations.collect()
}

#[test]
fn each_step_sends_what_it_says_and_prepares_no_more() {
    for (step, statements, wanted) in [
        ("stub", 0, vec!["page: "]),
        ("connect", 0, vec!["page: "]),
        ("read", 2, vec!["page: session by uuid, the best nine"]),
        (
            "read+write",
            9,
            vec![
                "page: add session, the best nine",
                "page: session by uuid, renew session, the best nine",
                "vote: begin, vote for entry, rating of entry, count vote of session, commit, the best nine",
            ],
        ),
    ] {
        let prepared = at("small", &[("step", step)]);
        assert_eq!(prepared.statements().len(), statements, "{step}");
        let mut seen = sent(&*prepared, 200);
        seen.sort();
        seen.dedup();
        assert_eq!(seen, wanted, "{step}");
        assert_eq!(prepared.has_operation(1), step == "read+write", "{step}");
    }
}

#[test]
fn a_page_connects_unless_its_connection_is_kept_or_it_is_a_stub() {
    for (step, connection, connects) in [
        ("stub", "request", false),
        ("connect", "request", true),
        ("read", "request", true),
        ("read+write", "request", true),
        ("read+write", "kept", false),
    ] {
        let prepared = at("small", &[("step", step), ("connection", connection)]);
        assert_eq!(prepared.connects_each_time(), connects, "{step} {connection}");
    }
}

/// A session that answers each look at the best nine with what the first one saw.
struct Stale<'a> {
    inner: Box<dyn Session + 'a>,
    best: usize,
    first: Option<Vec<(i64, String, i64)>>,
}

impl Session for Stale<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.inner.run(number, values, rows)?;
        if number != self.best {
            return Ok(count);
        }
        let text = |row| match rows.get(row, 1) {
            Value::Text(text) => text.to_owned(),
            other => panic!("{other:?}"),
        };
        let seen = (0..rows.len())
            .map(|row| (rows.int(row, 0).unwrap(), text(row), rows.int(row, 2).unwrap()));
        let seen: Vec<_> = seen.collect();
        let first = self.first.get_or_insert(seen);
        rows.reset(3);
        for (id, name, rating) in first {
            rows.push(Value::Int(*id));
            rows.push(Value::Text(name));
            rows.push(Value::Int(*rating));
        }
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

#[test]
fn a_vote_that_the_next_page_does_not_show_is_an_error_and_a_fault() {
    let prepared = at("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let best = prepared.statements().iter().position(|it| it.name == "the best nine").unwrap();
    let mut session = Stale { inner: database.session().unwrap(), best, first: None };
    let mut client = prepared.client(0, 1, 1);
    let mut errors = 0;
    for _ in 0..200 {
        let chosen = client.choose();
        errors += usize::from(client.perform(chosen, &mut session, &mut Tally::default()).is_err());
    }
    drop(session);
    let broken = prepared.invariants(&*database).unwrap();
    assert!(errors > 0 && broken.len() == errors, "{errors} errors, {broken:?}");
    assert!(broken.iter().all(|it| it.contains("a vote gave entry ")), "{broken:?}");
}

#[test]
fn visitors_have_the_cookies_of_sessions_that_are_loaded() {
    let prepared = at("large", &[("step", "read")]);
    let mut client = prepared.client(0, 1, 1);
    let mut asked = Asked::default();
    for _ in 0..20 {
        let _ = client.perform(0, &mut asked, &mut Tally::default());
    }
    let sessions = prepared.schema().table_number("sessions");
    let (mut rows, mut found) = (0, 0);
    prepared
        .rows(sessions, &mut |row| {
            let Value::Text(uuid) = row[0] else { panic!("{row:?}") };
            rows += 1;
            found += usize::from(asked.keys.contains(uuid));
            Ok(())
        })
        .unwrap();
    assert_eq!((rows, found, asked.keys.len()), (1_500_000, 20, 20));
}

/// Notes the keys that sessions are asked for by, and finds none.
#[derive(Default)]
struct Asked {
    keys: HashSet<String>,
}

impl Session for Asked {
    fn begin(&mut self, _: Access) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, _: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        rows.reset(1);
        if let [Value::Text(uuid)] = values {
            self.keys.insert((*uuid).to_owned());
        }
        Ok(0)
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }
}
