//! What the conformance suite can't see from outside.

use rusqlite::StatementStatus;

use super::prepared::SqliteStatements;
use super::*;
use crate::schema::{Table, Type};
use crate::statement::{AccessPath, TableRead};
use crate::{Access, Preparation, Rows};

mod attacks;

fn schema() -> Schema {
    let table = Table::new("rows")
        .generated_key("id")
        .column("kind", Type::Int)
        .column("size", Type::Int)
        .index(&["kind"])
        .index(&["size"]);
    Schema { tables: vec![table] }
}

fn plain() -> SqlitePragmas {
    SqlitePragmas::from_settings([].iter())
}

fn open(folder: &FilePath, durability: Durability) -> SqliteDatabase {
    let by_kind = Action::Read(TableRead::by_prefix(0, AccessPath::Index(0), 1, &[0, 2]));
    let statements = vec![
        Statement { name: "by kind".into(), action: by_kind },
        Statement { name: "insert".into(), action: Action::Insert { table: 0 } },
    ];
    let terms = OpenTerms { memory_bytes: Some(32 << 20), ..OpenTerms::new(durability) };
    SqliteDatabase::new(folder, &terms, plain(), &schema(), &statements).expect("open")
}

#[test]
fn settings_of_a_level_reach_the_file_and_each_session() {
    for (level, durability, journal, pragmas) in [
        ("sqlite/page_size=8192/cache_size=77", Durability::Strict, "wal", [8192, 77, 2]),
        ("sqlite/cache_size=-99/synchronous=EXTRA", Durability::Strict, "wal", [4096, -99, 3]),
        ("sqlite/journal_mode=delete/cache_size=5", Durability::Strict, "delete", [4096, 5, 3]),
        ("sqlite/journal_mode=delete/cache_size=5", Durability::Relaxed, "delete", [4096, 5, 2]),
        ("sqlite/journal_mode=TRUNCATE/cache_size=5", Durability::None, "truncate", [4096, 5, 0]),
        ("sqlite/journal_mode=persist/cache_size=5", Durability::Strict, "persist", [4096, 5, 2]),
        ("sqlite/journal_mode=memory/cache_size=5", Durability::None, "memory", [4096, 5, 0]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = crate::find_level(level).expect("it is right");
        engine.check_ready(&[], false).unwrap_or_else(|said| panic!("{level}: {said:?}"));
        let options = level.split('/').skip(1).map(|option| {
            let (name, value) = option.split_once('=').expect("it has a value");
            (name.to_owned(), value.to_owned())
        });
        let pairs: Vec<_> = options.collect();
        let terms = OpenTerms { settings: pairs.clone(), ..OpenTerms::new(durability) };
        let own = SqlitePragmas::from_settings(pairs.iter());
        let statements = [Statement { name: "insert".into(), action: Action::Insert { table: 0 } }];
        let database = SqliteDatabase::new(folder.path(), &terms, own, &schema(), &statements);
        let database = database.expect("open");
        let mut loader = database.load(0).expect("a load");
        loader.row(&[Value::Int(1), Value::Int(1), Value::Int(1)]).expect("a row");
        loader.finish().expect("the load's end");
        let mut client = database.open_client().expect("a session");
        let row = [Value::Null, Value::Int(2), Value::Int(2)];
        client.run(0, &row, &mut Rows::new()).expect("a write");
        let found = ["page_size", "cache_size", "synchronous"].map(|it| ask_pragma(&client, it));
        assert_eq!(found, pragmas, "{level} at {durability:?}");
        let connection = client.client.statements.borrow_owner();
        let mode = || connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
        let mode: String = client.client.rights.lift(mode).expect("a setting");
        assert_eq!(mode, journal, "{level}");
        assert_eq!(database.debt().expect("it is known").is_some(), journal == "wal", "{level}");
        database.drain().unwrap_or_else(|error| panic!("{level}: {error}"));
        assert!(database.check().expect("it runs").is_empty(), "{level}");
    }
}

/// SQLite itself says nothing of the first, and takes other values instead of the next.
#[test]
fn a_setting_that_sqlite_does_not_take_is_told_before_a_trial() {
    for (level, part) in [
        ("sqlite/page_sice=4096", "no setting `page_sice`"),
        ("sqlite/page_size=5000", "does not take page_size=5000: it has 4096 then"),
        ("sqlite/page_size=many", "does not take page_size=many"),
        ("sqlite/synchronous=most", "does not take synchronous=most"),
        ("sqlite/journal_mode=off", "not with `off`"),
    ] {
        let engine = crate::find_level(level).expect("it is read");
        let said = engine.check_ready(&[], false).expect_err(level).join("\n");
        assert!(said.contains(part), "{level}: {said}");
    }
}

/// What a session's own statements may not ask.
fn ask_pragma(session: &SqlSession<SqliteClient<'_>>, name: &str) -> i64 {
    let connection = session.client.statements.borrow_owner();
    let ask = || connection.pragma_query_value(None, name, |row| row.get(0));
    session.client.rights.lift(ask).expect("a setting")
}

/// With statistics at hand SQLite would like to plan anew for each parameter; see [`connect`].
#[test]
fn no_statement_is_prepared_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::None);
    let mut loader = database.load(0).expect("a load");
    for id in 0..2000 {
        let kind = if id < 1900 { 1 } else { id };
        loader.row(&[Value::Int(id), Value::Int(kind), Value::Int(id)]).expect("a row");
    }
    loader.finish().expect("the load's end");
    let mut client = database.open_client().expect("a session");
    let mut rows = Rows::new();
    for kind in 0..2000 {
        client.run(0, &[Value::Int(kind)], &mut rows).expect("a read");
    }
    let (again, scanned) = client.client.statements.with_dependent(|_, statements| {
        let SqliteStatements::Prepared(statements) = statements else { panic!("only texts") };
        let count = |which| statements[0].get_status(which);
        (count(StatementStatus::RePrepare), count(StatementStatus::FullscanStep))
    });
    assert_eq!((again, scanned), (0, 0));
}

