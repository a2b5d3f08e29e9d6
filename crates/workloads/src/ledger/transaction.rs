//! What transaction *s* of client *c* does: always the same for a seed.

use rand::RngExt;

use super::PreparedLedger;
use crate::stream;

/// So many entries of a client are kept; an older one is forgotten for each that is new.
pub const KEPT: i64 = 100;
/// So many notes a client has room for.
pub const SLOTS: i64 = 16;
/// Bytes of a note's title and content, at most.
const TITLE: usize = 60;
const CONTENT: usize = 1500;

/// One transaction's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTransaction<'a> {
    /// The accounts between which the amount moves; never the same.
    pub giver: i64,
    pub taker: i64,
    pub amount: i64,
    /// The note that is touched, and how.
    pub slot: i64,
    pub note: NoteChange<'a>,
    /// The sequence of the entry that is forgotten.
    pub forgets: Option<i64>,
}

/// What becomes of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteChange<'a> {
    /// It is written, whether it was there or not.
    Put { title: &'a str, content: &'a str },
    /// It is changed if it is there.
    Edit { title: &'a str, content: &'a str },
    /// It is removed if it is there.
    Remove,
}

/// What no two entries share.
pub fn token(client: i64, sequence: i64) -> i64 {
    // Odd multipliers scatter the tokens over the index, and lose nothing modulo 2^63.
    ((sequence * 1024 + client).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)) & i64::MAX
}

impl PreparedLedger {
    /// Transaction `sequence` (from 1) of a client.
    pub(super) fn transaction(&self, client: i64, sequence: i64) -> LedgerTransaction<'_> {
        let number = (client as u64) << 40 | sequence as u64;
        let mut random = stream(self.seed, number);
        let giver = random.random_range(0..self.accounts);
        let taker = (giver + random.random_range(1..self.accounts)) % self.accounts;
        let amount = random.random_range(1..=100);
        let slot = random.random_range(0..SLOTS);
        let kind = random.random_range(0..8);
        let title = self.text.cut_line(&mut random, TITLE);
        let content = self.text.cut(&mut random, CONTENT);
        let note = match kind {
            0 => NoteChange::Remove,
            1..=3 => NoteChange::Edit { title, content },
            _ => NoteChange::Put { title, content },
        };
        let forgets = (sequence > KEPT).then(|| sequence - KEPT);
        LedgerTransaction { giver, taker, amount, slot, note, forgets }
    }
}
