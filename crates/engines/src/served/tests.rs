//! What engines in servers have in common, on each that is installed.

use std::path::Path;

use bakeoff_testkit::{needs, wait_until};

use crate::schema::{Table, Type};
use crate::statement::{Action, Statement, TableRead};
use crate::{Access, Database, Durability, Engine, Error, OpenTerms, Rows, Schema, Value};

pub(crate) const INSERT: usize = 0;
pub(crate) const READ: usize = 1;

pub(crate) fn schema() -> Schema {
    let notes = Table::new("notes")
        .key_column("id", Type::Int)
        .column("text", Type::STRING)
        .index(&["text"]);
    Schema { tables: vec![notes] }
}

pub(crate) fn statements() -> [Statement; 2] {
    [Action::Insert { table: 0 }, Action::Read(TableRead::by_key(0, 1, &[1]))]
        .map(|action| Statement { name: "one".into(), action })
}

pub(crate) fn note(number: i64) -> [Value<'static>; 2] {
    [Value::Int(number), Value::Text("a note")]
}

/// A connection that isn't the engine's.
pub(crate) trait Client {
    fn run(&mut self, sql: &str);

    /// The only number of an answer.
    fn ask(&mut self, sql: &str) -> i64;

    /// Ends the connections of all others, and waits until they are gone.
    fn end_connections(&mut self);
}

/// An engine in a server, and what is its own.
pub(crate) struct Served {
    pub(crate) engine: &'static dyn Engine,
    pub(crate) administrator: fn(&Path) -> Box<dyn Client>,
    /// Who knows a database by its address alone.
    pub(crate) stranger: fn(&dyn Database) -> Box<dyn Client>,
    /// A setting that undoes a level.
    pub(crate) undoes: (&'static str, &'static str),
    /// What counts each commit that is synced.
    pub(crate) syncs: &'static str,
}

const SERVED: [&Served; 4] = [
    &crate::mysql::tests::INNODB_SERVED,
    &crate::mysql::tests::ROCKSDB_SERVED,
    &crate::mysql::tests::ARIA_SERVED,
    &crate::postgres::tests::POSTGRES_SERVED,
];

impl Served {
    fn open(&self, folder: &Path, terms: &OpenTerms) -> Result<Box<dyn Database>, Error> {
        self.engine.open(folder, terms, &schema(), &statements())
    }
}

fn installed() -> impl Iterator<Item = &'static Served> {
    SERVED.into_iter().filter(|served| needs(served.engine.available()).is_some())
}

#[test]
fn a_lost_connection_is_a_conflict_or_in_doubt_and_is_replaced() {
    for served in installed().filter(|served| served.engine.about().rolls_back) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = served.open(folder.path(), &OpenTerms::new(Durability::None)).expect("open");
        let mut administrator = (served.administrator)(folder.path());
        loses_connections(&*database, || administrator.end_connections());
        administrator.end_connections();
        assert_eq!(database.check().expect("check"), Vec::<String>::new());
        database.drain().expect("drain");
        assert!(database.debt().expect("on a new connection").is_some());
    }
}

fn loses_connections(database: &dyn Database, mut end_connections: impl FnMut()) {
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    for access in [Access::Read, Access::Write] {
        session.begin(access).expect("begin");
        session.run(READ, &[1.into()], &mut rows).expect("read");
        end_connections();
        let answer = session.run(READ, &[1.into()], &mut rows);
        assert!(matches!(answer, Err(Error::Conflict(_))), "in a transaction: {answer:?}");
        session.rollback().expect("rollback");
    }
    end_connections();
    let answer = session.run(READ, &[1.into()], &mut rows);
    assert_eq!(answer.expect("a session that has none connects"), 0);
    end_connections();
    let answer = session.run(INSERT, &note(1), &mut rows);
    assert!(matches!(answer, Err(Error::InDoubt(_))), "a write on its own: {answer:?}");
    session.begin(Access::Write).expect("begin");
    session.run(INSERT, &note(2), &mut rows).expect("insert");
    end_connections();
    let answer = session.commit();
    assert!(matches!(answer, Err(Error::InDoubt(_))), "a commit: {answer:?}");
    session.begin(Access::Write).expect("begin");
    session.run(INSERT, &note(3), &mut rows).expect("insert");
    session.commit().expect("commit");
    for (number, found) in [(2, 0), (3, 1)] {
        let answer = session.run(READ, &[number.into()], &mut rows);
        assert_eq!(answer.expect("read"), found, "note {number}");
    }
}

