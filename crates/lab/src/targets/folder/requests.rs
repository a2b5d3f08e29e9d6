//! The requests of a client and their results, independent of the system calls.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::blocks::{BlockSequence, ClientPosition};
use super::claims::{BlockClaimWriter, PendingSync};
use super::content::DataFileContent;
use super::files::{BlockLocation, DataFiles};
use super::levels::{Pattern, SyncRule};
use super::syncs::{ClientSyncState, SharedSyncState};
use super::writings::LastBlockWrites;

/// Low bits of a writing's number; the client's number is above them.
const WRITINGS: u32 = 40;

/// Where writings begin: random, so that earlier trials on the same blocks have other numbers. As
/// many again fit above it.
pub fn draw_start() -> u64 {
    RandomState::new().hash_one(WRITINGS) >> (u64::BITS + 1 - WRITINGS)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRequest {
    pub kind: usize,
    pub writes: bool,
    pub block: u64,
    pub spot: BlockLocation,
    pub writing: u64,
}

pub struct RequestContext {
    pub files: DataFiles,
    pub content: DataFileContent,
    pub pattern: Pattern,
    /// Whether random requests visit each block once.
    pub once: bool,
    pub rule: SyncRule,
    pub syncs: SharedSyncState,
    pub writings: LastBlockWrites,
    /// Each client's writings begin behind this number; 0 on new files.
    pub earlier: u64,
    pub did: RequestTotals,
}

#[derive(Debug, Default)]
pub struct RequestTotals {
    pub read: AtomicU64,
    pub written: AtomicU64,
    pub durable: AtomicU64,
    pub unregistered: AtomicU64,
}

pub struct Requests<'a> {
    shared: &'a RequestContext,
    blocks: BlockSequence,
    client: usize,
    /// In percent of a read.
    due: u32,
    /// The count of writings, and the number that it started from.
    writings: u64,
    own: ClientSyncState,
    claims: BlockClaimWriter<'a>,
    read: u64,
    written: u64,
    durable: u64,
}

impl<'a> Requests<'a> {
    pub fn new(
        shared: &'a RequestContext,
        seed: u64,
        one: ClientPosition,
        claims: BlockClaimWriter<'a>,
    ) -> Self {
        let count = shared.files.blocks();
        let blocks = match (shared.pattern.in_order, shared.once) {
            (true, _) => BlockSequence::in_order(count, one),
            (false, true) => BlockSequence::once(seed, count, one),
            (false, false) => BlockSequence::uniform(seed, count, one),
        };
        // Clients of a mix must not all read at once and write at once.
        let due = (100 * one.client / one.of) as u32;
        let (own, writings) = (ClientSyncState::default(), shared.earlier);
        let (read, written, durable) = (0, 0, 0);
        let client = one.client;
        Self { shared, blocks, client, due, writings, own, claims, read, written, durable }
    }

    pub fn block(&self) -> usize {
        self.shared.files.block
    }

    pub fn files(&self) -> &'a DataFiles {
        &self.shared.files
    }

    pub fn totals(&self) -> &'a RequestTotals {
        &self.shared.did
    }

    pub fn data_only(&self) -> bool {
        self.shared.syncs.data_only()
    }

    /// Reads and writes alternate, so that each run has the same share of both.
    pub fn next_request(&mut self) -> BlockRequest {
        let reads = u32::from(self.shared.pattern.reads);
        self.due += reads;
        let writes = self.due < 100;
        if !writes {
            self.due -= 100;
        }
        // If nothing is read, writes are the only kind.
        let kind = usize::from(writes && reads > 0);
        let block = self.blocks.next_block();
        self.writings += u64::from(writes);
        let writing = ((self.client as u64 + 1) << WRITINGS) + self.writings;
        BlockRequest { kind, writes, block, spot: self.shared.files.locate_block(block), writing }
    }

    /// Call before the request starts: fills in what it writes.
    pub fn fill(&mut self, request: &BlockRequest, buffer: &mut [u8]) {
        if request.writes {
            self.shared.writings.begin(request.block);
            self.claims.note_issued(request.block, request.writing);
            self.shared.content.fill(buffer, request.spot.page, request.writing);
        }
    }

    pub fn end_request(&mut self, request: &BlockRequest) -> Vec<usize> {
        let bytes = self.block() as u64;
        if request.writes {
            let durably = self.shared.rule == SyncRule::Dsync;
            self.claims.note_returned(request.block, request.writing, durably);
            self.written += bytes;
            self.durable += u64::from(durably);
            self.shared.writings.acknowledge(request.block, request.writing);
        } else {
            self.read += bytes;
        }
        self.shared.syncs.end_request(&mut self.own, request.writes.then_some(request.spot.file))
    }

    /// The file that this client must sync for all, before its request is over.
    pub fn next_sync(&self) -> Option<usize> {
        self.shared.syncs.next()
    }

    pub fn begin_sync(&self, file: usize) -> PendingSync {
        self.claims.begin_sync(file)
    }

    pub fn end_sync(&mut self, syncing: PendingSync) {
        self.claims.note_synced(syncing);
        self.durable += 1;
    }
}

