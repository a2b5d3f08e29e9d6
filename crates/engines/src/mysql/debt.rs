//! Reads a private server's debt, on a separate connection.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{ServedData, StorageEngine, error, upkeep};
use crate::served::KeptConnection;
use crate::{Debt, Error, Result};

mod aria;
mod innodb;
mod rocksdb;

trait StorageDebt: Send + Sync {
    fn measure_debt(&self, server: &mut Conn) -> Result<Debt>;
}

pub(super) struct MariaDbDebtWatch {
    server: KeptConnection<Conn>,
    owes: Box<dyn StorageDebt>,
}

impl MariaDbDebtWatch {
    pub fn begin(mut server: Conn, storage: StorageEngine, private: &ServedData) -> Result<Self> {
        let owes: Box<dyn StorageDebt> = match storage {
            StorageEngine::InnoDb => Box::new(innodb::InnoDb::since_now(&mut server)?),
            StorageEngine::RocksDb => Box::new(rocksdb::RocksDb::since_now(&mut server)?),
            StorageEngine::Aria => Box::new(aria::Aria::since_now(&private.folder)),
        };
        Ok(Self { server: KeptConnection::new(server), owes })
    }

    pub fn measure_debt(&self, connect: impl FnOnce() -> Result<Conn>) -> Result<Debt> {
        self.server.ask(connect, |server| self.owes.measure_debt(server))
    }
}

fn read_status<const N: usize>(server: &mut Conn, names: &[&'static str; N]) -> Result<[u64; N]> {
    let found = upkeep::read_status(server, names)?;
    let mut values = [0; N];
    for (value, name) in values.iter_mut().zip(names) {
        let there = found.iter().find(|(found, _)| found == name);
        *value = there.ok_or_else(|| Error::from_engine(format!("the server has no {name}")))?.1;
    }
    Ok(values)
}

fn ask_one<T: mysql::prelude::FromRow>(server: &mut Conn, question: &str) -> Result<T> {
    let answer = server.query_first(question).map_err(error::to_error)?;
    answer.ok_or_else(|| Error::from_engine(format!("the server has no answer to {question}")))
}
