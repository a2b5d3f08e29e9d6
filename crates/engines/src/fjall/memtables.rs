//! Decides when memtables are sealed.
//!
//! fjall keeps the memtable size that a key space was created with: while data were loaded, without
//! a memory limit. Under a limit that would be several times too much, so bakeoff checks memtables
//! after each commit, as fjall does, and seals them sooner.

use std::sync::Mutex;

use fjall::{AbstractTree, Keyspace};

use crate::{OpenTerms, Setting};

pub(super) const AS_IT_COMES: u64 = 64 << 20;

/// A memtable may have this part of the limit. A key space can have five: one that is written to,
/// and four that are sealed ([`MOST_SEALED`](super::debt::MOST_SEALED)).
const SHARE: u64 = 16;
const LEAST: u64 = 1 << 20;

pub(super) struct Memtables {
    pub seal_at: u64,
    turn: Mutex<()>,
}

impl Memtables {
    pub fn from_terms(terms: &OpenTerms) -> Self {
        let share = |limit: u64| (limit / SHARE).clamp(LEAST, AS_IT_COMES);
        let seal_at = terms.memory_bytes.map_or(AS_IT_COMES, share);
        Self { seal_at, turn: Mutex::new(()) }
    }

    pub fn are_limited(&self) -> bool {
        self.seal_at < AS_IT_COMES
    }

    pub fn setting(&self) -> Option<Setting> {
        let why = "a sixteenth of the limit, in each key space: five may be there at once, too many of 64 MiB below 1 GiB";
        self.are_limited().then(|| Setting::new("memtables sealed at", self.seal_at, why))
    }

    /// Seals the memtables that are too large. An error is dropped: the next commit will meet it,
    /// too.
    pub fn seal_large<'s>(&self, spaces: impl Iterator<Item = &'s Keyspace>) {
        let is_full = |space: &Keyspace| space.tree.active_memtable().size() > self.seal_at;
        for space in spaces.filter(|space| is_full(space)) {
            // fjall seals whichever memtable is written to then, so only one client at a time
            // looks.
            let Ok(_turn) = self.turn.try_lock() else { return };
            if is_full(space) {
                let _ = space.rotate_memtable();
            }
        }
    }
}
