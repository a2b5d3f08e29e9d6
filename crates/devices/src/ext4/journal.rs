//! The journal: whose metadata wait for a commit, and what the commit writes.
//!
//! As in ext4 every file remembers the transaction that last changed it (`i_sync_tid`) and the one
//! that last changed how its data are found (`i_datasync_tid`). A sync commits that transaction if
//! it is still running (`ext4_sync_file` in Linux's fs/ext4/fsync.c), or waits if it is being
//! committed.
//!
//! One transaction is committed at a time. The next one stays open meanwhile and takes in all
//! changes, so that many syncs share a commit (jbd2's `jbd2_log_wait_commit`).

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
    pub fn transaction_for(self, sync: SyncScope) -> u64 {
        match sync {
            SyncScope::Data => self.data,
            SyncScope::All => self.any,
        }
    }
}

#[derive(Debug)]
pub struct Journal {
    running: u64,
    inodes: u64,
    names: u64,
    blocks: bool,
    files: bool,
    data: u64,
    next: u64,
    committing: Option<u64>,
    queued: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    Done,
    /// Wait for this work, which commits it.
    By(u64),
    /// Commit it, after this work if that is still in flight.
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
    pub fn note_timestamps(&mut self, marks: &mut Marks) {
        if marks.any != self.running {
            marks.any = self.running;
            self.inodes += 1;
        }
    }

    pub fn note_mapping(&mut self, marks: &mut Marks) {
        self.note_timestamps(marks);
        marks.data = self.running;
    }

    pub fn note_allocation(&mut self) {
        self.blocks = true;
    }

    pub fn note_inode(&mut self) {
        self.files = true;
    }

    pub fn log_pages(&mut self, pages: u64) {
        self.data += pages;
    }

    pub fn data_pages(&self) -> u64 {
        self.data
    }

    pub fn note_name(&mut self) {
        self.names += 1;
    }

    pub fn running_transaction(&self) -> u64 {
        self.running
    }

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

    pub fn awaits_names(&self) -> bool {
        self.names > 0
    }

    pub fn is_dirty(&self) -> bool {
        self.inodes > 0 || self.names > 0 || self.blocks || self.files || self.data > 0
    }

    /// The work `number` commits the running transaction. Returns what it writes to the journal
    /// `part`, written round: the blocks, then the commit record if that has to wait for them.
    pub fn commit(
        &mut self,
        number: u64,
        committing: Committing,
        part: BlockRun,
    ) -> Vec<Vec<DeviceRange>> {
        let steps = match committing {
            Committing::Jbd2 => vec![self.count_blocks(), 1],
            Committing::Fast => vec![self.count_blocks() + 1],
        };
        let written = steps.into_iter().map(|blocks| self.take_blocks(blocks, part)).collect();
        if self.committing.is_some() {
            self.queued = Some(number);
        } else {
            self.committing = Some(number);
            self.close_transaction();
        }
        written
    }

    /// The blocks before the commit record: a descriptor, data, inodes, the bitmap of blocks with
    /// the group's descriptor, that of inodes (its group's descriptor is in the same block), and
    /// names with the inode of their directory.
    fn count_blocks(&self) -> u64 {
        let names = match self.names {
            0 => 0,
            names => 1 + names.div_ceil(NAMES_A_BLOCK),
        };
        let bitmaps = u64::from(self.blocks) + u64::from(self.files);
        let groups = u64::from(bitmaps > 0);
        let data = self.data + self.data / TAGS_A_BLOCK;
        1 + self.inodes.div_ceil(INODES_A_BLOCK) + bitmaps + groups + names + data
    }

    fn take_blocks(&mut self, mut left: u64, part: BlockRun) -> Vec<DeviceRange> {
        let mut pieces = Vec::with_capacity(1);
        while left > 0 {
            // A write that fits into the piece is not torn by its end.
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

    /// A transaction is on the device. Waiting work may say so before the work that committed it.
    pub fn finish_commit(&mut self, transaction: u64) {
        if transaction == self.running {
            (self.committing, self.queued) = (None, None);
            self.close_transaction();
        } else if transaction + 1 == self.running {
            self.committing = self.queued.take();
            if self.committing.is_some() {
                self.close_transaction();
            }
        }
    }

    fn close_transaction(&mut self) {
        let (committing, queued) = (self.committing, self.queued);
        let running = self.running + 1;
        *self = Self { running, next: self.next, committing, queued, ..Self::default() };
    }
}