#[test]
fn runs_within_a_small_limit_counts_and_keeps_its_promises() {
    for served in installed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut terms = OpenTerms::new(Durability::Strict);
        terms.memory_bytes = Some(128 << 20);
        let database = served.open(folder.path(), &terms).expect("open");
        assert!(database.server().is_some());
        let counted = |name| {
            let counters = database.counters();
            counters.iter().find(|(counter, _)| *counter == name).map_or(0, |(_, count)| *count)
        };
        let before = counted(served.syncs);
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        for number in 0..10 {
            session.run(INSERT, &note(number), &mut rows).expect("insert");
        }
        let seen = (served.stranger)(&*database).ask("SELECT COUNT(*) FROM notes");
        assert_eq!(seen, 10, "by who knows its address");
        // PostgreSQL's sessions hand their counts in when they end.
        drop(session);
        wait_until(served.syncs, || counted(served.syncs) >= before + 10);
        drop(database);
        let (name, value) = served.undoes;
        terms.settings = vec![(name.into(), value.into())];
        let answer = served.open(folder.path(), &terms).map(drop);
        let refused = matches!(&answer, Err(Error::Usage(what)) if what.contains(name));
        assert!(refused, "{answer:?}");
    }
}

/// A server that somebody else runs, with a database `ours` of the user `owner`, and `theirs`, which
/// has a table `precious`.
pub(crate) struct Elsewhere<'a> {
    /// The engine of a database, for a password.
    pub(crate) engine: &'a dyn Fn(&str, &str) -> Box<dyn Engine>,
    pub(crate) stranger: fn(&dyn Database) -> Box<dyn Client>,
    /// A level that the server does not give, and what is said of it.
    pub(crate) weaker: (Durability, &'static str),
    /// What is said of a wrong password.
    pub(crate) denied: &'static str,
}

pub(crate) fn reuse(terms: &OpenTerms) -> OpenTerms {
    OpenTerms { settings: vec![("reuse".into(), "yes".into())], ..terms.clone() }
}

impl Elsewhere<'_> {
    fn open(
        &self,
        name: &str,
        password: &str,
        terms: &OpenTerms,
    ) -> Result<Box<dyn Database>, String> {
        let engine = (self.engine)(name, password);
        let opened = engine.open(Path::new("/nonexistent"), terms, &schema(), &statements());
        opened.map_err(|error| error.to_string())
    }

    pub(crate) fn refuses(&self, name: &str, password: &str, terms: &OpenTerms, why: &str) {
        let answer = self.open(name, password, terms).map(drop).expect_err("refused");
        assert!(answer.contains(why) && !answer.contains("hidden"), "{why}: {answer}");
    }

    /// Such a database is used only when it is meant.
    pub(crate) fn is_used_only_when_it_is_meant(&self) {
        let version = (self.engine)("ours", "hidden").version();
        assert!(version.starts_with(char::is_numeric), "{version}");
        let terms = OpenTerms::new(Durability::Strict);
        let mut rows = Rows::new();
        let database = self.open("ours", "hidden", &terms).expect("an empty database");
        let mut session = database.session().expect("a session");
        session.run(INSERT, &note(1), &mut rows).expect("insert");
        drop(session);
        drop(database);
        self.refuses("ours", "hidden", &terms, "--reuse drops");

        let terms = reuse(&terms);
        let database = self.open("ours", "hidden", &terms).expect("a reused database");
        assert!(database.server().is_none());
        assert_eq!(database.debt().expect("nothing is asked"), None);
        let address = format!("{:?}", database.address());
        assert!(address.contains("owner") && address.contains("ours"), "{address}");
        assert!(!address.contains("hidden"), "{address}");
        let seen = (self.stranger)(&*database).ask("SELECT id FROM notes");
        assert_eq!(seen, 1, "by who knows its address and its password");
        let mut session = database.session().expect("a session");
        assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("read"), 1, "it is kept");
        drop(session);
        let mut loader = database.load(0).expect("a load");
        (2..9).try_for_each(|number| loader.row(&note(number))).expect("rows");
        loader.finish().expect("loaded");
        database.drain().expect("drain");
        assert_eq!(database.check().expect("check"), Vec::<String>::new());
        let mut session = database.session().expect("a session");
        for (number, found) in [(1, 0), (8, 1)] {
            let answer = session.run(READ, &[number.into()], &mut rows);
            assert_eq!(answer.expect("read"), found, "note {number}");
        }
        drop(session);
        drop(database);
        let (durability, why) = self.weaker;
        self.refuses("ours", "hidden", &OpenTerms { durability, ..terms.clone() }, why);
        self.refuses("theirs", "hidden", &terms, "precious");
        self.refuses("ours", "hiddenly%20wrong", &terms, self.denied);
        self.refuses("missing", "hidden", &terms, "missing");
    }
}
