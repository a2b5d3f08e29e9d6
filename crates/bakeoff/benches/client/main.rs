//! bakeoff's client beside sysbench's: `oltp` against sysbench 1.0.20 on one private MariaDB server,
//! over its socket, on the same rows, with the same prepared statements; and loading the table against
//! `sysbench prepare`; and its client of Tarantool beside `net.box` on one private Tarantool.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All
//! processes have the same two processors. Processor time is that of each one's whole process, with its
//! connections and what it counts and records, but without the start of the program.
//!
//! Ends with 1 when a limit is missed. Needs MariaDB with MyRocks, and sysbench, or Tarantool for its part, on
//! a quiet machine.
//!
//! `BAKEOFF_PAIRS` (5) and `BAKEOFF_BENCH_SECONDS` (5) make it shorter; `-- rates`, `-- loads` and
//! `-- tarantool` run one part.

#[path = "../common/job.rs"]
mod job;
#[path = "../common/mariadb.rs"]
mod mariadb;
mod ours;
#[path = "../common/pairs.rs"]
mod pairs;
mod sysbench;
mod tarantool;
#[path = "../common/usage.rs"]
mod usage;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use bakeoff_engines::Durability;
use bakeoff_servers::Server;
use bakeoff_testkit::{needs, open_to_all};

use ours::Oltp;
use pairs::{Limit, Pairs};

const TESTS: [&str; 2] = ["point_select", "read_write"];
const CLIENTS: [usize; 3] = [1, 4, 16];
/// Rows that fit into the server's cache with room to spare.
const RATES: (&str, u64) = ("100k", 100_000);
const LOADS: (&str, u64) = ("1M", 1_000_000);
/// Pairs of loads: the ratio's limit is far from 1, and a load takes long.
const MOST_LOADS: usize = 3;

/// What one of both has done.
#[derive(Clone, Copy)]
struct Work {
    transactions: f64,
    /// How long that took.
    seconds: f64,
    /// Processor seconds that it took.
    cpu: f64,
    /// Queries of a transaction, by who counts them.
    queries_each: Option<f64>,
}

/// The parts, by their names.
const PARTS: [&str; 3] = ["rates", "loads", "tarantool"];
/// The engines of the first two, with their names on the server.
const ENGINES: [(&str, &str); 2] = [("mariadb:innodb", "InnoDB"), ("mariadb:rocksdb", "ROCKSDB")];

fn main() -> ExitCode {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let known = part.as_deref().is_none_or(|part| PARTS.contains(&part));
    assert!(known, "there is no part {part:?}: write {}", PARTS.join(" or "));
    let wanted = |name| part.as_deref().is_none_or(|part| part == name);
    usage::share_processors();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The servers may run as another user.
    open_to_all(place.path());
    let mut kept = true;
    let there = || {
        let find = |(name, _)| bakeoff_engines::find(name).expect("an engine").available();
        let there = ENGINES.into_iter().map(find).chain([sysbench::available()]);
        needs(there.collect::<Result<Vec<_>, _>>()).is_some()
    };
    let number = pairs::pairs();
    if (wanted("rates") || wanted("loads")) && there() {
        kept &= !wanted("rates") || rates(number, place.path());
        for (engine, storage) in ENGINES.into_iter().filter(|_| wanted("loads")) {
            kept &= loads(number.min(MOST_LOADS), engine, storage, place.path());
        }
    }
    if wanted("tarantool") && needs(tarantool::available()).is_some() {
        kept &= tarantool::rates(place.path());
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A server with an empty database.
fn server(engine: &str, durability: Durability, folder: &Path) -> Server {
    fs::create_dir(folder).expect("a folder for the server");
    let cache = ("innodb_buffer_pool_size", "512M");
    let others: &[_] = if engine == "mariadb:innodb" { &[cache] } else { &[] };
    let server = mariadb::serve(engine, durability, others, folder);
    mariadb::run(mariadb::tool("mariadb", &server).args(["--execute", "CREATE DATABASE bakeoff"]));
    server
}

/// Transactions a second, and processor time a query, of both; whether all is within the limits.
fn rates(number: usize, place: &Path) -> bool {
    let seconds = pairs::seconds();
    let (folder, durability) = (place.join("rates"), Durability::Relaxed);
    let server = server("mariadb:innodb", durability, &folder);
    let (scale, rows) = RATES;
    let socket = server.socket();
    let oltp = Oltp { socket, storage: "InnoDB", durability, scale, folder: place };
    oltp.load();
    let cells = TESTS.iter().flat_map(|test| CLIENTS.map(|clients| (*test, clients)));
    let mut cells: Vec<_> =
        cells.map(|(test, clients)| (test, clients, Pairs::default(), Pairs::default())).collect();
    for pair in 0..number {
        for (test, clients, rates, costs) in &mut cells {
            let theirs = || sysbench::run(socket, test, rows, *clients, seconds);
            let ours = || oltp.run(test, *clients, seconds);
            let both = pairs::turns(pair, theirs, ours);
            let each = both[0].queries_each.expect("sysbench counts its queries");
            rates.add(both.map(|work| work.transactions / work.seconds));
            costs.add(both.map(|work| work.cpu / (work.transactions * each) * 1e6));
        }
        eprintln!("pair {} of {number}", pair + 1);
    }
    server.stop().expect("it stops");
    fs::remove_dir_all(folder).expect("it can be removed");
    let mut kept = true;
    pairs::heading("on mariadb:innodb", "sysbench");
    for (test, clients, rates, costs) in cells {
        let name = format!("{test}, {clients} clients");
        kept &= rates
            .row(&format!("{name}, transactions/s"), Limit::Least { ratio: 1.0, low: Some(0.97) });
        kept &= costs.row(&format!("{name}, CPU µs a query"), Limit::Most(0.8));
    }
    kept
}

/// Seconds that loading takes both; whether it is within its limit.
fn loads(number: usize, engine: &str, storage: &str, place: &Path) -> bool {
    // As images are loaded.
    let (durability, (scale, rows)) = (Durability::None, LOADS);
    let timed = |load: &dyn Fn(&Path)| {
        // A new server for each: nobody pays for what another has put off.
        let folder = place.join("load");
        let server = server(engine, durability, &folder);
        let begin = Instant::now();
        load(server.socket());
        let seconds = begin.elapsed().as_secs_f64();
        server.stop().expect("it stops");
        fs::remove_dir_all(folder).expect("it can be removed");
        rows as f64 / seconds
    };
    let mut all = Pairs::default();
    for pair in 0..number {
        let theirs = || timed(&|socket| sysbench::prepare(socket, storage, rows));
        let ours =
            || timed(&|socket| Oltp { socket, storage, durability, scale, folder: place }.load());
        all.add(pairs::turns(pair, theirs, ours));
        eprintln!("load {} of {number} into {engine}", pair + 1);
    }
    pairs::heading(&format!("loading {rows} rows"), "sysbench");
    all.row(&format!("into {engine}, rows/s"), Limit::Least { ratio: 1.5, low: None })
}
