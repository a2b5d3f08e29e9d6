//! What can go wrong with a request.

use std::io;

/// What can go wrong with a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum TarantoolFailure {
    /// The connection is gone; whether the request had an effect is not known.
    #[error("the connection was lost: {0}")]
    Lost(#[from] io::Error),
    /// The server has refused the request.
    #[error("{message}")]
    Refused {
        /// The number of its error (errcode.h).
        code: u64,
        /// What it says.
        message: String,
    },
    /// An answer that the protocol does not have; the connection can't be used any more.
    #[error("Tarantool's answer can't be read: {0}")]
    Garbled(&'static str),
}

/// What a request or a part of an answer gives.
pub(super) type Result<T> = std::result::Result<T, TarantoolFailure>;
