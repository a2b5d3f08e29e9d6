//! bakeoff's client of Tarantool beside `net.box`, Tarantool's own: both get the same tuples by their keys
//! from one private server, each by a request.
//!
//! bakeoff's clients have a connection each, as the sessions of an application have. `net.box` has them, too; and
//! beside that all its fibers share one, where it sends the requests of several of them at once.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{Action, TableRead};
use bakeoff_engines::{
    Database, DatabaseAddress, Durability, Engine, ListenAddress, OpenTerms, Rows, Schema,
    ServerAddress, Statement, Value, find_level, kv,
};

use crate::pairs::{self, Limit};
use crate::usage;
use crate::work::{self, Work};

/// How many ask at once, and on how many connections `net.box` does.
#[derive(Clone, Copy)]
struct Cell {
    clients: usize,
    theirs: usize,
}

const CELLS: [Cell; 3] = [
    Cell { clients: 1, theirs: 1 },
    Cell { clients: 16, theirs: 16 },
    Cell { clients: 16, theirs: 1 },
];
/// As many as `netbox.lua` asks for.
const ROWS: i64 = 1000;

fn engine() -> &'static dyn Engine {
    find_level("tarantool:memtx").expect("an engine")
}

/// Whether there is one.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<(), String> {
    engine().available()
}

fn schema() -> Schema {
    let rows = Table::new("rows").key_column("id", Type::Int).column("text", Type::MediumText);
    Schema { tables: vec![rows] }
}

/// A server with rows.
struct Server {
    database: Box<dyn Database>,
    address: ServerAddress,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let read = Action::Read(TableRead::by_key(0, 1, &[1]));
        let statements = [Statement { name: "read".into(), action: read }];
        let database = engine()
            .open(folder, &OpenTerms::new(Durability::None), &schema(), &statements)
            .expect("it starts");
        let text = "x".repeat(100);
        let mut load = database.load(0).expect("an empty table");
        for id in 1..=ROWS {
            load.row(&[Value::Int(id), text.as_str().into()]).expect("room");
        }
        load.finish().expect("room");
        let Some(DatabaseAddress::Server(address)) = database.address() else {
            panic!("it is a server")
        };
        Self { database, address }
    }

    /// What bakeoff's clients do in so many seconds, each on a thread of its own.
    fn ours(&self, clients: usize, seconds: u32) -> Work {
        let before = usage::processor_time(libc::RUSAGE_SELF);
        let start = Instant::now();
        let stop = start + Duration::from_secs(seconds.into());
        let calls: u64 = std::thread::scope(|scope| {
            let client = |number| scope.spawn(move || self.client(number, stop));
            let clients: Vec<_> = (0..clients as i64).map(client).collect();
            clients.into_iter().map(|client| client.join().expect("it ends")).sum()
        });
        let took = start.elapsed().as_secs_f64();
        let cpu = (usage::processor_time(libc::RUSAGE_SELF) - before).as_secs_f64();
        Work { count: calls as f64, seconds: took, cpu, each: 1.0 }
    }

    fn client(&self, mut id: i64, stop: Instant) -> u64 {
        let (mut session, mut rows) = (self.database.session().expect("a session"), Rows::new());
        let mut calls = 0;
        while Instant::now() < stop {
            id = id % ROWS + 1;
            assert_eq!(session.run(0, &[Value::Int(id)], &mut rows).expect("a row"), 1);
            calls += 1;
        }
        calls
    }

    /// What `net.box` does in so many seconds.
    fn theirs(&self, script: &Path, cell: Cell, seconds: u32) -> Work {
        // All of its start, and nothing else.
        let (_, start) = usage::accounted(&mut self.net_box(script, cell, 0));
        let (said, whole) = usage::accounted(&mut self.net_box(script, cell, seconds));
        Work {
            count: usage::figure(&said, "calls:"),
            seconds: usage::figure(&said, "seconds:"),
            cpu: whole - start,
            each: 1.0,
        }
    }

    fn net_box(&self, script: &Path, cell: Cell, seconds: u32) -> Command {
        let ServerAddress { listens, user, password, .. } = &self.address;
        let ListenAddress::Socket(socket) = listens else {
            panic!("a private server has a socket")
        };
        let password = password.as_ref().map_or("", |it| it.reveal());
        let space = &kv::list_spaces(&schema())[1];
        let mut command = Command::new("tarantool");
        command.arg(script).arg(socket).args([user, password, space]);
        command.args([cell.clients.to_string(), cell.theirs.to_string(), seconds.to_string()]);
        command
    }
}

/// Calls a second, and processor time a call, of both; whether all is within the limits.
pub fn rates(place: &Path) -> bool {
    usage::share_processors();
    let (script, seconds) = (place.join("netbox.lua"), pairs::seconds());
    std::fs::write(&script, include_str!("netbox.lua")).expect("room");
    let server = Server::start(&place.join("tarantool"));
    let theirs = |cell| server.theirs(&script, cell, seconds);
    let all = work::compare(CELLS, theirs, |cell: Cell| server.ours(cell.clients, seconds));
    let mut kept = true;
    pairs::heading("on tarantool:memtx", "net.box");
    println!("get by the key; bakeoff's clients have a connection each");
    for compared in all {
        let Cell { clients, theirs } = compared.cell;
        let name = format!("{clients} at once, net.box on {theirs}");
        let least = Limit::Least { ratio: 1.0, low: None };
        kept &= compared.rows(&name, ["calls/s", "CPU µs a call"], least, 0.8);
    }
    kept
}
