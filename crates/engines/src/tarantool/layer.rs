//! A running server, as the key-value layer uses it.

use std::path::Path;

use super::debt;
use super::load::TarantoolBulkWriter;
use super::pack::put_array;
use super::storage::TarantoolStorage;
use super::store::{COUNTERS, PASSWORD, TarantoolStore, USER};
use super::transaction::{TarantoolTransaction, Use};
use crate::external::password::Secret;
use crate::{DatabaseAddress, Debt, ListenAddress, Result, ServerAddress, files, kv};

impl kv::KeyValueStore for TarantoolStore {
    type Read<'s> = TarantoolTransaction<'s>;
    type Write<'s> = TarantoolTransaction<'s>;
    type Bulk<'s> = TarantoolBulkWriter<'s>;

    fn read(&self) -> Result<TarantoolTransaction<'_>> {
        TarantoolTransaction::begin(self, Use::Read)
    }

    fn read_one(&self) -> Result<TarantoolTransaction<'_>> {
        TarantoolTransaction::begin(self, Use::Find)
    }

    fn write(&self) -> Result<TarantoolTransaction<'_>> {
        TarantoolTransaction::begin(self, Use::Write)
    }

    fn bulk_load(&self) -> Result<TarantoolBulkWriter<'_>> {
        TarantoolBulkWriter::begin(self)
    }

    fn drain(&self) -> Result<()> {
        self.call_function("bakeoff_drain", |out| put_array(out, 0))?;
        // Tarantool syncs its files, but not the folders with their names.
        files::sync_all(&self.data)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // A server that is gone counts nothing; its next caller reports that.
        let now = self.ask_counts("bakeoff_counters").and_then(|now| now.to_numbers());
        let now: [u64; COUNTERS.len()] = now.unwrap_or(self.before);
        let since = now.iter().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        COUNTERS.into_iter().zip(since).collect()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        self.since.measure_debt(&self.ask_counts(debt::FUNCTION)?).map(Some)
    }

    fn writes_back(&self) -> &'static [&'static str] {
        match self.storage {
            TarantoolStorage::Memtx => &[],
            TarantoolStorage::Vinyl => &["vinyl dumps", "vinyl bytes compacted"],
        }
    }

    fn server(&self) -> Option<u32> {
        Some(self.server.pid())
    }

    fn address(&self, _: &Path) -> DatabaseAddress {
        DatabaseAddress::Server(ServerAddress {
            listens: ListenAddress::Socket(self.server.socket().into()),
            user: USER.into(),
            password: Some(Secret::new(PASSWORD)),
            database: self.storage.engine().into(),
        })
    }
}
