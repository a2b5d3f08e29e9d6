use std::path::Path;

use bakeoff_testkit::{needs, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::external::ExternalMariaDb;
use super::*;
use crate::schema::{Table, Type};
use crate::statement::{Action, TableRead};
use crate::{Access, Rows, Value};

mod leftovers;

const INSERT: usize = 0;
const READ: usize = 1;

fn schema() -> Schema {
    let notes = Table::new("notes")
        .key_column("id", Type::Int)
        .column("text", Type::STRING)
        .index(&["text"]);
    Schema { tables: vec![notes] }
}

fn statements() -> [Statement; 2] {
    [Action::Insert { table: 0 }, Action::Read(TableRead::by_key(0, 1, &[1]))]
        .map(|action| Statement { name: "one".into(), action })
}

/// Whether there is a server to test with.
fn installed(engine: &MariaDb) -> bool {
    needs(engine.available()).is_some()
}

fn open(engine: &MariaDb, folder: &Path, terms: &OpenTerms) -> Result<Box<dyn Database>> {
    engine.open(folder, terms, &schema(), &statements())
}

/// A private server's administrator.
fn administrator(folder: &Path) -> Conn {
    let socket = folder.join("server/socket").display().to_string();
    Conn::new(OptsBuilder::new().socket(Some(socket)).user(Some("root"))).expect("a connection")
}

/// Who knows a database by its address alone.
fn stranger(database: &dyn Database) -> Conn {
    let Some(DatabaseAddress::Server(address)) = database.address() else { panic!("no server") };
    let password = address.password.as_ref().map(Secret::reveal);
    let opts = OptsBuilder::new().user(Some(&address.user)).pass(password);
    let opts = opts.db_name(Some(&address.database)).prefer_socket(false);
    Conn::new(match &address.listens {
        Listens::Socket(path) => opts.socket(Some(path.display().to_string())),
        Listens::Port { host, port } => opts.ip_or_hostname(Some(host)).tcp_port(*port),
    })
    .expect("a connection")
}

/// Ends the connections of all others, and waits until they are gone.
fn end_connections(administrator: &mut Conn) {
    let others = "SELECT id FROM information_schema.processlist \
                  WHERE user = 'root' AND id <> CONNECTION_ID()";
    let mut connections = || administrator.query::<u64, _>(others).expect("connections");
    for connection in connections() {
        // One that has ended by itself can't be ended.
        let _ = administrator.query_drop(format!("KILL CONNECTION {connection}"));
    }
    let mut connections = || administrator.query::<u64, _>(others).expect("connections");
    wait_until("the end of all connections", || connections().is_empty());
}

fn note(number: i64) -> [Value<'static>; 2] {
    [Value::Int(number), Value::Text("a note")]
}

#[test]
fn a_lost_connection_is_a_conflict_or_in_doubt_and_is_replaced() {
    for engine in [&INNODB, &ROCKSDB] {
        if installed(engine) {
            loses_connections(engine);
        }
    }
}

fn loses_connections(engine: &MariaDb) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(engine, folder.path(), &OpenTerms::new(Durability::None)).expect("open");
    let mut administrator = administrator(folder.path());
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    for access in [Access::Read, Access::Write] {
        session.begin(access).expect("begin");
        session.run(READ, &[1.into()], &mut rows).expect("read");
        end_connections(&mut administrator);
        let answer = session.run(READ, &[1.into()], &mut rows);
        assert!(matches!(answer, Err(Error::Conflict(_))), "in a transaction: {answer:?}");
        session.rollback().expect("rollback");
    }
    end_connections(&mut administrator);
    let answer = session.run(READ, &[1.into()], &mut rows);
    assert_eq!(answer.expect("a session that has none connects"), 0);
    end_connections(&mut administrator);
    let answer = session.run(INSERT, &note(1), &mut rows);
    assert!(matches!(answer, Err(Error::InDoubt(_))), "a write on its own: {answer:?}");
    session.begin(Access::Write).expect("begin");
    session.run(INSERT, &note(2), &mut rows).expect("insert");
    end_connections(&mut administrator);
    let answer = session.commit();
    assert!(matches!(answer, Err(Error::InDoubt(_))), "a commit: {answer:?}");
    session.begin(Access::Write).expect("begin");
    session.run(INSERT, &note(3), &mut rows).expect("insert");
    session.commit().expect("commit");
    for (number, found) in [(2, 0), (3, 1)] {
        let answer = session.run(READ, &[number.into()], &mut rows);
        assert_eq!(answer.expect("read"), found, "note {number}");
    }
    end_connections(&mut administrator);
    assert_eq!(database.check().expect("check"), Vec::<String>::new());
    database.drain().expect("drain");
    assert!(database.debt().expect("on a new connection").is_some());
}

