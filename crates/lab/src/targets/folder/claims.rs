//! What clients of files claim: which writes were issued, which of them returned, and which syncs did.
//!
//! A record is 32 bytes, four little-endian words: what it tells, two numbers, and the nanoseconds of
//! `CLOCK_MONOTONIC`, which is the clock that a disk tells its end by.

use std::collections::HashMap;

use bakeoff_workloads::Claims;

use crate::monotonic::now_ns;

/// What a record tells, before a write: its block, its number, and when it was issued.
const ISSUED: u64 = 1;
/// The same after it, and when it had returned.
const RETURNED: u64 = 2;
/// As [`RETURNED`], of a write that is durable when it returns (`O_DSYNC`).
const DURABLE: u64 = 3;
/// Of a sync that returned: its file, when it began, and when it had returned.
const SYNCED: u64 = 4;
/// Words of a record, and its bytes.
const WORDS: usize = 4;
const RECORD: usize = 8 * WORDS;

/// A sync that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syncing {
    file: usize,
    began_ns: u64,
}

/// Writes a client's records, where they are wanted.
#[derive(Default)]
pub struct BlockClaimWriter<'a>(Option<Box<dyn Claims + 'a>>);

impl<'a> BlockClaimWriter<'a> {
    /// Writes them there; nowhere where there is none.
    pub fn new(claims: Option<Box<dyn Claims + 'a>>) -> Self {
        Self(claims)
    }

    fn note(&mut self, what: u64, one: u64, other: u64, time: impl FnOnce() -> u64) {
        if let Some(claims) = &mut self.0 {
            let words = [what, one, other, time()].map(u64::to_le_bytes);
            claims.claim(words.as_flattened());
        }
    }

    /// A write is about to be issued.
    pub fn issued(&mut self, block: u64, writing: u64) {
        self.note(ISSUED, block, writing, now_ns);
    }

    /// A write has returned, durably where that is so.
    pub fn returned(&mut self, block: u64, writing: u64, durably: bool) {
        self.note(if durably { DURABLE } else { RETURNED }, block, writing, now_ns);
    }

    /// A sync is about to be issued.
    pub fn begin_sync(&self, file: usize) -> Syncing {
        // Nobody asks when, where nothing is claimed.
        Syncing { file, began_ns: self.0.as_ref().map_or(0, |_| now_ns()) }
    }

    /// A sync has returned.
    pub fn synced(&mut self, Syncing { file, began_ns }: Syncing) {
        self.note(SYNCED, file as u64, began_ns, now_ns);
    }
}

/// A write of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWrite {
    /// Tells it from all others.
    pub writing: u64,
    /// When it was about to be issued.
    pub issued_ns: u64,
    /// When it had returned before the power went.
    pub returned_ns: Option<u64>,
    /// When something had returned before the power went that made it durable.
    pub durable_ns: Option<u64>,
}

/// What the records of all clients tell of each block.
#[derive(Debug, Default)]
pub struct BlockClaims {
    writes: HashMap<u64, Vec<BlockWrite>>,
}

impl BlockClaims {
    /// Of all clients' records, for a power that went at `off_at_ns`; `file` says where a block lies.
    pub fn read(claims: &[Vec<u8>], off_at_ns: u64, file: impl Fn(u64) -> usize) -> Self {
        let records = || claims.iter().flat_map(|bytes| records(bytes));
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
        // What was answered later was answered without power, or by a disk that ran on.
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
        let covers: HashMap<u64, Covers> =
            syncs.into_iter().map(|(file, syncs)| (file, Covers::new(syncs))).collect();
        for (block, writes) in &mut account.writes {
            let Some(covers) = covers.get(&(file(*block) as u64)) else { continue };
            for write in writes.iter_mut() {
                let synced = write.returned_ns.and_then(|returned| covers.after(returned));
                write.durable_ns = [write.durable_ns, synced].into_iter().flatten().min();
            }
        }
        account
    }

