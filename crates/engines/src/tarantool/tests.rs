use std::path::Path;

use bakeoff_testkit::{folder_for_all, needs};

use super::*;
use crate::schema::{Table, Type};
use crate::statement::{self, Action, TableRead};
use crate::{Access, Rows, Session, Value, find_level};

mod log;
mod refused;

const PUT: usize = 0;
const READ: usize = 1;
const BY_KIND: usize = 2;

fn schema() -> Schema {
    let notes = Table::new("notes")
        .key_column("id", Type::Int)
        .column("kind", Type::Int)
        .column("text", Type::MediumText)
        .index(&["kind"]);
    Schema { tables: vec![notes] }
}

fn statements() -> [Statement; 3] {
    let by_kind = TableRead::by_prefix(0, statement::AccessPath::Index(0), 1, &[0, 2]);
    [
        Action::Upsert { table: 0 },
        Action::Read(TableRead::by_key(0, 1, &[2])),
        Action::Read(by_kind),
    ]
    .map(|action| Statement { name: "one".into(), action })
}

/// Those that are there to be tested.
fn installed() -> impl Iterator<Item = &'static Tarantool> {
    [&MEMTX, &VINYL].into_iter().filter(|engine| needs(engine.available()).is_some())
}

/// An engine of this name, with options.
fn level(engine: &Tarantool, options: &str) -> &'static dyn Engine {
    find_level(&format!("{}/{options}", engine.served.name)).expect("it is right")
}

fn open(engine: &dyn Engine, folder: &Path, terms: &OpenTerms) -> Box<dyn Database> {
    engine.open(folder, terms, &schema(), &statements()).expect("a database")
}

fn note(id: i64, text: &str) -> [Value<'_>; 3] {
    [id.into(), 7.into(), text.into()]
}

/// How many notes are there, by the index.
fn count(session: &mut dyn Session) -> u64 {
    session.run(BY_KIND, &[7.into()], &mut Rows::new()).expect("a read")
}

#[test]
fn a_setting_that_it_does_not_know_is_told_before_anything_is_loaded() {
    for engine in installed() {
        assert_eq!(engine.check_ready(&[("readahead".into(), "32640".into())], false), Ok(()));
        let told = engine.check_ready(&[("of_tomorrow".into(), "1".into())], false);
        let told = told.expect_err("it is unknown").concat();
        assert!(told.contains("'of_tomorrow'"), "{told}");
    }
}

/// It tells its makers nothing, listens nowhere else, and follows nobody, whoever writes its settings.
#[test]
fn a_setting_that_would_open_it_to_others_is_not_free() {
    for engine in [&MEMTX, &VINYL] {
        for name in ["feedback_enabled", "feedback_host", "listen", "username", "hot_standby"] {
            assert_eq!(engine.standing(name, "1"), SettingStanding::Reserved, "{name}");
        }
        for name in ["replication", "replication_connect_quorum"] {
            assert!(matches!(engine.standing(name, "1"), SettingStanding::Trusted(_)), "{name}");
        }
        assert_eq!(engine.standing("readahead", "32640"), SettingStanding::Free);
    }
}

#[test]
fn a_read_by_an_index_takes_two_calls_and_one_by_the_key_none() {
    for engine in installed() {
        let folder = folder_for_all();
        let database = open(engine, folder.path(), &OpenTerms::new(Durability::None));
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.begin(Access::Write).expect("begin");
        for id in 0..40 {
            session.run(PUT, &note(id, "a note"), &mut rows).expect("it fits");
        }
        session.commit().expect("a commit");
        let calls = || {
            let counters = database.counters();
            counters.iter().find(|(name, _)| *name == "calls").expect("it is counted").1
        };
        // The count is a call, too.
        let before = calls();
        assert_eq!(session.run(READ, &[3.into()], &mut rows).expect("a read"), 1);
        assert_eq!(calls() - before, 1);
        let before = calls();
        assert_eq!(session.run(BY_KIND, &[7.into()], &mut rows).expect("a read"), 40);
        assert_eq!(rows.row(39).next(), Some(Value::Int(39)));
        // vinyl is told that the transaction is over, and nobody waits for that.
        let calls = calls() - before;
        let told = engine.logged.storage == TarantoolStorage::Vinyl && calls == 4;
        assert!(calls == 3 || told, "{:?}: {calls}", engine.logged.storage);
    }
}

#[test]
fn a_transaction_that_is_older_than_what_the_server_keeps_is_run_again() {
    if needs(MEMTX.available()).is_none() {
        return;
    }
    let folder = folder_for_all();
    let database = open(&MEMTX, folder.path(), &OpenTerms::new(Durability::None));
    let (mut old, mut rows) = (database.session().expect("a session"), Rows::new());
    let mut other = database.session().expect("a session");
    let mut write = |rows: &mut Rows, ids: std::ops::Range<i64>| {
        other.begin(Access::Write).expect("begin");
        for id in ids {
            other.run(PUT, &note(id, "a note"), rows).expect("it fits");
        }
        other.commit().expect("a commit");
    };
    old.begin(Access::Read).expect("begin");
    assert_eq!(old.run(BY_KIND, &[7.into()], &mut rows).expect("a read"), 0);
    write(&mut rows, 0..1000);
    assert_eq!(old.run(BY_KIND, &[7.into()], &mut rows).expect("as it was"), 0);
    // Each row and its entry is a change.
    write(&mut rows, 1000..9000);
    let answer = old.run(BY_KIND, &[7.into()], &mut rows);
    assert!(matches!(answer, Err(Error::Conflict(_))), "{answer:?}");
    old.rollback().expect("rollback");
    assert_eq!(old.run(BY_KIND, &[7.into()], &mut rows).expect("a read"), 9000);
}
