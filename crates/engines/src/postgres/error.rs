//! A server's errors as errors of the contract.

use std::io;

use postgres::error::SqlState;

use crate::Error;
use crate::external::tls;

/// Why a statement of a session has no answer.
#[derive(Debug)]
pub(super) enum WireFailure {
    Refused(ServerRefusal),
    /// The connection can't be used any more.
    Lost(io::Error),
    /// A parameter or a cell that can't be converted.
    Unfit(String),
}

/// An error that the server has told.
#[derive(Debug)]
pub(super) struct ServerRefusal {
    pub code: SqlState,
    pub ends_session: bool,
    pub what: String,
}

impl WireFailure {
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.ends_session,
            Self::Lost(_) => true,
            Self::Unfit(_) => false,
        }
    }

    pub fn explain(&self) -> String {
        match self {
            Self::Refused(ServerRefusal { what, .. }) | Self::Unfit(what) => what.clone(),
            Self::Lost(error) => error.to_string(),
        }
    }

    /// [`Self::is_lost`] tells whether the connection is gone.
    pub fn to_error(&self) -> Error {
        let code = match self {
            Self::Refused(refusal) => Some(&refusal.code),
            _ => None,
        };
        explain_code(code, self.explain())
    }
}

impl From<io::Error> for WireFailure {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

pub(super) fn to_error(failure: postgres::Error) -> Error {
    explain_code(failure.code(), explain_failure(&failure))
}

fn explain_code(code: Option<&SqlState>, what: String) -> Error {
    match code {
        Some(
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE,
        ) => Error::Conflict(what),
        Some(&SqlState::UNIQUE_VIOLATION) => Error::Duplicate(what),
        Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE) => Error::Usage(what),
        _ => Error::from_engine(what),
    }
}

pub(super) fn explain_failure(failure: &postgres::Error) -> String {
    match failure.as_db_error() {
        Some(answer) => join_words(answer.message(), [answer.detail(), answer.hint()]),
        None => {
            let behind = std::error::Error::source(failure);
            behind.map_or_else(|| failure.to_string(), |behind| format!("{failure}: {behind}"))
        }
    }
}

/// An error's message, detail and hint.
pub(super) fn join_words(message: &str, more: [Option<&str>; 2]) -> String {
    more.into_iter().flatten().fold(message.into(), |text, more| format!("{text}; {more}"))
}

pub(super) fn is_ended(failure: &postgres::Error) -> bool {
    let behind = || std::error::Error::source(failure)?.downcast_ref::<io::Error>();
    match failure.code() {
        Some(code) => *code == SqlState::ADMIN_SHUTDOWN,
        None => {
            failure.is_closed()
                || behind().is_some_and(|error| {
                    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
                    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
                })
        }
    }
}

/// The library's words where the server asks for a password and there is none.
pub(super) const NO_PASSWORD: &str = "password missing";
/// How the library's words for ways to log in begin that it does not know.
const UNKNOWN_WAY: &str = "unsupported ";

pub(super) fn no_connection(failure: &postgres::Error, what: &str) -> String {
    let behind = std::error::Error::source(failure).map(ToString::to_string).unwrap_or_default();
    if behind.starts_with(UNKNOWN_WAY) {
        return format!(
            "the server asks this user for a way to log in that bakeoff does not know ({behind}), as GSSAPI and \
             SSPI are: give it scram-sha-256 in the line of pg_hba.conf for its database and host"
        );
    }
    if behind == NO_PASSWORD {
        return "the server asks for a password, and there is none (password missing)".into();
    }
    let advice = match failure.code() {
        None => None,
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            Some(": are the URL's user and password right, and may this user come from here?")
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            Some(": create the database first, or name another one in the URL")
        }
        Some(&SqlState::PROTOCOL_VIOLATION) => Some(
            ": a pooler seems to stand before the server; name the server's own host and port, or \
             its socket",
        ),
        Some(_) => Some(""),
    };
    if let Some(advice) = advice {
        return format!("the server refuses a session: {what}{advice}");
    }
    if let Some(refusal) = tls::find_refusal(failure) {
        return format!(
            "the server's certificate is refused: {refusal}; name its authority's certificate by \
             sslrootcert=FILE and the server by the name in its certificate, or write \
             sslmode=require in the URL to take any certificate"
        );
    }
    if what.contains("does not support TLS") {
        return "the server offers no TLS: turn it on there (ssl = on), or write sslmode=disable in \
                the URL to go without, so that everybody on the way can read what is sent"
            .into();
    }
    format!(
        "no connection to the server: {what}; look whether it is running, and whether the URL's \
         host, port or socket is right"
    )
}