#[test]
fn a_statement_is_prepared_once_and_is_one_question() {
    for engine in [&INNODB, &ROCKSDB] {
        if installed(engine) {
            asks_only_what_it_must(engine);
        }
    }
}

fn asks_only_what_it_must(engine: &MariaDb) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(engine, folder.path(), &OpenTerms::new(Durability::None)).expect("open");
    let mut administrator = administrator(folder.path());
    let networking = administrator.query_first::<bool, _>("SELECT NOT @@skip_networking");
    assert_eq!(networking.expect("a setting"), Some(false), "there is its socket alone");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    const COUNTS: [&str; 5] =
        ["Com_begin", "Com_commit", "Com_stmt_execute", "Com_stmt_prepare", "Questions"];
    let mut counts = || -> [u64; 5] {
        let text = format!("SHOW GLOBAL STATUS WHERE variable_name IN ('{}')", COUNTS.join("','"));
        let found: Vec<(String, u64)> = administrator.query(text).expect("counts");
        COUNTS.map(|name| found.iter().find(|(found, _)| found == name).expect(name).1)
    };
    let mut asked = |numbers: std::ops::Range<i64>| -> Vec<u64> {
        let before = counts();
        for number in numbers {
            session.begin(Access::Write).expect("begin");
            session.run(INSERT, &note(number), &mut rows).expect("insert");
            session.commit().expect("commit");
            session.begin(Access::Read).expect("begin");
            session.run(READ, &[number.into()], &mut rows).expect("read");
            session.commit().expect("commit");
        }
        let after = counts();
        after.iter().zip(before).map(|(after, before)| after - before).collect()
    };
    // A farewell is a question, too, and that of an earlier connection may be heard late: not every time.
    let rounds = [asked(0..20), asked(20..40), asked(40..60)];
    // The last question is for the counts.
    assert!(rounds.contains(&vec![40, 40, 40, 0, 121]), "{COUNTS:?}: {rounds:?}");
}

#[test]
fn runs_within_a_small_limit_counts_and_keeps_its_promises() {
    for (engine, other, counter) in [
        (&INNODB, "innodb_flush_log_at_trx_commit=2", "Innodb_data_fsyncs"),
        (&ROCKSDB, "rocksdb_flush_log_at_trx_commit=2", "Rocksdb_wal_synced"),
        (&ARIA, "aria_group_commit=soft", "Aria_transaction_log_syncs"),
    ] {
        if installed(engine) {
            keeps_its_promises(engine, other, counter);
        }
    }
}

fn keeps_its_promises(engine: &MariaDb, other: &str, counter: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut terms = OpenTerms::new(Durability::Strict);
    terms.memory_bytes = Some(128 << 20);
    let database = open(engine, folder.path(), &terms).expect("open");
    assert!(database.server().is_some());
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let counted = || {
        let counters = database.counters();
        counters.iter().find(|(name, _)| *name == counter).map_or(0, |(_, count)| *count)
    };
    let before = counted();
    for number in 0..10 {
        session.run(INSERT, &note(number), &mut rows).expect("insert");
    }
    let syncs = counted() - before;
    assert!(syncs >= 10, "{counter}: 10 commits, {syncs} syncs");
    let seen: Option<u64> = stranger(&*database).query_first("SELECT COUNT(*) FROM notes").unwrap();
    assert_eq!(seen, Some(10), "by who knows its address");
    drop(session);
    drop(database);
    let (name, value) = other.split_once('=').expect("a setting");
    terms.settings = vec![(name.into(), value.into())];
    let answer = open(engine, folder.path(), &terms).map(drop);
    let refused = matches!(&answer, Err(Error::Usage(what)) if what.contains(name));
    assert!(refused, "{answer:?}");
}

#[test]
fn an_upsert_replaces_no_other_row_whose_key_was_generated() {
    let numbers =
        Table::new("numbers").generated_key("id").nullable("text", Type::STRING).unique(&["text"]);
    let schema = Schema { tables: vec![numbers] };
    let statements = [
        Action::Insert { table: 0 },
        Action::Upsert { table: 0 },
        Action::Read(TableRead::by_key(0, 1, &[1])),
    ];
    let statements = statements.map(|action| Statement { name: "one".into(), action });
    for engine in [&INNODB, &ROCKSDB, &ARIA] {
        if !installed(engine) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let terms = OpenTerms::new(Durability::None);
        let database = engine.open(folder.path(), &terms, &schema, &statements).expect("open");
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.run(0, &[Value::Null, "taken".into()], &mut rows).expect("insert");
        let key = rows.int(0, 0).expect("a key");
        let answer = session.run(1, &[(key + 1).into(), "taken".into()], &mut rows);
        assert!(matches!(answer, Err(Error::Duplicate(_))), "{answer:?}");
        session.run(1, &[key.into(), "taken".into()], &mut rows).expect("the same row");
        for (number, found) in [(key, 1), (key + 1, 0), (0, 0)] {
            assert_eq!(session.run(2, &[number.into()], &mut rows).expect("read"), found);
        }
    }
}

