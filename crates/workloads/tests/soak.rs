//! Many clients of the ledger on a server whose administrator ends their connections at random:
//! no acknowledged transaction may be lost, none may be done twice, and, in the long run, nothing may
//! leak.
//!
//! `BAKEOFF_ENDED` says how many connections are ended in the long run of each server; 40,000, which
//! takes some ten minutes, unless it does.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bakeoff_engines::{Database, Durability, Error, OpenTerms};
use bakeoff_testkit::{PATIENCE, Since, needs, wait_until};
use bakeoff_workloads::AuditFindings;
use bakeoff_workloads::ledger::{ClientClaim, CommitObserver, PreparedLedger};
use bakeoff_workloads::{OperationTally, PreparedWorkload, TextSource, WorkloadClient};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use postgres::{Config, NoTls};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

const CLIENTS: usize = 64;
/// A connection is ended this often: each lives for a second or so.
const PAUSE: Duration = Duration::from_millis(15);
/// How many connections are ended in the short run.
const ENDED: usize = 400;
/// How much more memory this process may have in the last third of the time than in the second.
const GROWTH: f64 = 4e6;

/// One server at a time in the long runs: the process's memory, which they judge, has to be that of one.
static TURN: Mutex<()> = Mutex::new(());

/// A server's engine, and its administrator.
type Server = (&'static str, fn(&Path) -> Box<dyn Administrator>);

const INNODB: Server = ("mariadb:innodb", |folder| Box::new(mariadb(folder)));
const ROCKSDB: Server = ("mariadb:rocksdb", |folder| Box::new(mariadb(folder)));
const POSTGRES: Server = ("postgres", |folder| Box::new(postgres_server(folder)));

#[test]
#[ignore = "slow: make test-slow"]
fn servers_keep_their_word() {
    for server in [ROCKSDB, POSTGRES] {
        work_on(server, ENDED);
    }
}

/// With a busy disk and two busy processors, 3 of 8 runs on MariaDB 10.11.19 showed a client half of a
/// transfer: a sum of the accounts that is off by one transfer's amount. Nobody knows yet whose fault it
/// is.
#[test]
#[ignore = "soak: an open finding"]
fn mariadb_innodb_keeps_its_word_soak() {
    work_on(INNODB, ENDED);
}

#[test]
#[ignore = "soak: about 10 min"]
fn mariadb_innodb_soak() {
    leaks_nothing(&work_on(INNODB, many()));
}

#[test]
#[ignore = "soak: about 10 min"]
fn mariadb_rocksdb_soak() {
    leaks_nothing(&work_on(ROCKSDB, many()));
}

#[test]
#[ignore = "soak: about 10 min"]
fn postgres_soak() {
    leaks_nothing(&work_on(POSTGRES, many()));
}

/// How many connections are ended in the long run.
fn many() -> usize {
    std::env::var("BAKEOFF_ENDED").map_or(40_000, |text| text.parse().expect("a number"))
}

/// What this process had of memory, look after look; nothing where the test was skipped.
fn leaks_nothing(memory: &[f64]) {
    if memory.is_empty() {
        return;
    }
    let (early, late) = thirds(memory);
    eprintln!("memory {:.1} MB, then {:.1} MB", early / 1e6, late / 1e6);
    assert!(late < early + GROWTH, "memory grows: {memory:?}");
}

/// Sees and ends the connections of a server's clients.
trait Administrator {
    /// Every connection but its own.
    fn connections(&mut self) -> Vec<u64>;
    /// Ends one, if it is still there.
    fn end(&mut self, connection: u64);
}

impl Administrator for Conn {
    fn connections(&mut self) -> Vec<u64> {
        let all = "SELECT id FROM information_schema.processlist \
                   WHERE user <> 'system user' AND id <> CONNECTION_ID()";
        self.query(all).expect("connections")
    }

    fn end(&mut self, connection: u64) {
        match self.query_drop(format!("KILL CONNECTION {connection}")) {
            Err(mysql::Error::MySqlError(gone)) if gone.code == 1094 => {}
            done => done.expect("ended"),
        }
    }
}

impl Administrator for postgres::Client {
    fn connections(&mut self) -> Vec<u64> {
        let all = "SELECT pid::bigint FROM pg_stat_activity \
                   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let rows = self.query(all, &[]).expect("connections");
        rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect()
    }

    fn end(&mut self, connection: u64) {
        let end = format!("SELECT pg_terminate_backend({connection})");
        self.batch_execute(&end).expect("ended");
    }
}

fn mariadb(folder: &Path) -> Conn {
    let socket = folder.join("server/socket").display().to_string();
    Conn::new(OptsBuilder::new().socket(Some(socket)).user(Some("root"))).expect("a connection")
}

fn postgres_server(folder: &Path) -> postgres::Client {
    let mut config = Config::new();
    config.user("bakeoff").dbname("postgres").host_path(folder.join("server"));
    config.connect(NoTls).expect("a connection")
}

/// Remembers what a client did.
struct Memory(Rc<Cell<ClientClaim>>);

impl CommitObserver for Memory {
    fn note_sent(&mut self, sequence: i64) {
        self.0.set(ClientClaim { sent: sequence, ..self.0.get() });
    }

    fn note_acknowledged(&mut self, sequence: i64) {
        self.0.set(ClientClaim { acknowledged: sequence, ..self.0.get() });
    }
}

/// What a client has to tell.
#[derive(Default)]
struct Story {
    claim: ClientClaim,
    retries: u64,
    doubts: u64,
}

/// Works on a server until so many connections were ended, and audits it; the memory that this process
/// had meanwhile.
fn work_on((name, administrator): Server, ends: usize) -> Vec<f64> {
    let _turn = (ends > ENDED).then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
    let engine = bakeoff_engines::find_level(name).expect("an engine");
    if needs(engine.available()).is_none() {
        return Vec::new();
    }
    let ledger = PreparedLedger::new("small", 7, Arc::new(TextSource::generate(7)));
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::None);
    let database = engine
        .open(folder.path(), &terms, ledger.schema(), ledger.statements())
        .expect("a database");
    for table in 0..ledger.schema().tables.len() {
        let mut loader = database.load(table).expect("a load");
        ledger.rows(table, &mut |row| loader.row(row)).expect("rows");
        loader.finish().expect("loaded");
    }
    let mut administrator = administrator(folder.path());
    let before = administrator.connections().len();
    let mut memory = Vec::new();
    let stories = work(&ledger, &*database, ends, &mut *administrator, &mut memory);

    wait_until("the end of all connections", || administrator.connections().len() <= before);
    let claims: Vec<_> = stories.iter().map(|story| story.claim).collect();
    let (findings, _) = ledger.compare_claims(&*database, &claims).expect("an audit");
    assert_eq!(findings, AuditFindings::default());
    assert_eq!(database.check().expect("a check"), Vec::<String>::new());
    let sum = |of: fn(&Story) -> u64| stories.iter().map(of).sum::<u64>();
    let done = sum(|story| story.claim.acknowledged as u64);
    let (retries, doubts) = (sum(|story| story.retries), sum(|story| story.doubts));
    eprintln!(
        "{name}: {done} transactions, {ends} connections ended, {retries} tries again, {doubts} in \
         doubt"
    );
    assert!(claims.iter().all(|claim| claim.acknowledged > 0), "a client did nothing: {claims:?}");
    assert!(retries + doubts > 0, "no client has noticed");
    memory
}

