//! Transactions over a server's ordered key spaces, for the key-value layer.
//!
//! A transaction's writes wait here, where it sees them; its commit sends them in one call.
//! `memtx.lua` and `vinyl.lua` say how each storage keeps a snapshot: memtx returns changes since
//! the begin with their old values, which are put in place here.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use super::client::TarantoolConnection;
use super::failure::TarantoolFailure;
use super::pack::{MessagePackReader, put_array, put_int, put_text};
use super::storage::TarantoolStorage;
use super::store::TarantoolStore;
use crate::kv::{self, Visit};
use crate::{Error, Result};

/// How many tuples of a range are read at first, and then at a time.
const FEW: usize = 64;
const MANY: usize = 4096;

const NONE: i64 = -1;

type SpaceChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Find,
    Read,
    Write,
}

pub(super) struct TarantoolTransaction<'s> {
    store: &'s TarantoolStore,
    client: RefCell<Option<TarantoolConnection>>,
    purpose: Use,
    snapshot: Cell<i64>,
    /// The ranges read, packed, and their number, if a commit has to know.
    reads: RefCell<(usize, Vec<u8>)>,
    writes: Vec<SpaceChanges>,
}

impl<'s> TarantoolTransaction<'s> {
    /// The server hears of it by its first read.
    pub fn begin(store: &'s TarantoolStore, purpose: Use) -> Result<Self> {
        Ok(Self {
            store,
            client: RefCell::new(Some(store.take_client()?)),
            purpose,
            snapshot: Cell::new(NONE),
            reads: RefCell::default(),
            writes: Vec::new(),
        })
    }

    /// A connection that fails is used no more.
    fn with_client<T>(
        &self,
        work: impl FnOnce(&mut TarantoolConnection) -> std::result::Result<T, TarantoolFailure>,
    ) -> Result<T> {
        let mut client = self.client.borrow_mut();
        let open =
            client.as_mut().ok_or_else(|| Error::Conflict("the connection was lost".into()))?;
        work(open).map_err(|failure| {
            if !matches!(failure, TarantoolFailure::Refused { .. }) {
                *client = None;
            }
            self.store.to_error(failure)
        })
    }

    /// Takes the snapshot's number off an answer; false if the server no longer has it.
    fn take_snapshot(
        &self,
        answer: &mut MessagePackReader<'_>,
    ) -> std::result::Result<bool, TarantoolFailure> {
        answer.take_array()?;
        let mut rest = *answer;
        if rest.take_bool().is_ok() {
            return Ok(false);
        }
        let number = answer.take_int()?;
        self.snapshot
            .set(i64::try_from(number).map_err(|_| TarantoolFailure::Garbled("a snapshot"))?);
        Ok(true)
    }

    /// A commit may have to check whether the range has changed.
    fn remember_range(&self, space: usize, from: &[u8], to: &[u8]) {
        if self.purpose != Use::Write || self.store.storage == TarantoolStorage::Vinyl {
            return;
        }
        let mut reads = self.reads.borrow_mut();
        let (count, bytes) = &mut *reads;
        *count += 1;
        put_array(bytes, 3);
        put_int(bytes, self.store.id(space).into());
        put_text(bytes, from);
        put_text(bytes, to);
    }

    fn written_changes(&self, space: usize) -> Option<&SpaceChanges> {
        self.writes.get(space)
    }

    fn find(&self, space: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let put_key = |out: &mut Vec<u8>| {
            put_array(out, 1);
            put_text(out, key);
        };
        if self.purpose == Use::Find {
            return self.with_client(|client| {
                let mut found = client.ask(&self.store.finds[space], put_key)?;
                if found.take_array()? == 0 { Ok(None) } else { value(&mut found) }
            });
        }
        let mut found = self.find_all(space, &[key])?;
        Ok(found.pop().flatten())
    }

    fn find_all(&self, space: usize, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let found = self.with_client(|client| {
            let mut answer = client.ask(&self.store.calls.get, |out| {
                put_array(out, 3);
                put_int(out, self.snapshot.get());
                put_int(out, self.store.id(space).into());
                put_array(out, keys.len());
                keys.iter().for_each(|key| put_text(out, key));
            })?;
            if !self.take_snapshot(&mut answer)? {
                return Ok(None);
            }
            let count = answer.take_array()?;
            (0..count).map(|_| value(&mut answer)).collect::<std::result::Result<_, _>>().map(Some)
        })?;
        let found: Vec<_> = found.ok_or_else(too_old)?;
        if found.len() != keys.len() {
            return Err(self
                .store
                .to_error(TarantoolFailure::Garbled("not as many tuples as keys")));
        }
        keys.iter().for_each(|key| self.remember_range(space, key, &key_after(key)));
        Ok(found)
    }

