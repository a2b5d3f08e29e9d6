//! A running server: its spaces, its connections, and what it is asked.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bakeoff_servers::Server;

use super::client::{Client, Request};
use super::counts::{Counts, counts};
use super::debt;
use super::failure::Failure;
use super::pack::{put_array, put_text};
use super::storage::{Logged, Storage};
use crate::served::{ENDING, Kept};
use crate::{Durability, Error, Result};

/// The user that a data folder is initialised with, and what the user has to know: the folder of the socket
/// is what keeps others away.
pub(super) const USER: &str = "bakeoff";
pub(super) const PASSWORD: &str = "bakeoff";

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

/// The calls of stored functions, by what they do.
pub(super) struct Calls {
    pub get: Request,
    pub scan: Request,
    pub commit: Request,
    pub finish: Request,
}

/// What the server counts, by the order of `bakeoff_counters`.
pub(super) const COUNTERS: [&str; 10] = [
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

/// A running server.
pub(super) struct Store {
    /// Where the tables are.
    pub storage: Storage,
    without_log: bool,
    /// The folder of its data.
    pub data: PathBuf,
    /// Connections that no transaction has.
    idle: Mutex<Vec<Client>>,
    watch: Kept<Client>,
    /// What it owed at the opening.
    pub since: debt::Since,
    /// The counters as they stood at the opening.
    pub before: [u64; COUNTERS.len()],
    /// The numbers of the spaces.
    ids: Vec<u32>,
    /// The requests that find a key in each space.
    pub finds: Vec<Request>,
    /// The calls that transactions make.
    pub calls: Calls,
    /// Its process.
    pub server: Server,
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
    ///
    /// # Errors
    /// The server's.
    pub fn counts(&self, function: &str) -> Result<Counts> {
        let question =
            |client: &mut Client| counts(client, function).map_err(|failure| self.error(failure));
        self.watch.ask(|| connect(&self.server), question)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Without a log, a server that is stopped in order forgets what is in no snapshot.
        if self.without_log && self.server.is_running() {
            // Whether it could is told to nobody: the level promises nothing.
            let _ = self.call("bakeoff_drain", |out| put_array(out, 0));
        }
    }
}
