//! A running server: its spaces, its connections, and what it is asked.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bakeoff_servers::PrivateServer;

use super::client::{RequestPrefix, TarantoolConnection};
use super::counts::{ReturnedCounts, counts};
use super::debt;
use super::failure::TarantoolFailure;
use super::pack::{put_array, put_text};
use super::storage::{LoggedStorage, TarantoolStorage};
use crate::served::{ENDING, KeptConnection};
use crate::{Durability, Error, Result};

/// The user that a data folder is initialised with, and what the user has to know: the folder of the socket
/// is what keeps others away.
pub(super) const USER: &str = "bakeoff";
pub(super) const PASSWORD: &str = "bakeoff";

/// A new connection.
fn connect(server: &PrivateServer) -> Result<TarantoolConnection> {
    TarantoolConnection::connect(server.socket(), USER, PASSWORD)
        .map_err(|failure| error(server, failure))
}

/// What a failure is in the contract's terms. The number of an error is that of errcode.h.
fn error(server: &PrivateServer, failure: TarantoolFailure) -> Error {
    const TRANSACTION_CONFLICT: u64 = 97;
    match failure {
        TarantoolFailure::Refused { code: TRANSACTION_CONFLICT, message } => {
            Error::Conflict(message)
        }
        TarantoolFailure::Lost(_) if server.ends_within(ENDING) => Error::engine(format!(
            "the server has ended ({failure}); the end of its log:\n{}",
            server.log()
        )),
        TarantoolFailure::Lost(_) => Error::Conflict(failure.to_string()),
        TarantoolFailure::Refused { .. } | TarantoolFailure::Garbled(_) => Error::engine(failure),
    }
}

/// Makes spaces where they are not there; their numbers, in the order of their names.
fn make_spaces(
    storage: TarantoolStorage,
    client: &mut TarantoolConnection,
    names: &[String],
) -> Result<Vec<u32>> {
    let answer = client.ask(&RequestPrefix::call("bakeoff_open"), |out| {
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
    pub get: RequestPrefix,
    pub scan: RequestPrefix,
    pub commit: RequestPrefix,
    pub finish: RequestPrefix,
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
pub(super) struct TarantoolStore {
    /// Where the tables are.
    pub storage: TarantoolStorage,
    without_log: bool,
    /// The folder of its data.
    pub data: PathBuf,
    /// Connections that no transaction has.
    idle: Mutex<Vec<TarantoolConnection>>,
    watch: KeptConnection<TarantoolConnection>,
    /// What it owed at the opening.
    pub since: debt::TarantoolDebtState,
    /// The counters as they stood at the opening.
    pub before: [u64; COUNTERS.len()],
    /// The numbers of the spaces.
    ids: Vec<u32>,
    /// The requests that find a key in each space.
    pub finds: Vec<RequestPrefix>,
    /// The calls that transactions make.
    pub calls: Calls,
    /// Its process.
    pub server: PrivateServer,
}

impl TarantoolStore {
    /// Of a server that has just started, with the spaces of these names.
    ///
    /// # Errors
    /// The server's.
    pub fn new(
        logged: LoggedStorage,
        server: PrivateServer,
        directory: &Path,
        durability: Durability,
        names: &[String],
    ) -> Result<Self> {
        let storage = logged.storage;
        let mut client = connect(&server)?;
        let ids = make_spaces(storage, &mut client, names)?;
        let ask = |client: &mut TarantoolConnection, function| {
            counts(client, function).map_err(|failure| error(&server, failure))
        };
        let since = debt::TarantoolDebtState::now(storage, &ask(&mut client, debt::FUNCTION)?)?;
        let before = ask(&mut client, "bakeoff_counters")?.numbers()?;
        let functions = ["bakeoff_get", "bakeoff_scan", "bakeoff_commit", "bakeoff_finish"];
        let [get, scan, commit, finish] = functions.map(RequestPrefix::call);
        Ok(Self {
            storage,
            without_log: logged.is_without_log(durability),
            data: directory.join("data"),
            idle: Mutex::default(),
            watch: KeptConnection::new(client),
            since,
            before,
            finds: ids.iter().map(|id| RequestPrefix::find(*id)).collect(),
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
    pub fn take_client(&self) -> Result<TarantoolConnection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect(&self.server), Ok)
    }

    /// Takes a connection back that is still of use.
    pub fn give_back(&self, client: TarantoolConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    /// What a failure of a request is in the contract's terms.
    pub fn error(&self, failure: TarantoolFailure) -> Error {
        error(&self.server, failure)
    }

    /// Calls a function that gives back nothing of interest.
    ///
    /// # Errors
    /// The server's.
    pub fn call(&self, function: &str, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut client = self.take_client()?;
        let answer = client.ask(&RequestPrefix::call(function), put).map(drop);
        answer.map_err(|failure| self.error(failure))?;
        self.give_back(client);
        Ok(())
    }

    /// Asks a function for numbers, on the connection that is kept for that.
    ///
    /// # Errors
    /// The server's.
    pub fn counts(&self, function: &str) -> Result<ReturnedCounts> {
        let question = |client: &mut TarantoolConnection| {
            counts(client, function).map_err(|failure| self.error(failure))
        };
        self.watch.ask(|| connect(&self.server), question)
    }
}

impl Drop for TarantoolStore {
    fn drop(&mut self) {
        // Without a log, a server that is stopped in order forgets what is in no snapshot.
        if self.without_log && self.server.is_running() {
            // Whether it could is told to nobody: the level promises nothing.
            let _ = self.call("bakeoff_drain", |out| put_array(out, 0));
        }
    }
}
