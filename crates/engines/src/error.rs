//! Errors of engines, and whose fault they are.

/// An error of an engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Run the whole transaction again: a conflict, a deadlock, or a lock that took too long.
    #[error("conflict: {0}")]
    Conflict(String),
    /// A row with this key, or with these columns of a unique index, exists.
    #[error("duplicate: {0}")]
    Duplicate(String),
    /// The connection was lost during a commit, so nobody knows whether it took effect. Running the
    /// transaction again could do its work twice.
    #[error("it is not known whether the commit took effect: {0}")]
    InDoubt(String),
    /// The caller broke the contract.
    #[error("{0}")]
    Usage(String),
    /// Any other error of the engine.
    #[error("{0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps the engine's own error.
    pub fn from_engine(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Engine(error.into())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::from_engine(error)
    }
}

/// The result of an engine's call.
pub type Result<T> = std::result::Result<T, Error>;
