use std::path::Path;

use bakeoff_testkit::{needs, wait_until};
use postgres::Client;
use tempfile::TempDir;

use super::external::ExternalPostgres;
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
fn installed() -> bool {
    needs(POSTGRES.available()).is_some()
}

fn open(folder: &Path, terms: &OpenTerms) -> Result<Box<dyn Database>> {
    POSTGRES.open(folder, terms, &schema(), &statements())
}

/// A database's administrator.
fn administrator(folder: &Path) -> Client {
    let mut config = Config::new();
    config.user("bakeoff").dbname("postgres").host_path(folder.join("server"));
    connect(&config, &Tls::none()).expect("a connection")
}

/// Who knows a database by its address alone.
fn stranger(database: &dyn Database) -> Client {
    let Some(DatabaseAddress::Server(address)) = database.address() else { panic!("no server") };
    let mut config = Config::new();
    config.user(&address.user).dbname(&address.database).ssl_mode(SslMode::Disable);
    if let Some(password) = &address.password {
        config.password(password.reveal());
    }
    match &address.listens {
        Listens::Socket(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            let port = name.strip_prefix(".s.PGSQL.").expect("PostgreSQL's own");
            config.host_path(path.parent().expect("a folder")).port(port.parse().expect("a port"));
        }
        Listens::Port { host, port } => {
            config.host(host).port(*port);
        }
    }
    connect(&config, &Tls::none()).expect("a connection")
}

/// Ends the connections of all others, and waits until they are gone.
fn end_connections(administrator: &mut Client) {
    let others = "FROM pg_stat_activity \
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let end = format!("SELECT pg_terminate_backend(pid) {others}");
    administrator.batch_execute(&end).expect("ended");
    let count = format!("SELECT count(*) {others}");
    let gone = || administrator.query_one(&count, &[]).expect("a count").get::<_, i64>(0) == 0;
    wait_until("the end of all connections", gone);
}

fn note(number: i64) -> [Value<'static>; 2] {
    [Value::Int(number), Value::Text("a note")]
}

#[test]
fn a_lost_connection_is_a_conflict_or_in_doubt_and_is_replaced() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), &OpenTerms::new(Durability::None)).expect("open");
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
}

/// What the server says it did for its clients since `from`, as its log has it: the way, a
/// statement's name, its text.
fn logged(folder: &Path, from: usize) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("server/log")).expect("a log");
    let lines = log.lines().skip(from).filter_map(|line| line.split_once(" ms  "));
    lines.map(|(_, what)| what.into()).collect()
}

#[test]
fn a_statement_is_prepared_once_and_is_bound_and_executed_by_its_name() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut terms = OpenTerms::new(Durability::None);
    let all = [("log_min_duration_statement", "0"), ("log_connections", "on")];
    terms.settings = all.map(|(name, value)| (name.into(), value.into())).into();
    let database = open(folder.path(), &terms).expect("open");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let log = std::fs::read_to_string(folder.path().join("server/log")).expect("a log");
    let came = log.lines().filter(|line| line.contains("connection received"));
    let came: Vec<_> = came.collect();
    assert!(!came.is_empty() && came.iter().all(|line| line.contains("host=[local]")), "{came:?}");
    let before = log.lines().count();
    for number in 0..10 {
        session.begin(Access::Write).expect("begin");
        session.run(INSERT, &note(number), &mut rows).expect("insert");
        session.commit().expect("commit");
    }
    let done = logged(folder.path(), before);
    let count = |start: &str| done.iter().filter(|what| what.starts_with(start)).count();
    assert_eq!((count("bind s"), count("execute s")), (30, 30), "{done:#?}");
    assert_eq!(done.len(), 60, "nothing else is asked: {done:#?}");
}

#[test]
fn what_relaxed_may_lose_is_less_than_a_second() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Relaxed);
    drop(open(folder.path(), &terms).expect("open"));
    let mut rows = Rows::new();
    let mut database = opened(folder.path(), &terms);
    let mut session = database.session().expect("a session");
    session.run(INSERT, &note(1), &mut rows).expect("insert");
    drop(session);
    // The server makes it durable by itself, and soon: nobody asks it to.
    let mut administrator = administrator(folder.path());
    let written = "SELECT pg_current_wal_insert_lsn()::text";
    let written: String = administrator.query_one(written, &[]).expect("an end").get(0);
    let flushed = format!("SELECT pg_current_wal_flush_lsn() >= '{written}'::pg_lsn");
    wait_until("what was written", || {
        administrator.query_one(&flushed, &[]).expect("an answer").get(0)
    });
    end_connections(&mut administrator);
    assert!(database.debt().expect("on a new connection").is_some());
    database.private.take().expect("a server").server.kill();
    assert!(database.debt().is_err(), "the server is gone");
    let database = open(folder.path(), &terms).expect("open");
    let mut session = database.session().expect("a session");
    assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("read"), 1);
    assert_eq!(database.check().expect("check"), Vec::<String>::new());
}

