use std::path::{Path, PathBuf};

use bakeoff_testkit::{folder_for_all, needs, wait_until};
use postgres::Client as PostgresClient;
use tempfile::TempDir;

use super::external::ExternalPostgres;
use super::*;
use crate::served::tests::{
    Client, Elsewhere, INSERT, READ, Served, note, reuse, schema, statements,
};
use crate::{Access, Rows};

mod attacks;
mod leftovers;
mod looks;

/// Whether there is a server to test with.
fn installed() -> bool {
    needs(POSTGRES.available()).is_some()
}

fn open(folder: &Path, terms: &OpenTerms) -> Result<Box<dyn Database>> {
    POSTGRES.open(folder, terms, &schema(), &statements())
}

/// A database's administrator.
fn administrator(folder: &Path) -> PostgresClient {
    let mut config = Config::new();
    config.user("bakeoff").dbname("postgres").host_path(folder.join("server"));
    connect_admin(&config, &Tls::none()).expect("a connection")
}

/// Who knows a database by its address alone.
fn stranger(database: &dyn Database) -> PostgresClient {
    let Some(DatabaseAddress::Server(address)) = database.address() else { panic!("no server") };
    let mut config = Config::new();
    config.user(&address.user).dbname(&address.database).ssl_mode(SslMode::Disable);
    if let Some(password) = &address.password {
        config.password(password.reveal());
    }
    match &address.listens {
        ListenAddress::Socket(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            let port = name.strip_prefix(".s.PGSQL.").expect("PostgreSQL's own");
            config.host_path(path.parent().expect("a folder")).port(port.parse().expect("a port"));
        }
        ListenAddress::Port { host, port } => {
            config.host(host).port(*port);
        }
    }
    connect_admin(&config, &Tls::none()).expect("a connection")
}

impl Client for PostgresClient {
    fn run(&mut self, sql: &str) {
        self.batch_execute(sql).expect(sql);
    }

    fn ask(&mut self, sql: &str) -> i64 {
        self.query_one(sql, &[]).expect(sql).get(0)
    }

    fn end_connections(&mut self) {
        let others = "FROM pg_stat_activity \
                      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.run(&format!("SELECT pg_terminate_backend(pid) {others}"));
        let count = format!("SELECT count(*) {others}");
        wait_until("the end of all connections", || self.ask(&count) == 0);
    }
}

pub(crate) const POSTGRES_SERVED: Served = Served {
    engine: &POSTGRES,
    administrator: |folder| Box::new(administrator(folder)),
    stranger: |database| Box::new(stranger(database)),
    undoes: ("fsync", "off"),
    syncs: "log syncs",
};

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
    let answer = session.run(INSERT, &[20.into(), "a\0b".into()], &mut rows);
    assert!(matches!(answer, Err(Error::Usage(_))), "{answer:?}");
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
    administrator.end_connections();
    assert!(database.debt().expect("on a new connection").is_some());
    database.private.take().expect("a server").server.kill();
    assert!(database.debt().is_err(), "the server is gone");
    let database = open(folder.path(), &terms).expect("open");
    let mut session = database.session().expect("a session");
    assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("read"), 1);
    assert_eq!(database.check().expect("check"), Vec::<String>::new());
    drop(session);
    database.drain().expect("drain");
    let counted = |name| database.counters().iter().any(|(it, count)| *it == name && *count > 0);
    for name in ["log bytes", "checkpoints by demand", "vacuums"] {
        wait_until(name, || counted(name));
    }
}

