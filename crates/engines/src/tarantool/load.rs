//! Bulk loads: tuples in calls of many, each a transaction.

use super::client::{RequestPrefix, TarantoolConnection};
use super::pack::{put_array, put_int, put_text};
use super::store::TarantoolStore;
use crate::{Result, kv};

/// Tuples, and about how many bytes, per call.
const TUPLES: usize = 1000;
const BYTES: usize = 1 << 20;

pub(super) struct TarantoolBulkWriter<'s> {
    store: &'s TarantoolStore,
    client: TarantoolConnection,
    call: RequestPrefix,
    space: usize,
    tuples: Vec<u8>,
    count: usize,
    /// Spaces with tuples: they are emptied if the load is given up.
    filled: Vec<usize>,
}

impl<'s> TarantoolBulkWriter<'s> {
    pub fn begin(store: &'s TarantoolStore) -> Result<Self> {
        Ok(Self {
            store,
            client: store.take_client()?,
            call: RequestPrefix::call("bakeoff_load"),
            space: 0,
            tuples: Vec::new(),
            count: 0,
            filled: Vec::new(),
        })
    }

    fn send(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        if self.filled.last() != Some(&self.space) {
            self.filled.push(self.space);
        }
        let (id, count, tuples) = (self.store.id(self.space), self.count, &self.tuples);
        let answer = self.client.ask(&self.call, |out| {
            put_array(out, 2);
            put_int(out, id.into());
            put_array(out, count);
            out.extend_from_slice(tuples);
        });
        answer.map(drop).map_err(|failure| self.store.to_error(failure))?;
        self.tuples.clear();
        self.count = 0;
        Ok(())
    }
}

impl kv::BulkWriter for TarantoolBulkWriter<'_> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        if space != self.space || self.count == TUPLES || self.tuples.len() > BYTES {
            self.send()?;
            self.space = space;
        }
        put_array(&mut self.tuples, 2);
        put_text(&mut self.tuples, key);
        put_text(&mut self.tuples, value);
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.send()?;
        self.filled.clear();
        Ok(())
    }
}

impl Drop for TarantoolBulkWriter<'_> {
    fn drop(&mut self) {
        for space in std::mem::take(&mut self.filled) {
            let id = self.store.id(space);
            let _ = self.store.call_function("bakeoff_empty", |out| {
                put_array(out, 1);
                put_int(out, id.into());
            });
        }
    }
}
