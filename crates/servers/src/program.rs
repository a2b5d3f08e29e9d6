//! Which servers there are.

use std::fmt;

/// A server that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// MariaDB, with its storage engines.
    MariaDb,
    /// PostgreSQL.
    Postgres,
}

impl fmt::Display for Program {
    /// Its name, as its users write it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::Postgres => "PostgreSQL",
        })
    }
}