/// A database whose server can be got at.
fn opened(folder: &Path, terms: &OpenTerms) -> PostgresDatabase {
    let (config, private) = POSTGRES.start_server(folder, terms).expect("a server");
    let mut open = PostgresDatabase::new(
        (config, Tls::none()),
        Some(private),
        terms,
        &schema(),
        &statements(),
    )
    .expect("a database");
    open.prepare_database(LeftoverPolicy::Keep).expect("open");
    open
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
    administrator.run("CREATE ROLE owner LOGIN SUPERUSER PASSWORD 'hidden'");
    administrator.run("CREATE DATABASE ours OWNER owner");
    administrator.run("CREATE DATABASE theirs OWNER owner");
    let theirs = elsewhere(&folder, "theirs", "hidden");
    let mut owner = connect_admin(&theirs.config, &theirs.tls).expect("a connection");
    owner.run("CREATE TABLE precious (id int)");
    let rules = "local all bakeoff trust\nlocal all all scram-sha-256\n";
    std::fs::write(folder.path().join("data/pg_hba.conf"), rules).expect("written");
    administrator.run("SELECT pg_reload_conf()");
    let there = Elsewhere {
        engine: &|name, password| Box::new(elsewhere(&folder, name, password)),
        stranger: POSTGRES_SERVED.stranger,
        weaker: (Durability::None, "fsync=on"),
        denied: "password",
    };
    there.is_used_only_when_it_is_meant();
    drop(private);
    there.refuses("ours", "hidden", &reuse(&terms), "no connection");
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
    ours.check_ready(&[], false).expect("an empty database of its own");
    let given = Durability::ALL.map(|level| ours.check_level(level));
    let [none, relaxed, strict] = given;
    assert!(none.is_err_and(|why| why.contains("fsync=on")), "its owner's");
    assert_eq!((relaxed, strict), (Ok(()), Ok(())), "a session's own choice");
    // As it is, nothing is set for a session.
    assert_eq!(ours.find_own_level(), Ok(Durability::Strict));
    assert_eq!(ours.find_local_server(), private.server());
    administrator.batch_execute("ALTER ROLE owner SET synchronous_commit = off").expect("a role");
    let lax = elsewhere(&folder, "ours", "hidden");
    assert_eq!(
        (lax.find_own_level(), lax.check_level(Durability::Strict)),
        (Ok(Durability::Relaxed), Ok(()))
    );
    let as_is = OpenTerms { as_is: true, ..OpenTerms::new(Durability::Relaxed) };
    let set = lax.settings(&as_is).into_iter().map(|setting| setting.name);
    assert_eq!(set.collect::<Vec<_>>(), ["default_transaction_isolation"]);
    administrator.batch_execute("ALTER ROLE owner RESET ALL").expect("a role");
    let problems = |database: &str| {
        let all =
            elsewhere(&folder, database, "hidden").check_ready(&[], false).expect_err("in the way");
        all.join("\n")
    };
    let foreign = problems("theirs");
    assert!(foreign.contains("owner may not create tables in the database theirs"), "{foreign}");
    assert!(problems("missing").contains("create the database first"));
    // It is asked once a process: a new name is another server.
    let terms = OpenTerms::new(Durability::Relaxed);
    let (nowhere, schema) = (Path::new("/nonexistent"), schema());
    drop(ours.open(nowhere, &terms, &schema, &statements()).expect("an empty database"));
    let again = elsewhere(&folder, "ours", "hidden");
    let left = again.check_ready(&[], false).expect_err("its tables are there");
    assert!(left.len() == 1 && left[0].contains("--reuse"), "{left:?}");
    again.check_ready(&[], true).expect("they may be dropped");
    drop(private);
    let gone = elsewhere(&folder, "ours", "hidden");
    assert!(gone.check_ready(&[], true).expect_err("it is gone")[0].contains("no connection"));
    assert_eq!(gone.check_level(Durability::None), Ok(()), "nobody knows");
}

#[test]
fn what_a_level_sets_reaches_the_server_of_its_installation() {
    if !installed() {
        return;
    }
    let server = std::fs::canonicalize(&SERVER.find_installed().expect("it is installed").server);
    let server = server.expect("a program");
    let base = server.ancestors().nth(2).expect("it is in the bin of an installation");
    let level = format!("postgres/path={}/work_mem=5MB", base.display());
    let engine = crate::find_level(&level).expect("it is right");
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::None);
    let database = engine.open(folder.path(), &terms, &schema(), &statements()).expect("open");
    assert_eq!(
        show_setting(&mut administrator(folder.path()), "work_mem").expect("a setting"),
        "5MB"
    );
    let pid = database.server().expect("a server");
    let runs = std::fs::read_link(format!("/proc/{pid}/exe")).expect("it runs");
    assert_eq!((runs, engine.version()), (server, POSTGRES.version()));
}