/// A database whose server can be got at.
fn opened(folder: &Path, terms: &OpenTerms) -> PostgresDatabase {
    let (config, private) = POSTGRES.start(folder, terms).expect("a server");
    let mut open = PostgresDatabase::new(
        (config, Tls::none()),
        Some(private),
        terms,
        &schema(),
        &statements(),
    )
    .expect("a database");
    open.prepare(PostgresLeftoverPolicy::Keep).expect("open");
    open
}

#[test]
fn runs_within_a_small_limit_counts_and_keeps_its_promises() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut terms = OpenTerms::new(Durability::Strict);
    terms.memory_bytes = Some(128 << 20);
    let database = open(folder.path(), &terms).expect("open");
    assert!(database.server().is_some());
    let mut administrator = administrator(folder.path());
    let mut show = |name| super::show(&mut administrator, name).expect("a setting");
    assert_eq!(show("shared_buffers"), "32MB");
    assert_eq!(show("synchronous_commit"), "on");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    session.run(INSERT, &note(1), &mut rows).expect("insert");
    let seen = stranger(&*database).query_one("SELECT id FROM notes", &[]).expect("a row");
    assert_eq!(seen.get::<_, i64>(0), 1, "by who knows its address");
    let answer = session.run(INSERT, &[2.into(), "a\0b".into()], &mut rows);
    assert!(matches!(answer, Err(Error::Usage(_))), "{answer:?}");
    drop(session);
    database.drain().expect("drain");
    // Sessions hand their counts in when they end.
    let counted = |name| {
        let counters = database.counters();
        counters.iter().any(|(counter, count)| *counter == name && *count > 0)
    };
    let wanted = ["log bytes", "log syncs", "checkpoints by demand", "vacuums"];
    for name in wanted {
        wait_until(name, || counted(name));
    }
    drop(database);
    terms.settings = vec![("fsync".into(), "off".into())];
    let answer = open(folder.path(), &terms).map(drop);
    let refused = matches!(&answer, Err(Error::Usage(what)) if what.contains("fsync=off"));
    assert!(refused, "{answer:?}");
}

/// A server as somebody else may run it, and a URL of a database there.
fn elsewhere(folder: &TempDir, database: &str, password: &str) -> ExternalPostgres {
    let host = folder.path().join("server").display().to_string().replace('/', "%2F");
    ExternalPostgres::new(&format!("postgres://owner:{password}@{host}/{database}")).expect("a URL")
}

#[test]
fn a_database_elsewhere_is_used_only_when_it_is_meant() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let private = open(folder.path(), &terms).expect("open");
    let mut administrator = administrator(folder.path());
    let mut run = |text: &str| administrator.batch_execute(text).expect("done");
    run("CREATE ROLE owner LOGIN SUPERUSER PASSWORD 'hidden'");
    run("CREATE DATABASE ours OWNER owner");
    run("CREATE DATABASE theirs OWNER owner");
    let rules = "local all bakeoff trust\nlocal all all scram-sha-256\n";
    std::fs::write(folder.path().join("data/pg_hba.conf"), rules).expect("written");
    run("SELECT pg_reload_conf()");
    let ours = elsewhere(&folder, "ours", "hidden");
    assert!(ours.version().starts_with(char::is_numeric), "{}", ours.version());
    let nowhere = Path::new("/nonexistent");
    let open = |engine: &ExternalPostgres, terms: &OpenTerms| {
        engine.open(nowhere, terms, &schema(), &statements()).map_err(|error| error.to_string())
    };
    let refused = |engine: &ExternalPostgres, terms: &OpenTerms, why: &str| {
        let answer = open(engine, terms).map(drop).expect_err("refused");
        assert!(answer.contains(why), "{answer}");
        assert!(!answer.contains("hidden"), "{answer}");
    };
    drop(open(&ours, &terms).expect("an empty database"));
    refused(&ours, &terms, "--reuse drops");
    let reuse = OpenTerms { settings: vec![("reuse".into(), "yes".into())], ..terms.clone() };
    drop(open(&ours, &reuse).expect("a reused database"));
    refused(&ours, &OpenTerms { durability: Durability::None, ..reuse.clone() }, "fsync=on");
    let relaxed = OpenTerms { durability: Durability::Relaxed, ..reuse.clone() };
    let database = open(&ours, &relaxed).expect("the session's own setting");
    assert!(database.server().is_none());
    assert_eq!(database.debt().expect("nothing is asked"), None);
    let address = format!("{:?}", database.address());
    assert!(address.contains("owner") && address.contains("ours"), "{address}");
    assert!(!address.contains("hidden"), "{address}");
    let seen = stranger(&*database).query_one("SELECT count(*) FROM notes", &[]).expect("a row");
    assert_eq!(seen.get::<_, i64>(0), 0, "by who knows its address and its password");
    drop(database);
    let theirs = elsewhere(&folder, "theirs", "hidden");
    let mut owner = connect(&theirs.config, &theirs.tls).expect("a connection");
    owner.batch_execute("CREATE TABLE precious (id int)").expect("their table");
    refused(&theirs, &reuse, "precious");
    refused(&elsewhere(&folder, "ours", "hiddenly%20wrong"), &reuse, "password");
    refused(&elsewhere(&folder, "missing", "hidden"), &reuse, "missing");
    drop(private);
    refused(&ours, &reuse, "no connection");
}

