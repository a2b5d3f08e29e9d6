use std::path::Path;

use bakeoff_testkit::{needs, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::external::ExternalMariaDb;
use super::*;
use crate::schema::{Table, Type};
use crate::served::tests::{
    Client, Elsewhere, INSERT, READ, Served, note, reuse, schema, statements,
};
use crate::statement::{Action, TableRead};
use crate::{Access, Rows, Value};

mod attacks;
mod leftovers;
mod looks;

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
        ListenAddress::Socket(path) => opts.socket(Some(path.display().to_string())),
        ListenAddress::Port { host, port } => opts.ip_or_hostname(Some(host)).tcp_port(*port),
    })
    .expect("a connection")
}

impl Client for Conn {
    fn run(&mut self, sql: &str) {
        self.query_drop(sql).expect(sql);
    }

    fn ask(&mut self, sql: &str) -> i64 {
        self.query_first(sql).expect(sql).expect("a row")
    }

    fn end_connections(&mut self) {
        let others = "SELECT id FROM information_schema.processlist \
                      WHERE user IN ('root', 'bakeoff_client') AND id <> CONNECTION_ID()";
        let mut connections = || self.query::<u64, _>(others).expect("connections");
        for connection in connections() {
            // One that has ended by itself can't be ended.
            let _ = self.query_drop(format!("KILL CONNECTION {connection}"));
        }
        let mut connections = || self.query::<u64, _>(others).expect("connections");
        wait_until("the end of all connections", || connections().is_empty());
    }
}

pub(crate) const INNODB_SERVED: Served = Served {
    engine: &INNODB,
    administrator: |folder| Box::new(administrator(folder)),
    stranger: |database| Box::new(stranger(database)),
    undoes: ("innodb_flush_log_at_trx_commit", "2"),
    syncs: "Innodb_data_fsyncs",
};
pub(crate) const ROCKSDB_SERVED: Served = Served {
    engine: &ROCKSDB,
    undoes: ("rocksdb_flush_log_at_trx_commit", "2"),
    syncs: "Rocksdb_wal_synced",
    ..INNODB_SERVED
};
pub(crate) const ARIA_SERVED: Served = Served {
    engine: &ARIA,
    undoes: ("aria_group_commit", "soft"),
    syncs: "Aria_transaction_log_syncs",
    ..INNODB_SERVED
};

#[test]
fn a_statement_is_prepared_once_and_is_one_question() {
    for engine in [&INNODB, &ROCKSDB].into_iter().filter(|engine| installed(engine)) {
        asks_only_what_it_must(engine);
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
fn a_generated_key_goes_on_after_a_load_and_is_replaced_by_nobody() {
    let numbers =
        Table::new("numbers").generated_key("id").nullable("text", Type::STRING).unique(&["text"]);
    let schema = Schema { tables: vec![numbers] };
    let statements = [
        Action::Insert { table: 0 },
        Action::Upsert { table: 0 },
        Action::Read(TableRead::by_key(0, 1, &[1])),
    ];
    let statements = statements.map(|action| Statement { name: "one".into(), action });
    for engine in [&INNODB, &ROCKSDB, &ARIA].into_iter().filter(|engine| installed(engine)) {
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
        let (mut session, name) = (database.session().expect("a session"), engine.about().name);
        let inserted = session.run(0, &[Value::Null, "taken".into()], &mut rows);
        inserted.unwrap_or_else(|error| panic!("{name}: {error}"));
        let key = rows.get_int(0, 0).expect("a key");
        assert!(key > 7, "{name}: {key} after 7");

        let answer = session.run(1, &[(key + 1).into(), "taken".into()], &mut rows);
        assert!(matches!(answer, Err(Error::Duplicate(_))), "{answer:?}");
        session.run(1, &[key.into(), "taken".into()], &mut rows).expect("the same row");
        for (number, found) in [(key, 1), (key + 1, 0), (0, 0)] {
            assert_eq!(session.run(2, &[number.into()], &mut rows).expect("read"), found);
        }
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

/// What a database elsewhere is tried with.
fn administer_elsewhere(folder: &Path) -> Conn {
    let mut administrator = administrator(folder);
    for text in [
        "SET GLOBAL local_infile = ON",
        "CREATE DATABASE ours",
        "CREATE DATABASE theirs",
        "CREATE TABLE theirs.precious (id int)",
        "CREATE USER owner@localhost IDENTIFIED BY 'hidden'",
        "GRANT ALL ON *.* TO owner@localhost",
    ] {
        administrator.run(text);
    }
    administrator
}

#[test]
fn a_database_elsewhere_is_used_only_when_it_is_meant() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let private = open(&INNODB, folder.path(), &terms).expect("open");
    let mut administrator = administer_elsewhere(folder.path());
    let there = Elsewhere {
        engine: &|name, password| Box::new(elsewhere(folder.path(), name, password)),
        stranger: INNODB_SERVED.stranger,
        weaker: (Durability::Relaxed, "innodb_flush_log_at_trx_commit=1"),
        denied: "Access denied",
    };
    there.is_used_only_when_it_is_meant();
    administrator.run("SET GLOBAL local_infile = OFF");
    there.refuses("ours", "hidden", &reuse(&terms), "SET GLOBAL local_infile = ON");
    drop(private);
    there.refuses("ours", "hidden", &reuse(&terms), "no connection");
}

/// What the server says of two of its settings, and how many pages it has compressed, when rows were
/// loaded into an engine of that level.
fn compressed(level: &str) -> (String, String, u64) {
    let engine = crate::find_level(level).expect("it is right");
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
    let server = std::fs::canonicalize(&SERVER.find_installed().expect("it is installed").server);
    let server = server.expect("a program");
    let base = server.ancestors().nth(2).expect("it is in a folder of an installation").display();
    let level = "mariadb:innodb/compression=zlib/innodb_flush_method=fsync/path";
    let (method, algorithm, pages) = compressed(&format!("{level}={base}"));
    assert_eq!((&*method, &*algorithm), ("fsync", "zlib"));
    assert!(pages > 10, "{pages} pages were compressed");
}
