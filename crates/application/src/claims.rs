//! The claims of a client where the power is cut: which transactions it sent, which were
//! acknowledged, and which keys each inserted.
//!
//! A record is five little-endian words of eight bytes: its kind, the transaction's number,
//! nanoseconds of `CLOCK_MONOTONIC`, a table and a key.

use std::collections::BTreeMap;

use bakeoff_workloads::{Claims, read_claim_clock};

const SENT: u64 = 1;
const ACKNOWLEDGED: u64 = 2;
const KEY: u64 = 3;
const VIOLATED: u64 = 4;
const RECORD: usize = 40;

/// A key that a transaction inserted: the table, and the key.
pub type InsertedKey = (usize, i64);

/// Writes a client's claims.
pub struct TransactionClaims<'a> {
    claims: Box<dyn Claims + 'a>,
    /// The last transaction that was acknowledged.
    acknowledged: i64,
    keys: Vec<InsertedKey>,
}

impl<'a> TransactionClaims<'a> {
    pub fn new(claims: Box<dyn Claims + 'a>) -> Self {
        Self { claims, acknowledged: 0, keys: Vec::new() }
    }

    pub fn begin_transaction(&mut self) {
        self.keys.clear();
    }

    pub fn note_key(&mut self, table: usize, key: i64) {
        self.keys.push((table, key));
    }

    /// The number of the transaction that is under way.
    pub fn next_sequence(&self) -> i64 {
        self.acknowledged + 1
    }

    /// The transaction is about to be committed: it may be found from now on.
    pub fn note_sent(&mut self) {
        let sequence = self.next_sequence();
        for (table, key) in std::mem::take(&mut self.keys) {
            self.write_record(KEY, sequence, (table, key));
        }
        self.write_record(SENT, sequence, (0, 0));
    }

    /// An invariant fails while the power is on: that it fails after the cut says nothing.
    pub fn note_violation(&mut self) {
        self.write_record(VIOLATED, 0, (0, 0));
    }

    /// Its commit was acknowledged: it must be found from now on.
    pub fn note_acknowledged(&mut self) {
        self.acknowledged += 1;
        self.write_record(ACKNOWLEDGED, self.acknowledged, (0, 0));
    }

    fn write_record(&mut self, kind: u64, sequence: i64, (table, key): InsertedKey) {
        let words = [kind, sequence as u64, read_claim_clock(), table as u64, key as u64];
        self.claims.store_claim(words.map(u64::to_le_bytes).as_flattened());
    }
}

/// A transaction that may be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentTransaction {
    /// When it was acknowledged, before the power went.
    pub acknowledged_ns: Option<u64>,
    pub keys: Vec<InsertedKey>,
}

/// Whether a client has seen an invariant fail while the power was on.
pub fn saw_violation(bytes: &[u8]) -> bool {
    bytes.chunks_exact(RECORD).any(|record| record[..8] == VIOLATED.to_le_bytes())
}

/// A client's transactions by their numbers. What came after the end of the power is left out.
pub fn read_claims(bytes: &[u8], off_at_ns: u64) -> BTreeMap<i64, SentTransaction> {
    let (mut sent, mut keys) = (BTreeMap::<i64, SentTransaction>::new(), Vec::new());
    // `chunks_exact` leaves out a record that the process's end cut short.
    for record in bytes.chunks_exact(RECORD) {
        let word =
            |at: usize| u64::from_le_bytes(record[at * 8..][..8].try_into().expect("eight bytes"));
        let (sequence, time) = (word(1) as i64, word(2));
        match word(0) {
            _ if time > off_at_ns => break,
            VIOLATED => {}
            KEY => keys.push((word(3) as usize, word(4) as i64)),
            SENT => {
                // An attempt that was run again has had no effect.
                let keys = std::mem::take(&mut keys);
                sent.insert(sequence, SentTransaction { acknowledged_ns: None, keys });
            }
            _ => {
                sent.entry(sequence).or_default().acknowledged_ns = Some(time);
            }
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    struct KeptBytes(Rc<RefCell<Vec<u8>>>);

    impl Claims for KeptBytes {
        fn store_claim(&mut self, record: &[u8]) {
            self.0.borrow_mut().extend_from_slice(record);
        }
    }

    #[test]
    fn an_attempt_that_is_run_again_leaves_its_last_keys() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let mut claims = TransactionClaims::new(Box::new(KeptBytes(Rc::clone(&kept))));
        for keys in [&[(0, 7)][..], &[(0, 8), (2, 9)]] {
            claims.begin_transaction();
            keys.iter().for_each(|(table, key)| claims.note_key(*table, *key));
            claims.note_sent();
        }
        claims.note_acknowledged();
        claims.begin_transaction();
        claims.note_key(1, 1);
        claims.note_sent();
        let read = read_claims(&kept.borrow(), u64::MAX);
        assert_eq!(read[&1].keys, [(0, 8), (2, 9)]);
        assert!(read[&1].acknowledged_ns.is_some());
        assert_eq!(read[&2], SentTransaction { acknowledged_ns: None, keys: vec![(1, 1)] });
        // Cut short in its last record, and cut by the clock.
        assert!(!saw_violation(&kept.borrow()));
        let short = kept.borrow().len() - 1;
        assert_eq!(read_claims(&kept.borrow()[..short], u64::MAX).len(), 1);
        assert!(read_claims(&kept.borrow(), 0).is_empty());
    }
}