    fn ask_for(&self, part: &RemainingRange<'_>, most: usize, into: &mut Vec<u8>) -> Result<()> {
        self.with_client(|client| {
            let answer = client.ask(&self.store.calls.scan, |out| {
                put_array(out, 6);
                put_int(out, self.snapshot.get());
                put_int(out, self.store.id(part.space).into());
                put_text(out, part.from);
                put_text(out, part.to);
                out.push(if part.reverse { 0xc3 } else { 0xc2 });
                put_int(out, most as i64);
            })?;
            into.clear();
            into.extend_from_slice(answer.0);
            Ok(())
        })
    }

    /// Visits a part of a range with the changes in place; returns where the rest begins, if there
    /// may be more.
    fn visit_part(
        &self,
        part: &RemainingRange<'_>,
        most: usize,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<(), Option<Vec<u8>>>> {
        let mut bytes = Vec::new();
        self.ask_for(part, most, &mut bytes)?;
        let garbled = |failure| self.store.to_error(failure);
        let mut answer = MessagePackReader(&bytes);
        if !self.take_snapshot(&mut answer).map_err(garbled)? {
            return Err(too_old());
        }
        let more = answer.take_bool().map_err(garbled)?;
        let mut found = Pairs::from_answer(&mut answer).map_err(garbled)?;
        let end = more.then(|| found.0.last().map(|(key, _)| *key)).flatten();
        let changed = Pairs::from_answer(&mut answer).map_err(garbled)?;
        let changes = changed.0.iter().map(|(key, value)| (*key, *value));
        let written =
            self.written_changes(part.space).map(|it| it.range::<[u8], _>(part.key_bounds()));
        let written = written.into_iter().flatten();
        let written = written.map(|(key, value)| (key.as_slice(), value.as_deref()));
        // The transaction's own writes come last: they win.
        let over: BTreeMap<&[u8], Option<&[u8]>> = changes.chain(written).collect();
        if !over.is_empty() {
            found.put_over(
                &over,
                |key| end.is_none_or(|end| part.covers_key(key, end)),
                part.reverse,
            );
        }
        for (key, value) in found.0 {
            let Some(value) = value else { continue };
            if visit(key, value)?.is_break() {
                let (from, to) = part.part_until(key);
                self.remember_range(part.space, &from, &to);
                return Ok(ControlFlow::Break(()));
            }
        }
        let Some(end) = end else {
            self.remember_range(part.space, part.from, part.to);
            return Ok(ControlFlow::Continue(None));
        };
        let (from, to) = part.part_until(end);
        self.remember_range(part.space, &from, &to);
        let rest = if part.reverse { end.to_vec() } else { key_after(end) };
        Ok(ControlFlow::Continue(Some(rest)))
    }

    fn change(&mut self, space: usize, key: &[u8], value: Option<&[u8]>) {
        if self.writes.len() <= space {
            self.writes.resize_with(space + 1, SpaceChanges::new);
        }
        self.writes[space].insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    fn put_commit(&self, out: &mut Vec<u8>) {
        put_array(out, 3);
        put_int(out, self.snapshot.get());
        let reads = self.reads.borrow();
        put_array(out, reads.0);
        out.extend_from_slice(&reads.1);
        put_array(out, self.writes.iter().map(BTreeMap::len).sum());
        for (space, changes) in self.writes.iter().enumerate() {
            for (key, value) in changes {
                put_array(out, if value.is_some() { 3 } else { 2 });
                put_int(out, self.store.id(space).into());
                put_text(out, key);
                if let Some(value) = value {
                    put_text(out, value);
                }
            }
        }
    }
}

impl Drop for TarantoolTransaction<'_> {
    fn drop(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        let open = self.store.storage == TarantoolStorage::Vinyl && self.snapshot.get() != NONE;
        if open && client.tell(&self.store.calls.finish, |out| put_array(out, 0)).is_err() {
            return;
        }
        self.store.give_back(client);
    }
}

impl kv::ReadTransaction for TarantoolTransaction<'_> {
    type Bytes<'t>
        = Vec<u8>
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.written_changes(space).and_then(|it| it.get(key)) {
            Some(value) => Ok(value.clone()),
            None => self.find(space, key),
        }
    }

    const FAR: bool = true;

    fn get_all(&self, space: usize, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let written = |key: &[u8]| self.written_changes(space).and_then(|it| it.get(key)).cloned();
        let mut values: Vec<_> = keys.iter().map(|key| written(key)).collect();
        let wanted: Vec<usize> = (0..keys.len()).filter(|at| values[*at].is_none()).collect();
        if !wanted.is_empty() {
            let keys: Vec<&[u8]> = wanted.iter().map(|at| keys[*at]).collect();
            for (at, found) in wanted.into_iter().zip(self.find_all(space, &keys)?) {
                values[at] = Some(found);
            }
        }
        Ok(values.into_iter().map(Option::flatten).collect())
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (mut from, mut to, mut most) = (from.to_vec(), to.to_vec(), FEW);
        loop {
            let part = RemainingRange { space, from: &from, to: &to, reverse };
            match self.visit_part(&part, most, visit)? {
                ControlFlow::Break(()) | ControlFlow::Continue(None) => return Ok(()),
                ControlFlow::Continue(Some(rest)) if reverse => to = rest,
                ControlFlow::Continue(Some(rest)) => from = rest,
            }
            most = MANY;
        }
    }
}

