//! What a private server owes, asked for on a connection of its own.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{PrivateMariaDb, StorageEngine, error, upkeep};
use crate::served::KeptConnection;
use crate::{Debt, Error, Result};

mod aria;
mod innodb;
mod rocksdb;

/// What one storage engine owes, since the database was opened.
trait StorageDebt: Send + Sync {
    fn debt(&self, server: &mut Conn) -> Result<Debt>;
}

/// Looks at what is owed.
pub(super) struct MariaDbDebtWatch {
    server: KeptConnection<Conn>,
    owes: Box<dyn StorageDebt>,
}

impl MariaDbDebtWatch {
    /// Begins to watch the server on this connection.
    pub fn begin(
        mut server: Conn,
        storage: StorageEngine,
        private: &PrivateMariaDb,
    ) -> Result<Self> {
        let owes: Box<dyn StorageDebt> = match storage {
            StorageEngine::InnoDb => Box::new(innodb::InnoDb::since_now(&mut server)?),
            StorageEngine::RocksDb => Box::new(rocksdb::RocksDb::since_now(&mut server)?),
            StorageEngine::Aria => Box::new(aria::Aria::since_now(&private.data)),
        };
        Ok(Self { server: KeptConnection::new(server), owes })
    }

    /// What is owed now.
    pub fn debt(&self, connect: impl FnOnce() -> Result<Conn>) -> Result<Debt> {
        self.server.ask(connect, |server| self.owes.debt(server))
    }
}

/// Status variables of these names, as they stand.
fn status<const N: usize>(server: &mut Conn, names: &[&'static str; N]) -> Result<[u64; N]> {
    let found = upkeep::status(server, names)?;
    let mut values = [0; N];
    for (value, name) in values.iter_mut().zip(names) {
        let there = found.iter().find(|(found, _)| found == name);
        *value = there.ok_or_else(|| Error::engine(format!("the server has no {name}")))?.1;
    }
    Ok(values)
}

/// The only answer to a question.
fn one<T: mysql::prelude::FromRow>(server: &mut Conn, question: &str) -> Result<T> {
    let answer = server.query_first(question).map_err(error::plain)?;
    answer.ok_or_else(|| Error::engine(format!("the server has no answer to {question}")))
}
