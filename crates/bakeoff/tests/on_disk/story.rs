//! What every server goes through: load, work for many at a time, stop, start, work, be killed,
//! start again. Nothing may be lost, and nothing be wrong.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bakeoff_devices::plug::Keep;
use bakeoff_testkit::{skip, wait_until};

use crate::place::Place;
use crate::server::{Client, Database, Home, Server};

const ROWS: u32 = 20_000;
const BALANCE: u32 = 1_000;
const CLIENTS: u32 = 4;
/// How long clients work at least; each does something, however long that takes.
const WORK: Duration = Duration::from_secs(1);

/// For each client, the number of its last transaction that was acknowledged.
type Acknowledged = Vec<u32>;

/// Tells the story of a database on a disk of a model. Loading and checking take as long as they
/// take on the host; the rest, as long as on the disk.
pub fn tell(database: &dyn Database, model: &str) {
    let Some(place) = place(database, model) else { return };
    let home = Home::new(database, place.path());
    let server = loaded(database, &home);
    let mut client = server.client();
    let acknowledged = place.timed(|| work(&server, &[0; CLIENTS as usize]));
    assert_eq!(verify(database, &mut client, &acknowledged), acknowledged);
    let content = client.must(&database.content());
    drop(client);

    let server = place.timed(|| {
        server.stop();
        Server::start(database, &home)
    });
    assert_eq!(server.client().must(&database.content()), content);

    let (acknowledged, server) = place.timed(|| {
        let acknowledged = work_until(server, &acknowledged, Server::kill);
        (acknowledged, Server::start(database, &home))
    });
    let recovered = verify(database, &mut server.client(), &acknowledged);
    assert_eq!(lost(&acknowledged, &recovered), 0, "{acknowledged:?}, but {recovered:?}");
    server.stop();
    place.leave();
}

/// Cuts the power while a database works, once for each rule of what the disk keeps, and starts it
/// again from what is left. Returns how many acknowledged transactions each cut took; None where
/// that can't be done.
pub fn cut(database: &dyn Database) -> Option<Vec<u32>> {
    let mut place = place(database, "null")?;
    if place.is_folder() {
        skip("a folder has no power to cut");
        return None;
    }
    let home = Home::new(database, place.path());
    let mut server = loaded(database, &home);
    let mut done = vec![0; CLIENTS as usize];
    let mut took = Vec::new();
    for keep in [Keep::DropAll, Keep::Prefix, Keep::Subset, Keep::Torn] {
        let acknowledged = work_until(server, &done, |server| {
            place.cut(keep);
            server.kill();
        });
        place.reboot();
        server = Server::start(database, &home);
        done = verify(database, &mut server.client(), &acknowledged);
        took.push(lost(&acknowledged, &done));
    }
    server.stop();
    place.leave();
    Some(took)
}

/// A place for a database, if it is installed.
fn place(database: &dyn Database, model: &str) -> Option<Place> {
    let programs = database.programs();
    if let Some(missing) = programs.iter().find(|program| !program.exists()) {
        skip(format_args!("there is no {}", missing.display()));
        return None;
    }
    Place::new(model)
}

/// A new database that runs, with the accounts in it.
fn loaded<'a>(database: &'a dyn Database, home: &'a Home) -> Server<'a> {
    database.prepare(home);
    let server = Server::start(database, home);
    let mut client = server.client();
    for statement in database.load(ROWS, BALANCE) {
        client.must(&statement);
    }
    server
}

/// The last transaction of each client that was acknowledged, while they work.
struct Progress<'f> {
    from: &'f [u32],
    done: Vec<AtomicU32>,
}

impl<'f> Progress<'f> {
    fn new(from: &'f [u32]) -> Self {
        Self { from, done: from.iter().map(|done| AtomicU32::new(*done)).collect() }
    }

    fn acknowledged(&self) -> Acknowledged {
        self.done.iter().map(|done| done.load(Ordering::Relaxed)).collect()
    }

    /// Waits until they have worked for a while, and each has done something.
    fn made(&self) {
        thread::sleep(WORK);
        wait_until("a transaction of each client", || {
            self.acknowledged().iter().zip(self.from).all(|(done, from)| done > from)
        });
    }
}

/// Lets clients work for a while, on from the transactions that they have done.
fn work(server: &Server, from: &[u32]) -> Acknowledged {
    let (progress, over) = (Progress::new(from), AtomicBool::new(false));
    thread::scope(|scope| {
        for (n, done) in (0..CLIENTS).zip(&progress.done) {
            let (mut client, over) = (server.client(), &over);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let next = done.load(Ordering::Relaxed) + 1;
                    client.must(&transfer(server.database(), n, next));
                    done.store(next, Ordering::Relaxed);
                }
            });
        }
        let _over = Over(&over);
        progress.made();
    });
    progress.acknowledged()
}

/// Ends the clients' work when it goes, even where what they do never comes.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets clients work until the server is ended, while they do.
fn work_until<'a>(server: Server<'a>, from: &[u32], end: impl FnOnce(Server<'a>)) -> Acknowledged {
    let (database, progress) = (server.database(), Progress::new(from));
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.client()).collect();
    thread::scope(|scope| {
        for ((n, mut client), done) in (0..CLIENTS).zip(clients).zip(&progress.done) {
            scope.spawn(move || {
                let mut next = done.load(Ordering::Relaxed) + 1;
                while client.ask(&transfer(database, n, next)).is_some() {
                    done.store(next, Ordering::Relaxed);
                    next += 1;
                }
            });
        }
        progress.made();
        end(server);
    });
    progress.acknowledged()
}

/// The `n`-th transaction of a client: accounts spread over all of them.
fn transfer(database: &dyn Database, client: u32, n: u32) -> String {
    let from = 1 + (n * 7_919 + client * 4_999) % (ROWS / 2);
    let to = 1 + ROWS / 2 + (n * 6_007 + client * 3_001) % (ROWS / 2);
    database.transfer(client, n, from, to)
}

/// Checks the database and its books. Returns, for each client, the last transaction that it holds:
/// at most one that was not acknowledged, and none missing before it.
fn verify(
    database: &dyn Database,
    client: &mut Client,
    acknowledged: &Acknowledged,
) -> Acknowledged {
    let books = numbers(&client.must(&database.books()));
    assert_eq!(books, [vec![ROWS, ROWS * BALANCE]], "accounts and the sum of their balances");
    let indexed = numbers(&client.must(&database.indexed()));
    assert_eq!(indexed, [vec![ROWS]], "accounts in the index");
    database.check(client);
    let mut last = vec![0; CLIENTS as usize];
    for row in numbers(&client.must(&database.done())) {
        assert_eq!(row[1], row[2], "transactions in the middle are missing: client {}", row[0]);
        last[row[0] as usize] = row[2];
    }
    let phantom = last.iter().zip(acknowledged).any(|(last, told)| *last > told + 1);
    assert!(!phantom, "acknowledged {acknowledged:?}, there are {last:?}");
    last
}

/// How many acknowledged transactions are not there.
fn lost(acknowledged: &Acknowledged, there: &Acknowledged) -> u32 {
    acknowledged.iter().zip(there).map(|(told, last)| told.saturating_sub(*last)).sum()
}

/// Rows of numbers, as the clients write them.
fn numbers(rows: &[String]) -> Vec<Vec<u32>> {
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text:?} in {rows:?}"));
    rows.iter().map(|row| row.split(['\t', '|']).map(number).collect()).collect()
}