#[test]
fn generated_keys_go_on_after_a_load() {
    let numbers = Table::new("numbers").generated_key("id").nullable("text", Type::STRING);
    let schema = Schema { tables: vec![numbers] };
    let statements = [Action::Insert { table: 0 }, Action::Upsert { table: 0 }]
        .map(|action| Statement { name: "one".into(), action });
    for engine in [&INNODB, &ROCKSDB, &ARIA] {
        if !installed(engine) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let terms = OpenTerms::new(Durability::None);
        let open = || engine.open(folder.path(), &terms, &schema, &statements).expect("open");
        let database = open();
        let mut loader = database.load(0).expect("a load");
        loader.row(&[7.into(), "loaded".into()]).expect("a row");
        loader.finish().expect("loaded");
        // Each start reads the counter from the files, which know of an earlier key, too.
        drop(database);
        let database = open();
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.run(1, &[5.into(), "earlier".into()], &mut rows).expect("upsert");
        drop(session);
        drop(database);
        let database = open();
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        let name = engine.about().name;
        let inserted = session.run(0, &[Value::Null, "next".into()], &mut rows);
        inserted.unwrap_or_else(|error| panic!("{name}: {error}"));
        let key = rows.int(0, 0).expect("a key");
        assert!(key > 7, "{name}: {key} after 7");
    }
}

#[test]
fn all_is_written_where_no_checkpoint_can_be_demanded() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(&INNODB, folder.path(), &OpenTerms::new(Durability::None)).expect("open");
    let mut session = database.session().expect("a session");
    session.run(INSERT, &note(1), &mut Rows::new()).expect("insert");
    drop(session);
    let mut administrator = administrator(folder.path());
    let settings = "SELECT @@innodb_io_capacity, @@innodb_io_capacity_max, \
                    @@innodb_max_dirty_pages_pct";
    let settings = |server: &mut Conn| server.query_first::<(u64, u64, f64), _>(settings);
    let before = settings(&mut administrator).expect("settings");
    upkeep::write_all(&mut administrator).expect("written");
    assert_eq!(settings(&mut administrator).expect("settings"), before);
}

#[test]
fn a_check_of_more_than_the_cache_holds_has_a_wider_cache() {
    if !installed(&INNODB) {
        return;
    }
    let texts = Table::new("texts").key_column("id", Type::Int).column("text", Type::MediumText);
    let schema = Schema { tables: vec![texts] };
    let put = Statement { name: "put".into(), action: Action::Upsert { table: 0 } };
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms { memory_bytes: Some(64 << 20), ..OpenTerms::new(Durability::None) };
    let database = INNODB.open(folder.path(), &terms, &schema, &[put]).expect("open");
    let mut loader = database.load(0).expect("a load");
    let (rows, text) = (4000, "x".repeat(6000));
    for id in 0..rows {
        loader.row(&[id.into(), text.as_str().into()]).expect("a row");
    }
    loader.finish().expect("loaded");
    let cache = || {
        let mut server = administrator(folder.path());
        let text = "SELECT @@GLOBAL.innodb_buffer_pool_size";
        server.query_first::<u64, _>(text).expect("a setting").expect("a row")
    };
    let (before, loaded) = (cache(), (rows * 6000) as u64);
    assert!(before < loaded, "{before} bytes of cache for {loaded}");
    assert_eq!(database.check().expect("it checks"), Vec::<String>::new());
    wait_until("a wider cache", || cache() >= loaded);
}

/// A server as somebody else may run it, and a URL of a database there.
fn elsewhere(folder: &Path, database: &str, password: &str) -> ExternalMariaDb {
    let socket = folder.join("server/socket").display().to_string();
    let url = format!("mysql://owner:{password}@localhost/{database}?socket={socket}#InnoDB");
    ExternalMariaDb::new(&url).expect("a URL")
}