impl Drop for Requests<'_> {
    fn drop(&mut self) {
        let RequestTotals { read, written, durable, .. } = &self.shared.did;
        read.fetch_add(self.read, Relaxed);
        written.fetch_add(self.written, Relaxed);
        durable.fetch_add(self.durable, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::{FileOpenMode, FileSetShape};
    use super::super::tests::request_context;
    use super::*;

    /// What a client of that pattern asks for.
    fn asked(pattern: &str, number: usize, one: ClientPosition) -> Vec<BlockRequest> {
        let folder = crate::tests::folder_on_disk();
        let shape = FileSetShape { each: 64 << 10, files: 2, zeros: false, seed: 1 };
        let access = FileOpenMode { direct: false, writes: false, dsync: false };
        let rule = (Pattern::parse(pattern).unwrap(), SyncRule::Never);
        let shared = request_context(folder.path(), shape, rule, access);
        let mut requests = Requests::new(&shared, 3, one, BlockClaimWriter(None));
        (0..number).map(|_| requests.next_request()).collect()
    }

    const ALONE: ClientPosition = ClientPosition { client: 0, of: 1 };
    const SECOND: ClientPosition = ClientPosition { client: 1, of: 2 };
    const EARLIER: u64 = 1000;

    #[test]
    fn a_client_has_numbers_of_its_own_behind_those_of_earlier_trials() {
        for (one, start) in [(ALONE, 1), (SECOND, 2)] {
            let numbers = asked("seqwrite", 3, one).into_iter().map(|it| it.writing);
            let behind = [1, 2, 3].map(|number| (start << WRITINGS) + EARLIER + number);
            assert_eq!(numbers.collect::<Vec<_>>(), behind);
        }
        let all: Vec<u64> = (0..100).map(|_| draw_start()).collect();
        assert!(all.iter().all(|number| *number < 1 << (WRITINGS - 1)), "{all:?}");
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn a_mix_has_its_share_of_reads_at_any_time() {
        for (pattern, reads) in
            [("randrw:70", 70), ("seqrw:1", 1), ("randread", 100), ("randrw", 50)]
        {
            let all = asked(pattern, 300, ALONE);
            for hundred in all.chunks(100) {
                let found = hundred.iter().filter(|request| !request.writes).count();
                assert_eq!(found, reads, "{pattern}");
            }
            assert!(all.iter().all(|request| request.kind == usize::from(request.writes)));
        }
        let writes = asked("seqwrite", 5, ALONE);
        assert!(writes.iter().all(|request| request.writes && request.kind == 0), "{writes:?}");
        // Clients do not all read at the same time.
        let first = |client| asked("randrw:50", 1, ClientPosition { client, of: 2 })[0].writes;
        assert_ne!(first(0), first(1));
    }

    #[test]
    fn in_order_a_client_goes_from_file_to_file() {
        let files = asked("seqread", 33, ALONE).into_iter().map(|request| request.spot.file);
        assert_eq!(files.collect::<Vec<_>>(), [&[0; 16][..], &[1; 16], &[0]].concat());
    }
}