    /// The writes of a block that may show: those that were issued before the power went.
    pub fn writes(&self, block: u64) -> &[BlockWrite] {
        self.writes.get(&block).map_or(&[], Vec::as_slice)
    }

    /// How many writes were durable when the power went.
    pub fn durable(&self) -> u64 {
        let writes = self.writes.values().flatten();
        writes.filter(|write| write.durable_ns.is_some()).count() as u64
    }
}

/// The syncs of a file, each with when it began and the earliest return of it and all that began later.
struct Covers(Vec<(u64, u64)>);

impl Covers {
    fn new(mut syncs: Vec<(u64, u64)>) -> Self {
        syncs.sort_unstable();
        let mut earliest = u64::MAX;
        for (_, returned) in syncs.iter_mut().rev() {
            earliest = earliest.min(*returned);
            *returned = earliest;
        }
        Self(syncs)
    }

    /// When a sync had returned that began after this moment.
    fn after(&self, moment: u64) -> Option<u64> {
        let at = self.0.partition_point(|(began, _)| *began < moment);
        self.0.get(at).map(|(_, returned)| *returned)
    }
}

/// A client's records. One that the end of its process has cut short is none.
fn records(bytes: &[u8]) -> impl Iterator<Item = [u64; WORDS]> {
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

    use super::*;

    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Claims for Kept {
        fn claim(&mut self, record: &[u8]) {
            self.0.borrow_mut().extend_from_slice(record);
        }
    }

    fn record(words: [u64; WORDS]) -> Vec<u8> {
        words.map(u64::to_le_bytes).as_flattened().to_vec()
    }

    /// Of these records of one client, of files with ten blocks each.
    fn account(records: &[[u64; WORDS]], off_at_ns: u64) -> BlockClaims {
        let bytes: Vec<u8> = records.iter().flat_map(|it| record(*it)).collect();
        BlockClaims::read(&[bytes], off_at_ns, |block| (block / 10) as usize)
    }

    #[test]
    fn what_is_written_is_read() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let mut writer = BlockClaimWriter::new(Some(Box::new(Kept(Rc::clone(&kept)))));
        writer.issued(3, 7);
        writer.returned(3, 7, false);
        let syncing = writer.begin_sync(0);
        writer.synced(syncing);
        writer.issued(4, 8);
        writer.returned(4, 8, true);
        let mut bytes = kept.borrow().clone();
        // The end of the process has cut the last one short.
        bytes.extend([1, 0, 0]);
        let account = BlockClaims::read(&[bytes], u64::MAX, |_| 0);
        let [synced] = account.writes(3) else { panic!("one write") };
        assert_eq!(synced.writing, 7);
        let returned = synced.returned_ns.unwrap();
        assert!(synced.issued_ns <= returned && returned <= synced.durable_ns.unwrap());
        let [durable] = account.writes(4) else { panic!("one write") };
        assert_eq!(durable.durable_ns, durable.returned_ns);
        assert!(account.writes(5).is_empty());
        assert_eq!(account.durable(), 2);
    }

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
        ]
        .concat();
        let when = |block, off| account(&records, off).writes(block)[0].durable_ns;
        assert_eq!([when(1, 99), when(2, 99), when(11, 99)], [Some(30), None, Some(50)]);
        // The power went before the sync had returned.
        assert_eq!([when(1, 29), when(11, 49)], [None, None]);
        assert!(account(&records, 19).writes(2).is_empty(), "it was not issued yet");
        assert_eq!(account(&records, 24).writes(2)[0].returned_ns, None);
    }

    #[test]
    fn of_several_syncs_the_first_that_returned_counts() {
        let covers = Covers::new(vec![(30, 90), (40, 60), (10, 20)]);
        let after = [5, 10, 11, 35, 41].map(|moment| covers.after(moment));
        assert_eq!(after, [Some(20), Some(20), Some(60), Some(60), None]);
    }
}
