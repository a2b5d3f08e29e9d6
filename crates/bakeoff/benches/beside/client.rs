//! bakeoff's client beside sysbench's, on one private MariaDB server.

use std::fs;
use std::path::Path;
use std::time::Instant;

use bakeoff_engines::Durability;
use bakeoff_engines::servers::PrivateServer;
use rustix::thread::{Pid, sched_setaffinity};

use crate::oltp::Oltp;
use crate::pairs::{self, Limit, Pairs};
use crate::{mariadb, sysbench, usage, work};

/// Tests and clients.
const RATED: [(&str, usize); 6] = [
    ("point_select", 1),
    ("point_select", 4),
    ("point_select", 16),
    ("read_write", 1),
    ("read_write", 4),
    ("read_write", 16),
];
/// Rows that fit into the server's cache with room to spare.
const RATES: (&str, u64) = ("100k", 100_000);
const LOADS: (&str, u64) = ("1M", 1_000_000);
/// Pairs of loads: the ratio's limit is far from 1, and a load takes long.
const MOST_LOADS: usize = 3;

/// The engines that are loaded, with their names on the server; rates are of the first.
const ENGINES: [(&str, &str); 2] = [("mariadb:innodb", "InnoDB"), ("mariadb:rocksdb", "ROCKSDB")];

pub fn rates_available() -> Result<(), String> {
    available(&ENGINES[..1])
}

pub fn loads_available() -> Result<(), String> {
    available(&ENGINES)
}

/// Whether these engines and sysbench are there.
fn available(engines: &[(&str, &str)]) -> Result<(), String> {
    let find = |(name, _): &(&str, &str)| bakeoff_engines::find_level(name).expect("an engine");
    engines.iter().try_for_each(|engine| find(engine).available())?;
    sysbench::available()
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

/// Leaves the server, this process, and all that it starts one processor where there is one client:
/// else the kernel's choice of two would outweigh what is compared.
fn share_with_server(clients: usize, server: u32) {
    let few = usage::first_processors(if clients == 1 { 1 } else { usage::PROCESSORS });
    let threads = fs::read_dir(format!("/proc/{server}/task")).expect("the server runs");
    let ids = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    for thread in ids.map(Pid::from_raw).chain([None]) {
        // One that has just ended needs no processor.
        let _ = sched_setaffinity(thread, &few);
    }
}

/// Transactions a second, and processor time a query, of both; whether all is within the limits.
pub fn rates(place: &Path) -> bool {
    usage::share_processors();
    let seconds = pairs::seconds();
    let (folder, durability) = (place.join("rates"), Durability::Relaxed);
    let server = server("mariadb:innodb", durability, &folder);
    let (scale, rows) = RATES;
    let socket = server.socket();
    let oltp = Oltp { socket, storage: "InnoDB", durability, scale, folder: place };
    oltp.load();
    let share = |clients| share_with_server(clients, server.pid());
    let theirs = |(test, clients)| {
        share(clients);
        sysbench::run(socket, test, rows, clients, seconds)
    };
    let all = work::compare(RATED, theirs, |(test, clients)| {
        share(clients);
        oltp.run(test, clients, seconds)
    });
    server.stop().expect("it stops");
    fs::remove_dir_all(folder).expect("it can be removed");
    let mut kept = true;
    pairs::heading("on mariadb:innodb", "sysbench");
    for compared in all {
        let (test, clients) = compared.cell;
        let name = format!("{test}, {clients} clients");
        let least = Limit::Least { ratio: 1.0, low: Some(0.97) };
        kept &= compared.rows(&name, ["transactions/s", "CPU µs a query"], least, 0.8);
    }
    kept
}

/// Loads into each of the engines; whether all is within the limits.
pub fn loads(place: &Path) -> bool {
    usage::share_processors();
    let mut kept = true;
    for (engine, storage) in ENGINES {
        kept &= loads_into(engine, storage, place);
    }
    kept
}

/// Seconds that loading takes both; whether it is within its limit.
fn loads_into(engine: &str, storage: &str, place: &Path) -> bool {
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
    let (mut all, number) = (Pairs::default(), pairs::pairs().min(MOST_LOADS));
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
