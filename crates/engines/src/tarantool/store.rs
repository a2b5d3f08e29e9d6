//! A running server: its spaces, its connections, and the requests to it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::servers::PrivateServer;

use super::client::{RequestPrefix, TarantoolConnection};
use super::counts::{ReturnedCounts, call_for_counts};
use super::debt;
use super::failure::TarantoolFailure;
use super::pack::{put_array, put_text};
use super::storage::{LoggedStorage, TarantoolStorage};
use crate::served::{ENDING, KeptConnection};
use crate::{Durability, Error, Result};

/// The user of a new data folder, and its password: the socket's folder keeps others away.
pub(super) const USER: &str = "bakeoff";
pub(super) const PASSWORD: &str = "bakeoff";

fn connect_to(server: &PrivateServer) -> Result<TarantoolConnection> {
    TarantoolConnection::connect(server.socket(), USER, PASSWORD)
        .map_err(|failure| to_error(server, failure))
}

/// Error numbers are those of errcode.h.
fn to_error(server: &PrivateServer, failure: TarantoolFailure) -> Error {
    const TRANSACTION_CONFLICT: u64 = 97;
    match failure {
        TarantoolFailure::Refused { code: TRANSACTION_CONFLICT, message } => {
            Error::Conflict(message)
        }
        TarantoolFailure::Lost(_) if server.ends_within(ENDING) => Error::from_engine(format!(
            "the server has ended ({failure}); the end of its log:\n{}",
            server.log()
        )),
        TarantoolFailure::Lost(_) => Error::Conflict(failure.to_string()),
        TarantoolFailure::Refused { .. } | TarantoolFailure::Garbled(_) => {
            Error::from_engine(failure)
        }
    }
}

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
        answer.take_array()?;
        let count = answer.take_array()?;
        let id = |_| Ok(u32::try_from(answer.take_int()?).unwrap_or(u32::MAX));
        (0..count).map(id).collect()
    });
    ids.map_err(Error::from_engine)
}

pub(super) struct Calls {
    pub get: RequestPrefix,
    pub scan: RequestPrefix,
    pub commit: RequestPrefix,
    pub finish: RequestPrefix,
}

/// In the order of `bakeoff_counters`.
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

pub(super) struct TarantoolStore {
    pub storage: TarantoolStorage,
    without_log: bool,
    pub data: PathBuf,
    idle: Mutex<Vec<TarantoolConnection>>,
    watch: KeptConnection<TarantoolConnection>,
    pub since: debt::TarantoolDebtState,
    pub before: [u64; COUNTERS.len()],
    ids: Vec<u32>,
    pub finds: Vec<RequestPrefix>,
    pub calls: Calls,
    pub server: PrivateServer,
}

impl TarantoolStore {
    pub fn new(
        logged: LoggedStorage,
        server: PrivateServer,
        directory: &Path,
        durability: Durability,
        names: &[String],
    ) -> Result<Self> {
        let storage = logged.storage;
        let mut client = connect_to(&server)?;
        let ids = make_spaces(storage, &mut client, names)?;
        let ask = |client: &mut TarantoolConnection, function| {
            call_for_counts(client, function).map_err(|failure| to_error(&server, failure))
        };
        let since =
            debt::TarantoolDebtState::from_counts(storage, &ask(&mut client, debt::FUNCTION)?)?;
        let before = ask(&mut client, "bakeoff_counters")?.to_numbers()?;
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

    pub fn id(&self, space: usize) -> u32 {
        self.ids[space]
    }

    pub fn take_client(&self) -> Result<TarantoolConnection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect_to(&self.server), Ok)
    }

    pub fn give_back(&self, client: TarantoolConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    pub fn to_error(&self, failure: TarantoolFailure) -> Error {
        to_error(&self.server, failure)
    }

    pub fn call_function(&self, function: &str, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut client = self.take_client()?;
        let answer = client.ask(&RequestPrefix::call(function), put).map(drop);
        answer.map_err(|failure| self.to_error(failure))?;
        self.give_back(client);
        Ok(())
    }

    pub fn ask_counts(&self, function: &str) -> Result<ReturnedCounts> {
        let question = |client: &mut TarantoolConnection| {
            call_for_counts(client, function).map_err(|failure| self.to_error(failure))
        };
        self.watch.ask(|| connect_to(&self.server), question)
    }
}

impl Drop for TarantoolStore {
    fn drop(&mut self) {
        // Without a log, a server that is stopped in order forgets what is in no snapshot.
        if self.without_log && self.server.is_running() {
            // A failure doesn't matter: the level promises nothing.
            let _ = self.call_function("bakeoff_drain", |out| put_array(out, 0));
        }
    }
}