#[test]
fn a_server_elsewhere_says_before_anything_is_loaded_what_it_gives_and_what_it_lacks() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let private = open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let mut administrator = administrator(folder.path());
    for text in [
        "CREATE ROLE owner LOGIN PASSWORD 'hidden'",
        "CREATE DATABASE ours OWNER owner",
        "CREATE DATABASE theirs",
    ] {
        administrator.batch_execute(text).expect(text);
    }
    let ours = elsewhere(&folder, "ours", "hidden");
    ours.ready(&[], false).expect("an empty database of its own");
    let given = Durability::ALL.map(|level| ours.gives(level));
    let [none, relaxed, strict] = given;
    assert!(none.is_err_and(|why| why.contains("fsync=on")), "its owner's");
    assert_eq!((relaxed, strict), (Ok(()), Ok(())), "a session's own choice");
    let problems = |database: &str| {
        let all = elsewhere(&folder, database, "hidden").ready(&[], false).expect_err("in the way");
        all.join("\n")
    };
    let foreign = problems("theirs");
    assert!(foreign.contains("owner may not create tables in the database theirs"), "{foreign}");
    assert!(problems("missing").contains("create the database first"));
    // It is asked once a process: a new name is another server.
    let terms = OpenTerms::new(Durability::Strict);
    let (nowhere, schema) = (Path::new("/nonexistent"), schema());
    drop(ours.open(nowhere, &terms, &schema, &statements()).expect("an empty database"));
    let again = elsewhere(&folder, "ours", "hidden");
    let left = again.ready(&[], false).expect_err("its tables are there");
    assert!(left.len() == 1 && left[0].contains("--reuse"), "{left:?}");
    again.ready(&[], true).expect("they may be dropped");
    drop(private);
    let gone = elsewhere(&folder, "ours", "hidden");
    assert!(gone.ready(&[], true).expect_err("it is gone")[0].contains("no connection"));
    assert_eq!(gone.gives(Durability::None), Ok(()), "nobody knows");
}

#[test]
fn a_url_says_all_that_is_needed() {
    let name = |url: &str| ExternalPostgres::new(url).map(|engine| engine.name);
    assert_eq!(
        name("postgres://me:hidden@localhost:5433/db?sslmode=disable"),
        Ok("postgres://me@localhost:5433/db?sslmode=disable")
    );
    for url in [
        "postgres://localhost/db",
        "postgres://me:hidden@localhost",
        "postgres://me:hidden@/db",
        "postgres://me:hidden@localhost/db?password=hidden",
        "postgres://me:hidden@localhost:port/db",
    ] {
        let answer = name(url);
        assert!(answer.as_ref().is_err_and(|what| !what.contains("hidden")), "{url}: {answer:?}");
    }
}

#[test]
fn what_a_level_sets_reaches_the_server_of_its_installation() {
    if !installed() {
        return;
    }
    let server = std::fs::canonicalize(&SERVER.find().expect("it is installed").server);
    let server = server.expect("a program");
    let base = server.ancestors().nth(2).expect("it is in the bin of an installation");
    let level = format!("postgres/path={}/work_mem=5MB", base.display());
    let engine = crate::find(&level).expect("it is right");
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::None);
    let database = engine.open(folder.path(), &terms, &schema(), &statements()).expect("open");
    assert_eq!(show(&mut administrator(folder.path()), "work_mem").expect("a setting"), "5MB");
    let pid = database.server().expect("a server");
    let runs = std::fs::read_link(format!("/proc/{pid}/exe")).expect("it runs");
    assert_eq!((runs, engine.version()), (server, POSTGRES.version()));
}
