//! What can go wrong in an engine, and whose fault it is.

/// What can go wrong in an engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine wants the whole transaction run again: a conflict, a deadlock, a lock that took
    /// too long.
    #[error("conflict: {0}")]
    Conflict(String),
    /// A row with this key, or these columns of a unique index, is there already.
    #[error("duplicate: {0}")]
    Duplicate(String),
    /// The connection was lost while a commit was under way: the transaction may have taken effect
    /// or not, and nobody can tell without looking. Running it again could do its work twice.
    #[error("it is not known whether the commit took effect: {0}")]
    InDoubt(String),
    /// The contract was not kept by the caller.
    #[error("misuse of an engine: {0}")]
    Usage(String),
    /// Whatever the engine itself says.
    #[error("{0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps what an engine says.
    pub fn engine(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Engine(error.into())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::engine(error)
    }
}

/// What an engine's call returns.
pub type Result<T> = std::result::Result<T, Error>;
