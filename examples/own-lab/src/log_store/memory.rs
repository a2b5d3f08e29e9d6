//! Live data in memory, with all versions that readers may still need.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::log::KeyChange;

type KeyBytes = Box<[u8]>;
type ValueBytes = Arc<[u8]>;
/// Commit numbers with values, the oldest first; `None` for a removed key.
type Versions = Vec<(u64, Option<ValueBytes>)>;

pub struct VersionedMemory {
    spaces: RwLock<KeySpaces>,
    readers: Mutex<BTreeMap<u64, usize>>,
}

struct KeySpaces {
    last: u64,
    maps: Vec<BTreeMap<KeyBytes, Versions>>,
}

impl VersionedMemory {
    pub fn new(spaces: usize) -> Self {
        let maps = (0..spaces).map(|_| BTreeMap::new()).collect();
        Self { spaces: RwLock::new(KeySpaces { last: 0, maps }), readers: Mutex::default() }
    }

    /// Makes a commit visible to all later readers.
    pub fn apply_commit(&self, changes: Vec<KeyChange>) {
        let mut spaces = self.spaces.write().unwrap_or_else(PoisonError::into_inner);
        spaces.last += 1;
        let now = spaces.last;
        // The lock keeps new readers out.
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = readers.keys().next().copied().unwrap_or(now);
        for KeyChange { space, key, value } in changes {
            let map = &mut spaces.maps[space];
            let versions = map.entry(key.clone()).or_default();
            versions.retain(|(number, _)| *number != now);
            versions.push((now, value));
            // If all readers are past several versions, only the last one counts.
            let past = versions.iter().take_while(|(number, _)| *number <= oldest).count();
            versions.drain(..past.saturating_sub(1));
            if let [(number, None)] = versions.as_slice()
                && *number <= oldest
            {
                map.remove(&key);
            }
        }
    }

    pub fn take_snapshot(&self) -> MemorySnapshot<'_> {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers.entry(spaces.last).or_default() += 1;
        MemorySnapshot { memory: self, number: spaces.last, own: BTreeMap::new() }
    }
}

/// One moment's data, with the holder's own changes.
pub struct MemorySnapshot<'m> {
    memory: &'m VersionedMemory,
    number: u64,
    own: BTreeMap<(usize, KeyBytes), Option<ValueBytes>>,
}

impl MemorySnapshot<'_> {
    pub fn overlay_change(&mut self, change: &KeyChange) {
        self.own.insert((change.space, change.key.clone()), change.value.clone());
    }

    pub fn get(&self, space: usize, key: &[u8]) -> Option<ValueBytes> {
        if !self.own.is_empty()
            && let Some(own) = self.own.get(&(space, key.into()))
        {
            return own.clone();
        }
        let spaces = self.memory.spaces.read().unwrap_or_else(PoisonError::into_inner);
        self.seen_version(spaces.maps[space].get(key)?)
    }

    fn seen_version(&self, versions: &Versions) -> Option<ValueBytes> {
        let seen = versions.iter().rev().find(|(number, _)| *number <= self.number);
        seen.and_then(|(_, value)| value.clone())
    }

    /// At most `most` keys from `from` (empty: the first) to before `to` (empty: the last),
    /// ascending or descending.
    pub fn read_range(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        most: usize,
    ) -> Vec<(KeyBytes, ValueBytes)> {
        if !to.is_empty() && from >= to {
            return Vec::new();
        }
        let end = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
        let spaces = self.memory.spaces.read().unwrap_or_else(PoisonError::into_inner);
        let there = spaces.maps[space].range::<[u8], _>((Bound::Included(from), end));
        let there = there.filter_map(|(key, versions)| Some((key, self.seen_version(versions)?)));
        let own = self.own.range((space, from.into())..);
        let own = own.take_while(|((of, key), _)| *of == space && (to.is_empty() || **key < *to));
        let own: BTreeMap<&KeyBytes, &Option<ValueBytes>> =
            own.map(|((_, key), value)| (key, value)).collect();
        let there = there.filter(|(key, _)| !own.contains_key(key));
        let first = |there: &mut dyn Iterator<Item = (&KeyBytes, ValueBytes)>| -> Vec<(KeyBytes, ValueBytes)> {
            there.take(most).map(|(key, value)| (key.clone(), value)).collect()
        };
        let mut found = match reverse {
            true => first(&mut there.rev()),
            false => first(&mut { there }),
        };
        found.extend(
            own.iter().filter_map(|(key, value)| Some(((*key).clone(), (*value).clone()?))),
        );
        found.sort_by(|one, other| one.0.cmp(&other.0));
        if reverse {
            found.reverse();
        }
        found.truncate(most);
        found
    }

    pub fn list_all(&self) -> Vec<KeyChange> {
        let spaces = self.memory.spaces.read().unwrap_or_else(PoisonError::into_inner);
        let of = |(space, map): (usize, &BTreeMap<KeyBytes, Versions>)| -> Vec<KeyChange> {
            let live = map.iter().filter_map(|(key, versions)| {
                Some(KeyChange {
                    space,
                    key: key.clone(),
                    value: Some(self.seen_version(versions)?),
                })
            });
            live.collect()
        };
        spaces.maps.iter().enumerate().flat_map(of).collect()
    }
}

impl Drop for MemorySnapshot<'_> {
    fn drop(&mut self) {
        let mut readers = self.memory.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = readers.get_mut(&self.number) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.number);
            }
        }
    }
}
