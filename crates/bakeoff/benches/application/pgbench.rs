//! pgbench, and its scripts run by bakeoff, on one private PostgreSQL server. Both run them at the server's own
//! level of isolation, and again after a conflict.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_engines::{DatabaseAddress, ListenAddress, find_level};
use bakeoff_workloads::{MOST_TRIES, OperationTally, Workload};

use crate::loaded::{Loaded, compile};
use crate::pairs::{self, Limit};
use crate::usage;
use crate::work::{self, Work};

/// As in PostgreSQL's documentation of pgbench, but for the order: that of their names.
const SCRIPTS: [(&str, &str); 2] = [
    ("select-only.sql", include_str!("../../../application/examples/pgbench/select-only.sql")),
    ("tpcb-like.sql", include_str!("../../../application/examples/pgbench/tpcb-like.sql")),
];

/// The least ratio of their rates, and the greatest of their processor times.
const LIMITS: [(f64, f64); 2] = [(1.05, 0.75), (1.0, 1.3)];

/// The number of a script, and clients.
type Cell = (usize, usize);

const CELLS: [Cell; 5] = [(0, 1), (0, 4), (0, 16), (1, 1), (1, 16)];

/// Whether there are a server and pgbench.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<(), String> {
    find_level("postgres").expect("an engine").available()?;
    usage::is_installed(["pgbench", "--version"], ") 15.", "postgresql-15")
}

/// A server with pgbench's tables.
struct Server {
    loaded: Loaded,
    scripts: PathBuf,
}

impl Server {
    /// What bakeoff's clients do in so many seconds, each on a thread of its own.
    fn ours(&self, (script, clients): Cell, seconds: u32) -> Work {
        let (connected, stop) = (Barrier::new(clients + 1), AtomicBool::new(false));
        let client = |number| {
            let mut session = self.loaded.database.session().expect("a session");
            let mut client = self.loaded.prepared.make_client(number, clients, 1);
            connected.wait();
            let mut operations = 0;
            while !stop.load(Ordering::Relaxed) {
                let mut tally = OperationTally::default();
                client.run_operation(script, &mut *session, &mut tally).expect("it ends well");
                operations += 1;
            }
            operations
        };
        std::thread::scope(|scope| {
            let client = &client;
            let clients: Vec<_> =
                (0..clients).map(|number| scope.spawn(move || client(number))).collect();
            connected.wait();
            let (start, before) = (Instant::now(), usage::processor_time(libc::RUSAGE_SELF));
            std::thread::sleep(Duration::from_secs(seconds.into()));
            stop.store(true, Ordering::Relaxed);
            let ended = clients.into_iter().map(|client| client.join().expect("it ends"));
            let operations: u64 = ended.sum();
            let cpu = (usage::processor_time(libc::RUSAGE_SELF) - before).as_secs_f64();
            let took = start.elapsed().as_secs_f64();
            Work { count: operations as f64, seconds: took, cpu, each: 1.0 }
        })
    }

    /// What pgbench does in so many seconds.
    fn theirs(&self, cell: Cell, seconds: u32) -> Work {
        // All of its start, and a transaction of each client.
        let (_, start) = usage::accounted(self.pgbench(cell).arg("--transactions=1"));
        let (said, whole) = usage::accounted(self.pgbench(cell).arg(format!("--time={seconds}")));
        let count = usage::figure(&said, "number of transactions actually processed:");
        Work {
            count,
            seconds: count / usage::figure(&said, "tps ="),
            cpu: whole - start,
            each: 1.0,
        }
    }

    fn pgbench(&self, (script, clients): Cell) -> Command {
        let Some(DatabaseAddress::Server(address)) = self.loaded.database.address() else {
            panic!("it is a server")
        };
        let ListenAddress::Socket(socket) = address.listens else {
            panic!("a private server has a socket")
        };
        let mut command = Command::new("pgbench");
        command.args(["-n", "-M", "prepared", "-f"]).arg(self.scripts.join(SCRIPTS[script].0));
        command.arg(format!("--max-tries={MOST_TRIES}")).arg(format!("--client={clients}"));
        command.arg(format!("--jobs={}", clients.min(2)));
        command.arg("-h").arg(socket.parent().expect("a folder"));
        command.args(["-U", &address.user, &address.database]);
        command
    }
}

/// Transactions a second, and processor time of each, of both; whether all is within the limits.
pub fn rates(place: &Path) -> bool {
    let application = compile("pgbench", &SCRIPTS);
    let operations: Vec<String> =
        application.operations().iter().map(|name| format!("{name}.sql")).collect();
    assert_eq!(operations, SCRIPTS.map(|(name, _)| name));
    let scripts = place.join("scripts");
    std::fs::create_dir(&scripts).expect("a folder");
    for (name, text) in SCRIPTS {
        std::fs::write(scripts.join(name), text).expect("room");
    }
    let server =
        Server { loaded: Loaded::load(&application, "postgres", &place.join("server")), scripts };
    let seconds = pairs::seconds();
    let theirs = |cell| server.theirs(cell, seconds);
    let all = work::compare(CELLS, theirs, |cell| server.ours(cell, seconds));
    let mut kept = true;
    pairs::heading("pgbench's scripts on postgres", "pgbench");
    for compared in all {
        let (script, clients) = compared.cell;
        let name = format!("{}, {clients} clients", SCRIPTS[script].0.trim_end_matches(".sql"));
        let (ratio, most) = LIMITS[script];
        let least = Limit::Least { ratio, low: Some(0.97) };
        kept &= compared.rows(&name, ["transactions/s", "CPU µs each"], least, most);
    }
    kept
}
