//! What a client asks for, one request after the other, and what came of it: whatever calls it is made by.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::blocks::{BlockSequence, OneOf};
use super::claims::{BlockClaimWriter, Syncing};
use super::content::DataFileContent;
use super::files::{BlockLocation, DataFiles};
use super::levels::{Pattern, SyncRule};
use super::syncs::{ClientSyncState, SharedSyncState};
use super::writings::Writings;

/// A client has so many bits for the number of a writing, below its own number.
const WRITINGS: u32 = 40;

/// A number that clients' writings may begin behind, another one each time: the writings of an earlier trial to the
/// same blocks have others. Behind it there is room for as many again.
pub fn drawn() -> u64 {
    RandomState::new().hash_one(WRITINGS) >> (u64::BITS + 1 - WRITINGS)
}

/// A request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRequest {
    /// Its kind of operation.
    pub kind: usize,
    /// Whether it writes.
    pub writes: bool,
    /// The number of the block that it reads or writes, and where that is.
    pub block: u64,
    pub spot: BlockLocation,
    /// Tells a write from all others of the same block.
    pub writing: u64,
}

/// What all clients work with.
pub struct RequestContext {
    /// The files.
    pub files: DataFiles,
    /// What is written to them.
    pub content: DataFileContent,
    /// What clients ask for.
    pub pattern: Pattern,
    /// Whether random requests are for each block once.
    pub once: bool,
    /// When writes are synced.
    pub rule: SyncRule,
    /// How far that is.
    pub syncs: SharedSyncState,
    /// What each block has to hold.
    pub writings: Writings,
    /// The number behind which each client's writings begin: 0 where nobody wrote before.
    pub earlier: u64,
    /// What the clients did that have stopped.
    pub did: RequestTotals,
}

/// What clients did.
#[derive(Debug, Default)]
pub struct RequestTotals {
    /// Bytes that they read.
    pub read: AtomicU64,
    /// Bytes that they wrote.
    pub written: AtomicU64,
    /// Writes that were durable when they were acknowledged.
    pub durable: AtomicU64,
    /// Rings whose memory the kernel did not register.
    pub unregistered: AtomicU64,
}

/// A client's requests.
pub struct Requests<'a> {
    shared: &'a RequestContext,
    blocks: BlockSequence,
    client: usize,
    /// Reads that are due, in percent of one.
    due: u32,
    /// How often it wrote, and what it began behind.
    writings: u64,
    own: ClientSyncState,
    claims: BlockClaimWriter<'a>,
    read: u64,
    written: u64,
    durable: u64,
}

impl<'a> Requests<'a> {
    /// Of one of several clients; `seed` says which blocks they are for.
    pub fn new(shared: &'a RequestContext, seed: u64, one: OneOf) -> Self {
        let count = shared.files.blocks();
        let blocks = match (shared.pattern.in_order, shared.once) {
            (true, _) => BlockSequence::in_order(count, one),
            (false, true) => BlockSequence::once(seed, count, one),
            (false, false) => BlockSequence::uniform(seed, count, one),
        };
        // Clients of a mix are not to read at once and write at once.
        let due = (100 * one.client / one.of) as u32;
        let (own, claims, writings) =
            (ClientSyncState::default(), BlockClaimWriter::default(), shared.earlier);
        let (read, written, durable) = (0, 0, 0);
        let client = one.client;
        Self { shared, blocks, client, due, writings, own, claims, read, written, durable }
    }

    /// The same, claimed there on the way.
    pub fn claiming(mut self, claims: BlockClaimWriter<'a>) -> Self {
        self.claims = claims;
        self
    }

    /// Bytes of each.
    pub fn block(&self) -> usize {
        self.shared.files.block
    }

