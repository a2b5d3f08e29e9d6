//! Memtables, and when they are sealed to be written as tables.
//!
//! fjall keeps the size that a key space was created with, and that was while data were loaded, without a limit
//! of memory. Within one its memtables would come to several times the limit: so bakeoff looks at them after a
//! commit, as fjall does, and has them sealed sooner.

use std::sync::Mutex;

use fjall::{AbstractTree, Keyspace};

use crate::{OpenTerms, Setting};

/// At how many bytes the memtable of a key space is sealed, as it comes.
pub(super) const AS_IT_COMES: u64 = 64 << 20;

/// The part of a limit of memory at which it is sealed, and the least: of a key space five may be there at once,
/// the one that is written to and four that are sealed ([`MOST_SEALED`](super::debt::MOST_SEALED)).
const SHARE: u64 = 16;
const LEAST: u64 = 1 << 20;

/// When memtables are sealed.
pub(super) struct Memtables {
    /// At how many bytes.
    pub seal_at: u64,
    /// Whoever seals.
    turn: Mutex<()>,
}

impl Memtables {
    /// Under these terms.
    pub fn under(terms: &OpenTerms) -> Self {
        let share = |limit: u64| (limit / SHARE).clamp(LEAST, AS_IT_COMES);
        let seal_at = terms.memory_bytes.map_or(AS_IT_COMES, share);
        Self { seal_at, turn: Mutex::new(()) }
    }

    /// Whether they are sealed sooner than fjall does.
    pub fn are_limited(&self) -> bool {
        self.seal_at < AS_IT_COMES
    }

    /// The setting, where they are limited.
    pub fn setting(&self) -> Option<Setting> {
        let why = "a sixteenth of the limit, in each key space: five may be there at once, too many of 64 MiB below 1 GiB";
        self.are_limited().then(|| Setting::new("memtables sealed at", self.seal_at, why))
    }

    /// Seals what has become too large of these key spaces, to which a commit has written. What fails here fails
    /// the next commit, too: this one is done.
    pub fn seal<'s>(&self, spaces: impl Iterator<Item = &'s Keyspace>) {
        let is_full = |space: &Keyspace| space.tree.active_memtable().size() > self.seal_at;
        for space in spaces.filter(|space| is_full(space)) {
            // fjall seals whichever is written to when its turn comes: one client at a time looks again.
            let Ok(_turn) = self.turn.try_lock() else { return };
            if is_full(space) {
                let _ = space.rotate_memtable();
            }
        }
    }
}