#[test]
fn each_durability_is_the_setting_that_is_told() {
    for (durability, setting) in Durability::ALL.into_iter().zip([0, 1, 2]) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = open(folder.path(), durability);
        let client = database.open_client().expect("a session");
        let told = SQLITE.about().promises.map(|promise| promise.settings.expect("settings"));
        assert!(
            told[setting as usize]
                .contains(&format!("synchronous={}", database.synchronous_level()))
        );
        assert_eq!(ask_pragma(&client, "synchronous"), setting);
        assert_eq!(database.checkpoints.is_some(), durability == Durability::Relaxed);
    }
}

#[test]
fn sessions_share_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::None);
    let mut first = database.open_client().expect("a session");
    let second = database.open_client().expect("a session");
    let size = |client: &mut SqlSession<SqliteClient<'_>>| {
        client.begin(Access::Read).expect("begin");
        client.commit().expect("commit");
        ask_pragma(client, "cache_size")
    };
    assert_eq!(size(&mut first), -4 * 1024, "KiB, half of it");
    drop(second);
    assert_eq!(size(&mut first), -8 * 1024, "all of it");
}

/// Every connection has a cache of its own, empty when it opens; what it holds is not read again.
#[test]
fn pages_that_a_session_has_to_fetch_are_counted_when_it_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::None);
    let mut loader = database.load(0).expect("a load");
    (0..2000).try_for_each(|id| loader.row(&[id.into(), id.into(), id.into()])).expect("rows");
    loader.finish().expect("the load's end");
    let counted = || {
        let mut counters = database.counters().into_iter();
        counters.find(|(name, _)| *name == MISSES).expect("its counter").1
    };
    assert_eq!(database.cache_misses(), [MISSES]);
    assert_eq!(counted(), 0);
    let read = |kinds: &[i64]| {
        let (mut client, mut rows) = (database.open_client().expect("a session"), Rows::new());
        client.begin(Access::Read).expect("begin");
        for kind in kinds {
            assert_eq!(client.run(0, &[(*kind).into()], &mut rows).expect("a read"), 1);
        }
        client.commit().expect("commit");
        let before = counted();
        drop(client);
        counted() - before
    };
    let once = read(&[7]);
    assert!(once >= 2, "a page of the index and one of the table: {once}");
    assert_eq!(read(&[7, 7, 7]), once);
    assert!(read(&[7, 1999]) > once, "another page of each");
}

