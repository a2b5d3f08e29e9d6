//! The journal: which files' metadata wait for a commit, and what the commit writes.
//!
//! As in ext4 every file remembers the transaction that last changed it (`i_sync_tid`) and the one
//! that last changed what its data are found by (`i_datasync_tid`); a sync commits if that
//! transaction is still the running one (`ext4_sync_file` in Linux's fs/ext4/fsync.c), and waits if
//! it is being committed.
//!
//! One transaction is committed at a time. One that is to be committed meanwhile stays open until
//! the earlier one is done, and takes in whatever changes until then, so that syncs of many share a
//! commit (jbd2's `jbd2_log_wait_commit`).

use super::SyncScope;
use super::groups::{BLOCK, BlockRun};
use super::parameters::Committing;
use super::requests::DeviceRange;

/// Inodes of 256 bytes in a block of the inode table.
const INODES_A_BLOCK: u64 = 16;

/// Blocks that one descriptor speaks of: tags of 16 bytes behind a header.
const TAGS_A_BLOCK: u64 = 255;

/// Names of some 20 bytes with their headers in a half-full block of a directory.
const NAMES_A_BLOCK: u64 = 64;

/// The transactions that changed a file last; 0 is long committed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    any: u64,
    data: u64,
}

impl Marks {
    /// The transaction that a sync has to have committed.
    pub fn transaction_for(self, sync: SyncScope) -> u64 {
        match sync {
            SyncScope::Data => self.data,
            SyncScope::All => self.any,
        }
    }
}

/// The running transaction and where the journal is written next.
#[derive(Debug)]
pub struct Journal {
    running: u64,
    inodes: u64,
    names: u64,
    /// Whether blocks were allocated or freed.
    blocks: bool,
    /// Whether files were created or removed.
    files: bool,
    /// Pages of data that are written with it.
    data: u64,
    /// The next block within the journal, or its piece, wherever that is.
    next: u64,
    /// The work that commits the transaction before the running one.
    committing: Option<u64>,
    /// The work that commits the running one once that is done.
    queued: Option<u64>,
}

/// What a sync has to do to have a transaction committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Nothing: it is.
    Done,
    /// Wait for other work that commits it.
    By(u64),
    /// Commit it, after other work that commits the one before, if that is in flight.
    Own(Option<u64>),
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            running: 1,
            inodes: 0,
            names: 0,
            blocks: false,
            files: false,
            data: 0,
            next: 0,
            committing: None,
            queued: None,
        }
    }
}

impl Journal {
    /// A file's timestamps changed.
    pub fn stamp(&mut self, marks: &mut Marks) {
        if marks.any != self.running {
            marks.any = self.running;
            self.inodes += 1;
        }
    }

    /// A file's size or blocks changed.
    pub fn change(&mut self, marks: &mut Marks) {
        self.stamp(marks);
        marks.data = self.running;
    }

    /// Blocks were allocated or freed.
    pub fn allocate(&mut self) {
        self.blocks = true;
    }

    /// A file was created or removed: its inode is allocated or freed.
    pub fn create(&mut self) {
        self.files = true;
    }

    /// Pages of data were changed that are written to the journal, and that the running transaction had
    /// not yet.
    pub fn log(&mut self, pages: u64) {
        self.data += pages;
    }

    /// Pages of data in the running transaction.
    pub fn data(&self) -> u64 {
        self.data
    }

    /// A name changed, and the directory that holds it.
    pub fn rename(&mut self) {
        self.names += 1;
    }

    /// The transaction that takes in what changes now.
    pub fn running(&self) -> u64 {
        self.running
    }

    /// What has to be done to have a transaction committed.
    pub fn commit_of(&self, transaction: u64) -> Commit {
        let (by, own) = if transaction == self.running {
            (self.queued, Commit::Own(self.committing))
        } else if transaction + 1 == self.running {
            (self.committing, Commit::Done)
        } else {
            (None, Commit::Done)
        };
        by.map_or(own, Commit::By)
    }

    /// Whether names changed since the last commit.
    pub fn awaits_names(&self) -> bool {
        self.names > 0
    }

    /// Whether anything changed since the last commit.
    pub fn is_dirty(&self) -> bool {
        self.inodes > 0 || self.names > 0 || self.blocks || self.files || self.data > 0
    }

    /// Has the running transaction committed by the work `number` and tells what is written for it,
    /// to the journal `part`, written round: first its blocks, then the commit record, if that has
    /// to wait for them.
    pub fn commit(
        &mut self,
        number: u64,
        committing: Committing,
        part: BlockRun,
    ) -> Vec<Vec<DeviceRange>> {
        let steps = match committing {
            Committing::Jbd2 => vec![self.blocks(), 1],
            Committing::Fast => vec![self.blocks() + 1],
        };
        let written = steps.into_iter().map(|blocks| self.write(blocks, part)).collect();
        if self.committing.is_some() {
            self.queued = Some(number);
        } else {
            self.committing = Some(number);
            self.close();
        }
        written
    }

    /// The blocks of the running transaction without its commit record: a descriptor, data, inodes, the
    /// bitmap of blocks with the group's descriptor, that of inodes (its group's descriptor is in
    /// the same block), and names with the inode of their directory.
    fn blocks(&self) -> u64 {
        let names = match self.names {
            0 => 0,
            names => 1 + names.div_ceil(NAMES_A_BLOCK),
        };
        let bitmaps = u64::from(self.blocks) + u64::from(self.files);
        let groups = u64::from(bitmaps > 0);
        let data = self.data + self.data / TAGS_A_BLOCK;
        1 + self.inodes.div_ceil(INODES_A_BLOCK) + bitmaps + groups + names + data
    }

    /// Where the next blocks of the journal lie.
    fn write(&mut self, mut left: u64, part: BlockRun) -> Vec<DeviceRange> {
        let mut pieces = Vec::with_capacity(1);
        while left > 0 {
            // What fits into the piece as a whole is not torn by its end.
            let fits = self.next + left.min(part.length) <= part.length;
            let next = if fits { self.next } else { 0 };
            let length = left.min(part.length);
            let place = (part.place + next) * BLOCK;
            pieces.push(DeviceRange { place, length: length * BLOCK });
            self.next = next + length;
            left -= length;
        }
        pieces
    }

    /// A transaction is on the device. Those who waited for it may say so before the one who
    /// committed it, or an earlier one, does.
    pub fn committed(&mut self, transaction: u64) {
        if transaction == self.running {
            (self.committing, self.queued) = (None, None);
            self.close();
        } else if transaction + 1 == self.running {
            self.committing = self.queued.take();
            if self.committing.is_some() {
                self.close();
            }
        }
    }

    /// Ends the running transaction; the next one begins.
    fn close(&mut self) {
        let (committing, queued) = (self.committing, self.queued);
        let running = self.running + 1;
        *self = Self { running, next: self.next, committing, queued, ..Self::default() };
    }
}
