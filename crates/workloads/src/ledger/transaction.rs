use rand::RngExt;

use super::PreparedLedger;
use crate::seed_stream;

/// Entries of a client that are kept; each new one deletes the oldest.
pub const KEPT: i64 = 100;
pub const SLOTS: i64 = 16;
const TITLE: usize = 60;
const CONTENT: usize = 1500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTransaction<'a> {
    pub giver: i64,
    pub taker: i64,
    pub amount: i64,
    pub slot: i64,
    pub note: NoteChange<'a>,
    pub forgets: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteChange<'a> {
    Put { title: &'a str, content: &'a str },
    Edit { title: &'a str, content: &'a str },
    Remove,
}

pub fn make_token(client: i64, sequence: i64) -> i64 {
    // Odd multipliers scatter the tokens over the index; modulo 2^63 none comes twice.
    ((sequence * 1024 + client).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)) & i64::MAX
}

impl PreparedLedger {
    pub(super) fn make_transaction(&self, client: i64, sequence: i64) -> LedgerTransaction<'_> {
        let number = (client as u64) << 40 | sequence as u64;
        let mut random = seed_stream(self.seed, number);
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