/// Has all clients work while the administrator ends so many connections, and until each client has
/// done something. This process's memory is looked at meanwhile. Returns what each client has to tell.
fn work(
    ledger: &PreparedLedger,
    database: &dyn Database,
    ends: usize,
    administrator: &mut dyn Administrator,
    memory: &mut Vec<f64>,
) -> Vec<Story> {
    let (over, idle) = (&AtomicBool::new(false), &AtomicUsize::new(CLIENTS));
    thread::scope(|scope| {
        let client = |number| scope.spawn(move || client(ledger, number, database, (over, idle)));
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let (mut since, mut ended) = (Since::now(), 0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let at_work = |since: Since, ended| {
            let failed = clients.iter().any(thread::ScopedJoinHandle::is_finished);
            let waits = ended < ends || idle.load(Ordering::Relaxed) > 0;
            !failed && waits && !since.at_least(PATIENCE)
        };
        while at_work(since, ended) {
            let connections = administrator.connections();
            if !connections.is_empty() && ended < ends {
                administrator.end(connections[random.random_range(0..connections.len())]);
                (since, ended) = (Since::now(), ended + 1);
            }
            memory.push(resident());
            thread::sleep(PAUSE);
        }
        over.store(true, Ordering::Relaxed);
        let stories = clients.into_iter().map(|client| client.join().expect("a client's story"));
        let stories = stories.collect();
        assert_eq!(ended, ends, "there are no connections to be ended");
        stories
    })
}

/// Works until all is over. A commit in doubt is resolved by its progress, which it reads next.
fn client(
    ledger: &PreparedLedger,
    number: usize,
    database: &dyn Database,
    (over, idle): (&AtomicBool, &AtomicUsize),
) -> Story {
    let claim = Rc::new(Cell::new(ClientClaim::default()));
    let mut client = ledger.observed_client(number, Box::new(Memory(Rc::clone(&claim))));
    let (mut story, mut tally, mut works) = (Story::default(), OperationTally::default(), false);
    let mut session = loop {
        match database.session() {
            Err(Error::Conflict(_)) => {}
            session => break session.expect("a session"),
        }
    };
    while !over.load(Ordering::Relaxed) {
        let operation = client.choose_operation();
        match client.run_operation(operation, &mut *session, &mut tally) {
            // The sum is a reading that nobody tries again.
            Ok(()) | Err(Error::Conflict(_)) => {}
            Err(Error::InDoubt(_)) => story.doubts += 1,
            Err(error) => panic!("client {number}: {error}"),
        }
        if !std::mem::replace(&mut works, claim.get().acknowledged > 0) && works {
            idle.fetch_sub(1, Ordering::Relaxed);
        }
    }
    Story { claim: claim.get(), retries: tally.retries, ..story }
}

/// Bytes of memory that this process has.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.expect("a size") * 1024.0
}

/// The means of the second and the last third.
fn thirds(memory: &[f64]) -> (f64, f64) {
    let third = (memory.len() / 3).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    (mean(&memory[third..2 * third]), mean(&memory[2 * third..]))
}
