//! The claims of a ledger client: which transactions it sent, and which were acknowledged.
//!
//! A record is 24 bytes, three little-endian words: its kind, the transaction's number, and
//! nanoseconds of `CLOCK_MONOTONIC`, the clock of the disk's end.

use rustix::time::{ClockId, clock_gettime};

use super::audit::ClientClaim;
use super::client::CommitObserver;
use crate::Claims;

const SENT: u64 = 1;
const ACKNOWLEDGED: u64 = 2;
const RECORD: usize = 24;

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of a disk's end.
pub fn read_claim_clock() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub(super) struct LedgerClaimWriter<'a>(pub Box<dyn Claims + 'a>);

impl LedgerClaimWriter<'_> {
    fn write_record(&mut self, what: u64, sequence: i64) {
        let words = [what, sequence as u64, read_claim_clock()].map(u64::to_le_bytes);
        self.0.store_claim(words.as_flattened());
    }
}

impl CommitObserver for LedgerClaimWriter<'_> {
    fn note_sent(&mut self, sequence: i64) {
        self.write_record(SENT, sequence);
    }

    fn note_acknowledged(&mut self, sequence: i64) {
        self.write_record(ACKNOWLEDGED, sequence);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientHistory {
    /// Before the power went, as `acknowledged`.
    sent: i64,
    acknowledged: Vec<(i64, u64)>,
}

impl ClientHistory {
    pub fn to_claim(&self) -> ClientClaim {
        let last = self.acknowledged.last();
        ClientClaim { sent: self.sent, acknowledged: last.map_or(0, |(sequence, _)| *sequence) }
    }

    pub fn acknowledged_at(&self, sequence: i64) -> Option<u64> {
        let found = self.acknowledged.binary_search_by_key(&sequence, |(sequence, _)| *sequence);
        found.ok().map(|at| self.acknowledged[at].1)
    }

    pub fn count_acknowledged(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// `off_at_ns` is when the power went.
    pub fn read_records(bytes: &[u8], off_at_ns: u64) -> Self {
        let mut account = Self::default();
        // `chunks_exact` leaves out a record that the process's end cut short.
        for record in bytes.chunks_exact(RECORD) {
            let word = |at: usize| {
                u64::from_le_bytes(record[at * 8..][..8].try_into().expect("eight bytes"))
            };
            let (what, sequence, time) = (word(0), word(1) as i64, word(2));
            match what {
                // Sent or answered later: without power, or by a disk that ran on.
                _ if time > off_at_ns => {}
                SENT => account.sent = account.sent.max(sequence),
                _ => account.acknowledged.push((sequence, time)),
            }
        }
        account
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    fn record(what: u64, sequence: i64, time: u64) -> Vec<u8> {
        [what, sequence as u64, time].map(u64::to_le_bytes).as_flattened().to_vec()
    }

    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Claims for Kept {
        fn store_claim(&mut self, record: &[u8]) {
            self.0.borrow_mut().extend_from_slice(record);
        }
    }

    #[test]
    fn what_is_written_is_read_with_its_time() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let mut writer = LedgerClaimWriter(Box::new(Kept(Rc::clone(&kept))));
        let before = read_claim_clock();
        for sequence in 1..=3 {
            writer.note_sent(sequence);
            writer.note_acknowledged(sequence);
        }
        writer.note_sent(4);
        let account = ClientHistory::read_records(&kept.borrow(), u64::MAX);
        assert_eq!(account.to_claim(), ClientClaim { sent: 4, acknowledged: 3 });
        let times: Vec<_> =
            (1..=3).map(|sequence| account.acknowledged_at(sequence).unwrap()).collect();
        assert!(times.is_sorted() && times[0] >= before && times[2] <= read_claim_clock());
        assert_eq!((account.acknowledged_at(4), account.count_acknowledged()), (None, 3));
    }

    #[test]
    fn a_record_that_was_cut_short_is_none() {
        let bytes = [record(SENT, 1, 5), record(ACKNOWLEDGED, 1, 6), record(SENT, 2, 7)].concat();
        let whole = ClientHistory::read_records(&bytes, 100);
        assert_eq!(whole.to_claim(), ClientClaim { sent: 2, acknowledged: 1 });
        for short in 1..RECORD {
            let account = ClientHistory::read_records(&bytes[..bytes.len() - short], 100);
            assert_eq!(
                account.to_claim(),
                ClientClaim { sent: 1, acknowledged: 1 },
                "{short} bytes short"
            );
        }
    }

    #[test]
    fn what_was_answered_without_power_was_not_promised() {
        let bytes = [
            record(SENT, 1, 5),
            record(ACKNOWLEDGED, 1, 6),
            record(SENT, 2, 7),
            record(ACKNOWLEDGED, 2, 8),
        ]
        .concat();
        let claim = |off| ClientHistory::read_records(&bytes, off).to_claim();
        assert_eq!(claim(8), ClientClaim { sent: 2, acknowledged: 2 });
        assert_eq!(claim(7), ClientClaim { sent: 2, acknowledged: 1 });
        assert_eq!(claim(6), ClientClaim { sent: 1, acknowledged: 1 }, "the disk ran on");
        assert_eq!(claim(5), ClientClaim { sent: 1, acknowledged: 0 });
    }
}