impl kv::WriteTransaction for TarantoolTransaction<'_> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.change(space, key, Some(value));
        Ok(())
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.change(space, key, None);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        if self.writes.iter().all(BTreeMap::is_empty) {
            return Ok(());
        }
        let answer = self.with_client(|client| {
            let mut answer = client.ask(&self.store.calls.commit, |out| self.put_commit(out))?;
            answer.take_array()?;
            answer.take_bool()
        });
        // The server has ended it, whatever it answers.
        self.snapshot.set(NONE);
        match answer {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::Conflict("what it has read was changed since".into())),
            Err(_) if self.client.borrow().is_none() => {
                Err(Error::InDoubt("the connection was lost".into()))
            }
            Err(error) => Err(error),
        }
    }
}

#[derive(Clone, Copy)]
struct RemainingRange<'p> {
    space: usize,
    from: &'p [u8],
    /// Empty: to the last key.
    to: &'p [u8],
    reverse: bool,
}

impl RemainingRange<'_> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let to = if self.to.is_empty() { Bound::Unbounded } else { Bound::Excluded(self.to) };
        (Bound::Included(self.from), to)
    }

    fn covers_key(&self, key: &[u8], end: &[u8]) -> bool {
        if self.reverse { key >= end } else { key <= end }
    }

    fn part_until(&self, key: &[u8]) -> (Vec<u8>, Vec<u8>) {
        match self.reverse {
            true => (key.to_vec(), self.to.to_vec()),
            false => (self.from.to_vec(), key_after(key)),
        }
    }
}

/// Sorted keys and values; a key without a value doesn't exist.
struct Pairs<'a>(Vec<(&'a [u8], Option<&'a [u8]>)>);

impl<'a> Pairs<'a> {
    fn from_answer(
        answer: &mut MessagePackReader<'a>,
    ) -> std::result::Result<Self, TarantoolFailure> {
        let count = answer.take_array()?;
        let mut pairs = Vec::with_capacity(count.min(MANY));
        for _ in 0..count {
            let fields = answer.take_array()?;
            let key = answer.take_text()?;
            pairs.push((key, if fields > 1 { Some(answer.take_text()?) } else { None }));
        }
        Ok(Self(pairs))
    }

    fn put_over(
        &mut self,
        over: &BTreeMap<&'a [u8], Option<&'a [u8]>>,
        covers: impl Fn(&[u8]) -> bool,
        reverse: bool,
    ) {
        self.0.retain(|(key, _)| !over.contains_key(key));
        self.0.extend(over.iter().map(|(key, value)| (*key, *value)).filter(|it| covers(it.0)));
        self.0.sort_unstable_by(|a, b| if reverse { b.0.cmp(a.0) } else { a.0.cmp(b.0) });
    }
}

/// `None` for an empty tuple.
fn value(
    tuple: &mut MessagePackReader<'_>,
) -> std::result::Result<Option<Vec<u8>>, TarantoolFailure> {
    let fields = tuple.take_array()?;
    if fields > 0 {
        tuple.take_text()?;
    }
    if fields > 1 { Ok(Some(tuple.take_text()?.to_vec())) } else { Ok(None) }
}

fn key_after(key: &[u8]) -> Vec<u8> {
    let mut after = Vec::with_capacity(key.len() + 1);
    after.extend_from_slice(key);
    after.push(0);
    after
}

fn too_old() -> Error {
    Error::Conflict("more has changed since it began than the server keeps".into())
}
