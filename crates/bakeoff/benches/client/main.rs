//! bakeoff's client beside sysbench's: `oltp` against sysbench 1.0.20 on one private MariaDB server,
//! over its socket, on the same rows, with the same prepared statements; and loading the table against
//! `sysbench prepare`; and its client of Tarantool beside `net.box` on one private Tarantool.
//!
//! Both take turns, and change who begins; ratios come from the pairs, with an interval of 95 %. All
//! processes have the same two processors. Processor time is that of each one's whole process, with its
//! connections and what it counts and records, but without the start of the program.
//!
//! Ends with 1 when a limit is missed, a part that was named can't run, or nothing ran. Needs MariaDB and sysbench,
//! for loads MyRocks, too, and for its part Tarantool, on a quiet machine.
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
use bakeoff_servers::PrivateServer;
use bakeoff_testkit::{open_to_all, skip};

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

/// The engines that are loaded, with their names on the server; rates are of the first.
const ENGINES: [(&str, &str); 2] = [("mariadb:innodb", "InnoDB"), ("mariadb:rocksdb", "ROCKSDB")];

/// A part of the bench.
struct Part {
    name: &'static str,
    /// Whether all is there that it needs; else what is missing, and how to install it.
    there: fn() -> Result<(), String>,
    /// Has both take so many turns in a folder; whether all is within the limits.
    run: fn(usize, &Path) -> bool,
}

static PARTS: [Part; 3] = [
    Part { name: "rates", there: || beside_sysbench(&ENGINES[..1]), run: rates },
    Part { name: "loads", there: || beside_sysbench(&ENGINES), run: all_loads },
    Part {
        name: "tarantool",
        there: tarantool::available,
        run: |_, place| tarantool::rates(place),
    },
];

fn main() -> ExitCode {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |part: &&Part| named.as_deref().is_none_or(|name| name == part.name);
    let wanted: Vec<&Part> = PARTS.iter().filter(is_wanted).collect();
    let names = PARTS.each_ref().map(|part| part.name).join(" or ");
    assert!(!wanted.is_empty(), "there is no part {named:?}: write {names}");
    usage::share_processors();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The servers may run as another user.
    open_to_all(place.path());
    let (mut ran, mut kept) = (0, true);
    for part in &wanted {
        match (part.there)() {
            Ok(()) => {
                ran += 1;
                kept &= (part.run)(pairs::pairs(), place.path());
            }
            // Whoever names a part wants it.
            Err(why) if named.is_some() => eprintln!("{} can't run: {why}", part.name),
            Err(why) => skip(format_args!("{}: {why}", part.name)),
        }
    }
    if ran == 0 {
        eprintln!("nothing ran");
    }
    if kept && ran > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether these engines and sysbench are there.
fn beside_sysbench(engines: &[(&str, &str)]) -> Result<(), String> {
    let find = |(name, _): &(&str, &str)| bakeoff_engines::find(name).expect("an engine");
    engines.iter().try_for_each(|engine| find(engine).available())?;
    sysbench::available()
}

/// Loads into each of the engines; whether all is within the limits.
fn all_loads(number: usize, place: &Path) -> bool {
    let mut kept = true;
    for (engine, storage) in ENGINES {
        kept &= loads(number.min(MOST_LOADS), engine, storage, place);
    }
    kept
}

/// A server with an empty database.
fn server(engine: &str, durability: Durability, folder: &Path) -> PrivateServer {
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