/// What it has not written back it owes, and what its log says of that is right.
#[test]
fn the_log_tells_what_was_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let terms = OpenTerms::new(Durability::Strict);
    let database = SqliteDatabase::new(dir.path(), &terms, plain(), &schema(), &[]).unwrap();
    let counters =
        || -> Vec<u64> { database.counters().into_iter().take(2).map(|it| it.1).collect() };
    let keeper = database.keeper.lock().unwrap();
    keeper.execute_batch("CREATE TABLE owed (text)").unwrap();
    let before = counters();
    assert_eq!(before.len(), super::log::COUNTERS.len());
    let fill = |rows: u32| {
        let insert = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
                      INSERT INTO owed SELECT zeroblob(4000) FROM n";
        keeper.execute(insert, [rows]).unwrap();
    };
    fill(10);
    assert_eq!(counters(), before, "it only runs up debts");
    // More pages than its automatic checkpoint waits for.
    fill(1500);
    fill(1);
    assert_ne!(counters(), before, "it has written back");
}

#[test]
fn a_checkpoint_a_second_moves_the_log_into_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::Relaxed);
    let mut client = database.open_client().expect("a session");
    let before = std::fs::metadata(folder.path().join(FILE)).expect("a file").len();
    let mut rows = Rows::new();
    client.begin(Access::Write).expect("begin");
    for number in 0..2000 {
        let row = [Value::Null, Value::Int(number), Value::Int(number)];
        client.run(1, &row, &mut rows).expect("an insert");
    }
    client.commit().expect("commit");
    let grown = || std::fs::metadata(folder.path().join(FILE)).expect("a file").len() > before;
    bakeoff_testkit::wait_until("a checkpoint", grown);
}

#[test]
fn a_drain_waits_for_a_checkpoint_that_is_under_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::Strict);
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let other =
                open_connection(&folder.path().join(FILE), "FULL", &plain()).expect("a connection");
            while !stop.load(Ordering::Relaxed) {
                let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
                other.query_row(checkpoint, [], |_| Ok(())).expect("a checkpoint");
            }
        });
        let drained = (0..30).try_for_each(|number| {
            let mut client = database.open_client()?;
            let mut rows = Rows::new();
            client.begin(Access::Write)?;
            for _ in 0..300 {
                client.run(1, &[Value::Null, Value::Int(number), Value::Int(number)], &mut rows)?;
            }
            client.commit()?;
            drop(client);
            database.drain()
        });
        stop.store(true, Ordering::Relaxed);
        drained.expect("no drain gives up");
    });
}

/// Prepared statements of a session's connection that are not finalized.
fn count_prepared(session: &SqlSession<SqliteClient<'_>>) -> usize {
    let connection = session.client.statements.borrow_owner();
    let (mut found, mut count) = (std::ptr::null_mut(), 0);
    loop {
        // SAFETY: the connection is open, no other thread has it, and `found` is one of its statements.
        found = unsafe { ffi::sqlite3_next_stmt(connection.handle(), found) };
        if found.is_null() {
            return count;
        }
        count += 1;
    }
}

#[test]
fn a_statement_is_prepared_once_a_session_or_for_each_execution() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut database = open(folder.path(), Durability::None);
    for (preparation, kept) in
        [(Preparation::OncePerSession, 2 + CONTROL.len()), (Preparation::EachExecution, 0)]
    {
        database.terms.preparation = preparation;
        let mut session = database.open_client().expect("a session");
        let mut rows = Rows::new();
        for _ in 0..3 {
            session.begin(Access::Write).expect("a transaction");
            session.run(1, &[Value::Null, 1.into(), 2.into()], &mut rows).expect("an insert");
            session.run(0, &[1.into()], &mut rows).expect("a read");
            session.commit().expect("a commit");
            assert_eq!(count_prepared(&session), kept, "{preparation:?}");
        }
    }
}