#[test]
fn a_database_elsewhere_is_used_only_when_it_is_meant() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let terms = OpenTerms::new(Durability::Strict);
    let private = open(&INNODB, folder, &terms).expect("open");
    let mut administrator = administrator(folder);
    let mut run = |text: &str| administrator.query_drop(text).expect(text);
    run("CREATE DATABASE ours");
    run("CREATE DATABASE theirs");
    run("CREATE USER owner@localhost IDENTIFIED BY 'hidden'");
    run("GRANT ALL ON *.* TO owner@localhost");
    let ours = elsewhere(folder, "ours", "hidden");
    assert!(ours.version().starts_with(char::is_numeric), "{}", ours.version());
    let nowhere = Path::new("/nonexistent");
    let open = |engine: &ExternalMariaDb, terms: &OpenTerms| {
        engine.open(nowhere, terms, &schema(), &statements()).map_err(|error| error.to_string())
    };
    let refused = |engine: &ExternalMariaDb, terms: &OpenTerms, why: &str| {
        let answer = open(engine, terms).map(drop).expect_err("refused");
        assert!(answer.contains(why), "{answer}");
        assert!(!answer.contains("hidden"), "{answer}");
    };
    let database = open(&ours, &terms).expect("an empty database");
    let mut rows = Rows::new();
    let mut session = database.session().expect("a session");
    session.run(INSERT, &note(1), &mut rows).expect("insert");
    drop(session);
    drop(database);
    refused(&ours, &terms, "--reuse drops");
    let reuse = OpenTerms { settings: vec![("reuse".into(), "yes".into())], ..terms.clone() };
    let database = open(&ours, &reuse).expect("a reused database");
    assert!(database.server().is_none());
    assert_eq!(database.debt().expect("nothing is asked"), None);
    let address = format!("{:?}", database.address());
    assert!(address.contains("owner") && address.contains("ours"), "{address}");
    assert!(!address.contains("hidden"), "{address}");
    let seen: Option<u64> = stranger(&*database).query_first("SELECT id FROM notes").unwrap();
    assert_eq!(seen, Some(1), "by who knows its address and its password");
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
    let weaker = OpenTerms { durability: Durability::Relaxed, ..reuse.clone() };
    refused(&ours, &weaker, "innodb_flush_log_at_trx_commit=1");
    run("CREATE TABLE theirs.precious (id int)");
    refused(&elsewhere(folder, "theirs", "hidden"), &reuse, "precious");
    refused(&elsewhere(folder, "ours", "hiddenly%20wrong"), &reuse, "Access denied");
    refused(&elsewhere(folder, "missing", "hidden"), &reuse, "missing");
    run("SET GLOBAL local_infile = OFF");
    refused(&ours, &reuse, "SET GLOBAL local_infile = ON");
    drop(private);
    refused(&ours, &reuse, "no connection");
}

#[test]
fn a_url_says_all_that_is_needed() {
    let name = |url: &str| ExternalMariaDb::new(url).map(|engine| engine.about().name);
    // Nothing listens on the discard port.
    assert_eq!(
        name("mariadb://me:hidden@127.0.0.1:9/db#Aria"),
        Ok("mysql://me@127.0.0.1:9/db#Aria")
    );
    for url in [
        "mysql://localhost/db",
        "mysql://me:hidden@localhost",
        "mysql://me:hidden@/db",
        "mysql://me:hidden@localhost/db?unknown=hidden",
        "mysql://me:hidden@localhost:port/db",
    ] {
        let answer = name(url);
        assert!(answer.as_ref().is_err_and(|what| !what.contains("hidden")), "{url}: {answer:?}");
    }
}

/// What the server says of two of its settings, and how many pages it has compressed, when rows were
/// loaded into an engine of that level.
fn compressed(level: &str) -> (String, String, u64) {
    let engine = crate::find(level).expect("it is right");
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let database = engine.open(folder.path(), &terms, &schema(), &statements()).expect("open");
    let mut loader = database.load(0).expect("a load");
    for number in 0..5000 {
        loader.row(&note(number)).expect("a row");
    }
    loader.finish().expect("an end");
    database.drain().expect("a drain");
    let mut server = administrator(folder.path());
    let settings = "SELECT @@innodb_flush_method, @@innodb_compression_algorithm";
    let (method, algorithm) = server.query_first(settings).expect("settings").expect("a row");
    let status = "SHOW GLOBAL STATUS LIKE 'Innodb_num_pages_page_compressed'";
    let (_, pages): (String, u64) = server.query_first(status).expect("status").expect("a row");
    (method, algorithm, pages)
}

#[test]
fn what_a_level_sets_reaches_the_server_of_its_installation() {
    if !installed(&INNODB) {
        return;
    }
    let (method, _, pages) = compressed("mariadb:innodb");
    assert_eq!((&*method, pages), ("O_DIRECT", 0));
    let server = std::fs::canonicalize(&SERVER.find().expect("it is installed").server);
    let server = server.expect("a program");
    let base = server.ancestors().nth(2).expect("it is in a folder of an installation").display();
    let level = "mariadb:innodb/compression=zlib/innodb_flush_method=fsync/path";
    let (method, algorithm, pages) = compressed(&format!("{level}={base}"));
    assert_eq!((&*method, &*algorithm), ("fsync", "zlib"));
    assert!(pages > 10, "{pages} pages were compressed");
}
