use std::io::{self, ErrorKind};

use mysql::{DriverError, Error as Failure};

use super::login;
use crate::Error;
use crate::external::tls;
use crate::survey::explain_silence;

/// Codes of errors (mariadb.com/kb/en/mariadb-error-codes).
const DUPLICATE: u16 = 1062;
const DUPLICATE_NAMED: u16 = 1586;
const ROW_CHANGED: u16 = 1020;
const DIVISION_BY_ZERO: u16 = 1365;
const UNKNOWN_VARIABLE: u16 = 1193;
const LOCK_WAIT_TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;
const INTERRUPTED: u16 = 1317;
const SHUTDOWN: u16 = 1053;
const CONNECTION_KILLED: u16 = 1927;
const SESSION_WAS_KILLED: u16 = 3169;
const IDLE_TOO_LONG: u16 = 4031;
/// What the server says of a login without one.
const NO_PASSWORD: &str = "(using password: NO)";
const NO_RIGHT_TO_DATABASE: u16 = 1044;
const ACCESS_DENIED: u16 = 1045;
const SYNTAX: u16 = 1064;
const UNKNOWN_DATABASE: u16 = 1049;
const UNKNOWN_ENGINE: u16 = 1286;

pub(super) fn to_error(failure: Failure) -> Error {
    let what = explain_failure(&failure);
    let Failure::MySqlError(answer) = failure else { return Error::from_engine(what) };
    match answer.code {
        DEADLOCK | LOCK_WAIT_TIMEOUT | ROW_CHANGED | INTERRUPTED => Error::Conflict(what),
        DUPLICATE | DUPLICATE_NAMED => Error::Duplicate(what),
        // An upsert reports this if it met the row of another key: see `crate::sql`.
        DIVISION_BY_ZERO => {
            Error::Duplicate("another row has these columns of a unique index".into())
        }
        _ => Error::from_engine(what),
    }
}

/// The server's own message, or the library's, without the names of the library's types.
pub(super) fn explain_failure(failure: &Failure) -> String {
    match failure {
        Failure::MySqlError(answer) => answer.message.clone(),
        Failure::IoError(error) => error.to_string(),
        Failure::CodecError(error) => {
            find_io(failure).map_or_else(|| error.to_string(), ToString::to_string)
        }
        Failure::DriverError(error) => error.to_string(),
        Failure::UrlError(error) => error.to_string(),
        Failure::TlsError(error) => error.to_string(),
        Failure::FromValueError(mysql::Value::Bytes(_)) => {
            "a text that it holds is not UTF-8".into()
        }
        Failure::FromValueError(_) => "a value that it holds can't be read".into(),
        Failure::FromRowError(_) => "a row that it holds can't be read".into(),
    }
}

fn find_io(failure: &Failure) -> Option<&io::Error> {
    match failure {
        Failure::IoError(error) => Some(error),
        Failure::CodecError(error) => std::error::Error::source(error)?.downcast_ref(),
        _ => None,
    }
}

/// What to write where the server doesn't know a RETURNING that stands in a text.
pub(super) fn explain_returning(text: &str, failure: &Failure) -> Option<String> {
    let is_syntax = matches!(failure, Failure::MySqlError(answer) if answer.code == SYNTAX);
    let mut words = text.split_whitespace().map(str::to_uppercase);
    let first = words.next()?;
    let returns = words.any(|word| word == "RETURNING");
    (is_syntax && returns).then(|| {
        format!(
            "the server has no {first} … RETURNING: read the row by SELECT … FOR UPDATE in the same \
             transaction, and write {first} without RETURNING, which runs everywhere; where nothing \
             reads the answer, write that alone below `-- mysql:`"
        )
    })
}

pub(super) fn is_lost(failure: &Failure) -> bool {
    match failure {
        Failure::IoError(_) | Failure::CodecError(_) => true,
        Failure::DriverError(DriverError::MismatchedStmtParams(..)) => false,
        Failure::DriverError(_) => true,
        Failure::MySqlError(answer) => {
            matches!(answer.code, SHUTDOWN | CONNECTION_KILLED | SESSION_WAS_KILLED | IDLE_TOO_LONG)
        }
        _ => false,
    }
}

pub(super) fn is_unreachable(failure: &Failure) -> bool {
    use DriverError::{ConnectTimeout, CouldNotConnect};
    matches!(failure, Failure::DriverError(CouldNotConnect(_) | ConnectTimeout))
}

fn tls_refusal(failure: &Failure) -> Option<String> {
    match failure {
        Failure::IoError(error) => tls::find_refusal(error).map(ToString::to_string),
        Failure::CodecError(error) => tls::find_refusal(error).map(ToString::to_string),
        Failure::TlsError(error) => Some(error.to_string()),
        _ => None,
    }
}

pub(super) fn is_of_tls(failure: &Failure) -> bool {
    let none = matches!(failure, Failure::DriverError(DriverError::TlsNotSupported));
    none || tls_refusal(failure).is_some()
}

pub(super) fn no_connection(failure: &Failure) -> String {
    if let Failure::DriverError(DriverError::TlsNotSupported) = failure {
        return "the server offers no TLS: give it a certificate (ssl_cert, ssl_key), or write \
                ssl-mode=DISABLED in the URL to go without, so that everybody on the way can read \
                what is sent"
            .into();
    }
    if let Some(refusal) = tls_refusal(failure) {
        return format!(
            "the server's certificate is refused: {refusal}; name its authority's certificate by \
             ssl-ca=FILE and the server by the name in its certificate, or write \
             ssl-mode=REQUIRED in the URL to take any certificate"
        );
    }
    if let Some(unknown) = login::explain_unknown_way(failure) {
        return unknown;
    }
    let Failure::MySqlError(answer) = failure else {
        let why = match failure {
            Failure::DriverError(DriverError::CouldNotConnect(Some((_, why, _)))) => why.clone(),
            other => match find_io(other) {
                Some(error) if error.kind() == ErrorKind::WouldBlock => explain_silence(),
                _ => explain_failure(other),
            },
        };
        return format!(
            "no connection to the server: {why}; look whether it is running, and whether the URL's \
             host, port or socket is right"
        );
    };
    let advice = match answer.code {
        ACCESS_DENIED if answer.message.contains(NO_PASSWORD) => {
            ": no password was given; write it into the URL (user:password@host), into MYSQL_PWD, \
             or into the file that password-file names"
        }
        ACCESS_DENIED => {
            ": are the URL's user and password right, and may this user come from here?"
        }
        NO_RIGHT_TO_DATABASE => ": give this user the rights to the URL's database",
        UNKNOWN_DATABASE => ": create the database first, or name another one in the URL",
        UNKNOWN_ENGINE => {
            ": install the plugin of this storage engine, or name another one after #"
        }
        _ => "",
    };
    format!("the server refuses a session: {}{advice}", answer.message)
}

/// Whether the server was told to stop in the middle: nobody knows how far a commit came.
pub(super) fn is_interrupted(failure: &Failure) -> bool {
    matches!(failure, Failure::MySqlError(answer) if answer.code == INTERRUPTED)
}

pub(super) fn is_unknown_variable(failure: &Failure) -> bool {
    matches!(failure, Failure::MySqlError(answer) if answer.code == UNKNOWN_VARIABLE)
}