    /// The files that they are for.
    pub fn files(&self) -> &'a DataFiles {
        &self.shared.files
    }

    /// What clients did that have stopped.
    pub fn did(&self) -> &'a RequestTotals {
        &self.shared.did
    }

    /// Whether a sync leaves out a file's times.
    pub fn data_only(&self) -> bool {
        self.shared.syncs.data_only()
    }

    /// The next one. Reads and writes of a mix take turns, so that each run has the same share of both.
    pub fn next_request(&mut self) -> BlockRequest {
        let reads = u32::from(self.shared.pattern.reads);
        self.due += reads;
        let writes = self.due < 100;
        if !writes {
            self.due -= 100;
        }
        // Where nothing is read, writes are the only kind.
        let kind = usize::from(writes && reads > 0);
        let block = self.blocks.next_block();
        self.writings += u64::from(writes);
        let writing = ((self.client as u64 + 1) << WRITINGS) + self.writings;
        BlockRequest { kind, writes, block, spot: self.shared.files.spot(block), writing }
    }

    /// A request is about to start: puts what it writes into its buffer; nothing for one that reads.
    pub fn fill(&mut self, request: &BlockRequest, buffer: &mut [u8]) {
        if request.writes {
            self.shared.writings.begin(request.block);
            self.claims.issued(request.block, request.writing);
            self.shared.content.fill(buffer, request.spot.page, request.writing);
        }
    }

    /// A request has ended well. The files that it has to sync before it is over.
    pub fn ended(&mut self, request: &BlockRequest) -> Vec<usize> {
        let bytes = self.block() as u64;
        if request.writes {
            let durably = self.shared.rule == SyncRule::Dsync;
            self.claims.returned(request.block, request.writing, durably);
            self.written += bytes;
            self.durable += u64::from(durably);
            self.shared.writings.acknowledge(request.block, request.writing);
        } else {
            self.read += bytes;
        }
        self.shared.syncs.ended(&mut self.own, request.writes.then_some(request.spot.file))
    }

    /// The file that a client has to sync, of all files, before its request is over, if any.
    pub fn next_sync(&self) -> Option<usize> {
        self.shared.syncs.next()
    }

    /// A sync of a file is about to start.
    pub fn begin_sync(&self, file: usize) -> Syncing {
        self.claims.begin_sync(file)
    }

    /// A sync has ended well.
    pub fn synced(&mut self, syncing: Syncing) {
        self.claims.synced(syncing);
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
    use super::super::content::PAGE;
    use super::super::files::{FileOpenMode, FileSetShape};
    use super::super::medium::DataMedium;
    use super::*;

    /// What a client of that pattern asks for.
    fn asked(pattern: &str, number: usize, one: OneOf) -> Vec<BlockRequest> {
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let shape = FileSetShape { each: 64 << 10, files: 2, zeros: false, seed: 1 };
        let medium = DataMedium::folder(folder.path());
        shape.make(&medium, &mut |_| ()).unwrap();
        let access = FileOpenMode { direct: false, writes: false, dsync: false };
        let shared = RequestContext {
            files: DataFiles::open(&medium, &shape, PAGE, access).unwrap(),
            content: shape.content(),
            pattern: Pattern::parse(pattern).unwrap(),
            once: false,
            rule: SyncRule::Never,
            syncs: SharedSyncState::new(SyncRule::Never, 2),
            writings: Writings::none(),
            earlier: EARLIER,
            did: RequestTotals::default(),
        };
        let mut requests = Requests::new(&shared, 3, one);
        (0..number).map(|_| requests.next_request()).collect()
    }

    const ALONE: OneOf = OneOf { client: 0, of: 1 };
    const EARLIER: u64 = 1000;

    #[test]
    fn a_client_s_writings_have_numbers_of_its_own_behind_those_of_earlier_trials() {
        let second = OneOf { client: 1, of: 2 };
        let numbers =
            |one| asked("seqwrite", 3, one).iter().map(|it| it.writing).collect::<Vec<_>>();
        let behind = |start: u64| [1, 2, 3].map(|number| (start << WRITINGS) + EARLIER + number);
        assert_eq!((numbers(ALONE), numbers(second)), (behind(1).to_vec(), behind(2).to_vec()));
    }

    #[test]
    fn what_is_drawn_leaves_room_behind_it_and_is_another_each_time() {
        let all: Vec<u64> = (0..100).map(|_| drawn()).collect();
        assert!(all.iter().all(|number| *number < 1 << (WRITINGS - 1)), "{all:?}");
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn a_mix_has_its_share_of_reads_at_any_time_and_kinds_are_those_of_the_pattern() {
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
    }

    #[test]
    fn clients_of_a_mix_do_not_all_read_at_the_same_time() {
        let first = |client| asked("randrw:50", 1, OneOf { client, of: 2 })[0].writes;
        assert_ne!(first(0), first(1));
    }

    #[test]
    fn in_order_a_client_goes_from_file_to_file() {
        let files: Vec<usize> =
            asked("seqread", 33, ALONE).iter().map(|request| request.spot.file).collect();
        assert_eq!(files, [[0; 16], [1; 16]].concat().into_iter().chain([0]).collect::<Vec<_>>());
    }
}
