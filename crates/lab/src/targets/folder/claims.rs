//! The claims of clients that work on files: writes issued, writes returned, and syncs.
//!
//! A record is 32 bytes, four little-endian words: its kind, two numbers, and nanoseconds of
//! `CLOCK_MONOTONIC`, the clock by which a disk gives the moment of a power cut.

use std::collections::HashMap;

use bakeoff_workloads::Claims;

use crate::monotonic::now_ns;

/// Fields: block, number, time.
const ISSUED: u64 = 1;
/// Fields: block, number, time.
const RETURNED: u64 = 2;
/// As [`RETURNED`], for a write with `O_DSYNC`.
const DURABLE: u64 = 3;
/// Fields: file, the sync's start, time.
const SYNCED: u64 = 4;
const WORDS: usize = 4;
const RECORD: usize = 8 * WORDS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSync {
    file: usize,
    began_ns: u64,
}

pub struct BlockClaimWriter<'a>(pub Option<Box<dyn Claims + 'a>>);

impl BlockClaimWriter<'_> {
    fn write_record(&mut self, what: u64, one: u64, other: u64, time: impl FnOnce() -> u64) {
        if let Some(claims) = &mut self.0 {
            let words = [what, one, other, time()].map(u64::to_le_bytes);
            claims.store_claim(words.as_flattened());
        }
    }

    pub fn note_issued(&mut self, block: u64, writing: u64) {
        self.write_record(ISSUED, block, writing, now_ns);
    }

    pub fn note_returned(&mut self, block: u64, writing: u64, durably: bool) {
        self.write_record(if durably { DURABLE } else { RETURNED }, block, writing, now_ns);
    }

    pub fn begin_sync(&self, file: usize) -> PendingSync {
        // The time is not needed if nothing is claimed.
        PendingSync { file, began_ns: self.0.as_ref().map_or(0, |_| now_ns()) }
    }

    pub fn note_synced(&mut self, PendingSync { file, began_ns }: PendingSync) {
        self.write_record(SYNCED, file as u64, began_ns, now_ns);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWrite {
    pub writing: u64,
    pub issued_ns: u64,
    pub returned_ns: Option<u64>,
    pub durable_ns: Option<u64>,
}

#[derive(Debug, Default)]
pub struct BlockClaims {
    writes: HashMap<u64, Vec<BlockWrite>>,
}

impl BlockClaims {
    /// The power went at `off_at_ns`; `file` gives a block's file.
    pub fn from_records(claims: &[Vec<u8>], off_at_ns: u64, file: impl Fn(u64) -> usize) -> Self {
        let records = || claims.iter().flat_map(|bytes| parse_records(bytes));
        let mut syncs: HashMap<u64, Vec<(u64, u64)>> = Default::default();
        let mut account = Self::default();
        for [what, one, other, time] in records().filter(|it| it[3] <= off_at_ns) {
            match what {
                ISSUED => account.writes.entry(one).or_default().push(BlockWrite {
                    writing: other,
                    issued_ns: time,
                    returned_ns: None,
                    durable_ns: None,
                }),
                SYNCED => syncs.entry(one).or_default().push((other, time)),
                _ => {}
            }
        }
        // Answers after that came without power, or from a disk that ran on.
        for [what, block, writing, time] in records().filter(|it| it[3] <= off_at_ns) {
            if !matches!(what, RETURNED | DURABLE) {
                continue;
            }
            let writes = account.writes.get_mut(&block).into_iter().flatten();
            for write in writes.filter(|write| write.writing == writing) {
                write.returned_ns = Some(time);
                write.durable_ns = (what == DURABLE).then_some(time);
            }
        }
        let covers: HashMap<u64, SyncIntervals> =
            syncs.into_iter().map(|(file, syncs)| (file, SyncIntervals::new(syncs))).collect();
        for (block, writes) in &mut account.writes {
            let Some(covers) = covers.get(&(file(*block) as u64)) else { continue };
            for write in writes.iter_mut() {
                let synced = write.returned_ns.and_then(|returned| covers.covered_after(returned));
                write.durable_ns = [write.durable_ns, synced].into_iter().flatten().min();
            }
        }
        account
    }

    pub fn writes(&self, block: u64) -> &[BlockWrite] {
        self.writes.get(&block).map_or(&[], Vec::as_slice)
    }

    pub fn count_durable(&self) -> u64 {
        let writes = self.writes.values().flatten();
        writes.filter(|write| write.durable_ns.is_some()).count() as u64
    }
}

/// Syncs of a file: each start, with the earliest return of that sync and all later ones.
struct SyncIntervals(Vec<(u64, u64)>);

impl SyncIntervals {
    fn new(mut syncs: Vec<(u64, u64)>) -> Self {
        syncs.sort_unstable();
        let mut earliest = u64::MAX;
        for (_, returned) in syncs.iter_mut().rev() {
            earliest = earliest.min(*returned);
            *returned = earliest;
        }
        Self(syncs)
    }

    fn covered_after(&self, moment: u64) -> Option<u64> {
        let at = self.0.partition_point(|(began, _)| *began < moment);
        self.0.get(at).map(|(_, returned)| *returned)
    }
}

/// Skips a record that the process's end cut short.
fn parse_records(bytes: &[u8]) -> impl Iterator<Item = [u64; WORDS]> {
    bytes.chunks_exact(RECORD).map(|record| {
        std::array::from_fn(|at| {
            u64::from_le_bytes(record[8 * at..][..8].try_into().expect("eight bytes"))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::slice::from_ref;

    use super::*;

    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Claims for Kept {
        fn store_claim(&mut self, record: &[u8]) {
            self.0.borrow_mut().extend_from_slice(record);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let mut writer = BlockClaimWriter(Some(Box::new(Kept(Rc::clone(&kept)))));
        writer.note_issued(3, 7);
        writer.note_returned(3, 7, false);
        let syncing = writer.begin_sync(0);
        writer.note_synced(syncing);
        writer.note_issued(4, 8);
        writer.note_returned(4, 8, true);
        let mut bytes = kept.borrow().clone();
        // The end of the process has cut the last one short.
        bytes.extend([1, 0, 0]);
        let account = BlockClaims::from_records(&[bytes], u64::MAX, |_| 0);
        let [synced] = account.writes(3) else { panic!("one write") };
        let returned = synced.returned_ns.unwrap();
        assert!(synced.issued_ns <= returned && returned <= synced.durable_ns.unwrap());
        let [durable] = account.writes(4) else { panic!("one write") };
        assert_eq!((synced.writing, durable.durable_ns), (7, durable.returned_ns));
        assert!(account.writes(5).is_empty());
        assert_eq!(account.count_durable(), 2);
    }

    /// Of files with ten blocks each, whose power goes at some time.
    #[test]
    fn a_sync_covers_what_had_returned_before_it_began_in_its_own_file() {
        let written =
            |block, number, at| [[ISSUED, block, number, at], [RETURNED, block, number, at + 5]];
        let records = [
            written(1, 1, 10),
            written(2, 2, 20),
            written(11, 3, 10),
            // It began while the second write was under way.
            [[SYNCED, 0, 22, 30], [SYNCED, 1, 40, 50]],
        ];
        let bytes: Vec<u8> =
            records.as_flattened().as_flattened().iter().flat_map(|it| it.to_le_bytes()).collect();
        let account = |off_at_ns| {
            BlockClaims::from_records(from_ref(&bytes), off_at_ns, |block| (block / 10) as usize)
        };
        for (block, off_at_ns, durable_ns) in [
            (1, 99, Some(30)),
            (2, 99, None),
            (11, 99, Some(50)),
            // The power went before the sync had returned.
            (1, 29, None),
            (11, 49, None),
        ] {
            assert_eq!(account(off_at_ns).writes(block)[0].durable_ns, durable_ns, "{block}");
        }
        assert!(account(19).writes(2).is_empty(), "it was not issued yet");
        assert_eq!(account(24).writes(2)[0].returned_ns, None);
        // Of several syncs the first that returned counts.
        let covers = SyncIntervals::new(vec![(30, 90), (40, 60), (10, 20)]);
        let after = [5, 10, 11, 35, 41].map(|moment| covers.covered_after(moment));
        assert_eq!(after, [Some(20), Some(20), Some(60), Some(60), None]);
    }
}
