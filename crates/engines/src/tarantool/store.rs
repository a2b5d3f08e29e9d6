//! A running server, as the key-value layer has it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bakeoff_servers::Server;

use super::client::{Client, Failure, Request};
use super::debt;
use super::load::Load;
use super::pack::{Unpack, put_array, put_text};
use super::storage::{Logged, Storage};
use super::transaction::{Transaction, Use};
use crate::external::password::Secret;
use crate::kv;
use crate::served::{ENDING, Kept};
use crate::{Address, Debt, Durability, Error, Listens, Result, ServerAddress, files};

/// The user that a data folder is initialised with, and what the user has to know: the folder of the socket
/// is what keeps others away.
const USER: &str = "bakeoff";
const PASSWORD: &str = "bakeoff";

/// A new connection.
fn connect(server: &Server) -> Result<Client> {
    Client::connect(server.socket(), USER, PASSWORD).map_err(|failure| error(server, failure))
}

/// What a failure is in the contract's terms. The number of an error is that of errcode.h.
fn error(server: &Server, failure: Failure) -> Error {
    const TRANSACTION_CONFLICT: u64 = 97;
    match failure {
        Failure::Refused { code: TRANSACTION_CONFLICT, message } => Error::Conflict(message),
        Failure::Lost(_) if server.ends_within(ENDING) => Error::engine(format!(
            "the server has ended ({failure}); the end of its log:\n{}",
            server.log()
        )),
        Failure::Lost(_) => Error::Conflict(failure.to_string()),
        Failure::Refused { .. } | Failure::Garbled(_) => Error::engine(failure),
    }
}

/// Makes spaces where they are not there; their numbers, in the order of their names.
fn make_spaces(storage: Storage, client: &mut Client, names: &[String]) -> Result<Vec<u32>> {
    let answer = client.ask(&Request::call("bakeoff_open"), |out| {
        put_array(out, 2);
        put_text(out, storage.engine().as_bytes());
        put_array(out, names.len());
        names.iter().for_each(|name| put_text(out, name.as_bytes()));
    });
    let ids = answer.and_then(|mut answer| {
        answer.array()?;
        let count = answer.array()?;
        let id = |_| Ok(u32::try_from(answer.int()?).unwrap_or(u32::MAX));
        (0..count).map(id).collect()
    });
    ids.map_err(Error::engine)
}

/// Numbers that the server has given back.
pub(super) struct Counts(Vec<u64>);

impl Counts {
    /// As they are named, in the order of their function.
    pub fn numbers<const N: usize>(&self) -> Result<[u64; N]> {
        let numbers = self.0.as_slice().try_into();
        numbers
            .map_err(|_| Error::engine(Failure::Garbled("not as many numbers as were asked for")))
    }
}

/// The calls of stored functions, by what they do.
pub(super) struct Calls {
    pub get: Request,
    pub scan: Request,
    pub commit: Request,
    pub finish: Request,
}

/// What the server counts, by the order of `bakeoff_counters`.
const COUNTERS: [&str; 10] = [
    "log rows",
    "calls",
    "selects",
    "replaces",
    "deletes",
    "vinyl conflicts",
    "vinyl dumps",
    "vinyl bytes dumped",
    "vinyl bytes compacted",
    "vinyl writers that waited",
];

/// A running server, as the key-value layer has it.
pub(super) struct Store {
    pub storage: Storage,
    without_log: bool,
    data: PathBuf,
    /// Connections that no transaction has.
    idle: Mutex<Vec<Client>>,
    watch: Kept<Client>,
    since: debt::Since,
    /// The counters as they stood at the opening.
    before: [u64; COUNTERS.len()],
    /// The numbers of the spaces, and the requests that find a key in each.
    ids: Vec<u32>,
    pub finds: Vec<Request>,
    pub calls: Calls,
    server: Server,
}

