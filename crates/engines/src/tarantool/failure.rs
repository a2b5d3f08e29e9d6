//! Errors of a request.

use std::io;

#[derive(Debug, thiserror::Error)]
pub(super) enum TarantoolFailure {
    /// Whether the request had an effect is not known.
    #[error("the connection was lost: {0}")]
    Lost(#[from] io::Error),
    #[error("{message}")]
    Refused { code: u64, message: String },
    /// The answer breaks the protocol; the connection can't be used any more.
    #[error("Tarantool's answer can't be read: {0}")]
    Garbled(&'static str),
}

pub(super) type Result<T> = std::result::Result<T, TarantoolFailure>;