impl Store {
    /// Of a server that has just started, with the spaces of these names.
    ///
    /// # Errors
    /// The server's.
    pub fn new(
        logged: Logged,
        server: Server,
        directory: &Path,
        durability: Durability,
        names: &[String],
    ) -> Result<Self> {
        let storage = logged.storage;
        let mut client = connect(&server)?;
        let ids = make_spaces(storage, &mut client, names)?;
        let ask = |client: &mut Client, function| {
            counts(client, function).map_err(|failure| error(&server, failure))
        };
        let since = debt::Since::now(storage, &ask(&mut client, debt::FUNCTION)?)?;
        let before = ask(&mut client, "bakeoff_counters")?.numbers()?;
        let functions = ["bakeoff_get", "bakeoff_scan", "bakeoff_commit", "bakeoff_finish"];
        let [get, scan, commit, finish] = functions.map(Request::call);
        Ok(Self {
            storage,
            without_log: logged.is_without_log(durability),
            data: directory.join("data"),
            idle: Mutex::default(),
            watch: Kept::new(client),
            since,
            before,
            finds: ids.iter().map(|id| Request::find(*id)).collect(),
            ids,
            calls: Calls { get, scan, commit, finish },
            server,
        })
    }

    /// The number of a key space's own space.
    pub fn id(&self, space: usize) -> u32 {
        self.ids[space]
    }

    /// A connection that nobody else has.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn take_client(&self) -> Result<Client> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect(&self.server), Ok)
    }

    /// Takes a connection back that is still of use.
    pub fn give_back(&self, client: Client) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    /// What a failure of a request is in the contract's terms.
    pub fn error(&self, failure: Failure) -> Error {
        error(&self.server, failure)
    }

    /// Calls a function that gives back nothing of interest.
    ///
    /// # Errors
    /// The server's.
    pub fn call(&self, function: &str, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut client = self.take_client()?;
        let answer = client.ask(&Request::call(function), put).map(drop);
        answer.map_err(|failure| self.error(failure))?;
        self.give_back(client);
        Ok(())
    }

    /// Asks a function for numbers, on the connection that is kept for that.
    fn counts(&self, function: &str) -> Result<Counts> {
        let question =
            |client: &mut Client| counts(client, function).map_err(|failure| self.error(failure));
        self.watch.ask(|| connect(&self.server), question)
    }
}

fn counts(client: &mut Client, function: &str) -> std::result::Result<Counts, Failure> {
    let mut answer: Unpack<'_> = client.ask(&Request::call(function), |out| put_array(out, 0))?;
    answer.array()?;
    let count = answer.array()?;
    (0..count).map(|_| answer.int()).collect::<std::result::Result<_, _>>().map(Counts)
}

impl Drop for Store {
    fn drop(&mut self) {
        // Without a log, a server that is stopped in order forgets what is in no snapshot.
        if self.without_log && self.server.is_running() {
            // One that can't write it has nobody to tell.
            let _ = self.call("bakeoff_drain", |out| put_array(out, 0));
        }
    }
}

impl kv::Store for Store {
    type Read<'s> = Transaction<'s>;
    type Write<'s> = Transaction<'s>;
    type Bulk<'s> = Load<'s>;

    fn read(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self, Use::Read)
    }

    fn find(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self, Use::Find)
    }

    fn write(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self, Use::Write)
    }

    fn bulk(&self) -> Result<Load<'_>> {
        Load::begin(self)
    }

    fn drain(&self) -> Result<()> {
        self.call("bakeoff_drain", |out| put_array(out, 0))?;
        // It syncs its files, and not the folders that have their names.
        files::sync_all(&self.data)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // A server that has gone counts nothing any more; whoever uses it next says so.
        let now = self.counts("bakeoff_counters").and_then(|now| now.numbers());
        let now: [u64; COUNTERS.len()] = now.unwrap_or(self.before);
        let since = now.iter().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        COUNTERS.into_iter().zip(since).collect()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.since.debt(&self.counts(debt::FUNCTION)?).map(Some)
    }

    fn writes_back(&self) -> &'static [&'static str] {
        match self.storage {
            Storage::Memtx => &[],
            Storage::Vinyl => &["vinyl dumps", "vinyl bytes compacted"],
        }
    }

    fn server(&self) -> Option<u32> {
        Some(self.server.pid())
    }

    fn address(&self, _: &Path) -> Address {
        Address::Server(ServerAddress {
            listens: Listens::Socket(self.server.socket().into()),
            user: USER.into(),
            password: Some(Secret::new(PASSWORD)),
            database: self.storage.engine().into(),
        })
    }
}
